use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::core::{CandSet, Ctx, Facts, Penalty, SamplerStep, StepError, float};

/// Makes the tokens of a window less likely, each once, those of its older half by less.
///
/// A logit above 0 is divided by the penalty, another one multiplied, and then `presence` is taken off. In the recent half of
/// the window, the longer one where `range` is odd, the penalty is `penalty`; for tokens of the older half alone it is
/// `1 + (penalty - 1) * slope`, and `penalty` where that is not above 1. With a slope of 1 it is `penalties` of llama.cpp
/// without `freq`. The halves are those of a full window: a text shorter than the recent half has no older one.
///
/// What would rise above the largest f32 number is held there; what falls below the lowest is -infinity. Where that leaves nothing,
/// the most likely candidate keeps its logit.
///
/// # Origin
/// `rep_pen`, `rep_pen_range` and `rep_pen_slope` of KoboldCpp (AGPL-3.0), after KoboldAI, whose slope bends over the window
/// instead. KoboldCpp fills a window that is not full yet with token 0, and so penalises that; here nothing stands there. The code is
/// this project's own, after the formula. Gate: the formula in numpy; with a slope of 1 transformers' class, too, run with torch.
///
/// Versions differ where `range` is odd. KoboldCpp as of 2026 splits the window at half its length, rounded down, so that the recent
/// half is the longer: so it is here. Earlier versions gave the place in the middle to the older half.
///
/// # Order and flags
/// Changes logits and clears `sorted`, even where nothing changed. With a range of 0, or `penalty` and `presence` at their
/// neutral values, it does nothing.
///
/// # Draws
/// None.
///
/// # Errors
/// `prepare` refuses a `penalty` that is not finite, not above 0, or has no finite inverse, a `slope` that is not above 0 and at
/// most 1, and a `presence` that is not finite.
///
/// # Chain file
/// ```json
/// {"type": "rep_pen_slope", "range": 360, "penalty": 1.07, "slope": 0.7, "presence": 0.0}
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RepPenSlope {
    /// How many of the last tokens count, the prompt's included. Default 360.
    pub range: u32,
    /// Above 0, finite, and so is its inverse; 1 is neutral. Default 1.
    #[serde(with = "float")]
    #[schemars(with = "f32", extend("exclusiveMinimum" = 0))]
    pub penalty: f32,
    /// How much of a penalty above 1 is left for the older half, above 0, at most 1. Default 1.
    #[serde(with = "float")]
    #[schemars(with = "f32", extend("exclusiveMinimum" = 0), range(max = 1))]
    pub slope: f32,
    /// Taken off once for a token of the window; finite. Default 0.
    #[serde(with = "float")]
    #[schemars(with = "f32")]
    pub presence: f32,
}

impl Default for RepPenSlope {
    fn default() -> Self {
        Self { range: 360, penalty: 1.0, slope: 1.0, presence: 0.0 }
    }
}

impl RepPenSlope {
    /// The step without `presence`.
    pub fn new(range: u32, penalty: f32, slope: f32) -> Self {
        Self { range, penalty, slope, ..Self::default() }
    }

    /// The penalty of the older half.
    fn older(&self) -> f32 {
        if self.penalty > 1.0 { 1.0 + (self.penalty - 1.0) * self.slope } else { self.penalty }
    }
}

crate::describe_step!(RepPenSlope);

#[typetag::serde(name = "rep_pen_slope")]
impl SamplerStep for RepPenSlope {
    fn prepare(&mut self, _: &Ctx) -> Result<(), StepError> {
        let usable = self.penalty.is_finite() && self.penalty > 0.0 && self.penalty.recip().is_finite();
        StepError::refuse_unless(usable, "penalty", self.penalty, "finite and above 0, and so must its inverse be")?;
        let usable = self.slope > 0.0 && self.slope <= 1.0;
        StepError::refuse_unless(usable, "slope", self.slope, "above 0, and at most 1")?;
        StepError::refuse_unless(self.presence.is_finite(), "presence", self.presence, "it must be finite")
    }

    fn apply(&mut self, cands: &mut CandSet<'_>, ctx: &mut Ctx) {
        let window = ctx.history().last(self.range as usize);
        // The halves are those of a full window, whose older places are empty at first.
        let n_older = window.len().saturating_sub((self.range - self.range / 2) as usize);
        let (older_half, recent_half) = window.split_at(n_older);
        let [recent, older] =
            [self.penalty, self.older()].map(|repeat| Penalty { repeat, freq: 0.0, present: self.presence });
        if !self.is_off() {
            cands.update_listed([recent_half, older_half], |logit, is_older| {
                if is_older { older } else { recent }.of(logit, 1)
            });
        }
    }

    fn is_off(&self) -> bool {
        self.range == 0 || (self.penalty == 1.0 && self.presence == 0.0)
    }

    fn facts(&self) -> Facts {
        if self.is_off() { Facts::TRUNCATION } else { Facts { needs_history: true, ..Facts::default() } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{after_sort, refusal, round_trip, run};

    const LOGITS: [f32; 6] = [4.0, -1.0, 0.0, 2.0, -2.0, f32::NEG_INFINITY];

    /// What 3 makes of each token's logit with half a slope, so 2 in the older half.
    fn penalties(range: u32, history: &[u32]) -> Vec<f32> {
        run(&mut RepPenSlope::new(range, 3.0, 0.5), &[6.0; 4], history).logits().iter().map(|x| 6.0 / x).collect()
    }

    #[test]
    fn the_older_half_loses_less() {
        assert_eq!(penalties(4, &[0, 1, 2, 3]), [2.0, 2.0, 3.0, 3.0]);
        assert_eq!(penalties(6, &[0, 1, 2, 3]), [2.0, 3.0, 3.0, 3.0]);
        assert_eq!(penalties(8, &[0, 1, 2, 3]), [3.0; 4]);
        assert_eq!(penalties(2, &[0, 1, 2, 3]), [1.0, 1.0, 2.0, 3.0]);
        assert_eq!(penalties(4, &[0, 1, 2, 0]), [3.0, 2.0, 3.0, 1.0]);
        assert_eq!(penalties(u32::MAX, &[0, 1, 2, 0]), [3.0, 3.0, 3.0, 1.0]);
    }

    #[test]
    fn the_middle_of_an_odd_window_is_recent() {
        assert_eq!(penalties(1, &[0, 1]), [1.0, 3.0, 1.0, 1.0]);
        assert_eq!(penalties(3, &[0, 1, 2, 3]), [1.0, 2.0, 3.0, 3.0]);
        assert_eq!(penalties(3, &[0, 1]), [3.0, 3.0, 1.0, 1.0]);
        assert_eq!(penalties(8, &[]), [1.0; 4]);
    }

    #[test]
    fn multiplies_below_zero_and_takes_presence_off_once() {
        let mut step = RepPenSlope { presence: 0.25, ..RepPenSlope::new(10, 2.0, 1.0) };
        let left = run(&mut step, &LOGITS, &[0, 0, 1, 2, 5]);
        assert_eq!(left.logits(), [1.75, -2.25, -0.25, 2.0, -2.0, f32::NEG_INFINITY]);
    }

    #[test]
    fn a_penalty_below_1_has_no_slope() {
        assert_eq!(run(&mut RepPenSlope::new(4, 0.5, 0.1), &[6.0; 2], &[0, 1]).logits(), [12.0, 12.0]);
        assert_eq!(run(&mut RepPenSlope::new(2, 2.0, 0.5), &[6.0; 2], &[0, 1]).logits(), [4.0, 3.0]);
    }

    #[test]
    fn of_everything_the_first_of_the_most_likely_stays() {
        let none = f32::NEG_INFINITY;
        let mut step = RepPenSlope::new(3, f32::MAX, 0.5);
        assert_eq!(run(&mut step, &[-9.0, -4.0, -4.0, none], &[0, 1, 2, 3]).logits(), [-9.0, none, none, none]);
        assert_eq!(run(&mut step, &[-9.0, -4.0, -4.0], &[0, 1, 2]).logits(), [none, -4.0, none]);
        let mut step = RepPenSlope { presence: f32::MAX, ..RepPenSlope::new(9, 1.0, 1.0) };
        assert_eq!(run(&mut step, &[-3e38, -1e38], &[0, 1]).logits(), [none, -1e38]);
        step.presence = f32::MIN;
        assert_eq!(run(&mut step, &[3e38, 1e38, 0.0], &[0, 1]).logits(), [f32::MAX, f32::MAX, 0.0]);
    }

    #[test]
    fn the_flag_goes_even_for_nothing_and_stays_where_it_is_off() {
        assert!(!run(&mut after_sort(RepPenSlope::new(9, 2.0, 1.0)), &LOGITS, &[]).sorted);
        for off in [RepPenSlope::new(0, 2.0, 1.0), RepPenSlope::new(9, 1.0, 0.5)] {
            assert!(off.is_off() && run(&mut after_sort(off), &LOGITS, &[0]).sorted);
        }
        assert!(run(&mut RepPenSlope::new(9, 2.0, 1.0), &[], &[0]).cands.is_empty());
    }

    #[test]
    fn file() {
        let text = r#"{"type":"rep_pen_slope","range":360,"penalty":1.0,"slope":1.0,"presence":0.0}"#;
        round_trip(Box::new(RepPenSlope::default()), text);
        assert_eq!(RepPenSlope::default().facts(), Facts::TRUNCATION);
        let expected = "penalty: 0 is refused: finite and above 0, and so must its inverse be";
        assert_eq!(refusal(RepPenSlope::new(9, 0.0, 1.0)), expected);
        for slope in [-0.5, 0.0, 1.5, f32::INFINITY, f32::NAN] {
            let expected = format!("slope: {slope} is refused: above 0, and at most 1");
            assert_eq!(refusal(RepPenSlope::new(9, 2.0, slope)), expected);
        }
        let presence = RepPenSlope { presence: f32::NAN, ..RepPenSlope::default() };
        assert_eq!(refusal(presence), "presence: NaN is refused: it must be finite");
    }
}
