use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::core::{CandSet, Ctx, Facts, SamplerStep, StepError, float};

/// Masks the candidates whose logit is more than `n` standard deviations below the largest:
/// `llama_sampler_init_top_n_sigma`.
///
/// # Order and flags
/// Sets logits to -infinity; keeps every candidate, their order and `sorted`. Logits that are -infinity already do not
/// count in the deviation. With `n` of 0 or below, or one candidate, it does nothing.
///
/// # Draws
/// None.
///
/// # Chain file
/// ```json
/// {"type": "top_n_sigma", "n": 1.5}
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TopNSigma {
    /// How many standard deviations; 0 and below: off. Default -1.
    #[serde(with = "float")]
    pub n: f32,
}

impl Default for TopNSigma {
    fn default() -> Self {
        Self { n: -1.0 }
    }
}

crate::describe_step!(TopNSigma);

#[typetag::serde(name = "top_n_sigma")]
impl SamplerStep for TopNSigma {
    fn prepare(&mut self, _: &Ctx) -> Result<(), StepError> {
        StepError::refuse_nan("n", self.n)
    }

    fn apply(&mut self, cands: &mut CandSet<'_>, _: &mut Ctx) {
        if self.is_off() || cands.len() <= 1 {
            return;
        }
        let (max_logit, _, deviation) = cands.spread();
        cands.mask_below(max_logit - self.n * deviation);
    }

    fn is_off(&self) -> bool {
        self.n <= 0.0
    }

    fn facts(&self) -> Facts {
        Facts { only_removes: self.is_off(), ..Facts::TRUNCATION }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{p4, refusal, round_trip, run};

    #[test]
    fn masks_and_keeps() {
        let left = run(&mut TopNSigma { n: 1.0 }, &[0.0, 4.0, 2.0, 2.0], &[]);
        let inf = f32::NEG_INFINITY;
        assert_eq!((left.logits(), left.sorted), (vec![inf, 4.0, inf, inf], false));
    }

    #[test]
    fn zero_and_below_do_nothing() {
        for n in [-1.0, 0.0] {
            assert_eq!(run(&mut TopNSigma { n }, &p4(), &[]).logits(), p4());
        }
        assert_eq!(run(&mut TopNSigma { n: 1.0 }, &[3.0], &[]).logits(), [3.0]);
    }

    #[test]
    fn file() {
        round_trip(Box::new(TopNSigma::default()), r#"{"type":"top_n_sigma","n":-1.0}"#);
        assert_eq!(refusal(TopNSigma { n: f32::NAN }), "n: NaN is refused: a number is wanted");
    }
}
