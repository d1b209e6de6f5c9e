mod chains;

pub use chains::Generators;
use chains::Now;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::core::{CandSet, Chain, Ctx, Facts, SamplerStep, StateReader, StepError, steps};

/// Runs one of two chains: the first, and after a sequence of tokens the second, until another sequence leads back. Thinking and
/// answering with parameters of their own is what it is for.
///
/// Both chains are told every token, so that penalties and windows see the whole text. The tokens of the sequence itself are
/// drawn by the chain that runs before it. A sequence is looked for in the tokens since the last switch. Without
/// a way back the second chain runs to the end; a reset begins with the first.
///
/// # Origin
/// This project's own: makers of thinking models recommend other settings for thinking than for answering, and programs have one
/// chain for both.
///
/// # Order and flags
/// What the steps of the running chain do. Selects the token if the chains do: both, or neither.
///
/// # Draws
/// What the steps of the running chain draw. With `separate` generators each step of either chain has its own from the chain's
/// seed: the answer draws the same numbers however long the thinking was. With `shared` ones the n-th step of a type that draws in
/// one chain goes on where that of the other stopped: two equal chains draw as one does.
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
    now: Now,
}

crate::describe_step!(Switch);

#[typetag::serde(name = "switch")]
impl SamplerStep for Switch {
    fn prepare(&mut self, ctx: &Ctx) -> Result<(), StepError> {
        self.check(ctx)
    }

    fn apply(&mut self, cands: &mut CandSet<'_>, ctx: &mut Ctx) {
        if self.is_second() { self.second.apply(cands, ctx) } else { self.first.apply(cands, ctx) }
    }

    fn accept(&mut self, token: u32, ctx: &Ctx) {
        self.chains_mut().into_iter().for_each(|chain| chain.accept(token, ctx));
        if self.now.finds([&self.after, &self.back], self.sees_prompt, ctx) {
            self.switch();
        }
    }

    fn reset(&mut self, ctx: &Ctx) {
        self.now = Now::default();
        self.chains_mut().into_iter().for_each(|chain| chain.reset(ctx));
    }

    fn save(&self, state: &mut Vec<u64>) {
        state.push(self.now.number());
        self.chains().into_iter().for_each(|(_, chain)| chain.save(state));
    }

    fn load(&mut self, state: &mut StateReader<'_>, ctx: &Ctx) -> Result<(), StepError> {
        self.now = Now::load(state, ctx)?;
        self.chains_mut().into_iter().try_for_each(|chain| chain.load(state, ctx))
    }

    fn facts(&self) -> Facts {
        if self.is_off() { Facts::TRUNCATION } else { self.facts_of_both() }
    }

    fn chains(&self) -> Vec<(&'static str, &Chain)> {
        vec![("first", &self.first), ("second", &self.second)]
    }

    fn chains_mut(&mut self) -> Vec<&mut Chain> {
        vec![&mut self.first, &mut self.second]
    }
}

#[cfg(test)]
mod tests;
