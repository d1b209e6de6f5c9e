//! Logits files, memory-mapped, and the synthetic rows of oracle cases.

use std::fs::File;
use std::path::{Path, PathBuf};

use memmap2::Mmap;
use safetensors::{Dtype, SafeTensors};
use sampler_steps::libstdcxx::Mt19937;
use serde::{Deserialize, Serialize};

use crate::record::{Record, RecordError, is_record};

/// A file of logits: a safetensors file with a tensor of F32, shape [rows, n_vocab], or a [`Record`], whose draws are the rows.
#[derive(Debug)]
pub struct LogitsFile {
    source: Source,
    n_rows: usize,
    n_vocab: usize,
}

#[derive(Debug)]
enum Source {
    /// The file, and where the tensor begins in it.
    Tensor(Mmap, usize),
    Record(Box<Record>),
}

/// A logits file that cannot be used. Every text names the file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogitsError {
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// It is no safetensors file, or it is cut.
    #[error("{}: not a safetensors file, or cut short: {reason}", path.display())]
    NotSafetensors {
        /// The file.
        path: PathBuf,
        /// What the reader said.
        reason: String,
    },
    /// It has no tensor of that name.
    #[error("{}: no tensor {tensor}; there is {there}", path.display())]
    NoTensor {
        /// The file.
        path: PathBuf,
        /// The tensor that was asked for.
        tensor: String,
        /// The tensors that there are.
        there: String,
    },
    /// The tensor is not F32 of two dimensions.
    #[error("{}: tensor {tensor} is {found}, and F32 of shape [rows, n_vocab] is wanted", path.display())]
    NotRows {
        /// The file.
        path: PathBuf,
        /// The tensor.
        tensor: String,
        /// Its type and shape.
        found: String,
    },
    /// Rows that the file does not have.
    #[error("{}: rows {from}..{to} of {n_rows}", path.display())]
    NoRows {
        /// The file.
        path: PathBuf,
        /// The first row.
        from: usize,
        /// Behind the last row.
        to: usize,
        /// How many there are.
        n_rows: usize,
    },
    /// It is a record that cannot be read.
    #[error(transparent)]
    Record(#[from] RecordError),
}

impl LogitsFile {
    /// Opens a file. `tensor` may be left out where there is only one; a record has none. The file must not get shorter while
    /// it is open.
    ///
    /// # Errors
    /// A file that cannot be read, is cut, or has no such tensor of F32 with two dimensions.
    pub fn open(path: &Path, tensor: Option<&str>) -> Result<Self, LogitsError> {
        let io = |source| LogitsError::Io { path: path.into(), source };
        let file = File::open(path).map_err(io)?;
        let map = map_file(&file).map_err(io)?;
        if is_record(&map) {
            return Ok(Self::of_record(Record::of_map(path, map)?));
        }
        let read = SafeTensors::deserialize(&map).map_err(|error| {
            let reason = format!("{error} ({} bytes)", map.len());
            LogitsError::NotSafetensors { path: path.into(), reason }
        })?;
        let mut names = read.names();
        names.sort_unstable();
        let name = match (tensor, names.as_slice()) {
            (Some(name), _) => name,
            (None, [only]) => only,
            (None, _) => "logits",
        };
        let view = read.tensor(name).map_err(|_| LogitsError::NoTensor {
            path: path.into(),
            tensor: name.into(),
            there: if names.is_empty() { "none".into() } else { names.join(", ") },
        })?;
        let &[n_rows, n_vocab] = view.shape() else { return Err(not_rows(path, name, view.dtype(), view.shape())) };
        let start = view.data().as_ptr() as usize - map.as_ptr() as usize;
        if view.dtype() != Dtype::F32 || n_vocab == 0 {
            return Err(not_rows(path, name, view.dtype(), view.shape()));
        }
        Ok(Self { source: Source::Tensor(map, start), n_rows, n_vocab })
    }

    /// The rows of a record: one a draw.
    pub fn of_record(record: Record) -> Self {
        let (n_rows, n_vocab) = (record.n_draws(), record.n_vocab().unwrap_or(0));
        Self { source: Source::Record(Box::new(record)), n_rows, n_vocab }
    }

    /// The record, where the file is one.
    pub fn record(&self) -> Option<&Record> {
        match &self.source {
            Source::Record(record) => Some(record),
            Source::Tensor(..) => None,
        }
    }

    /// How many rows there are.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// How wide a row is.
    pub fn n_vocab(&self) -> usize {
        self.n_vocab
    }

    /// Copies a row into `row`. None beyond the last.
    pub fn row(&self, i: usize, row: &mut Vec<f32>) -> Option<()> {
        if i >= self.n_rows {
            return None;
        }
        let (map, start) = match &self.source {
            Source::Tensor(map, start) => (map, *start),
            Source::Record(record) => return record.row(i, row),
        };
        let bytes = &map[start + i * self.n_vocab * 4..][..self.n_vocab * 4];
        row.clear();
        row.extend(bytes.as_chunks().0.iter().map(|four| f32::from_le_bytes(*four)));
        Some(())
    }
}

fn not_rows(path: &Path, tensor: &str, dtype: Dtype, shape: &[usize]) -> LogitsError {
    LogitsError::NotRows { path: path.into(), tensor: tensor.into(), found: format!("{dtype:?} of shape {shape:?}") }
}

/// Maps a file into memory.
#[allow(unsafe_code)]
pub(crate) fn map_file(file: &File) -> std::io::Result<Mmap> {
    // SAFETY: memmap2 asks that nobody changes the file while it is mapped. Logits files and models are written once, and
    // `open`'s docs ask the same of the caller. A change of bytes would show as other values, since every access is
    // bounds-checked and reads bytes; a file that gets shorter would end the program.
    unsafe { Mmap::map(file) }
}

/// Rows of logits made from a generator, as the oracle's FORMAT.md defines them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Synthetic {
    /// The shape of the distribution.
    pub kind: SyntheticKind,
    /// Row i comes from `mt19937(seed + i)`.
    pub seed: u32,
    /// The width of a row.
    pub n_vocab: usize,
    /// How many rows.
    pub rows: usize,
}

/// The shape of synthetic logits, from x uniform in [0, 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SyntheticKind {
    /// Even over [-10, 10).
    Uniform,
    /// A few high ones: x⁸ · 24 - 8.
    Peaked,
    /// 64 levels, so that many are equal.
    Ties,
    /// Peaked, with one in four at -infinity.
    Masked,
}

impl Synthetic {
    /// Makes a row.
    pub fn row(&self, i: usize) -> Vec<f32> {
        let mut rng = Mt19937::new(self.seed.wrapping_add(i as u32));
        let logit = |rng: &mut Mt19937| {
            let x = (rng.next_u32() >> 8) as f32 / 16_777_216.0;
            let peaked = |x: f32| {
                let y = x * x;
                let y = y * y;
                y * 24.0 - 8.0
            };
            match self.kind {
                SyntheticKind::Uniform => (x - 0.5) * 20.0,
                SyntheticKind::Peaked => peaked(x),
                SyntheticKind::Ties => ((x - 0.5) * 64.0).floor() / 4.0,
                SyntheticKind::Masked if rng.next_u32() & 3 == 0 => f32::NEG_INFINITY,
                SyntheticKind::Masked => peaked(x),
            }
        };
        (0..self.n_vocab).map(|_| logit(&mut rng)).collect()
    }
}
