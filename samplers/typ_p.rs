use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::core::{CandSet, Ctx, Facts, SamplerStep, StepError, float, is_zero};

/// Locally typical sampling: keeps the candidates whose surprise is nearest to the entropy, until their probabilities add
/// up to more than `p`: `llama_sampler_init_typical`.
///
/// # Order and flags
/// Sorts, computes p, cuts, and leaves the set in the order of typicality, unsorted. The candidate that crosses `p` stays
/// (with `>`, where top-p has `>=`). A probability of 0 makes every score NaN; then the sorted order decides, as in
/// llama.cpp. With `p` of 1 or more it does nothing.
///
/// # Draws
/// None.
///
/// # Chain file
/// ```json
/// {"type": "typ_p", "p": 0.9, "min_keep": 1}
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TypP {
    /// The probability to keep, 0 to 1; 1 and above keep all. Default 1.
    #[serde(with = "float")]
    pub p: f32,
    /// At least so many stay. Default 0.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(!skip_serializing_if)]
    pub min_keep: u32,
}

impl Default for TypP {
    fn default() -> Self {
        Self { p: 1.0, min_keep: 0 }
    }
}

crate::describe_step!(TypP);

#[typetag::serde(name = "typ_p")]
impl SamplerStep for TypP {
    fn prepare(&mut self, _: &Ctx) -> Result<(), StepError> {
        StepError::refuse_nan("p", self.p)
    }

    fn apply(&mut self, cands: &mut CandSet<'_>, _: &mut Ctx) {
        if self.is_off() {
            return;
        }
        cands.softmax(true);
        let entropy = cands.entropy();
        let mut sum = 0.0f32;
        cands.keep_typical_through(entropy, |i, cand| {
            sum += cand.p;
            sum > self.p && i + 1 >= self.min_keep as usize
        });
    }

    fn is_off(&self) -> bool {
        self.p >= 1.0
    }

    fn facts(&self) -> Facts {
        Facts { keeps_argmax: self.is_off(), ..Facts::TRUNCATION }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{refusal, round_trip, run};

    fn typ_p(probs: &[f32], p: f32, min_keep: u32) -> Vec<u32> {
        let logits: Vec<f32> = probs.iter().map(|p| p.ln()).collect();
        let left = run(&mut TypP { p, min_keep }, &logits, &[]);
        assert!(!left.sorted);
        left.ids()
    }

    /// User case 32: llama.cpp's own vectors, and one candidate that cannot be drawn.
    #[test]
    fn case_32_typical() {
        let mut three = typ_p(&[0.4, 0.2, 0.2, 0.2], 0.5, 0);
        three.sort_unstable();
        assert_eq!(three, [1, 2, 3]);
        assert_eq!(typ_p(&[0.97, 0.01, 0.01, 0.01], 0.5, 0), [0]);
        // ln 0 is -infinity: the entropy is NaN and the sorted order decides.
        assert_eq!(typ_p(&[0.2, 0.4, 0.0, 0.3], 0.5, 0), [1, 3]);
    }

    #[test]
    fn at_least_min_keep_stay() {
        assert_eq!(typ_p(&[0.97, 0.01, 0.01, 0.01], 0.5, 3).len(), 3);
    }

    #[test]
    fn file() {
        round_trip(Box::new(TypP::default()), r#"{"type":"typ_p","p":1.0}"#);
        assert_eq!(refusal(TypP { p: f32::NAN, min_keep: 0 }), "p: NaN is refused: a number is wanted");
    }
}
