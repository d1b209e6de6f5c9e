//! A step in a crate of its own, which depends on `sampler-steps` alone. `docs/adding-a-step.md` builds it line by line.

use sampler_steps::{CandSet, Ctx, Facts, SamplerStep, StepError, describe_step};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Cuts where the logits fall deepest: of the first `within` candidates it keeps those above the biggest gap between two
/// neighbours.
///
/// # Order and flags
/// Cuts and sorts. Of equal gaps the first counts; one candidate always stays.
///
/// # Draws
/// None.
///
/// # Chain file
/// ```json
/// {"type": "biggest_gap", "within": 20}
/// ```
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BiggestGap {
    /// How many of the best candidates are looked at, 2 or more. Default 20.
    #[schemars(range(min = 2))]
    pub within: u32,
}

describe_step!(BiggestGap);

impl Default for BiggestGap {
    fn default() -> Self {
        Self { within: 20 }
    }
}

#[typetag::serde(name = "biggest_gap")]
impl SamplerStep for BiggestGap {
    fn prepare(&mut self, _: &Ctx) -> Result<(), StepError> {
        StepError::refuse_unless(self.within >= 2, "within", self.within, "a gap is between two candidates or more")
    }

    fn apply(&mut self, cands: &mut CandSet, _: &mut Ctx) {
        cands.top_k(self.within as usize);
        let mut kept = (1, 0.0);
        for (i, pair) in cands.as_slice().windows(2).enumerate() {
            let gap = pair[0].logit - pair[1].logit;
            if gap > kept.1 {
                kept = (i + 1, gap);
            }
        }
        cands.truncate(kept.0);
    }

    fn facts(&self) -> Facts {
        Facts::TRUNCATION
    }
}
