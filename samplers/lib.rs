//! The steps of a sampling chain: the trait, the candidates they work on, and every step of llama.cpp b11192's chain.
//!
//! A step of one's own needs this crate alone; `docs/adding-a-step.md` builds one. Running chains, reading chain files and
//! requests is the work of the crate `sampler-chain`.
//!
//! # The steps
//! One file each. The names are those of chain files.
#![forbid(unsafe_code)]

pub mod community;
mod core;
pub mod libm;
pub mod libstdcxx;

mod adaptive_p;
mod dist;
mod dry;
mod greedy;
mod infill;
mod logit_bias;
mod min_p;
mod mirostat;
mod mirostat_v2;
mod penalties;
mod reasoning_budget;
mod temperature;
mod top_k;
mod top_n_sigma;
mod top_p;
mod typ_p;
mod xtc;

pub use crate::core::{
    Cand, CandBuf, CandSet, Chain, ChainError, Ctx, DrawnFold, EncodeError, Facts, Followers, Generators, History,
    Penalty, SamplerStep, SeenTokens, SequenceBiases, SequenceMatcher, StateReader, StepError, StepSchema, StepState,
    Turn, Vocab, float, listed_tokens, registered_steps, step_fields, step_schema, steps,
};
pub use adaptive_p::AdaptiveP;
pub use dist::Dist;
pub use dry::{Dry, DryBreakers, dry_breakers, dry_breakers_unbounded};
pub use greedy::Greedy;
pub use infill::Infill;
pub use logit_bias::LogitBias;
pub use min_p::MinP;
pub use mirostat::Mirostat;
pub use mirostat_v2::MirostatV2;
pub use penalties::{Penalties, Window};
pub use reasoning_budget::{BudgetState, ReasoningBudget};
pub use temperature::Temperature;
pub use top_k::TopK;
pub use top_n_sigma::TopNSigma;
pub use top_p::TopP;
pub use typ_p::TypP;
pub use xtc::Xtc;

pub use libstdcxx::Mt19937;

/// What a step's file needs beside this crate: the derive of a step is `typetag::serde`, that of its description
/// `schemars::JsonSchema`.
pub use {schemars, typetag};

#[doc(hidden)]
pub use inventory;

#[cfg(feature = "twin")]
#[doc(hidden)]
pub use crate::core::twin;

#[cfg(test)]
mod testing;
