//! What steps ask of a vocabulary, read once through llama.cpp's C API. Nothing of it is kept, so it may be freed.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::c_char;

use sampler_steps::{EncodeError, Vocab};

use crate::abi::{self, Token};
use crate::real;

/// A vocabulary's pieces, end tokens, and the tokens of the texts that somebody may ask for.
#[derive(Debug, Default)]
pub struct RealVocab {
    /// One a token. Those of control tokens are empty, unless it was read for DRY.
    pieces: Vec<Box<[u8]>>,
    eog: Vec<bool>,
    eot: Option<u32>,
    eos: Option<u32>,
    encoded: HashMap<Vec<u8>, Vec<u32>>,
}

impl RealVocab {
    /// What infill asks for.
    ///
    /// # Safety
    /// A vocabulary of the real llama.cpp in this process.
    pub unsafe fn read(vocab: *const abi::Vocab) -> Self {
        // SAFETY: what the caller promises, and ids below the number of tokens.
        unsafe {
            let ids = 0..real::llama_vocab_n_tokens(vocab);
            let piece = |id| filled(|buf, n| real::llama_token_to_piece(vocab, id, buf, n, 0, false));
            Self {
                pieces: ids.clone().map(piece).collect(),
                eog: ids.map(|id| real::llama_vocab_is_eog(vocab, id)).collect(),
                eot: u32::try_from(real::llama_vocab_eot(vocab)).ok(),
                eos: u32::try_from(real::llama_vocab_eos(vocab)).ok(),
                encoded: HashMap::new(),
            }
        }
    }

    /// What DRY asks for with these breakers: each token as a text of its own, and every tail of a breaker in tokens.
    ///
    /// # Safety
    /// As [`read`](Self::read).
    pub unsafe fn read_for_dry(vocab: *const abi::Vocab, breakers: &[&[u8]]) -> Self {
        // SAFETY: what the caller promises, and ids below the number of tokens.
        unsafe {
            let piece = |id| filled(|buf, n| real::llama_detokenize(vocab, &id, 1, buf, n, false, true));
            let pieces = (0..real::llama_vocab_n_tokens(vocab)).map(piece).collect();
            let tails = breakers.iter().flat_map(|text| (1..text.len()).map(|at| &text[at..]));
            let encoded = tails.map(|tail| (tail.to_vec(), encode(vocab, tail))).collect();
            Self { pieces, encoded, ..Self::default() }
        }
    }
}

/// The bytes that a function writes: it gives how many, or, where there is no room, how many it wants, negative.
fn filled(write: impl Fn(*mut c_char, i32) -> i32) -> Box<[u8]> {
    let mut bytes = vec![0u8; 64];
    let mut n = write(bytes.as_mut_ptr().cast(), bytes.len() as i32);
    if n < 0 {
        bytes.resize(n.unsigned_abs() as usize, 0);
        n = write(bytes.as_mut_ptr().cast(), bytes.len() as i32);
    }
    bytes.truncate(n.max(0) as usize);
    bytes.into()
}

/// The tokens of a text, without special ones.
///
/// # Safety
/// As [`RealVocab::read`].
unsafe fn encode(vocab: *const abi::Vocab, text: &[u8]) -> Vec<u32> {
    // A token has a byte at least; the tokenizer may put one in front.
    let mut tokens: Vec<Token> = vec![0; text.len() + 8];
    let (at, len, room) = (text.as_ptr().cast(), text.len() as i32, tokens.len() as i32);
    // SAFETY: what the caller promises; a text of that length, and memory for so many tokens.
    let mut n = unsafe { real::llama_tokenize(vocab, at, len, tokens.as_mut_ptr(), room, false, false) };
    if n < 0 && n != i32::MIN {
        tokens.resize(n.unsigned_abs() as usize, 0);
        // SAFETY: as above, with the memory that it asked for.
        n = unsafe { real::llama_tokenize(vocab, at, len, tokens.as_mut_ptr(), tokens.len() as i32, false, false) };
    }
    tokens.truncate(n.max(0) as usize);
    tokens.into_iter().map(|token| token as u32).collect()
}

impl Vocab for RealVocab {
    fn n_tokens(&self) -> usize {
        self.pieces.len()
    }

    fn piece(&self, id: u32) -> &[u8] {
        self.pieces.get(id as usize).map_or(&[], |piece| piece)
    }

    fn lone_piece(&self, id: u32) -> Cow<'_, [u8]> {
        Cow::Borrowed(self.piece(id))
    }

    fn is_eog(&self, id: u32) -> bool {
        self.eog.get(id as usize).copied().unwrap_or_default()
    }

    fn eot(&self) -> Option<u32> {
        self.eot
    }

    fn eos(&self) -> Option<u32> {
        self.eos
    }

    fn encode(&self, text: &[u8]) -> Result<Vec<u32>, EncodeError> {
        self.encoded.get(text).cloned().ok_or_else(|| EncodeError {
            text: text.escape_ascii().to_string(),
            why: "it is no tail of a breaker".into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_piece_is_asked_for_twice() {
        let write = |text: &'static [u8]| {
            move |buf: *mut c_char, n: i32| {
                if (n as usize) < text.len() {
                    return -(text.len() as i32);
                }
                // SAFETY: there is room for `n` bytes.
                unsafe { std::ptr::copy_nonoverlapping(text.as_ptr(), buf.cast(), text.len()) };
                text.len() as i32
            }
        };
        assert_eq!(*filled(write(b"a")), *b"a");
        assert_eq!(*filled(write(&[7; 300])), [7; 300]);
        assert_eq!(*filled(write(b"")), *b"");
    }

    #[test]
    fn an_unknown_text_is_an_error() {
        let vocab = RealVocab { encoded: HashMap::from([(b"x".to_vec(), vec![5])]), ..RealVocab::default() };
        assert_eq!(vocab.encode(b"x"), Ok(vec![5]));
        let error = vocab.encode(b"\xff").unwrap_err().to_string();
        assert_eq!(error, "the vocabulary cannot encode \"\\xff\": it is no tail of a breaker");
    }
}
