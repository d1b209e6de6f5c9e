//! What can be wrong with a record.

use std::io;
use std::path::{Path, PathBuf};

use super::frame::Cut;
use crate::error::SampleError;
use crate::sampler::EngineError;

/// A record that cannot be read, written or continued. Its text names the file.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", path.display())]
pub struct RecordError {
    /// The file; `record` where a record goes through memory or another writer.
    pub path: PathBuf,
    /// What is wrong.
    #[source]
    pub problem: RecordProblem,
}

impl RecordError {
    pub(super) fn of(path: &Path) -> impl FnOnce(RecordProblem) -> Self {
        let path = path.to_path_buf();
        |problem| Self { path, problem }
    }
}

/// What is wrong with a record.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordProblem {
    /// It cannot be opened, read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A new record is wanted, and the file is there. Nothing is written over.
    #[error("is there already: append to it, or take another name")]
    Exists,
    /// Somebody else is writing it.
    #[error("another recorder is writing it")]
    Busy,
    /// The file is something else.
    #[error("this is no record: it does not begin with {{\"sampler_chain_record\":")]
    NotARecord,
    /// The header does not end: the file was cut in it, or is empty.
    #[error("the header is cut: {bytes} bytes, and no end of its line")]
    HeaderCut {
        /// The length of the file.
        bytes: usize,
    },
    /// A version that this crate does not know.
    #[error("version {0} of records is not known; this is version 1")]
    Version(u64),
    /// A header that says something that cannot be.
    #[error("the header: {0}")]
    Header(String),
    /// A frame that is damaged or says something that cannot be. What came before it is not given out either: a file in
    /// which something is wrong is not one to build on.
    #[error("frame {frame}, byte {at}: {what}")]
    Frame {
        /// The frame; 0 is the first after the header.
        frame: usize,
        /// Where it begins.
        at: u64,
        /// What is wrong.
        what: String,
    },
    /// A record that is to be continued ends in the middle of a frame. [`mend`](super::mend) cuts that off.
    #[error("its last frame is cut: {} bytes from byte {} on belong to none; mend it first", .0.bytes, .0.at)]
    Cut(Cut),
    /// The record is of another vocabulary.
    #[error("the record is of a vocabulary of {there} tokens, and this one has {here}")]
    OtherVocab {
        /// The record's.
        there: usize,
        /// The vocabulary's, or the sampler's.
        here: usize,
    },
    /// The record is of another chain.
    #[error("the record is of other parameters: {0}")]
    OtherParameters(String),
    /// A row that is not as wide as the vocabulary, or as the rows before it.
    #[error("the row has {found} logits, and the record's rows {n_vocab}")]
    RowWidth {
        /// How many logits came.
        found: usize,
        /// How many there are in a row.
        n_vocab: usize,
    },
    /// A token that the vocabulary does not have.
    #[error("token {token} is beyond the vocabulary of {n_vocab} tokens")]
    TokenBeyondVocab {
        /// The token.
        token: u32,
        /// How many tokens there are.
        n_vocab: usize,
    },
    /// More tokens are taken back than there are.
    #[error("{asked} tokens cannot be taken back: {there} are accepted")]
    TooFarBack {
        /// How many were asked for.
        asked: usize,
        /// How many there are.
        there: usize,
    },
    /// A frame holds 16 GiB at most.
    #[error("a frame of 16 GiB or more cannot be written")]
    TooLarge,
    /// A frame was written in part.
    #[error("an earlier frame could not be written whole, and none can follow it")]
    Broken,
    /// The chain cannot be written, or read again in this program.
    #[error("the chain: {0}")]
    Chain(String),
    /// The breakers of DRY cannot be made again.
    #[error(
        "the breakers of DRY are others here than when it was recorded: the model's vocabulary is needed (or \
         Sampler::set_dry_breakers, where an engine gave them)"
    )]
    OtherBreakers,
    /// The record cannot be replayed to its end, so that nothing can go on from there.
    #[error(transparent)]
    Replay(#[from] ReplayError),
}

/// A record that cannot be replayed any further.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// A token that the sampler does not accept.
    #[error("frame {frame}: {source}")]
    Accept {
        /// The frame.
        frame: usize,
        /// Why.
        source: SampleError,
    },
    /// Tokens cannot be taken back, or a state not be brought back.
    #[error("frame {frame}: {source}")]
    State {
        /// The frame.
        frame: usize,
        /// Why.
        source: EngineError,
    },
    /// Other parameters that a running sampler cannot take.
    #[error("frame {frame}: the parameters change to some that cannot be taken over: {what}")]
    Parameters {
        /// The frame.
        frame: usize,
        /// Why.
        what: String,
    },
    /// A draw gives another token than the record says, where it has to be the same.
    #[error("draw {draw}: the record's token {recorded} is not what its chain draws here ({drawn})")]
    OtherToken {
        /// The draw; 0 is the first.
        draw: usize,
        /// The record's token.
        recorded: u32,
        /// What was drawn, or why nothing was.
        drawn: String,
    },
}
