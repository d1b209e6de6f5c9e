//! What is known of the candidates from step to step.

use std::any::Any;

use sampler_steps::community::{MinK, Smoothing, Tfs, TopH, TopPDecay};
use sampler_steps::{
    AdaptiveP, Chain, Dry, Facts, Greedy, LogitBias, MinP, Mirostat, MirostatV2, Penalties, ReasoningBudget,
    SamplerStep, Temperature, TopK, TopNSigma, TopP, TypP, Xtc,
};
use serde_json::Value;

use super::{Meaningless, StepPlace, Warning};

/// A step of any type as one of a known type.
fn known<T: SamplerStep>(step: &dyn SamplerStep) -> Option<&T> {
    (step as &dyn Any).downcast_ref()
}

fn is<T: SamplerStep>(step: &dyn SamplerStep) -> bool {
    known::<T>(step).is_some()
}

/// Whether there are steps among a step's parameters.
fn is_made_of_others(step: &dyn SamplerStep) -> bool {
    fn has_type(value: &Value) -> bool {
        match value {
            Value::Array(items) => items.iter().any(has_type),
            Value::Object(entries) => entries.contains_key("type") || entries.values().any(has_type),
            _ => false,
        }
    }
    let written = serde_json::to_value(step).unwrap_or_default();
    !step.inner().is_empty() || written.as_object().is_some_and(|fields| fields.values().any(has_type))
}

/// How few candidates a step leaves that can be drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Only {
    /// One is left.
    Left,
    /// All others are masked.
    Unmasked,
}

/// What the steps so far have made of the candidates. Where a fact is not certain it is not known.
#[derive(Debug, Default)]
pub struct Walk {
    found: Vec<Warning>,
    /// Only one candidate can be drawn.
    decided: Option<(StepPlace, Only)>,
    /// The first step that removes or masks.
    removed: Option<StepPlace>,
    /// No more than so many are left.
    at_most: Option<(i32, StepPlace)>,
    /// None is left that is less likely than so, relative to the best.
    at_least: Option<(f32, StepPlace)>,
    /// The set is marked as sorted.
    sorted: Option<StepPlace>,
    /// It is marked as sorted, and a bias changed its order: who sorted, and the bias.
    unsorted: Option<(StepPlace, StepPlace)>,
    /// Some are masked, and whether they are few, as banned tokens are: then a truncation by number takes them first.
    masked: Option<(StepPlace, bool)>,
    /// The steps since the last one that may prefer another candidate.
    keeping: Vec<StepPlace>,
}

impl Walk {
    /// The warnings, in the chain's order.
    pub fn finish(self) -> Vec<Warning> {
        let mut found = self.found;
        let place = |warning: &Warning| -> Vec<usize> {
            warning.at.index.split('.').filter_map(|part| part.parse().ok()).collect()
        };
        found.sort_by_key(place);
        found
    }

    /// Goes through the steps of a chain, and of the chains in it.
    pub fn chain(&mut self, steps: &[Box<dyn SamplerStep>], outer: &str) {
        for (i, step) in steps.iter().enumerate() {
            let (step, index) = (step.as_ref(), format!("{outer}{}", i + 1));
            if is::<Chain>(step) {
                self.chain(step.inner(), &format!("{index}."));
            } else if is_made_of_others(step) {
                self.composite(step, &index);
            } else if !step.is_off() {
                self.step(step, StepPlace { index, step: step.typetag_name() });
            }
        }
    }

    /// A step made of others in its own way: nobody knows what it leaves, and the chains in it are chains of their own.
    fn composite(&mut self, step: &dyn SamplerStep, index: &str) {
        for (i, inner) in step.inner().iter().enumerate().filter(|(_, inner)| is::<Chain>(inner.as_ref())) {
            let mut walk = Self::default();
            walk.chain(inner.inner(), &format!("{index}.{}.", i + 1));
            self.found.extend(walk.found);
        }
        (self.at_least, self.sorted, self.unsorted) = (None, None, None);
        (self.decided, self.masked) = (None, None);
        self.keeping.clear();
    }

    fn warn(&mut self, at: &StepPlace, why: Meaningless) {
        self.found.push(Warning { at: at.clone(), why });
    }

    fn step(&mut self, step: &dyn SamplerStep, at: StepPlace) {
        let facts = step.facts();
        if is::<ReasoningBudget>(step) && facts == Facts::TRUNCATION {
            return self.warn(&at, Meaningless::NothingToForce);
        }
        match self.decided.clone() {
            Some((by, only)) if steers(step) || !step.selects() => {
                if cannot_matter(step, facts, only) {
                    if !facts.keeps_argmax {
                        self.keeping.clear();
                    }
                    return self.warn(&at, Meaningless::Decided { by });
                }
                self.decided = None;
            }
            _ => {}
        }
        // What goes by an order that is none may drop the best.
        let is_misled = self.unsorted.is_some() && goes_by_order(step);
        self.judge(step, facts, &at);
        self.learn(step, facts, &at);
        self.greedy(step, if is_misled { Facts::default() } else { facts }, &at);
    }

    /// Warns of the step, by what is known before it.
    fn judge(&mut self, step: &dyn SamplerStep, facts: Facts, at: &StepPlace) {
        if let (Some(by), true) = (self.removed.clone(), prefers(step, facts)) {
            let is_forced = is::<ReasoningBudget>(step);
            self.warn(at, if is_forced { Meaningless::ForcedIsGone { by } } else { Meaningless::TooLate { by } });
        }
        let as_many = known::<TopK>(step).and_then(|step| self.at_most.clone().filter(|(most, _)| step.k >= *most));
        let as_likely =
            known::<MinP>(step).and_then(|step| self.at_least.clone().filter(|(least, _)| step.p <= *least));
        if let Some(by) = as_many.map(|(_, by)| by).or(as_likely.map(|(_, by)| by)) {
            self.warn(at, Meaningless::NothingToRemove { by });
        }
        if let (true, Some((by, _))) = (is::<TypP>(step), self.masked.clone()) {
            self.warn(at, Meaningless::NoEntropy { by });
        }
        if goes_by_order(step)
            && let Some((sorted_by, bias)) = self.unsorted.take()
        {
            self.warn(&bias, Meaningless::BreaksOrder { sorted_by, used_by: at.clone() });
        }
    }

    /// Takes note of what the step leaves.
    fn learn(&mut self, step: &dyn SamplerStep, facts: Facts, at: &StepPlace) {
        let here = || at.clone();
        let is_of_number = is::<TopK>(step) || is::<Xtc>(step);
        let keeps_mark = is::<MinP>(step) || is::<Xtc>(step) || is::<TopNSigma>(step) || is::<Temperature>(step);
        if is::<TopK>(step) || is::<TopP>(step) {
            (self.sorted, self.unsorted) = (Some(here()), None);
        } else if is::<LogitBias>(step) {
            self.unsorted = self.sorted.take().map(|by| (by, here()));
        } else if !keeps_mark {
            (self.sorted, self.unsorted) = (None, None);
        }
        if !facts.only_removes {
            self.at_least = None;
        } else if !is_of_number {
            // Whatever goes by probability takes the masked ones first.
            self.masked = None;
        }
        let sorts_all = known::<TopK>(step).is_some_and(|step| step.k == i32::MAX);
        if (facts.only_removes && !step.selects() && !sorts_all) || is::<TopNSigma>(step) {
            self.removed.get_or_insert_with(here);
        }
        if let Some(TopK { k }) = known(step) {
            self.masked = self.masked.take().filter(|(_, is_ban)| !is_ban);
            if self.at_most.as_ref().is_none_or(|(most, _)| k < most) {
                self.at_most = Some((*k, here()));
            }
            self.decided = (*k == 1).then(|| (here(), Only::Left));
        } else if let Some(TopP { p, min_keep }) = known(step) {
            self.decided = (*p <= 0.0 && *min_keep <= 1).then(|| (here(), Only::Left));
        } else if let Some(MinP { p, min_keep }) = known(step) {
            if *min_keep <= 1 && *p <= 1.0 && self.at_least.as_ref().is_none_or(|(least, _)| p > least) {
                self.at_least = Some((*p, here()));
            }
        } else if let Some(Temperature { temp, delta, .. }) = known(step) {
            self.decided = (*temp <= 0.0 && *delta <= 0.0).then(|| (here(), Only::Unmasked));
        } else if is::<TopNSigma>(step) {
            self.masked.get_or_insert_with(|| (here(), false));
        } else if let Some(LogitBias { bias }) = known(step)
            && bias.iter().any(|bias| bias.1 == f32::NEG_INFINITY)
        {
            self.masked.get_or_insert_with(|| (here(), true));
        }
    }

    /// Before `greedy` a step that keeps the most likely candidate changes nothing, if those between do so, too.
    fn greedy(&mut self, step: &dyn SamplerStep, facts: Facts, at: &StepPlace) {
        if is::<Greedy>(step) {
            for step in std::mem::take(&mut self.keeping) {
                self.warn(&step, Meaningless::BeforeGreedy { by: at.clone() });
            }
        } else if facts.keeps_argmax {
            self.keeping.push(at.clone());
        } else {
            self.keeping.clear();
        }
    }
}

/// Whether a step only matters to candidates that are there: it makes some more or less likely than others, by the history
/// or by their ids.
fn prefers(step: &dyn SamplerStep, facts: Facts) -> bool {
    let by_history = facts.needs_history && !facts.only_removes && !facts.keeps_order;
    (by_history || is::<LogitBias>(step)) && !step.selects()
}

/// Whether a step takes the first of a sorted set for the best.
fn goes_by_order(step: &dyn SamplerStep) -> bool {
    let stock = is::<TopK>(step) || is::<TopP>(step) || is::<MinP>(step) || is::<Xtc>(step);
    let of_community = is::<Tfs>(step) || is::<TopH>(step) || is::<MinK>(step) || is::<TopPDecay>(step);
    stock || of_community || is::<Smoothing>(step) || is::<Mirostat>(step) || is::<MirostatV2>(step)
}

/// Whether a step does more to the distribution than to draw from it.
fn steers(step: &dyn SamplerStep) -> bool {
    is::<Mirostat>(step) || is::<MirostatV2>(step) || is::<AdaptiveP>(step)
}

/// Whether nothing that a step does can change the token where one candidate alone can be drawn.
fn cannot_matter(step: &dyn SamplerStep, facts: Facts, only: Only) -> bool {
    // It finds one candidate, or one with all of the probability, and removes no last one.
    let keeps_one = facts.keeps_argmax && (only == Only::Left || facts.only_removes);
    let keeps_unmasked = facts.keeps_argmax && (is::<TopNSigma>(step) || is::<Temperature>(step));
    let finds_one = is::<TypP>(step) || known::<Xtc>(step).is_some_and(|step| step.threshold > 0.0);
    // It adds and multiplies, which unmasks nothing and masks nothing.
    let is_finite = is::<Penalties>(step)
        || known::<Dry>(step).is_some_and(|step| step.multiplier.is_finite())
        || known::<LogitBias>(step).is_some_and(|step| step.bias.iter().all(|bias| bias.1.is_finite()));
    keeps_one || keeps_unmasked || finds_one || is_finite || is::<AdaptiveP>(step)
}
