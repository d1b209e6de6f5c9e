use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::core::{CandSet, Ctx, Facts, Penalty, SamplerStep, SeenTokens, StepError, float};

/// Makes every token less likely that has occurred, each once, however long ago.
///
/// A logit below 0 is multiplied by `penalty`, another one divided. `penalties` of llama.cpp does the same to the tokens of a
/// window, the last 64 if nothing else is said; here all of them count.
///
/// What would rise above the largest f32 number is held there; what falls below the lowest is -infinity. Where that leaves nothing,
/// the most likely candidate keeps its logit.
///
/// # Origin
/// CTRL (arXiv 1909.05858), in the form of Hugging Face transformers (`RepetitionPenaltyLogitsProcessor`, Apache-2.0), which
/// multiplies below 0. vLLM and SGLang do the same as `repetition_penalty`. The code is this project's own. Gate: that class,
/// run with torch.
///
/// # Order and flags
/// Changes logits and clears `sorted`, even where nothing changed. A penalty of 1 is neutral: it does nothing.
///
/// # Draws
/// None.
///
/// # Errors
/// `prepare` refuses a `penalty` that is not finite, not above 0, or has no finite inverse.
///
/// # Chain file
/// ```json
/// {"type": "repetition_penalty_hf", "penalty": 1.2, "prompt_ignore_length": 0, "sees_prompt": true}
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RepetitionPenaltyHf {
    /// Above 0, finite, and so is its inverse; below 1 it makes tokens more likely that have occurred. CTRL's is 1.2. Default 1.
    #[serde(with = "float")]
    #[schemars(with = "f32", extend("exclusiveMinimum" = 0))]
    pub penalty: f32,
    /// So many of the first tokens do not count. Default 0.
    pub prompt_ignore_length: u32,
    /// Whether the prompt counts. If not, it is as if `prompt_ignore_length` were the prompt's length. Default true.
    pub sees_prompt: bool,
    #[serde(skip)]
    seen: SeenTokens,
}

impl Default for RepetitionPenaltyHf {
    fn default() -> Self {
        Self { penalty: 1.0, prompt_ignore_length: 0, sees_prompt: true, seen: SeenTokens::default() }
    }
}

impl RepetitionPenaltyHf {
    /// The step over all tokens.
    pub fn new(penalty: f32) -> Self {
        Self { penalty, ..Self::default() }
    }

    /// The tokens that count.
    fn seen(&mut self, ctx: &Ctx) -> &[(u32, u32)] {
        let n_prompt = if self.sees_prompt { 0 } else { ctx.history().n_prompt() };
        let start = n_prompt.max(self.prompt_ignore_length as usize);
        self.seen.of(ctx.history().tokens(), start..usize::MAX)
    }
}

crate::describe_step!(RepetitionPenaltyHf);

#[typetag::serde(name = "repetition_penalty_hf")]
impl SamplerStep for RepetitionPenaltyHf {
    fn prepare(&mut self, ctx: &Ctx) -> Result<(), StepError> {
        let usable = self.penalty.is_finite() && self.penalty > 0.0 && self.penalty.recip().is_finite();
        self.reset(ctx);
        StepError::refuse_unless(usable, "penalty", self.penalty, "finite and above 0, and so must its inverse be")
    }

    fn apply(&mut self, cands: &mut CandSet<'_>, ctx: &mut Ctx) {
        if !self.is_off() {
            let penalty = Penalty { repeat: self.penalty, ..Penalty::default() };
            cands.penalise_but_leave_one(self.seen(ctx), penalty);
        }
    }

    fn accept(&mut self, _: u32, ctx: &Ctx) {
        self.seen(ctx);
    }

    fn reset(&mut self, ctx: &Ctx) {
        self.seen.forget();
        self.seen(ctx);
    }

    fn is_off(&self) -> bool {
        self.penalty == 1.0
    }

    fn facts(&self) -> Facts {
        let on = Facts { needs_history: true, needs_prompt: !self.sees_prompt, ..Facts::default() };
        if self.is_off() { Facts::TRUNCATION } else { on }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{after_sort, apply, refusal, round_trip, run};

    const LOGITS: [f32; 6] = [1.0, -1.0, 0.0, 2.0, -2.0, f32::NEG_INFINITY];

    #[test]
    fn divides_above_zero_and_multiplies_below_once() {
        let left = run(&mut RepetitionPenaltyHf::new(2.0), &LOGITS, &[3, 4, 3, 2, 5]);
        assert_eq!(left.logits(), [1.0, -1.0, 0.0, 1.0, -4.0, f32::NEG_INFINITY]);
        let raised = run(&mut RepetitionPenaltyHf::new(0.5), &LOGITS, &[3, 4, 5]);
        assert_eq!(raised.logits(), [1.0, -1.0, 0.0, 4.0, -1.0, f32::NEG_INFINITY]);
    }

    #[test]
    fn the_first_tokens_do_not_count_unless_they_come_again() {
        let penalised = |ignored| {
            let mut step = RepetitionPenaltyHf { prompt_ignore_length: ignored, ..RepetitionPenaltyHf::new(2.0) };
            run(&mut step, &LOGITS, &[0, 1, 0]).logits()[..2].to_vec()
        };
        assert_eq!(
            [0, 1, 2, 3, u32::MAX].map(penalised),
            [[0.5, -2.0], [0.5, -2.0], [0.5, -1.0], [1.0, -1.0], [1.0, -1.0]]
        );
    }

    #[test]
    fn without_the_prompt_the_drawn_tokens_alone_count() {
        let mut step = RepetitionPenaltyHf { sees_prompt: false, ..RepetitionPenaltyHf::new(2.0) };
        let mut ctx = Ctx::new(1);
        step.prepare(&ctx).unwrap();
        for (token, is_prompt, expected) in [
            (0, true, &[][..]),
            (3, false, &[3]),
            (0, false, &[0, 3]),
            (3, false, &[0, 3]),
            (4, true, &[]),
            (1, false, &[1]),
        ] {
            if is_prompt {
                ctx.history_mut().push_prompt(token);
            } else {
                ctx.history_mut().push(token);
            }
            step.accept(token, &ctx);
            let seen: Vec<u32> = step.seen(&ctx).iter().map(|seen| seen.0).collect();
            assert_eq!(seen, expected);
            let mut again = step.clone();
            again.reset(&ctx);
            assert_eq!(again, step, "a history tells all");
        }
        assert_eq!(apply(&mut step, &LOGITS, &mut ctx).logits()[..2], [1.0, -2.0]);
    }

    #[test]
    fn of_everything_the_first_of_the_most_likely_stays() {
        let none = f32::NEG_INFINITY;
        for (penalty, logits, expected) in [
            (3e38, &[-9.0f32, -2.0, -2.0, none][..], &[none, -2.0, none, none][..]),
            (3e38, &[-2.0], &[-2.0]),
            (3e38, &[-2.0, 3.0], &[none, 1e-38]),
            (f32::MAX, &[f32::MIN, none], &[f32::MIN, none]),
            (1e-37, &[1e9, 2e9, -1.0], &[f32::MAX, f32::MAX, -1e-37]),
        ] {
            let left = run(&mut RepetitionPenaltyHf::new(penalty), logits, &[0, 1, 2, 3]).logits();
            assert!(left.iter().zip(expected).all(|(a, b)| a == b || (a / b - 1.0).abs() < 1e-6), "{left:?}");
        }
    }

    #[test]
    fn what_is_changed_counts_at_once() {
        let (mut step, mut ctx) = (RepetitionPenaltyHf::new(2.0), Ctx::new(1));
        step.prepare(&ctx).unwrap();
        for token in [0, 1] {
            ctx.history_mut().push_prompt(token);
            step.accept(token, &ctx);
        }
        ctx.history_mut().push(3);
        step.accept(3, &ctx);
        step.prompt_ignore_length = 1;
        assert_eq!(apply(&mut step, &LOGITS, &mut ctx).logits()[..4], [1.0, -2.0, 0.0, 1.0]);
        step.sees_prompt = false;
        assert_eq!(apply(&mut step, &LOGITS, &mut ctx).logits()[..4], [1.0, -1.0, 0.0, 1.0]);
    }

    #[test]
    fn the_flag_goes_even_for_nothing_and_stays_where_it_is_neutral() {
        assert!(!run(&mut after_sort(RepetitionPenaltyHf::new(1.5)), &LOGITS, &[]).sorted);
        assert!(run(&mut after_sort(RepetitionPenaltyHf::new(1.0)), &LOGITS, &[3]).sorted);
    }

    #[test]
    fn one_candidate_and_none() {
        assert_eq!(run(&mut RepetitionPenaltyHf::new(2.0), &[3.0], &[0]).logits(), [1.5]);
        assert!(run(&mut RepetitionPenaltyHf::new(2.0), &[], &[0]).cands.is_empty());
    }

    #[test]
    fn file() {
        let text = r#"{"type":"repetition_penalty_hf","penalty":1.0,"prompt_ignore_length":0,"sees_prompt":true}"#;
        round_trip(Box::new(RepetitionPenaltyHf::default()), text);
        assert_eq!(RepetitionPenaltyHf::default().facts(), Facts::TRUNCATION);
        for penalty in [0.0, -1.0, f32::NAN, f32::INFINITY, 1e-39] {
            let expected = format!("penalty: {penalty} is refused: finite and above 0, and so must its inverse be");
            assert_eq!(refusal(RepetitionPenaltyHf::new(penalty)), expected);
        }
    }
}
