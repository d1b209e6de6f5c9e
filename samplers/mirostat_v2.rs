use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::core::{CandSet, Ctx, Facts, SamplerStep, StateReader, Steered, StepError, float};
use crate::libm::log2f;
use crate::libstdcxx::Mt19937;

/// Mirostat 2.0: drops the candidates whose surprise is above `mu`, draws, and moves `mu` so that the surprise of the drawn
/// tokens stays near `tau`: `llama_sampler_init_mirostat_v2`.
///
/// # Order and flags
/// Sorts, cuts (one candidate stays), computes p and selects.
///
/// # Draws
/// One double a draw from its own generator; none where one candidate is left.
///
/// # Chain file
/// ```json
/// {"type": "mirostat_v2", "tau": 5.0, "eta": 0.1}
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MirostatV2 {
    /// The surprise to aim at, in bits. Default 5.
    #[serde(with = "float")]
    pub tau: f32,
    /// The learning rate. Default 0.1.
    #[serde(with = "float")]
    pub eta: f32,
    #[serde(skip)]
    steered: Steered,
}

impl Default for MirostatV2 {
    fn default() -> Self {
        Self { tau: 5.0, eta: 0.1, steered: Steered { mu: 10.0, ..Steered::default() } }
    }
}

impl MirostatV2 {
    /// The step with its parameters.
    pub fn new(tau: f32, eta: f32) -> Self {
        Self { tau, eta, ..Self::default() }
    }

    /// The surprise, in bits, up to which candidates are let through now: `2 * tau` at first.
    pub fn mu(&self) -> f32 {
        self.steered.mu
    }
}

crate::describe_step!(MirostatV2);

#[typetag::serde(name = "mirostat_v2")]
impl SamplerStep for MirostatV2 {
    fn prepare(&mut self, ctx: &Ctx) -> Result<(), StepError> {
        StepError::refuse_nan("tau", self.tau)?;
        StepError::refuse_nan("eta", self.eta)?;
        self.reset(ctx);
        Ok(())
    }

    fn apply(&mut self, cands: &mut CandSet<'_>, _: &mut Ctx) {
        cands.softmax(true);
        let surprising = cands.position(|cand| -log2f(cand.p) > self.steered.mu);
        cands.truncate(surprising.unwrap_or(cands.len()).max(1));
        cands.softmax(true);
        self.steered.select(cands, self.tau, self.eta);
    }

    fn reset(&mut self, ctx: &Ctx) {
        self.steered.reset(self.tau, ctx);
    }

    fn save(&self, state: &mut Vec<u64>) {
        self.steered.save(state);
    }

    fn load(&mut self, state: &mut StateReader<'_>, ctx: &Ctx) -> Result<(), StepError> {
        self.steered.load(state, ctx)
    }

    fn generator(&mut self) -> Option<&mut Mt19937> {
        Some(&mut self.steered.rng)
    }

    fn selects(&self) -> bool {
        true
    }

    fn facts(&self) -> Facts {
        Facts::TRUNCATION
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{apply, p4, refusal, round_trip, run};

    /// User case 11: tau 1 starts at mu 2, and of surprises 1.00, 1.74, 2.74, 4.32 bits the first two pass.
    #[test]
    fn case_11_surprise_cuts() {
        let mut step = MirostatV2::new(1.0, 0.1);
        let left = run(&mut step, &p4(), &[]);
        assert_eq!((left.ids(), left.sorted), (vec![0, 1], true));
        assert_ne!(step.mu(), 2.0);
    }

    /// User case 11: mu is kept from draw to draw and starts again on reset.
    #[test]
    fn case_11_mu_is_kept_until_reset() {
        let (mut step, mut ctx) = (MirostatV2::new(1.0, 0.5), Ctx::new(42));
        step.prepare(&ctx).unwrap();
        let mut seen = vec![step.mu()];
        for _ in 0..3 {
            apply(&mut step, &p4(), &mut ctx);
            seen.push(step.mu());
        }
        assert!(seen.windows(2).all(|pair| pair[0] != pair[1]), "{seen:?}");
        step.reset(&ctx);
        assert_eq!((step.mu(), &step.steered.rng), (2.0, &Mt19937::new(42)));
    }

    #[test]
    fn one_candidate_stays_whatever_its_surprise() {
        let left = run(&mut MirostatV2::new(-3.0, 0.1), &p4(), &[]);
        assert_eq!((left.ids(), left.selected), (vec![0], Some(0)));
        assert_eq!(run(&mut MirostatV2::default(), &[], &[]).selected, None);
    }

    #[test]
    fn file() {
        round_trip(Box::new(MirostatV2::default()), r#"{"type":"mirostat_v2","tau":5.0,"eta":0.1}"#);
        assert_eq!(refusal(MirostatV2::new(5.0, f32::NAN)), "eta: NaN is refused: a number is wanted");
    }
}
