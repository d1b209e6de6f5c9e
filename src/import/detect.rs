//! Which program a preset is of.

use std::path::Path;

use super::Source;
use super::yaml;
use crate::document::{self, Node, NodeKind};

/// The format of a text, by its file's name and by what is in it.
pub fn detect(text: &str, path: &Path) -> Option<Source> {
    let lower = |part: Option<&std::ffi::OsStr>| part.map(|part| part.to_string_lossy().to_ascii_lowercase());
    let name = lower(path.file_name()).unwrap_or_default();
    let extension = lower(path.extension()).unwrap_or_default();
    let start = text.trim_start();
    match extension.as_str() {
        "ini" => return Some(Source::LlamaCppIni),
        "sh" | "args" | "cmd" => return Some(Source::LlamaCppArgs),
        "yaml" | "yml" => return Some(of_yaml(text)),
        "modelfile" => return Some(Source::Ollama),
        _ if name.starts_with("modelfile") => return Some(Source::Ollama),
        _ => {}
    }
    if start.starts_with('{') {
        return document::parse_json(text).ok().and_then(|tree| of_json(&tree, &name)).or_else(|| of_name(&name));
    }
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(['#', ';']));
    let first_word = |line: &str| line.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
    if lines().any(|line| ["from", "parameter"].contains(&first_word(line).as_str()) && !line.contains('=')) {
        return Some(Source::Ollama);
    }
    if lines().any(|line| line.starts_with('[') && line.ends_with(']')) {
        return Some(Source::LlamaCppIni);
    }
    if text.split_whitespace().any(is_flag) {
        return Some(Source::LlamaCppArgs);
    }
    if !start.is_empty() && lines().all(|line| line.contains('=') && !line.contains(": ")) {
        return Some(Source::LlamaCppIni);
    }
    let tree = yaml::parse(text).ok()?;
    matches!(&tree.kind, NodeKind::Table(entries) if !entries.is_empty()).then(|| of_yaml(text))
}

fn is_flag(word: &str) -> bool {
    word.strip_prefix("--").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic()))
}

fn of_yaml(text: &str) -> Source {
    let is_override = |node: &Node| node.get("override").is_some();
    match yaml::parse(text).map(|tree| tree.kind) {
        Ok(NodeKind::Table(entries)) if entries.iter().any(|entry| is_override(&entry.value)) => Source::TabbyApi,
        _ => Source::TextGenerationWebui,
    }
}

fn of_json(tree: &Node, name: &str) -> Option<Source> {
    let has = |key: &str| tree.get(key).is_some();
    let any = |keys: &[&str]| keys.iter().any(|key| has(key));
    if any(&["default_generation_settings", "generation_settings"]) || has("repeat_last_n") && has("samplers") {
        return Some(Source::LlamaServer);
    }
    if name == "generation_config.json" || any(&["transformers_version", "eos_token_id"]) {
        return Some(Source::HuggingFace);
    }
    let of_sillytavern = [
        "samplers",
        "sampler_priority",
        "samplers_priorities",
        "typical_p",
        "temperature_last",
        "freq_pen",
        "mirostat_mode",
    ];
    if any(&["temp", "rep_pen"]) && any(&of_sillytavern) {
        return Some(Source::SillyTavern);
    }
    if any(&["sampler_order", "rep_pen_slope", "savedsettings", "dynatemp_range", "typical"]) && !has("repeat_penalty")
    {
        return Some(Source::KoboldCpp);
    }
    if any(&["temp", "rep_pen"]) {
        return Some(Source::SillyTavern);
    }
    any(&["do_sample", "repetition_penalty"]).then_some(Source::HuggingFace)
}

/// JSON that is broken: its name may still tell, so that the error is about the JSON.
fn of_name(name: &str) -> Option<Source> {
    (name == "generation_config.json").then_some(Source::HuggingFace)
}
