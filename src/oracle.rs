//! Oracle cases: recorded results of the real llama.cpp, read, replayed and compared bit for bit.
//!
//! `sampler-chain verify` and the tests are built on [`Replayer`]. The format is that of the oracle's FORMAT.md with the
//! additions of `testing/README.md`.

mod array;
mod case;
mod draws;
mod replay;
mod tables;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sampler_steps::{Cand, EncodeError, Vocab};
use sha2::{Digest, Sha256};

pub use array::{ArraySet, ArrayStep, CaseEvent, Selection, StartSet, array_digest};
pub use case::{
    Case, CaseLogits, Encodings, Expect, ExpectVocab, FileRef, FileRows, FinalSet, Logit, Probs, StepSet,
    SyntheticRows, ValueRows, VocabRef,
};
pub(crate) use replay::same;
use serde::Deserialize;

use crate::document;
use crate::error::{FileError, FileProblem};
use crate::gguf::GgufFile;
use crate::logits::LogitsFile;
use crate::packed::{is_packed, unpack};
use crate::vocab_file::VocabFile;

/// The first line of a file: which program, build, compiler, libc, processor, model and recorder made it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    #[allow(dead_code)] // Only whether it is there counts.
    head: std::collections::BTreeMap<String, Option<String>>,
}

/// Why a case failed: the first thing that differs.
pub type Failure = String;

/// Replays the cases of files, and keeps the vocabularies and logits that they name.
#[derive(Debug, Default)]
pub struct Replayer {
    vocabs: BTreeMap<PathBuf, Arc<VocabFile>>,
    logits: BTreeMap<(PathBuf, String), Arc<LogitsFile>>,
}

/// What became of one case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The case's name, or its line where it has none.
    pub name: String,
    /// Why it failed, if it did.
    pub failure: Option<Failure>,
}

impl Replayer {
    /// Replays every case of a file, which may be [packed](read_cases), and tells each outcome as it comes. A line that is a
    /// `head` and nothing else describes the recording and is passed over.
    ///
    /// # Errors
    /// A file that cannot be read or unpacked. A line that is no case is a failed case.
    pub fn replay_file(&mut self, path: &Path, mut tell: impl FnMut(Outcome)) -> Result<(), FileError> {
        let text = read_cases(path)?;
        let dir = path.parent().unwrap_or(Path::new("."));
        for (i, line) in text.lines().enumerate() {
            if line.trim().is_empty() || serde_json::from_str::<Head>(line).is_ok() {
                continue;
            }
            let (name, failure) = match serde_json::from_str::<Case>(line) {
                Ok(case) => {
                    let failure = self.replay(&case, dir).err();
                    (case.name, failure)
                }
                Err(error) => (format!("line {}", i + 1), Some(format!("not a case: {error}"))),
            };
            tell(Outcome { name, failure });
        }
        Ok(())
    }

    fn vocab(&mut self, path: PathBuf) -> Result<Arc<VocabFile>, Failure> {
        if let Some(vocab) = self.vocabs.get(&path) {
            return Ok(vocab.clone());
        }
        let vocab = Arc::new(VocabFile::read(&path).map_err(|error| error.to_string())?);
        self.vocabs.insert(path, vocab.clone());
        Ok(vocab)
    }

    /// A vocabulary in a GGUF file, with the tokens of the texts that the case needs.
    fn gguf_vocab(path: &Path, encodings: Vec<(Vec<u8>, Vec<u32>)>) -> Result<Arc<dyn Vocab>, Failure> {
        let vocab = GgufFile::open(path).and_then(|file| file.vocab()).map_err(|error| error.to_string())?;
        let encodings: BTreeMap<Vec<u8>, Vec<u32>> = encodings.into_iter().collect();
        Ok(Arc::new(vocab.with_encoder(move |text| {
            let why = || EncodeError { text: text.escape_ascii().to_string(), why: "the case does not tell".into() };
            encodings.get(text).cloned().ok_or_else(why)
        })))
    }

    fn logits(&mut self, path: PathBuf, tensor: &str) -> Result<Arc<LogitsFile>, Failure> {
        let key = (path, tensor.to_string());
        if let Some(logits) = self.logits.get(&key) {
            return Ok(logits.clone());
        }
        let logits = Arc::new(LogitsFile::open(&key.0, Some(tensor)).map_err(|error| error.to_string())?);
        self.logits.insert(key, logits.clone());
        Ok(logits)
    }
}

/// The text of a file of cases: one a line. A file whose name ends in `.gz` is unpacked, to at most 64 MB.
///
/// # Errors
/// A file that cannot be read or is not UTF-8; one that ends in `.gz` and is not packed with gzip, cut short, broken, or larger.
pub fn read_cases(path: &Path) -> Result<String, FileError> {
    if !is_packed(path) {
        return document::read_text(path);
    }
    let problem = |what: String| FileError { path: path.into(), problems: vec![FileProblem::new(None, what)] };
    let bytes = unpack(path).map_err(|error| problem(error.to_string()))?;
    let text =
        String::from_utf8(bytes).map_err(|error| problem(format!("what is packed in it is no text: {error}")))?;
    Ok(document::without_mark(text))
}

/// The first 16 hexadecimal digits of SHA-256 over every candidate's id, logit and, where `with_p`, p, in little-endian.
pub fn digest(cands: &[Cand], with_p: bool) -> String {
    let mut bytes = Vec::with_capacity(cands.len() * 12);
    for cand in cands {
        bytes.extend_from_slice(&cand.id.to_le_bytes());
        bytes.extend_from_slice(&cand.logit.to_le_bytes());
        if with_p {
            bytes.extend_from_slice(&cand.p.to_le_bytes());
        }
    }
    hex::encode(&Sha256::digest(&bytes)[..8])
}
