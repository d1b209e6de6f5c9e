//! What every step speaks: the trait, the candidates, the context and the chain. Nothing here knows a step.

mod alternatives;
mod cands;
mod chain;
mod ctx;
mod defaults;
mod describe;
mod drawn_fold;
mod error;
mod facts;
mod float_field;
mod followers;
mod holds_chains;
mod listed_tokens;
mod seen_tokens;
mod sequence_biases;
mod sequence_matcher;
mod state;
mod steered;
mod step;
mod steps_field;
mod turn;

pub use alternatives::Generators;
#[cfg(feature = "twin")]
pub use cands::twin;
pub use cands::{Cand, CandBuf, CandSet, Penalty};
pub use chain::{Chain, ChainError};
pub use ctx::{Ctx, EncodeError, History, Vocab};
pub use defaults::is_zero;
pub use describe::{StepSchema, step_schema};
pub use drawn_fold::DrawnFold;
pub use error::StepError;
pub use facts::Facts;
pub use float_field::float;
pub use followers::Followers;
pub use listed_tokens::listed_tokens;
pub use seen_tokens::SeenTokens;
pub use sequence_biases::SequenceBiases;
pub use sequence_matcher::SequenceMatcher;
pub use state::{StateReader, StepState};
pub(crate) use steered::Steered;
pub use step::{SamplerStep, registered_steps, step_fields};
pub use steps_field::steps;
pub use turn::Turn;
