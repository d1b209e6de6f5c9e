//! llama.cpp's presets: INI files and command lines, with the same names.

mod args;
mod flags;
mod ini;
mod others;

use serde_json::{Value, json};

use super::ImportError;
use super::draft::{Draft, Window, shortened};
use super::report::Fate;
use crate::document::{Entry, Node, NodeKind};
use crate::gguf::{strtof, strtol};
use crate::params::Params;
pub use args::read_args;
pub use flags::{Flag, FlagKind, llama_cpp_flags};
pub use ini::read_ini;

/// A flag that was given, with its value.
struct Given {
    flag: &'static Flag,
    /// The name as it was written.
    name: String,
    text: String,
    at: usize,
}

/// Puts what was given over llama.cpp's defaults, as its command line does.
fn translate(given: &[Given], others: Vec<Entry>, draft: &mut Draft<'_>) {
    let mut entries = others;
    for (i, one) in given.iter().enumerate() {
        let is_list = matches!(one.flag.kind, FlagKind::Bias | FlagKind::Breaker);
        let is_same = |other: &&Given| std::ptr::eq(other.flag, one.flag);
        if !is_list && given[i + 1..].iter().any(|later| is_same(&later)) {
            let (part, why) = (shortened(&one.text), "it is given again, and the last counts".to_string());
            draft.note(&one.name, Fate::Dropped { part, why });
        } else if !is_list || !given[..i].iter().any(|earlier| is_same(&earlier)) {
            let value = Node { at: one.at, kind: NodeKind::Scalar(as_shown(&one.text)) };
            entries.push(Entry { key: one.name.clone(), at: one.at, value });
        }
    }
    entries.sort_by_key(|entry| entry.at);
    draft.load_entries(entries);
    draft.know(llama_cpp_flags().iter().flat_map(|flag| flag.names.iter().copied()));
    draft.as_llama_server = true;
    draft.base = Params::default();
    let mut windows = Vec::new();
    let mut lists: Vec<&'static Flag> = Vec::new();
    for (i, one) in given.iter().enumerate() {
        if given[i + 1..].iter().any(|later| std::ptr::eq(later.flag, one.flag)) && !is_list(one.flag) {
            continue;
        }
        match one.flag.kind {
            FlagKind::Window => windows.push(one),
            FlagKind::Bias | FlagKind::Breaker if !lists.iter().any(|seen| std::ptr::eq(*seen, one.flag)) => {
                lists.push(one.flag);
                let all: Vec<&Given> = given.iter().filter(|other| std::ptr::eq(other.flag, one.flag)).collect();
                list(&all, draft);
            }
            FlagKind::Bias | FlagKind::Breaker => {}
            _ => value(one, draft),
        }
    }
    // Whether a window is used depends on what is set.
    for one in windows {
        if strtol(&one.text).is_none() {
            draft.problem(&one.name, format!("a number is wanted, and this is \"{}\"", shortened(&one.text)));
        } else {
            draft.window(&one.name, one.flag.field, Window::ZeroIsOff);
        }
    }
}

fn is_list(flag: &Flag) -> bool {
    matches!(flag.kind, FlagKind::Bias | FlagKind::Breaker)
}

/// Numbers as numbers, all else as a text.
fn as_shown(text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(value @ (Value::Number(_) | Value::Bool(_))) => value,
        _ => text.into(),
    }
}

/// One value, read as llama.cpp's command line reads it.
fn value(one: &Given, draft: &mut Draft<'_>) {
    let (name, field, text) = (one.name.as_str(), one.flag.field, one.text.as_str());
    // stoi and stof read the number at the start and pass over the rest.
    let read: Option<Value> = match one.flag.kind {
        // stoul: a seed is unsigned, and wraps.
        FlagKind::Int if field == "seed" => strtol(text).map(|seed| Value::from(seed as u32)),
        FlagKind::Int => strtol(text).map(Value::from),
        FlagKind::Float => strtof(text).filter(|number| number.is_finite()).map(|number| json!(f64::from(number))),
        FlagKind::Names => Some(text.split(';').collect()),
        FlagKind::Letters => Some(text.into()),
        FlagKind::Context => return draft.own_n_ctx(name),
        FlagKind::Lost => return draft.note_as(name, field),
        FlagKind::Window | FlagKind::Bias | FlagKind::Breaker => None,
    };
    match read {
        Some(value) => {
            let is_number = matches!(one.flag.kind, FlagKind::Int | FlagKind::Float) && text.trim() != "-1";
            if is_number && text.trim().parse::<f64>().ok() != value.as_f64().map(|read| exact(text, read)) {
                let (from, why) = (shortened(text), "llama.cpp reads the number at the start".to_string());
                draft.note(name, Fate::Translated { from, to: value.to_string(), why });
            }
            draft.set(field, name, value);
        }
        None => {
            draft.problem(name, format!("a number is wanted, and this is \"{}\"", shortened(text)));
        }
    }
}

/// The number that a text says in f64, where its f32 is the one that was read: rounding alone is not told.
fn exact(text: &str, read: f64) -> f64 {
    match text.trim().parse::<f64>() {
        Ok(number) if number as f32 == read as f32 => number,
        _ => read,
    }
}

/// Biases and breakers, which may be given several times.
fn list(all: &[&Given], draft: &mut Draft<'_>) {
    let Some(first) = all.first() else { return };
    if first.flag.kind == FlagKind::Breaker {
        // "none" forgets what was given before it.
        let after = all.iter().rposition(|one| one.text == "none").map_or(0, |none| none + 1);
        let texts: Vec<&str> = all[after..].iter().map(|one| one.text.as_str()).collect();
        if texts.is_empty() {
            draft.base.dry_sequence_breakers = Vec::new();
            let (from, to) = ("none".to_string(), "[]".to_string());
            draft.note(&first.name, Fate::Translated { from, to, why: "no breakers".into() });
        } else {
            draft.set(first.flag.field, &first.name, texts);
        }
        return;
    }
    let mut biases = Vec::new();
    for one in all {
        match bias(&one.text) {
            Some((id, bias)) => biases.push(json!([id, bias])),
            None => {
                let what = format!("\"{}\" is no bias; 15043+1 and 15043-1 are", shortened(&one.text));
                draft.problem_at(one.at, what).field = Some(shortened(&one.name));
            }
        }
    }
    draft.set(first.flag.field, &first.name, biases);
}

/// `15043+1`; minus infinity is what a request says with false.
fn bias(text: &str) -> Option<(u32, Value)> {
    let at = text.find(['+', '-'])?;
    let (id, bias) = (text[..at].trim().parse().ok()?, strtof(&text[at + 1..])?);
    match (text.as_bytes()[at], bias.is_infinite()) {
        (b'-', true) => Some((id, false.into())),
        (b'-', false) => Some((id, json!(f64::from(-bias)))),
        (_, false) => Some((id, json!(f64::from(bias)))),
        (_, true) => None,
    }
}

/// An INI file has no such section.
fn section_error(draft: &Draft<'_>, what: String, sections: Vec<String>, nearest: Option<String>) -> ImportError {
    ImportError::Section { path: draft.path.into(), what, sections, nearest }
}
