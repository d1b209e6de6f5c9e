//! A vocabulary in a JSON file, as the oracle's FORMAT.md describes it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use sampler_steps::{EncodeError, Vocab};
use serde::Deserialize;

use crate::document;
use crate::error::{FileError, FileProblem};
use crate::packed::{UnpackError, is_packed, unpack};

/// A vocabulary read from a JSON file: the bytes of each token, the end tokens, and the tokens of the few texts that somebody
/// needs encoded.
#[derive(Debug, Clone)]
pub struct VocabFile {
    n_tokens: usize,
    pieces: Pieces,
    control: BTreeSet<u32>,
    eog: BTreeSet<u32>,
    eot: Option<u32>,
    eos: Option<u32>,
    encodings: BTreeMap<Vec<u8>, Vec<u32>>,
}

/// The bytes of all tokens, one after another: tables of millions of tokens take little more than the file.
#[derive(Debug, Clone, Default)]
struct Pieces {
    bytes: Vec<u8>,
    ends: Vec<u32>,
}

impl Pieces {
    fn push(&mut self, piece: &[u8]) -> Result<(), String> {
        self.bytes.extend_from_slice(piece);
        let end =
            u32::try_from(self.bytes.len()).map_err(|_| "its tokens are longer than 4 GB together".to_string())?;
        self.ends.push(end);
        Ok(())
    }

    /// The bytes of a token; none beyond the last.
    fn get(&self, id: u32) -> &[u8] {
        let id = id as usize;
        let Some(&end) = self.ends.get(id) else { return &[] };
        let start = id.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start as usize..end as usize]
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object with pieces_hex, eog, eot, eos and encode")]
struct Raw {
    #[serde(default, rename = "source")]
    _source: Option<String>,
    pieces_hex: Vec<String>,
    #[serde(default)]
    control: BTreeSet<u32>,
    #[serde(default)]
    eog: BTreeSet<u32>,
    eot: Option<u32>,
    eos: Option<u32>,
    #[serde(default)]
    encode: BTreeMap<String, Vec<u32>>,
}

impl VocabFile {
    /// Reads a JSON file with the keys `pieces_hex` (the bytes of each token in hexadecimal), `eog`, `eot`, `eos`, `control`
    /// (the tokens that are no text) and, for texts that must be encoded, `encode` (text to tokens). A file whose name ends in
    /// `.gz` is read as testing/README.md lays it out.
    ///
    /// # Errors
    /// A file that cannot be read, has other keys or types, or names tokens that it does not have.
    pub fn read(path: &Path) -> Result<Self, FileError> {
        let problem = |what: String| FileError { path: path.into(), problems: vec![FileProblem::new(None, what)] };
        let vocab = if is_packed(path) {
            Self::from_gz(path).map_err(problem)?
        } else {
            Self::from_json(&document::read_text(path)?).map_err(problem)?
        };
        let named = vocab.eog.iter().chain(&vocab.control).chain(&vocab.eot).chain(&vocab.eos);
        if let Some(id) = named.chain(vocab.encodings.values().flatten()).find(|&&id| id as usize >= vocab.n_tokens) {
            return Err(problem(format!("token {id} is beyond the vocabulary of {} tokens", vocab.n_tokens)));
        }
        Ok(vocab)
    }

    fn from_json(text: &str) -> Result<Self, String> {
        let raw: Raw = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let mut pieces = Pieces::default();
        for (id, piece) in raw.pieces_hex.iter().enumerate() {
            pieces.push(&hex::decode(piece).map_err(|error| format!("pieces_hex: token {id}: {error}"))?)?;
        }
        let encodings = raw.encode.into_iter().map(|(text, tokens)| (text.into_bytes(), tokens)).collect();
        let (n_tokens, control) = (pieces.ends.len(), raw.control);
        Ok(Self { n_tokens, pieces, control, eog: raw.eog, eot: raw.eot, eos: raw.eos, encodings })
    }

    fn from_gz(path: &Path) -> Result<Self, String> {
        let bytes = unpack(path).map_err(|error| match error {
            UnpackError::TooLarge => format!("{error}: it is no vocabulary"),
            _ => error.to_string(),
        })?;
        let mut rest = bytes.as_slice();
        let mut take = |n: usize| -> Result<&[u8], String> {
            let (taken, left) = rest.split_at_checked(n).ok_or("it ends too early")?;
            rest = left;
            Ok(taken)
        };
        let number = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("four bytes"));
        let n_tokens = number(take(4)?) as usize;
        let lengths = take(n_tokens)?;
        let mut pieces = Pieces::default();
        for &n in lengths {
            pieces.push(take(n.into())?)?;
        }
        let n_eog = number(take(4)?) as usize;
        let eog = take(n_eog.saturating_mul(4))?.as_chunks().0.iter().map(|four| u32::from_le_bytes(*four)).collect();
        let mut end = || take(4).map(|bytes| u32::try_from(number(bytes) as i32).ok());
        let (eot, eos) = (end()?, end()?);
        Ok(Self { n_tokens, pieces, control: BTreeSet::new(), eog, eot, eos, encodings: BTreeMap::new() })
    }

    /// A vocabulary of so many empty pieces, for what needs no more than their number.
    pub(crate) fn blank(n_tokens: usize) -> Self {
        let (pieces, control, eog) = (Pieces::default(), BTreeSet::new(), BTreeSet::new());
        Self { n_tokens, pieces, control, eog, eot: None, eos: None, encodings: BTreeMap::new() }
    }

    /// The same with the tokens of some texts, as bytes: they may begin or end inside a character.
    pub fn with_encodings(mut self, encodings: impl IntoIterator<Item = (Vec<u8>, Vec<u32>)>) -> Self {
        self.encodings.extend(encodings);
        self
    }

    /// The same with these tokens known to be no text.
    pub fn with_control(mut self, control: impl IntoIterator<Item = u32>) -> Self {
        self.control.extend(control);
        self
    }
}

impl Vocab for VocabFile {
    fn n_tokens(&self) -> usize {
        self.n_tokens
    }

    fn piece(&self, id: u32) -> &[u8] {
        self.pieces.get(id)
    }

    fn is_control(&self, id: u32) -> bool {
        self.control.contains(&id)
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
