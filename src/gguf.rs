//! Params and vocabulary out of a GGUF file.
//!
//! `read` walks the metadata, `sampling` reads `general.sampling.*`, `vocab` the tokenizer's tables, `pieces` renders tokens,
//! `special` finds the tokens that end a text, `walk` is the order in which llama.cpp looks at names.

mod pieces;
mod read;
mod sampling;
mod special;
mod vocab;
mod walk;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) use sampling::{strtof, strtol};
pub use vocab::GgufVocab;

use crate::logits::map_file;
use crate::params::Params;
use read::Metadata;

/// A GGUF file that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GgufError {
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is no GGUF file, is cut, or says what cannot be.
    #[error("{}: byte {offset}: {what}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Where in the file.
        offset: usize,
        /// What is wrong.
        what: String,
    },
    /// The file is one that this crate does not read, by name.
    #[error("{}: {what}", path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// Why.
        what: String,
    },
    /// A key of the metadata has a value that cannot be used.
    #[error("{}: {key}: {what}", path.display())]
    Key {
        /// The file.
        path: PathBuf,
        /// The key.
        key: String,
        /// What is wrong with it.
        what: String,
    },
}

/// What is wrong, before the file's name is put to it.
#[derive(Debug, PartialEq)]
enum Problem {
    At(usize, String),
    Refused(String),
    Key(String, String),
}

impl Problem {
    fn key(key: &str, what: impl Into<String>) -> Self {
        Self::Key(key.to_string(), what.into())
    }

    fn of(self, path: &Path) -> GgufError {
        let path = path.to_path_buf();
        match self {
            Self::At(offset, what) => GgufError::Malformed { path, offset, what },
            Self::Refused(what) => GgufError::Refused { path, what },
            Self::Key(key, what) => GgufError::Key { path, key, what },
        }
    }
}

/// A GGUF file's metadata, memory-mapped: versions 2 and 3, little-endian, whole or the first part of a split model. Tensors
/// are never looked at.
#[derive(Debug)]
pub struct GgufFile {
    path: PathBuf,
    metadata: Metadata,
}

impl GgufFile {
    /// Opens a file and walks its metadata. Every length is checked against the file, which must not get shorter while it is
    /// open.
    ///
    /// # Errors
    /// A file that is none of GGUF, cut, hostile, big-endian, of another version, or a later part of a split model; with the
    /// byte where that shows.
    pub fn open(path: &Path) -> Result<Self, GgufError> {
        let io = |source| GgufError::Io { path: path.into(), source };
        let map = map_file(&std::fs::File::open(path).map_err(io)?).map_err(io)?;
        let metadata = Metadata::read(map).map_err(|problem| problem.of(path))?;
        Ok(Self { path: path.into(), metadata })
    }

    /// Whether the file has a vocabulary.
    pub fn has_vocab(&self) -> bool {
        !matches!(self.metadata.text("tokenizer.ggml.model"), None | Some("no_vocab" | "none"))
    }

    /// The vocabulary; one of no tokens where the file says that it has none.
    ///
    /// # Errors
    /// A file without one, or tables that contradict each other or are of another type.
    pub fn vocab(&self) -> Result<GgufVocab, GgufError> {
        if !self.has_vocab() && self.metadata.has("tokenizer.ggml.model") {
            return Ok(GgufVocab::empty());
        }
        GgufVocab::read(&self.metadata).map_err(|problem| problem.of(&self.path))
    }

    /// llama-server's parameters for this model: `general.sampling.*` over a base.
    ///
    /// Values become text, as llama.cpp keeps them, and are read as `strtol` and `strtof` read it; what is no number leaves
    /// the base's value. They are not clamped.
    pub fn params(&self, base: &Params) -> Params {
        let mut params = base.clone();
        sampling::overlay(&self.metadata, &mut params);
        params
    }
}

impl Params {
    /// llama-server's parameters for a model: the defaults, `general.sampling.*` over them, and the vocabulary, where the
    /// file has one.
    ///
    /// # Errors
    /// As [`GgufFile::open`] and [`GgufFile::vocab`].
    pub fn from_gguf(path: impl AsRef<Path>) -> Result<Self, GgufError> {
        let file = GgufFile::open(path.as_ref())?;
        let mut params = file.params(&Self::default());
        if file.has_vocab() {
            params.vocab = Some(Arc::new(file.vocab()?));
        }
        Ok(params)
    }
}

#[cfg(test)]
mod tests;
