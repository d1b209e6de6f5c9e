//! What holds of a step whatever the logits.

/// What a step promises with its parameters. Property tests hold every step to it, and warnings about chains go by it.
///
/// The default promises nothing and needs nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Facts {
    /// The most likely candidate stays, and stays the most likely; of several, one of them.
    pub keeps_argmax: bool,
    /// Of two candidates that stay, the one with the lower logit does not get the higher one.
    pub keeps_order: bool,
    /// No logit changes, and no candidate is brought in: it removes, sorts or selects.
    pub only_removes: bool,
    /// It looks at the accepted tokens.
    pub needs_history: bool,
    /// It wants a vocabulary: end tokens, pieces.
    pub needs_vocab: bool,
    /// It looks at where the prompt ends.
    pub needs_prompt: bool,
}

impl Facts {
    /// Of a truncation that keeps the most likely candidates, whatever their order in the set.
    pub const TRUNCATION: Self = Self {
        keeps_argmax: true,
        keeps_order: true,
        only_removes: true,
        needs_history: false,
        needs_vocab: false,
        needs_prompt: false,
    };
}
