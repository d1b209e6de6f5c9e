//! What became of every field of a request: nothing is silently ignored.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value};

use super::fields::{ELSEWHERE, FIELDS, Field, OTHER_FIELDS, Serves};
use crate::llama_server::StepName;
use crate::names::{nearest, suggestion};
use crate::params::Params;

/// So many parts of a field that are dropped, or have no effect, are told one by one.
const MAX_PARTS: usize = 16;
/// Of so many unknown fields the nearest known name is looked for.
const MAX_SUGGESTED: usize = 64;
/// A part is shown up to so many characters.
const MAX_SHOWN: usize = 60;

/// A value as far as a report shows it. A long or deep one is never written whole.
pub(super) fn shown(value: &(impl Serialize + ?Sized)) -> String {
    /// Takes the beginning, and refuses the rest.
    struct Beginning(Vec<u8>);
    impl std::io::Write for Beginning {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let n = bytes.len().min(4 * MAX_SHOWN - self.0.len());
            self.0.extend_from_slice(&bytes[..n]);
            Ok(n)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut beginning = Beginning(Vec::new());
    // What is left over is not shown.
    let _ = serde_json::to_writer(&mut beginning, value);
    String::from_utf8_lossy(&beginning.0).chars().take(MAX_SHOWN).collect()
}

/// What became of the fields of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// In llama-server's order, then what it does not know.
    pub notes: Vec<FieldNote>,
    /// How many parts of each field were dropped.
    n_dropped: BTreeMap<String, usize>,
    /// How many parts of each field have no effect.
    n_idle: BTreeMap<String, usize>,
}

/// One thing that became of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldNote {
    /// The field, by the name that the request used.
    pub field: String,
    /// What became of it.
    pub fate: Fate,
}

/// What became of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fate {
    /// Its value is used as it was sent.
    Used,
    /// Its value was moved into the field's range.
    Clamped {
        /// As sent.
        from: String,
        /// As used.
        to: String,
    },
    /// Its value was converted as C does it.
    Converted {
        /// As sent.
        from: String,
        /// As used.
        to: String,
    },
    /// It is another name of a field, and was used.
    Aliased {
        /// The field's first name.
        to: &'static str,
    },
    /// Another name of the same field was sent, too, and counts instead.
    Shadowed {
        /// The name that counts.
        by: &'static str,
    },
    /// A part of its value is not known, and was left out.
    Dropped {
        /// The part.
        part: String,
        /// What it may have meant.
        nearest: Option<&'static str>,
    },
    /// It is used, but not all that belongs to it.
    Reduced {
        /// What is missing, and why.
        why: String,
    },
    /// Its value was read, and changes nothing.
    NoEffect {
        /// Why.
        why: String,
    },
    /// llama-server does not know it.
    Unknown {
        /// What it may have meant.
        nearest: Option<&'static str>,
    },
}

impl fmt::Display for FieldNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.field)?;
        match &self.fate {
            Fate::Used => f.write_str("used"),
            Fate::Clamped { from, to } => write!(f, "{from} is out of range, {to} is used"),
            Fate::Converted { from, to } => write!(f, "{from} is read as {to}"),
            Fate::Aliased { to } => write!(f, "read as {to}"),
            Fate::Shadowed { by } => write!(f, "{by} is given, too, and counts"),
            Fate::Dropped { part, nearest } => write!(f, "{part} is dropped{}", suggestion(*nearest)),
            Fate::Reduced { why } => write!(f, "used, but {why}"),
            Fate::NoEffect { why } => write!(f, "has no effect: {why}"),
            Fate::Unknown { nearest } => write!(f, "unknown{}", suggestion(*nearest)),
        }
    }
}

impl Report {
    /// Whether every field was used as it was sent.
    pub fn is_quiet(&self) -> bool {
        self.surprises().next().is_none()
    }

    /// The notes on fields that were not simply used.
    pub fn surprises(&self) -> impl Iterator<Item = &FieldNote> {
        self.notes.iter().filter(|note| note.fate != Fate::Used)
    }

    fn note(&mut self, field: &str, fate: Fate) {
        self.notes.push(FieldNote { field: field.to_string(), fate });
    }

    pub(super) fn used(&mut self, name: &'static str, field: &Field, shadowed: Option<&'static str>) {
        let first = field.names[0];
        self.note(name, if name == first { Fate::Used } else { Fate::Aliased { to: first } });
        if let Some(shadowed) = shadowed {
            self.note(shadowed, Fate::Shadowed { by: name });
        }
    }

    pub(super) fn converted(&mut self, field: &str, from: String, to: String) {
        self.replace_used(field, Fate::Converted { from, to });
    }

    pub(super) fn reduced(&mut self, field: &str, why: impl Into<String>) {
        self.replace_used(field, Fate::Reduced { why: why.into() });
    }

    pub(super) fn clamped(&mut self, field: &str, from: String, to: String) {
        self.replace_used(field, Fate::Clamped { from, to });
    }

    /// Notes a part of a field that is left out: the first of them one by one, all others by their number.
    pub(super) fn dropped(&mut self, field: &str, part: &str, nearest: Option<&'static str>) {
        let n = self.n_dropped.entry(field.to_string()).or_default();
        *n += 1;
        if *n <= MAX_PARTS {
            let part = part.chars().take(MAX_SHOWN).collect();
            self.replace_used(field, Fate::Dropped { part, nearest });
        }
    }

    /// Notes a part of a field that has no effect: the first of them one by one, all others by their number.
    pub(super) fn part_of_no_effect(&mut self, field: &str, part: &str, why: &dyn fmt::Display) {
        let n = self.n_idle.entry(field.to_string()).or_default();
        *n += 1;
        if *n <= MAX_PARTS {
            let why: String = why.to_string().chars().take(4 * MAX_SHOWN).collect();
            self.no_effect(field, format!("{part}: {why}"));
        }
    }

    pub(super) fn no_effect(&mut self, field: &str, why: impl Into<String>) {
        self.replace_used(field, Fate::NoEffect { why: why.into() });
    }

    /// What is said of a field takes the place of "used".
    fn replace_used(&mut self, field: &str, fate: Fate) {
        match self.notes.iter_mut().find(|note| note.field == field && note.fate == Fate::Used) {
            Some(note) => note.fate = fate,
            None => self.note(field, fate),
        }
    }

    /// Adds what only the whole request shows: fields whose step does not run, and fields that nobody knows.
    pub(super) fn finish(&mut self, body: &Map<String, Value>, params: &Params) {
        for field in FIELDS {
            let Some(why) = idle(field.serves, params).or_else(|| neutral(field.names[0], params)) else { continue };
            for &name in field.names {
                if self.notes.iter().any(|note| note.field == name && note.fate == Fate::Used) {
                    self.no_effect(name, why.clone());
                }
            }
        }
        for (field, n) in std::mem::take(&mut self.n_dropped) {
            if n > MAX_PARTS {
                let part = format!("and {} more", n - MAX_PARTS);
                self.note(&field, Fate::Dropped { part, nearest: None });
            }
        }
        for (field, n) in std::mem::take(&mut self.n_idle) {
            if n > MAX_PARTS {
                self.no_effect(&field, format!("and {} more, for the like", n - MAX_PARTS));
            }
        }
        if without_breakers(params) {
            let why = "without breakers: their texts need a vocabulary, and there is none";
            match self.notes.iter().any(|note| note.field == "dry_sequence_breakers") {
                true => self.no_effect("dry_sequence_breakers", "texts need a vocabulary, and there is none"),
                false => self.replace_used("dry_multiplier", Fate::Reduced { why: why.into() }),
            }
        }
        let names = || FIELDS.iter().flat_map(|field| field.names.iter().copied());
        let mut n_unknown = 0;
        for name in body.keys().filter(|name| !OTHER_FIELDS.contains(&name.as_str())) {
            if let Some((_, why)) = ELSEWHERE.iter().find(|(known, _)| known == name) {
                self.note(name, Fate::NoEffect { why: why.to_string() });
            } else if !names().any(|known| known == name) {
                // A step's name is most likely meant for the field that it is about.
                let of_step = StepName::from_name(name).and_then(main_field);
                n_unknown += 1;
                let search = || (n_unknown <= MAX_SUGGESTED).then(|| nearest(name, names())).flatten();
                self.note(name, Fate::Unknown { nearest: of_step.or_else(search) });
            }
        }
    }
}

/// The field that a step is mostly about.
fn main_field(step: StepName) -> Option<&'static str> {
    if step == StepName::Temperature {
        return Some("temperature");
    }
    FIELDS.iter().find(|field| field.serves == Serves::Step(step)).map(|field| field.names[0])
}

/// Whether DRY runs without the breakers that llama-server would give it (docs/divergences.md).
fn without_breakers(params: &Params) -> bool {
    let runs = params.dry_multiplier != 0.0 && params.mirostat == 0 && params.samplers.contains(&StepName::Dry);
    runs && params.vocab.is_none() && params.dry_breakers.is_none()
}

/// Why a field that serves this part of the chain changes nothing, if so.
fn idle(serves: Serves, params: &Params) -> Option<String> {
    let listed = |step: StepName| params.samplers.contains(&step);
    let mirostat = params.mirostat != 0;
    match serves {
        Serves::Step(_) | Serves::Truncation | Serves::List if mirostat => {
            Some(format!("mirostat {} runs in place of the listed samplers", params.mirostat))
        }
        Serves::Step(step) if !listed(step) => Some(format!("{} is not in samplers", step.as_str())),
        Serves::Truncation => {
            let truncates = [StepName::TypP, StepName::TopP, StepName::MinP, StepName::Xtc];
            let none = !truncates.into_iter().any(listed);
            none.then(|| "none of typ_p, top_p, min_p and xtc is in samplers".to_string())
        }
        Serves::Mirostat if !mirostat => Some("mirostat is 0".to_string()),
        _ => None,
    }
}

/// Why a field changes nothing although its step runs: a neighbour's value switches it off.
fn neutral(field: &str, params: &Params) -> Option<String> {
    let xtc_is_off = params.xtc_probability <= 0.0 || params.xtc_threshold > 0.5;
    let flat_penalties =
        params.repeat_penalty == 1.0 && params.frequency_penalty == 0.0 && params.presence_penalty == 0.0;
    let nothing_truncates = params.typical_p >= 1.0 && params.top_p >= 1.0 && params.min_p <= 0.0 && xtc_is_off;
    let (is_neutral, why) = match field {
        "dynatemp_exponent" => (params.dynatemp_range <= 0.0, "dynatemp_range is 0"),
        "xtc_threshold" => (params.xtc_probability <= 0.0, "xtc_probability is 0"),
        "xtc_probability" => (params.xtc_threshold > 0.5, "xtc_threshold is above 0.5"),
        "repeat_last_n" => (flat_penalties, "no penalty is set"),
        "repeat_penalty" | "frequency_penalty" | "presence_penalty" => {
            (params.repeat_last_n <= 0, "repeat_last_n is 0")
        }
        "dry_base" | "dry_allowed_length" | "dry_penalty_last_n" | "dry_sequence_breakers"
            if params.dry_multiplier == 0.0 =>
        {
            (true, "dry_multiplier is 0")
        }
        "dry_multiplier" | "dry_base" | "dry_allowed_length" | "dry_sequence_breakers" => {
            (params.dry_penalty_last_n == 0, "dry_penalty_last_n is 0")
        }
        "adaptive_decay" => (params.adaptive_target < 0.0, "adaptive_target is below 0"),
        "post_sampling_probs" => (params.n_probs <= 0, "n_probs is 0"),
        "min_keep" => (nothing_truncates, "nothing truncates"),
        _ => (false, ""),
    };
    is_neutral.then(|| why.to_string())
}
