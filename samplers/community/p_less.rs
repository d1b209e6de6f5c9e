use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::core::{CandSet, Ctx, Facts, SamplerStep};

/// P-less: removes the candidates that are less likely than a draw is to be what another draw is, `L = Σ p²`.
///
/// It has no parameter to tune. The temperature goes before it: the cut follows the row that it sees.
///
/// # Origin
/// Tan, Wu and Howard, "p-less Sampling: A Robust Hyperparameter-Free Approach for LLM Decoding" (arXiv 2509.23234); llama.cpp pull
/// request 26035 (MIT), vLLM pull requests 45288 and 48136 and transformers pull request 41798 (Apache-2.0), mlx-vlm. Written from the
/// formula. Gate: the formula in numpy. llama.cpp's pull request lowers the cut by 1e-5, against the rounding of flat rows; here
/// the best stay instead.
///
/// # Order and flags
/// Computes p, adds up p² in f32 and in order, and removes `p < L`; what equals the cut stays. The order and `sorted` stay what they
/// were. No probability is as high as `L` only where f32 rounds it up, as on many flat rows: the most likely candidate and its
/// equals always stay.
///
/// # Draws
/// None.
///
/// # Errors
/// `prepare` refuses nothing: both values of `normalised` do.
///
/// # Chain file
/// ```json
/// {"type": "p_less", "normalised": false}
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PLess {
    /// Whether the cut is `(V·L - 1)/(V - 1)`: 0 for a flat row, and never above L. V counts the candidates that the step sees: one
    /// that a step before has masked is among them, one that it has removed is not. In a program that masks what it removes V is
    /// always the vocabulary's size, and the cut behind a truncation higher. Default false.
    pub normalised: bool,
}

crate::describe_step!(PLess);

#[typetag::serde(name = "p_less")]
impl SamplerStep for PLess {
    fn apply(&mut self, cands: &mut CandSet<'_>, _: &mut Ctx) {
        cands.softmax(false);
        let n = cands.len() as f32;
        let mut cut = cands.as_slice().iter().fold(0.0f32, |sum, cand| sum + cand.p * cand.p);
        if self.normalised {
            // NaN for one candidate: nothing is below.
            cut = (n * cut - 1.0) / (n - 1.0);
        }
        cands.remove_but_best(1, |cand| cand.p < cut);
    }

    fn facts(&self) -> Facts {
        Facts::TRUNCATION
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{after_sort, p4, round_trip, run};

    const INF: f32 = f32::INFINITY;
    const BOTH: [bool; 2] = [false, true];

    #[test]
    fn what_is_below_goes_and_the_order_stays() {
        // L is 0.365; normalised it is 0.153.
        assert_eq!(run(&mut PLess { normalised: false }, &p4(), &[]).ids(), [0]);
        assert_eq!(run(&mut PLess { normalised: true }, &p4(), &[]).ids(), [0, 1]);
        let left = run(&mut PLess { normalised: true }, &[0.9, -9.0, 1.0, 0.8], &[]);
        assert_eq!((left.ids(), left.sorted), (vec![0, 2, 3], false));
        let left = run(&mut after_sort(PLess { normalised: true }), &[0.9, -9.0, 1.0, 0.8], &[]);
        assert_eq!((left.ids(), left.sorted), (vec![2, 0, 3], true));
    }

    /// On a flat row L is p, and f32 puts it above for many sizes: nothing would be left.
    #[test]
    fn the_best_always_stays() {
        let is_above = |n: usize| {
            let p = 1.0 / n as f32;
            (0..n).fold(0.0f32, |sum, _| sum + p * p) > p
        };
        assert!((2..400).filter(|&n| is_above(n)).count() > 100);
        for (n, normalised) in (0..400).flat_map(|n| BOTH.map(|normalised| (n, normalised))) {
            assert_eq!(run(&mut PLess { normalised }, &vec![1.5; n], &[]).cands.len(), n);
        }
        for n in (2..400).filter(|&n| is_above(n)) {
            // The last is the best by so little that their probabilities are equal.
            let mut row = vec![0.0; n];
            row[n - 1] = 1e-9;
            assert_eq!(run(&mut PLess { normalised: false }, &row, &[]).ids(), [n as u32 - 1]);
        }
    }

    #[test]
    fn masked_candidates_count_as_candidates() {
        let masked = |n: usize| [p4(), vec![-INF; n]].concat();
        // Normalised: 0.153 of 4, 0.206 of 5, 0.300 of 10, 0.311 of 12.
        for (n, kept) in [(0, 2), (1, 2), (5, 2), (6, 2), (8, 1)] {
            let left = run(&mut PLess { normalised: true }, &masked(n), &[]);
            assert_eq!(left.cands.len(), kept, "{n} masked");
        }
        assert_eq!(run(&mut PLess::default(), &masked(3), &[]).ids(), [0]);
    }

    #[test]
    fn small_and_masked_rows() {
        for normalised in BOTH {
            assert_eq!(run(&mut PLess { normalised }, &[-7.0], &[]).ids(), [0]);
            assert_eq!(run(&mut PLess { normalised }, &[80.0, -80.0], &[]).ids(), [0]);
            assert_eq!(run(&mut PLess { normalised }, &[-INF, 0.5, -INF], &[]).ids(), [1]);
            assert_eq!(run(&mut PLess { normalised }, &[-INF; 3], &[]).cands.len(), 3);
        }
    }

    #[test]
    fn file() {
        round_trip(Box::new(PLess::default()), r#"{"type":"p_less","normalised":false}"#);
        round_trip(Box::new(PLess { normalised: true }), r#"{"type":"p_less","normalised":true}"#);
    }
}
