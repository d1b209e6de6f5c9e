//! A step with many parameters, found without knowing the step: its defaults, the example in its docs, the example chains,
//! the recorded cases, and what its schema lets through.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use sampler_chain::oracle::read_cases;
use sampler_chain::{SamplerStep, StepInfo, steps::step_schema};
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::cases::{Random, context};

/// So many are tried of each step.
const WANTED: usize = 48;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Files below a folder whose name ends so.
pub fn files(dir: &str, extension: &str) -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![root().join(dir)]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|found| found == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The files of recorded cases, in the order of their names without the `.gz` of those that are packed.
fn recorded() -> Vec<PathBuf> {
    let mut found = files("testing/data", "jsonl");
    let packed = files("testing/data", "gz").into_iter();
    found.extend(packed.filter(|path| path.to_string_lossy().ends_with(".jsonl.gz")));
    found.sort_by_key(|path| path.to_string_lossy().trim_end_matches(".gz").to_string());
    found
}

/// Every step of the example chains and of the recorded cases, those inside others included.
pub fn written() -> Vec<Value> {
    let mut found = Vec::new();
    for path in files("examples/chains", "toml") {
        let text = std::fs::read_to_string(path).unwrap();
        gather(&toml::from_str::<Value>(&text).unwrap(), &mut found);
    }
    for path in recorded() {
        if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("steps-")) {
            let text = read_cases(&path).unwrap();
            let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            lines.for_each(|case| gather(&case["chain"], &mut found));
        }
    }
    found
}

fn gather(value: &Value, found: &mut Vec<Value>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| gather(item, found)),
        Value::Object(entries) => {
            if entries.contains_key("type") {
                found.push(value.clone());
            }
            entries.values().for_each(|entry| gather(entry, found));
        }
        _ => {}
    }
}

/// A step as it was read, prepared for a vocabulary of forty tokens; none if it is no step or refuses its parameters.
fn step(value: &Value) -> Option<Box<dyn SamplerStep>> {
    let mut step: Box<dyn SamplerStep> = serde_json::from_value(value.clone()).ok()?;
    step.prepare(&context(1, 40, true)).ok()?;
    serde_json::from_value(value.clone()).ok()
}

/// The variants of a step. Empty only where nothing gives its parameters.
pub fn variants(name: &str, written: &[Value]) -> Vec<Box<dyn SamplerStep>> {
    let mut bases = vec![json!({"type": name})];
    bases.extend(StepInfo::of(name).ok().and_then(|info| info.example));
    let mut seen = BTreeSet::new();
    let of_step = written.iter().filter(|value| value["type"] == name);
    bases.extend(of_step.filter(|value| seen.insert(value.to_string())).take(WANTED / 4).cloned());
    bases.retain(|base| step(base).is_some());

    let schema = step_schema(name, &mut SchemaSettings::draft07().into_generator());
    let schema = schema.map(|schema| schema.to_value()).unwrap_or_default();
    let mut random = Random::new(7);
    let mut all = bases.clone();
    for _ in 0..WANTED * 8 {
        if all.len() >= WANTED || schema["properties"].as_object().is_none_or(|all| all.len() < 2) {
            break;
        }
        let base = if bases.is_empty() { json!({"type": name}) } else { random.of(&bases).clone() };
        let made = varied(&base, &schema, bases.is_empty(), &mut random);
        if step(&made).is_some() {
            all.push(made);
        }
    }
    let mut seen = BTreeSet::new();
    all.retain(|value| seen.insert(value.to_string()));
    all.iter().filter_map(step).collect()
}

/// The base with some parameters changed, or all of them.
fn varied(base: &Value, schema: &Value, all: bool, random: &mut Random) -> Value {
    let mut made = base.as_object().cloned().unwrap_or_default();
    let parameters: Vec<(&String, &Value)> =
        schema["properties"].as_object().into_iter().flatten().filter(|(name, _)| *name != "type").collect();
    let at_least = random.below(parameters.len());
    for (i, (name, property)) in parameters.into_iter().enumerate() {
        if (all || i == at_least || random.below(3) == 0)
            && let Some(value) = value(property, property.get("default"), random)
        {
            made.insert(name.clone(), value);
        }
    }
    Value::Object(made)
}

/// A value that a schema lets through, or nearly.
fn value(schema: &Value, default: Option<&Value>, random: &mut Random) -> Option<Value> {
    for key in ["anyOf", "oneOf"] {
        if let Some(options) = schema[key].as_array() {
            // Infinities are rarer than numbers.
            let option = if random.below(4) > 0 { options.first()? } else { random.of(options) };
            let bounds = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"];
            let mut option = option.as_object()?.clone();
            for bound in bounds {
                if let Some(value) = schema.get(bound) {
                    option.insert(bound.into(), value.clone());
                }
            }
            return value(&Value::Object(option), default, random);
        }
    }
    if let Some(only) = schema.get("const") {
        return Some(only.clone());
    }
    if let Some(values) = schema["enum"].as_array() {
        return Some(random.of(values).clone());
    }
    if schema.get("$ref").is_some() {
        return Some(inner_step(random));
    }
    let kind = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().find(|kind| *kind != "null")?.as_str()?,
        kind => kind.as_str()?,
    };
    Some(match kind {
        "boolean" => json!(random.below(2) == 0),
        "string" => json!(random.of(&["\n", ":", "a", "b c", ""])),
        "integer" => {
            let least = schema["minimum"].as_i64().unwrap_or(-2).max(-3);
            let most = schema["maximum"].as_i64().unwrap_or(i64::MAX);
            let near = [0, 0, 1, 1, 2, 3, 4, 5, 7, 10, 30, 100, 3000];
            json!(least.saturating_add(*random.of(&near)).min(most))
        }
        "number" => number(schema, default, random),
        "array" => match schema["prefixItems"].as_array().or(schema["items"].as_array()) {
            Some(items) => {
                let items: Option<Vec<Value>> = items.iter().map(|item| value(item, None, random)).collect();
                json!(items?)
            }
            None => {
                let items: Option<Vec<Value>> =
                    (0..random.below(4)).map(|_| value(&schema["items"], None, random)).collect();
                json!(items?)
            }
        },
        "object" => {
            let entries: Option<Map<String, Value>> = schema["properties"]
                .as_object()?
                .iter()
                .map(|(name, property)| Some((name.clone(), value(property, property.get("default"), random)?)))
                .collect();
            json!(entries?)
        }
        _ => return None,
    })
}

fn number(schema: &Value, default: Option<&Value>, random: &mut Random) -> Value {
    let usual = [0.0, 1.0, -1.0, 0.5, 0.1, 0.9, 0.01, 0.3, 1.5, 2.0, 5.0, 1e-6, 50.0];
    let default = default.and_then(Value::as_f64).unwrap_or(1.0);
    let picked = match random.below(8) {
        0..4 => *random.of(&usual),
        4 | 5 => default * 2.0 * random.uniform(),
        6 => 1.0 - random.uniform() / 4.0,
        _ => *random.of(&[1e6, -1e6, 3.0, -0.25, 1e-30, 1e30]),
    };
    let least = schema["minimum"].as_f64().or(schema["exclusiveMinimum"].as_f64().map(|least| least + 0.05));
    let most = schema["maximum"].as_f64().or(schema["exclusiveMaximum"].as_f64().map(|most| most - 0.05));
    json!(picked.max(least.unwrap_or(f64::MIN)).min(most.unwrap_or(f64::MAX)))
}

/// A step to stand inside another.
fn inner_step(random: &mut Random) -> Value {
    let steps = [
        json!({"type": "top_k", "k": 3}),
        json!({"type": "top_p", "p": 0.6}),
        json!({"type": "min_p", "p": 0.2}),
        json!({"type": "typ_p", "p": 0.5}),
        json!({"type": "top_n_sigma", "n": 1.0}),
        json!({"type": "xtc", "probability": 0.5, "threshold": 0.1}),
        json!({"type": "temperature", "temp": 0.7}),
        json!({"type": "logit_bias", "bias": [[0, 1.5]]}),
        json!({"type": "penalties", "repeat": 1.5, "window": "generated"}),
    ];
    random.of(&steps).clone()
}
