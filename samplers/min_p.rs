use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::core::{CandSet, Ctx, Facts, SamplerStep, StepError, float, is_zero};
use crate::libm::logf;

/// Keeps the candidates that are at least `p` times as likely as the most likely one: `llama_sampler_init_min_p`.
///
/// # Order and flags
/// Filters by logit, without computing p. An unsorted set keeps its order and stays unsorted, unless fewer than `min_keep`
/// (or none) pass: then it is sorted and cut. With `p` of 0 or below it does nothing.
///
/// # Draws
/// None.
///
/// # Chain file
/// ```json
/// {"type": "min_p", "p": 0.05, "min_keep": 1}
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MinP {
    /// The share of the largest probability, 0 to 1; 0 and below keep all. Default 0.05.
    #[serde(with = "float")]
    pub p: f32,
    /// At least so many stay. Default 0.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(!skip_serializing_if)]
    pub min_keep: u32,
}

impl Default for MinP {
    fn default() -> Self {
        Self { p: 0.05, min_keep: 0 }
    }
}

crate::describe_step!(MinP);

#[typetag::serde(name = "min_p")]
impl SamplerStep for MinP {
    fn prepare(&mut self, _: &Ctx) -> Result<(), StepError> {
        StepError::refuse_nan("p", self.p)
    }

    fn apply(&mut self, cands: &mut CandSet<'_>, _: &mut Ctx) {
        if self.is_off() || cands.is_empty() {
            return;
        }
        let min_keep = self.min_keep as usize;
        if !cands.is_sorted() {
            let max_logit = cands.max_logit_above(f32::MIN);
            if cands.retain_above(max_logit + logf(self.p), min_keep) {
                return;
            }
            cands.sort();
        }
        let min_logit = cands.max_logit() + logf(self.p);
        let cut = cands.logits().enumerate().skip(1).find(|&(i, logit)| logit < min_logit && i >= min_keep);
        if let Some((i, _)) = cut {
            cands.truncate(i);
        }
    }

    fn is_off(&self) -> bool {
        self.p <= 0.0
    }

    fn facts(&self) -> Facts {
        Facts::TRUNCATION
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{after_sort, p4, refusal, round_trip, run};

    #[test]
    fn an_unsorted_set_keeps_its_order() {
        let left = run(&mut MinP { p: 0.5, min_keep: 0 }, &[1.0, 0.0, 1.5, -3.0], &[]);
        assert_eq!((left.ids(), left.sorted), (vec![0, 2], false));
    }

    #[test]
    fn too_few_that_pass_sort_the_set() {
        let left = run(&mut MinP { p: 0.5, min_keep: 3 }, &[1.0, 0.0, 1.5, -3.0], &[]);
        assert_eq!((left.ids(), left.sorted), (vec![2, 0, 1], true));
    }

    /// User case 30: a p above 1 keeps the best alone.
    #[test]
    fn case_30_above_one_keeps_one() {
        for p in [1.0, 1.05] {
            assert_eq!(run(&mut MinP { p, min_keep: 0 }, &p4(), &[]).ids(), [0], "p = {p}");
        }
    }

    #[test]
    fn a_sorted_set_is_cut() {
        let left = run(&mut after_sort(MinP { p: 0.31, min_keep: 1 }), &p4(), &[]);
        assert_eq!((left.ids(), left.sorted), (vec![0, 1], true));
    }

    /// As libllama leaves it: nothing is less than NaN, and NaN is less than nothing.
    #[test]
    fn nan_cuts_nothing() {
        let left = run(&mut after_sort(MinP { p: 0.05, min_keep: 0 }), &[3.0, f32::NAN, 2.9, 2.8, 1.0], &[]);
        assert_eq!(left.cands.len(), 5);
    }

    /// As libllama leaves it: of an unsorted set NaN is not the largest, wherever it stands, and does not pass.
    #[test]
    fn nan_does_not_pass() {
        for logits in [[f32::NAN, 3.0, 2.9, -9.0], [3.0, 2.9, f32::NAN, -9.0]] {
            let left = run(&mut MinP { p: 0.5, min_keep: 0 }, &logits, &[]);
            assert_eq!(left.logits(), [3.0, 2.9]);
        }
    }

    #[test]
    fn file() {
        round_trip(Box::new(MinP::default()), r#"{"type":"min_p","p":0.05}"#);
        assert_eq!(refusal(MinP { p: f32::NAN, min_keep: 0 }), "p: NaN is refused: a number is wanted");
    }
}
