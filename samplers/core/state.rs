//! What a step keeps, and what that is written down as: numbers, floats by their bits.

use super::{Ctx, StepError};
use crate::libstdcxx::Mt19937;

/// A saved generator is so many outputs on at most.
const MAX_TAKEN: u64 = 1 << 31;

/// What a step keeps from draw to draw or token to token, as far as parameters, seed and history do not tell it
/// ([`SamplerStep::state`](super::SamplerStep::state)).
pub trait StepState {
    /// Begins anew. The history in `ctx` is the one to start from, usually empty.
    fn reset(&mut self, ctx: &Ctx);

    /// Writes it down: always the same number of values.
    fn save(&self, state: &mut Vec<u64>);

    /// Reads what [`save`](Self::save) wrote. The history in `ctx` is the one of that moment.
    ///
    /// # Errors
    /// Values that `save` does not write.
    fn load(&mut self, state: &mut StateReader<'_>, ctx: &Ctx) -> Result<(), StepError>;
}

/// A step's generator begins with the chain's seed, and is written down as the number of its outputs.
impl StepState for Mt19937 {
    fn reset(&mut self, ctx: &Ctx) {
        *self = Self::new(ctx.seed());
    }

    fn save(&self, state: &mut Vec<u64>) {
        state.push(self.taken());
    }

    fn load(&mut self, state: &mut StateReader<'_>, ctx: &Ctx) -> Result<(), StepError> {
        *self = state.generator(ctx.seed())?;
        Ok(())
    }
}

/// Reads the numbers that the steps of a chain [saved](super::SamplerStep::save), in their order.
#[derive(Debug)]
pub struct StateReader<'a> {
    rest: &'a [u64],
    /// How many outputs its generators may be on, together.
    left: u64,
}

impl<'a> StateReader<'a> {
    /// A reader of all numbers of a chain.
    pub fn new(state: &'a [u64]) -> Self {
        Self { rest: state, left: u64::MAX }
    }

    /// A reader of numbers that came from elsewhere: all generators together are 2^31 outputs on at most, which take seconds to go
    /// through, however many there are.
    pub fn of_snapshot(state: &'a [u64]) -> Self {
        Self { rest: state, left: MAX_TAKEN }
    }

    /// The next number.
    ///
    /// # Errors
    /// Where there is none: the state is another chain's.
    pub fn number(&mut self) -> Result<u64, StepError> {
        let (&first, rest) = self.rest.split_first().ok_or_else(|| StepError::State("it ends too early".into()))?;
        self.rest = rest;
        Ok(first)
    }

    /// The next number as a float of these bits.
    ///
    /// # Errors
    /// Where there is none, or it is wider than 32 bits.
    pub fn float(&mut self) -> Result<f32, StepError> {
        self.narrow().map(f32::from_bits)
    }

    /// The next number, of 32 bits at most.
    ///
    /// # Errors
    /// Where there is none, or it is wider.
    pub fn narrow(&mut self) -> Result<u32, StepError> {
        let number = self.number()?;
        u32::try_from(number).map_err(|_| StepError::State(format!("{number} is wider than 32 bits")))
    }

    /// The next number as how far a generator of this seed is. 2^31 outputs at most, which take seconds to go through: a
    /// number that somebody made up must not hang.
    ///
    /// # Errors
    /// Where there is none, or it is larger.
    pub fn generator(&mut self, seed: u32) -> Result<Mt19937, StepError> {
        let taken = self.number()?;
        if taken > MAX_TAKEN {
            return Err(StepError::State(format!("a generator is {taken} outputs on, and {MAX_TAKEN} is the most")));
        }
        self.left = self.left.checked_sub(taken).ok_or_else(|| {
            StepError::State(format!("its generators are together further on, and {MAX_TAKEN} is the most"))
        })?;
        Ok(Mt19937::at(seed, taken))
    }

    /// Whether every number was read.
    pub fn is_done(&self) -> bool {
        self.rest.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_in_order_and_refuses_what_is_not_there() {
        let numbers = [7, u64::from(1.5f32.to_bits()), u64::MAX];
        let mut state = StateReader::new(&numbers);
        assert_eq!((state.number(), state.float()), (Ok(7), Ok(1.5)));
        assert_eq!(state.narrow().unwrap_err().to_string(), "state: 18446744073709551615 is wider than 32 bits");
        assert!(state.is_done());
        let error = StateReader::new(&[u64::MAX]).generator(1).unwrap_err().to_string();
        assert_eq!(error, "state: a generator is 18446744073709551615 outputs on, and 2147483648 is the most");
        assert_eq!(state.number().unwrap_err().to_string(), "state: it ends too early");
    }

    /// A thousand generators that somebody made up must not take an hour.
    #[test]
    fn the_generators_of_a_snapshot_are_so_far_on_together() {
        let numbers = [1000, MAX_TAKEN - 1000, 1];
        let mut state = StateReader::of_snapshot(&numbers);
        assert!(state.generator(1).is_ok());
        state.left -= MAX_TAKEN - 2000;
        let error = state.generator(1).unwrap_err().to_string();
        assert_eq!(error, "state: its generators are together further on, and 2147483648 is the most");
        let mut own = StateReader::new(&[1000, 1000]);
        assert!(own.generator(1).is_ok() && own.generator(1).is_ok() && own.is_done());
    }
}
