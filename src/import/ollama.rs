//! The `PARAMETER` lines of Ollama's Modelfile.

use serde_json::Value;

use super::draft::{Draft, Names, Window};
use super::report::Fate;
use crate::document::{Entry, Node, NodeKind};
use crate::params::Params;

const NAMES: Names = Names(&[
    ("temperature", "temperature"),
    ("top_k", "top_k"),
    ("top_p", "top_p"),
    ("min_p", "min_p"),
    ("typical_p", "typical_p"),
    ("repeat_last_n", "repeat_last_n"),
    ("repeat_penalty", "repeat_penalty"),
    ("presence_penalty", "presence_penalty"),
    ("frequency_penalty", "frequency_penalty"),
    ("mirostat", "mirostat"),
    ("mirostat_tau", "mirostat_tau"),
    ("mirostat_eta", "mirostat_eta"),
    ("seed", "seed"),
    ("num_ctx", "n_ctx"),
]);

/// Instructions that are not about the draw.
const OTHERS: [&str; 8] = ["from", "template", "system", "adapter", "license", "message", "requires", "capability"];

pub fn read(text: &str, draft: &mut Draft<'_>) {
    let entries = parameters(text, draft);
    draft.load_entries(entries);
    draft.as_llama_server = true;
    // Ollama's own defaults, where they differ from llama.cpp's; its runner's order is llama.cpp's.
    draft.base = Params { top_p: 0.9, min_p: 0.0, ..Params::default() };
    draft.own_n_ctx("num_ctx");
    draft.copy_plain(NAMES);
    draft.window("repeat_last_n", "repeat_last_n", Window::ZeroIsOff);
    for (own, default) in [("temperature", "0.8"), ("top_k", "40"), ("top_p", "0.9")] {
        if draft.get(own).is_none() && draft.so_far("mirostat", 0.0) == 0.0 {
            draft.note(own, Fate::Absent { value: default.into(), why: "Ollama's default".into() });
        }
    }
}

/// The parameters with the places of their values. Of a name that is given several times (`stop`) the first stays.
fn parameters(text: &str, draft: &mut Draft<'_>) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut at = 0;
    let mut in_quotes = false;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        // An odd number of triple quotes opens a text, or ends one.
        let toggles = line.matches("\"\"\"").count() % 2 == 1;
        let is_inside = in_quotes;
        in_quotes ^= toggles;
        let content = line.trim();
        if is_inside || content.is_empty() || content.starts_with('#') {
            continue;
        }
        let (instruction, rest) = content.split_once(char::is_whitespace).unwrap_or((content, ""));
        let instruction = instruction.to_ascii_lowercase();
        if instruction == "parameter" {
            let (name, value) = rest.trim().split_once(char::is_whitespace).unwrap_or((rest.trim(), ""));
            let begin = start + line.find(content).unwrap_or(0);
            if value.is_empty() {
                let what = format!("PARAMETER {} has no value", super::draft::shortened(name));
                draft.problem_at(begin, what);
                continue;
            }
            let value = value.trim();
            let at = start + line.rfind(value).unwrap_or(0);
            let name = name.to_ascii_lowercase();
            if name == "stop" && entries.iter().any(|entry| entry.key == "stop") {
                continue;
            }
            let value = Node { at, kind: NodeKind::Scalar(scalar(value)) };
            entries.push(Entry { key: name, at: begin, value });
        } else if !OTHERS.contains(&instruction.as_str()) {
            let nearest = crate::names::nearest(&instruction, OTHERS.into_iter().chain(["parameter"]));
            let nearest = nearest.map(str::to_ascii_uppercase);
            let what = format!("{} is no instruction of a Modelfile", super::draft::shortened(&instruction));
            draft.problem_at(start, what).nearest = nearest;
        }
    }
    entries
}

/// A value without its quotes: a number, true or false, or a text.
fn scalar(text: &str) -> Value {
    let bare = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text);
    match bare {
        "true" => true.into(),
        "false" => false.into(),
        _ => bare
            .parse::<i64>()
            .map(Value::from)
            .ok()
            .or_else(|| bare.parse::<f64>().ok().and_then(serde_json::Number::from_f64).map(Value::Number))
            .unwrap_or_else(|| bare.into()),
    }
}
