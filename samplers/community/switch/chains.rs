//! Which of two chains runs, and what is asked of both: whether they go together, their generators, their facts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Switch;
use crate::core::{Chain, Ctx, Facts, SamplerStep, StateReader, StepError};

/// Whether the steps of two chains draw from one generator.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
#[serde(rename_all = "snake_case")]
pub enum Generators {
    /// Each step has its own.
    #[default]
    Separate,
    /// The n-th step of a type in one chain and in the other have one.
    Shared,
}

/// The state that changes with each token.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Now {
    is_second: bool,
    /// How many tokens there were since the last switch, or since a prompt that does not count.
    seen: usize,
}

impl Now {
    /// Takes note of one more token, and tells whether it ends one of the sequences that lead away from the chain that runs:
    /// `ways` are those of the first and of the second.
    pub fn finds(&mut self, ways: [&Vec<Vec<u32>>; 2], sees_prompt: bool, ctx: &Ctx) -> bool {
        let is_seen = sees_prompt || ctx.history().n_prompt() < ctx.history().len();
        self.seen = if is_seen { self.seen + 1 } else { 0 };
        let recent = ctx.history().last(self.seen);
        ways[usize::from(self.is_second)].iter().any(|sequence| recent.ends_with(sequence))
    }

    /// Both in one number.
    pub fn number(self) -> u64 {
        (self.seen as u64) << 1 | u64::from(self.is_second)
    }

    pub fn load(state: &mut StateReader<'_>, ctx: &Ctx) -> Result<Self, StepError> {
        let number = state.number()?;
        let (seen, n_tokens) = (number >> 1, ctx.history().len());
        if seen > n_tokens as u64 {
            return Err(StepError::State(format!("{seen} tokens since a switch are more than {n_tokens}")));
        }
        Ok(Self { is_second: number & 1 == 1, seen: seen as usize })
    }
}

impl Switch {
    /// The step with one sequence after which the second chain runs.
    pub fn new(after: impl Into<Vec<u32>>, first: Chain, second: Chain) -> Self {
        Self { after: vec![after.into()], first, second, ..Self::default() }
    }

    /// The same with a sequence that leads back.
    pub fn with_back(mut self, back: impl Into<Vec<u32>>) -> Self {
        self.back.push(back.into());
        self
    }

    /// The same with shared generators.
    pub fn with_shared_generators(self) -> Self {
        Self { generators: Generators::Shared, ..self }
    }

    /// The same, with the prompt's tokens looked at, too.
    pub fn seeing_prompt(self) -> Self {
        Self { sees_prompt: true, ..self }
    }

    /// Whether the second chain runs.
    pub fn is_second(&self) -> bool {
        self.now.is_second
    }

    /// Checks the sequences and the chains, prepares these, and begins with the first.
    pub(super) fn check(&mut self, ctx: &Ctx) -> Result<(), StepError> {
        for (field, sequences) in [("after", &self.after), ("back", &self.back)] {
            let are_some = sequences.iter().all(|sequence| !sequence.is_empty());
            StepError::refuse_unless(are_some, field, "[]", "a sequence has at least one token")?;
            StepError::refuse_beyond(field, sequences.iter().flatten(), ctx)?;
        }
        if self.first.selects() != self.second.selects() {
            let why = "one of them selects the token, and the other does not";
            return Err(StepError::Excludes { field: "second", other: "first", why });
        }
        prepare("first", &mut self.first, ctx)?;
        prepare("second", &mut self.second, ctx)?;
        self.now = Now::default();
        Ok(())
    }

    /// The other chain runs from here, with the generators of the one that ran where they are shared.
    pub(super) fn switch(&mut self) {
        let (from, to) = match self.now.is_second {
            false => (&mut self.first, &mut self.second),
            true => (&mut self.second, &mut self.first),
        };
        if self.generators == Generators::Shared {
            let mut from = from.generators();
            for (step, generator) in to.generators() {
                if let Some(at) = from.iter().position(|(other, _)| *other == step) {
                    generator.clone_from(from.remove(at).1);
                }
            }
        }
        self.now = Now { is_second: !self.now.is_second, seen: 0 };
    }

    /// What holds whichever runs.
    pub(super) fn facts_of_both(&self) -> Facts {
        let (first, second) = (self.first.facts(), self.second.facts());
        Facts {
            keeps_argmax: first.keeps_argmax && second.keeps_argmax,
            keeps_order: first.keeps_order && second.keeps_order,
            only_removes: first.only_removes && second.only_removes,
            needs_history: true,
            needs_vocab: first.needs_vocab || second.needs_vocab,
            needs_prompt: first.needs_prompt || second.needs_prompt || !self.sees_prompt,
        }
    }
}

fn prepare(field: &str, chain: &mut Chain, ctx: &Ctx) -> Result<(), StepError> {
    if chain.selects() {
        chain.check_selection().map_err(|error| StepError::Other(format!("{field}: {error}")))?;
    }
    chain.prepare(ctx).map_err(|error| match error {
        StepError::NeedsVocab { .. } => error,
        error => StepError::Other(format!("{field}: {error}")),
    })
}
