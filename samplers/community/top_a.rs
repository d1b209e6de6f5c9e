use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::core::{CandSet, Ctx, Facts, SamplerStep, StepError, float};

/// Top-a: removes the candidates that are less likely than `a` times the square of the highest probability.
///
/// The surer the model, the higher the cut: at a highest probability of 0.9 it is `0.81·a`, at 0.1 it is `0.01·a`.
///
/// # Origin
/// Bo Peng's RWKV-LM (Apache-2.0); as `top_a` in KoboldAI, KoboldCpp and aphrodite (AGPL-3.0), ExLlamaV2 (MIT) and NovelAI (closed);
/// for llama.cpp pull request 5612 (MIT). Written from the formula. Gate: the formula in numpy.
///
/// The square is rounded first, as in RWKV-LM. KoboldCpp and ExLlamaV2 round `(a·p_max)·p_max`: the cut differs in its last bit, and
/// with probabilities of 2/3 and 1/3 an `a` of 0.75 keeps one here and two there.
///
/// # Order and flags
/// Computes p, and removes `p < a·(p_max·p_max)`, in f32; what equals the cut stays. The order and `sorted` stay what they
/// were. The most likely candidate and its equals always stay: no probability is below its square.
///
/// # Draws
/// None.
///
/// # Errors
/// `prepare` refuses an `a` that is not above 0 and at most 1.
///
/// # Chain file
/// ```json
/// {"type": "top_a", "a": 0.2}
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TopA {
    /// The share of the highest probability's square, above 0, at most 1. Default 0.2.
    #[serde(with = "float")]
    #[schemars(with = "f32", extend("exclusiveMinimum" = 0), range(max = 1))]
    pub a: f32,
}

impl Default for TopA {
    fn default() -> Self {
        Self { a: 0.2 }
    }
}

crate::describe_step!(TopA);

#[typetag::serde(name = "top_a")]
impl SamplerStep for TopA {
    fn prepare(&mut self, _: &Ctx) -> Result<(), StepError> {
        StepError::refuse_unless(self.a > 0.0 && self.a <= 1.0, "a", self.a, "above 0, and at most 1")
    }

    fn apply(&mut self, cands: &mut CandSet<'_>, _: &mut Ctx) {
        cands.softmax(false);
        let Some(best) = cands.argmax().and_then(|i| cands.get(i)) else { return };
        let cut = self.a * (best.p * best.p);
        cands.remove_but_best(1, |cand| cand.p < cut);
    }

    fn facts(&self) -> Facts {
        Facts::TRUNCATION
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{after_sort, p4, refusal, round_trip, run};

    const INF: f32 = f32::INFINITY;

    #[test]
    fn the_square_of_the_best_decides() {
        // 0.25·a: 0.05 goes from 0.2 on, 0.15 from 0.6 on.
        assert_eq!(run(&mut TopA { a: 0.19 }, &p4(), &[]).ids(), [0, 1, 2, 3]);
        assert_eq!(run(&mut TopA { a: 0.21 }, &p4(), &[]).ids(), [0, 1, 2]);
        assert_eq!(run(&mut TopA { a: 0.61 }, &p4(), &[]).ids(), [0, 1]);
    }

    #[test]
    fn the_order_stays() {
        let left = run(&mut TopA { a: 1.0 }, &[0.0, -9.0, 2.0, 1.0], &[]);
        assert_eq!((left.ids(), left.logits(), left.sorted), (vec![2], vec![2.0], false));
        let left = run(&mut TopA { a: 0.1 }, &[0.0, -9.0, 2.0, 1.0], &[]);
        assert_eq!((left.ids(), left.sorted), (vec![0, 2, 3], false));
        let left = run(&mut after_sort(TopA { a: 0.1 }), &[0.0, -9.0, 2.0, 1.0], &[]);
        assert_eq!((left.ids(), left.sorted), (vec![2, 3, 0], true));
    }

    /// Of one candidate, the largest `a` asks for exactly what it has.
    #[test]
    fn the_best_always_stays() {
        for a in [1.0, 0.5, f32::MIN_POSITIVE] {
            assert_eq!(run(&mut TopA { a }, &[-7.0], &[]).ids(), [0]);
            assert_eq!(run(&mut TopA { a }, &[80.0, -80.0], &[]).ids()[0], 0);
            assert_eq!(run(&mut TopA { a }, &[1.5; 7], &[]).cands.len(), 7);
            assert_eq!(run(&mut TopA { a }, &[], &[]).cands.len(), 0);
        }
    }

    #[test]
    fn masked_candidates_go() {
        assert_eq!(run(&mut TopA { a: 0.2 }, &[-INF, 1.0, -INF, 0.5], &[]).ids(), [1, 3]);
        assert_eq!(run(&mut TopA { a: 0.2 }, &[-INF; 3], &[]).cands.len(), 3);
    }

    #[test]
    fn file() {
        round_trip(Box::new(TopA::default()), r#"{"type":"top_a","a":0.2}"#);
        assert_eq!(refusal(TopA { a: 0.0 }), "a: 0 is refused: above 0, and at most 1");
        assert_eq!(refusal(TopA { a: 1.5 }), "a: 1.5 is refused: above 0, and at most 1");
        assert_eq!(refusal(TopA { a: f32::NAN }), "a: NaN is refused: above 0, and at most 1");
    }
}
