//! What all steps may know of this run: the vocabulary, the history, the seed.

use std::borrow::Cow;
use std::fmt::Debug;
use std::sync::Arc;

/// A model's vocabulary, as far as sampling needs it.
pub trait Vocab: Debug + Send + Sync {
    /// How many tokens there are; ids run from 0.
    fn n_tokens(&self) -> usize;

    /// The bytes of a token inside a text, special tokens shown (`llama_token_to_piece`); empty beyond the vocabulary.
    fn piece(&self, id: u32) -> &[u8];

    /// The bytes of a token that is a text of its own (`llama_detokenize`), where a vocabulary may drop a leading space.
    fn lone_piece(&self, id: u32) -> Cow<'_, [u8]> {
        Cow::Borrowed(self.piece(id))
    }

    /// Whether a token is no text: a control or unknown token, whose piece is only shown.
    fn is_control(&self, id: u32) -> bool {
        let _ = id;
        false
    }

    /// Tokens that the model's makers say must never be drawn (`llama_vocab_get_suppress_tokens`).
    fn suppressed(&self) -> &[u32] {
        &[]
    }

    /// Whether a token ends generation.
    fn is_eog(&self, id: u32) -> bool;

    /// The end-of-turn token.
    fn eot(&self) -> Option<u32>;

    /// The end-of-sequence token.
    fn eos(&self) -> Option<u32>;

    /// The tokens of a text, without special tokens at its ends. The text may begin inside a multi-byte character.
    ///
    /// # Errors
    /// A text that this vocabulary cannot encode.
    fn encode(&self, text: &[u8]) -> Result<Vec<u32>, EncodeError>;
}

/// A text whose tokens a vocabulary does not know.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the vocabulary cannot encode \"{text}\": {why}")]
pub struct EncodeError {
    /// The text, with bytes that are not UTF-8 escaped.
    pub text: String,
    /// What is missing.
    pub why: String,
}

/// The accepted tokens, oldest first: the prompt's and the drawn ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct History {
    tokens: Vec<u32>,
    n_prompt: usize,
}

impl History {
    /// All of it.
    pub fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    /// How many tokens there are.
    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    /// Whether nothing was accepted yet.
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// How many of them lie before the end of the (last) prompt.
    pub fn n_prompt(&self) -> usize {
        self.n_prompt
    }

    /// The last `n` tokens, or all.
    pub fn last(&self, n: usize) -> &[u32] {
        &self.tokens[self.tokens.len().saturating_sub(n)..]
    }

    /// The tokens after the (last) prompt.
    pub fn generated(&self) -> &[u32] {
        &self.tokens[self.n_prompt..]
    }

    /// Adds a token of the prompt.
    pub fn push_prompt(&mut self, token: u32) {
        self.tokens.push(token);
        self.n_prompt = self.tokens.len();
    }

    /// Adds a drawn token.
    pub fn push(&mut self, token: u32) {
        self.tokens.push(token);
    }

    /// Goes back to its first `len` tokens, of which `n_prompt` lie before the end of the prompt.
    pub fn truncate(&mut self, len: usize, n_prompt: usize) {
        self.tokens.truncate(len);
        self.n_prompt = n_prompt.min(self.tokens.len());
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.tokens.clear();
        self.n_prompt = 0;
    }
}

/// The context of a run.
#[derive(Debug, Clone)]
pub struct Ctx {
    seed: u32,
    n_vocab: Option<usize>,
    vocab: Option<Arc<dyn Vocab>>,
    history: History,
}

impl Ctx {
    /// A context in which every random step starts its generator from `seed`. Every value is a seed here, 4294967295
    /// included: whoever asks for a random one (`-1`) draws it before.
    pub fn new(seed: u32) -> Self {
        Self { seed, n_vocab: None, vocab: None, history: History::default() }
    }

    /// The same with a vocabulary, which also says how many tokens there are.
    pub fn with_vocab(mut self, vocab: Arc<dyn Vocab>) -> Self {
        self.n_vocab = Some(vocab.n_tokens());
        self.vocab = Some(vocab);
        self
    }

    /// The same with the number of tokens, for steps that check ids or need the size.
    pub fn with_n_vocab(mut self, n_vocab: usize) -> Self {
        self.n_vocab = Some(n_vocab);
        self
    }

    /// The seed of every generator of this run.
    pub fn seed(&self) -> u32 {
        self.seed
    }

    /// How many tokens the vocabulary has, where it is known: from the vocabulary, or from the first row of logits.
    pub fn n_vocab(&self) -> Option<usize> {
        self.n_vocab
    }

    /// The vocabulary.
    pub fn vocab(&self) -> Option<&Arc<dyn Vocab>> {
        self.vocab.as_ref()
    }

    /// The vocabulary's tokens that end a text, by rising id; none without a vocabulary.
    pub fn end_tokens(&self) -> Option<Vec<u32>> {
        let vocab = self.vocab.as_ref()?;
        Some((0..vocab.n_tokens() as u32).filter(|&id| vocab.is_eog(id)).collect())
    }

    /// The accepted tokens.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// The accepted tokens, for whoever runs a chain. Steps only read it.
    pub fn history_mut(&mut self) -> &mut History {
        &mut self.history
    }

    /// Changes the seed, for whoever brings a saved run back. Generators follow when the chain is reset or loaded.
    pub fn set_seed(&mut self, seed: u32) {
        self.seed = seed;
    }

    /// Takes the size of a row of logits for the size of the vocabulary, where that was not known.
    pub fn learn_n_vocab(&mut self, n_logits: usize) {
        self.n_vocab.get_or_insert(n_logits);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_n_are_the_last() {
        let mut history = History::default();
        for token in [5, 6, 7] {
            history.push_prompt(token);
        }
        history.push(8);
        assert_eq!(history.last(2), [7, 8]);
        assert!(history.last(0).is_empty());
        assert_eq!(history.last(usize::MAX), [5, 6, 7, 8]);
        assert_eq!(history.generated(), [8]);
    }

    #[test]
    fn a_second_prompt_moves_the_end_of_the_prompt() {
        let mut history = History::default();
        history.push_prompt(1);
        history.push(2);
        history.push_prompt(3);
        assert_eq!(history.n_prompt(), 3);
        assert!(history.generated().is_empty());
    }
}
