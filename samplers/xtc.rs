use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::core::{CandSet, Ctx, Facts, SamplerStep, StepError, StepState, float, is_zero};
use crate::libstdcxx::Mt19937;

/// Exclude top choices: with a chance of `probability` it drops every candidate of at least `threshold` but the least likely
/// of them: `llama_sampler_init_xtc`.
///
/// # Order and flags
/// When the chance falls: sorts, computes p, drops from the front, unless fewer than `min_keep` would stay. Else, and with
/// a probability of 0 or below, a threshold above 0.5 or fewer than two candidates, it does nothing.
///
/// # Draws
/// One float a draw from its own generator; none with fewer than two candidates or where it is off.
///
/// # Chain file
/// ```json
/// {"type": "xtc", "probability": 0.5, "threshold": 0.1}
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Xtc {
    /// The chance of acting, 0 to 1; 0 and below: off. Default 0.
    #[serde(with = "float")]
    pub probability: f32,
    /// The probability from which a candidate is a top choice; above 0.5: off. Default 0.1.
    #[serde(with = "float")]
    pub threshold: f32,
    /// At least so many stay. Default 0.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(!skip_serializing_if)]
    pub min_keep: u32,
    #[serde(skip)]
    rng: Mt19937,
}

impl Default for Xtc {
    fn default() -> Self {
        Self { probability: 0.0, threshold: 0.1, min_keep: 0, rng: Mt19937::default() }
    }
}

impl Xtc {
    /// The step with its parameters.
    pub fn new(probability: f32, threshold: f32, min_keep: u32) -> Self {
        Self { probability, threshold, min_keep, ..Self::default() }
    }
}

crate::describe_step!(Xtc);

#[typetag::serde(name = "xtc")]
impl SamplerStep for Xtc {
    fn prepare(&mut self, ctx: &Ctx) -> Result<(), StepError> {
        StepError::refuse_nan("probability", self.probability)?;
        StepError::refuse_nan("threshold", self.threshold)?;
        self.reset(ctx);
        Ok(())
    }

    fn apply(&mut self, cands: &mut CandSet<'_>, _: &mut Ctx) {
        if self.is_off() || cands.len() < 2 || self.rng.uniform_f32() > self.probability {
            return;
        }
        cands.softmax(true);
        // What does not reach the threshold; NaN, of either, does not.
        let reaches = |p: f32| p >= self.threshold;
        let others = cands.position(|cand| !reaches(cand.p)).unwrap_or(cands.len());
        let dropped = others.saturating_sub(1);
        if cands.len() - dropped >= self.min_keep as usize {
            cands.drop_front(dropped);
        }
    }

    fn state(&self) -> Option<&dyn StepState> {
        Some(&self.rng)
    }

    fn state_mut(&mut self) -> Option<&mut dyn StepState> {
        Some(&mut self.rng)
    }

    fn generator(&mut self) -> Option<&mut Mt19937> {
        Some(&mut self.rng)
    }

    fn is_off(&self) -> bool {
        self.probability <= 0.0 || self.threshold > 0.5
    }

    fn facts(&self) -> Facts {
        Facts { keeps_argmax: self.is_off(), ..Facts::TRUNCATION }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{apply, p4, refusal, round_trip, run};

    /// User case 2: with seed 42 the coin shows 0.37454.
    #[test]
    fn case_2_the_coin_comes_from_the_seed() {
        assert_eq!(run(&mut Xtc::new(0.37, 0.1, 0), &p4(), &[]).ids(), [0, 1, 2, 3]);
        assert_eq!(run(&mut Xtc::new(0.38, 0.1, 0), &p4(), &[]).ids(), [2, 3]);
    }

    /// User case 31: thresholds at the edges, and `min_keep` vetoes the whole removal.
    #[test]
    fn case_31_edges() {
        assert_eq!(run(&mut Xtc::new(1.0, 0.1, 0), &p4(), &[]).ids(), [2, 3]);
        assert_eq!(run(&mut Xtc::new(1.0, 0.0, 0), &p4(), &[]).ids(), [3]);
        assert_eq!(run(&mut Xtc::new(1.0, 0.51, 0), &p4(), &[]).ids(), [0, 1, 2, 3]);
        assert_eq!(run(&mut Xtc::new(1.0, 0.1, 3), &p4(), &[]).ids(), [0, 1, 2, 3]);
    }

    /// `prepare` refuses it; whoever changes the parameter of a running chain is not asked.
    #[test]
    fn nothing_reaches_a_threshold_of_nan() {
        let (mut xtc, mut ctx) = (Xtc::new(1.0, 0.1, 0), Ctx::new(42));
        xtc.prepare(&ctx).unwrap();
        xtc.threshold = f32::NAN;
        let left = apply(&mut xtc, &p4(), &mut ctx);
        assert_eq!((left.ids(), left.sorted), (vec![0, 1, 2, 3], true));
    }

    #[test]
    fn one_candidate_draws_nothing() {
        let mut xtc = Xtc::new(1.0, 0.1, 0);
        run(&mut xtc, &[1.0], &[]);
        assert_eq!(xtc.rng, Mt19937::new(42));
        run(&mut xtc, &p4(), &[]);
        let mut once = Mt19937::new(42);
        once.next_u32();
        assert_eq!(xtc.rng, once);
    }

    #[test]
    fn file() {
        round_trip(Box::new(Xtc::default()), r#"{"type":"xtc","probability":0.0,"threshold":0.1}"#);
        assert_eq!(refusal(Xtc::new(0.5, f32::NAN, 0)), "threshold: NaN is refused: a number is wanted");
    }
}
