//! Frames, as bytes: what follows a record's header.
//!
//! A frame is its kind (four letters), the length of its content in words of four bytes (u32), the content, and the CRC-32 of
//! all before it. Every number is little-endian, and everything stands at a multiple of four bytes.

use super::error::RecordProblem;

/// Kind, length and CRC-32.
pub const OVERHEAD: usize = 12;

/// What a frame tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Tokens of a prompt: ids.
    Prompt,
    /// A draw: token, [`Masking`], n_vocab, the row, and the mask if there was one.
    Draw,
    /// Accepted tokens: ids.
    Accept,
    /// Tokens taken back: how many.
    Rewind,
    /// A reset: nothing.
    Reset,
    /// Other parameters: JSON, padded with spaces.
    Parameters,
    /// The sampler's whole state: a snapshot's JSON, padded with spaces.
    State,
}

const KINDS: [(Kind, [u8; 4]); 7] = [
    (Kind::Prompt, *b"PRMT"),
    (Kind::Draw, *b"DRAW"),
    (Kind::Accept, *b"ACPT"),
    (Kind::Rewind, *b"BACK"),
    (Kind::Reset, *b"RSET"),
    (Kind::Parameters, *b"PARM"),
    (Kind::State, *b"STAT"),
];

impl Kind {
    fn letters(self) -> [u8; 4] {
        KINDS.iter().find(|row| row.0 == self).map_or(*b"????", |row| row.1)
    }

    fn of(letters: [u8; 4]) -> Option<Self> {
        KINDS.iter().find(|row| row.1 == letters).map(|row| row.0)
    }
}

/// How a constraint took part in a draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Masking {
    /// Not at all, or it allowed the first token that the chain drew.
    #[default]
    None,
    /// It refused the first token, and the chain ran again over the masked row: [`Sampler::sample_constrained`].
    ///
    /// [`Sampler::sample_constrained`]: crate::Sampler::sample_constrained
    Redraw,
    /// It masked the row before the chain ran: [`Sampler::sample_grammar_first`](crate::Sampler::sample_grammar_first).
    First,
}

impl Masking {
    pub(super) fn number(self) -> u32 {
        self as u32
    }

    pub(super) fn of(number: u32) -> Option<Self> {
        [Self::None, Self::Redraw, Self::First].into_iter().find(|masking| masking.number() == number)
    }
}

/// The tokens that a constraint allowed at a draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mask<'r>(pub(super) &'r [u8]);

impl Mask<'_> {
    /// Whether the token was allowed.
    pub fn allows(&self, token: u32) -> bool {
        self.0.get(token as usize / 8).is_some_and(|byte| byte >> (token % 8) & 1 == 1)
    }
}

/// How many words a mask over so many tokens takes.
pub fn mask_words(n_vocab: usize) -> usize {
    n_vocab.div_ceil(32)
}

/// Where a record was cut: the bytes from `at` on are the beginning of a frame that was not written whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// Where the last whole frame ends.
    pub at: u64,
    /// How many bytes lie behind it.
    pub bytes: u64,
}

/// A frame that is being written, in memory that is used again for the next.
#[derive(Debug, Default)]
pub struct Buffer(Vec<u8>);

impl Buffer {
    /// Begins a frame.
    pub fn begin(&mut self, kind: Kind) -> &mut Self {
        self.0.clear();
        self.0.extend_from_slice(&kind.letters());
        self.0.extend_from_slice(&[0; 4]);
        self
    }

    pub fn word(&mut self, word: u32) -> &mut Self {
        self.0.extend_from_slice(&word.to_le_bytes());
        self
    }

    /// Adds words from what can be told in four bytes each.
    pub fn words<T: Copy>(&mut self, values: &[T], to_bytes: impl Fn(T) -> [u8; 4]) -> &mut Self {
        let start = self.0.len();
        self.0.resize(start + values.len() * 4, 0);
        let (words, _) = self.0[start..].as_chunks_mut();
        words.iter_mut().zip(values).for_each(|(word, &value)| *word = to_bytes(value));
        self
    }

    /// Adds a bit a token.
    pub fn mask(&mut self, n_vocab: usize, mut allows: impl FnMut(u32) -> bool) -> &mut Self {
        let start = self.0.len();
        self.0.resize(start + mask_words(n_vocab) * 4, 0);
        for token in (0..n_vocab).filter(|&token| allows(token as u32)) {
            self.0[start + token / 8] |= 1 << (token % 8);
        }
        self
    }

    pub fn json(&mut self, value: &impl serde::Serialize) -> Result<&mut Self, serde_json::Error> {
        serde_json::to_writer(&mut self.0, value)?;
        pad(&mut self.0, 0);
        Ok(self)
    }

    /// Fills in the length and adds the CRC-32.
    pub fn end(&mut self) -> Result<&[u8], RecordProblem> {
        let words = u32::try_from((self.0.len() - 8) / 4).map_err(|_| RecordProblem::TooLarge)?;
        self.0[4..8].copy_from_slice(&words.to_le_bytes());
        let crc = crc32fast::hash(&self.0);
        self.word(crc);
        Ok(&self.0)
    }
}

/// Adds spaces until a multiple of four bytes is reached, with `more` bytes to come.
pub fn pad(bytes: &mut Vec<u8>, more: usize) {
    while !(bytes.len() + more).is_multiple_of(4) {
        bytes.push(b' ');
    }
}

/// A frame that was found.
pub struct Found<'b> {
    pub kind: Kind,
    pub content: &'b [u8],
    /// Its length with everything.
    pub bytes: usize,
}

/// Reads the frame at the start of `bytes`; none where they are the beginning of one.
pub fn read(bytes: &[u8]) -> Result<Option<Found<'_>>, String> {
    let Some((&letters, rest)) = bytes.split_first_chunk::<4>() else { return Ok(None) };
    let kind =
        Kind::of(letters).ok_or_else(|| format!("\"{}\" is no kind of frame in version 1", letters.escape_ascii()))?;
    let Some((&words, rest)) = rest.split_first_chunk::<4>() else { return Ok(None) };
    let length = u64::from(u32::from_le_bytes(words)) * 4;
    // A length beyond memory is one beyond the file.
    let Some((content, rest)) = usize::try_from(length).ok().and_then(|n| rest.split_at_checked(n)) else {
        return Ok(None);
    };
    let Some((&crc, _)) = rest.split_first_chunk::<4>() else { return Ok(None) };
    let covered = &bytes[..8 + content.len()];
    if crc32fast::hash(covered) != u32::from_le_bytes(crc) {
        return Err("it is damaged: its CRC-32 is another".to_string());
    }
    Ok(Some(Found { kind, content, bytes: content.len() + OVERHEAD }))
}

/// What is wrong with the length of a frame that goes on behind the end of a file: a draw has a row, and a mask at most. Of other
/// frames, and before the first row, nobody knows.
pub fn impossible_length(bytes: &[u8], n_vocab: Option<usize>) -> Option<String> {
    let (&letters, rest) = bytes.split_first_chunk::<4>()?;
    let words = u32::from_le_bytes(*rest.first_chunk::<4>()?) as usize;
    let unmasked = 3 + n_vocab?;
    let is_draw = Kind::of(letters)? == Kind::Draw;
    let is_possible = words == unmasked || words == unmasked + mask_words(n_vocab?);
    (is_draw && !is_possible)
        .then(|| format!("it is damaged: a draw of this vocabulary has {unmasked} words, not {words}"))
}

/// The word at a place of a content.
pub fn word(content: &[u8], i: usize) -> Option<u32> {
    content.as_chunks().0.get(i).map(|four| u32::from_le_bytes(*four))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_found_again_and_stands_on_words() {
        let mut buffer = Buffer::default();
        let bytes = buffer.begin(Kind::Accept).words(&[7, 8, 9], u32::to_le_bytes).end().unwrap().to_vec();
        assert_eq!(&bytes[..8], b"ACPT\x03\0\0\0");
        let found = read(&bytes).unwrap().unwrap();
        assert_eq!((found.kind, found.bytes), (Kind::Accept, bytes.len()));
        assert_eq!((word(found.content, 2), word(found.content, 3)), (Some(9), None));
        for cut in 0..bytes.len() {
            assert!(read(&bytes[..cut]).unwrap().is_none(), "{cut}");
        }
        for i in 4..bytes.len() {
            let mut spoiled = bytes.clone();
            spoiled[i] ^= 1;
            // A length that says more is that of a frame that goes on.
            assert!(matches!(read(&spoiled), Err(_) | Ok(None)), "{i}");
        }
    }

    #[test]
    fn a_mask_has_a_bit_a_token() {
        let mut buffer = Buffer::default();
        let bytes = buffer.begin(Kind::Draw).mask(33, |token| token % 3 == 0).end().unwrap().to_vec();
        let content = read(&bytes).unwrap().unwrap().content.to_vec();
        assert_eq!(content.len(), 8);
        let mask = Mask(&content);
        assert!((0..33).all(|token| mask.allows(token) == (token % 3 == 0)));
        assert!(!mask.allows(36) && !mask.allows(u32::MAX));
    }

    #[test]
    fn json_is_padded_with_spaces() {
        let mut buffer = Buffer::default();
        for value in ["", "a", "ab", "abc"] {
            let bytes = buffer.begin(Kind::Parameters).json(&value).unwrap().end().unwrap();
            assert_eq!(bytes.len() % 4, 0);
            let content = read(bytes).unwrap().unwrap().content;
            assert_eq!(serde_json::from_slice::<String>(content).unwrap(), value);
        }
    }

    #[test]
    fn no_frame_of_another_kind() {
        assert_eq!(read(b"ABC\n\0\0\0\0").err().unwrap(), "\"ABC\\n\" is no kind of frame in version 1");
    }
}
