//! Reading fields, and the meanings that several programs share.

use serde_json::{Value, json};

use super::{Draft, shortened, shown};
use crate::document::{Node, NodeKind};
use crate::import::report::Fate;
use crate::import::text::breakers_of;
use crate::llama_server::StepName;
use crate::names::nearest;

/// A program's names, each with llama-server's name of the same, or with one of this module's own: `dynatemp` (whether the
/// temperature is dynamic), `dynatemp_low`, `dynatemp_high`, `temperature_last`, `do_sample`, `n_ctx`.
#[derive(Clone, Copy)]
pub struct Names(pub &'static [(&'static str, &'static str)]);

impl Names {
    /// The program's name of a field; the field's own where the program has none.
    pub fn of(self, field: &'static str) -> &'static str {
        self.0.iter().find(|(_, known)| *known == field).map_or(field, |(own, _)| own)
    }
}

/// What a window of 0 and below means.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Window {
    /// 0 is off, below it is the whole context: llama.cpp before b11192, Ollama, ExLlama.
    ZeroIsOff,
    /// 0 and below are the whole context: text-generation-webui.
    ZeroIsWhole,
    /// What is below 1 is raised to 1: KoboldCpp.
    AtLeastOne,
}

/// Numbers that mean the same everywhere.
const PLAIN: &[&str] = &[
    "seed",
    "temperature",
    "dynatemp_range",
    "dynatemp_exponent",
    "top_k",
    "top_p",
    "min_p",
    "top_n_sigma",
    "xtc_probability",
    "xtc_threshold",
    "typical_p",
    "repeat_penalty",
    "presence_penalty",
    "frequency_penalty",
    "dry_multiplier",
    "dry_base",
    "dry_allowed_length",
    "adaptive_target",
    "adaptive_decay",
    "mirostat",
    "mirostat_tau",
    "mirostat_eta",
    "min_keep",
];

impl Draft<'_> {
    /// A field's value, unless it is null.
    pub fn get(&self, field: &str) -> Option<&Node> {
        let value = self.entries.iter().find(|entry| entry.key == field).map(|entry| &entry.value)?;
        (!matches!(value.kind, NodeKind::Scalar(Value::Null))).then_some(value)
    }

    /// A field's value as it is shown.
    pub fn shown(&self, field: &str) -> String {
        self.get(field).map(shown).unwrap_or_default()
    }

    /// A number; another value is a problem.
    pub fn number(&mut self, field: &str) -> Option<f64> {
        self.typed(field, "a number", Value::as_f64)
    }

    /// True or false; another value is a problem.
    pub fn flag(&mut self, field: &str) -> Option<bool> {
        self.typed(field, "true or false", Value::as_bool)
    }

    fn typed<T>(&mut self, field: &str, wanted: &str, read: impl Fn(&Value) -> Option<T>) -> Option<T> {
        let node = self.get(field)?;
        let value = match &node.kind {
            NodeKind::Scalar(value) => read(value),
            _ => None,
        };
        if value.is_none() {
            let what = format!("{wanted} is wanted, and this is {}", shortened(&node.describe()));
            self.problem(field, what);
        }
        value
    }

    /// Sets a field of the request to a number of the preset's, unless it is absent or none.
    pub fn copy(&mut self, own: &str, field: &'static str) {
        if self.number(own).is_some()
            && let Some(node) = self.get(own)
        {
            let value = node.to_json();
            self.set(field, own, value);
        }
    }

    /// Takes a number back out of the request.
    pub fn take(&mut self, field: &str) -> Option<f64> {
        self.origins.remove(field);
        self.body.remove(field).and_then(|value| value.as_f64())
    }

    /// Copies the numbers that mean the same everywhere, and makes the program's names known.
    pub fn copy_plain(&mut self, names: Names) {
        self.know(names.0.iter().map(|(own, _)| *own));
        for (own, field) in names.0.iter().filter(|(_, field)| PLAIN.contains(field)) {
            match self.origins.get(field).cloned() {
                Some(first) if self.get(own).is_some() => {
                    self.note(own, Fate::NoEffect { why: format!("{first} is given, too, and counts") });
                }
                _ => self.copy(own, field),
            }
        }
    }

    /// The context size that the preset says, if it says one. It answers for `n_ctx`.
    pub fn own_n_ctx(&mut self, own: &str) {
        let Some(n_ctx) = self.number(own) else { return };
        self.note(own, Fate::Elsewhere { why: "how long the context is".into() });
        // 0 stands for the model's own.
        self.set_own_n_ctx(own, n_ctx);
    }

    /// The same for a size that stands beside the fields.
    pub fn set_own_n_ctx(&mut self, own: &str, n_ctx: f64) {
        if n_ctx >= 1.0 && n_ctx <= f64::from(i32::MAX) {
            self.own_n_ctx = Some((own.to_string(), n_ctx as u32));
        }
    }

    /// How long the whole context is, for a field that asks for it: a note on success, else a question. `says` is what the
    /// field has to do with it (`0 is`), `to` what it becomes.
    pub fn whole_context(&mut self, field: &str, from: String, says: &str, to: impl Fn(u32) -> String) -> Option<u32> {
        let own = self.own_n_ctx.clone();
        let known = self.options.n_ctx.map(|n| ("--n-ctx".to_string(), n)).or(own);
        match known {
            Some((how, n)) => {
                let n = n.min(i32::MAX as u32);
                let why = format!("the whole context ({how})");
                self.note(field, Fate::Translated { from, to: to(n), why });
                Some(n)
            }
            None => {
                let why = format!("{says} the whole context, whose length is not known here");
                self.ask(field, why, "n-ctx", "TOKENS");
                None
            }
        }
    }

    /// Whether penalties look through their window.
    pub fn penalises(&self) -> bool {
        self.idle_window("repeat_last_n").is_none()
    }

    /// Whether DRY looks through its window.
    pub fn dries(&self) -> bool {
        self.idle_window("dry_penalty_last_n").is_none()
    }

    /// Why nothing looks through a window, if so: the order must be known, and what it is of.
    pub fn idle_window(&self, field: &str) -> Option<String> {
        let is = |field, base: f32, neutral: f64| self.so_far(field, base) == neutral;
        let (step, is_flat, why) = if field == "repeat_last_n" {
            let is_flat = is("repeat_penalty", self.base.repeat_penalty, 1.0)
                && is("frequency_penalty", self.base.frequency_penalty, 0.0)
                && is("presence_penalty", self.base.presence_penalty, 0.0);
            (StepName::Penalties, is_flat, "no penalty is set")
        } else {
            (StepName::Dry, is("dry_multiplier", self.base.dry_multiplier, 0.0), "dry_multiplier is 0")
        };
        let mirostat = self.so_far("mirostat", 0.0);
        let listed = match self.body.get("samplers") {
            Some(Value::Array(names)) => {
                names.iter().filter_map(Value::as_str).filter_map(StepName::from_name).collect()
            }
            Some(Value::String(letters)) => letters.chars().filter_map(StepName::from_letter).collect(),
            _ => self.base.samplers.clone(),
        };
        if mirostat >= 1.0 && !self.lists_before_mirostat {
            Some(format!("mirostat {mirostat} runs in place of the listed samplers"))
        } else if !listed.contains(&step) {
            Some(format!("{} is not in samplers", step.as_str()))
        } else {
            is_flat.then(|| why.to_string())
        }
    }

    /// A window's length. Where nothing looks through it, no context size is asked for.
    pub fn window(&mut self, own: &str, field: &'static str, window: Window) {
        let Some(n) = self.number(own) else { return };
        match self.idle_window(field) {
            None => {
                if let Some(length) = self.window_length(own, n, window) {
                    self.set(field, own, length);
                }
            }
            // A length that is one here, too, stays in the chain, also where nothing looks through it.
            Some(_) if n > 0.0 || n == 0.0 && window == Window::ZeroIsOff => self.copy(own, field),
            Some(why) => self.note(own, Fate::NoEffect { why: self.in_own_words(&why) }),
        }
    }

    /// Says what a window is that the preset leaves out, if something looks through it.
    pub fn absent_window(&mut self, own: &str, field: &str, length: i32, whose: &str) {
        if self.get(own).is_none() && self.idle_window(field).is_none() {
            self.note(own, Fate::Absent { value: length.to_string(), why: whose.to_string() });
        }
    }

    /// The length that a window's field stands for.
    pub fn window_length(&mut self, own: &str, n: f64, window: Window) -> Option<Value> {
        let from = self.shown(own);
        if n < 0.0 && window == Window::ZeroIsOff || n <= 0.0 && window == Window::ZeroIsWhole {
            let says = format!("{from} is");
            return self.whole_context(own, from, &says, |n| n.to_string()).map(Value::from);
        }
        if n < 1.0 && window == Window::AtLeastOne {
            let why = "KoboldCpp raises a range below 1 to 1".to_string();
            self.note(own, Fate::Translated { from, to: "1".into(), why });
            return Some(1.into());
        }
        self.get(own).map(Node::to_json)
    }

    /// A table of token ids and biases.
    pub fn bias_table(&mut self, own: &str) {
        if let Some(NodeKind::Table(entries)) = self.get(own).map(|node| &node.kind)
            && !entries.is_empty()
            && let Some(node) = self.get(own)
        {
            let biases = node.to_json();
            self.set("logit_bias", own, biases);
        }
    }

    /// DRY's breakers: a list, a text that holds one, the same without brackets, or texts with commas between.
    pub fn breakers(&mut self, own: &str) {
        let Some(node) = self.get(own) else { return };
        let read = match &node.kind {
            NodeKind::Scalar(Value::String(text)) => breakers_of(text).map(|(texts, how)| (texts, Some(how))),
            _ => texts_of(&node.to_json()).map(|texts| (texts, None)),
        };
        let Some((texts, how)) = read else {
            let what = format!("a list of texts is wanted, and this is {}", shortened(&node.describe()));
            self.problem(own, what);
            return;
        };
        if let Some(how) = how.filter(|_| self.dries()) {
            let (from, to) = (self.shown(own), shortened(&json!(texts).to_string()));
            self.note(own, Fate::Translated { from, to, why: how.to_string() });
        }
        if texts.is_empty() {
            // A request cannot say so.
            self.base.dry_sequence_breakers = Vec::new();
            if how.is_none() {
                self.note(own, Fate::Used { r#as: "dry_sequence_breakers".into() });
            }
        } else {
            self.set("dry_sequence_breakers", own, json!(texts));
        }
    }

    /// A dynamic temperature between two ends; gives back whether there is one. An absent end is the default, or a problem
    /// of the switch's.
    pub fn dynatemp(&mut self, ends: [&str; 2], default: Option<f64>, switch: &str, temperature: &str) -> bool {
        let mut read = [0.0; 2];
        for (end, value) in ends.into_iter().zip(&mut read) {
            match (self.number(end), default) {
                (Some(number), _) => *value = number,
                (None, Some(number)) if self.get(end).is_none() => {
                    let why = "its program's default".to_string();
                    self.note(end, Fate::Absent { value: number.to_string(), why });
                    *value = number;
                }
                _ => {
                    self.problem(switch, format!("it wants a number for {end}"));
                    return false;
                }
            }
        }
        let ([low, high], [from, to]) = (ends, read);
        if from > to || from < 0.0 {
            self.problem(low, format!("the lowest temperature is {from}, and the highest {to}"));
            return false;
        }
        let (middle, range) = ((from + to) / 2.0, (to - from) / 2.0);
        let why = format!("from {from} to {to} is {middle} ± {range}");
        for (end, value, to) in
            [(low, from, format!("temperature {middle}")), (high, to, format!("dynatemp_range {range}"))]
        {
            if self.get(end).is_some() {
                self.note(end, Fate::Translated { from: value.to_string(), to, why: why.clone() });
            }
        }
        if self.origins.remove("temperature").is_some() {
            self.note(temperature, Fate::NoEffect { why: format!("{low} and {high} take its place") });
        }
        self.set("temperature", low, middle);
        self.set("dynatemp_range", high, range);
        true
    }

    /// A value of a list that is not known: a problem that names the nearest.
    pub fn unknown_in(&mut self, field: &str, name: &str, known: &[&'static str]) {
        let what = format!("{} is no sampler that is known here", shortened(name));
        let nearest = nearest(name, known.iter().copied()).map(String::from);
        self.problem(field, what).nearest = nearest;
    }
}

/// A list of texts.
pub fn texts_of(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|text| text.as_str().map(String::from)).collect()
}
