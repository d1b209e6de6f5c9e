//! Files that say how long something is: counts that overflow, that are not there, or that are.

use std::path::Path;

use sampler_chain::oracle::{Case as OracleCase, Replayer};
use sampler_chain::{
    ChainFile, Ctx, DryBreakers, Format, GgufFile, LogitsFile, Params, Record, Sampler, VocabFile, dry_breakers,
};

use crate::deep::chain;
use crate::files::{bytes, frame, header, key, packed, record_header, value, with_file, word};
use crate::measure::{Case, Ready};

const MILLION: usize = 1_000_000;

/// An input that is refused at once.
const fn refused(input: &'static str, run: fn(&mut Ready) -> String, answer: &'static str) -> Case {
    Case { input, quick: true, run, answer, seconds: 0.2, megabytes: 64 }
}

const fn large(
    input: &'static str,
    run: fn(&mut Ready) -> String,
    answer: &'static str,
    seconds: f64,
    megabytes: u64,
) -> Case {
    Case { input, quick: false, run, answer, seconds, megabytes }
}

pub const CASES: &[Case] = &[
    refused("GGUF: 2^64 - 1 values", |ready| gguf(ready, header(0, u64::MAX)), "a key wants 8 bytes"),
    refused("GGUF: 2^64 - 1 tensors", |ready| gguf(ready, header(u64::MAX, 0)), "no vocabulary"),
    refused(
        "GGUF: a key of 2^64 - 1 bytes",
        |ready| gguf(ready, [header(0, 1), bytes(u64::MAX)].concat()),
        "a key wants 18446744073709551615 bytes",
    ),
    refused(
        "GGUF: a text of 2^64 - 1 bytes",
        |ready| gguf(ready, value(8, &[bytes(u64::MAX)])),
        "k wants 18446744073709551615 bytes",
    ),
    refused(
        "GGUF: 2^64 - 1 bytes in an array",
        |ready| gguf(ready, value(9, &[word(0), bytes(u64::MAX)])),
        "k wants 18446744073709551615 bytes",
    ),
    refused(
        "GGUF: 2^64 - 1 doubles in an array",
        |ready| gguf(ready, value(9, &[word(12), bytes(u64::MAX)])),
        "k has 18446744073709551615 items",
    ),
    refused(
        "GGUF: 2^61 doubles in an array, 2^64 bytes",
        |ready| gguf(ready, value(9, &[word(12), bytes(1 << 61)])),
        "k has 2305843009213693952 items",
    ),
    refused(
        "GGUF: 2^64 - 1 texts in an array",
        |ready| gguf(ready, value(9, &[word(8), bytes(u64::MAX)])),
        "k wants 8 bytes",
    ),
    refused(
        "GGUF: 2^64 - 1 arrays in an array",
        |ready| gguf(ready, value(9, &[word(9), bytes(u64::MAX)])),
        "array of arrays",
    ),
    large("GGUF: a million tokens", gguf_tokens, "1000000 tokens", 5.0, 400),
    large("GGUF: ten million empty texts in an array", gguf_texts, "no vocabulary", 2.0, 600),
    refused("safetensors: a header of 2^63 bytes", |ready| safetensors(ready, 1 << 63, "{}", 0), "cut short"),
    refused("safetensors: a header of 2^64 - 1 bytes", |ready| safetensors(ready, u64::MAX, "{}", 0), "cut short"),
    refused("safetensors: 2^32 rows of 2^32 logits", |ready| tensor(ready, [1 << 32, 1 << 32], 16), "cut short"),
    refused("safetensors: 2^62 rows of 4 logits", |ready| tensor(ready, [1 << 62, 4], 0), "cut short"),
    refused("safetensors: 2^63 rows of no logits", |ready| tensor(ready, [1 << 63, 0], 0), "F32 of shape"),
    refused("record: a vocabulary of 2^32 - 1", record_vocab, "the row has 4 logits"),
    refused("record: a frame of 2^32 - 1 words", record_frame, "cut after 0 draws"),
    large("record: a million accepted tokens under 1,000 steps", record_marks, "a million tokens", 20.0, 500),
    refused(
        "vocabulary, JSON: token 2^32 - 1 ends the text",
        |ready| vocab(ready, "hostile.json", br#"{"pieces_hex": ["61"], "eog": [4294967295]}"#.to_vec()),
        "token 4294967295 is beyond",
    ),
    refused(
        "vocabulary, packed: 2^32 - 1 tokens",
        |ready| vocab(ready, "hostile.gz", packed(&[255; 4])),
        "it ends too early",
    ),
    large(
        "vocabulary, packed: 300 MB of empty tokens in 300 kB",
        |ready| {
            vocab(ready, "hostile.gz", packed(&[&300_000_000u32.to_le_bytes()[..], &vec![0; 300_000_000]].concat()))
        },
        "unpacks to more than 64 MB",
        3.0,
        400,
    ),
    large(
        "vocabulary, packed: 60 million empty tokens in 60 kB",
        |ready| vocab(ready, "hostile.gz", packed(&[&60_000_000u32.to_le_bytes()[..], &vec![0; 60_000_012]].concat())),
        "60000000 tokens",
        3.0,
        600,
    ),
    refused(
        "oracle case: a vocabulary of 2^31 with breakers",
        |ready| oracle(ready, r#""n_vocab": 2147483648, "breakers": ["a"], "expect": {"pairs": 1}"#),
        "a vocabulary of 2147483648 tokens is too large",
    ),
    refused(
        "oracle case: 2^32 rows of 2^32 logits",
        |ready| {
            oracle(
                ready,
                r#""logits": {"synthetic": {"kind": "ties", "seed": 1, "n_vocab": 4294967296, "rows": 4294967296}}, "chain": {}, "expect": {"tokens": []}"#,
            )
        },
        "0 results for 4294967296 rows",
    ),
    refused(
        "oracle case: 2^63 rows of no logits",
        |ready| {
            oracle(
                ready,
                r#""logits": {"synthetic": {"kind": "ties", "seed": 1, "n_vocab": 0, "rows": 9223372036854775807}}, "chain": {}, "expect": {"tokens": []}"#,
            )
        },
        "0 results for 9223372036854775807 rows",
    ),
    refused(
        "oracle case: 2 rows of 2^32 logits",
        |ready| {
            oracle(
                ready,
                r#""logits": {"synthetic": {"kind": "ties", "seed": 1, "n_vocab": 4294967296, "rows": 2}}, "chain": {}, "expect": {"tokens": [0, 0]}"#,
            )
        },
        "2 rows of 4294967296 logits are too many",
    ),
    refused(
        "request's Params: n_vocab 2^31",
        params_vocab,
        "the row has 4 logits, and the vocabulary 2147483648 tokens",
    ),
    refused(
        "chain of every step: n_vocab 2^31",
        every_step,
        "the row has 4 logits, and the vocabulary 2147483648 tokens",
    ),
    large("breakers over a vocabulary of 2^31 empty pieces", empty_pieces, "0 breakers", 30.0, 64),
    // All kept, the states of 150 tokens would take 1.2 GB, more than is promised beside the steps; 128 MB of them are.
    large("chain, JSON: a million steps, 150 draws", |ready| steps(ready, Format::Json, 150), "token 9", 45.0, 3250),
    large("chain, TOML: a million steps, 2 draws", |ready| steps(ready, Format::Toml, 2), "token 9", 20.0, 3500),
    large(
        "chain, JSON: a million steps of no known type",
        |ready| {
            chain(
                ready,
                &format!("{{\"version\": 1, \"steps\": [{}{{}}]}}", "{\"type\": \"top_q\"},".repeat(MILLION)),
                Format::Json,
            )
        },
        "did you mean top_",
        10.0,
        1500,
    ),
    large(
        "chain, JSON: a million unknown fields",
        |ready| {
            chain(
                ready,
                &format!(
                    "{{{}\"version\": 1}}",
                    (0..MILLION).map(|i| format!("\"verzion{i}\": 1,")).collect::<String>()
                ),
                Format::Json,
            )
        },
        "there is no such field",
        10.0,
        1000,
    ),
    Case {
        input: "chain, JSON: a type of 10 MB",
        quick: true,
        run: |ready| {
            let text = format!("{{\"version\": 1, \"steps\": [{{\"type\": \"{}\"}}]}}", "x".repeat(10 << 20));
            chain(ready, &text, Format::Json)
        },
        answer: "there is no step",
        seconds: 1.0,
        megabytes: 100,
    },
];

fn gguf(ready: &mut Ready, bytes: Vec<u8>) -> String {
    with_file(ready, "hostile.gguf", bytes, |path| match GgufFile::open(path) {
        Ok(file) if !file.has_vocab() => "no vocabulary".into(),
        Ok(file) => match file.vocab() {
            Ok(vocab) => format!("{} tokens", sampler_chain::Vocab::n_tokens(&vocab)),
            Err(error) => error.to_string(),
        },
        Err(error) => error.to_string(),
    })
}

fn gguf_tokens(ready: &mut Ready) -> String {
    let n = MILLION;
    let texts: Vec<Vec<u8>> = (0..n).map(|i| key(&format!("t{i}"))).collect();
    let strings = |texts: Vec<Vec<u8>>| [word(9), word(8), bytes(texts.len() as u64), texts.concat()].concat();
    let content =
        [header(0, 2), key("tokenizer.ggml.model"), word(8), key("gpt2"), key("tokenizer.ggml.tokens"), strings(texts)];
    gguf(ready, content.concat())
}

fn gguf_texts(ready: &mut Ready) -> String {
    let n = 10 * MILLION;
    gguf(ready, value(9, &[word(8), bytes(n as u64), vec![0; n * 8]]))
}

fn safetensors(ready: &mut Ready, length: u64, header: &str, n_bytes: usize) -> String {
    let content = [bytes(length), header.as_bytes().to_vec(), vec![0; n_bytes]].concat();
    with_file(ready, "hostile.safetensors", content, |path| match LogitsFile::open(path, None) {
        Ok(file) => format!("{} rows of {}", file.n_rows(), file.n_vocab()),
        Err(error) => error.to_string(),
    })
}

fn tensor(ready: &mut Ready, shape: [u64; 2], n_bytes: usize) -> String {
    let mut header =
        format!(r#"{{"logits":{{"dtype":"F32","shape":[{},{}],"data_offsets":[0,{n_bytes}]}}}}"#, shape[0], shape[1]);
    while !header.len().is_multiple_of(8) {
        header.push(' ');
    }
    safetensors(ready, header.len() as u64, &header, n_bytes)
}

fn record_vocab(ready: &mut Ready) -> String {
    let content = record_header(u32::MAX, r#"{"type":"greedy"}"#);
    ready.input(content.len());
    let record = Record::from_bytes(content).unwrap_or_else(|error| panic!("{error}"));
    let mut sampler = record.sampler(None).unwrap_or_else(|error| panic!("{error}"));
    sampler.sample(&[1.0; 4]).map_or_else(|error| error.to_string(), |token| token.to_string())
}

fn record_frame(ready: &mut Ready) -> String {
    let content = [record_header(4, r#"{"type":"greedy"}"#), b"ACPT\xff\xff\xff\xff".to_vec(), vec![0; 64]].concat();
    ready.input(content.len());
    match Record::from_bytes(content) {
        Ok(record) if record.is_cut() => format!("cut after {} draws", record.n_draws()),
        Ok(record) => format!("{} draws", record.n_draws()),
        Err(error) => error.to_string(),
    }
}

/// Every token that can be taken back has a state of every step.
fn record_marks(ready: &mut Ready) -> String {
    let steps = vec![r#"{"type":"xtc","probability":0.1}"#; 1000].join(",") + r#",{"type":"dist"}"#;
    let tokens = vec![1; MILLION];
    let content = [record_header(4, &steps), frame(b"ACPT", &tokens)].concat();
    ready.input(content.len());
    let record = Record::from_bytes(content).unwrap_or_else(|error| panic!("{error}"));
    let mut replay = record.replay(record.sampler(None).unwrap_or_else(|error| panic!("{error}")));
    replay.advance().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(replay.sampler().ctx().history().len(), MILLION);
    "a million tokens".to_string()
}

fn vocab(ready: &mut Ready, name: &str, content: Vec<u8>) -> String {
    with_file(ready, name, content, |path| match VocabFile::read(path) {
        Ok(vocab) => format!("{} tokens", sampler_chain::Vocab::n_tokens(&vocab)),
        Err(error) => error.to_string(),
    })
}

fn oracle(ready: &mut Ready, rest: &str) -> String {
    let text = format!(r#"{{"name": "hostile", "source": "nobody", {rest}}}"#);
    ready.input(text.len());
    let case: OracleCase = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}"));
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("testing/data");
    Replayer::default().replay(&case, &dir).map_or_else(|failure| failure, |()| "passed".into())
}

fn params_vocab(ready: &mut Ready) -> String {
    ready.input(0);
    let params = Params { n_vocab: Some(1 << 31), seed: 1, ..Params::default() };
    let mut sampler = Sampler::new(params).unwrap_or_else(|error| panic!("{error}"));
    sampler.accept_prompt(u32::MAX >> 1).unwrap_or_else(|error| panic!("{error}"));
    sampler.sample(&[1.0; 4]).map_or_else(|error| error.to_string(), |token| token.to_string())
}

/// Every step that selects nothing, with the example of its page, and a selector.
fn every_step(ready: &mut Ready) -> String {
    let examples = sampler_chain::StepInfo::all().into_iter().filter(|info| info.selects == Some(false));
    let steps: Vec<serde_json::Value> = examples.filter_map(|info| info.example).collect();
    let (mut n_run, mut last) = (0, String::new());
    ready.input(0);
    for step in steps {
        let file = serde_json::json!({"version": 1, "seed": 1, "steps": [step, {"type": "dist"}]}).to_string();
        // A step that holds others selects as they do.
        let Ok(file) = ChainFile::parse(&file, Format::Json, Path::new("chain")) else { continue };
        // Some want a vocabulary, and say so.
        let Ok(mut sampler) = file.into_sampler(|seed| Ctx::new(seed).with_n_vocab(1 << 31)) else { continue };
        sampler.accept_prompt((1 << 31) - 1).unwrap_or_else(|error| panic!("{error}"));
        last = sampler.sample(&[1.0; 4]).map_or_else(|error| error.to_string(), |token| token.to_string());
        n_run += 1;
    }
    assert!(n_run > 20, "{n_run}");
    last
}

fn empty_pieces(ready: &mut Ready) -> String {
    #[derive(Debug)]
    struct Empty;
    impl sampler_chain::Vocab for Empty {
        fn n_tokens(&self) -> usize {
            1 << 31
        }
        fn piece(&self, _: u32) -> &[u8] {
            &[]
        }
        fn is_eog(&self, _: u32) -> bool {
            false
        }
        fn eot(&self) -> Option<u32> {
            None
        }
        fn eos(&self) -> Option<u32> {
            None
        }
        fn encode(&self, _: &[u8]) -> Result<Vec<u32>, sampler_chain::EncodeError> {
            Ok(vec![1])
        }
    }
    ready.input(0);
    let vocab: std::sync::Arc<dyn sampler_chain::Vocab> = std::sync::Arc::new(Empty);
    let table: std::sync::Arc<DryBreakers> = dry_breakers(&vocab, &["a"]).unwrap_or_else(|error| panic!("{error}"));
    format!("{} breakers", table.len())
}

/// Reads, draws and accepts.
fn steps(ready: &mut Ready, format: Format, n_draws: usize) -> String {
    let n = MILLION;
    let text = match format {
        Format::Json => {
            format!(
                "{{\"version\": 1, \"seed\": 1, \"steps\": [{}{{\"type\": \"dist\"}}]}}",
                "{\"type\": \"xtc\"},".repeat(n)
            )
        }
        Format::Toml => {
            format!("version = 1\nseed = 1\n{}[[steps]]\ntype = \"dist\"\n", "[[steps]]\ntype = \"xtc\"\n".repeat(n))
        }
    };
    ready.input(text.len());
    let file = ChainFile::parse(&text, format, Path::new("chain")).unwrap_or_else(|error| panic!("{error}"));
    let mut sampler = file.into_sampler(Ctx::new).unwrap_or_else(|error| panic!("{error}"));
    let mut row = vec![0.0; 10];
    row[9] = 1000.0;
    let mut token = 0;
    for _ in 0..n_draws {
        token = sampler.sample(&row).unwrap_or_else(|error| panic!("{error}"));
        sampler.accept(token).unwrap_or_else(|error| panic!("{error}"));
    }
    format!("token {token}")
}
