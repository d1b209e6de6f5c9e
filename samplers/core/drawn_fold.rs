//! A number that every drawn token moves on, kept from draw to draw.

use super::History;

/// A fold over the drawn tokens that reads each of them once: it goes on from what it has seen, and begins anew behind another
/// prompt, in a text that has become shorter, and with other parameters.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DrawnFold {
    numbers: Vec<f32>,
    tokens: Vec<u32>,
    n_prompt: usize,
    n_drawn: usize,
    value: f32,
}

impl DrawnFold {
    /// `start`, moved on by `next` for each token that was drawn since the prompt. `of` are the numbers and tokens that `next`
    /// depends on.
    pub fn over(&mut self, history: &History, start: f32, of: (&[f32], &[u32]), next: impl Fn(f32, u32) -> f32) -> f32 {
        let (drawn, n_prompt) = (history.generated(), history.n_prompt());
        let is_same = self.numbers == of.0 && self.tokens == of.1 && self.n_prompt == n_prompt;
        if !is_same || self.n_drawn == 0 || self.n_drawn > drawn.len() {
            *self = Self { numbers: of.0.to_vec(), tokens: of.1.to_vec(), n_prompt, n_drawn: 0, value: start };
        }
        self.value = drawn[self.n_drawn..].iter().fold(self.value, |value, &token| next(value, token));
        self.n_drawn = drawn.len();
        self.value
    }

    /// Nothing was seen: for a text that may have become another one.
    pub fn forget(&mut self) {
        self.n_drawn = 0;
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::core::Ctx;

    #[test]
    fn each_token_is_read_once() {
        let (mut fold, mut ctx, n_read) = (DrawnFold::default(), Ctx::new(1), Cell::new(0));
        let mut value = |ctx: &Ctx, factor: f32| {
            fold.over(ctx.history(), 1.0, (&[factor], &[]), |value, token| {
                n_read.set(n_read.get() + 1);
                value * factor + token as f32
            })
        };
        for (token, expected) in [(1, 3.0), (2, 8.0), (0, 16.0)] {
            ctx.history_mut().push(token);
            assert_eq!(value(&ctx, 2.0), expected);
        }
        assert_eq!(n_read.get(), 3);
        assert_eq!(value(&ctx, 1.0), 4.0, "another parameter");
        assert_eq!(n_read.get(), 6);
        ctx.history_mut().truncate(1, 0);
        assert_eq!(value(&ctx, 1.0), 2.0, "a shorter text");
        ctx.history_mut().push_prompt(9);
        assert_eq!(value(&ctx, 1.0), 1.0, "a prompt");
        assert_eq!(n_read.get(), 7);
    }
}
