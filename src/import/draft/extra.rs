//! Steps that llama-server's chains do not have, and their places in the order.

use sampler_steps::{Ctx, SamplerStep, StepError};

use super::Draft;
use crate::import::lost::LOST;
use crate::import::report::{Fate, Note};
use crate::llama_server::StepName;
use crate::params::Params;

/// What only reshapes or truncates: it changes nothing where the most likely token is taken.
const WARPERS: [&str; 6] = ["smoothing", "top_a", "tfs", "epsilon_cutoff", "eta_cutoff", "top_h"];

/// A step that llama-server has not.
pub struct Extra {
    /// Its name in the orders that rooms give.
    place: &'static str,
    /// None: it refuses the preset's values, or does nothing with them.
    step: Option<Box<dyn SamplerStep>>,
    /// What is said of its fields where it runs.
    notes: Vec<Note>,
}

impl Extra {
    fn is_warper(&self) -> bool {
        WARPERS.contains(&self.place)
    }

    /// Whether ExLlama's plain temperature comes behind it.
    pub(super) fn is_before_temperature(&self) -> bool {
        !self.is_warper() || self.place == "smoothing"
    }
}

impl Draft<'_> {
    /// A number that switches a step on; none where it is absent or off. What is neutral in the table of the lost is off, and
    /// is told from there.
    pub fn on(&mut self, field: &'static str, is_off: impl Fn(f64) -> bool) -> Option<f64> {
        self.know([field]);
        let node = self.get(field)?;
        if LOST.iter().any(|lost| lost.names.contains(&field) && lost.is_neutral(node)) {
            return None;
        }
        let number = self.number(field)?;
        if is_off(number) {
            self.note(field, Fate::Off { value: self.shown(field) });
            return None;
        }
        Some(number)
    }

    /// Adds a step; `fates` are what becomes of its fields where it runs.
    pub fn add(
        &mut self,
        place: &'static str,
        step: impl SamplerStep,
        fates: impl IntoIterator<Item = (&'static str, Fate)>,
    ) {
        let step: Box<dyn SamplerStep> = Box::new(step);
        let name = step.typetag_name();
        // End tokens may be the vocabulary's, which whoever runs the chain has.
        let refusal = step.clone().prepare(&Ctx::new(0)).err();
        let refusal = refusal.filter(|error| !matches!(error, StepError::NeedsVocab { .. }));
        let why = refusal.map(|error| format!("the step {name}: {error}"));
        let is_off = step.is_off();
        let note = |(field, fate): (&str, Fate)| {
            let fate = match why.clone() {
                Some(why) => Fate::NoCounterpart { value: self.shown(field), why },
                None if is_off => Fate::Off { value: self.shown(field) },
                None => fate,
            };
            Note { field: field.to_string(), fate }
        };
        let notes = fates.into_iter().filter(|(field, _)| self.get(field).is_some()).map(note).collect();
        self.extras.push(Extra { place, step: (why.is_none() && !is_off).then_some(step), notes });
    }

    /// Adds a step that the program runs whatever its preset says, which `field` is told to bring along.
    pub fn always(&mut self, place: &'static str, step: impl SamplerStep, field: &str, fate: Fate) {
        let notes = vec![Note { field: field.to_string(), fate }];
        self.extras.push(Extra { place, step: Some(Box::new(step)), notes });
    }

    /// Whether there is such a step.
    pub fn adds(&self, place: &str) -> bool {
        self.extras.iter().any(|extra| extra.place == place && extra.step.is_some())
    }

    /// Fields that belong to such steps.
    pub(super) fn extra_fields(&self) -> impl Iterator<Item = &str> {
        self.extras.iter().flat_map(|extra| &extra.notes).map(|note| note.field.as_str())
    }

    /// Splits an order: llama-server's own names, and the places of others among them.
    pub fn split_order(&mut self, steps: &[&'static str]) -> Vec<StepName> {
        let mut listed = Vec::new();
        // adaptive_p stands at the end, wherever it is listed.
        let n_steps = |listed: &[StepName]| listed.iter().filter(|name| **name != StepName::AdaptiveP).count();
        self.places = Vec::new();
        for step in steps {
            match StepName::from_name(step) {
                Some(name) => listed.push(name),
                None => self.places.push((step, n_steps(&listed))),
            }
        }
        listed
    }

    /// The steps in front of the listed one of a number.
    pub(super) fn extras_before(&self, n: usize) -> impl Iterator<Item = (&Extra, &Box<dyn SamplerStep>)> {
        let here = self.places.iter().filter(move |(_, place)| *place == n);
        here.flat_map(|(name, _)| self.extras.iter().filter(move |extra| extra.place == *name))
            .filter(|extra| !self.greedy || !extra.is_warper())
            .filter_map(|extra| Some((extra, extra.step.as_ref()?)))
    }

    /// What became of their fields.
    pub(super) fn judge_extras(&mut self, params: &Params) {
        for extra in std::mem::take(&mut self.extras) {
            let is_listed = self.places.iter().any(|(name, _)| *name == extra.place);
            let why = if params.mirostat != 0 && !(self.lists_before_mirostat && is_listed) {
                Some(self.in_own_words(&format!("mirostat {} runs in place of the listed samplers", params.mirostat)))
            } else if self.greedy && extra.is_warper() {
                Some("do_sample is false: the most likely token is taken".to_string())
            } else if is_listed {
                None
            } else {
                Some(format!("{} does not list it", self.origins.get("samplers").map_or("the order", String::as_str)))
            };
            let fate = |note: Note| match &why {
                Some(why) => Note { fate: Fate::NoEffect { why: why.clone() }, ..note },
                None => note,
            };
            self.notes.extend(extra.notes.into_iter().map(fate));
        }
    }
}
