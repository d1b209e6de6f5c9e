use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::core::{Cand, CandSet, Chain, Ctx, Facts, SamplerStep, StepError, listed_tokens, steps};

/// Runs steps that cannot take the listed tokens away: newline and end tokens under `xtc` is what people ask for.
///
/// After each step inside, a listed candidate that it removed or set to -infinity is there again as it was before that step, so
/// the next one sees it. One that a step has only changed stays changed; one that was gone or at -infinity before stays so.
/// The steps' thresholds are theirs: a protected candidate counts in every sum, as long as it is there.
///
/// # Origin
/// This project's own. mlx-lm (MIT) keeps `xtc_special_tokens` so, from XTC alone. text-generation-webui does something else: its XTC
/// does nothing at all where it would remove a newline or an end token.
/// Gate: its definition, written once more in plain Python.
///
/// # Order and flags
/// What its steps do. What comes back from being removed stands at the end, by rising id; what comes back from -infinity stays in
/// its place. Either clears `sorted`, so that a step behind sorts again. Finding out what is left of a large set
/// that `xtc` or a sort has been at costs a full sort: it belongs behind a truncation. None of the steps may select.
///
/// # Draws
/// What its steps draw, each from its own generator.
///
/// # Errors
/// `prepare` refuses a step inside that selects, and what a step inside refuses, named by its place; a token of `tokens` beyond
/// the vocabulary; `eog` and `pieces` without a vocabulary; a text of `pieces` that is no token.
///
/// # Chain file
/// ```json
/// {"type": "protect", "tokens": [13], "eog": true, "steps": [{"type": "xtc", "probability": 0.5, "threshold": 0.1}]}
/// ```
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Protect {
    /// The tokens, in any order. Default none.
    pub tokens: Vec<u32>,
    /// Whether the vocabulary's tokens that end a text are listed, too. Default false.
    pub eog: bool,
    /// Texts: every token of the vocabulary whose piece is one of them is listed, too. Default none.
    pub pieces: Vec<String>,
    /// The steps. Default none.
    #[serde(with = "steps")]
    pub steps: Chain,
    /// All that is listed, by rising id.
    #[serde(skip)]
    listed: Vec<u32>,
    #[serde(skip)]
    before: Vec<Cand>,
}

impl Protect {
    /// The step with its tokens and what they are protected from.
    pub fn new(tokens: impl Into<Vec<u32>>, steps: Chain) -> Self {
        Self { tokens: tokens.into(), steps, ..Self::default() }
    }

    /// The same with the vocabulary's end tokens.
    pub fn with_eog(self) -> Self {
        Self { eog: true, ..self }
    }

    /// The same with the tokens of these texts.
    pub fn with_pieces(self, pieces: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { pieces: pieces.into_iter().map(Into::into).collect(), ..self }
    }
}

crate::describe_step!(Protect);

#[typetag::serde(name = "protect")]
impl SamplerStep for Protect {
    crate::holds_chains!(steps);

    fn prepare(&mut self, ctx: &Ctx) -> Result<(), StepError> {
        let selecting = self.steps.steps().iter().find(|step| step.selects());
        let name = selecting.map(|step| step.typetag_name()).unwrap_or_default();
        StepError::refuse_unless(selecting.is_none(), "steps", name, "what selects the token stands behind")?;
        self.prepare_chains(ctx)?;
        self.listed = listed_tokens(&self.tokens, self.eog, &self.pieces, ctx)?;
        Ok(())
    }

    fn apply(&mut self, cands: &mut CandSet<'_>, ctx: &mut Ctx) {
        let Self { steps, listed, before, .. } = self;
        let look = |cands: &mut CandSet<'_>, before: &mut Vec<Cand>| {
            cands.cands_of(listed, before);
            before.retain(|cand| cand.logit > f32::NEG_INFINITY);
        };
        look(cands, before);
        steps.apply_each(cands, ctx, |_, _, cands| {
            cands.bring_back(before);
            look(cands, before);
        });
    }

    fn facts(&self) -> Facts {
        let (inner, asks_vocab) = (self.steps.facts(), self.eog || !self.pieces.is_empty());
        // What comes back has the logit of before: beside changed ones that says nothing of the order.
        let is_told = inner.only_removes || (self.tokens.is_empty() && !asks_vocab);
        let (keeps_argmax, keeps_order) = (inner.keeps_argmax && is_told, inner.keeps_order && is_told);
        let needs_vocab = inner.needs_vocab || asks_vocab;
        Facts { keeps_argmax, keeps_order, needs_vocab, ..inner }
    }
}

#[cfg(test)]
mod tests;
