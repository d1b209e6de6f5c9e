use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::core::{CandSet, Ctx, Facts, SamplerStep, StepError, float};
use crate::libm::logf;

/// So many of the most likely candidates are weighed: transformers' `top_n`.
const TOP_N: usize = 100;

/// Top-h: keeps the most likely candidates as long as they make up no more than the share `h` of the entropy.
///
/// # Origin
/// "Top-H Decoding: Adapting the Creativity and Coherence with Bounded Entropy in Text Generation" (arXiv 2509.02510); Hugging Face
/// transformers' `TopHLogitsWarper` (Apache-2.0), whose rule this is. Gate: that class, run with torch. The authors' own file leaves
/// the probabilities of the best hundred as they are among all, and takes base-2 logarithms: on flat rows it keeps others.
///
/// # Order and flags
/// Cuts to the 100 best and sorts them; computes their p among themselves. From the best down, `-p·ln p` is added up, in f32, and
/// what comes above `h·H`, H being the sum over all, goes, with all that follow: the one that crosses, too, and every p of 0. The
/// best stays whatever it adds. Which of equals at the cut stay is up to the sort, as it is to `torch.topk`.
///
/// # Draws
/// None.
///
/// # Errors
/// `prepare` refuses an `h` that is not above 0 and at most 1.
///
/// # Chain file
/// ```json
/// {"type": "top_h", "h": 0.4}
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TopH {
    /// The share of the entropy to keep, above 0, at most 1. At 1 all of the 100 best stay that have a probability: both sums are the
    /// same. transformers adds the entropy up in another order, and where a sum lies on the cut its last bit decides: at 1 its 5.23.0
    /// drops some of the least likely on 352 of 1,000 random rows. Default 0.4, the paper's.
    #[serde(with = "float")]
    #[schemars(with = "f32", extend("exclusiveMinimum" = 0), range(max = 1))]
    pub h: f32,
}

impl Default for TopH {
    fn default() -> Self {
        Self { h: 0.4 }
    }
}

crate::describe_step!(TopH);

#[typetag::serde(name = "top_h")]
impl SamplerStep for TopH {
    fn prepare(&mut self, _: &Ctx) -> Result<(), StepError> {
        StepError::refuse_unless(self.h > 0.0 && self.h <= 1.0, "h", self.h, "above 0, and at most 1")
    }

    fn apply(&mut self, cands: &mut CandSet<'_>, _: &mut Ctx) {
        cands.top_k(TOP_N);
        cands.softmax(true);
        let most = self.h * cands.entropy_of_positive();
        let mut sum = 0.0f32;
        let crosses = cands.position(|cand| {
            sum -= cand.p * logf(cand.p);
            // NaN where p is 0.
            sum.is_nan() || sum > most
        });
        cands.truncate(crosses.unwrap_or(cands.len()).max(1));
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
    fn the_one_that_crosses_goes() {
        // The sums are 0.347, 0.708, 0.992 and 1.142.
        for (h, kept) in [(0.31, 1), (0.61, 1), (0.63, 2), (0.86, 2), (0.88, 3), (1.0, 4)] {
            assert_eq!(run(&mut TopH { h }, &p4(), &[]).cands.len(), kept, "h = {h}");
        }
    }

    #[test]
    fn the_set_is_sorted() {
        let left = run(&mut TopH { h: 0.9 }, &[0.0, -9.0, 2.0, 1.0], &[]);
        assert_eq!((left.ids(), left.logits(), left.sorted), (vec![2, 3], vec![2.0, 1.0], true));
        assert_eq!(run(&mut after_sort(TopH { h: 0.9 }), &[0.0, -9.0, 2.0, 1.0], &[]), left);
    }

    /// A best of 0.3 makes up more than a tenth of the entropy.
    #[test]
    fn the_best_always_stays() {
        for row in [&[1.5; 7][..], &[-7.0], &[80.0, -80.0], &[-INF, 0.5, -INF], &[0.0, 0.9, 0.0, 0.1]] {
            let left = run(&mut TopH { h: 1e-9 }, row, &[]);
            let best = row.iter().copied().fold(-INF, f32::max);
            assert_eq!(left.logits(), [best], "{row:?}");
        }
        assert_eq!(run(&mut TopH { h: 1.0 }, &[-INF; 3], &[]).cands.len(), 1);
        assert_eq!(run(&mut TopH { h: 1.0 }, &[], &[]).cands.len(), 0);
    }

    /// The entropy is the same sum, so that an `h` of 1 keeps all that have a probability.
    #[test]
    fn one_keeps_the_hundred_best() {
        let logits: Vec<f32> = (0..300).map(|i| (i * 77 % 300) as f32 / 40.0).collect();
        let left = run(&mut TopH { h: 1.0 }, &logits, &[]);
        assert_eq!((left.cands.len(), left.logits()[99]), (100, 5.0));
        assert_eq!(run(&mut TopH { h: 1.0 }, &[-INF, 1.0, 2.0, -500.0], &[]).ids(), [2, 1]);
        let mut rng = crate::Mt19937::new(4);
        for n in (0..400).map(|i| 1 + i * 7 % 250) {
            let logits: Vec<f32> = (0..n).map(|_| (rng.uniform_f32() - 0.5) * [4.0, 30.0][n % 2]).collect();
            assert_eq!(run(&mut TopH { h: 1.0 }, &logits, &[]).cands.len(), n.min(100), "{logits:?}");
        }
    }

    #[test]
    fn file() {
        round_trip(Box::new(TopH::default()), r#"{"type":"top_h","h":0.4}"#);
        for h in [0.0, 1.5, f32::NAN] {
            assert_eq!(refusal(TopH { h }), format!("h: {h} is refused: above 0, and at most 1"));
        }
    }
}
