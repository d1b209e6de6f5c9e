use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::core::{CandSet, Ctx, Facts, SamplerStep, StepError, float};

/// Min-k: keeps the candidates above the steepest drop between neighbours in the sorted logits, drops counting less the lower they
/// are.
///
/// What the drops decide does not depend on a temperature before it. `tau` does, and matters on nearly flat rows alone: with 3, where
/// the logits lie within 1.5.
///
/// # Origin
/// Ding et al., "Min-k Sampling: Decoupling Truncation from Temperature Scaling via Relative Logit Dynamics" (arXiv 2604.11012, CC BY
/// 4.0); vLLM pull request 48142 (Apache-2.0). Written from the formula. Gate: the formula in numpy.
///
/// # Order and flags
/// Sorts, without computing p. With the finite logits `l_0` to `l_(V-1)` from the best down and their range `R = l_0 - l_(V-1) + 1e-8`,
/// the weight of the drop behind the first i candidates is `(l_(i-1) - l_i)/R/i`, in f32; of equal ones the first counts. Those i
/// stay, or `tau/R` rounded down, if these are more, and what is tied with the last of them. Candidates at -infinity have no part in it,
/// and go; where there are no others, all stay.
///
/// # Draws
/// None.
///
/// # Errors
/// `prepare` refuses a `tau` of NaN.
///
/// # Chain file
/// ```json
/// {"type": "min_k", "tau": 3}
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MinK {
    /// How many candidates stay at least, times the range of the logits: `tau/R` do. 0 and below leave it to the drops, infinity keeps
    /// all. Default 3, the paper's.
    #[serde(with = "float")]
    pub tau: f32,
}

impl Default for MinK {
    fn default() -> Self {
        Self { tau: 3.0 }
    }
}

crate::describe_step!(MinK);

#[typetag::serde(name = "min_k")]
impl SamplerStep for MinK {
    fn prepare(&mut self, _: &Ctx) -> Result<(), StepError> {
        StepError::refuse_nan("tau", self.tau)
    }

    fn apply(&mut self, cands: &mut CandSet<'_>, _: &mut Ctx) {
        let (mut n, mut lowest) = (0usize, f32::INFINITY);
        for logit in cands.logits().filter(|&logit| logit > f32::NEG_INFINITY) {
            (n, lowest) = (n + 1, lowest.min(logit));
        }
        if n == 0 {
            return;
        }
        cands.sort();
        let highest = cands.max_logit();
        let range = highest - lowest + 1e-8;
        let (mut i, mut before, mut cliff, mut steepest) = (0usize, highest, 1, f32::NEG_INFINITY);
        cands.position(|cand| {
            let drop = (before - cand.logit) / range / i as f32;
            if i > 0 && i < n && drop > steepest {
                (cliff, steepest) = (i, drop);
            }
            (i, before) = (i + 1, cand.logit);
            // No drop from here on is deeper than down to the lowest at once.
            i >= n || (before - lowest) / range / i as f32 <= steepest
        });
        // The range may be infinite, too.
        let at_least = if self.tau == f32::INFINITY { n } else { (self.tau / range).floor() as usize };
        let last = cands.get(cliff.max(at_least).clamp(1, n) - 1);
        let Some(behind) = last.and_then(|last| cands.position(|cand| cand.logit < last.logit)) else { return };
        // Behind a bias the first of a set that is called sorted need not be the best.
        cands.truncate(behind.max(1));
    }

    fn facts(&self) -> Facts {
        Facts::TRUNCATION
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Mt19937;
    use crate::testing::{after_sort, refusal, round_trip, run};

    const INF: f32 = f32::INFINITY;

    fn kept(tau: f32, row: &[f32]) -> Vec<f32> {
        run(&mut MinK { tau }, row, &[]).logits()
    }

    /// As llama.cpp's `logit_bias` leaves it behind a sort.
    #[test]
    fn a_set_whose_order_is_broken_keeps_one() {
        let cands = [5.0, 14.0, 0.0, -1.0].map(|logit| crate::Cand { id: 0, logit, p: 0.0 });
        let mut buf = crate::CandBuf::default();
        let mut set = CandSet::from_cands(&cands, true, &mut buf);
        MinK { tau: 0.0 }.apply(&mut set, &mut Ctx::new(1));
        assert!(!set.is_empty());
    }

    #[test]
    fn the_steepest_drop_decides() {
        // Over a range of 8 the drops are 1, 4, 1 and 2, and weigh 1, 2, 0.33 and 0.5 eighths.
        let row = [9.0, 8.0, 4.0, 3.0, 1.0];
        assert_eq!(kept(0.0, &row), [9.0, 8.0]);
        let left = run(&mut MinK::default(), &[4.0, 8.0, 1.0, 9.0, 3.0], &[]);
        assert_eq!((left.ids(), left.sorted), (vec![3, 1], true));
        assert_eq!(run(&mut after_sort(MinK::default()), &[4.0, 8.0, 1.0, 9.0, 3.0], &[]), left);
        assert_eq!(kept(0.0, &row.map(|logit| logit / 16.0)), [9.0 / 16.0, 0.5]);
        // Over half a unit, 3 keeps six.
        assert_eq!(kept(MinK::default().tau, &row.map(|logit| logit / 16.0)).len(), 5);
    }

    #[test]
    fn tau_keeps_more() {
        let row = [9.0, 8.0, 4.0, 3.0, 1.0];
        for (tau, n) in [(-8.0, 2), (16.0, 2), (23.9, 2), (24.0, 3), (32.0, 4), (1e9, 5), (INF, 5)] {
            assert_eq!(kept(tau, &row).len(), n, "tau = {tau}");
        }
        assert_eq!(kept(INF, &[f32::MAX, f32::MIN]).len(), 2);
    }

    #[test]
    fn ties_stay() {
        // Drops of 1 and 2 weigh the same: the first counts.
        assert_eq!(kept(0.0, &[8.0, 7.0, 5.0, 4.0]), [8.0]);
        assert_eq!(kept(0.0, &[8.0, 7.0, 7.0, 4.0]), [8.0]);
        assert_eq!(kept(9.0, &[8.0, 7.0, 7.0, 4.0]), [8.0, 7.0, 7.0]);
        assert_eq!(kept(0.0, &[1.5; 7]).len(), 7);
    }

    #[test]
    fn the_best_always_stays() {
        assert_eq!(kept(0.0, &[-7.0]), [-7.0]);
        assert_eq!(kept(0.0, &[80.0, -80.0]), [80.0]);
        assert_eq!(kept(0.0, &[f32::MAX, f32::MIN]), [f32::MAX]);
        assert_eq!(kept(0.0, &[]).len(), 0);
        assert_eq!(kept(0.0, &[f32::NAN, 1.0, 0.0]).len(), 3);
    }

    #[test]
    fn masked_candidates_go() {
        assert_eq!(kept(0.0, &[-INF, 2.0, -INF, 1.5, -1.0]), [2.0, 1.5]);
        assert_eq!(kept(INF, &[-INF, 2.0, -INF, 1.5, -1.0]), [2.0, 1.5, -1.0]);
        assert_eq!(kept(0.0, &[-INF, 2.0]), [2.0]);
        assert_eq!(kept(0.0, &[-INF; 3]).len(), 3);
    }

    /// The walk ends early; here all drops are weighed.
    #[test]
    fn the_walk_ends_behind_the_steepest_drop() {
        let mut rng = Mt19937::new(5);
        for n in [2, 3, 17, 300, 600, 3000].into_iter().cycle().take(120) {
            let coarse = rng.next_u32().is_multiple_of(2);
            let row: Vec<f32> = (0..n).map(|_| rng.uniform_f32().powi(3) * 20.0).collect();
            let row: Vec<f32> = row.iter().map(|x| if coarse { x.floor() } else { *x }).collect();
            let mut sorted = row.clone();
            sorted.sort_by(|a, b| b.total_cmp(a));
            let range = sorted[0] - sorted[n - 1] + 1e-8;
            let weights = sorted.windows(2).zip(1..).map(|(pair, i)| (pair[0] - pair[1]) / range / i as f32);
            let steepest = weights.clone().fold(0.0, f32::max);
            let cliff = weights.clone().position(|weight| weight == steepest).unwrap() + 1;
            let lowest = sorted[cliff - 1];
            sorted.retain(|&logit| logit >= lowest);
            assert_eq!(kept(0.0, &row), sorted, "{n} candidates");
        }
    }

    #[test]
    fn file() {
        round_trip(Box::new(MinK::default()), r#"{"type":"min_k","tau":3.0}"#);
        assert_eq!(refusal(MinK { tau: f32::NAN }), "tau: NaN is refused: a number is wanted");
    }
}
