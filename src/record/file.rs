//! Records as files: beginning one, going on with one, mending one.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use sampler_steps::Vocab;

use super::error::{RecordError, RecordProblem, ReplayError};
use super::frame::Cut;
use super::header::{Header, Parameters};
use super::reader::Record;
use super::writer::Recorder;
use crate::sampler::Sampler;

impl Recorder<File> {
    /// Begins a record in a new file.
    ///
    /// # Errors
    /// A file that is there already, which is left alone, or cannot be written.
    pub fn create(path: &Path, sampler: &Sampler) -> Result<Self, RecordError> {
        let header = Header::of(sampler).map_err(RecordError::of(path))?;
        Self::create_with(path, &header, sampler)
    }

    /// The same with a header that says more: `Header::of(&sampler)?.with_note("my engine 0.3")`.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    pub fn create_with(path: &Path, header: &Header, sampler: &Sampler) -> Result<Self, RecordError> {
        let created = OpenOptions::new().write(true).create_new(true).open(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => RecordProblem::Exists,
            _ => error.into(),
        });
        let file = created.and_then(locked).map_err(RecordError::of(path))?;
        Self::started(file, path.into(), header, sampler)
    }

    /// Goes on with a record, with a sampler in whatever state: what a program does that was ended and starts anew. The
    /// sampler's state is written first, so that a replay can follow.
    ///
    /// # Errors
    /// A record of another vocabulary or of other parameters than the sampler's, one whose end is [cut](Record::cut), or what
    /// cannot be read or written. The file is as it was then.
    pub fn append(path: &Path, sampler: &Sampler) -> Result<Self, RecordError> {
        let (file, record) = open_to_append(path)?;
        let of = RecordError::of(path);
        match (record.n_vocab(), sampler.ctx().n_vocab()) {
            (Some(there), Some(here)) if there != here => return Err(of(RecordProblem::OtherVocab { there, here })),
            _ => {}
        }
        if let Err(problem) = same_parameters(&record, sampler) {
            return Err(of(problem));
        }
        let mut recorder = Self::behind(file, &record);
        recorder.state(sampler)?;
        Ok(recorder)
    }

    /// Goes on where a record ended: replays it, and gives the sampler as it was then. The file is the same afterwards as if
    /// it had been written at once.
    ///
    /// # Errors
    /// A record that cannot be replayed, or in which a token is not what its chain draws; and as [`append`](Self::append).
    pub fn resume(path: &Path, vocab: Option<Arc<dyn Vocab>>) -> Result<(Self, Sampler), RecordError> {
        let (file, record) = open_to_append(path)?;
        let mut replay = record.replay(record.sampler(vocab)?);
        for replayed in &mut replay {
            let replayed = replayed.map_err(|error| RecordError::of(path)(error.into()))?;
            if replayed.drawn != Ok(replayed.recorded) {
                let drawn = match replayed.drawn {
                    Ok(token) => token.to_string(),
                    Err(error) => error.to_string(),
                };
                let other = ReplayError::OtherToken { draw: replayed.draw, recorded: replayed.recorded, drawn };
                return Err(RecordError::of(path)(other.into()));
            }
        }
        let sampler = replay.into_sampler();
        Ok((Self::behind(file, &record), sampler))
    }
}

/// Cuts off the beginning of a frame that was never written whole, and tells what was cut off; none where nothing was.
///
/// # Errors
/// A record that cannot be read or written, or is cut in its header: then there is nothing to keep.
pub fn mend(path: &Path) -> Result<Option<Cut>, RecordError> {
    let (file, record) = open_locked(path)?;
    let cut = record.cut();
    // The map must not outlive what it maps.
    drop(record);
    if let Some(cut) = cut {
        file.set_len(cut.at).map_err(|error| RecordError { path: path.into(), problem: error.into() })?;
    }
    Ok(cut)
}

/// Whether a sampler has the parameters with which a record ends.
pub(super) fn same_parameters(record: &Record, sampler: &Sampler) -> Result<(), RecordProblem> {
    let (there, here) = (record.parameters_at(record.n_draws()), Parameters::of(sampler)?);
    match there.changes(&here).first() {
        None => Ok(()),
        Some(change) => Err(RecordProblem::OtherParameters(change.describe("the record", "this sampler"))),
    }
}

fn open_to_append(path: &Path) -> Result<(File, Record), RecordError> {
    let (mut file, record) = open_locked(path)?;
    if let Some(cut) = record.cut() {
        return Err(RecordError::of(path)(RecordProblem::Cut(cut)));
    }
    file.seek(SeekFrom::End(0)).map_err(|error| RecordError { path: path.into(), problem: error.into() })?;
    Ok((file, record))
}

fn open_locked(path: &Path) -> Result<(File, Record), RecordError> {
    let opened = OpenOptions::new().write(true).open(path).map_err(RecordProblem::from);
    let file = opened.and_then(locked).map_err(RecordError::of(path))?;
    let record = Record::open(path)?;
    Ok((file, record))
}

/// Keeps other recorders away as long as the file is open. Where the file system has no locks, nobody is kept away.
fn locked(file: File) -> Result<File, RecordProblem> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(RecordProblem::Busy),
        Ok(()) | Err(TryLockError::Error(_)) => Ok(file),
    }
}
