use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::core::{CandSet, Chain, Ctx, Facts, Generators, SamplerStep, StepError, StepState, Turn, steps};

/// Runs one of two chains: the first, and after a sequence of tokens the second, until another sequence leads back. Thinking and
/// answering with parameters of their own is what it is for.
///
/// Both chains are told every token, so that penalties and windows see the whole text. The tokens of the sequence itself are
/// drawn by the chain that runs before it. A sequence is looked for in the tokens since the last switch. Without
/// a way back the second chain runs to the end; a reset begins with the first.
///
/// # Origin
/// This project's own: makers of thinking models recommend other settings for thinking than for answering, and programs have one
/// chain for both. Gate: its definition, written once more in plain Python.
///
/// # Order and flags
/// What the steps of the running chain do. Selects the token if the chains do: both, or neither.
///
/// # Draws
/// What the steps of the running chain draw. With `separate` generators each step of either chain has its own from the chain's
/// seed: the answer draws the same numbers however long the thinking was. With `shared` ones the n-th step of a type in one chain
/// and in the other have one, and what is drawn in one goes on in the other: two equal chains draw as one does. Steps inside
/// other steps count where these stand. A switch inside counts as one chain: it must share, too, and is refused by its place if
/// it does not, unless no two of its chains draw by steps of one type.
///
/// # Errors
/// `prepare` refuses a sequence without a token in `after` or `back`, a token of them beyond the vocabulary, chains of which one
/// selects and the other does not, and what a step inside refuses, named by its place.
///
/// # Chain file
/// ```json
/// {"type": "switch", "after": [[151668]], "first": [{"type": "dist"}], "second": [{"type": "greedy"}]}
/// ```
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Switch {
    /// Token sequences after which the second chain runs. Default none.
    #[schemars(inner(length(min = 1)))]
    pub after: Vec<Vec<u32>>,
    /// Token sequences after which the first chain runs again. Default none.
    #[schemars(inner(length(min = 1)))]
    pub back: Vec<Vec<u32>>,
    /// Whether the steps of both chains draw from generators of their own, or share them. Default `separate`.
    pub generators: Generators,
    /// Whether the prompt's tokens count, too: then an earlier turn of a chat switches, and a prompt that opens or closes
    /// the thinking does. A sequence that begins in a prompt that does not count is none. Default false.
    pub sees_prompt: bool,
    /// The steps to begin with. Default none.
    #[serde(with = "steps")]
    pub first: Chain,
    /// The steps after a switch. Default none.
    #[serde(with = "steps")]
    pub second: Chain,
    #[serde(skip)]
    turn: Turn,
}

impl Switch {
    /// The step with one sequence after which the second chain runs.
    pub fn new(after: impl Into<Vec<u32>>, first: Chain, second: Chain) -> Self {
        Self { after: vec![after.into()], first, second, ..Self::default() }
    }

    /// Whether the second chain runs.
    pub fn is_second(&self) -> bool {
        self.turn.is_second()
    }
}

crate::describe_step!(Switch);

#[typetag::serde(name = "switch")]
impl SamplerStep for Switch {
    crate::holds_chains!(one of first, second; generators);

    fn prepare(&mut self, ctx: &Ctx) -> Result<(), StepError> {
        StepError::refuse_sequences("after", &self.after, ctx)?;
        StepError::refuse_sequences("back", &self.back, ctx)?;
        self.prepare_chains(ctx)
    }

    fn apply(&mut self, cands: &mut CandSet<'_>, ctx: &mut Ctx) {
        if self.is_second() { self.second.apply(cands, ctx) } else { self.first.apply(cands, ctx) }
    }

    fn accept(&mut self, token: u32, ctx: &Ctx) {
        self.chains_mut().into_iter().for_each(|chain| chain.accept(token, ctx));
        if self.turn.changes([&self.after, &self.back], self.sees_prompt, ctx) {
            self.generators.go_on(self.chains_mut());
        }
    }

    fn state(&self) -> Option<&dyn StepState> {
        Some(&self.turn)
    }

    fn state_mut(&mut self) -> Option<&mut dyn StepState> {
        Some(&mut self.turn)
    }

    fn facts(&self) -> Facts {
        let both = Facts::of_all([self.first.facts(), self.second.facts()]);
        if self.after.is_empty() || self.is_off() {
            return Facts { needs_vocab: both.needs_vocab, ..self.first.facts() };
        }
        Facts { needs_history: true, needs_prompt: both.needs_prompt || !self.sees_prompt, ..both }
    }
}

#[cfg(test)]
mod tests;
