//! Records: what went through a sampler, to the bit, in a file that can be read, replayed and compared.
//!
//! An engine writes one with a [`Recorder`], or lets its sampler write one ([`Recorded`]); a [`Record`] reads it. `docs/records.md`
//! lays the file out.
//!
//! ```
//! use sampler_chain::{Params, Record, Recorder, Sampler};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let dir = tempfile::tempdir()?;
//! # let path = dir.path().join("run.record");
//! let mut sampler = Sampler::new(Params { seed: 42, ..Params::default() })?;
//! let mut recorder = Recorder::create(&path, &sampler)?;
//! sampler.accept_prompt_all(&[1, 2, 3])?;
//! recorder.prompt(&[1, 2, 3])?;
//! for logits in [[0.1, 2.0, -1.0, 1.5], [1.0, 0.5, 0.0, 3.0]] {
//!     let token = sampler.sample(&logits)?;
//!     recorder.draw(&logits, token)?;
//!     sampler.accept(token)?;
//!     recorder.accept(token)?;
//! }
//!
//! let record = Record::open(&path)?;
//! assert_eq!((record.n_draws(), record.prompt()), (2, vec![1, 2, 3]));
//! for draw in record.replay(record.sampler(None)?) {
//!     let draw = draw?;
//!     assert_eq!(draw.drawn, Ok(draw.recorded), "the same logits, chain and seed give the same token");
//! }
//! # Ok(())
//! # }
//! ```

mod changes;
mod error;
mod file;
mod frame;
mod header;
mod past;
mod reader;
mod recorded;
mod replay;
mod stored;
mod writer;

pub use changes::ParameterChange;
pub use error::{RecordError, RecordProblem, ReplayError};
pub use file::mend;
pub use frame::{Cut, Mask, Masking};
pub use header::{Header, Parameters};
pub use past::Tokens;
pub use reader::{Frame, Record};
pub use recorded::{Recorded, RecordedError};
pub use replay::{Replay, Replayed};
pub use stored::RecordedDraw;
pub use writer::Recorder;

pub(crate) use reader::is_record;
