use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::core::{CandSet, Ctx, Facts, SamplerStep, StateReader, StepError, float};
use crate::libm::clamp;
use crate::libstdcxx::Mt19937;

/// How far from the target a probability still counts as near.
const INVERSE_WIDTH: f32 = 1.0 / 0.3;
const PEAK_LOGIT: f32 = 5.0;
const SHARPNESS: f32 = 10.0;

/// Prefers candidates whose probability is near a target, which moves so that the drawn tokens' average stays at `target`,
/// and draws: `llama_sampler_init_adaptive_p`.
///
/// # Order and flags
/// Computes p, replaces the logits, computes p again and selects. Order and `sorted` stay, although a sorted set's logits
/// need not fall any more. With a negative `target` it computes p and draws, nothing else.
///
/// The average moves when the token that it selected is accepted; any other token leaves it.
///
/// # Draws
/// One double a draw from its own generator; none for a single candidate.
///
/// # Chain file
/// ```json
/// {"type": "adaptive_p", "target": 0.4, "decay": 0.9}
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AdaptiveP {
    /// The probability to aim at, 0 to 1; below 0: draw from the distribution as it is. Default -1.
    #[serde(with = "float")]
    pub target: f32,
    /// How much of the average stays from token to token, clamped to 0 to 0.99. Default 0.9.
    #[serde(with = "float")]
    pub decay: f32,
    #[serde(skip)]
    average: Average,
    /// The selected token and its probability before the transform, until a token is accepted.
    #[serde(skip)]
    pending: Option<(u32, f32)>,
    #[serde(skip)]
    rng: Mt19937,
    /// The probabilities before the transform, kept for their memory.
    #[serde(skip)]
    before: Vec<f32>,
}

/// The moving average of the drawn tokens' probabilities.
#[derive(Debug, Clone, Default, PartialEq)]
struct Average {
    weighted_sum: f32,
    total_weight: f32,
}

impl Default for AdaptiveP {
    fn default() -> Self {
        Self {
            target: -1.0,
            decay: 0.9,
            average: Average::default(),
            pending: None,
            rng: Mt19937::default(),
            before: Vec::new(),
        }
    }
}

impl AdaptiveP {
    /// The step with its parameters.
    pub fn new(target: f32, decay: f32) -> Self {
        Self { target, decay, ..Self::default() }
    }

    fn clamped_decay(&self) -> f32 {
        clamp(self.decay, 0.0, 0.99)
    }

    /// The probability that brings the average back to the target.
    fn adapted_target(&self) -> f32 {
        let target = clamp(self.target, 0.0, 1.0);
        clamp(2.0 * target - self.average.weighted_sum / self.average.total_weight, 0.0, 1.0)
    }
}

crate::describe_step!(AdaptiveP);

#[typetag::serde(name = "adaptive_p")]
impl SamplerStep for AdaptiveP {
    fn prepare(&mut self, ctx: &Ctx) -> Result<(), StepError> {
        StepError::refuse_nan("target", self.target)?;
        StepError::refuse_nan("decay", self.decay)?;
        self.reset(ctx);
        Ok(())
    }

    fn apply(&mut self, cands: &mut CandSet<'_>, _: &mut Ctx) {
        cands.softmax(false);
        if self.target < 0.0 {
            cands.select_by_p(&mut self.rng);
            return;
        }
        self.before.clear();
        self.before.extend(cands.as_slice().iter().map(|cand| cand.p));
        let target = self.adapted_target();
        cands.set_logits_from_p(|p| {
            let off = ((p - target) * INVERSE_WIDTH).abs();
            PEAK_LOGIT - SHARPNESS * off * off / (1.0 + off)
        });
        cands.softmax(false);
        let drawn = cands.select_by_p(&mut self.rng);
        self.pending = drawn.and_then(|cand| Some((cand.id, self.before[cands.selected()?])));
    }

    fn accept(&mut self, token: u32, _: &Ctx) {
        if let Some((_, p)) = self.pending.take().filter(|(selected, _)| *selected == token) {
            let decay = self.clamped_decay();
            self.average.weighted_sum = p + decay * self.average.weighted_sum;
            self.average.total_weight = 1.0 + decay * self.average.total_weight;
        }
    }

    fn reset(&mut self, ctx: &Ctx) {
        let rest = 1.0 - self.clamped_decay();
        self.average = Average { weighted_sum: self.target / rest, total_weight: 1.0 / rest };
        self.pending = None;
        self.rng = Mt19937::new(ctx.seed());
    }

    fn save(&self, state: &mut Vec<u64>) {
        let Average { weighted_sum, total_weight } = self.average;
        state.extend([weighted_sum, total_weight].map(|x| u64::from(x.to_bits())));
        // A pending token is written as its id and one, so that 0 is none.
        let (pending, p) = self.pending.map_or((0, 0.0), |(token, p)| (u64::from(token) + 1, p));
        state.extend([pending, u64::from(p.to_bits()), self.rng.taken()]);
    }

    fn load(&mut self, state: &mut StateReader<'_>, ctx: &Ctx) -> Result<(), StepError> {
        self.average = Average { weighted_sum: state.float()?, total_weight: state.float()? };
        let (pending, p) = (state.number()?, state.float()?);
        self.pending = match pending.checked_sub(1).map(u32::try_from) {
            None => None,
            Some(Ok(token)) => Some((token, p)),
            Some(Err(_)) => return Err(StepError::State(format!("{pending} is no token"))),
        };
        self.rng = state.generator(ctx.seed())?;
        Ok(())
    }

    fn generator(&mut self) -> Option<&mut Mt19937> {
        Some(&mut self.rng)
    }

    fn selects(&self) -> bool {
        true
    }

    fn facts(&self) -> Facts {
        if self.target < 0.0 { Facts::TRUNCATION } else { Facts { needs_history: true, ..Facts::default() } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{apply, p4, refusal, round_trip, run};

    #[test]
    fn the_average_moves_only_for_the_selected_token() {
        let (mut step, mut ctx) = (AdaptiveP::new(0.3, 0.5), Ctx::new(42));
        step.prepare(&ctx).unwrap();
        let start = step.average.clone();
        let left = apply(&mut step, &p4(), &mut ctx);
        let drawn = left.cands[left.selected.unwrap()].id;
        let mut other = step.clone();
        other.accept(drawn + 1, &ctx);
        assert_eq!((&other.average, other.pending), (&start, None));
        step.accept(drawn, &ctx);
        assert_eq!(step.average.total_weight, 1.0 + 0.5 * start.total_weight);
        step.reset(&ctx);
        assert_eq!(step.average, start);
    }

    #[test]
    fn near_the_target_is_likely() {
        let left = run(&mut AdaptiveP::new(0.3, 0.9), &p4(), &[]);
        let best = left.cands.iter().max_by(|a, b| a.p.total_cmp(&b.p)).unwrap();
        assert_eq!((best.id, best.logit), (1, PEAK_LOGIT));
    }

    #[test]
    fn below_zero_draws_from_what_is_there() {
        let left = run(&mut AdaptiveP::default(), &p4(), &[]);
        assert_eq!((left.logits(), left.selected), (p4(), Some(1)));
    }

    #[test]
    fn masked_candidates_stay_masked() {
        let left = run(&mut AdaptiveP::new(0.0, 0.9), &[1.0, f32::NEG_INFINITY], &[]);
        assert_eq!((left.cands[1].logit, left.selected), (f32::NEG_INFINITY, Some(0)));
    }

    #[test]
    fn an_empty_set_selects_nothing() {
        assert_eq!(run(&mut AdaptiveP::new(0.3, 0.9), &[], &[]).selected, None);
    }

    #[test]
    fn file() {
        round_trip(Box::new(AdaptiveP::default()), r#"{"type":"adaptive_p","target":-1.0,"decay":0.9}"#);
        assert_eq!(refusal(AdaptiveP::new(f32::NAN, 0.9)), "target: NaN is refused: a number is wanted");
    }
}
