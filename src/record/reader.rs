//! Reading a record.

use std::fs::File;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use memmap2::Mmap;

use super::error::{RecordError, RecordProblem};
use super::frame::{self, Cut};
use super::header::{BEGINNING, Header, Parameters};
use super::past::Tokens;
use super::stored::{Place, RecordedDraw, Stored, draw_of};
use crate::logits::map_file;
use crate::sampler::Snapshot;

/// A record, memory-mapped: rows are read when they are asked for.
#[derive(Debug)]
pub struct Record {
    path: PathBuf,
    bytes: Bytes,
    header: Header,
    n_vocab: Option<usize>,
    frames: Vec<Stored>,
    /// The frames that are draws.
    draws: Vec<usize>,
    /// The frames that change the parameters.
    changes: Vec<usize>,
    /// The frames that are states, which may change the seed.
    states: Vec<usize>,
    cut: Option<Cut>,
}

#[derive(Debug)]
enum Bytes {
    Map(Mmap),
    Read(Vec<u8>),
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Map(map) => map,
            Self::Read(bytes) => bytes,
        }
    }
}

/// What happened, in a record's order.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Frame<'r> {
    /// Tokens of a prompt were accepted.
    Prompt(Vec<u32>),
    /// A token was drawn.
    Draw(RecordedDraw<'r>),
    /// Tokens were accepted.
    Accept(Vec<u32>),
    /// So many of the last accepted tokens were taken back.
    Rewind(usize),
    /// The sampler was reset: no history, and every step as at the start.
    Reset,
    /// The parameters changed to these.
    Parameters(&'r Parameters),
    /// The sampler's whole state, from which it goes on.
    State(&'r Snapshot),
}

impl Record {
    /// Opens a record: the header and every frame are checked, and their CRC-32. The file may grow while it is open, which this
    /// does not see, and must not get shorter.
    ///
    /// # Errors
    /// A file that cannot be read, is no record, or has a frame that is damaged or says something that cannot be. A file whose
    /// end is missing is no error: see [`cut`](Self::cut).
    pub fn open(path: &Path) -> Result<Self, RecordError> {
        let map = File::open(path).and_then(|file| map_file(&file));
        Self::of_map(path, map.map_err(|error| RecordError { path: path.into(), problem: error.into() })?)
    }

    pub(crate) fn of_map(path: &Path, map: Mmap) -> Result<Self, RecordError> {
        Self::read(path, Bytes::Map(map))
    }

    /// Reads a record in memory, as a [`Recorder`](super::Recorder) into a `Vec<u8>` leaves it, or from a pipe.
    ///
    /// # Errors
    /// As [`open`](Self::open). The path in it is `record`.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, RecordError> {
        Self::read("record".as_ref(), Bytes::Read(bytes))
    }

    fn read(path: &Path, bytes: Bytes) -> Result<Self, RecordError> {
        let (header, start) = Header::read(&bytes).map_err(RecordError::of(path))?;
        let n_vocab = header.n_vocab.map(|n| n as usize);
        let (frames, draws, changes, states) = Default::default();
        let mut record = Self { path: path.into(), bytes, header, n_vocab, frames, draws, changes, states, cut: None };
        record.read_frames(start).map_err(RecordError::of(path))?;
        Ok(record)
    }

    fn read_frames(&mut self, start: usize) -> Result<(), RecordProblem> {
        let (mut at, mut past) = (start, Tokens::default());
        while at < self.bytes.len() {
            let i = self.frames.len();
            let wrong = |what: String| RecordProblem::Frame { frame: i, at: at as u64, what };
            let Some(found) = frame::read(&self.bytes[at..]).map_err(wrong)? else {
                if let Some(what) = frame::impossible_length(&self.bytes[at..], self.n_vocab) {
                    return Err(wrong(what));
                }
                self.cut = Some(Cut { at: at as u64, bytes: (self.bytes.len() - at) as u64 });
                break;
            };
            let place = Place { at: at + 8, n_vocab: self.n_vocab };
            let stored = place.store(found.kind, found.content).map_err(wrong)?;
            let end = at + found.bytes;
            match stored {
                Stored::Draw { n_vocab, .. } => {
                    self.n_vocab = Some(n_vocab);
                    self.draws.push(i);
                }
                Stored::Parameters(_) => self.changes.push(i),
                Stored::State(_) => {
                    self.changes.push(i);
                    self.states.push(i);
                }
                _ => {}
            }
            self.frames.push(stored);
            if let Some(frame) = self.frame(i)
                && !past.follow(&frame)
            {
                return Err(wrong(format!(
                    "it takes more tokens back than the {} that are accepted",
                    past.tokens().len()
                )));
            }
            at = end;
        }
        Ok(())
    }

    /// The file; `record` for one in memory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The first line.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// How many tokens the vocabulary has: the header's number, or the width of the first row. None where neither is there.
    pub fn n_vocab(&self) -> Option<usize> {
        self.n_vocab
    }

    /// Whether the end of the file is the beginning of a frame that was never written whole, as when a program was ended in the
    /// middle of one. All before it was read.
    pub fn is_cut(&self) -> bool {
        self.cut.is_some()
    }

    /// Where, if it is.
    pub fn cut(&self) -> Option<Cut> {
        self.cut
    }

    /// How many draws there are; 0 is the first.
    pub fn n_draws(&self) -> usize {
        self.draws.len()
    }

    /// A draw. None beyond the last.
    pub fn draw(&self, i: usize) -> Option<RecordedDraw<'_>> {
        match self.frame(*self.draws.get(i)?)? {
            Frame::Draw(draw) => Some(draw),
            _ => None,
        }
    }

    /// Copies the row of a draw into `row`. None beyond the last.
    pub fn row(&self, i: usize, row: &mut Vec<f32>) -> Option<()> {
        self.draw(i).map(|draw| draw.copy_row(row))
    }

    /// What happened, in its order.
    pub fn frames(&self) -> impl Iterator<Item = Frame<'_>> {
        (0..self.frames.len()).filter_map(|i| self.frame(i))
    }

    /// The tokens that were accepted before the first draw.
    pub fn prompt(&self) -> Vec<u32> {
        self.history(0).tokens().to_vec()
    }

    /// The history before a draw; behind the last draw, the one at the end of the record.
    pub fn history(&self, draw: usize) -> Tokens {
        let mut past = Tokens::default();
        self.frames().take(self.frame_of(draw)).for_each(|frame| {
            past.follow(&frame);
        });
        past
    }

    /// The tokens that were accepted after a draw and before the next, those of a prompt included. Empty beyond the last.
    pub fn accepted(&self, draw: usize) -> Vec<u32> {
        let accepted = self.after(draw).filter_map(|frame| match frame {
            Frame::Prompt(tokens) | Frame::Accept(tokens) => Some(tokens),
            _ => None,
        });
        accepted.flatten().collect()
    }

    /// The parameters of a draw; behind the last draw, those at the end of the record.
    pub fn parameters_at(&self, draw: usize) -> &Parameters {
        self.parameters_before(self.frame_of(draw))
    }

    /// The seed of a draw: the header's, or that of the last state before it.
    pub fn seed_at(&self, draw: usize) -> u32 {
        self.seed_before(self.frame_of(draw))
    }

    pub(crate) fn parameters_before(&self, frame: usize) -> &Parameters {
        match self.last_before(&self.changes, frame) {
            Some(Stored::Parameters(parameters)) => parameters,
            Some(Stored::State(state)) => &state.1,
            _ => &self.header.parameters,
        }
    }

    pub(crate) fn seed_before(&self, frame: usize) -> u32 {
        match self.last_before(&self.states, frame) {
            Some(Stored::State(state)) => state.0.seed,
            _ => self.header.seed,
        }
    }

    fn last_before(&self, some: &[usize], frame: usize) -> Option<&Stored> {
        let last = some.partition_point(|&i| i < frame).checked_sub(1)?;
        self.frames.get(*some.get(last)?)
    }

    /// The frames after a draw and before the next.
    pub(crate) fn after(&self, draw: usize) -> impl Iterator<Item = Frame<'_>> {
        let from = self.frame_of(draw).saturating_add(1).min(self.frames.len());
        (from..self.frame_of(draw.saturating_add(1))).filter_map(|i| self.frame(i))
    }

    /// Where a draw stands among the frames; behind the last draw, how many frames there are.
    pub(super) fn frame_of(&self, draw: usize) -> usize {
        self.draws.get(draw).copied().unwrap_or(self.frames.len())
    }

    pub(crate) fn frame(&self, i: usize) -> Option<Frame<'_>> {
        let ids = |at: usize, words: usize| {
            let bytes = self.bytes.get(at..at + words * 4).unwrap_or_default();
            bytes.as_chunks().0.iter().map(|four| u32::from_le_bytes(*four)).collect()
        };
        Some(match self.frames.get(i)? {
            &Stored::Prompt { at, words } => Frame::Prompt(ids(at, words)),
            &Stored::Accept { at, words } => Frame::Accept(ids(at, words)),
            &Stored::Draw { at, n_vocab } => Frame::Draw(draw_of(self.bytes.get(at..)?, n_vocab)?),
            &Stored::Rewind(n) => Frame::Rewind(n),
            Stored::Reset => Frame::Reset,
            Stored::Parameters(parameters) => Frame::Parameters(parameters),
            Stored::State(state) => Frame::State(&state.0),
        })
    }
}

/// Whether a file begins as a record does.
pub(crate) fn is_record(bytes: &[u8]) -> bool {
    bytes.starts_with(BEGINNING)
}
