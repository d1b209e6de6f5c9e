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
    let groups = grouped(given);
    let mut entries = others;
    for group in &groups {
        let Some((last, earlier)) = group.split_last() else { continue };
        if !last.is_listed() {
            for one in earlier {
                let (part, why) = (shortened(&one.text), "it is given again, and the last counts".to_string());
                draft.note(&one.name, Fate::Dropped { part, why });
            }
        }
        let value = Node { at: last.at, kind: NodeKind::Scalar(as_shown(&last.text)) };
        entries.push(Entry { key: last.name.clone(), at: group[0].at, value });
    }
    entries.sort_by_key(|entry| entry.at);
    draft.load_entries(entries);
    draft.know(llama_cpp_flags().iter().flat_map(|flag| flag.names.iter().copied()));
    draft.as_llama_server = true;
    draft.base = Params::default();
    // Whether a window is used depends on what else is set.
    let (windows, rest): (Vec<_>, Vec<_>) =
        groups.iter().partition(|group| group.iter().any(|one| one.flag.kind == FlagKind::Window));
    for group in rest {
        match group.last() {
            Some(last) if last.is_listed() => list(group, draft),
            Some(last) => value(last, draft),
            None => {}
        }
    }
    for one in windows.iter().filter_map(|group| group.last()) {
        if strtol(&one.text).is_none() {
            draft.problem(&one.name, format!("a number is wanted, and this is \"{}\"", shortened(&one.text)));
        } else {
            draft.window(&one.name, one.flag.field, Window::ZeroIsOff);
        }
    }
}

/// What was given, flag by flag, in the order in which the last of each stands.
fn grouped(given: &[Given]) -> Vec<Vec<&Given>> {
    let mut groups: Vec<(usize, Vec<&Given>)> = Vec::new();
    for (i, one) in given.iter().enumerate() {
        match groups.iter_mut().find(|(_, group)| std::ptr::eq(group[0].flag, one.flag)) {
            Some((last, group)) => {
                *last = i;
                group.push(one);
            }
            None => groups.push((i, vec![one])),
        }
    }
    groups.sort_by_key(|(last, _)| *last);
    groups.into_iter().map(|(_, group)| group).collect()
}

impl Given {
    /// Whether all of the flag's values count.
    fn is_listed(&self) -> bool {
        matches!(self.flag.kind, FlagKind::Bias | FlagKind::Breaker)
    }
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
            if !is_exact(one, &value) {
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

/// Whether a number is what its whole text says, rounded once, and but for the sign of a seed.
fn is_exact(one: &Given, read: &Value) -> bool {
    let text = one.text.trim();
    match one.flag.kind {
        FlagKind::Int if one.flag.field == "seed" => {
            text.parse::<i64>().is_ok_and(|seed| read.as_u64() == Some(u64::from(seed as u32)))
        }
        FlagKind::Int => text.parse::<i64>().ok() == read.as_i64(),
        FlagKind::Float => text.parse::<f32>().is_ok_and(|number| read.as_f64() == Some(f64::from(number))),
        _ => true,
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
