//! What a frame says, checked once.

use super::frame::{self, Kind, Mask, Masking};
use super::header::{Parameters, State};
use crate::sampler::Snapshot;

/// A frame, checked: where its content begins and how many words it has, or what it said.
#[derive(Debug)]
pub enum Stored {
    Prompt {
        at: usize,
        words: usize,
    },
    Accept {
        at: usize,
        words: usize,
    },
    Draw {
        at: usize,
        n_vocab: usize,
    },
    Rewind(usize),
    Reset,
    Parameters(Box<Parameters>),
    /// The state, and the parameters that it implies.
    State(Box<(Snapshot, Parameters)>),
}

/// Where a frame's content stands, and what it has to agree with.
pub struct Place {
    pub at: usize,
    pub n_vocab: Option<usize>,
}

impl Place {
    /// Checks what a frame says, so that nothing has to be asked when it is read again.
    pub fn store(&self, kind: Kind, content: &[u8]) -> Result<Stored, String> {
        let (at, words) = (self.at, content.len() / 4);
        Ok(match kind {
            Kind::Prompt | Kind::Accept => {
                let ids = content.as_chunks().0.iter().map(|four| u32::from_le_bytes(*four));
                if let (Some(n_vocab), Some(most)) = (self.n_vocab, ids.max())
                    && most as usize >= n_vocab
                {
                    return Err(format!("token {most} is beyond the vocabulary of {n_vocab} tokens"));
                }
                if kind == Kind::Prompt { Stored::Prompt { at, words } } else { Stored::Accept { at, words } }
            }
            Kind::Draw => Stored::Draw { at, n_vocab: self.check_draw(content)? },
            Kind::Rewind if words == 1 => Stored::Rewind(frame::word(content, 0).unwrap_or_default() as usize),
            Kind::Reset if words == 0 => Stored::Reset,
            Kind::Rewind | Kind::Reset => return Err(format!("it has {words} words, and is of another length")),
            Kind::Parameters => {
                let parameters = serde_json::from_slice(content).map_err(|error| format!("the parameters: {error}"))?;
                Stored::Parameters(Box::new(parameters))
            }
            Kind::State => {
                let state: State = serde_json::from_slice(content).map_err(|error| format!("the state: {error}"))?;
                let parameters = Parameters::of_state(&state);
                Stored::State(Box::new((state.snapshot, parameters)))
            }
        })
    }

    /// The width of a draw's row.
    fn check_draw(&self, content: &[u8]) -> Result<usize, String> {
        let [Some(token), Some(masking), Some(width)] = [0, 1, 2].map(|i| frame::word(content, i)) else {
            return Err("a draw without a row".to_string());
        };
        let masking =
            Masking::of(masking).ok_or_else(|| format!("{masking} is no way to mask a row: 0, 1 and 2 are"))?;
        let n_vocab = width as usize;
        if let Some(wanted) = self.n_vocab.filter(|&wanted| wanted != n_vocab) {
            return Err(format!("the row has {n_vocab} logits, and the vocabulary {wanted} tokens"));
        }
        if token >= width {
            return Err(format!("token {token} is beyond the vocabulary of {n_vocab} tokens"));
        }
        let mask = if masking == Masking::None { 0 } else { frame::mask_words(n_vocab) };
        let (words, wanted) = (content.len() / 4, n_vocab.checked_add(mask).and_then(|n| n.checked_add(DRAW_WORDS)));
        if Some(words) != wanted {
            return Err(format!("a draw of {words} words cannot hold a row of {n_vocab} logits"));
        }
        Ok(n_vocab)
    }
}

/// What stands before a draw's row: token, masking, n_vocab.
const DRAW_WORDS: usize = 3;

/// A draw that was checked.
pub fn draw_of(content: &[u8], n_vocab: usize) -> Option<RecordedDraw<'_>> {
    let (token, masking) = (frame::word(content, 0)?, Masking::of(frame::word(content, 1)?)?);
    let (row, behind) = content.get(DRAW_WORDS * 4..)?.split_at_checked(n_vocab.checked_mul(4)?)?;
    let mask = if masking == Masking::None { &[] } else { behind.get(..frame::mask_words(n_vocab) * 4)? };
    Some(RecordedDraw { token, masking, row, mask })
}

/// A draw of a record.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RecordedDraw<'r> {
    /// The token that was drawn.
    pub token: u32,
    /// How a constraint took part.
    pub masking: Masking,
    row: &'r [u8],
    mask: &'r [u8],
}

impl<'r> RecordedDraw<'r> {
    /// The row's bytes as they stand in the file: f32, little-endian. In a mapped file they stand at a multiple of four bytes.
    pub fn row_bytes(&self) -> &'r [u8] {
        self.row
    }

    /// The row.
    pub fn row(&self) -> impl ExactSizeIterator<Item = f32> + Clone + 'r {
        self.row.as_chunks().0.iter().map(|four| f32::from_le_bytes(*four))
    }

    /// Copies the row into `row`.
    pub fn copy_row(&self, row: &mut Vec<f32>) {
        row.clear();
        row.extend(self.row());
    }

    /// The tokens that a constraint allowed, where it masked the row.
    pub fn mask(&self) -> Option<Mask<'r>> {
        (self.masking != Masking::None).then_some(Mask(self.mask))
    }
}
