use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::core::{CandSet, Ctx, Facts, SamplerStep, StateReader, Steered, StepError, float};
use crate::libm::{int, logf, powf};
use crate::libstdcxx::Mt19937;

/// Mirostat 1.0: cuts to a k that it estimates so that the surprise of the drawn tokens stays near `tau`, and draws:
/// `llama_sampler_init_mirostat`.
///
/// # Order and flags
/// Sorts, cuts, computes p and selects.
///
/// # Draws
/// One double a draw from its own generator; none where one candidate is left.
///
/// # Chain file
/// ```json
/// {"type": "mirostat", "tau": 5.0, "eta": 0.1, "m": 100}
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Mirostat {
    /// The surprise to aim at, in bits. Default 5.
    #[serde(with = "float")]
    pub tau: f32,
    /// The learning rate. Default 0.1.
    #[serde(with = "float")]
    pub eta: f32,
    /// How many of the most likely candidates the estimate looks at. Default 100.
    #[serde(skip_serializing_if = "is_100")]
    #[schemars(!skip_serializing_if)]
    pub m: i32,
    #[serde(skip)]
    steered: Steered,
}

impl Default for Mirostat {
    fn default() -> Self {
        Self { tau: 5.0, eta: 0.1, m: 100, steered: Steered { mu: 10.0, ..Steered::default() } }
    }
}

fn is_100(m: &i32) -> bool {
    *m == 100
}

impl Mirostat {
    /// The step with its parameters.
    pub fn new(tau: f32, eta: f32, m: i32) -> Self {
        Self { tau, eta, m, ..Self::default() }
    }

    /// The surprise, in bits, up to which candidates are let through now: `2 * tau` at first.
    pub fn mu(&self) -> f32 {
        self.steered.mu
    }

    /// The exponent of Zipf's law that fits the first `m` candidates best.
    fn zipf_exponent(&self, cands: &mut CandSet<'_>) -> f32 {
        // As `size_t(m - 1)`: an m of 0 and below looks at all.
        let pairs = self.m.wrapping_sub(1) as usize;
        let (mut products, mut squares) = (0.0f32, 0.0f32);
        for (i, pair) in cands.first(pairs.saturating_add(1)).windows(2).enumerate() {
            let t = logf((i + 2) as f32 / (i + 1) as f32);
            let b = logf(pair[0].p / pair[1].p);
            products += t * b;
            squares += t * t;
        }
        products / squares
    }
}

crate::describe_step!(Mirostat);

#[typetag::serde(name = "mirostat")]
impl SamplerStep for Mirostat {
    fn prepare(&mut self, ctx: &Ctx) -> Result<(), StepError> {
        StepError::refuse_nan("tau", self.tau)?;
        StepError::refuse_nan("eta", self.eta)?;
        self.reset(ctx);
        Ok(())
    }

    fn apply(&mut self, cands: &mut CandSet<'_>, ctx: &mut Ctx) {
        if cands.is_empty() {
            return;
        }
        let n_vocab = ctx.n_vocab().unwrap_or(cands.len()) as f32;
        cands.softmax(true);
        let exponent = self.zipf_exponent(cands);
        let epsilon = exponent - 1.0;
        let k = powf(epsilon * powf(2.0, self.steered.mu) / (1.0 - powf(n_vocab, -epsilon)), 1.0 / exponent);
        cands.top_k(int(k).max(1) as usize);
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
    use crate::testing::{p4, refusal, round_trip, run};

    #[test]
    fn one_candidate_draws_nothing_and_moves_mu() {
        let mut step = Mirostat::default();
        assert_eq!(run(&mut step, &[3.0], &[]).selected, Some(0));
        assert_eq!(step.steered.rng, Mt19937::new(42));
        // Its surprise is 0: mu rises by eta * tau.
        assert_eq!(step.mu(), 10.0 - 0.1 * (0.0 - 5.0));
    }

    #[test]
    fn cuts_and_selects() {
        let mut step = Mirostat::new(0.1, 0.1, 100);
        let left = run(&mut step, &p4(), &[]);
        assert!(left.sorted && left.cands.len() < 4 && left.selected.is_some());
    }

    #[test]
    fn an_empty_set_selects_nothing() {
        assert_eq!(run(&mut Mirostat::default(), &[], &[]).selected, None);
    }

    #[test]
    fn file() {
        round_trip(Box::new(Mirostat::default()), r#"{"type":"mirostat","tau":5.0,"eta":0.1}"#);
        round_trip(Box::new(Mirostat::new(4.0, 0.2, 50)), r#"{"type":"mirostat","tau":4.0,"eta":0.2,"m":50}"#);
        assert_eq!(refusal(Mirostat::new(f32::NAN, 0.1, 100)), "tau: NaN is refused: a number is wanted");
    }
}
