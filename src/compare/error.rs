//! What can be wrong with a comparison, and with its shards.

use std::ops::Range;
use std::path::PathBuf;

use super::distribution::DistributionError;
use super::shard::ShardNumber;
use crate::error::SampleError;

/// A comparison that cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompareError {
    /// There is no chain.
    #[error("there is no chain to compare")]
    NoChains,
    /// Two chains have the same name.
    #[error("two chains are called {0}")]
    SameName(String),
    /// There are no rows, or the file does not have them.
    #[error("rows {}..{} of {n_rows}", rows.start, rows.end)]
    NoRows {
        /// The rows that were asked for.
        rows: Range<usize>,
        /// How many there are.
        n_rows: usize,
    },
    /// A row that was there is gone.
    #[error("row {0} is not there")]
    NoRow(usize),
    /// There is no seed.
    #[error("there is no seed")]
    NoSeeds,
    /// A seed comes twice.
    #[error("seed {0} comes twice")]
    SameSeed(u32),
    /// There are more cells than can be counted.
    #[error("{seeds} seeds of {rows} rows are too many")]
    TooMany {
        /// How many seeds.
        seeds: usize,
        /// How many rows.
        rows: usize,
    },
    /// The tokens to follow are not one a row.
    #[error("{found} tokens to follow for {rows} rows; one a row is wanted")]
    Tokens {
        /// How many there are.
        found: usize,
        /// How many rows.
        rows: usize,
    },
    /// The prompt, or a token to follow, is no token of a chain's vocabulary.
    #[error("chain {chain}: {what}: {source}")]
    Told {
        /// The chain.
        chain: String,
        /// `the prompt`, or `the token after row 3`.
        what: String,
        /// What it said.
        source: SampleError,
    },
    /// A chain's vocabulary is not as wide as the rows.
    #[error("chain {chain} has a vocabulary of {n_vocab} tokens, and the rows are {width} wide")]
    Vocab {
        /// The chain.
        chain: String,
        /// How many tokens it knows.
        n_vocab: usize,
        /// How wide the rows are.
        width: usize,
    },
    /// A chain cannot be written down.
    #[error("chain {chain}: {what}")]
    Steps {
        /// The chain.
        chain: String,
        /// What the writer said.
        what: String,
    },
    /// A chain drew no token.
    #[error("chain {chain}: row {row}, seed {seed}: {source}")]
    Draw {
        /// The chain.
        chain: String,
        /// The row.
        row: usize,
        /// The seed.
        seed: u32,
        /// Why.
        source: SampleError,
    },
    /// What a chain left is no distribution.
    #[error("chain {chain}: row {row}, seed {seed}: {source}")]
    Distribution {
        /// The chain.
        chain: String,
        /// The row.
        row: usize,
        /// The seed.
        seed: u32,
        /// Why.
        source: DistributionError,
    },
}

/// A file of a shard that cannot be used, or shards that are not one comparison's.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ShardError {
    /// The file cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A line is not what a shard's file has there.
    #[error("{}:{line}: {what}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        what: String,
    },
    /// What was read contradicts itself.
    #[error("{0}")]
    Unsound(String),
    /// There are no shards.
    #[error("there is no shard to merge")]
    NoShards,
    /// A shard of another comparison.
    #[error("{name} is of another comparison than {first}: {what}")]
    Foreign {
        /// The shard.
        name: String,
        /// The one it is held against.
        first: String,
        /// What differs.
        what: String,
    },
    /// One part comes twice.
    #[error("shard {number} comes twice: {first} and {second}")]
    Twice {
        /// Which.
        number: ShardNumber,
        /// Where it came first.
        first: String,
        /// Where it came again.
        second: String,
    },
    /// Parts are not there.
    #[error("of {n} shards {n_missing} {} missing: {}", if *n_missing == 1 { "is" } else { "are" }, list(missing, *n_missing))]
    Missing {
        /// How many there should be.
        n: usize,
        /// How many are not there.
        n_missing: usize,
        /// The numbers of the first ten of these.
        missing: Vec<usize>,
    },
}

/// The first few of many numbers.
fn list(first: &[usize], n: usize) -> String {
    let shown: Vec<String> = first.iter().map(usize::to_string).collect();
    let more = n.saturating_sub(first.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    shown.join(", ") + &more
}
