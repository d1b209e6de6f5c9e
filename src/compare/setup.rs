//! What a comparison is of: two shards belong together when all of this is the same.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::error::CompareError;

/// Which token joins the history of every chain after a row.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Follow {
    /// The one that the baseline drew with this seed: all chains see one history, which is a text that the baseline could
    /// have written.
    #[default]
    Baseline,
    /// Its own: each chain sees what it drew itself. Distributions differ by their histories, too, then.
    Own,
    /// The text along which the rows were recorded: one token a row, the one that came after it.
    Tokens(Vec<u32>),
}

/// What a comparison is of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setup {
    /// The version of this crate that drew; another one need not draw the same.
    pub program: String,
    /// The rows: the first, and the one behind the last.
    pub rows: Range<usize>,
    /// How wide a row is.
    pub n_vocab: usize,
    /// SHA-256 of these rows' bytes (f32, little-endian), in hexadecimal.
    pub logits_sha256: String,
    /// The seeds, in their order.
    pub seeds: Vec<u32>,
    /// What was accepted before the first row.
    pub prompt: Vec<u32>,
    /// What is accepted after each row.
    pub follow: Follow,
    /// Whether draws were timed.
    pub timed: bool,
    /// The chains, the baseline first.
    pub chains: Vec<ChainSetup>,
}

/// One chain of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChainSetup {
    /// Its name, which no other chain of the comparison has.
    pub name: String,
    /// Its steps, as a chain file has them.
    pub steps: Value,
    /// SHA-256 of what the steps do not tell: the vocabulary, what became of DRY's breakers, the history before the prompt, and
    /// how rows that are not finite are treated.
    pub context_sha256: String,
}

impl Setup {
    /// How many cells there are: seeds × rows.
    ///
    /// # Errors
    /// More than can be counted.
    pub fn n_cells(&self) -> Result<usize, CompareError> {
        let (seeds, rows) = (self.seeds.len(), self.rows.len());
        seeds.checked_mul(rows).ok_or(CompareError::TooMany { seeds, rows })
    }

    /// The seed and the row of a cell. None beyond the last.
    pub(super) fn cell(&self, i: usize) -> Option<(u32, usize)> {
        let per_seed = self.rows.len();
        let seed = *self.seeds.get(i.checked_div(per_seed)?)?;
        Some((seed, self.rows.start + i % per_seed))
    }

    /// What is wrong within: a plan's before it runs, or a file's.
    pub(super) fn check(&self) -> Result<(), CompareError> {
        if self.chains.is_empty() {
            return Err(CompareError::NoChains);
        }
        if let Some(name) = twice(self.chains.iter().map(|chain| chain.name.as_str())) {
            return Err(CompareError::SameName(name.to_string()));
        }
        if self.rows.is_empty() {
            return Err(CompareError::NoRows { rows: self.rows.clone(), n_rows: self.rows.end });
        }
        if self.seeds.is_empty() {
            return Err(CompareError::NoSeeds);
        }
        if let Some(seed) = twice(self.seeds.iter().copied()) {
            return Err(CompareError::SameSeed(seed));
        }
        match &self.follow {
            Follow::Tokens(tokens) if tokens.len() != self.rows.len() => {
                return Err(CompareError::Tokens { found: tokens.len(), rows: self.rows.len() });
            }
            _ => {}
        }
        self.n_cells().map(|_| ())
    }

    /// The first thing that another setup has otherwise.
    pub(super) fn difference(&self, other: &Self) -> Option<String> {
        let differs = |what: &str, here: &dyn std::fmt::Display, there: &dyn std::fmt::Display| {
            Some(format!("{what} {here}, not {there}"))
        };
        let names = |setup: &Self| {
            let names: Vec<&str> = setup.chains.iter().map(|chain| chain.name.as_str()).collect();
            names.join(", ")
        };
        let rows = |setup: &Self| format!("{}..{}", setup.rows.start, setup.rows.end);
        if self.program != other.program {
            return differs("it was made by version", &self.program, &other.program);
        }
        if names(self) != names(other) {
            return differs("its chains are", &names(self), &names(other));
        }
        for (chain, there) in self.chains.iter().zip(&other.chains) {
            let name = &chain.name;
            if chain.steps != there.steps {
                return Some(format!("its chain {name} has other steps"));
            }
            if chain.context_sha256 != there.context_sha256 {
                return Some(format!("its chain {name} has another vocabulary, other DRY breakers or another history"));
            }
        }
        if self.rows != other.rows {
            return differs("its rows are", &rows(self), &rows(other));
        }
        if self.n_vocab != other.n_vocab {
            return differs("its rows are this wide:", &self.n_vocab, &other.n_vocab);
        }
        if self.logits_sha256 != other.logits_sha256 {
            return Some("its logits are others (logits_sha256)".to_string());
        }
        if self.seeds != other.seeds {
            return differs("its seeds are", &list(&self.seeds), &list(&other.seeds));
        }
        if self.prompt != other.prompt {
            return Some("it has another prompt".to_string());
        }
        if self.follow != other.follow {
            return Some("its chains were told other tokens after the rows (follow)".to_string());
        }
        if self.timed != other.timed {
            let times = |setup: &Self| if setup.timed { "times" } else { "no times" };
            return differs("it has", &times(self), &times(other));
        }
        (self != other).then(|| "it has another setup".to_string())
    }
}

/// The first few of many seeds.
fn list(seeds: &[u32]) -> String {
    let shown: Vec<String> = seeds.iter().take(6).map(u32::to_string).collect();
    let more = seeds.len() - shown.len();
    shown.join(", ") + &if more > 0 { format!(" and {more} more") } else { String::new() }
}

/// Something that comes twice.
fn twice<T: std::hash::Hash + Eq + Copy>(mut items: impl Iterator<Item = T>) -> Option<T> {
    let mut seen = std::collections::HashSet::new();
    items.find(|item| !seen.insert(*item))
}
