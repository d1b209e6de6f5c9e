use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::core::{CandSet, Ctx, Facts, Followers, SamplerStep, StepError};

/// Bans the tokens that would repeat an n-gram: those that followed an earlier copy of the last n - 1 tokens.
///
/// An n of 1 bans every token that has occurred, and nothing is banned before there are n tokens. Where all candidates are banned,
/// the most likely one keeps its logit.
///
/// # Origin
/// `no_repeat_ngram_size` of fairseq (MIT) and of Hugging Face transformers (`NoRepeatNGramLogitsProcessor`, Apache-2.0), which
/// text-generation-webui has, too: there the prompt counts. The window and the whitelist are those of DeepSeek-OCR's processor (MIT).
/// SGLang's copy of it (Apache-2.0) sees the prompt and what was drawn; vLLM's (Apache-2.0) what was drawn alone, which is
/// `sees_prompt = false`. With an n of 1 transformers and SGLang ban all that they have seen, as here; DeepSeek's and vLLM's take the
/// whole text for the last 0 tokens, and ban nothing. The code is this project's own. Gate: transformers' class, run with torch, on
/// the drawn tokens alone where the prompt does not count; with a window or a whitelist the formula in numpy.
///
/// # Order and flags
/// Sets logits to -infinity and keeps the candidates. Clears `sorted` where a token is banned.
///
/// # Draws
/// None.
///
/// # Errors
/// `prepare` refuses an `n` of 0, and a token of `whitelist` beyond the vocabulary.
///
/// # Chain file
/// ```json
/// {"type": "no_repeat_ngram", "n": 30, "window": 90, "whitelist": [128821, 128822], "sees_prompt": false}
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NoRepeatNgram {
    /// The length of what must not be repeated, at least 1. Default 3.
    #[schemars(range(min = 1))]
    pub n: u32,
    /// N-grams count that lie in the last so many tokens. Default 4294967295, which is more than there are.
    pub window: u32,
    /// Tokens that are never banned. Default none.
    pub whitelist: Vec<u32>,
    /// Whether the prompt counts. If not, the text begins behind it, for `window`, too. Default true.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(!skip_serializing_if)]
    pub sees_prompt: bool,
    #[serde(skip)]
    followers: Followers,
}

impl Default for NoRepeatNgram {
    fn default() -> Self {
        Self { n: 3, window: u32::MAX, whitelist: Vec::new(), sees_prompt: true, followers: Followers::default() }
    }
}

fn is_default(sees_prompt: &bool) -> bool {
    *sees_prompt
}

impl NoRepeatNgram {
    /// The step for a length, over all tokens.
    pub fn new(n: u32) -> Self {
        Self { n, ..Self::default() }
    }

    /// The same over the n-grams that lie in the last so many tokens.
    pub fn with_window(mut self, window: u32) -> Self {
        self.window = window;
        self
    }

    /// The same with tokens that are never banned.
    pub fn with_whitelist(mut self, whitelist: impl Into<Vec<u32>>) -> Self {
        self.whitelist = whitelist.into();
        self
    }
}

crate::describe_step!(NoRepeatNgram);

#[typetag::serde(name = "no_repeat_ngram")]
impl SamplerStep for NoRepeatNgram {
    fn prepare(&mut self, ctx: &Ctx) -> Result<(), StepError> {
        StepError::refuse_unless(self.n >= 1, "n", self.n, "at least 1")?;
        StepError::refuse_beyond("whitelist", &self.whitelist, ctx)
    }

    fn apply(&mut self, cands: &mut CandSet<'_>, ctx: &mut Ctx) {
        let (history, n_before) = (ctx.history(), self.n.saturating_sub(1) as usize);
        let tokens = if self.sees_prompt { history.tokens() } else { history.generated() };
        let window = &tokens[tokens.len().saturating_sub(self.window as usize)..];
        if let Some(at) = tokens.len().checked_sub(n_before) {
            cands.ban_but(self.followers.of(&tokens[at..], window), &self.whitelist);
        }
    }

    fn facts(&self) -> Facts {
        Facts { needs_history: true, needs_prompt: !self.sees_prompt, ..Facts::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{after_sort, apply, refusal, round_trip, run};

    const LOGITS: [f32; 6] = [1.0, 5.0, 2.0, 4.0, 3.0, 0.0];

    /// Which tokens are banned of six.
    fn banned(step: NoRepeatNgram, history: &[u32]) -> Vec<u32> {
        let left = run(&mut step.clone(), &LOGITS, history);
        left.cands.iter().filter(|cand| cand.logit == f32::NEG_INFINITY).map(|cand| cand.id).collect()
    }

    #[test]
    fn bans_what_followed_the_last_tokens() {
        assert_eq!(banned(NoRepeatNgram::new(2), &[3, 4, 3, 5, 0, 3]), [4, 5]);
        assert_eq!(banned(NoRepeatNgram::new(3), &[0, 3, 4, 1, 3, 5, 0, 3]), [4]);
        assert_eq!(banned(NoRepeatNgram::new(1), &[3, 4, 3]), [3, 4]);
    }

    #[test]
    fn nothing_before_there_are_n_tokens() {
        for (history, expected) in [(&[][..], &[][..]), (&[2], &[]), (&[2, 2], &[]), (&[2, 2, 2], &[2])] {
            assert_eq!(banned(NoRepeatNgram::new(3), history), expected, "{history:?}");
        }
        assert!(banned(NoRepeatNgram::new(u32::MAX), &[1; 50]).is_empty());
    }

    #[test]
    fn only_in_the_window() {
        for (window, expected) in
            [(0, &[][..]), (1, &[]), (2, &[]), (3, &[]), (4, &[5]), (5, &[5]), (6, &[4, 5]), (u32::MAX, &[4, 5])]
        {
            let step = NoRepeatNgram::new(2).with_window(window);
            assert_eq!(banned(step, &[3, 4, 3, 5, 0, 3]), expected, "{window}");
        }
    }

    /// Behind a prompt of so many tokens.
    #[test]
    fn the_prompt_may_not_count() {
        let tokens = [3, 4, 3, 5, 0, 3, 5, 3];
        for (n_prompt, window, expected) in
            [(0, 99, &[4, 5][..]), (2, 99, &[5]), (4, 99, &[5]), (6, 99, &[]), (8, 99, &[]), (4, 3, &[5]), (4, 2, &[])]
        {
            let mut ctx = Ctx::new(1);
            tokens[..n_prompt].iter().for_each(|token| ctx.history_mut().push_prompt(*token));
            tokens[n_prompt..].iter().for_each(|token| ctx.history_mut().push(*token));
            let mut step = NoRepeatNgram { sees_prompt: false, ..NoRepeatNgram::new(2).with_window(window) };
            let left = apply(&mut step, &LOGITS, &mut ctx);
            let banned: Vec<u32> =
                left.cands.iter().filter(|it| it.logit == f32::NEG_INFINITY).map(|it| it.id).collect();
            assert_eq!(banned, expected, "a prompt of {n_prompt}, a window of {window}");
        }
    }

    #[test]
    fn the_whitelist_is_spared() {
        let step = NoRepeatNgram::new(2).with_whitelist([4, 1]);
        assert_eq!(banned(step, &[3, 4, 3, 5, 0, 3]), [5]);
    }

    #[test]
    fn the_most_likely_stays_where_all_are_banned() {
        let none = f32::NEG_INFINITY;
        for (logits, history, expected) in [
            (&[1.0, 5.0, 2.0][..], &[0, 1, 2][..], &[none, 5.0, none][..]),
            (&[5.0, 5.0], &[1, 0], &[5.0, none]),
            (&[7.0], &[0], &[7.0]),
            (&[none, 5.0, 6.0], &[1, 2], &[none, none, 6.0]),
            (&[none, none], &[0, 1], &[none, none]),
            (&[], &[0], &[]),
        ] {
            assert_eq!(run(&mut NoRepeatNgram::new(1), logits, history).logits(), expected, "{logits:?}");
        }
    }

    #[test]
    fn the_flag_goes_with_a_ban_alone() {
        assert!(run(&mut after_sort(NoRepeatNgram::new(2)), &LOGITS, &[1, 2]).sorted);
        let left = run(&mut after_sort(NoRepeatNgram::new(2)), &LOGITS, &[1, 3, 1]);
        assert_eq!((left.ids(), left.sorted), (vec![1, 3, 4, 2, 0, 5], false));
        assert_eq!(left.logits()[..3], [5.0, f32::NEG_INFINITY, 3.0]);
    }

    #[test]
    fn file() {
        let text = r#"{"type":"no_repeat_ngram","n":3,"window":4294967295,"whitelist":[]}"#;
        round_trip(Box::new(NoRepeatNgram::default()), text);
        let drawn_alone = NoRepeatNgram { sees_prompt: false, ..NoRepeatNgram::default() };
        round_trip(Box::new(drawn_alone), &text.replace('}', r#","sees_prompt":false}"#));
        assert_eq!(refusal(NoRepeatNgram::new(0)), "n: 0 is refused: at least 1");
        let beyond = NoRepeatNgram::new(5).with_whitelist([99, 100]);
        assert_eq!(refusal(beyond), "whitelist: token 100 is beyond the vocabulary of 100 tokens");
    }
}
