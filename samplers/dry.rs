mod breakers;
mod cache;
mod repeats;

use std::cmp::Reverse;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use breakers::DryBreakers;
pub use cache::{dry_breakers, dry_breakers_unbounded};
use repeats::suffix_repeats;

use crate::core::{CandSet, Ctx, Facts, SamplerStep, StepError, float};
use crate::libm::{int, logf, pow};

/// llama.cpp's breakers where none are given.
const DEFAULT_BREAKERS: [&str; 4] = ["\n", ":", "\"", "*"];

/// Don't Repeat Yourself: makes the tokens less likely that would extend a repetition, the more the longer it is:
/// `llama_sampler_init_dry`.
///
/// A token that follows an earlier copy of the last n tokens loses `multiplier * base ^ (n - allowed_length)`. A repetition
/// does not reach back over a breaker, and a breaker of one token is never penalised.
///
/// # Order and flags
/// Changes logits and clears `sorted`, even where nothing changed, once the history is longer than `allowed_length`. With a
/// multiplier of 0, a base below 1 or a window of 0 it does nothing.
///
/// # Draws
/// None.
///
/// # Chain file
/// ```json
/// {"type": "dry", "multiplier": 0.8, "base": 1.75, "allowed_length": 2, "last_n": 64, "breakers": ["\n", ":"]}
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("not" = {"required": ["breakers", "breaker_tokens"]}))]
#[serde(default, deny_unknown_fields)]
pub struct Dry {
    /// How hard repetition is penalised; 0: off. Default 0.
    #[serde(with = "float")]
    pub multiplier: f32,
    /// How fast the penalty grows with the length; below 1: off. Default 1.75.
    #[serde(with = "float")]
    pub base: f32,
    /// The length of repetition that is not penalised. Default 2.
    pub allowed_length: i32,
    /// How many of the last tokens are searched, the prompt's included; 0: off. Default 64.
    pub last_n: u32,
    /// Texts that end a repetition; empty for none. Wants a vocabulary. Default: a newline, a colon, a double quote and an
    /// asterisk where there is a vocabulary, none elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub breakers: Option<Vec<String>>,
    /// The breakers as tokens instead, each with its head first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub breaker_tokens: Option<Vec<Vec<u32>>>,
    #[serde(skip)]
    table: Arc<DryBreakers>,
    #[serde(skip)]
    repeats: Vec<i32>,
    #[serde(skip)]
    longest: Vec<(u32, i32)>,
}

impl Default for Dry {
    fn default() -> Self {
        Self {
            multiplier: 0.0,
            base: 1.75,
            allowed_length: 2,
            last_n: 64,
            breakers: None,
            breaker_tokens: None,
            table: Arc::default(),
            repeats: Vec::new(),
            longest: Vec::new(),
        }
    }
}

impl Dry {
    /// The step with its parameters and default breakers. A negative window is off, as in `llama_sampler_init_dry`.
    pub fn new(multiplier: f32, base: f32, allowed_length: i32, last_n: i32) -> Self {
        Self { multiplier, base, allowed_length, last_n: last_n.max(0) as u32, ..Self::default() }
    }

    /// The same with other texts that end a repetition, for a vocabulary to turn into tokens; none of them for no breakers.
    pub fn with_breakers(mut self, texts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.breakers = Some(texts.into_iter().map(Into::into).collect());
        self
    }

    /// The same with breakers given as tokens, each with its head first.
    pub fn with_breaker_tokens(mut self, tokens: impl Into<Vec<Vec<u32>>>) -> Self {
        self.breaker_tokens = Some(tokens.into());
        self
    }

    /// Puts prepared breakers in place of those of the parameters, for engines that encode texts themselves.
    pub fn set_breakers(&mut self, table: Arc<DryBreakers>) {
        self.table = table;
    }

    /// The breakers in use.
    pub fn breakers_in_use(&self) -> &DryBreakers {
        &self.table
    }

    fn breaker_table(&self, ctx: &Ctx) -> Result<Arc<DryBreakers>, StepError> {
        match (&self.breaker_tokens, &self.breakers, ctx.vocab()) {
            (Some(tokens), _, _) => {
                if let Some(n_vocab) = ctx.n_vocab()
                    && let Some(&id) = tokens.iter().flatten().find(|id| **id as usize >= n_vocab)
                {
                    return Err(StepError::BeyondVocab { field: "breaker_tokens", id, n_vocab });
                }
                Ok(Arc::new(DryBreakers::from_tokens(tokens)))
            }
            (None, texts, Some(vocab)) => match texts {
                Some(texts) => dry_breakers(vocab, texts),
                None => dry_breakers(vocab, &DEFAULT_BREAKERS),
            }
            .map_err(|source| StepError::Encode { field: "breakers", source }),
            (None, Some(texts), None) if !texts.is_empty() => {
                let instead = "breaker_tokens takes them as tokens";
                Err(StepError::NeedsVocab { field: "breakers", instead })
            }
            (None, _, None) => Ok(Arc::default()),
        }
    }

    /// The largest exponent whose power an f32 holds, as llama.cpp estimates it: 88.7 is the logarithm of the largest float.
    fn max_exponent(&self) -> i32 {
        let limit = if self.base > 1.000_001 { int(88.722_84 / logf(self.base)) } else { 0 };
        if limit > 0 { limit } else { i32::MAX }
    }

    /// What a token loses that would make a repetition of `length` tokens longer.
    fn penalty(&self, length: i32, max_exponent: i32) -> f32 {
        let exponent = length.saturating_sub(self.allowed_length).min(max_exponent);
        (f64::from(self.multiplier) * pow(f64::from(self.base), f64::from(exponent))) as f32
    }
}

crate::describe_step!(Dry);

#[typetag::serde(name = "dry")]
impl SamplerStep for Dry {
    fn prepare(&mut self, ctx: &Ctx) -> Result<(), StepError> {
        StepError::refuse_nan("multiplier", self.multiplier)?;
        StepError::refuse_nan("base", self.base)?;
        if self.breaker_tokens.is_some() && self.breakers.is_some() {
            let why = "they say the same in two ways";
            return Err(StepError::Excludes { field: "breaker_tokens", other: "breakers", why });
        }
        if !self.is_off() {
            self.table = self.breaker_table(ctx)?;
        }
        Ok(())
    }

    fn apply(&mut self, cands: &mut CandSet<'_>, ctx: &mut Ctx) {
        let window = ctx.history().last(self.last_n as usize);
        if self.is_off() || window.len() as i64 <= i64::from(self.allowed_length) {
            return;
        }
        let limit = self.table.reach(window) as i32;
        if limit < self.allowed_length {
            return;
        }
        suffix_repeats(window, limit, &mut self.repeats);

        // The token after each earlier copy would extend it.
        self.longest.clear();
        for (k, &length) in self.repeats.iter().enumerate().skip(1) {
            let next = window[window.len() - k];
            if length >= self.allowed_length && !self.table.is_single(next) {
                self.longest.push((next, length));
            }
        }
        self.longest.sort_unstable_by_key(|&(token, length)| (token, Reverse(length)));
        self.longest.dedup_by_key(|longest| longest.0);
        let max_exponent = self.max_exponent();
        cands.update_all(&self.longest, |logit, &length| logit - self.penalty(length, max_exponent));
    }

    fn is_off(&self) -> bool {
        self.multiplier == 0.0 || self.base < 1.0 || self.last_n == 0
    }

    fn facts(&self) -> Facts {
        if self.is_off() {
            return Facts::TRUNCATION;
        }
        let has_texts = self.breakers.as_ref().is_none_or(|texts| !texts.is_empty());
        Facts { needs_history: true, needs_vocab: self.breaker_tokens.is_none() && has_texts, ..Facts::default() }
    }
}

#[cfg(test)]
mod tests;
