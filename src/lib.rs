//! llama.cpp's sampling chain (build b11192) in Rust: the same token for the same seed, bit for bit.
//!
//! A [`Sampler`] takes a row of logits and gives a token. What it does in between is a [`Chain`] of [steps](SamplerStep):
//! built in Rust, read from a [chain file](ChainFile), or made from a llama-server request ([`Params`]).
//!
//! ```
//! use sampler_chain::{Params, Sampler};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let request = serde_json::json!({"seed": 42, "temperature": 0.7, "top_k": 20});
//! let (params, report) = Params::from_request(&request, &Params::default(), None)?;
//! assert!(report.is_quiet());
//!
//! let mut sampler = Sampler::new(params)?;
//! for token in [1, 2, 3] {
//!     sampler.accept_prompt(token)?;
//! }
//! let logits = [0.1, 2.0, -1.0, 1.5];
//! let token = sampler.sample(&logits)?; // draws, and does not accept
//! sampler.accept(token)?;
//! # Ok(())
//! # }
//! ```
#![deny(unsafe_code)]

mod chain_file;
pub mod compare;
pub mod diff;
mod document;
mod error;
mod gguf;
pub mod import;
mod llama_server;
mod logits;
mod names;
pub mod oracle;
mod packed;
mod params;
mod probs;
#[cfg(feature = "cli")]
pub mod program;
pub mod record;
mod request;
mod sampler;
mod schema;
mod step_info;
pub mod trace;
mod vocab_file;
mod warnings;

pub use chain_file::{ChainFile, Format, WriteError};
pub use diff::Diff;
pub use error::{FileError, FileProblem, Position, SampleError};
pub use gguf::{GgufError, GgufFile, GgufVocab};
pub use llama_server::{BuildError, StepName, llama_server_chain};
pub use logits::{LogitsError, LogitsFile, Synthetic, SyntheticKind};
pub use params::{DEFAULT_SEED, Layer, Layers, Params};
pub use probs::{PostProbs, TokenProb, TokenProbs, post_sampling_probs, token_probs};
pub use record::{Record, RecordError, Recorded, Recorder};
pub use request::{Fate, FieldNote, Report, RequestError};
pub use sampler::{Constraint, Draw, EngineError, NonFinite, Sampler, Snapshot};
pub use schema::chain_schema;
pub use step_info::{ParameterInfo, StepInfo, UnknownStep, ValueInfo};
pub use trace::{Trace, TraceOptions};
pub use vocab_file::VocabFile;
pub use warnings::{Meaningless, StepPlace, Warning, chain_warnings, vocab_warnings};

/// Every stock step and what a step is made of.
pub use sampler_steps as steps;
pub use sampler_steps::libstdcxx::{Mt19937, partial_sort, sort_by};
pub use sampler_steps::{
    Cand, CandBuf, CandSet, Chain, ChainError, Ctx, DryBreakers, EncodeError, Facts, History, Penalty, SamplerStep,
    StepError, Vocab, dry_breakers, registered_steps, step_fields,
};

/// The examples of the pages, compiled.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../README.md")]
    struct Readme;
    #[doc = include_str!("../docs/constrained.md")]
    struct Constrained;
    #[doc = include_str!("../docs/records.md")]
    struct Records;
    #[doc = include_str!("../docs/importing.md")]
    struct Importing;
}
