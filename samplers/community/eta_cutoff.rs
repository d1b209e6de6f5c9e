use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::core::{CandSet, Ctx, Facts, SamplerStep, StepError, float};
use crate::libm::expf;

/// Eta sampling: removes the candidates whose probability is below `epsilon`, or below a lower cut where the entropy is high.
///
/// # Origin
/// Hewitt, Manning and Liang, "Truncation Sampling as Language Model Desmoothing" (arXiv 2210.15191); Hugging Face transformers'
/// `EtaLogitsWarper` (Apache-2.0), whose rule this is; in text-generation-webui and aphrodite, too. Gate: that class, run with torch.
///
/// `epsilon` is the number itself, as in transformers. text-generation-webui's `eta_cutoff` is in units of 1e-4: its 3 is 0.0003 here;
/// SillyTavern's is in units of 1e-3 for some back ends.
///
/// # Order and flags
/// Computes p, and removes `p < min(epsilon, √epsilon · e^-H)`, in f32, with the entropy H in nats; what equals the cut stays, and a
/// probability of 0 adds nothing to H. So do, whatever their p, the `min_keep` largest logits and all that are tied with the last of
/// these: candidates of -infinity, too, where fewer are above it. The order and `sorted` stay what they were.
///
/// # Draws
/// None.
///
/// # Errors
/// `prepare` refuses an `epsilon` that is not above 0 and below 1, and a `min_keep` of 0.
///
/// # Chain file
/// ```json
/// {"type": "eta_cutoff", "epsilon": 0.002, "min_keep": 1}
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EtaCutoff {
    /// The highest cut, above 0 and below 1; the paper has 3e-4 to 4e-3. Default 0.002.
    #[serde(with = "float")]
    #[schemars(with = "f32", extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    pub epsilon: f32,
    /// At least so many stay, 1 or more. Default 1.
    #[schemars(range(min = 1))]
    pub min_keep: u32,
}

impl Default for EtaCutoff {
    fn default() -> Self {
        Self { epsilon: 0.002, min_keep: 1 }
    }
}

crate::describe_step!(EtaCutoff);

#[typetag::serde(name = "eta_cutoff")]
impl SamplerStep for EtaCutoff {
    fn prepare(&mut self, _: &Ctx) -> Result<(), StepError> {
        StepError::refuse_cutoff("epsilon", self.epsilon, self.min_keep)
    }

    fn apply(&mut self, cands: &mut CandSet<'_>, _: &mut Ctx) {
        cands.softmax(false);
        let eta = self.epsilon.min(self.epsilon.sqrt() * expf(-cands.entropy_of_positive()));
        cands.remove_but_best(self.min_keep as usize, |cand| cand.p < eta);
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

    fn step(epsilon: f32, min_keep: u32) -> EtaCutoff {
        EtaCutoff { epsilon, min_keep }
    }

    #[test]
    fn the_entropy_lowers_the_cut() {
        // H is 1.142, e^-H 0.319: up to 0.1 the cut is epsilon itself.
        assert_eq!(run(&mut step(0.06, 1), &p4(), &[]).ids(), [0, 1, 2]);
        assert_eq!(run(&mut step(0.04, 1), &p4(), &[]).ids(), [0, 1, 2, 3]);
        // √0.2 · 0.319 is 0.143, √0.25 · 0.319 is 0.16: epsilon itself would cut 0.15 both times.
        assert_eq!(run(&mut step(0.2, 1), &p4(), &[]).ids(), [0, 1, 2]);
        assert_eq!(run(&mut step(0.25, 1), &p4(), &[]).ids(), [0, 1]);
    }

    #[test]
    fn the_order_stays() {
        let left = run(&mut step(0.2, 1), &[0.0, -9.0, 2.0, 1.0], &[]);
        assert_eq!((left.ids(), left.sorted), (vec![2, 3], false));
        let left = run(&mut after_sort(step(0.05, 1)), &[0.0, -9.0, 2.0, 1.0], &[]);
        assert_eq!((left.ids(), left.sorted), (vec![2, 3, 0], true));
    }

    /// Masked candidates do not make the entropy NaN.
    #[test]
    fn masked_candidates_go() {
        // √0.2 · e^-H is 0.143; where H is NaN, epsilon would cut 0.15, too.
        let masked = run(&mut step(0.2, 1), &[p4(), vec![-INF; 3]].concat(), &[]);
        assert_eq!(masked.ids(), [0, 1, 2]);
        let far = run(&mut step(0.2, 1), &[p4(), vec![-1e4, -3e38]].concat(), &[]);
        assert_eq!(far.ids(), [0, 1, 2]);
        assert_eq!(run(&mut step(0.9, 1), &[-INF; 3], &[]).cands.len(), 3);
    }

    /// A cut near `e^-H` is near every p of a flat row, and f32 may put it above: the best stays, and all that are as good.
    #[test]
    fn the_best_always_stays() {
        let highest = 1f32.next_down();
        for n in 0..400 {
            assert_eq!(run(&mut step(highest, 1), &vec![1.5; n], &[]).cands.len(), n);
            let best = run(&mut step(highest, 1), &(0..n).map(|i| i as f32 * 1e-6).collect::<Vec<_>>(), &[]);
            assert_eq!(best.ids().last().copied(), n.checked_sub(1).map(|last| last as u32));
        }
    }

    #[test]
    fn min_keep_keeps_ties() {
        assert_eq!(run(&mut step(0.9, 2), &[1.0, 13.0, 2.0, 2.0], &[]).ids(), [1, 2, 3]);
        assert_eq!(run(&mut step(0.9, 9), &[1.0, 13.0, 2.0, 2.0], &[]).ids(), [0, 1, 2, 3]);
    }

    #[test]
    fn file() {
        round_trip(Box::new(EtaCutoff::default()), r#"{"type":"eta_cutoff","epsilon":0.002,"min_keep":1}"#);
        for epsilon in [0.0, -0.1, 1.0, f32::NAN] {
            let expected = format!("epsilon: {epsilon} is refused: above 0, and below 1");
            assert_eq!(refusal(step(epsilon, 1)), expected);
        }
        assert_eq!(refusal(step(0.5, 0)), "min_keep: 0 is refused: one candidate stays at least");
    }
}
