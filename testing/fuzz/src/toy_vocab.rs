//! A vocabulary that needs no file: every byte is a token, and there are a few words and special tokens.

use std::borrow::Cow;
use std::sync::Arc;

use sampler_chain::{EncodeError, Vocab};

const WORDS: [&str; 8] = ["\n\n", " the", ": \"", "<|fim|>", "<think>", "</think>", "<|eot|>", "</s>"];

/// How many tokens it has.
pub const N_TOKENS: usize = 256 + WORDS.len();

const EOT: u32 = 262;
const EOS: u32 = 263;
const BYTES: [u8; 256] = {
    let mut bytes = [0; 256];
    let mut i = 0;
    while i < 256 {
        bytes[i] = i as u8;
        i += 1;
    }
    bytes
};

#[derive(Debug)]
struct Toy;

/// The vocabulary.
pub fn toy() -> Arc<dyn Vocab> {
    Arc::new(Toy)
}

impl Vocab for Toy {
    fn n_tokens(&self) -> usize {
        N_TOKENS
    }

    fn piece(&self, id: u32) -> &[u8] {
        let id = id as usize;
        BYTES.get(id..id + 1).unwrap_or_else(|| WORDS.get(id.wrapping_sub(256)).map_or(&[], |word| word.as_bytes()))
    }

    fn lone_piece(&self, id: u32) -> Cow<'_, [u8]> {
        let piece = self.piece(id);
        Cow::Borrowed(if piece.len() > 1 { piece.strip_prefix(b" ").unwrap_or(piece) } else { piece })
    }

    fn is_control(&self, id: u32) -> bool {
        (259..N_TOKENS as u32).contains(&id)
    }

    fn is_eog(&self, id: u32) -> bool {
        id == EOT || id == EOS
    }

    fn eot(&self) -> Option<u32> {
        Some(EOT)
    }

    fn eos(&self) -> Option<u32> {
        Some(EOS)
    }

    fn encode(&self, text: &[u8]) -> Result<Vec<u32>, EncodeError> {
        match text {
            [b'?', ..] => Err(EncodeError { text: text.escape_ascii().to_string(), why: "it begins with ?".into() }),
            _ => Ok(text.iter().map(|&byte| byte.into()).collect()),
        }
    }
}
