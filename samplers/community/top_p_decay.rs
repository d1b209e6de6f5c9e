use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::core::{CandSet, Ctx, DrawnFold, Facts, SamplerStep, StepError, float, is_zero};

/// Nucleus sampling whose share falls with every drawn token: varied where a sentence begins, and sure of itself towards its end.
///
/// The share is `p` for the first token; after each drawn token it is multiplied by `decay` in f32, and is never below `min`. A token
/// of `reset_ids` makes it `p` again.
///
/// # Origin
/// Factual nucleus sampling (Lee et al., "Factuality Enhanced Language Models for Open-Ended Text Generation", arXiv 2206.04624), as
/// FasterTransformer and TensorRT-LLM (Apache-2.0) have it: their `top_p_decay`, `top_p_min` and `top_p_reset_ids`, of which they take
/// one. Gate: the formula in numpy.
///
/// # Order and flags
/// As `top_p`: computes p, then cuts and sorts; the candidate that crosses stays. While the share is 1 it does nothing, and sorts
/// nothing.
///
/// The prompt's tokens do not count, and a new prompt makes the share `p` again. A parameter that is changed counts from the first
/// drawn token on.
///
/// # Draws
/// None.
///
/// # Errors
/// `prepare` refuses a `p` or `decay` that is not above 0 and at most 1, a `min` outside 0 to 1, and a token of `reset_ids`
/// beyond the vocabulary.
///
/// # Chain file
/// ```json
/// {"type": "top_p_decay", "p": 0.9, "decay": 0.9, "min": 0.3, "reset_ids": [13, 30]}
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TopPDecay {
    /// The probability to keep at first, above 0, up to 1. Default 0.9.
    #[serde(with = "float")]
    #[schemars(with = "f32", extend("exclusiveMinimum" = 0), range(max = 1))]
    pub p: f32,
    /// What it is multiplied by after each token, above 0, up to 1. Default 0.9.
    #[serde(with = "float")]
    #[schemars(with = "f32", extend("exclusiveMinimum" = 0), range(max = 1))]
    pub decay: f32,
    /// It falls no lower than this, 0 to 1. Above `p`, the share rises to it behind the first token. Default 0.3.
    #[serde(with = "float")]
    #[schemars(with = "f32", range(min = 0, max = 1))]
    pub min: f32,
    /// The tokens behind which it begins anew: those that end a sentence. Default none.
    pub reset_ids: Vec<u32>,
    /// At least so many candidates stay. Default 0.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(!skip_serializing_if)]
    pub min_keep: u32,
    #[serde(skip)]
    seen: DrawnFold,
}

impl Default for TopPDecay {
    fn default() -> Self {
        Self { p: 0.9, decay: 0.9, min: 0.3, reset_ids: Vec::new(), min_keep: 0, seen: DrawnFold::default() }
    }
}

impl TopPDecay {
    /// The step without tokens behind which it begins anew, which `reset_ids` takes.
    pub fn new(p: f32, decay: f32, min: f32) -> Self {
        Self { p, decay, min, ..Self::default() }
    }

    /// The probability to keep now.
    fn share(&mut self, ctx: &Ctx) -> f32 {
        let Self { p, decay, min, reset_ids, seen, .. } = self;
        let next = |share: f32, id| if reset_ids.contains(&id) { *p } else { (share * *decay).max(*min) };
        seen.over(ctx.history(), *p, (&[*p, *decay, *min], reset_ids), next)
    }
}

crate::describe_step!(TopPDecay);

#[typetag::serde(name = "top_p_decay")]
impl SamplerStep for TopPDecay {
    fn prepare(&mut self, ctx: &Ctx) -> Result<(), StepError> {
        let is_share = |x: f32| x > 0.0 && x <= 1.0;
        StepError::refuse_unless(is_share(self.p), "p", self.p, "above 0 and up to 1 is wanted")?;
        StepError::refuse_unless(is_share(self.decay), "decay", self.decay, "above 0 and up to 1 is wanted")?;
        StepError::refuse_unless((0.0..=1.0).contains(&self.min), "min", self.min, "0 to 1 is wanted")?;
        self.reset(ctx);
        StepError::refuse_beyond("reset_ids", &self.reset_ids, ctx)
    }

    fn apply(&mut self, cands: &mut CandSet<'_>, ctx: &mut Ctx) {
        cands.keep_nucleus(self.share(ctx), self.min_keep as usize);
    }

    fn reset(&mut self, _: &Ctx) {
        self.seen.forget();
    }

    fn facts(&self) -> Facts {
        Facts { needs_history: true, needs_prompt: true, ..Facts::TRUNCATION }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{apply, p4, refusal, round_trip, run};

    /// The whole fold, anew.
    fn share_after(step: &TopPDecay, drawn: &[u32]) -> f32 {
        let next =
            |share: f32, id| if step.reset_ids.contains(id) { step.p } else { (share * step.decay).max(step.min) };
        drawn.iter().fold(step.p, next)
    }

    fn step(p: f32, decay: f32, min: f32, reset_ids: &[u32]) -> TopPDecay {
        TopPDecay { reset_ids: reset_ids.to_vec(), ..TopPDecay::new(p, decay, min) }
    }

    #[test]
    fn falls_to_min_and_begins_anew() {
        let (mut step, mut ctx, mut kept) = (step(1.0, 0.5, 0.3, &[7]), Ctx::new(1), Vec::new());
        for token in [1, 2, 3, 7, 1] {
            kept.push((apply(&mut step, &p4(), &mut ctx).cands.len(), share_after(&step, ctx.history().generated())));
            ctx.history_mut().push(token);
        }
        assert_eq!(kept, [(4, 1.0), (1, 0.5), (1, 0.3), (1, 0.3), (4, 1.0)]);
        // A new prompt begins anew, too, and a history that is rolled back has the share of before.
        ctx.history_mut().truncate(3, 0);
        assert_eq!(apply(&mut step, &p4(), &mut ctx).ids(), [0]);
        ctx.history_mut().push_prompt(5);
        assert_eq!(apply(&mut step, &p4(), &mut ctx).ids(), [0, 1, 2, 3]);
    }

    #[test]
    fn the_share_is_multiplied_in_f32() {
        let (mut step, mut ctx) = (step(0.9, 0.9, 0.1, &[7]), Ctx::new(1));
        [1, 7, 2, 3].into_iter().for_each(|token| ctx.history_mut().push(token));
        assert_eq!(step.share(&ctx).to_bits(), (0.9f32 * 0.9 * 0.9).to_bits());
    }

    /// Whatever happens to the history and the parameters, the share that was kept is the one of the whole text, to the bit.
    #[test]
    fn the_share_that_is_kept_is_that_of_the_whole_text() {
        let (mut step, mut ctx, mut rng) = (step(0.93, 0.97, 0.2, &[7]), Ctx::new(1), crate::Mt19937::new(2));
        step.prepare(&ctx).unwrap();
        for _ in 0..4000 {
            let (token, len) = (rng.next_u32() % 40, ctx.history().len());
            match rng.next_u32() % 40 {
                0 => {
                    ctx.history_mut().push_prompt(token);
                    step.accept(token, &ctx);
                }
                1 => {
                    let n_prompt = ctx.history().n_prompt();
                    ctx.history_mut().truncate(len - (token as usize).min(len), n_prompt);
                    step.load(&mut crate::core::StateReader::new(&[]), &ctx).unwrap();
                }
                2 => step = step.clone(),
                3 => step.p = [0.93, 0.8, 1.0][token as usize % 3],
                4 => step.reset_ids = vec![token, 3],
                5 if token == 0 => {
                    ctx.history_mut().clear();
                    step.reset(&ctx);
                }
                _ => {
                    ctx.history_mut().push(token);
                    step.accept(token, &ctx);
                }
            }
            let expected = share_after(&step, ctx.history().generated());
            assert_eq!(step.share(&ctx).to_bits(), expected.to_bits());
        }
        let mut state = Vec::new();
        step.save(&mut state);
        assert!(state.is_empty(), "the history tells it");
    }

    #[test]
    fn the_prompt_does_not_count() {
        assert_eq!(run(&mut step(0.9, 0.5, 0.1, &[]), &p4(), &[1, 2, 3]).ids(), [0, 1, 2]);
    }

    /// The smallest share keeps the most likely, and nothing else.
    #[test]
    fn the_argmax_always_stays() {
        let inf = f32::NEG_INFINITY;
        let mut step = step(f32::MIN_POSITIVE, 0.5, 0.0, &[]);
        assert_eq!(run(&mut step, &p4(), &[]).ids(), [0]);
        assert_eq!(run(&mut step, &[inf, 1.0, inf], &[]).ids(), [1]);
        assert_eq!(run(&mut step, &[1.0], &[]).ids(), [0]);
        assert!(!run(&mut step, &[inf; 3], &[]).cands.is_empty());
        assert!(run(&mut step, &[], &[]).cands.is_empty());
        step.min_keep = 3;
        assert_eq!(run(&mut step, &p4(), &[]).ids(), [0, 1, 2]);
    }

    #[test]
    fn file() {
        let default = r#"{"type":"top_p_decay","p":0.9,"decay":0.9,"min":0.3,"reset_ids":[]}"#;
        round_trip(Box::new(TopPDecay::default()), default);
        let of = |p, decay, min| refusal(step(p, decay, min, &[]));
        assert_eq!(of(0.0, 0.9, 0.0), "p: 0 is refused: above 0 and up to 1 is wanted");
        assert_eq!(of(0.9, 1.5, 0.0), "decay: 1.5 is refused: above 0 and up to 1 is wanted");
        assert_eq!(of(0.9, 0.9, 1.5), "min: 1.5 is refused: 0 to 1 is wanted");
        assert_eq!(of(0.9, 0.9, f32::NAN), "min: NaN is refused: 0 to 1 is wanted");
        let beyond = step(0.9, 0.9, 0.3, &[3, 100]);
        assert_eq!(refusal(beyond), "reset_ids: token 100 is beyond the vocabulary of 100 tokens");
    }
}
