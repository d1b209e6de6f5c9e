//! A vocabulary in a JSON file, as the oracle's FORMAT.md describes it.

use std::collections::BTreeMap;
use std::path::Path;

use sampler_steps::{EncodeError, Vocab};
use serde::Deserialize;

use crate::document;
use crate::error::{FileError, FileProblem};

/// A vocabulary read from a JSON file: the bytes of each token, the end tokens, and the tokens of the few texts that somebody
/// needs encoded.
#[derive(Debug, Clone)]
pub struct VocabFile {
    pieces: Vec<Vec<u8>>,
    eog: Vec<u32>,
    eot: Option<u32>,
    eos: Option<u32>,
    encodings: BTreeMap<Vec<u8>, Vec<u32>>,
}

#[derive(Deserialize)]
struct Raw {
    pieces_hex: Vec<String>,
    #[serde(default)]
    eog: Vec<u32>,
    eot: Option<u32>,
    eos: Option<u32>,
    #[serde(default)]
    encode: BTreeMap<String, Vec<u32>>,
}

impl VocabFile {
    /// Reads a file with the keys `pieces_hex` (the bytes of each token in hexadecimal), `eog`, `eot`, `eos` and, for texts
    /// that must be encoded, `encode` (text to tokens).
    ///
    /// # Errors
    /// A file that cannot be read, has other types, or names tokens that it does not have.
    pub fn read(path: &Path) -> Result<Self, FileError> {
        let problem = |what: String| FileError { path: path.into(), problems: vec![FileProblem::new(None, what)] };
        let text = document::read_text(path)?;
        let raw: Raw = serde_json::from_str(&text).map_err(|error| problem(error.to_string()))?;
        let pieces: Vec<Vec<u8>> = raw
            .pieces_hex
            .iter()
            .enumerate()
            .map(|(id, piece)| hex::decode(piece).map_err(|error| problem(format!("pieces_hex: token {id}: {error}"))))
            .collect::<Result<_, _>>()?;
        let named = raw.eog.iter().chain(&raw.eot).chain(&raw.eos).chain(raw.encode.values().flatten());
        if let Some(id) = named.into_iter().find(|&&id| id as usize >= pieces.len()) {
            return Err(problem(format!("token {id} is beyond the vocabulary of {} tokens", pieces.len())));
        }
        let encodings = raw.encode.into_iter().map(|(text, tokens)| (text.into_bytes(), tokens)).collect();
        Ok(Self { pieces, eog: raw.eog, eot: raw.eot, eos: raw.eos, encodings })
    }

    /// A vocabulary of so many empty pieces, for what needs no more than their number.
    pub(crate) fn blank(n_tokens: usize) -> Self {
        let pieces = vec![Vec::new(); n_tokens];
        Self { pieces, eog: Vec::new(), eot: None, eos: None, encodings: BTreeMap::new() }
    }

    /// The same with the tokens of some texts.
    pub fn with_encodings(mut self, encodings: impl IntoIterator<Item = (String, Vec<u32>)>) -> Self {
        self.encodings.extend(encodings.into_iter().map(|(text, tokens)| (text.into_bytes(), tokens)));
        self
    }
}

impl Vocab for VocabFile {
    fn n_tokens(&self) -> usize {
        self.pieces.len()
    }

    fn piece(&self, id: u32) -> &[u8] {
        self.pieces.get(id as usize).map_or(&[], Vec::as_slice)
    }

    fn is_eog(&self, id: u32) -> bool {
        self.eog.contains(&id)
    }

    fn eot(&self) -> Option<u32> {
        self.eot
    }

    fn eos(&self) -> Option<u32> {
        self.eos
    }

    fn encode(&self, text: &[u8]) -> Result<Vec<u32>, EncodeError> {
        if text.is_empty() {
            return Ok(Vec::new());
        }
        self.encodings.get(text).cloned().ok_or_else(|| EncodeError {
            text: text.escape_ascii().to_string(),
            why: "a vocabulary file only knows the texts under its key encode".to_string(),
        })
    }
}
