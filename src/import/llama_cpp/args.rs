//! Command lines.

use serde_json::Value;

use super::flags::dashed;
use super::others::other_flag;
use super::{Flag, Given, translate};
use crate::document::{Entry, Node, NodeKind};
use crate::import::draft::{Draft, shortened};
use crate::import::report::Fate;
use crate::import::text::{Word, words};

/// Reads a command line: the program's name, if it is there, flags and their values, quoted as in a shell.
pub fn read_args(text: &str, draft: &mut Draft<'_>) {
    let words = words(text).unwrap_or_else(|at| {
        draft.problem_at(at, "this quote is not closed");
        Vec::new()
    });
    let mut given: Vec<Given> = Vec::new();
    let mut others = Vec::new();
    let mut words = words.into_iter().peekable();
    while let Some(Word { text: word, at }) = words.next() {
        if !is_flag(&word) {
            // The program, or what belongs to it.
            other(&word, at, Fate::Elsewhere { why: "it is no flag".into() }, &mut others, draft);
            continue;
        }
        if let Some(flag) = Flag::of_word(&word) {
            if flag.is_switch() {
                given.push(Given { flag, name: word, text: "true".into(), at });
            } else if let Some(value) = words.next() {
                let name = same_name(flag, word, &given);
                given.push(Given { flag, name, text: value.text, at });
            } else {
                draft.problem_at(at, "a value must follow it").field = Some(shortened(&word));
            }
            continue;
        }
        let fate = match other_flag(&dashed(&word)) {
            Some(takes_value) => {
                if takes_value {
                    words.next();
                }
                Fate::Elsewhere { why: "how llama.cpp runs".into() }
            }
            None => {
                if let Some((name, value)) = word.split_once('=').filter(|(name, _)| Flag::of_word(name).is_some()) {
                    let problem = draft.problem_at(at, "llama.cpp takes no = between a flag and its value");
                    problem.field = Some(shortened(name));
                    problem.help = Some(format!("it wants {name} {}", shortened(value)));
                    continue;
                }
                words.next_if(|next| !is_flag(&next.text));
                Fate::Unknown { nearest: nearest_flag(&word) }
            }
        };
        other(&word, at, fate, &mut others, draft);
    }
    translate(&given, others, draft);
}

/// The first name that a flag was given by: a field has one name in the report.
fn same_name(flag: &'static Flag, word: String, given: &[Given]) -> String {
    given.iter().find(|one| std::ptr::eq(one.flag, flag)).map_or(word, |one| one.name.clone())
}

fn nearest_flag(word: &str) -> Option<String> {
    let names = super::llama_cpp_flags().iter().flat_map(|flag| flag.names.iter().copied());
    crate::names::nearest(word, names).map(String::from)
}

/// A word that is not about the draw; told once.
fn other(word: &str, at: usize, fate: Fate, others: &mut Vec<Entry>, draft: &mut Draft<'_>) {
    if others.iter().any(|entry| entry.key == word) {
        return;
    }
    draft.note(word, fate);
    let value = Node { at, kind: NodeKind::Scalar(Value::Bool(true)) };
    others.push(Entry { key: word.to_string(), at, value });
}

/// A dash, and no number behind it.
fn is_flag(word: &str) -> bool {
    word.strip_prefix('-')
        .is_some_and(|rest| !rest.is_empty() && !rest.starts_with(|c: char| c.is_ascii_digit() || c == '.'))
}
