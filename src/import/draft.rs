//! A preset on its way to a chain: its fields, the request that they make, and what is said of each.
//!
//! Every program's values become a llama-server request, so that numbers are converted, held to their ranges and refused in
//! one place, and so that whatever changes nothing is seen in one place. What no request has is added to the chain.

mod chain;
mod extra;
mod judge;
mod read;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use serde_json::{Map, Value};

use super::report::{Fate, Note, Report};
use super::{ImportError, Options, Question};
use crate::chain_file::ChainFile;
use crate::document::{Entry, Node, NodeKind};
use crate::error::{FileError, FileProblem, Position};
use crate::llama_server::BuildError;
use crate::params::{Layer, Params};
use crate::request::RequestError;

pub use read::{Names, Window, texts_of};

/// So many problems are told; a file with more is most likely of another kind.
const MAX_PROBLEMS: usize = 100;

pub struct Draft<'t> {
    pub text: &'t str,
    pub path: &'t Path,
    pub options: &'t Options,
    /// What the preset's program does where the preset says nothing.
    pub base: Params,
    /// Whether the chain has every step that llama-server builds, those that are off included; else only what is on.
    pub as_llama_server: bool,
    /// Whether the most likely token is taken, and nothing truncates.
    pub greedy: bool,
    /// Whether the frequency and presence penalties count drawn tokens alone.
    pub counts_generated: bool,
    /// A plain temperature behind the penalties, where the dynamic one is a step of its own further on.
    pub first_temperature: Option<f32>,
    /// Whether the listed steps run in front of mirostat: KoboldCpp's do, of which those that mirostat leaves are listed.
    pub lists_before_mirostat: bool,
    /// How much of KoboldCpp's penalty the older half of its window gets.
    pub slope: Option<f32>,
    entries: Vec<Entry>,
    /// The context size that the preset itself says, and its field.
    own_n_ctx: Option<(String, u32)>,
    body: Map<String, Value>,
    /// The preset's field from which a field of the request comes.
    origins: BTreeMap<&'static str, String>,
    /// Steps that no request has.
    extras: Vec<extra::Extra>,
    /// Their places: so many listed steps are before each.
    places: Vec<(&'static str, usize)>,
    known: Vec<&'static str>,
    notes: Vec<Note>,
    problems: Vec<FileProblem>,
    /// Takes the problems that are too many to tell.
    more: FileProblem,
    questions: Vec<Question>,
}

impl<'t> Draft<'t> {
    pub fn new(text: &'t str, path: &'t Path, options: &'t Options) -> Self {
        Self {
            text,
            path,
            options,
            base: neutral(),
            as_llama_server: false,
            greedy: false,
            counts_generated: false,
            first_temperature: None,
            lists_before_mirostat: false,
            slope: None,
            entries: Vec::new(),
            own_n_ctx: None,
            body: Map::new(),
            origins: BTreeMap::new(),
            extras: Vec::new(),
            places: Vec::new(),
            known: Vec::new(),
            notes: Vec::new(),
            problems: Vec::new(),
            more: FileProblem::new(None, ""),
            questions: Vec::new(),
        }
    }

    /// Takes a table's fields; anything but a table is a problem.
    pub fn load(&mut self, node: Node) {
        match node.kind {
            NodeKind::Table(entries) => self.load_entries(entries),
            _ => {
                let what = format!("a preset is a table, and this is {}", node.describe());
                self.problem_at(node.at, what);
            }
        }
    }

    /// Takes fields; one that is given twice is a problem.
    pub fn load_entries(&mut self, entries: Vec<Entry>) {
        let mut seen = HashSet::new();
        for entry in &entries {
            if !seen.insert(entry.key.clone()) {
                self.problem_at(entry.at, "is given twice").field = Some(shortened(&entry.key));
            }
        }
        self.entries = entries;
    }

    /// Names that are known besides those of the tables, for the nearest known name.
    pub fn know(&mut self, names: impl IntoIterator<Item = &'static str>) {
        self.known.extend(names);
    }

    pub fn note(&mut self, field: &str, fate: Fate) {
        self.notes.push(Note { field: field.to_string(), fate });
    }

    /// Sets a field of the request from one of the preset.
    pub fn set(&mut self, field: &'static str, from: &str, value: impl Into<Value>) {
        self.body.insert(field.to_string(), value.into());
        if let Some(earlier) = self.origins.insert(field, from.to_string()).filter(|earlier| earlier != from) {
            self.note(&earlier, Fate::NoEffect { why: format!("{from} is given, too, and counts") });
        }
    }

    /// What the request has so far for a field; without it, what the base has.
    pub fn so_far(&self, field: &str, base: f32) -> f64 {
        self.body.get(field).and_then(Value::as_f64).unwrap_or(base.into())
    }

    pub fn problem_at(&mut self, at: usize, what: impl Into<String>) -> &mut FileProblem {
        if self.problems.len() >= MAX_PROBLEMS {
            return &mut self.more;
        }
        self.problems.push(FileProblem::new(Some(Position::of(self.text, at)), what));
        self.problems.last_mut().expect("one was pushed")
    }

    /// Something is wrong with a field's value.
    pub fn problem(&mut self, field: &str, what: impl Into<String>) -> &mut FileProblem {
        let at = self.get(field).map_or(0, |node| node.at);
        let problem = self.problem_at(at, what);
        problem.field = Some(shortened(field));
        problem
    }

    pub fn ask(&mut self, field: &str, why: impl Into<String>, flag: &'static str, values: impl Into<String>) {
        let (field, why, values) = (field.to_string(), why.into(), values.into());
        self.questions.push(Question { field, why, flag, values });
    }

    /// The chain, and what became of each field.
    pub fn finish(mut self) -> Result<(ChainFile, Report), ImportError> {
        self.leftovers();
        let body = Value::Object(std::mem::take(&mut self.body));
        let read = Params::from_layer(&body, &self.base, None, Layer::Preset);
        if let Err(RequestError::Field { field, refusal }) = &read {
            let field = self.origins.get(field.as_str()).unwrap_or(field).clone();
            self.problem(&field, refusal.clone());
        }
        let (params, report) = match read {
            Ok(read) if self.problems.is_empty() => read,
            _ => return Err(self.file_error()),
        };
        if !self.questions.is_empty() {
            return Err(ImportError::Asks { path: self.path.into(), questions: self.questions });
        }
        let chain = match self.chain(&params) {
            Ok(chain) => chain,
            Err(error) => return Err(self.refusal(error)),
        };
        let before = match self.before_mirostat(&params) {
            // The same without mirostat, for what is said of the fields of those steps.
            Some(_) => {
                let body = body.as_object().into_iter().flatten().filter(|(field, _)| *field != "mirostat");
                let body = Value::Object(body.map(|(field, value)| (field.clone(), value.clone())).collect());
                Params::from_layer(&body, &self.base, None, Layer::Preset).ok().map(|(_, report)| report)
            }
            None => None,
        };
        self.judge(&params, &report, before.as_ref());
        self.judge_extras(&params);
        let places: HashMap<&str, usize> =
            self.entries.iter().enumerate().map(|(place, entry)| (entry.key.as_str(), place)).collect();
        self.notes.sort_by_key(|note| places.get(note.field.as_str()).copied().unwrap_or(usize::MAX));
        let seed = body.get("seed").map(|_| params.seed);
        Ok((ChainFile { seed, chain }, Report { notes: self.notes }))
    }
}

impl Draft<'_> {
    /// All problems in the file's order, each once: a field may be read for several reasons.
    fn file_error(mut self) -> ImportError {
        self.problems.sort_by_key(|problem| problem.at);
        self.problems.dedup();
        FileError { path: self.path.into(), problems: self.problems }.into()
    }

    /// A refusal of llama-server's, with the preset's field where one is refused.
    fn refusal(mut self, error: BuildError) -> ImportError {
        let fields = [
            ("penalty_repeat", "repeat_penalty"),
            ("penalty_freq", "frequency_penalty"),
            ("penalty_present", "presence_penalty"),
        ];
        if let BuildError::Penalty(what) = &error
            && let Some((name, field)) = fields.into_iter().find(|(name, _)| what.starts_with(name))
            && let Some(own) = self.origins.get(field).cloned()
        {
            self.problem(&own, what.trim_start_matches(name).trim_start());
            return self.file_error();
        }
        ImportError::Chain { path: self.path.into(), source: Box::new(error) }
    }
}

/// Everything off, in llama-server's order.
fn neutral() -> Params {
    Params { temperature: 1.0, top_k: 0, top_p: 1.0, min_p: 0.0, ..Params::default() }
}

/// As much of a text as a report shows.
pub fn shortened(text: &str) -> String {
    const MAX_SHOWN: usize = 60;
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_string(),
    }
}

/// A value as a report shows it.
pub fn shown(node: &Node) -> String {
    shortened(&node.to_json().to_string())
}
