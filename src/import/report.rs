//! What became of every field of a preset.

use std::fmt;

use serde::Serialize;

use crate::names::suggestion;

/// What became of the fields of a preset.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Report {
    /// In the preset's order; what it does not say comes last.
    pub notes: Vec<Note>,
}

/// One thing that became of a field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Note {
    /// The field, by the preset's name.
    pub field: String,
    /// What became of it.
    #[serde(flatten)]
    pub fate: Fate,
}

/// What became of a field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "fate", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Fate {
    /// Its value is used as it is.
    Used {
        /// llama-server's name of it, or the step of samplers that llama.cpp does not have.
        r#as: String,
    },
    /// Its value means something else here.
    Translated {
        /// As it stands.
        from: String,
        /// As it is used.
        to: String,
        /// Why.
        why: String,
    },
    /// With it comes a step that the preset does not say: its program runs it whatever the preset says.
    Added {
        /// The step, with its value.
        step: String,
        /// Why, and where it stands.
        why: String,
    },
    /// Its value is the one that switches it off.
    Off {
        /// The value.
        value: String,
    },
    /// Its value is read, and changes nothing.
    NoEffect {
        /// Why.
        why: String,
    },
    /// It would change what is drawn, and nothing here does the same.
    NoCounterpart {
        /// The value.
        value: String,
        /// Why.
        why: String,
    },
    /// A part of its value is not known, and is left out.
    Dropped {
        /// The part.
        part: String,
        /// Why, or what it may have meant.
        why: String,
    },
    /// It is not about the draw.
    Elsewhere {
        /// What it is about.
        why: String,
    },
    /// The preset leaves it open; this is used.
    Absent {
        /// The value.
        value: String,
        /// Whose value it is.
        why: String,
    },
    /// Nobody knows it.
    Unknown {
        /// What it may have meant.
        nearest: Option<String>,
    },
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.field)?;
        match &self.fate {
            Fate::Used { r#as } if *r#as == self.field => f.write_str("used"),
            Fate::Used { r#as } => write!(f, "used as {}", r#as),
            Fate::Translated { from, to, why } => write!(f, "{from} becomes {to}: {why}"),
            Fate::Added { step, why } => write!(f, "{step} is added: {why}"),
            Fate::Off { value } => write!(f, "{value} is off"),
            Fate::NoEffect { why } => write!(f, "has no effect: {why}"),
            Fate::NoCounterpart { value, why } => write!(f, "{value} has no counterpart: {why}"),
            Fate::Dropped { part, why } if why.is_empty() => write!(f, "{part} is dropped"),
            Fate::Dropped { part, why } => write!(f, "{part} is dropped: {why}"),
            Fate::Elsewhere { why } => write!(f, "is not about the draw: {why}"),
            Fate::Absent { value, why } => write!(f, "absent, {value} is used: {why}"),
            Fate::Unknown { nearest } => write!(f, "unknown{}", suggestion(nearest.as_deref())),
        }
    }
}

impl Report {
    /// The notes on what the chain does not do and the preset's program would: fields without counterpart, and unknown ones.
    pub fn losses(&self) -> impl Iterator<Item = &Note> {
        self.notes.iter().filter(|note| matches!(note.fate, Fate::NoCounterpart { .. } | Fate::Unknown { .. }))
    }

    /// The notes on fields of a name.
    pub fn of(&self, field: &str) -> impl Iterator<Item = &Fate> {
        self.notes.iter().filter(move |note| note.field == field).map(|note| &note.fate)
    }
}

impl fmt::Display for Report {
    /// A line a note.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.notes.iter().try_for_each(|note| writeln!(f, "{note}"))
    }
}
