use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::core::{CandSet, Ctx, Facts, SamplerStep, StepError};

/// Bans the tokens that end a text until `n` tokens have been drawn: their logits become -infinity.
///
/// Tokens after the (last) prompt count, so that each turn of a chat has its `n`. Where the ban would leave nothing above
/// -infinity, the most likely candidate keeps its logit.
///
/// # Origin
/// `min_new_tokens` of Hugging Face transformers (`MinNewTokensLengthLogitsProcessor`, Apache-2.0); vLLM has it as `min_tokens`.
/// transformers' `min_length` is another one, which counts the prompt, too. The code is this project's own. Gate: that class, run with
/// torch.
///
/// # Order and flags
/// While it bans, sets logits to -infinity, keeps the candidates and clears `sorted`. Then, and with an `n` of 0, it changes
/// nothing.
///
/// # Draws
/// None.
///
/// # Errors
/// `prepare` refuses a token of `tokens` beyond the vocabulary. Without `tokens` it wants a vocabulary that tells which tokens
/// end a text, unless `n` is 0.
///
/// # Chain file
/// ```json
/// {"type": "min_new_tokens", "n": 16, "tokens": [2]}
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MinNewTokens {
    /// How many tokens come before the end; 0: off. Default 0.
    pub n: u32,
    /// The tokens that end a text. Absent: the vocabulary's, which must be there then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Vec<u32>>,
    /// The vocabulary's end tokens.
    #[serde(skip)]
    ends: Vec<u32>,
}

impl MinNewTokens {
    /// The step over the end tokens of the vocabulary.
    pub fn new(n: u32) -> Self {
        Self { n, ..Self::default() }
    }

    /// The same with other end tokens.
    pub fn with_tokens(mut self, tokens: impl Into<Vec<u32>>) -> Self {
        self.tokens = Some(tokens.into());
        self
    }
}

crate::describe_step!(MinNewTokens);

#[typetag::serde(name = "min_new_tokens")]
impl SamplerStep for MinNewTokens {
    fn prepare(&mut self, ctx: &Ctx) -> Result<(), StepError> {
        StepError::refuse_beyond("tokens", self.tokens.iter().flatten(), ctx)?;
        let ends = ctx.end_tokens();
        if self.tokens.is_none() && ends.is_none() && !self.is_off() {
            let instead = "it takes the ids of the tokens that end a text";
            return Err(StepError::NeedsVocab { field: "tokens", instead });
        }
        self.ends = ends.unwrap_or_default();
        Ok(())
    }

    fn apply(&mut self, cands: &mut CandSet<'_>, ctx: &mut Ctx) {
        if ctx.history().generated().len() < self.n as usize {
            cands.ban(self.tokens.as_ref().unwrap_or(&self.ends));
        }
    }

    fn is_off(&self) -> bool {
        self.n == 0
    }

    fn facts(&self) -> Facts {
        if self.is_off() {
            return Facts::TRUNCATION;
        }
        Facts { needs_history: true, needs_prompt: true, needs_vocab: self.tokens.is_none(), ..Facts::default() }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::testing::{Words, after_sort, apply, refusal, round_trip, run};

    const NONE: f32 = f32::NEG_INFINITY;
    const ROW: [f32; 3] = [1.0, 3.0, 2.0];

    fn step(n: u32) -> MinNewTokens {
        MinNewTokens::new(n).with_tokens([1])
    }

    #[test]
    fn drawn_tokens_count_and_a_new_prompt_begins_anew() {
        let (mut step, mut ctx) = (step(2), Ctx::new(1));
        step.prepare(&ctx).unwrap();
        let mut banned = |ctx: &mut Ctx| apply(&mut step, &ROW, ctx).logits()[1] == NONE;
        ctx.history_mut().push_prompt(1);
        assert!(banned(&mut ctx));
        ctx.history_mut().push(0);
        assert!(banned(&mut ctx));
        ctx.history_mut().push(0);
        assert!(!banned(&mut ctx));
        ctx.history_mut().push_prompt(0);
        assert!(banned(&mut ctx));
        ctx.history_mut().truncate(3, 1);
        assert!(!banned(&mut ctx));
    }

    #[test]
    fn the_vocabularys_ends_are_the_default() {
        let words = Words(["a", "</s>", "b", "</s>"].map(String::from).to_vec());
        let mut ctx = Ctx::new(1).with_vocab(Arc::new(words));
        let mut step = MinNewTokens::new(1);
        step.prepare(&ctx).unwrap();
        assert_eq!(apply(&mut step, &[1.0; 4], &mut ctx).logits(), [1.0, NONE, 1.0, NONE]);
        let wanted = "tokens: needs a vocabulary, and there is none: it takes the ids of the tokens that end a text";
        assert_eq!(refusal(MinNewTokens::new(1)), wanted);
        assert!(step.facts().needs_vocab && MinNewTokens::default().prepare(&Ctx::new(1)).is_ok());
    }

    #[test]
    fn the_flag_falls_only_while_it_bans() {
        assert!(!run(&mut after_sort(step(1)), &ROW, &[]).sorted);
        assert!(run(&mut after_sort(step(0)), &ROW, &[]).sorted);
        assert!(run(&mut after_sort(MinNewTokens::new(1).with_tokens([])), &ROW, &[]).sorted);
    }

    #[test]
    fn of_everything_the_most_likely_stays() {
        let all = || MinNewTokens::new(1).with_tokens([2, 1, 0]);
        assert_eq!(run(&mut all(), &ROW, &[]).logits(), [NONE, 3.0, NONE]);
        assert_eq!(run(&mut step(1), &[NONE, 3.0], &[]).logits(), [NONE, 3.0]);
        assert!(run(&mut all(), &[], &[]).cands.is_empty());
    }

    #[test]
    fn what_is_changed_counts_at_once() {
        let words = Words(["a", "</s>", "b"].map(String::from).to_vec());
        let mut ctx = Ctx::new(1).with_vocab(Arc::new(words));
        let mut changed = step(1);
        changed.prepare(&ctx).unwrap();
        changed.tokens = Some(vec![2, 0, 2]);
        assert_eq!(apply(&mut changed, &ROW, &mut ctx).logits(), [NONE, 3.0, NONE]);
        changed.tokens = None;
        assert_eq!(apply(&mut changed, &ROW, &mut ctx).logits(), [1.0, NONE, 2.0]);
    }

    #[test]
    fn file() {
        round_trip(Box::new(step(16)), r#"{"type":"min_new_tokens","n":16,"tokens":[1]}"#);
        round_trip(Box::new(MinNewTokens::new(16)), r#"{"type":"min_new_tokens","n":16}"#);
        let beyond = "tokens: token 100 is beyond the vocabulary of 100 tokens";
        assert_eq!(refusal(MinNewTokens::new(1).with_tokens([100])), beyond);
    }
}
