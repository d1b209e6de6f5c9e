//! Chains from and to JSON and TOML files.

mod read;

use std::fmt;
use std::path::Path;

use sampler_steps::{Chain, ChainError, Ctx, SamplerStep};
use serde::Serialize;
use serde::ser::SerializeStruct;

use crate::document;
use crate::error::FileError;
use crate::params::DEFAULT_SEED;
use crate::sampler::{Sampler, effective_seed};

/// The version that this crate writes, and the only one so far.
const VERSION: u32 = 1;

/// A chain as it stands in a file, with its seed.
///
/// ```toml
/// version = 1
/// seed = 42
///
/// [[steps]]
/// type = "top_k"
/// k = 40
///
/// [[steps]]
/// type = "dist"
/// ```
#[derive(Debug, Clone, Default)]
pub struct ChainFile {
    /// The seed; none and [`DEFAULT_SEED`] (-1): a random one.
    pub seed: Option<u32>,
    /// The chain.
    pub chain: Chain,
}

/// The format of a chain file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// JSON
    Json,
    /// TOML
    Toml,
}

impl Format {
    /// The format of a file by its name: `.json` is JSON, `.toml` is TOML; else by how the text begins.
    pub fn guess(path: &Path, text: &str) -> Self {
        let named = |extension| path.extension().is_some_and(|found| found.eq_ignore_ascii_case(extension));
        if named("json") || (!named("toml") && text.trim_start().starts_with('{')) { Self::Json } else { Self::Toml }
    }
}

impl ChainFile {
    /// Reads a file.
    ///
    /// # Errors
    /// Everything that is wrong with it: each problem with line, column, step, field and the nearest known name.
    pub fn read(path: &Path) -> Result<Self, FileError> {
        let text = document::read_text(path)?;
        Self::parse(&text, Format::guess(path, &text), path)
    }

    /// Reads a text. `path` stands for it in errors.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn parse(text: &str, format: Format, path: &Path) -> Result<Self, FileError> {
        read::parse(text, format).map_err(|problems| FileError { path: path.into(), problems })
    }

    /// The file's text. What this writes it reads back, and writes again to the same bytes.
    ///
    /// # Errors
    /// A step of another crate whose parameters the format cannot hold.
    pub fn to_text(&self, format: Format) -> Result<String, WriteError> {
        match format {
            Format::Json => {
                let text = serde_json::to_string_pretty(self).map_err(|error| WriteError(error.to_string()))?;
                Ok(text + "\n")
            }
            Format::Toml => toml::to_string(self).map_err(|error| WriteError(error.to_string())),
        }
    }

    /// A sampler of the chain. `ctx` makes the context from the seed: `|seed| Ctx::new(seed).with_vocab(vocab)`.
    ///
    /// # Errors
    /// As [`Sampler::from_chain`].
    pub fn into_sampler(self, ctx: impl FnOnce(u32) -> Ctx) -> Result<Sampler, ChainError> {
        let seed = effective_seed(self.seed.unwrap_or(DEFAULT_SEED));
        Sampler::from_chain(self.chain, ctx(seed))
    }
}

/// A chain that cannot be written in a format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteError(String);

impl std::error::Error for WriteError {}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for ChainFile {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let steps: &[Box<dyn SamplerStep>] = self.chain.steps();
        let mut file = serializer.serialize_struct("ChainFile", 3)?;
        file.serialize_field("version", &VERSION)?;
        match self.seed {
            None => file.skip_field("seed")?,
            Some(DEFAULT_SEED) => file.serialize_field("seed", &-1)?,
            Some(seed) => file.serialize_field("seed", &seed)?,
        }
        file.serialize_field("steps", steps)?;
        file.end()
    }
}

#[cfg(test)]
mod tests;
