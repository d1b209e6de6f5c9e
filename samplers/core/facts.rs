//! What holds of a step whatever the logits.

/// What a step promises with its parameters, and what it looks at. Property tests hold every step to it, and warnings about
/// chains go by it.
///
/// The default promises nothing and needs nothing. A step that is off keeps all, removes at most and needs nothing.
///
/// The promises hold for one `apply` to a set with a logit above -infinity and none that is NaN or above 1e8 (llama.cpp's
/// bucket sort takes the best of such a row for the worst), sorted where it says that it is. They are about the candidates
/// and their logits: not about their order in the set, the probabilities, and which candidate is selected. A masked
/// candidate, one whose logit becomes -infinity, is still there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Facts {
    /// The most likely candidate stays, and no other gets a higher logit. Of several with the largest logit one stays so;
    /// any other may go or fall behind it.
    pub keeps_argmax: bool,
    /// Of two candidates that stay, the one with the lower logit does not get the higher one. They may become equal, and of
    /// two that were equal either may fall behind.
    pub keeps_order: bool,
    /// No logit changes, and no candidate is brought in: it removes, sorts or selects. Masking is a change.
    pub only_removes: bool,
    /// The accepted tokens matter to it: which they are, or how many, those accepted between two draws included. A generator
    /// or an average that moves with each draw alone is no such thing.
    pub needs_history: bool,
    /// It wants a vocabulary: end tokens, pieces. Without one it is refused, or may do something else. Its size alone is no
    /// such thing.
    pub needs_vocab: bool,
    /// Where the prompt ends in the accepted tokens matters to it.
    pub needs_prompt: bool,
}

impl Facts {
    /// Of a truncation that keeps the most likely candidates, whatever their order in the set; of a step that is off; and of
    /// one that selects and changes no logit.
    pub const TRUNCATION: Self = Self {
        keeps_argmax: true,
        keeps_order: true,
        only_removes: true,
        needs_history: false,
        needs_vocab: false,
        needs_prompt: false,
    };

    /// Of steps one after another: they promise together what each promises, and need what one of them needs. Where a step
    /// makes two logits equal that were not (`temperature`, by rounding), the next may prefer either.
    pub fn of_all(steps: impl IntoIterator<Item = Self>) -> Self {
        steps.into_iter().fold(Self::TRUNCATION, |all, step| Self {
            keeps_argmax: all.keeps_argmax && step.keeps_argmax,
            keeps_order: all.keeps_order && step.keeps_order,
            only_removes: all.only_removes && step.only_removes,
            needs_history: all.needs_history || step.needs_history,
            needs_vocab: all.needs_vocab || step.needs_vocab,
            needs_prompt: all.needs_prompt || step.needs_prompt,
        })
    }
}
