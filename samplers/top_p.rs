use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::core::{CandSet, Ctx, Facts, SamplerStep, StepError, float, is_zero};

/// Nucleus sampling: keeps the most likely candidates until their probabilities add up to `p`: `llama_sampler_init_top_p`.
///
/// # Order and flags
/// Computes p, then cuts and sorts by falling logit. The candidate that crosses `p` stays. With `p` of 1 or more it does
/// nothing, and sorts nothing. Of more than 1,024 unsorted candidates the first 256 are sorted, and all only if needed.
///
/// # Draws
/// None.
///
/// # Chain file
/// ```json
/// {"type": "top_p", "p": 0.95, "min_keep": 1}
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TopP {
    /// The probability to keep, 0 to 1; 0 keeps one candidate, 1 and above all. Default 0.95.
    #[serde(with = "float")]
    pub p: f32,
    /// At least so many stay. Default 0.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(!skip_serializing_if)]
    pub min_keep: u32,
}

impl Default for TopP {
    fn default() -> Self {
        Self { p: 0.95, min_keep: 0 }
    }
}

crate::describe_step!(TopP);

#[typetag::serde(name = "top_p")]
impl SamplerStep for TopP {
    fn prepare(&mut self, _: &Ctx) -> Result<(), StepError> {
        StepError::refuse_nan("p", self.p)
    }

    fn apply(&mut self, cands: &mut CandSet<'_>, _: &mut Ctx) {
        cands.keep_nucleus(self.p, self.min_keep as usize);
    }

    fn is_off(&self) -> bool {
        self.p >= 1.0
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
    fn the_candidate_that_crosses_stays() {
        let left = run(&mut TopP { p: 0.6, min_keep: 0 }, &p4(), &[]);
        assert_eq!((left.ids(), left.sorted), (vec![0, 1], true));
    }

    /// User case 30: `min_keep` 3 keeps 3, and p 0 keeps one.
    #[test]
    fn case_30_min_keep() {
        assert_eq!(run(&mut TopP { p: 0.4, min_keep: 3 }, &p4(), &[]).ids(), [0, 1, 2]);
        assert_eq!(run(&mut TopP { p: 0.0, min_keep: 0 }, &p4(), &[]).ids(), [0]);
        assert_eq!(run(&mut TopP { p: 0.0, min_keep: 9 }, &p4(), &[]).ids(), [0, 1, 2, 3]);
    }

    #[test]
    fn one_and_above_do_nothing() {
        let left = run(&mut TopP { p: 1.0, min_keep: 0 }, &p4(), &[]);
        assert_eq!((left.cands[0].p, left.sorted), (0.0, false));
    }

    #[test]
    fn file() {
        round_trip(Box::new(TopP::default()), r#"{"type":"top_p","p":0.95}"#);
        round_trip(Box::new(TopP { p: 0.5, min_keep: 2 }), r#"{"type":"top_p","p":0.5,"min_keep":2}"#);
        assert_eq!(refusal(TopP { p: f32::NAN, min_keep: 0 }), "p: NaN is refused: a number is wanted");
    }
}
