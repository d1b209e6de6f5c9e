//! Requests and presets with very many parts, or very long ones.

use std::sync::Arc;

use sampler_chain::import::Source;
use sampler_chain::{Params, Sampler, Vocab, VocabFile, dry_breakers, token_probs};
use serde_json::{Value, json};

use crate::deep::preset;
use crate::measure::{Case, Ready};

const MILLION: usize = 1_000_000;

pub const CASES: &[Case] = &[
    Case {
        input: "request: a million biases",
        quick: false,
        run: biases,
        answer: "token",
        seconds: 3.0,
        megabytes: 600,
    },
    Case {
        input: "request: a million biases by text",
        quick: false,
        run: text_biases,
        answer: "token",
        seconds: 3.0,
        megabytes: 600,
    },
    Case {
        input: "request: a million biases of one token",
        quick: false,
        run: |ready| told_and_drawn(ready, json!({"logit_bias": vec![json!([1, 0.5]); MILLION]})),
        answer: "token",
        seconds: 3.0,
        megabytes: 600,
    },
    Case {
        input: "request: a million unknown fields",
        quick: false,
        run: unknown,
        answer: "unknown",
        seconds: 5.0,
        megabytes: 600,
    },
    Case {
        input: "request: a field of 10 MB",
        quick: true,
        run: long_field,
        answer: "unknown",
        seconds: 1.0,
        megabytes: 64,
    },
    Case {
        input: "request: a million unknown samplers",
        quick: false,
        run: |ready| told_and_drawn(ready, json!({"samplers": vec!["top_q"; MILLION]})),
        answer: "token",
        seconds: 5.0,
        megabytes: 400,
    },
    Case {
        input: "request: a million samplers",
        quick: false,
        run: |ready| told_and_drawn(ready, json!({"samplers": vec!["top_k"; MILLION]})),
        answer: "token",
        seconds: 3.0,
        megabytes: 400,
    },
    Case {
        input: "request: n_probs 2^31 - 1, 151,669 tokens",
        quick: false,
        run: n_probs,
        answer: "151669 probabilities",
        seconds: 1.0,
        megabytes: 64,
    },
    Case {
        input: "request: a million breakers, 2,048 tokens",
        quick: false,
        run: |ready| breakers(ready, "small-vocab.json"),
        answer: "breakers",
        seconds: 30.0,
        megabytes: 1000,
    },
    Case {
        input: "request: a million breakers, 262,144 tokens",
        quick: false,
        run: |ready| breakers(ready, "gemma3-vocab.bin.gz"),
        answer: "breakers",
        seconds: 30.0,
        megabytes: 1000,
    },
    Case {
        input: "request: a breaker of 10 MB",
        quick: true,
        run: long_breaker,
        answer: "breakers",
        seconds: 1.0,
        megabytes: 64,
    },
    Case {
        input: "chain: a million breakers as tokens, one head",
        quick: false,
        run: token_breakers,
        answer: "token",
        seconds: 5.0,
        megabytes: 1500,
    },
    Case {
        input: "preset, arguments: a million",
        quick: false,
        run: |ready| preset(ready, "--top-k 5 ".repeat(MILLION / 2), Source::LlamaCppArgs),
        answer: "chain",
        seconds: 5.0,
        megabytes: 1000,
    },
    Case {
        input: "preset, INI: a million sections",
        quick: false,
        run: |ready| preset(ready, (0..MILLION).map(|i| format!("[{i}]\ntop-k=1\n")).collect(), Source::LlamaCppIni),
        answer: "--preset",
        seconds: 5.0,
        megabytes: 1000,
    },
    Case {
        input: "preset, Modelfile: a million lines",
        quick: false,
        run: |ready| preset(ready, "PARAMETER top_k 5\n".repeat(MILLION), Source::Ollama),
        answer: "given twice",
        seconds: 5.0,
        megabytes: 1000,
    },
    Case {
        input: "preset, JSON: a million fields",
        quick: false,
        run: |ready| {
            preset(
                ready,
                format!("{{{}\"top_k\":1}}", (0..MILLION).map(|i| format!("\"x{i}\":1,")).collect::<String>()),
                Source::SillyTavern,
            )
        },
        answer: "chain",
        seconds: 10.0,
        megabytes: 1500,
    },
];

/// What becomes of a request: its refusal, or the first thing that was not simply used.
pub fn told(body: &Value, base: &Params) -> String {
    match Params::from_request(body, base, None) {
        Ok((_, report)) => match report.surprises().next() {
            Some(note) => format!("{note}; {} notes", report.notes.len()),
            None => "used".to_string(),
        },
        Err(error) => error.to_string(),
    }
}

/// Reads a request and draws with it.
fn told_and_drawn(ready: &mut Ready, body: Value) -> String {
    let text = body.to_string();
    drop(body);
    ready.input(text.len());
    let body: Value = serde_json::from_str(&text).expect("it was JSON");
    let base = Params { vocab: Some(vocab("small-vocab.json")), seed: 1, ..Params::default() };
    let params = match Params::from_request(&body, &base, None) {
        Ok((params, _)) => params,
        Err(error) => return error.to_string(),
    };
    let mut sampler = match Sampler::new(params) {
        Ok(sampler) => sampler,
        Err(error) => return error.to_string(),
    };
    let row: Vec<f32> = (0..2048).map(|i| (i % 100) as f32 / 9.0).collect();
    for _ in 0..3 {
        let token = sampler.sample(&row).expect("the row is sound");
        sampler.accept(token).expect("it was drawn");
    }
    "three tokens".to_string()
}

pub fn vocab(name: &str) -> Arc<dyn Vocab> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("testing/data").join(name);
    Arc::new(VocabFile::read(&path).unwrap_or_else(|error| panic!("{error}")))
}

fn biases(ready: &mut Ready) -> String {
    told_and_drawn(ready, json!({"logit_bias": (0..MILLION).map(|i| json!([i, 0.5])).collect::<Vec<_>>()}))
}

fn text_biases(ready: &mut Ready) -> String {
    told_and_drawn(ready, json!({"logit_bias": (0..MILLION).map(|i| json!([i.to_string(), 0.5])).collect::<Vec<_>>()}))
}

fn unknown(ready: &mut Ready) -> String {
    let body = (0..MILLION).map(|i| (format!("temprature{i}"), json!(1))).collect::<serde_json::Map<_, _>>().into();
    ready.input(MILLION * 20);
    told(&body, &Params::default())
}

fn long_field(ready: &mut Ready) -> String {
    let body = json!({"x".repeat(10 << 20): 1});
    ready.input(10 << 20);
    let told = told(&body, &Params::default());
    told[told.len() - 40..].to_string()
}

fn n_probs(ready: &mut Ready) -> String {
    let (params, _) =
        Params::from_request(&json!({"n_probs": i32::MAX}), &Params::default(), None).expect("it is used");
    let row: Vec<f32> = (0..151_669).map(|i| (i * 7919 % 10_007) as f32 / 500.0).collect();
    ready.input(24);
    let probs = token_probs(&row, params.n_probs as usize, 3).expect("the token is there");
    format!("{} probabilities", probs.top.len())
}

fn table(ready: &mut Ready, vocab: &Arc<dyn Vocab>, texts: &[String]) -> String {
    ready.input(texts.iter().map(String::len).sum());
    match dry_breakers(vocab, texts) {
        Ok(table) => format!("{} breakers", table.len()),
        Err(error) => error.to_string(),
    }
}

/// Texts of letters, each another one, over a vocabulary that encodes any text.
fn breakers(ready: &mut Ready, name: &str) -> String {
    let texts: Vec<String> = (0..MILLION).map(|i| format!("{i:06}ing the")).collect();
    table(ready, &encoding(name), &texts)
}

fn long_breaker(ready: &mut Ready) -> String {
    table(ready, &encoding("small-vocab.json"), &["ab".repeat(5 << 20)])
}

/// A vocabulary of pieces in which a byte is encoded as its number.
fn encoding(name: &str) -> Arc<dyn Vocab> {
    #[derive(Debug)]
    struct Encoding(Arc<dyn Vocab>);
    impl Vocab for Encoding {
        fn n_tokens(&self) -> usize {
            self.0.n_tokens()
        }
        fn piece(&self, id: u32) -> &[u8] {
            self.0.piece(id)
        }
        fn is_eog(&self, id: u32) -> bool {
            self.0.is_eog(id)
        }
        fn eot(&self) -> Option<u32> {
            self.0.eot()
        }
        fn eos(&self) -> Option<u32> {
            self.0.eos()
        }
        fn encode(&self, text: &[u8]) -> Result<Vec<u32>, sampler_chain::EncodeError> {
            Ok(text.iter().map(|&byte| byte.into()).collect())
        }
    }
    Arc::new(Encoding(vocab(name)))
}

fn token_breakers(ready: &mut Ready) -> String {
    let tokens: Vec<Vec<u32>> = (0..MILLION as u32).map(|i| vec![1, i % 1000, i / 1000]).collect();
    let file = json!({"version": 1, "steps": [
        {"type": "dry", "multiplier": 1, "last_n": 10_000, "breaker_tokens": tokens}, {"type": "greedy"}]});
    let text = file.to_string();
    ready.input(text.len());
    let file = sampler_chain::ChainFile::parse(&text, sampler_chain::Format::Json, "chain".as_ref());
    let file = file.unwrap_or_else(|error| panic!("{error}"));
    let mut sampler = file.into_sampler(sampler_chain::Ctx::new).unwrap_or_else(|error| panic!("{error}"));
    (0..10_000)
        .for_each(|i| sampler.accept_prompt(if i % 2 == 0 { 1 } else { 2000 }).expect("nobody knows the vocabulary"));
    let row = vec![1.0; 2001];
    format!("token {}", sampler.sample(&row).expect("the row is sound"))
}
