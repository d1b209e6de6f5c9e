use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::core::{CandSet, Ctx, Facts, SamplerStep, StepError, float};

/// Adds a bias to the logits of given tokens: `llama_sampler_init_logit_bias`.
///
/// # Order and flags
/// Changes logits; order and `sorted` stay, so it belongs before any sort. While the candidates stand in the vocabulary's
/// order, the biases of a token add up; later only its first one counts, unless it happens to stand in its own place.
///
/// # Draws
/// None.
///
/// # Chain file
/// ```json
/// {"type": "logit_bias", "bias": [[5, 1.5], [198, "-inf"]]}
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LogitBias {
    /// Pairs of a token and what is added to its logit; `"-inf"` bans it. Default none.
    pub bias: Vec<Bias>,
}

/// A token and its bias: `llama_logit_bias`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Bias(
    /// The token.
    pub u32,
    /// What is added to its logit.
    #[serde(with = "float")]
    pub f32,
);

impl LogitBias {
    /// The step with its biases.
    pub fn new(bias: impl IntoIterator<Item = (u32, f32)>) -> Self {
        Self { bias: bias.into_iter().map(|(token, bias)| Bias(token, bias)).collect() }
    }
}

crate::describe_step!(LogitBias);

#[typetag::serde(name = "logit_bias")]
impl SamplerStep for LogitBias {
    fn prepare(&mut self, ctx: &Ctx) -> Result<(), StepError> {
        for &Bias(id, bias) in &self.bias {
            StepError::refuse_nan("bias", bias)?;
            if let Some(n_vocab) = ctx.n_vocab().filter(|&n| id as usize >= n) {
                return Err(StepError::BeyondVocab { field: "bias", id, n_vocab });
            }
        }
        Ok(())
    }

    fn apply(&mut self, cands: &mut CandSet<'_>, _: &mut Ctx) {
        if !self.is_off() {
            cands.add_biases(self.bias.iter().map(|&Bias(token, bias)| (token, bias)));
        }
    }

    fn is_off(&self) -> bool {
        self.bias.is_empty()
    }

    fn facts(&self) -> Facts {
        if self.is_off() { Facts::TRUNCATION } else { Facts::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{after_sort, refusal, round_trip, run};

    /// User case 37: two biases of one token add up, and -infinity bans.
    #[test]
    fn case_37_biases_add_up() {
        let mut step = LogitBias::new([(1, 1.0), (1, 2.0), (2, f32::NEG_INFINITY)]);
        assert_eq!(run(&mut step, &[0.0; 3], &[]).logits(), [0.0, 3.0, f32::NEG_INFINITY]);
    }

    #[test]
    fn after_a_sort_the_first_counts_and_the_flag_stays() {
        let left = run(&mut after_sort(LogitBias::new([(2, 1.0), (2, 9.0)])), &[0.0, 5.0, 2.0], &[]);
        assert_eq!((left.ids(), left.logits(), left.sorted), (vec![1, 2, 0], vec![5.0, 3.0, 0.0], true));
    }

    #[test]
    fn file() {
        round_trip(
            Box::new(LogitBias::new([(5, 1.5), (198, f32::NEG_INFINITY)])),
            r#"{"type":"logit_bias","bias":[[5,1.5],[198,"-inf"]]}"#,
        );
        let beyond = "bias: token 100 is beyond the vocabulary of 100 tokens";
        assert_eq!(refusal(LogitBias::new([(99, 1.0), (100, 1.0)])), beyond);
        assert_eq!(refusal(LogitBias::new([(1, f32::NAN)])), "bias: NaN is refused: a number is wanted");
    }
}
