use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::core::{Cand, CandSet, Ctx, Facts, SamplerStep, StepError, float, is_zero};

/// Tail-free sampling: cuts where the slope of the sorted probabilities has nearly stopped to change.
///
/// From the sorted p, the second differences `|(p₀ - p₁) - (p₁ - p₂)|` and so on, as shares of their sum; the cut is where these,
/// added up, exceed `z`. What stays there differs by a token between programs: `variant`.
///
/// # Origin
/// Trenton Bricken's tail-free sampling; llama.cpp's `llama_sampler_init_tail_free` (MIT) until pull request 10071 took it out in
/// October 2024; KoboldCpp, KoboldAI, text-generation-webui, aphrodite (AGPL-3.0). Written from the formula. Gate: the formula in
/// numpy, of either variant.
///
/// # Order and flags
/// Sorts, computes p, then cuts. One candidate always stays. `ggml` does nothing to two or fewer, and sorts nothing there.
///
/// Candidates of -infinity count, with a probability of 0; those that an earlier step has dropped do not. In KoboldAI and its like a
/// dropped token keeps its place, so that the last one, which `kobold` drops, is one of them, unless nothing was dropped before.
///
/// # Draws
/// None.
///
/// # Errors
/// `prepare` refuses a `z` outside 0 to 1.
///
/// # Chain file
/// ```json
/// {"type": "tfs", "z": 0.95, "variant": "ggml", "min_keep": 1}
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Tfs {
    /// How much of the change of slope to keep, 0 to 1: the smaller, the fewer stay. Default 0.95.
    #[serde(with = "float")]
    #[schemars(with = "f32", range(min = 0, max = 1))]
    pub z: f32,
    /// Whose cut. Default `ggml`.
    pub variant: TfsVariant,
    /// At least so many stay. Default 0.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(!skip_serializing_if)]
    pub min_keep: u32,
}

/// What stays where the differences, added up, exceed `z`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
#[serde(rename_all = "snake_case")]
pub enum TfsVariant {
    /// As many as there are differences before the one that exceeds it, at least one; all where none does, and all of two or fewer.
    /// Differences whose sum is 1e-6 or less count alike. With z = 1 it is off. llama.cpp's and KoboldCpp's.
    #[default]
    Ggml,
    /// One more, and the last candidate always goes. Where no probability differs in slope, all but the last stay. KoboldAI's,
    /// text-generation-webui's and aphrodite's.
    Kobold,
}

impl Default for Tfs {
    fn default() -> Self {
        Self { z: 0.95, variant: TfsVariant::Ggml, min_keep: 0 }
    }
}

impl Tfs {
    /// How many of the sorted candidates stay.
    fn kept(&self, cands: &[Cand]) -> usize {
        let (is_ggml, n, least) = (self.variant == TfsVariant::Ggml, cands.len(), self.min_keep.max(1) as usize);
        let change = |c: &[Cand]| ((c[0].p - c[1].p) - (c[1].p - c[2].p)).abs();
        let whole: f32 = cands.windows(3).map(change).sum();
        let (differs, mut sum) = (!is_ggml || whole > 1e-6, 0.0);
        let crossing = cands.windows(3).enumerate().position(|(i, c)| {
            sum += if differs { change(c) / whole } else { 1.0 / (n - 2) as f32 };
            sum > self.z && (!is_ggml || i >= least)
        });
        if is_ggml { crossing.unwrap_or(n) } else { least.max(crossing.map_or(n.saturating_sub(1), |i| i + 1)) }
    }
}

crate::describe_step!(Tfs);

#[typetag::serde(name = "tfs")]
impl SamplerStep for Tfs {
    fn prepare(&mut self, _: &Ctx) -> Result<(), StepError> {
        StepError::refuse_unless((0.0..=1.0).contains(&self.z), "z", self.z, "0 to 1 is wanted")
    }

    fn apply(&mut self, cands: &mut CandSet<'_>, _: &mut Ctx) {
        if !self.is_off() && (self.variant == TfsVariant::Kobold || cands.len() > 2) {
            cands.softmax(true);
            let kept = self.kept(cands.as_slice());
            cands.truncate(kept);
        }
    }

    fn is_off(&self) -> bool {
        self.variant == TfsVariant::Ggml && self.z >= 1.0
    }

    fn facts(&self) -> Facts {
        Facts::TRUNCATION
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{p4, refusal, round_trip, run};

    const VARIANTS: [TfsVariant; 2] = [TfsVariant::Ggml, TfsVariant::Kobold];

    fn tfs(z: f32, variant: TfsVariant) -> Tfs {
        Tfs { z, variant, min_keep: 0 }
    }

    /// Probabilities 1/2, 1/4, 1/8, 1/16, 1/16: the differences, added up, are 4/7, 6/7 and 1, in exact multiples of 1/16.
    fn halves() -> Vec<f32> {
        [0.5f32, 0.25, 0.125, 0.0625, 0.0625].map(f32::ln).to_vec()
    }

    #[test]
    fn kobold_keeps_one_more_and_never_the_last() {
        let kept = |z| VARIANTS.map(|variant| run(&mut tfs(z, variant), &halves(), &[]).ids().len());
        assert_eq!([kept(0.1), kept(0.7), kept(0.9)], [[1, 1], [1, 2], [2, 3]]);
        // Nothing exceeds 1.
        assert_eq!(kept(1.0), [5, 4]);
        assert!(run(&mut tfs(0.9, TfsVariant::Ggml), &halves(), &[]).sorted);
    }

    #[test]
    fn equals_are_weights_alike_or_no_weights() {
        let kept = |variant| run(&mut tfs(0.3, variant), &[0.5; 12], &[]).ids().len();
        assert_eq!(VARIANTS.map(kept), [3, 11]);
    }

    #[test]
    fn few_candidates() {
        for (logits, expected) in
            [(vec![], [0, 0]), (vec![1.0], [1, 1]), (vec![1.0, 2.0], [2, 1]), (vec![3.0; 3], [3, 2])]
        {
            let left = VARIANTS.map(|variant| run(&mut tfs(0.5, variant), &logits, &[]));
            assert_eq!([left[0].cands.len(), left[1].cands.len()], expected);
            assert_eq!(left[0].sorted, logits.len() > 2);
        }
        assert_eq!(run(&mut tfs(0.5, TfsVariant::Kobold), &[1.0, 2.0], &[]).ids(), [1]);
    }

    /// Where it would leave nothing, the most likely stays.
    #[test]
    fn the_argmax_always_stays() {
        let inf = f32::NEG_INFINITY;
        for variant in VARIANTS {
            assert_eq!(run(&mut tfs(0.0, variant), &p4(), &[]).ids(), [0]);
            assert_eq!(run(&mut tfs(0.0, variant), &[inf, 1.0, inf, inf], &[]).ids()[0], 1);
            assert!(!run(&mut tfs(0.0, variant), &[inf; 4], &[]).cands.is_empty());
        }
    }

    #[test]
    fn min_keep() {
        for (min_keep, expected) in [(0, [1, 1]), (1, [1, 1]), (2, [2, 2]), (5, [5, 5]), (9, [5, 5])] {
            let kept = |variant| run(&mut Tfs { z: 0.1, variant, min_keep }, &halves(), &[]).ids().len();
            assert_eq!(VARIANTS.map(kept), expected, "{min_keep}");
        }
    }

    #[test]
    fn off_where_llama_cpp_returned() {
        assert!(tfs(1.0, TfsVariant::Ggml).is_off() && !tfs(1.0, TfsVariant::Kobold).is_off());
        assert!(!run(&mut tfs(1.0, TfsVariant::Ggml), &p4(), &[]).sorted);
    }

    #[test]
    fn file() {
        round_trip(Box::new(Tfs::default()), r#"{"type":"tfs","z":0.95,"variant":"ggml"}"#);
        let all = Tfs { z: 0.9, variant: TfsVariant::Kobold, min_keep: 2 };
        round_trip(Box::new(all), r#"{"type":"tfs","z":0.9,"variant":"kobold","min_keep":2}"#);
        assert_eq!(refusal(tfs(1.5, TfsVariant::Ggml)), "z: 1.5 is refused: 0 to 1 is wanted");
        assert_eq!(refusal(tfs(f32::NAN, TfsVariant::Ggml)), "z: NaN is refused: 0 to 1 is wanted");
    }
}
