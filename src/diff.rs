//! Two records of the same generation: where they part, and why.
//!
//! ```
//! use sampler_chain::steps::Greedy;
//! use sampler_chain::{Chain, Ctx, Diff, Record, Recorder, Sampler, diff::Cause};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let record_of = |rows: &[[f32; 3]]| -> Result<Record, Box<dyn std::error::Error>> {
//!     let mut sampler = Sampler::from_chain(Chain::new().with(Greedy {}), Ctx::new(1))?;
//!     let mut recorder = Recorder::new(Vec::new(), &sampler)?;
//!     for row in rows {
//!         let token = sampler.sample(row)?;
//!         recorder.draw(row, token)?;
//!         sampler.accept(token)?;
//!         recorder.accept(token)?;
//!     }
//!     Ok(Record::from_bytes(recorder.into_inner())?)
//! };
//! let a = record_of(&[[0.0, 1.0, 2.0], [3.0, 1.0, 2.0]])?;
//! let b = record_of(&[[0.0, 1.0, 2.0], [3.0, 1.0, 4.0]])?;
//!
//! let diff = Diff::between(&a, &b, None)?;
//! let parting = diff.parting.unwrap();
//! assert_eq!((parting.draw, parting.cause), (1, Cause::Logits));
//! # Ok(())
//! # }
//! ```

mod find;
mod logits;
mod side;

use std::path::PathBuf;

use serde::Serialize;

use crate::record::RecordError;

pub use crate::record::ParameterChange;
pub use logits::{LogitPair, LogitsDifference};

/// What differs between two records, A and B. Draws are counted from 0.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Diff {
    /// The first record.
    pub a: Side,
    /// The second record.
    pub b: Side,
    /// How many draws from the first on gave the same token, which was accepted by both.
    pub n_same: usize,
    /// Where they part. None where every token is the same.
    pub parting: Option<Parting>,
    /// What differed before and changed no token; each once, in the order of [`Cause`].
    pub earlier: Vec<Earlier>,
}

impl Diff {
    /// Whether the records are the same: every token, row (to the bit), parameter, seed and the history.
    pub fn is_same(&self) -> bool {
        self.parting.is_none() && self.earlier.is_empty()
    }
}

/// One of the two records.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Side {
    /// The file; `record` for one in memory.
    pub path: PathBuf,
    /// How many draws it has.
    pub n_draws: usize,
    /// The seed at its start.
    pub seed: u32,
    /// The program that wrote it.
    pub program: String,
    /// Its note.
    pub note: Option<String>,
    /// Whether its last frame is cut.
    pub is_cut: bool,
    /// What this crate draws from its rows.
    pub replay: Replayed,
}

/// Whether a record's tokens are what this crate draws from the record's rows, with the record's chain, seed and history.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Replayed {
    /// How many draws were replayed.
    pub n_draws: usize,
    /// How many gave the record's token.
    pub n_same: usize,
    /// The first that did not.
    pub first_other: Option<OtherToken>,
    /// Why the record could not be replayed, or not to its end.
    pub stopped: Option<String>,
}

/// A draw that gives another token when it is replayed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OtherToken {
    /// The draw.
    pub draw: usize,
    /// The record's token.
    pub recorded: u32,
    /// This crate's token. None where the row gives none.
    pub drawn: Option<u32>,
    /// Why it gives none.
    pub error: Option<String>,
}

/// Where two records part.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Parting {
    /// The first draw whose drawn or accepted token is another, or that only one of them has.
    pub draw: usize,
    /// Why: the first thing, in the order of [`Cause`], that differed there.
    pub cause: Cause,
    /// A's token there. None where A has no such draw.
    pub a: Option<PartingToken>,
    /// B's.
    pub b: Option<PartingToken>,
    /// All that differed there, in the order of [`Cause`]. Empty where the sampler is the cause, or a record ends.
    pub differences: Vec<Difference>,
}

/// A token at the parting.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PartingToken {
    /// The record's.
    pub token: u32,
    /// What this crate draws there. None where the record cannot be replayed, or the row gives none.
    pub drawn: Option<u32>,
}

/// Why two records part, in the order in which one thing causes another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// Other tokens were accepted before: another prompt, or one that the engine chose.
    History,
    /// Another chain, or a field of it; other DRY breakers; another treatment of rows that are not finite.
    Parameters,
    /// Another seed.
    Seed,
    /// The model gave other logits.
    Logits,
    /// The steps remembered something else, though all of the above is the same: a generator that is further on, an average of
    /// earlier probabilities. What differed [earlier](Diff::earlier) is the reason.
    State,
    /// A constraint (a grammar) allowed something else.
    Constraint,
    /// All of the above is the same, and yet the token is another: one of the samplers is not the chain that the record says,
    /// and [`PartingToken::drawn`] tells which.
    Sampler,
    /// The same token was drawn, and the engine accepted another or none, or took back more.
    Accepted,
    /// One record ends, and the other goes on.
    Length,
}

/// One thing that differs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "what", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Difference {
    /// The accepted tokens.
    History(HistoryDifference),
    /// The parameters, field by field.
    Parameters {
        /// At least one.
        changes: Vec<ParameterChange>,
    },
    /// The seed.
    Seed {
        /// A's.
        a: u32,
        /// B's.
        b: u32,
    },
    /// The row.
    Logits(LogitsDifference),
    /// What the steps remember.
    State {
        /// Whether both were replayed and seen to differ. Else it is what is left: something differed earlier.
        seen: bool,
    },
    /// What a constraint allowed.
    Constraint {
        /// Whether one of the draws was not masked at all.
        only_one: bool,
    },
    /// What was accepted, or taken back, after the draw.
    Accepted {
        /// What A accepted.
        a: Vec<u32>,
        /// What B accepted.
        b: Vec<u32>,
        /// How the histories differ afterwards. None where they differed before, and no more than they do.
        after: Option<HistoryDifference>,
    },
}

impl Difference {
    /// The cause that it is.
    pub fn cause(&self) -> Cause {
        match self {
            Self::History(_) => Cause::History,
            Self::Parameters { .. } => Cause::Parameters,
            Self::Seed { .. } => Cause::Seed,
            Self::Logits(_) => Cause::Logits,
            Self::State { .. } => Cause::State,
            Self::Constraint { .. } => Cause::Constraint,
            Self::Accepted { .. } => Cause::Accepted,
        }
    }
}

/// How two histories differ.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HistoryDifference {
    /// The first place where they do; the length of the shorter, where it begins the longer one. None where the tokens are the
    /// same, and the ends of the prompts differ.
    pub index: Option<usize>,
    /// A's token there.
    pub a: Option<u32>,
    /// B's.
    pub b: Option<u32>,
    /// How many tokens A has.
    pub a_len: usize,
    /// How many B has.
    pub b_len: usize,
    /// How many of A's lie before the end of its prompt.
    pub a_prompt: usize,
    /// How many of B's.
    pub b_prompt: usize,
}

/// Something that differed before the parting.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Earlier {
    /// The first draw where it did; the number of draws for what differs behind the last.
    pub draw: usize,
    /// At how many draws.
    pub n_draws: usize,
    /// How, at the first.
    pub difference: Difference,
}

/// Two records that are not of the same generation, or one that cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DiffError {
    /// The vocabularies differ.
    #[error(
        "{} is of a vocabulary of {a_tokens} tokens, and {} of {b_tokens}: no records of the same generation",
        a.display(), b.display()
    )]
    OtherVocab {
        /// The first file.
        a: PathBuf,
        /// The second file.
        b: PathBuf,
        /// The first one's size.
        a_tokens: usize,
        /// The second one's.
        b_tokens: usize,
    },
    /// The vocabulary that was given is not that of the records.
    #[error(transparent)]
    Record(#[from] RecordError),
}
