use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::core::{CandSet, Ctx, Facts, SamplerStep, StepError, float};

/// Epsilon sampling: removes the candidates whose probability is below `epsilon`.
///
/// # Origin
/// Hewitt, Manning and Liang, "Truncation Sampling as Language Model Desmoothing" (arXiv 2210.15191); Hugging Face transformers'
/// `EpsilonLogitsWarper` (Apache-2.0), whose rule this is; in text-generation-webui and aphrodite, too. Gate: that class, run with
/// torch.
///
/// `epsilon` is the probability itself, as in transformers. text-generation-webui's `epsilon_cutoff` is in units of 1e-4: its 3 is
/// 0.0003 here; SillyTavern's is in units of 1e-3 for some back ends.
///
/// # Order and flags
/// Computes p, and removes `p < epsilon`, in f32; what equals it stays. So do, whatever their p, the `min_keep` largest logits and
/// all that are tied with the last of these: candidates of -infinity, too, where fewer are above it. The order and `sorted` stay what
/// they were.
///
/// # Draws
/// None.
///
/// # Errors
/// `prepare` refuses an `epsilon` that is not above 0 and below 1, and a `min_keep` of 0.
///
/// # Chain file
/// ```json
/// {"type": "epsilon_cutoff", "epsilon": 0.0005, "min_keep": 1}
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EpsilonCutoff {
    /// The lowest probability that stays, above 0 and below 1; the paper has 3e-4 to 9e-4. Default 0.0005.
    #[serde(with = "float")]
    #[schemars(with = "f32", extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    pub epsilon: f32,
    /// At least so many stay, 1 or more. Default 1.
    #[schemars(range(min = 1))]
    pub min_keep: u32,
}

impl Default for EpsilonCutoff {
    fn default() -> Self {
        Self { epsilon: 0.0005, min_keep: 1 }
    }
}

crate::describe_step!(EpsilonCutoff);

#[typetag::serde(name = "epsilon_cutoff")]
impl SamplerStep for EpsilonCutoff {
    fn prepare(&mut self, _: &Ctx) -> Result<(), StepError> {
        StepError::refuse_cutoff("epsilon", self.epsilon, self.min_keep)
    }

    fn apply(&mut self, cands: &mut CandSet<'_>, _: &mut Ctx) {
        cands.softmax(false);
        cands.remove_but_best(self.min_keep as usize, |cand| cand.p < self.epsilon);
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

    fn step(epsilon: f32, min_keep: u32) -> EpsilonCutoff {
        EpsilonCutoff { epsilon, min_keep }
    }

    #[test]
    fn what_is_below_goes_and_the_order_stays() {
        assert_eq!(run(&mut step(0.1, 1), &p4(), &[]).ids(), [0, 1, 2]);
        let left = run(&mut step(0.1, 1), &[0.0, -9.0, 2.0, 1.0], &[]);
        assert_eq!((left.ids(), left.sorted), (vec![2, 3], false));
        let left = run(&mut after_sort(step(0.05, 1)), &[0.0, -9.0, 2.0, 1.0], &[]);
        assert_eq!((left.ids(), left.sorted), (vec![2, 3, 0], true));
    }

    /// Where all are below, the best stays, and all that are as good.
    #[test]
    fn the_best_always_stays() {
        assert_eq!(run(&mut step(0.9, 1), &p4(), &[]).ids(), [0]);
        assert_eq!(run(&mut step(0.9, 1), &[1.0, 2.0, 2.0], &[]).ids(), [1, 2]);
        assert_eq!(run(&mut step(0.9, 1), &[1.5; 7], &[]).cands.len(), 7);
        assert_eq!(run(&mut step(0.9, 1), &[], &[]).cands.len(), 0);
        assert_eq!(run(&mut step(0.9, 1), &[-INF; 3], &[]).cands.len(), 3);
        assert_eq!(run(&mut step(0.9, 1), &[-INF, 0.0, -INF], &[]).ids(), [1]);
    }

    #[test]
    fn min_keep_keeps_ties() {
        assert_eq!(run(&mut step(0.9, 2), &[1.0, 3.0, 2.0, 2.0], &[]).ids(), [1, 2, 3]);
        assert_eq!(run(&mut step(0.9, 9), &[1.0, 3.0, 2.0, 2.0], &[]).ids(), [0, 1, 2, 3]);
    }

    #[test]
    fn file() {
        round_trip(Box::new(EpsilonCutoff::default()), r#"{"type":"epsilon_cutoff","epsilon":0.0005,"min_keep":1}"#);
        for epsilon in [0.0, -0.1, 1.0, f32::NAN] {
            let expected = format!("epsilon: {epsilon} is refused: above 0, and below 1");
            assert_eq!(refusal(step(epsilon, 1)), expected);
        }
        assert_eq!(refusal(step(0.5, 0)), "min_keep: 0 is refused: one candidate stays at least");
    }
}
