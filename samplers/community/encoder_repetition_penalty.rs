use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::core::{CandSet, Ctx, Facts, Penalty, SamplerStep, SeenTokens, StepError};

/// Makes the prompt's tokens more likely, each once: what repeats the prompt makes up less.
///
/// A logit below 0 is multiplied by the inverse of `penalty`, another one divided by it. A penalty below 1 makes the prompt's
/// tokens less likely. The inverse is taken in f64 and rounded to f32, as there.
///
/// What would rise above the largest f32 number is held there; what falls below the lowest is -infinity. Where that leaves nothing,
/// the most likely candidate keeps its logit.
///
/// # Origin
/// Hugging Face transformers (`EncoderRepetitionPenaltyLogitsProcessor`, Apache-2.0), known as the hallucination penalty.
/// There the tokens are the encoder's input, or the prompt of a model that has no encoder, as in text-generation-webui. The
/// code is this project's own. Gate: that class, run with torch.
///
/// # Order and flags
/// Changes logits and clears `sorted`, even where nothing changed. A penalty of 1 is neutral: it does nothing.
///
/// # Draws
/// None.
///
/// # Errors
/// `prepare` refuses a `penalty` that is not above 0, and one whose inverse is no normal number of f32.
///
/// # Chain file
/// ```json
/// {"type": "encoder_repetition_penalty", "penalty": 1.05}
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EncoderRepetitionPenalty {
    /// Above 0; its inverse is finite and above 0, too, in f32. Default 1.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub penalty: f64,
    #[serde(skip)]
    prompt: SeenTokens,
}

impl Default for EncoderRepetitionPenalty {
    fn default() -> Self {
        Self::new(1.0)
    }
}

impl EncoderRepetitionPenalty {
    /// The step with its penalty.
    pub fn new(penalty: f64) -> Self {
        Self { penalty, prompt: SeenTokens::default() }
    }

    /// What a logit above 0 is divided by.
    fn inverse(&self) -> f32 {
        self.penalty.recip() as f32
    }
}

crate::describe_step!(EncoderRepetitionPenalty);

#[typetag::serde(name = "encoder_repetition_penalty")]
impl SamplerStep for EncoderRepetitionPenalty {
    fn prepare(&mut self, ctx: &Ctx) -> Result<(), StepError> {
        let usable = self.penalty > 0.0 && self.inverse().is_normal();
        self.reset(ctx);
        StepError::refuse_unless(
            usable,
            "penalty",
            self.penalty,
            "above 0, and neither too small nor too large for f32",
        )
    }

    fn apply(&mut self, cands: &mut CandSet<'_>, ctx: &mut Ctx) {
        if !self.is_off() {
            let penalty = Penalty { repeat: self.inverse(), ..Penalty::default() };
            cands.penalise_but_leave_one(self.prompt.of(ctx.history().tokens(), 0..ctx.history().n_prompt()), penalty);
        }
    }

    fn reset(&mut self, _: &Ctx) {
        self.prompt.forget();
    }

    fn is_off(&self) -> bool {
        self.penalty == 1.0
    }

    fn facts(&self) -> Facts {
        let on = Facts { needs_history: true, needs_prompt: true, ..Facts::default() };
        if self.is_off() { Facts::TRUNCATION } else { on }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{after_sort, apply, refusal, round_trip, run};

    const LOGITS: [f32; 6] = [1.0, -1.0, 0.0, 2.0, -2.0, f32::NEG_INFINITY];

    #[test]
    fn raises_the_prompts_tokens_once() {
        let left = run(&mut EncoderRepetitionPenalty::new(2.0), &LOGITS, &[3, 4, 3, 2, 5]);
        assert_eq!(left.logits(), [1.0, -1.0, 0.0, 4.0, -1.0, f32::NEG_INFINITY]);
        let lowered = run(&mut EncoderRepetitionPenalty::new(0.5), &LOGITS, &[3, 4, 5]);
        assert_eq!(lowered.logits(), [1.0, -1.0, 0.0, 1.0, -4.0, f32::NEG_INFINITY]);
    }

    /// The inverse of 1.1 is another f32 than the inverse of the f32.
    #[test]
    fn the_inverse_is_that_of_the_f64() {
        let inverse = (1.0f64 / 1.1) as f32;
        assert_ne!(inverse, 1.0 / 1.1f32);
        let left = run(&mut EncoderRepetitionPenalty::new(1.1), &[0.7, -0.7], &[0, 1]);
        assert_eq!(
            [left.cands[0], left.cands[1]].map(|cand| cand.logit.to_bits()),
            [0.7 / inverse, -0.7 * inverse].map(f32::to_bits)
        );
    }

    #[test]
    fn drawn_tokens_count_with_the_next_prompt() {
        let mut step = EncoderRepetitionPenalty::new(2.0);
        let mut ctx = Ctx::new(1);
        step.prepare(&ctx).unwrap();
        for (token, is_prompt, raised) in
            [(0, true, [2.0, 2.0]), (3, false, [2.0, 2.0]), (4, true, [2.0, 4.0]), (1, false, [2.0, 4.0])]
        {
            if is_prompt {
                ctx.history_mut().push_prompt(token);
            } else {
                ctx.history_mut().push(token);
            }
            step.accept(token, &ctx);
            let logits = apply(&mut step, &LOGITS, &mut ctx).logits();
            assert_eq!([logits[0], logits[3]], raised);
        }
        ctx.history_mut().truncate(1, 1);
        step.reset(&ctx);
        assert_eq!(step.prompt.of(ctx.history().tokens(), 0..1), [(0, 1)]);
        // Another prompt that is as long.
        ctx.history_mut().clear();
        ctx.history_mut().push_prompt(3);
        step.reset(&ctx);
        assert_eq!(apply(&mut step, &LOGITS, &mut ctx).logits()[..4], [1.0, -1.0, 0.0, 4.0]);
    }

    #[test]
    fn of_everything_the_first_of_the_most_likely_stays() {
        let none = f32::NEG_INFINITY;
        for (penalty, logits, expected) in [
            (1e-37, &[-99.0f32, -88.0, -88.0, none][..], &[none, -88.0, none, none][..]),
            (1e-37, &[-99.0], &[-99.0]),
            (1e37, &[88.0, 99.0, -99.0], &[f32::MAX, f32::MAX, -99.0 / 1e37]),
        ] {
            let left = run(&mut EncoderRepetitionPenalty::new(penalty), logits, &[0, 1, 2, 3]).logits();
            assert!(left.iter().zip(expected).all(|(a, b)| a == b || (a / b - 1.0).abs() < 1e-6), "{left:?}");
        }
    }

    #[test]
    fn the_flag_goes_even_for_nothing_and_stays_where_it_is_neutral() {
        assert!(!run(&mut after_sort(EncoderRepetitionPenalty::new(1.5)), &LOGITS, &[]).sorted);
        assert!(run(&mut after_sort(EncoderRepetitionPenalty::new(1.0)), &LOGITS, &[3]).sorted);
        assert!(run(&mut EncoderRepetitionPenalty::new(1.5), &[], &[0]).cands.is_empty());
    }

    #[test]
    fn file() {
        let text = r#"{"type":"encoder_repetition_penalty","penalty":1.0}"#;
        round_trip(Box::new(EncoderRepetitionPenalty::default()), text);
        assert_eq!(EncoderRepetitionPenalty::default().facts(), Facts::TRUNCATION);
        round_trip(Box::new(EncoderRepetitionPenalty::new(1.3)), &text.replace("1.0", "1.3"));
        for penalty in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e39, 1e-39, 1e-300] {
            let expected =
                format!("penalty: {penalty} is refused: above 0, and neither too small nor too large for f32");
            assert_eq!(refusal(EncoderRepetitionPenalty::new(penalty)), expected);
        }
    }
}
