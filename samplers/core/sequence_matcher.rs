//! A watch for token sequences.

use super::{Ctx, StateReader, StepError};

/// Waits for one of some token sequences to be accepted. It looks at the tokens since its last find, so that finds do not
/// overlap: what is waited for may be other sequences then.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SequenceMatcher {
    /// How many of the last tokens it looks at.
    seen: usize,
}

impl SequenceMatcher {
    /// Takes note of the token that the history ends with, and tells whether one of the sequences does. An empty one is never
    /// found.
    pub fn finds(&mut self, sequences: &[Vec<u32>], ctx: &Ctx) -> bool {
        self.seen += 1;
        let recent = ctx.history().last(self.seen);
        let found = sequences.iter().any(|sequence| !sequence.is_empty() && recent.ends_with(sequence));
        if found {
            self.forget();
        }
        found
    }

    /// Begins anew: no sequence began yet.
    pub fn forget(&mut self) {
        self.seen = 0;
    }

    /// Writes one number down.
    pub fn save(&self, state: &mut Vec<u64>) {
        state.push(self.seen as u64);
    }

    /// Reads what [`save`](Self::save) wrote.
    ///
    /// # Errors
    /// More tokens than the history has.
    pub fn load(state: &mut StateReader<'_>, ctx: &Ctx) -> Result<Self, StepError> {
        let (seen, n_tokens) = (state.number()?, ctx.history().len());
        match usize::try_from(seen).ok().filter(|&seen| seen <= n_tokens) {
            Some(seen) => Ok(Self { seen }),
            None => {
                Err(StepError::State(format!("a search among {seen} tokens is of more than the {n_tokens} there are")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finds(matcher: &mut SequenceMatcher, ctx: &mut Ctx, tokens: &[u32], sequences: &[Vec<u32>]) -> Vec<bool> {
        let mut one = |&token| {
            ctx.history_mut().push(token);
            matcher.finds(sequences, ctx)
        };
        tokens.iter().map(&mut one).collect()
    }

    #[test]
    fn finds_do_not_overlap() {
        let (mut matcher, mut ctx) = (SequenceMatcher::default(), Ctx::new(1));
        let sequences = [vec![], vec![1, 1], vec![2, 3, 2]];
        let found = finds(&mut matcher, &mut ctx, &[1, 1, 1, 2, 3, 2, 3, 2], &sequences);
        assert_eq!(found, [false, true, false, false, false, true, false, false]);
        assert_eq!(finds(&mut matcher, &mut ctx, &[3, 2], &sequences), [false, true]);
        finds(&mut matcher, &mut ctx, &[1], &sequences);
        matcher.forget();
        assert_eq!(finds(&mut matcher, &mut ctx, &[1, 1], &sequences), [false, true]);
    }

    #[test]
    fn a_search_is_saved() {
        let (mut matcher, mut ctx) = (SequenceMatcher::default(), Ctx::new(1));
        finds(&mut matcher, &mut ctx, &[1, 2], &[vec![2]]);
        finds(&mut matcher, &mut ctx, &[1], &[vec![1, 1]]);
        let mut state = Vec::new();
        matcher.save(&mut state);
        assert_eq!(
            (state.as_slice(), SequenceMatcher::load(&mut StateReader::new(&state), &ctx)),
            (&[1][..], Ok(matcher))
        );
        let error = SequenceMatcher::load(&mut StateReader::new(&[4]), &ctx).unwrap_err().to_string();
        assert_eq!(error, "state: a search among 4 tokens is of more than the 3 there are");
    }
}
