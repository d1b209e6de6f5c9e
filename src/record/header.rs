//! The first line of a record.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::error::RecordProblem;
use crate::sampler::{NonFinite, Sampler, Snapshot};

/// The version that this crate writes, and the only one so far.
pub const VERSION: u32 = 1;

/// How every record begins.
pub const BEGINNING: &[u8] = b"{\"sampler_chain_record\":";

/// A header's line is so long at most, its newline included.
pub const MAX_BYTES: usize = 1 << 24;

/// What a record is of: the vocabulary's size, the seed, the parameters, and who wrote it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// First in the line, so that a record is known by its first bytes.
    #[serde(rename = "sampler_chain_record")]
    version: u32,
    /// How many tokens the vocabulary has, and a row logits. None where nobody knew it before the first draw, which tells.
    pub n_vocab: Option<u32>,
    /// The seed that was really used; every value is one.
    pub seed: u32,
    /// The parameters at the start.
    #[serde(flatten)]
    pub parameters: Parameters,
    /// The program that wrote the file: this crate's name and version, where nobody says otherwise.
    #[serde(default)]
    pub program: String,
    /// Anything: the engine, the model, why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// All that tells one sampler from another beside seed and history.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Parameters {
    /// The chain as a chain file has it, without its seed: `{"version": 1, "steps": […]}`.
    pub chain: Value,
    /// A number for each DRY step, which tells its breakers from others: as tokens they depend on the vocabulary. Empty where
    /// there is no such step, or whoever wrote this did not know.
    #[serde(default)]
    pub dry_breakers: Vec<u64>,
    /// What the sampler does with rows that are not finite.
    #[serde(default)]
    pub non_finite: NonFinite,
}

/// A saved state, and what a snapshot does not tell.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    pub non_finite: NonFinite,
    pub snapshot: Snapshot,
}

impl Header {
    /// The header of a sampler's record.
    ///
    /// # Errors
    /// A step of another crate whose parameters JSON cannot hold.
    pub fn of(sampler: &Sampler) -> Result<Self, RecordProblem> {
        let n_vocab = sampler.ctx().n_vocab().and_then(|n| u32::try_from(n).ok());
        Ok(Self { n_vocab, ..Self::new(sampler.seed(), Parameters::of(sampler)?) })
    }

    /// A header for an engine with a sampler of its own, which says what this crate's would be.
    pub fn new(seed: u32, parameters: Parameters) -> Self {
        let program = concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION")).to_string();
        Self { version: VERSION, n_vocab: None, seed, parameters, program, note: None }
    }

    /// The same with a note.
    pub fn with_note(mut self, note: impl Into<String>) -> Self {
        self.note = Some(note.into());
        self
    }

    /// The line, padded with spaces so that what follows stands at a multiple of four bytes.
    pub(super) fn to_line(&self) -> Result<Vec<u8>, RecordProblem> {
        let mut line = serde_json::to_vec(self).map_err(|error| RecordProblem::Header(error.to_string()))?;
        super::frame::pad(&mut line, 1);
        line.push(b'\n');
        if line.len() > MAX_BYTES {
            return Err(RecordProblem::Header(format!("its {} bytes are more than {MAX_BYTES}", line.len())));
        }
        Ok(line)
    }

    /// Reads the line at the start of a file, and tells where it ends.
    pub(super) fn read(bytes: &[u8]) -> Result<(Self, usize), RecordProblem> {
        let begins = bytes.len().min(BEGINNING.len());
        if bytes[..begins] != BEGINNING[..begins] {
            return Err(RecordProblem::NotARecord);
        }
        let searched = &bytes[..bytes.len().min(MAX_BYTES)];
        let Some(newline) = searched.iter().position(|&byte| byte == b'\n') else {
            return Err(RecordProblem::HeaderCut { bytes: bytes.len() });
        };
        // A later version may have other fields, so its number is read before them.
        #[derive(Deserialize)]
        struct Version {
            sampler_chain_record: u64,
        }
        let wrong = |error: serde_json::Error| RecordProblem::Header(error.to_string());
        let version: Version = serde_json::from_slice(&bytes[..newline]).map_err(wrong)?;
        if version.sampler_chain_record != u64::from(VERSION) {
            return Err(RecordProblem::Version(version.sampler_chain_record));
        }
        let header: Self = serde_json::from_slice(&bytes[..newline]).map_err(wrong)?;
        if header.n_vocab == Some(0) {
            return Err(RecordProblem::Header("n_vocab is 0: a vocabulary has tokens".to_string()));
        }
        if (newline + 1) % 4 != 0 {
            let what = format!("the line has {} bytes, and a multiple of 4 is wanted", newline + 1);
            return Err(RecordProblem::Header(what));
        }
        Ok((header, newline + 1))
    }
}

impl Parameters {
    /// A sampler's.
    ///
    /// # Errors
    /// A step of another crate whose parameters JSON cannot hold.
    pub fn of(sampler: &Sampler) -> Result<Self, RecordProblem> {
        let steps =
            serde_json::to_value(sampler.chain().steps()).map_err(|error| RecordProblem::Chain(error.to_string()))?;
        Ok(Self { chain: chain_file(steps), dry_breakers: sampler.breaker_digests(), non_finite: sampler.non_finite() })
    }

    /// What a saved state implies.
    pub(super) fn of_state(state: &State) -> Self {
        let Snapshot { chain, dry_breakers, .. } = &state.snapshot;
        let steps = chain.get("steps").cloned().unwrap_or_default();
        Self { chain: chain_file(steps), dry_breakers: dry_breakers.clone(), non_finite: state.non_finite }
    }

    /// The steps, as they stand in the chain.
    pub fn steps(&self) -> &[Value] {
        self.chain.get("steps").and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// Whether DRY's breakers are others, as far as both know them.
    pub(super) fn has_other_breakers(&self, digests: &[u64]) -> bool {
        !self.dry_breakers.is_empty() && !digests.is_empty() && self.dry_breakers != digests
    }
}

/// A chain file's content, of its steps.
fn chain_file(steps: Value) -> Value {
    Value::Object(Map::from_iter([("version".to_string(), 1.into()), ("steps".to_string(), steps)]))
}
