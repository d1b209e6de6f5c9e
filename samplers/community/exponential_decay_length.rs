use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::core::{CandSet, Ctx, Facts, SamplerStep, StepError};
use crate::libm::pow;

/// Makes the end more likely, the more tokens were drawn past a length.
///
/// n tokens past `start`, each end token's logit l becomes `l + |l| * (factor ^ n - 1)`; before that, and at `start` itself,
/// nothing happens. The power is taken in f64 and rounded to f32, as there. A logit of 0 stays 0, and -infinity stays. What would
/// rise above the largest f32 number is held there; what falls below the lowest is -infinity. Where that leaves nothing, the most
/// likely candidate keeps its logit.
///
/// # Origin
/// Hugging Face transformers (`ExponentialDecayLengthPenalty`, Apache-2.0), whose `exponential_decay_length_penalty` is the pair
/// of `start` and `factor`. There it also makes 0 of every -0. The code is this project's own. Gate: that class, run with
/// torch.
///
/// # Order and flags
/// Changes logits and clears `sorted` past `start`, even where nothing changed. A factor of 1 is neutral: it does nothing.
///
/// # Draws
/// None.
///
/// # Errors
/// `prepare` refuses a `factor` that is not finite or not above 0, and a token of `tokens` beyond the vocabulary. Without
/// `tokens` it wants a vocabulary that tells which tokens end a text, unless the step is off.
///
/// # Chain file
/// ```json
/// {"type": "exponential_decay_length", "start": 256, "factor": 1.05, "tokens": [2]}
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ExponentialDecayLength {
    /// How many tokens are drawn before it begins; the prompt's do not count. Default 0.
    pub start: u32,
    /// By what the boost grows with each token, above 0 and finite; below 1 the end becomes less likely. Default 1.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub factor: f64,
    /// The tokens that end a text. Absent: the vocabulary's, which must be there then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Vec<u32>>,
    /// The vocabulary's end tokens.
    #[serde(skip)]
    ends: Vec<u32>,
}

impl Default for ExponentialDecayLength {
    fn default() -> Self {
        Self::new(0, 1.0)
    }
}

impl ExponentialDecayLength {
    /// The step for the vocabulary's end tokens.
    pub fn new(start: u32, factor: f64) -> Self {
        Self { start, factor, tokens: None, ends: Vec::new() }
    }

    /// The same with other end tokens.
    pub fn with_tokens(mut self, tokens: impl Into<Vec<u32>>) -> Self {
        self.tokens = Some(tokens.into());
        self
    }
}

crate::describe_step!(ExponentialDecayLength);

#[typetag::serde(name = "exponential_decay_length")]
impl SamplerStep for ExponentialDecayLength {
    fn prepare(&mut self, ctx: &Ctx) -> Result<(), StepError> {
        let usable = self.factor > 0.0 && self.factor.is_finite();
        StepError::refuse_unless(usable, "factor", self.factor, "finite and above 0")?;
        let ends = ctx.end_tokens();
        if self.tokens.is_none() && ends.is_none() && !self.is_off() {
            return Err(StepError::NeedsVocab { field: "tokens", instead: "list the ids of the end tokens" });
        }
        self.ends = ends.unwrap_or_default();
        StepError::refuse_beyond("tokens", self.tokens.iter().flatten(), ctx)
    }

    fn apply(&mut self, cands: &mut CandSet<'_>, ctx: &mut Ctx) {
        let n = ctx.history().generated().len().saturating_sub(self.start as usize);
        if n > 0 && !self.is_off() {
            let boost = ((pow(self.factor, n as f64) - 1.0) as f32).min(f32::MAX);
            let ends = self.tokens.as_ref().unwrap_or(&self.ends);
            let boosted = |logit: f32| if logit.is_finite() { logit + logit.abs() * boost } else { logit };
            cands.update_listed([ends, &[]], |logit, _| boosted(logit));
        }
    }

    fn is_off(&self) -> bool {
        self.factor == 1.0 || self.tokens.as_ref().is_some_and(Vec::is_empty)
    }

    fn facts(&self) -> Facts {
        let on = Facts { needs_history: true, needs_prompt: true, ..Facts::default() };
        if self.is_off() { Facts::TRUNCATION } else { Facts { needs_vocab: self.tokens.is_none(), ..on } }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::testing::{Words, after_sort, apply, refusal, round_trip, run};

    const LOGITS: [f32; 4] = [1.0, 2.0, -3.0, 0.0];

    fn step(start: u32, factor: f64) -> ExponentialDecayLength {
        ExponentialDecayLength::new(start, factor).with_tokens([1, 2, 3])
    }

    /// What is left of the logits after a prompt of two and so many drawn tokens.
    fn after(mut step: ExponentialDecayLength, logits: &[f32], n_drawn: usize) -> Vec<f32> {
        let mut ctx = Ctx::new(1);
        step.prepare(&ctx).unwrap();
        (0..2).for_each(|_| ctx.history_mut().push_prompt(0));
        (0..n_drawn).for_each(|_| ctx.history_mut().push(0));
        apply(&mut step, logits, &mut ctx).logits()
    }

    #[test]
    fn begins_past_the_start_and_grows() {
        for n_drawn in 0..4 {
            assert_eq!(after(step(3, 2.0), &LOGITS, n_drawn), LOGITS, "{n_drawn}");
        }
        assert_eq!(after(step(3, 2.0), &LOGITS, 4), [1.0, 4.0, 0.0, 0.0]);
        assert_eq!(after(step(3, 2.0), &LOGITS, 5), [1.0, 8.0, 6.0, 0.0]);
        assert_eq!(after(step(0, 2.0), &LOGITS, 1), [1.0, 4.0, 0.0, 0.0]);
        assert_eq!(after(step(u32::MAX, 2.0), &LOGITS, 50), LOGITS);
    }

    #[test]
    fn below_1_the_end_becomes_less_likely() {
        assert_eq!(after(step(0, 0.5), &LOGITS, 2), [1.0, 0.5, -5.25, 0.0]);
    }

    /// A power that overflows gives neither infinity nor NaN, and what is masked stays so.
    #[test]
    fn nothing_overflows() {
        let logits = [1.0, 2.0, f32::NEG_INFINITY, 0.0];
        assert_eq!(after(step(0, 1e300), &logits, 9), [1.0, f32::MAX, f32::NEG_INFINITY, 0.0]);
        assert_eq!(after(step(0, 1e-300), &[0.0, f32::MIN], 9), [0.0, f32::NEG_INFINITY]);
        assert!(after(step(0, 2.0), &[], 9).is_empty());
        assert_eq!(after(ExponentialDecayLength::new(0, 2.0).with_tokens([0]), &[3.0], 1), [6.0]);
    }

    #[test]
    fn of_everything_the_first_of_the_most_likely_stays() {
        let all = || ExponentialDecayLength::new(0, 1e-300).with_tokens([2, 1, 0]);
        let (none, low) = (f32::NEG_INFINITY, -3.3e38);
        assert_eq!(after(all(), &[f32::MIN, low, low], 1), [none, low, none]);
        assert_eq!(after(all(), &[none, low, none], 1), [none, low, none]);
        assert_eq!(after(all(), &[f32::MIN], 1), [f32::MIN]);
        assert_eq!(after(step(0, 1e300), &[none, f32::MAX, 1.0], 1), [none, f32::MAX, f32::MAX]);
    }

    #[test]
    fn what_is_changed_counts_at_once() {
        let (mut step, mut ctx) = (step(0, 2.0), Ctx::new(1));
        step.prepare(&ctx).unwrap();
        ctx.history_mut().push(0);
        step.tokens = Some(vec![0, 1, 0]);
        assert_eq!(apply(&mut step, &LOGITS, &mut ctx).logits(), [2.0, 4.0, -3.0, 0.0]);
    }

    #[test]
    fn the_vocabulary_tells_the_end_tokens() {
        let words = Arc::new(Words(["a", "</s>", "b", "</s>"].map(String::from).to_vec()));
        let mut ctx = Ctx::new(1).with_vocab(words);
        let mut step = ExponentialDecayLength::new(0, 2.0);
        step.prepare(&ctx).unwrap();
        ctx.history_mut().push(0);
        assert_eq!(apply(&mut step, &[1.0; 4], &mut ctx).logits(), [1.0, 2.0, 1.0, 2.0]);
        assert!(step.facts().needs_vocab && !step.with_tokens([1]).facts().needs_vocab);
    }

    #[test]
    fn the_flag_goes_past_the_start_alone() {
        assert!(run(&mut after_sort(step(0, 2.0)), &LOGITS, &[0, 1]).sorted);
        for (step, stays) in [(step(0, 2.0), false), (step(0, 1.0), true), (step(1, 2.0), true)] {
            let (mut chain, mut ctx) = (after_sort(step), Ctx::new(1));
            chain.prepare(&ctx).unwrap();
            ctx.history_mut().push(0);
            assert_eq!(apply(&mut chain, &LOGITS, &mut ctx).sorted, stays);
        }
    }

    #[test]
    fn file() {
        let text = r#"{"type":"exponential_decay_length","start":0,"factor":1.0}"#;
        round_trip(Box::new(ExponentialDecayLength::default()), text);
        assert_eq!(ExponentialDecayLength::default().facts(), Facts::TRUNCATION);
        round_trip(Box::new(step(0, 1.0)), &text.replace("}", r#","tokens":[1,2,3]}"#));
        for factor in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(refusal(step(0, factor)), format!("factor: {factor} is refused: finite and above 0"));
        }
        let wanted = "tokens: needs a vocabulary, and there is none: list the ids of the end tokens";
        assert_eq!(refusal(ExponentialDecayLength::new(0, 1.1)), wanted);
        let beyond = "tokens: token 100 is beyond the vocabulary of 100 tokens";
        assert_eq!(refusal(ExponentialDecayLength::new(0, 1.1).with_tokens([99, 100])), beyond);
    }
}
