//! Steps one after another.

use std::any::Any;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CandSet, Ctx, Facts, SamplerStep, StateReader, StepError};

/// A list of steps, itself a step: `llama_sampler_chain`.
///
/// # Order and flags
/// What its steps do, in their order. An empty chain changes nothing.
///
/// # Draws
/// What its steps draw, each from its own generator.
///
/// # Chain file
/// ```json
/// {"type": "chain", "steps": [{"type": "top_k", "k": 40}, {"type": "temperature", "temp": 0.8}]}
/// ```
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Chain {
    /// The steps in their order.
    steps: Vec<Box<dyn SamplerStep>>,
    /// Memory for [`apply_each`](Self::apply_each).
    #[serde(skip)]
    place: Vec<usize>,
}

impl From<Vec<Box<dyn SamplerStep>>> for Chain {
    fn from(steps: Vec<Box<dyn SamplerStep>>) -> Self {
        Self { steps, place: Vec::new() }
    }
}

/// A chain that cannot run.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ChainError {
    /// No step picks a token.
    #[error(
        "no step of this chain selects a token: it must end with one that does (dist, greedy, mirostat, mirostat_v2, \
         adaptive_p, gumbel), and it {}", match last { Some(last) => format!("ends with {last}"), None => "is empty".into() }
    )]
    NoSelector {
        /// The type of the last step.
        last: Option<&'static str>,
    },
    /// A step stands behind the one that picks the token.
    #[error(
        "step {index} ({step}) follows step {selector_index} ({selector}), which selects the token and must be the last"
    )]
    AfterSelector {
        /// Where it stands: 1 is the first; `2.1` is the first step of the chain that is the second.
        index: String,
        /// Its type.
        step: &'static str,
        /// Where the selecting step stands.
        selector_index: String,
        /// The selecting step's type.
        selector: &'static str,
    },
    /// A step refuses its parameters.
    #[error("step {index} ({step}): {source}")]
    Step {
        /// Where it stands: 1 is the first; `2.1` is the first step of the chain that is the second.
        index: String,
        /// Its type.
        step: &'static str,
        /// What it refuses.
        source: StepError,
    },
}

/// Who is shown where a step stands, the step, and the candidates after it.
type Seen<'s> = dyn FnMut(&[usize], &dyn SamplerStep, &mut CandSet<'_>) + 's;

impl Chain {
    /// A chain of nothing, which changes nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same chain with one more step at its end.
    pub fn with(mut self, step: impl SamplerStep + 'static) -> Self {
        self.push(Box::new(step));
        self
    }

    /// Adds a step at the end: `llama_sampler_chain_add`.
    pub fn push(&mut self, step: Box<dyn SamplerStep>) {
        self.steps.push(step);
    }

    /// The steps in their order.
    pub fn steps(&self) -> &[Box<dyn SamplerStep>] {
        &self.steps
    }

    pub(super) fn steps_mut(&mut self) -> &mut [Box<dyn SamplerStep>] {
        &mut self.steps
    }

    /// How many steps there are, those of nested chains not counted.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether there is no step.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Shows every step of a type, those of the chains inside other steps included.
    pub fn visit<T: SamplerStep>(&self, visit: &mut impl FnMut(&T)) {
        for step in &self.steps {
            let any: &dyn Any = step.as_ref();
            if let Some(found) = any.downcast_ref::<T>() {
                visit(found);
            }
            for (_, inner) in step.chains() {
                inner.visit(visit);
            }
        }
    }

    /// The same, to change them.
    pub fn visit_mut<T: SamplerStep>(&mut self, visit: &mut impl FnMut(&mut T)) {
        for step in &mut self.steps {
            let any: &mut dyn Any = step.as_mut();
            if let Some(found) = any.downcast_mut::<T>() {
                visit(found);
            }
            for inner in step.chains_mut() {
                inner.visit_mut(visit);
            }
        }
    }

    /// Checks that exactly one step selects the token and that nothing follows it, nested chains included.
    ///
    /// # Errors
    /// [`ChainError::NoSelector`] or [`ChainError::AfterSelector`].
    pub fn check_selection(&self) -> Result<(), ChainError> {
        let mut selector = None;
        walk(&self.steps, "", &mut |index, step| {
            if let Some((selector_index, selector)) = selector.clone() {
                return Err(ChainError::AfterSelector { index, step: step.typetag_name(), selector_index, selector });
            }
            if step.selects() {
                selector = Some((index, step.typetag_name()));
            }
            Ok(())
        })?;
        match selector {
            Some(_) => Ok(()),
            None => Err(ChainError::NoSelector { last: self.steps.last().map(|step| step.typetag_name()) }),
        }
    }

    /// Prepares every step, and says which one refused what.
    ///
    /// # Errors
    /// [`ChainError::Step`] for the first step that refuses.
    pub fn prepare_steps(&mut self, ctx: &Ctx) -> Result<(), ChainError> {
        self.prepare_within("", ctx)
    }

    /// Checks and prepares it as the chain in a step's field; what is wrong begins with the field.
    pub(super) fn prepare_in(&mut self, field: &str, ctx: &Ctx) -> Result<(), StepError> {
        let of_field = |error: &dyn std::fmt::Display| StepError::Other(format!("{field}: {error}"));
        if self.selects() {
            self.check_selection().map_err(|error| of_field(&error))?;
        }
        self.prepare(ctx).map_err(|error| match error {
            StepError::NeedsVocab { .. } => error,
            error => of_field(&error),
        })
    }

    fn prepare_within(&mut self, outer: &str, ctx: &Ctx) -> Result<(), ChainError> {
        for (i, step) in self.steps.iter_mut().enumerate() {
            let (index, name) = (format!("{outer}{}", i + 1), step.typetag_name());
            let any: &mut dyn Any = step.as_mut();
            match any.downcast_mut::<Self>() {
                Some(inner) => inner.prepare_within(&format!("{index}."), ctx)?,
                None => step.prepare(ctx).map_err(|source| ChainError::Step { index, step: name, source })?,
            }
        }
        Ok(())
    }

    /// Applies every step and shows the candidates after each to `seen` (index of the step, the step, the candidates).
    pub fn apply_seen(
        &mut self,
        cands: &mut CandSet<'_>,
        ctx: &mut Ctx,
        mut seen: impl FnMut(usize, &dyn SamplerStep, &mut CandSet<'_>),
    ) {
        for (i, step) in self.steps.iter_mut().enumerate() {
            step.apply(cands, ctx);
            seen(i, step.as_ref(), cands);
        }
    }

    /// The same, with the steps of nested chains one by one: `seen` is told where a step stands, `[1]` for the first, `[2, 1]`
    /// for the first step of the chain that is the second. A nested chain of nothing is one step.
    pub fn apply_each(
        &mut self,
        cands: &mut CandSet<'_>,
        ctx: &mut Ctx,
        mut seen: impl FnMut(&[usize], &dyn SamplerStep, &mut CandSet<'_>),
    ) {
        let mut place = std::mem::take(&mut self.place);
        place.clear();
        self.apply_within(&mut place, cands, ctx, &mut seen);
        self.place = place;
    }

    fn apply_within(&mut self, place: &mut Vec<usize>, cands: &mut CandSet<'_>, ctx: &mut Ctx, seen: &mut Seen<'_>) {
        for (i, step) in self.steps.iter_mut().enumerate() {
            place.push(i + 1);
            let any: &mut dyn Any = step.as_mut();
            match any.downcast_mut::<Self>().filter(|inner| !inner.is_empty()) {
                Some(inner) => inner.apply_within(place, cands, ctx, seen),
                None => {
                    step.apply(cands, ctx);
                    seen(place, step.as_ref(), cands);
                }
            }
            place.pop();
        }
    }
}

/// Visits every step that is not made of others, with where it stands.
fn walk(
    steps: &[Box<dyn SamplerStep>],
    outer: &str,
    visit: &mut impl FnMut(String, &dyn SamplerStep) -> Result<(), ChainError>,
) -> Result<(), ChainError> {
    for (i, step) in steps.iter().enumerate() {
        let index = format!("{outer}{}", i + 1);
        if step.inner().is_empty() {
            visit(index, step.as_ref())?;
        } else {
            walk(step.inner(), &format!("{index}."), visit)?;
        }
    }
    Ok(())
}

crate::describe_step!(Chain);

#[typetag::serde(name = "chain")]
impl SamplerStep for Chain {
    fn prepare(&mut self, ctx: &Ctx) -> Result<(), StepError> {
        self.prepare_steps(ctx).map_err(|error| match error {
            // Who reads a file without the vocabulary that comes later passes over this one.
            ChainError::Step { source: source @ StepError::NeedsVocab { .. }, .. } => source,
            error => StepError::Other(error.to_string()),
        })
    }

    fn apply(&mut self, cands: &mut CandSet<'_>, ctx: &mut Ctx) {
        for step in &mut self.steps {
            step.apply(cands, ctx);
        }
    }

    fn accept(&mut self, token: u32, ctx: &Ctx) {
        for step in &mut self.steps {
            step.accept(token, ctx);
        }
    }

    fn reset(&mut self, ctx: &Ctx) {
        for step in &mut self.steps {
            step.reset(ctx);
        }
    }

    fn save(&self, state: &mut Vec<u64>) {
        for step in &self.steps {
            step.save(state);
        }
    }

    fn load(&mut self, state: &mut StateReader<'_>, ctx: &Ctx) -> Result<(), StepError> {
        self.steps.iter_mut().try_for_each(|step| step.load(state, ctx))
    }

    fn selects(&self) -> bool {
        self.steps.iter().any(|step| step.selects())
    }

    fn facts(&self) -> Facts {
        Facts::of_all(self.steps.iter().map(|step| step.facts()))
    }

    fn is_off(&self) -> bool {
        self.steps.iter().all(|step| step.is_off())
    }

    fn inner(&self) -> &[Box<dyn SamplerStep>] {
        &self.steps
    }

    fn chains(&self) -> Vec<(&'static str, &Self)> {
        vec![("steps", self)]
    }

    fn chains_mut(&mut self) -> Vec<&mut Self> {
        vec![self]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{p4, round_trip, run};
    use crate::{Dist, Greedy, TopK, TopP};

    #[test]
    fn runs_its_steps_in_order() {
        let left = run(&mut Chain::new().with(TopK { k: 3 }).with(TopK { k: 1 }).with(Greedy {}), &p4(), &[]);
        assert_eq!((left.ids(), left.selected), (vec![0], Some(0)));
        let nothing = run(&mut Chain::new(), &p4(), &[]);
        assert_eq!((nothing.logits(), nothing.sorted, nothing.selected), (p4(), false, None));
    }

    #[test]
    fn nested_steps_are_shown_one_by_one() {
        let inner = Chain::new().with(TopK { k: 2 }).with(Chain::new());
        let mut chain = Chain::new().with(TopK { k: 3 }).with(inner).with(Greedy {});
        let (mut ctx, mut buf, mut seen) = (Ctx::new(1), crate::CandBuf::default(), Vec::new());
        chain.prepare_steps(&ctx).unwrap();
        let logits = p4();
        let mut cands = CandSet::new(&logits, &mut buf);
        chain.apply_each(&mut cands, &mut ctx, |place, step, cands| {
            seen.push((place.to_vec(), step.typetag_name(), cands.len(), cands.selected()));
        });
        let expected = [
            (vec![1], "top_k", 3, None),
            (vec![2, 1], "top_k", 2, None),
            (vec![2, 2], "chain", 2, None),
            (vec![3], "greedy", 2, Some(0)),
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn a_step_that_refuses_is_named() {
        let mut chain = Chain::new().with(Chain::new().with(TopP { p: f32::NAN, min_keep: 0 }));
        let error = chain.prepare_steps(&Ctx::new(1)).unwrap_err().to_string();
        assert_eq!(error, "step 1.1 (top_p): p: NaN is refused: a number is wanted");
    }

    #[test]
    fn selection_is_looked_for_inside_chains() {
        let inner = || Chain::new().with(TopK { k: 1 }).with(Dist::default());
        assert_eq!(Chain::new().with(Chain::new()).with(inner()).check_selection(), Ok(()));
        let error = Chain::new().with(inner()).with(Greedy {}).check_selection().unwrap_err();
        let expected = ChainError::AfterSelector {
            index: "2".into(),
            step: "greedy",
            selector_index: "1.2".into(),
            selector: "dist",
        };
        assert_eq!(error, expected);
        assert_eq!(Chain::new().check_selection(), Err(ChainError::NoSelector { last: None }));
    }

    #[test]
    fn file() {
        let chain = Chain::new().with(TopK { k: 40 }).with(Greedy {});
        round_trip(Box::new(chain), r#"{"type":"chain","steps":[{"type":"top_k","k":40},{"type":"greedy"}]}"#);
    }
}
