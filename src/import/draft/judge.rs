//! What is said of each field.

use std::collections::HashSet;

use serde_json::Value;

use super::{Draft, shown};
use crate::document::{Node, NodeKind};
use crate::import::elsewhere::elsewhere;
use crate::import::lost::{LOST, Lost};
use crate::import::report::{Fate, Note};
use crate::llama_server::StepName;
use crate::names::nearest;
use crate::params::Params;
use crate::request;

/// So many unknown fields are compared with the known ones.
const MAX_COMPARED: usize = 100;

impl Draft<'_> {
    /// What nobody has read: without counterpart, about something else, or unknown.
    pub(super) fn leftovers(&mut self) {
        let read: HashSet<&str> = self
            .origins
            .values()
            .map(String::as_str)
            .chain(self.notes.iter().map(|note| note.field.as_str()))
            .chain(self.extra_fields())
            .collect();
        let mut n_unknown = 0;
        let mut notes = Vec::new();
        for entry in self.entries.iter().filter(|entry| !read.contains(entry.key.as_str())) {
            let fate = self.leftover(&entry.key, &entry.value).unwrap_or_else(|| {
                n_unknown += 1;
                // A file with more unknown fields is most likely of another kind, and comparing takes long.
                let nearest = if n_unknown <= MAX_COMPARED { self.nearest_field(&entry.key) } else { None };
                Fate::Unknown { nearest }
            });
            notes.push(Note { field: entry.key.clone(), fate });
        }
        self.notes.append(&mut notes);
    }

    /// Says of a field what is said of the name that the tables have for it.
    pub fn note_as(&mut self, key: &str, name: &str) {
        let Some(node) = self.get(key) else { return };
        let fate = self.leftover(name, node).unwrap_or(Fate::Unknown { nearest: None });
        self.note(key, fate);
    }

    /// What the tables say of a name; none: they do not know it.
    fn leftover(&self, name: &str, node: &Node) -> Option<Fate> {
        if matches!(node.kind, NodeKind::Scalar(Value::Null)) {
            return Some(Fate::NoEffect { why: "null counts as absent".into() });
        }
        let Some(lost) = LOST.iter().find(|lost| lost.names.contains(&name)) else {
            return elsewhere(name).map(|why| Fate::Elsewhere { why: why.to_string() });
        };
        let value = shown(node);
        Some(match self.idle(lost) {
            _ if lost.is_neutral(node) => Fate::Off { value },
            Some(why) => Fate::NoEffect { why },
            None => Fate::NoCounterpart { value, why: lost.why.to_string() },
        })
    }

    fn nearest_field(&self, key: &str) -> Option<String> {
        let lost = LOST.iter().flat_map(|lost| lost.names.iter().copied());
        nearest(key, self.known.iter().copied().chain(lost)).map(String::from)
    }

    /// Why a field changes nothing although its value is not neutral: the one it serves is.
    fn idle(&self, lost: &Lost) -> Option<String> {
        let served = lost.serves?;
        if served == "repeat_penalty" {
            return self.idle_window("repeat_last_n").map(|why| self.in_own_words(&why));
        }
        let main = LOST.iter().find(|main| main.names.contains(&served))?;
        let is_on = |name: &&str| self.get(name).is_some_and(|node: &Node| !main.is_neutral(node));
        (!main.names.iter().any(is_on)).then(|| format!("{served} is off"))
    }

    /// What the reader of requests says of each field, in the preset's words. `before` is what it says without mirostat, where
    /// penalties and DRY run in front of it.
    pub(super) fn judge(&mut self, params: &Params, read: &request::Report, before: Option<&request::Report>) {
        let origins: Vec<(&'static str, String)> =
            self.origins.iter().map(|(field, own)| (*field, own.clone())).collect();
        for (field, own) in origins {
            let is_told = self.notes.iter().any(|note| note.field == own);
            if is_off(field, params) {
                if !is_told {
                    let value = self.shown(&own);
                    self.note(&own, Fate::Off { value });
                }
                continue;
            }
            let is_listed = params.samplers.contains(&StepName::Temperature) || params.mirostat != 0 || self.greedy;
            if field == "temperature" && !is_listed {
                // The reader of requests leaves this to whoever reads its report: mirostat takes a temperature, too.
                let list = self.origins.get("samplers").map_or("samplers", String::as_str);
                let why = format!("temperature is not in {list}");
                self.note(&own, Fate::NoEffect { why });
                continue;
            }
            let read = before.filter(|_| counts_tokens(field)).unwrap_or(read);
            for note in read.notes.iter().filter(|note| note.field == field) {
                let Some(fate) = self.fate(field, &note.fate) else { continue };
                let says_more = !matches!(fate, Fate::Used { .. } | Fate::Translated { .. });
                let is_new = !self.notes.iter().any(|told| told.field == own && told.fate == fate);
                if is_new && (says_more || !is_told) && !self.is_greedy_about(field, &own) {
                    self.note(&own, fate);
                }
            }
        }
    }

    /// A greedy chain keeps penalties alone; the note on all else says so.
    fn is_greedy_about(&mut self, field: &str, own: &str) -> bool {
        let stays = ["seed", "samplers", "logit_bias"].contains(&field) || counts_tokens(field);
        if self.greedy && !stays {
            self.note(own, Fate::NoEffect { why: "do_sample is false: the most likely token is taken".into() });
            return true;
        }
        false
    }

    fn fate(&self, field: &str, fate: &request::Fate) -> Option<Fate> {
        Some(match fate {
            request::Fate::Clamped { from, to } => Fate::Translated {
                from: from.clone(),
                to: to.clone(),
                why: "it is held to its range, as llama-server does".into(),
            },
            request::Fate::Converted { from, to } => {
                Fate::Translated { from: from.clone(), to: to.clone(), why: "as llama-server converts numbers".into() }
            }
            request::Fate::Dropped { part, nearest } => {
                let why = nearest.map(|name| format!("llama-server does not know it (did you mean {name}?)"));
                Fate::Dropped { part: part.clone(), why: why.unwrap_or_else(|| "llama-server does not know it".into()) }
            }
            request::Fate::NoEffect { why } if field == "dry_sequence_breakers" && why.contains("vocabulary") => {
                Fate::Used { r#as: field.to_string() }
            }
            request::Fate::NoEffect { why } if field == "logit_bias" && why.contains("vocabulary") => {
                let why = "a text must be made tokens: a step logit_bias takes their ids".to_string();
                Fate::NoCounterpart {
                    value: self.origins.get(field).map(|own| self.shown(own)).unwrap_or_default(),
                    why,
                }
            }
            request::Fate::NoEffect { why } => Fate::NoEffect { why: self.in_own_words(why) },
            // Breakers need no vocabulary here: they stay texts.
            _ => Fate::Used { r#as: field.to_string() },
        })
    }

    /// The preset's names for llama-server's.
    pub(super) fn in_own_words(&self, why: &str) -> String {
        let own = |word: &str| self.origins.get(word).cloned().unwrap_or_else(|| word.to_string());
        match why.strip_suffix("the listed samplers") {
            Some(why) => format!("{}the listed samplers", why.split(' ').map(own).collect::<Vec<_>>().join(" ")),
            None => why.split(' ').map(own).collect::<Vec<_>>().join(" "),
        }
    }
}

/// Whether a field belongs to the penalties or to DRY.
fn counts_tokens(field: &str) -> bool {
    ["repeat_", "frequency_", "presence_", "dry_"].iter().any(|start| field.starts_with(start))
}

impl Lost {
    /// Whether a value switches it off.
    pub(super) fn is_neutral(&self, node: &Node) -> bool {
        match &node.kind {
            NodeKind::Scalar(Value::Number(n)) => n.as_f64().is_some_and(|n| self.neutral.contains(&n)),
            NodeKind::Scalar(Value::Bool(flag)) => self.neutral.contains(&f64::from(u8::from(*flag))),
            NodeKind::Scalar(Value::String(text)) => {
                let text = text.trim();
                text.is_empty() || text.parse().is_ok_and(|n| self.neutral.contains(&n))
            }
            NodeKind::Scalar(_) => true,
            NodeKind::Array(items) => items.is_empty(),
            NodeKind::Table(entries) => entries.is_empty(),
        }
    }
}

/// Whether a field has the value that switches it off.
fn is_off(field: &str, params: &Params) -> bool {
    match field {
        "temperature" => params.temperature == 1.0 && params.dynatemp_range <= 0.0,
        "dynatemp_range" => params.dynatemp_range <= 0.0,
        "top_k" => params.top_k <= 0,
        "top_p" => params.top_p >= 1.0,
        "min_p" => params.min_p <= 0.0,
        "top_n_sigma" => params.top_n_sigma <= 0.0,
        "typical_p" => params.typical_p >= 1.0,
        "xtc_probability" => params.xtc_probability <= 0.0,
        "repeat_penalty" => params.repeat_penalty == 1.0,
        "frequency_penalty" => params.frequency_penalty == 0.0,
        "presence_penalty" => params.presence_penalty == 0.0,
        "repeat_last_n" => params.repeat_last_n <= 0,
        "dry_multiplier" => params.dry_multiplier == 0.0,
        "dry_penalty_last_n" => params.dry_penalty_last_n <= 0,
        "mirostat" => params.mirostat == 0,
        "adaptive_target" => params.adaptive_target < 0.0,
        "min_keep" => params.min_keep <= 0,
        _ => false,
    }
}
