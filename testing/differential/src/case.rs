//! One case: what both sides are given.

use sampler_chain::NonFinite;

use crate::step::{Setting, Step};

/// A chain, rows of logits, and what happens between the draws.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// The seed of every generator.
    pub seed: u32,
    /// A seed for each step of the chain in place of it.
    pub seeds: Option<Vec<u32>>,
    /// How many tokens a row has.
    pub n_vocab: usize,
    /// How many tokens both sides are told that there are; none: this crate is told nothing.
    pub told: Option<usize>,
    /// The vocabulary that steps look into: a place in [`VOCABS`](crate::step::VOCABS).
    pub vocab: Option<usize>,
    /// The chain. It need not end with a selecting step, and others may follow one.
    pub steps: Vec<Step>,
    /// Rows of `n_vocab` logits, taken in turn.
    pub rows: Vec<Row>,
    /// What the candidates are before the first step; none: all tokens of the row in their order, as an engine gives
    /// them.
    pub start: Option<Start>,
    /// Accepted before the first draw.
    pub prompt: Vec<u32>,
    /// One entry a draw: what happens after it.
    pub draws: Vec<Vec<Event>>,
    /// Bit s: the whole chain's candidates are looked at after step s. A look makes this crate write them out.
    pub looks: u64,
    /// What is looked at after the whole chain.
    pub end: End,
    /// What this crate's `Sampler` does with rows that are not finite.
    pub policy: NonFinite,
}

/// A row of logits, and of which kind it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// For the table.
    pub kind: &'static str,
    /// One a token.
    pub logits: Vec<f32>,
}

/// Candidates to begin with: a subset of the tokens in an order, with flags.
#[derive(Debug, Clone, PartialEq)]
pub struct Start {
    /// The tokens in their order, some perhaps more than once.
    pub ids: Vec<u32>,
    /// How they are ordered, and what `sorted` says.
    pub order: Order,
    /// What `selected` says.
    pub selected: Option<usize>,
    /// The p that every candidate has before a step computes it.
    pub p: f32,
}

/// An order and a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// As the ids stand, unsorted.
    Given,
    /// By falling logit, sorted.
    Sorted,
    /// As the ids stand, with `sorted` set all the same.
    SaidSorted,
}

/// What happens between two draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The drawn token is accepted; the first candidate, where none was selected.
    AcceptDrawn,
    /// Another token is accepted.
    Accept(u32),
    /// `llama_sampler_reset`.
    Reset,
    /// `llama_sampler_clone`; the clone goes on.
    Clone,
    /// A clone is made, draws once, and is dropped; the original goes on.
    CloneAside,
    /// This crate's sampler is saved and goes on as another one; libllama goes on as it is.
    Snapshot,
}

impl Start {
    /// The tokens in their order for a row, and `sorted`.
    pub fn ordered(&self, row: &Row) -> (Vec<u32>, bool) {
        let mut ids = self.ids.clone();
        if self.order == Order::Sorted {
            let logit = |id: u32| row.logits[id as usize];
            ids.sort_by(|&a, &b| logit(b).total_cmp(&logit(a)));
        }
        (ids, self.order != Order::Given)
    }
}

/// What is looked at after the whole chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The token alone, so that nothing need be written out.
    Token,
    /// The selected candidate.
    Selected,
    /// All candidates and flags.
    All,
}

impl Case {
    /// The row of a draw.
    pub fn row(&self, draw: usize) -> &Row {
        &self.rows[draw % self.rows.len()]
    }

    /// Whether the chain ends with its one selecting step, as `Sampler` wants it.
    pub fn ends_with_its_selector(&self) -> bool {
        let leaves = crate::step::leaves(&self.steps);
        leaves.iter().position(|step| step.selects()).is_some_and(|at| at + 1 == leaves.len())
    }

    /// Whether this crate can run it as a `Sampler`, which begins with a whole row and wants one step that selects, at the end.
    pub fn fits_a_sampler(&self) -> bool {
        let told_right = self.told.is_none_or(|n| n == self.n_vocab);
        self.start.is_none() && self.seeds.is_none() && told_right && self.ends_with_its_selector()
    }

    /// What libllama's sampler of a step of the chain is made with.
    pub fn setting(&self, step: usize) -> Setting {
        Setting {
            seed: self.seeds.as_ref().map_or(self.seed, |seeds| seeds[step]),
            n_vocab: self.told.unwrap_or(self.n_vocab),
            vocab: self.vocab.unwrap_or(0),
        }
    }
}
