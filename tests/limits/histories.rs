//! Long histories, and numbers about them that are as large as they get.

use sampler_chain::{ChainFile, Ctx, Format, Params, Sampler, Snapshot, StepInfo};
use serde_json::{Value, json};

use crate::measure::{Case, Ready};

const MILLION: usize = 1_000_000;

const fn case(input: &'static str, run: fn(&mut Ready) -> String, seconds: f64, megabytes: u64) -> Case {
    Case { input, quick: false, run, answer: "token", seconds, megabytes }
}

pub const CASES: &[Case] = &[
    case("prompt: 10^7 tokens, llama-server's chain", |ready| server(ready, json!({}), 10 * MILLION, &text), 5.0, 300),
    case(
        "prompt: 10^7 tokens, penalties and DRY over 2^31 - 1",
        |ready| server(ready, all_windows(i32::MAX), 10 * MILLION, &text),
        15.0,
        1000,
    ),
    case(
        "prompt: 10^7 equal tokens, penalties and DRY over 2^31 - 1",
        |ready| server(ready, all_windows(i32::MAX), 10 * MILLION, &|_| 5),
        15.0,
        1000,
    ),
    case(
        "prompt: 10^6 tokens, penalties and DRY over -1",
        |ready| server(ready, all_windows(-1), MILLION, &text),
        2.0,
        300,
    ),
    case(
        "prompt: 10^6 tokens, dry_allowed_length -2^31",
        |ready| server(ready, dry(json!(i32::MIN)), MILLION, &text),
        2.0,
        300,
    ),
    case("prompt: 10^6 tokens, dry_allowed_length 0", |ready| server(ready, dry(json!(0)), MILLION, &text), 2.0, 300),
    case(
        "prompt: 10^6 tokens, dry_allowed_length 2^31 - 1",
        |ready| server(ready, dry(json!(i32::MAX)), MILLION, &text),
        2.0,
        300,
    ),
    case("prompt: 10^6 tokens, every other step", |ready| every_step(ready, &text), 10.0, 400),
    case("prompt: 10^6 equal tokens, every other step", |ready| every_step(ready, &|_| 5), 10.0, 400),
    case("snapshot: 10^7 tokens", snapshot, 5.0, 1000),
    Case {
        input: "snapshot: a generator 2^31 outputs on",
        quick: false,
        run: |ready| generators(ready, 1, 1 << 31),
        answer: "restored",
        seconds: 15.0,
        megabytes: 64,
    },
    Case {
        input: "snapshot: 1,000 generators 2^31 outputs on",
        quick: false,
        run: |ready| generators(ready, 1000, 1 << 31),
        answer: "2147483648 is the most",
        seconds: 15.0,
        megabytes: 64,
    },
    Case {
        input: "snapshot: a generator 2^64 - 1 outputs on",
        quick: true,
        run: |ready| generators(ready, 1, u64::MAX),
        answer: "2147483648 is the most",
        seconds: 0.2,
        megabytes: 64,
    },
];

/// Tokens as in a text: a few of them often.
fn text(i: usize) -> u32 {
    let x = (i as u32).wrapping_mul(2_654_435_761) >> 16;
    x * x / (1 << 24) * (x & 15)
}

fn all_windows(n: i32) -> Value {
    json!({"repeat_last_n": n, "repeat_penalty": 1.1, "presence_penalty": 0.1, "dry_multiplier": 0.8, "dry_penalty_last_n": n})
}

fn dry(allowed_length: Value) -> Value {
    json!({"dry_multiplier": 0.8, "dry_penalty_last_n": 2_000_000_000, "dry_allowed_length": allowed_length})
}

/// A prompt and eight draws of llama-server's chain.
fn server(ready: &mut Ready, mut body: Value, n: usize, token: &dyn Fn(usize) -> u32) -> String {
    body["seed"] = 1.into();
    let prompt: Vec<u32> = (0..n).map(token).collect();
    ready.input(n * 4);
    let (params, _) = match Params::from_request(&body, &Params::default(), None) {
        Ok(read) => read,
        Err(error) => return format!("{error}: no token"),
    };
    let sampler = Sampler::new(params).unwrap_or_else(|error| panic!("{error}"));
    draw(sampler, &prompt, 8)
}

fn draw(mut sampler: Sampler, prompt: &[u32], n: usize) -> String {
    sampler.accept_prompt_all(prompt).unwrap_or_else(|error| panic!("{error}"));
    let row: Vec<f32> = (0..65_536 * 4).map(|i| (i % 1000) as f32 / 60.0).collect();
    let mut last = 0;
    for _ in 0..n {
        last = sampler.sample(&row).unwrap_or_else(|error| panic!("{error}"));
        sampler.accept(last).unwrap_or_else(|error| panic!("{error}"));
    }
    format!("token {last}")
}

/// Every step of which a step's page has an example, but the two above and those that want a vocabulary; each over the same prompt.
fn every_step(ready: &mut Ready, token: &dyn Fn(usize) -> u32) -> String {
    let prompt: Vec<u32> = (0..MILLION).map(token).collect();
    ready.input(MILLION * 4);
    let mut slowest = (std::time::Duration::ZERO, String::new());
    let (mut last, mut n_run) = (String::new(), 0);
    for info in StepInfo::all().into_iter().filter(|info| !["dry", "penalties"].contains(&info.name.as_str())) {
        let Some(example) = info.example else { continue };
        let steps = if info.selects == Some(true) { json!([example]) } else { json!([example, {"type": "dist"}]) };
        let file = json!({"version": 1, "seed": 1, "steps": steps}).to_string();
        // A step that holds others selects as they do.
        let Ok(file) = ChainFile::parse(&file, Format::Json, "chain".as_ref()) else { continue };
        let Ok(sampler) = file.into_sampler(Ctx::new) else { continue };
        let start = std::time::Instant::now();
        last = draw(sampler, &prompt, 2);
        n_run += 1;
        if start.elapsed() > slowest.0 {
            slowest = (start.elapsed(), info.name);
        }
    }
    assert!(n_run > 20, "{n_run}");
    format!("{last}; the slowest of {n_run} steps was {}", slowest.1)
}

fn snapshot(ready: &mut Ready) -> String {
    let mut sampler = Sampler::new(Params { seed: 1, ..Params::default() }).unwrap_or_else(|error| panic!("{error}"));
    let prompt: Vec<u32> = (0..10 * MILLION).map(text).collect();
    sampler.accept_prompt_all(&prompt).unwrap_or_else(|error| panic!("{error}"));
    let json = serde_json::to_string(&sampler.snapshot()).unwrap_or_else(|error| panic!("{error}"));
    sampler.reset();
    ready.input(json.len());
    let snapshot: Snapshot = serde_json::from_str(&json).unwrap_or_else(|error| panic!("{error}"));
    sampler.restore(&snapshot).unwrap_or_else(|error| panic!("{error}"));
    draw(sampler, &[], 2)
}

fn generators(ready: &mut Ready, n: usize, taken: u64) -> String {
    let mut steps = vec![json!({"type": "xtc", "probability": 0.1}); n - 1];
    steps.push(json!({"type": "dist"}));
    let file = json!({"version": 1, "seed": 1, "steps": steps}).to_string();
    let file = ChainFile::parse(&file, Format::Json, "chain".as_ref()).unwrap_or_else(|error| panic!("{error}"));
    let mut sampler = file.into_sampler(Ctx::new).unwrap_or_else(|error| panic!("{error}"));
    let mut json = serde_json::to_value(sampler.snapshot()).unwrap_or_else(|error| panic!("{error}"));
    json["state"] = vec![taken; n].into();
    ready.input(json.to_string().len());
    let snapshot: Snapshot = serde_json::from_value(json).unwrap_or_else(|error| panic!("{error}"));
    sampler.restore(&snapshot).map_or_else(|error| error.to_string(), |()| "restored".into())
}
