//! Steps that llama.cpp does not have: what people leave it for. Each names its origin, and where two programs mean different
//! things by one name, the variant is a parameter.
//!
//! No step here leaves nothing. Where a truncation would remove all, the most likely candidate stays. Where a step that changes
//! logits would leave none above -infinity, the most likely candidate keeps its logit, of several the first in the set's order. And
//! no number becomes NaN or +infinity: what would rise above the largest f32 number is held there, and what would fall below the
//! lowest becomes -infinity, as in the references.

mod encoder_repetition_penalty;
mod epsilon_cutoff;
mod eta_cutoff;
mod exponential_decay_length;
mod gumbel;
mod min_k;
mod min_new_tokens;
mod no_repeat_ngram;
mod p_less;
mod protect;
mod rep_pen_slope;
mod repetition_penalty_hf;
mod sequence_bias;
mod smoothing;
mod suppress_tokens;
mod switch;
mod tfs;
mod top_a;
mod top_h;
mod top_p_decay;

pub use encoder_repetition_penalty::EncoderRepetitionPenalty;
pub use epsilon_cutoff::EpsilonCutoff;
pub use eta_cutoff::EtaCutoff;
pub use exponential_decay_length::ExponentialDecayLength;
pub use gumbel::Gumbel;
pub use min_k::MinK;
pub use min_new_tokens::MinNewTokens;
pub use no_repeat_ngram::NoRepeatNgram;
pub use p_less::PLess;
pub use protect::Protect;
pub use rep_pen_slope::RepPenSlope;
pub use repetition_penalty_hf::RepetitionPenaltyHf;
pub use sequence_bias::{BiasedSequence, SequenceBias};
pub use smoothing::Smoothing;
pub use suppress_tokens::SuppressTokens;
pub use switch::Switch;
pub use tfs::{Tfs, TfsVariant};
pub use top_a::TopA;
pub use top_h::TopH;
pub use top_p_decay::TopPDecay;
