use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::core::{CandSet, Ctx, Facts, SamplerStep};

/// Keeps the `k` candidates with the largest logits: `llama_sampler_init_top_k`.
///
/// # Order and flags
/// Cuts and sorts by falling logit. With `k` 0 or below it does nothing, and sorts nothing. Up to 128 are taken by
/// `std::partial_sort`, more by llama.cpp's bucket sort; where logits are equal, that decides who stays.
///
/// # Draws
/// None.
///
/// # Chain file
/// ```json
/// {"type": "top_k", "k": 40}
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TopK {
    /// How many to keep; 0 or below: all. Default 40.
    pub k: i32,
}

impl Default for TopK {
    fn default() -> Self {
        Self { k: 40 }
    }
}

crate::describe_step!(TopK);

#[typetag::serde(name = "top_k")]
impl SamplerStep for TopK {
    fn apply(&mut self, cands: &mut CandSet<'_>, _: &mut Ctx) {
        cands.top_k(self.k.max(0) as usize);
    }

    fn is_off(&self) -> bool {
        self.k <= 0
    }

    fn facts(&self) -> Facts {
        Facts::TRUNCATION
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{p4, round_trip, run};

    #[test]
    fn keeps_the_best_in_order() {
        let left = run(&mut TopK { k: 2 }, &[1.0, 4.0, 2.0, 3.0], &[]);
        assert_eq!((left.ids(), left.sorted), (vec![1, 3], true));
    }

    /// User case 27: 0 and below is off and leaves the set unsorted; more than there are keeps all, sorted.
    #[test]
    fn case_27_zero_and_below_do_nothing() {
        for k in [-5, 0] {
            let left = run(&mut TopK { k }, &p4(), &[]);
            assert_eq!((left.cands.len(), left.sorted), (4, false), "k = {k}");
        }
        let left = run(&mut TopK { k: 10 }, &p4(), &[]);
        assert_eq!((left.cands.len(), left.sorted), (4, true));
    }

    #[test]
    fn file() {
        round_trip(Box::new(TopK::default()), r#"{"type":"top_k","k":40}"#);
    }
}
