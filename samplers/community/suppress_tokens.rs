use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::core::{CandSet, Ctx, Facts, SamplerStep, StepError};

/// Bans the given tokens, whatever came before: their logits become -infinity.
///
/// Where that would leave nothing above -infinity, the most likely candidate keeps its logit. (transformers, from which it
/// comes, leaves a row of -infinity then.)
///
/// # Origin
/// `suppress_tokens` of Hugging Face transformers (`SuppressTokensLogitsProcessor`, Apache-2.0), made for Whisper; text-generation-webui's
/// `custom_token_bans` bans so, too. The code is this project's own. A `logit_bias` of -infinity is llama.cpp's way: it keeps
/// `sorted`, and may ban everything. Gate: that class, run with torch.
///
/// # Order and flags
/// Sets logits to -infinity and keeps the candidates. Clears `sorted`, so that steps behind it sort again; without tokens it
/// changes nothing.
///
/// # Draws
/// None.
///
/// # Errors
/// `prepare` refuses a token of `tokens` beyond the vocabulary.
///
/// # Chain file
/// ```json
/// {"type": "suppress_tokens", "tokens": [1, 2, 50257]}
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SuppressTokens {
    /// The tokens, in any order. Default none.
    pub tokens: Vec<u32>,
}

impl SuppressTokens {
    /// The step with its tokens.
    pub fn new(tokens: impl Into<Vec<u32>>) -> Self {
        Self { tokens: tokens.into() }
    }
}

crate::describe_step!(SuppressTokens);

#[typetag::serde(name = "suppress_tokens")]
impl SamplerStep for SuppressTokens {
    fn prepare(&mut self, ctx: &Ctx) -> Result<(), StepError> {
        StepError::refuse_beyond("tokens", &self.tokens, ctx)
    }

    fn apply(&mut self, cands: &mut CandSet<'_>, _: &mut Ctx) {
        cands.ban(&self.tokens);
    }

    fn is_off(&self) -> bool {
        self.tokens.is_empty()
    }

    fn facts(&self) -> Facts {
        if self.is_off() { Facts::TRUNCATION } else { Facts::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{after_sort, refusal, round_trip, run};

    const NONE: f32 = f32::NEG_INFINITY;

    #[test]
    fn bans_whatever_the_order() {
        let left = run(&mut SuppressTokens::new([2, 0, 2]), &[1.0, 3.0, 9.0], &[]);
        assert_eq!((left.ids(), left.logits()), (vec![0, 1, 2], vec![NONE, 3.0, NONE]));
    }

    #[test]
    fn after_a_sort_the_flag_falls_where_there_are_tokens() {
        let left = run(&mut after_sort(SuppressTokens::new([1])), &[1.0, 3.0, 2.0], &[]);
        assert_eq!((left.ids(), left.logits(), left.sorted), (vec![1, 2, 0], vec![NONE, 2.0, 1.0], false));
        assert!(run(&mut after_sort(SuppressTokens::default()), &[1.0, 3.0, 2.0], &[]).sorted);
    }

    #[test]
    fn of_everything_the_first_of_the_most_likely_stays() {
        assert_eq!(run(&mut SuppressTokens::new([0, 1, 2]), &[1.0, 3.0, 3.0], &[]).logits(), [NONE, 3.0, NONE]);
        assert_eq!(run(&mut SuppressTokens::new([1]), &[NONE, 3.0], &[]).logits(), [NONE, 3.0]);
        assert_eq!(run(&mut SuppressTokens::new([0]), &[NONE], &[]).logits(), [NONE]);
        assert!(run(&mut SuppressTokens::new([0]), &[], &[]).cands.is_empty());
    }

    #[test]
    fn file() {
        round_trip(Box::new(SuppressTokens::new([2, 1])), r#"{"type":"suppress_tokens","tokens":[2,1]}"#);
        let beyond = "tokens: token 100 is beyond the vocabulary of 100 tokens";
        assert_eq!(refusal(SuppressTokens::new([99, 100])), beyond);
        assert_eq!(SuppressTokens::default().facts(), Facts::TRUNCATION);
    }
}
