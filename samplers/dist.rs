use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::core::{CandSet, Ctx, Facts, SamplerStep, StepState};
use crate::libstdcxx::Mt19937;

/// Draws the token from the distribution that is left: `llama_sampler_init_dist`.
///
/// # Order and flags
/// Computes p and selects. Order and `sorted` stay.
///
/// # Draws
/// One double a draw from its own generator, for a single candidate, too; none for an empty set.
///
/// # Chain file
/// ```json
/// {"type": "dist"}
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Dist {
    #[serde(skip)]
    rng: Mt19937,
}

crate::describe_step!(Dist);

#[typetag::serde(name = "dist")]
impl SamplerStep for Dist {
    fn apply(&mut self, cands: &mut CandSet<'_>, _: &mut Ctx) {
        if !cands.is_empty() {
            cands.select_by_logits(self.rng.uniform());
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
    use crate::testing::{apply, p4, round_trip, run};

    /// User case 3: a single candidate takes its number, too. The second double of seed 42 is 0.1834.
    #[test]
    fn case_3_one_candidate_draws() {
        let (mut dist, mut ctx) = (Dist::default(), Ctx::new(42));
        dist.prepare(&ctx).unwrap();
        apply(&mut dist, &[1.0], &mut ctx);
        let left = apply(&mut dist, &p4(), &mut ctx);
        assert_eq!(left.selected, Some(0));
        // Had the first draw taken nothing, this one would have had 0.7965.
        assert_eq!(run(&mut Dist::default(), &p4(), &[]).selected, Some(1));
    }

    #[test]
    fn an_empty_set_draws_nothing() {
        let mut dist = Dist::default();
        assert_eq!(run(&mut dist, &[], &[]).selected, None);
        assert_eq!(dist.rng, Mt19937::new(42));
    }

    #[test]
    fn file() {
        round_trip(Box::new(Dist::default()), r#"{"type":"dist"}"#);
    }
}
