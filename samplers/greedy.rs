use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::core::{CandSet, Ctx, Facts, SamplerStep};

/// Selects the candidate with the largest logit, the first of equals: `llama_sampler_init_greedy`.
///
/// # Order and flags
/// Selects. Order, `sorted` and p stay.
///
/// # Draws
/// None.
///
/// # Chain file
/// ```json
/// {"type": "greedy"}
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Greedy {}

crate::describe_step!(Greedy);

#[typetag::serde(name = "greedy")]
impl SamplerStep for Greedy {
    fn apply(&mut self, cands: &mut CandSet<'_>, _: &mut Ctx) {
        if let Some(best) = cands.argmax() {
            cands.select(best);
        }
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
    use crate::testing::{round_trip, run};

    #[test]
    fn the_first_of_equals() {
        assert_eq!(run(&mut Greedy {}, &[1.0, 3.0, 3.0], &[]).selected, Some(1));
        assert_eq!(run(&mut Greedy {}, &[], &[]).selected, None);
    }

    #[test]
    fn file() {
        round_trip(Box::new(Greedy {}), r#"{"type":"greedy"}"#);
    }
}
