use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::core::{CandSet, Ctx, Facts, SamplerStep, StepError, float};

/// Quadratic smoothing with a curve: pulls what is near the best candidate together, and pushes what is far from it away.
///
/// With `d` a logit less the largest, `m`, it becomes `m - k·factor·d² + s·factor·d³`, where `k` is `(3 - curve) / 2` and `s` is
/// `(curve - 1) / 2`: with a curve of 1 the square alone, with 3 the cube alone. In f32, from left to right, as KoboldCpp
/// computes it; text-generation-webui's product of `k` and `factor` is an f64, and differs in last bits.
///
/// # Origin
/// kalomaze's quadratic sampling: text-generation-webui, KoboldCpp, aphrodite (AGPL-3.0), exllamav2 (MIT), and llama.cpp's pull
/// request 6445 (MIT), which was not merged. Written from the formula. Gate: the formula in numpy, in
/// KoboldCpp's order.
///
/// Where temperature stands is the chain's order here. In front of this step it counts squared, `-factor·d²/temp²`, as in
/// text-generation-webui and KoboldCpp; behind it once, `-factor·d²/temp`, as in exllamav2.
///
/// # Order and flags
/// Changes logits. Their order stays, and so does `sorted`; but a logit next to the largest becomes equal to it, and `greedy` then
/// takes the first of them. A logit of -infinity stays, and one that falls beyond f32 becomes -infinity. The best stays what it is.
///
/// # Draws
/// None.
///
/// # Errors
/// `prepare` refuses a `factor` that is not finite or not above 0, and a `curve` outside 1 to 3.
///
/// # Chain file
/// ```json
/// {"type": "smoothing", "factor": 0.23, "curve": 1.0}
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Smoothing {
    /// How much of the square or the cube counts, above 0, finite; presets have 0.2 to 0.3. Default 0.2.
    #[serde(with = "float")]
    #[schemars(with = "f32", extend("exclusiveMinimum" = 0))]
    pub factor: f32,
    /// From 1, the square alone, to 3, the cube alone. Below 1 the tail would rise without end, and above 3 what is near the
    /// best would pass it. Default 1.
    #[serde(with = "float")]
    #[schemars(with = "f32", range(min = 1, max = 3))]
    pub curve: f32,
}

impl Default for Smoothing {
    fn default() -> Self {
        Self { factor: 0.2, curve: 1.0 }
    }
}

crate::describe_step!(Smoothing);

#[typetag::serde(name = "smoothing")]
impl SamplerStep for Smoothing {
    fn prepare(&mut self, _: &Ctx) -> Result<(), StepError> {
        let is_factor = self.factor > 0.0 && self.factor.is_finite();
        StepError::refuse_unless(is_factor, "factor", self.factor, "a finite number above 0 is wanted")?;
        StepError::refuse_unless((1.0..=3.0).contains(&self.curve), "curve", self.curve, "1 to 3 is wanted")
    }

    fn apply(&mut self, cands: &mut CandSet<'_>, _: &mut Ctx) {
        let quadratic = (3.0 - self.curve) / 2.0 * self.factor;
        let cubic = (self.curve - 1.0) / 2.0 * self.factor;
        // Behind a bias the first of a set that is called sorted need not be the best, and d³ - d² could be NaN.
        let best = cands.argmax().and_then(|best| cands.get(best));
        let max_logit = best.map_or(f32::NEG_INFINITY, |best| best.logit);
        cands.map_logits_in_order(|logit| match logit - max_logit {
            // What counts nothing, times an infinity, would be NaN.
            _ if logit.is_infinite() => logit,
            f32::NEG_INFINITY => f32::NEG_INFINITY,
            d => cubic * d * d * d - quadratic * d * d + max_logit,
        });
    }

    fn facts(&self) -> Facts {
        Facts { keeps_argmax: true, keeps_order: true, ..Facts::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{after_sort, p4, refusal, round_trip, run};

    #[test]
    fn the_square_and_the_cube() {
        let rows = [1.0, 3.0, 0.0];
        let square = run(&mut Smoothing { factor: 0.5, curve: 1.0 }, &rows, &[]);
        assert_eq!(square.logits(), [3.0 - 0.5 * 4.0, 3.0, 3.0 - 0.5 * 9.0]);
        let cube = run(&mut Smoothing { factor: 0.5, curve: 3.0 }, &rows, &[]);
        assert_eq!(cube.logits(), [3.0 - 0.5 * 8.0, 3.0, 3.0 - 0.5 * 27.0]);
        let both = run(&mut Smoothing { factor: 0.5, curve: 2.0 }, &rows, &[]);
        assert_eq!(both.logits(), [3.0 - 0.25 * 4.0 - 0.25 * 8.0, 3.0, 3.0 - 0.25 * 9.0 - 0.25 * 27.0]);
    }

    #[test]
    fn infinities_and_overflows_are_no_nan() {
        let inf = f32::INFINITY;
        for curve in [1.0, 2.0, 3.0] {
            let mut step = Smoothing { factor: 0.2, curve };
            assert_eq!(run(&mut step, &[1.0, -inf, 1.0], &[]).logits(), [1.0, -inf, 1.0]);
            assert_eq!(run(&mut step, &[-inf; 2], &[]).logits(), [-inf; 2]);
            assert_eq!(run(&mut step, &[3e38, -3e38, 0.0], &[]).logits(), [3e38, -inf, -inf]);
            assert_eq!(run(&mut step, &[-7.0], &[]).logits(), [-7.0]);
            assert_eq!(run(&mut step, &[], &[]).cands, []);
        }
    }

    /// However hard the others are pushed.
    #[test]
    fn the_argmax_stays_where_all_others_go() {
        let none = f32::NEG_INFINITY;
        for curve in [1.0, 1.0 + f32::EPSILON, 2.0, 3.0] {
            let mut step = Smoothing { factor: f32::MAX, curve };
            assert_eq!(run(&mut step, &[-2.0, 3.0, 0.0], &[]).logits(), [none, 3.0, none]);
            assert_eq!(run(&mut step, &[f32::MIN, 1.0, f32::MIN], &[]).logits(), [none, 1.0, none]);
            assert_eq!(run(&mut step, &[f32::MIN; 2], &[]).logits(), [f32::MIN; 2]);
        }
    }

    /// As llama.cpp's `logit_bias` leaves it behind a sort.
    #[test]
    fn a_set_whose_order_is_broken_has_no_nan() {
        let cands = [0.0, f32::MAX, f32::MIN, 1e30].map(|logit| crate::Cand { id: 0, logit, p: 0.0 });
        for curve in [1.0, 2.0, 3.0] {
            let mut buf = crate::CandBuf::default();
            let mut set = CandSet::from_cands(&cands, true, &mut buf);
            Smoothing { factor: 3.0, curve }.apply(&mut set, &mut Ctx::new(1));
            let none = f32::NEG_INFINITY;
            assert!(set.logits().eq([none, f32::MAX, none, none]));
        }
    }

    #[test]
    fn a_sorted_set_stays_sorted() {
        let left = run(&mut after_sort(Smoothing { factor: 0.3, curve: 1.4 }), &p4(), &[]);
        assert!(left.sorted && left.logits().is_sorted_by(|a, b| a > b));
        assert!(!run(&mut Smoothing::default(), &p4(), &[]).sorted);
    }

    #[test]
    fn file() {
        round_trip(Box::new(Smoothing::default()), r#"{"type":"smoothing","factor":0.2,"curve":1.0}"#);
        let of = |factor, curve| refusal(Smoothing { factor, curve });
        assert_eq!(of(0.0, 1.0), "factor: 0 is refused: a finite number above 0 is wanted");
        assert_eq!(of(f32::INFINITY, 1.0), "factor: inf is refused: a finite number above 0 is wanted");
        assert_eq!(of(0.2, 0.5), "curve: 0.5 is refused: 1 to 3 is wanted");
        assert_eq!(of(0.2, f32::NAN), "curve: NaN is refused: 1 to 3 is wanted");
    }
}
