//! The history as the frames of a record make it.

use sampler_steps::History;

use super::reader::Frame;

/// Accepted tokens, and which of them came from a prompt: a rewind has to know.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tokens {
    tokens: Vec<u32>,
    is_prompt: Vec<bool>,
}

impl Tokens {
    /// The tokens, oldest first.
    pub fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    /// How many of them lie before the end of the (last) prompt.
    pub fn n_prompt(&self) -> usize {
        self.is_prompt.iter().rposition(|&is_prompt| is_prompt).map_or(0, |last| last + 1)
    }

    /// The same as a context's history.
    pub fn to_history(&self) -> History {
        let mut history = History::default();
        for (&token, &is_prompt) in self.tokens.iter().zip(&self.is_prompt) {
            if is_prompt { history.push_prompt(token) } else { history.push(token) }
        }
        history
    }

    /// Does what a frame says. False where it takes more back than there is; nothing changes then.
    pub(crate) fn follow(&mut self, frame: &Frame<'_>) -> bool {
        match frame {
            Frame::Draw(_) | Frame::Parameters(_) => {}
            Frame::Prompt(tokens) => self.extend(tokens, true),
            Frame::Accept(tokens) => self.extend(tokens, false),
            Frame::Rewind(n) => {
                let Some(left) = self.tokens.len().checked_sub(*n) else { return false };
                self.tokens.truncate(left);
                self.is_prompt.truncate(left);
            }
            Frame::Reset => *self = Self::default(),
            Frame::State(snapshot) => {
                *self = Self::default();
                let (prompt, rest) = snapshot.history.split_at(snapshot.n_prompt.min(snapshot.history.len()));
                self.extend(prompt, true);
                self.extend(rest, false);
            }
        }
        true
    }

    fn extend(&mut self, tokens: &[u32], is_prompt: bool) {
        self.tokens.extend_from_slice(tokens);
        self.is_prompt.resize(self.tokens.len(), is_prompt);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_back_was_a_prompt_or_not() {
        let mut past = Tokens::default();
        for frame in [Frame::Prompt(vec![1, 2]), Frame::Accept(vec![3]), Frame::Prompt(vec![4]), Frame::Accept(vec![5])]
        {
            assert!(past.follow(&frame));
        }
        assert_eq!((past.tokens(), past.n_prompt()), (&[1, 2, 3, 4, 5][..], 4));
        assert!(past.follow(&Frame::Rewind(2)));
        assert_eq!((past.tokens(), past.n_prompt()), (&[1, 2, 3][..], 2));
        let history = past.to_history();
        assert_eq!((history.tokens(), history.generated()), (&[1, 2, 3][..], &[3][..]));
        assert!(!past.follow(&Frame::Rewind(4)));
        assert_eq!(past.tokens().len(), 3);
        past.follow(&Frame::Reset);
        assert!(past.tokens().is_empty());
    }
}
