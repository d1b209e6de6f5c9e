//! Reading a chain file: every problem that it has, each with its place.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use sampler_steps::{Chain, ChainError, Ctx, SamplerStep, StepError, registered_steps, step_fields};
use serde_json::{Map, Value};

use super::{ChainFile, Format, VERSION};
use crate::document::{Entry, Node, NodeKind, parse_json, parse_toml};
use crate::error::{FileProblem, Position};
use crate::names::nearest;

/// So many problems are told; a file with more is most likely of another kind.
const MAX_PROBLEMS: usize = 100;
/// Chains inside chains are read this deep.
const MAX_DEPTH: usize = 32;
/// Lists and tables inside the parameters of a step, where serde reads steps inside steps with much of the stack.
const MAX_NESTING: usize = 32;

pub fn parse(text: &str, format: Format) -> Result<ChainFile, Vec<FileProblem>> {
    let document = match format {
        Format::Json => parse_json(text),
        Format::Toml => parse_toml(text),
    };
    let (problems, more) = (Vec::new(), FileProblem::new(None, ""));
    let mut reader = Reader { text, problems, more, known: registered_steps(), fields: HashMap::new() };
    let file = match document {
        Ok(document) => reader.file(&document),
        Err(error) => {
            reader.problem(error.at, error.what);
            ChainFile::default()
        }
    };
    if reader.problems.is_empty() { Ok(file) } else { Err(reader.problems) }
}

struct Reader<'t> {
    text: &'t str,
    problems: Vec<FileProblem>,
    /// Takes the problems that are too many to tell.
    more: FileProblem,
    /// The steps that there are.
    known: Vec<String>,
    /// The parameters of those that were met: a file may have a step a million times.
    fields: HashMap<String, Option<Rc<[String]>>>,
}

/// A step with where it stands, to find it again when something is wrong with the chain.
struct Place {
    index: String,
    at: usize,
}

impl Reader<'_> {
    fn problem(&mut self, at: usize, what: impl Into<String>) -> &mut FileProblem {
        if self.problems.len() >= MAX_PROBLEMS {
            return &mut self.more;
        }
        self.problems.push(FileProblem::new(Some(Position::of(self.text, at)), what));
        self.problems.last_mut().expect("one was pushed")
    }

    fn file(&mut self, document: &Node) -> ChainFile {
        let Some(entries) = self.entries(document, "a chain file") else { return ChainFile::default() };
        self.unknown_keys(entries, &["version", "seed", "steps"], None);
        match document.get("version").map(|node| (node.at, node.to_json())) {
            None => {
                self.problem(document.at, format!("version is missing; this is version {VERSION}"));
            }
            Some((_, version)) if version == VERSION => {}
            Some((at, version)) => {
                let what = format!("version {version} is not known; this program reads version {VERSION}");
                self.problem(at, what).field = Some("version".into());
            }
        }
        let seed = document.get("seed").and_then(|node| self.seed(node));
        let mut places = Vec::new();
        let chain = match document.get("steps") {
            Some(steps) => self.steps(steps, "", &mut places),
            None => {
                self.problem(document.at, "steps is missing: the list of steps");
                Chain::new()
            }
        };
        if self.problems.is_empty() {
            self.selection(document, &chain, &places);
        }
        ChainFile { seed, chain }
    }

    /// A seed: -2147483648 to 4294967295, negative ones as the unsigned number of the same 32 bits.
    fn seed(&mut self, node: &Node) -> Option<u32> {
        let seed = node.to_json().as_i64().filter(|seed| (i64::from(i32::MIN)..=i64::from(u32::MAX)).contains(seed));
        if seed.is_none() {
            let what = format!("{} is no seed: a whole number from -2147483648 to 4294967295 is", node.describe());
            self.problem(node.at, what).field = Some("seed".into());
        }
        seed.map(|seed| seed as u32)
    }

    fn steps(&mut self, node: &Node, outer: &str, places: &mut Vec<Place>) -> Chain {
        let mut chain = Chain::new();
        let NodeKind::Array(steps) = &node.kind else {
            let what = format!("a list of steps is wanted, and this is {}", node.describe());
            self.problem(node.at, what).field = Some("steps".into());
            return chain;
        };
        for (i, node) in steps.iter().enumerate() {
            let index = format!("{outer}{}", i + 1);
            places.push(Place { index: index.clone(), at: node.at });
            if let Some(step) = self.step(node, &index, places) {
                chain.push(step);
            }
        }
        chain
    }

    fn step(&mut self, node: &Node, index: &str, places: &mut Vec<Place>) -> Option<Box<dyn SamplerStep>> {
        let unnamed = format!("step {index}");
        let first = self.problems.len();
        let named = self.named_step(node, index, places);
        for problem in &mut self.problems[first..] {
            problem.step.get_or_insert_with(|| match node.get("type").and_then(Node::as_str) {
                Some(name) => format!("{unnamed} ({name})"),
                None => unnamed.clone(),
            });
        }
        named
    }

    fn named_step(&mut self, node: &Node, index: &str, places: &mut Vec<Place>) -> Option<Box<dyn SamplerStep>> {
        let entries = self.entries(node, "a step")?;
        let Some(kind) = node.get("type") else {
            self.problem(node.at, "type is missing: the name of the step");
            return None;
        };
        let Some(name) = kind.as_str() else {
            let what = format!("the name of a step is wanted, and this is {}", kind.describe());
            self.problem(kind.at, what).field = Some("type".into());
            return None;
        };
        if !self.known.iter().any(|step| step == name) {
            if self.problems.len() < MAX_PROBLEMS {
                self.unknown_step(kind.at, name);
            }
            return None;
        }
        if let Some(fields) = self.fields_of(name) {
            let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
            self.unknown_keys(entries, &fields, Some("type"));
        }
        if name == "chain" {
            return self.inner_chain(node, index, places);
        }
        self.plain_step(node, entries, name)
    }

    fn unknown_step(&mut self, at: usize, name: &str) {
        let nearest = nearest(name, self.known.iter().map(String::as_str)).map(String::from);
        let help = format!(
            "there are {}. A step of another crate is there only if the program uses that crate: name it in the code, \
             too (use its_crate as _;), or the linker leaves it out",
            self.known.join(", ")
        );
        let problem = self.problem(at, format!("there is no step {}", name.escape_debug()));
        (problem.field, problem.nearest, problem.help) = (Some("type".into()), nearest, Some(help));
    }

    /// The parameters of a step, in the order of its struct; none where it takes any.
    fn fields_of(&mut self, name: &str) -> Option<Rc<[String]>> {
        if let Some(fields) = self.fields.get(name) {
            return fields.clone();
        }
        let fields: Option<Rc<[String]>> = step_fields(name).map(Into::into);
        self.fields.insert(name.to_string(), fields.clone());
        fields
    }

    fn inner_chain(&mut self, node: &Node, index: &str, places: &mut Vec<Place>) -> Option<Box<dyn SamplerStep>> {
        if index.matches('.').count() >= MAX_DEPTH {
            self.problem(node.at, format!("chains inside chains are read {MAX_DEPTH} deep"));
            return None;
        }
        let Some(steps) = node.get("steps") else {
            self.problem(node.at, "steps is missing: the list of steps");
            return None;
        };
        Some(Box::new(self.steps(steps, &format!("{index}."), places)))
    }

    fn plain_step(&mut self, node: &Node, entries: &[Entry], name: &str) -> Option<Box<dyn SamplerStep>> {
        if node.is_deeper_than(MAX_NESTING) {
            self.problem(node.at, format!("lists and tables inside a step are read {MAX_NESTING} deep"));
            return None;
        }
        let before = self.problems.len();
        let known = self.fields_of(name);
        let is_parameter = |entry: &&Entry| entry.key != "type";
        let is_known = |entry: &&Entry| known.as_ref().is_none_or(|known| known.contains(&entry.key));
        // A serde error does not say which field it is about, so each is tried alone.
        for entry in entries.iter().filter(is_parameter).filter(is_known) {
            let alone = Map::from_iter([("type".into(), name.into()), (entry.key.clone(), entry.value.to_json())]);
            match from_json(Value::Object(alone)) {
                Err(error) if !error.starts_with("missing field") => {
                    self.problem(entry.value.at, error).field = Some(entry.key.clone());
                }
                _ => {}
            }
        }
        let has_unknown = entries.iter().filter(is_parameter).any(|entry| !is_known(&entry));
        if self.problems.len() > before || has_unknown {
            return None;
        }
        let mut step = match from_json(node.to_json()) {
            Ok(step) => step,
            Err(error) => {
                self.problem(node.at, error);
                return None;
            }
        };
        // The vocabulary comes later, and with it what only a vocabulary can tell.
        match step.prepare(&Ctx::new(0)) {
            Ok(()) | Err(StepError::NeedsVocab { .. }) => {}
            Err(error) => {
                let text = error.to_string();
                let of_field = error.field().and_then(|field| entries.iter().find(|entry| entry.key == field));
                match of_field {
                    Some(Entry { key, value, .. }) => {
                        let what = text.strip_prefix(&format!("{key}: ")).unwrap_or(&text);
                        self.problem(value.at, what).field = Some(key.clone());
                    }
                    None => {
                        self.problem(node.at, text);
                    }
                }
                return None;
            }
        }
        // Not the prepared one: a chain of a file is as it was written.
        from_json(node.to_json()).ok()
    }

    fn selection(&mut self, document: &Node, chain: &Chain, places: &[Place]) {
        let Err(error) = chain.check_selection() else { return };
        let at = match &error {
            ChainError::AfterSelector { index, .. } => places.iter().find(|place| place.index == *index),
            _ => places.last(),
        }
        .map_or(document.get("steps").map_or(document.at, |steps| steps.at), |place| place.at);
        self.problem(at, error.to_string());
    }

    fn entries<'n>(&mut self, node: &'n Node, what: &str) -> Option<&'n [Entry]> {
        let NodeKind::Table(entries) = &node.kind else {
            self.problem(node.at, format!("{what} is a table, and this is {}", node.describe()));
            return None;
        };
        let mut seen = HashSet::new();
        for entry in entries {
            if !seen.insert(&entry.key) {
                self.problem(entry.at, "is given twice").field = Some(entry.key.clone());
            }
        }
        Some(entries)
    }

    fn unknown_keys(&mut self, entries: &[Entry], known: &[&str], tag: Option<&str>) {
        for entry in entries {
            if known.contains(&entry.key.as_str()) || tag == Some(entry.key.as_str()) {
                continue;
            }
            if self.problems.len() >= MAX_PROBLEMS {
                return;
            }
            let help = match known {
                [] => "this step takes none".to_string(),
                [only] => format!("there is only {only}"),
                _ => format!("there are {}", known.join(", ")),
            };
            let problem = self.problem(entry.at, "there is no such field");
            problem.field = Some(entry.key.escape_debug().to_string());
            problem.help = Some(help);
            problem.nearest = nearest(&entry.key, known.iter().copied()).map(String::from);
        }
    }
}

fn from_json(step: Value) -> Result<Box<dyn SamplerStep>, String> {
    serde_json::from_value(step).map_err(|error| error.to_string())
}
