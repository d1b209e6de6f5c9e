//! Things inside things: chains, lists, tables, aliases.

use std::path::Path;

use sampler_chain::import::{Options, Source, import};
use sampler_chain::{ChainFile, Format, Params, Snapshot};

use crate::measure::{Case, Ready};

const fn case(input: &'static str, run: fn(&mut Ready) -> String, answer: &'static str) -> Case {
    Case { input, quick: true, run, answer, seconds: 1.0, megabytes: 64 }
}

pub const CASES: &[Case] = &[
    case("JSON: 10,000 chains inside each other", |ready| json(ready, "chain", "steps", 10_000), "nesting depth"),
    case("JSON: 32 chains inside each other", |ready| json(ready, "chain", "steps", 31), "a chain"),
    case(
        "JSON: 33 chains inside each other",
        |ready| json(ready, "chain", "steps", 40),
        "chains inside chains are read 32 deep",
    ),
    case("JSON: 10,000 `switch` inside each other", |ready| json(ready, "switch", "first", 10_000), "nesting depth"),
    case(
        "JSON: 40 `switch` inside each other",
        |ready| json(ready, "switch", "first", 40),
        "lists and tables inside a step are read 32 deep",
    ),
    case("JSON: 10,000 `protect` inside each other", |ready| json(ready, "protect", "steps", 10_000), "nesting depth"),
    case("JSON: a million `[`", |ready| chain(ready, &"[".repeat(1_000_000), Format::Json), "nesting depth"),
    case(
        "JSON: a million `{\"a\":`",
        |ready| chain(ready, &"{\"a\":".repeat(1_000_000), Format::Json),
        "nesting depth",
    ),
    case("TOML: 10,000 chains inside each other", |ready| toml(ready, "chain", "steps", 10_000), "rec"),
    case("TOML: 10,000 `switch` inside each other", |ready| toml(ready, "switch", "first", 10_000), "rec"),
    case("TOML: 10,000 `protect` inside each other", |ready| toml(ready, "protect", "steps", 10_000), "rec"),
    case(
        "TOML: a million `[`",
        |ready| chain(ready, &format!("a = {}", "[".repeat(1_000_000)), Format::Toml),
        "recursion",
    ),
    case(
        "TOML: a key of 100,000 parts",
        |ready| chain(ready, &format!("{} = 1", ["a"; 100_000].join(".")), Format::Toml),
        "recursion",
    ),
    case(
        "TOML: a table of 100,000 parts",
        |ready| chain(ready, &format!("[{}]", ["a"; 100_000].join(".")), Format::Toml),
        "recursion",
    ),
    case("request: a million `[` in logit_bias", |ready| request(ready, 1_000_000), "recursion limit exceeded"),
    case("request: 100 `[` in logit_bias", |ready| request(ready, 100), "dropped"),
    case("request: a value 5,000 deep, from Rust", value, "dropped"),
    case("snapshot: a million `[`", snapshot, "recursion limit exceeded"),
    case(
        "preset, JSON: a million `[`",
        |ready| preset(ready, "[".repeat(1_000_000), Source::SillyTavern),
        "nesting depth",
    ),
    case(
        "preset, YAML: a million `[`",
        |ready| preset(ready, "[".repeat(1_000_000), Source::TextGenerationWebui),
        "recursion limit exceeded",
    ),
    Case {
        quick: false,
        seconds: 5.0,
        megabytes: 200,
        ..case(
            "preset, YAML: 10,000 lists indented",
            |ready| preset(ready, indented(10_000), Source::TextGenerationWebui),
            "deep",
        )
    },
    case(
        "preset, YAML: aliases that make 10^9 values",
        |ready| preset(ready, aliases(), Source::TextGenerationWebui),
        "alias",
    ),
];

/// The answer of a chain file.
pub fn chain(ready: &mut Ready, text: &str, format: Format) -> String {
    ready.input(text.len());
    match ChainFile::parse(text, format, Path::new("chain")) {
        Ok(file) => format!("a chain of {} steps", file.chain.len()),
        Err(error) => error.to_string(),
    }
}

fn json(ready: &mut Ready, step: &str, field: &str, depth: usize) -> String {
    let open = format!("{{\"type\": \"{step}\", \"{field}\": [");
    let text = format!(
        "{{\"version\": 1, \"steps\": [{}{{\"type\": \"greedy\"}}{}]}}",
        open.repeat(depth),
        "]}".repeat(depth)
    );
    chain(ready, &text, Format::Json)
}

fn toml(ready: &mut Ready, step: &str, field: &str, depth: usize) -> String {
    let open = format!("{{type = \"{step}\", {field} = [");
    let text = format!("version = 1\nsteps = [{}{{type = \"greedy\"}}{}]", open.repeat(depth), "]}".repeat(depth));
    chain(ready, &text, Format::Toml)
}

fn request(ready: &mut Ready, depth: usize) -> String {
    let text = format!("{{\"logit_bias\": [{}1{}]}}", "[".repeat(depth), "]".repeat(depth));
    ready.input(text.len());
    match serde_json::from_str(&text) {
        Ok(body) => super::requests::told(&body, &Params::default()),
        Err(error) => error.to_string(),
    }
}

fn value(ready: &mut Ready) -> String {
    let mut value = serde_json::json!(1);
    for _ in 0..5000 {
        value = serde_json::Value::Array(vec![value]);
    }
    ready.input(5000);
    // Not through json!, which would go as deep itself.
    let body = serde_json::Map::from_iter([("logit_bias".to_string(), serde_json::Value::Array(vec![value]))]);
    super::requests::told(&body.into(), &Params::default())
}

fn snapshot(ready: &mut Ready) -> String {
    let text = format!("{{\"version\": 1, \"chain\": {}", "[".repeat(1_000_000));
    ready.input(text.len());
    serde_json::from_str::<Snapshot>(&text).map_or_else(|error| error.to_string(), |_| "a snapshot".into())
}

/// The answer of a preset.
pub fn preset(ready: &mut Ready, text: String, source: Source) -> String {
    ready.input(text.len());
    match import(&text, Path::new("preset"), &Options { source: Some(source), ..Options::default() }) {
        Ok(imported) => {
            format!("a chain of {} steps, {} notes", imported.chain.chain.len(), imported.report.notes.len())
        }
        Err(error) => error.to_string(),
    }
}

fn indented(depth: usize) -> String {
    (0..depth).map(|i| format!("{}-\n", " ".repeat(i))).collect()
}

fn aliases() -> String {
    let mut text = "a: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n".to_string();
    for i in 1..9 {
        let list = vec![format!("*a{}", i - 1); 10].join(", ");
        text += &format!("b{i}: &a{i} [{list}]\n");
    }
    text
}
