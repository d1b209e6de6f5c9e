//! Which of two runs, by token sequences.

use super::{Ctx, SequenceMatcher, StateReader, StepError, StepState};

/// Whose turn it is of two, which token sequences change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Turn {
    is_second: bool,
    matcher: SequenceMatcher,
}

impl Turn {
    /// Whether it is the second's. The first begins.
    pub fn is_second(&self) -> bool {
        self.is_second
    }

    /// Takes note of the token that the history ends with, and tells whether the turn changes with it: `ways` are the sequences
    /// that end the first's turn, and the second's. No sequence spans two turns. Where the prompt is not seen, none begins in it.
    pub fn changes(&mut self, ways: [&[Vec<u32>]; 2], sees_prompt: bool, ctx: &Ctx) -> bool {
        let is_prompt = ctx.history().n_prompt() == ctx.history().len();
        if is_prompt && !sees_prompt {
            self.matcher.forget();
            return false;
        }
        let [first, second] = ways;
        let changes = self.matcher.finds(if self.is_second { second } else { first }, ctx);
        self.is_second ^= changes;
        changes
    }
}

impl StepState for Turn {
    fn reset(&mut self, _: &Ctx) {
        *self = Self::default();
    }

    fn save(&self, state: &mut Vec<u64>) {
        state.push(self.is_second.into());
        self.matcher.save(state);
    }

    fn load(&mut self, state: &mut StateReader<'_>, ctx: &Ctx) -> Result<(), StepError> {
        let is_second = match state.number()? {
            number @ 0..=1 => number == 1,
            number => return Err(StepError::State(format!("{number} is no turn of two"))),
        };
        *self = Self { is_second, matcher: SequenceMatcher::load(state, ctx)? };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_is_saved_and_reset() {
        let (ways, mut turn, mut ctx) = ([&[vec![7]][..], &[vec![7, 8]]], Turn::default(), Ctx::new(1));
        for (token, changes) in [(8, false), (7, true), (8, false), (7, false)] {
            ctx.history_mut().push(token);
            assert_eq!(turn.changes(ways, false, &ctx), changes);
        }
        let (mut state, mut loaded) = (Vec::new(), Turn::default());
        turn.save(&mut state);
        loaded.load(&mut StateReader::new(&state), &ctx).unwrap();
        assert_eq!((state.as_slice(), loaded), (&[1, 2][..], turn));
        ctx.history_mut().push(8);
        assert!(loaded.changes(ways, false, &ctx) && !loaded.is_second());
        turn.reset(&ctx);
        assert_eq!(turn, Turn::default());
        let error = turn.load(&mut StateReader::new(&[2, 0]), &ctx).unwrap_err().to_string();
        assert_eq!(error, "state: 2 is no turn of two");
    }
}
