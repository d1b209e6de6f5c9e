//! What a step refuses in [`prepare`](super::SamplerStep::prepare).

use super::{Ctx, EncodeError};

/// A parameter that a step cannot work with. The text begins with the parameter's name.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum StepError {
    /// A value outside what the parameter takes.
    #[error("{field}: {value} is refused: {allowed}")]
    Value {
        /// The parameter.
        field: &'static str,
        /// The value as text.
        value: String,
        /// What it must be.
        allowed: &'static str,
    },
    /// A token id that the vocabulary does not have.
    #[error("{field}: token {id} is beyond the vocabulary of {n_vocab} tokens")]
    BeyondVocab {
        /// The parameter.
        field: &'static str,
        /// The id.
        id: u32,
        /// How many tokens there are.
        n_vocab: usize,
    },
    /// Strings that only a vocabulary can turn into tokens.
    #[error("{field}: needs a vocabulary, and there is none: {instead}")]
    NeedsVocab {
        /// The parameter.
        field: &'static str,
        /// What can be given in its place.
        instead: &'static str,
    },
    /// The vocabulary cannot encode a text that the step needs.
    #[error("{field}: {source}")]
    Encode {
        /// The parameter.
        field: &'static str,
        /// What the vocabulary said.
        source: EncodeError,
    },
    /// Two parameters that exclude each other.
    #[error("{field}: is refused beside {other}: {why}")]
    Excludes {
        /// The parameter.
        field: &'static str,
        /// The other one.
        other: &'static str,
        /// Why only one can be given.
        why: &'static str,
    },
    /// A step inside whose chains draw from generators of their own, where the chains around it share theirs.
    #[error(
        "{field}: step {index} ({step}) keeps the generators of its chains apart, and the chains around it share theirs: it must \
         share its own, too"
    )]
    KeepsApart {
        /// The parameter: the chain that the step is in.
        field: &'static str,
        /// Where it stands there: 1 is the first; `2.1` is inside the second, `2.first.1` in a chain of its own there.
        index: String,
        /// Its type.
        step: &'static str,
    },
    /// A saved state that this step did not write.
    #[error("state: {0}")]
    State(String),
    /// Anything else, in a step's own words.
    #[error("{0}")]
    Other(String),
}

impl StepError {
    /// The parameter that it is about, where it is about one.
    pub fn field(&self) -> Option<&'static str> {
        match self {
            Self::Value { field, .. }
            | Self::BeyondVocab { field, .. }
            | Self::NeedsVocab { field, .. }
            | Self::Encode { field, .. }
            | Self::Excludes { field, .. }
            | Self::KeepsApart { field, .. } => Some(field),
            Self::State(_) | Self::Other(_) => None,
        }
    }

    /// Refuses NaN: the one value that no parameter takes.
    ///
    /// # Errors
    /// [`StepError::Value`] where `value` is NaN.
    pub fn refuse_nan(field: &'static str, value: f32) -> Result<(), Self> {
        Self::refuse_unless(!value.is_nan(), field, value, "a number is wanted")
    }

    /// Refuses tokens that the vocabulary does not have, as far as its size is known.
    ///
    /// # Errors
    /// [`StepError::BeyondVocab`] for the first one.
    pub fn refuse_beyond<'t>(
        field: &'static str,
        tokens: impl IntoIterator<Item = &'t u32>,
        ctx: &Ctx,
    ) -> Result<(), Self> {
        let Some(n_vocab) = ctx.n_vocab() else { return Ok(()) };
        match tokens.into_iter().find(|id| **id as usize >= n_vocab) {
            Some(&id) => Err(Self::BeyondVocab { field, id, n_vocab }),
            None => Ok(()),
        }
    }

    /// Refuses token sequences of no token, and tokens that the vocabulary does not have.
    ///
    /// # Errors
    /// [`StepError::Value`] or [`StepError::BeyondVocab`] for the first one.
    pub fn refuse_sequences<'t>(
        field: &'static str,
        sequences: impl IntoIterator<Item = &'t Vec<u32>>,
        ctx: &Ctx,
    ) -> Result<(), Self> {
        sequences.into_iter().try_for_each(|tokens| {
            Self::refuse_unless(!tokens.is_empty(), field, "[]", "a sequence has at least one token")?;
            Self::refuse_beyond(field, tokens, ctx)
        })
    }

    /// Refuses a probability as a cut that is not above 0 and below 1, and a cut that may leave nothing.
    ///
    /// # Errors
    /// [`StepError::Value`] of `field`, or of `min_keep`.
    pub fn refuse_cutoff(field: &'static str, cut: f32, min_keep: u32) -> Result<(), Self> {
        Self::refuse_unless(cut > 0.0 && cut < 1.0, field, cut, "above 0, and below 1")?;
        Self::refuse_unless(min_keep >= 1, "min_keep", min_keep, "one candidate stays at least")
    }

    /// Refuses a value that does not hold to `allowed`.
    ///
    /// # Errors
    /// [`StepError::Value`] unless `holds`.
    pub fn refuse_unless(
        holds: bool,
        field: &'static str,
        value: impl ToString,
        allowed: &'static str,
    ) -> Result<(), Self> {
        if holds { Ok(()) } else { Err(Self::Value { field, value: value.to_string(), allowed }) }
    }
}
