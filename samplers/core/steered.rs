//! The draw that mirostat 1 and 2 share.

use super::{CandSet, Ctx, StateReader, StepError};
use crate::libm::log2f;
use crate::libstdcxx::Mt19937;

/// Draws by p, and moves `mu` against how far the surprise of what was drawn is from a target.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Steered {
    pub mu: f32,
    pub rng: Mt19937,
}

impl Steered {
    /// Begins at `2 * tau`, with the generator of the chain's seed.
    pub fn reset(&mut self, tau: f32, ctx: &Ctx) {
        *self = Self { mu: 2.0 * tau, rng: Mt19937::new(ctx.seed()) };
    }

    /// Selects by the probabilities; of an empty set nothing, and `mu` stays.
    pub fn select(&mut self, cands: &mut CandSet<'_>, tau: f32, eta: f32) {
        if let Some(drawn) = cands.select_by_p(&mut self.rng) {
            self.mu -= eta * (-log2f(drawn.p) - tau);
        }
    }

    pub fn save(&self, state: &mut Vec<u64>) {
        state.extend([u64::from(self.mu.to_bits()), self.rng.taken()]);
    }

    pub fn load(&mut self, state: &mut StateReader<'_>, ctx: &Ctx) -> Result<(), StepError> {
        *self = Self { mu: state.float()?, rng: state.generator(ctx.seed())? };
        Ok(())
    }
}
