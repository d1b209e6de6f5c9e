//! Draws under a constraint (a grammar, a list of words), in llama-server's order.

use sampler_steps::{CandSet, SamplerStep};

use super::Sampler;
use crate::error::SampleError;

/// What may follow: a grammar that knows the text so far.
pub trait Constraint {
    /// Whether the token may come next.
    fn allows(&mut self, token: u32) -> bool;

    /// Takes note of an accepted token. [`Sampler::sample_and_accept_constrained`] calls it; after other draws its owner does.
    /// Default: nothing.
    fn accept(&mut self, token: u32) {
        let _ = token;
    }

    /// Sets the logit of every candidate that may not come next to -infinity, with [`CandSet::mask`].
    fn mask(&mut self, cands: &mut CandSet<'_>) {
        cands.mask(|token| self.allows(token));
    }
}

impl Sampler {
    /// Draws a token that the constraint allows, as `common_sampler_sample` does, and tells whether it had to draw twice.
    ///
    /// The chain runs on the raw logits, and its token stands if it is allowed: that is cheaper than masking, and mostly
    /// enough. Else the chain runs again from the raw logits, masked. Every generator and every average moves again then, and
    /// penalties apply anew.
    ///
    /// # Errors
    /// As [`sample`](Self::sample), and [`SampleError::AllMasked`] where the constraint allows nothing; the generators have then
    /// moved for the first draw, which [`rewind(0)`](Self::rewind) undoes.
    pub fn sample_constrained(
        &mut self,
        logits: &[f32],
        constraint: &mut (impl Constraint + ?Sized),
    ) -> Result<(u32, bool), SampleError> {
        let token = self.sample(logits)?;
        if constraint.allows(token) {
            return Ok((token, false));
        }
        Ok((self.sample_grammar_first(logits, constraint)?, true))
    }

    /// Draws a token with the mask before the chain, once: `common_sampler_sample` with `grammar_first`.
    ///
    /// # Errors
    /// As [`sample`](Self::sample), and [`SampleError::AllMasked`] where the constraint allows nothing.
    pub fn sample_grammar_first(
        &mut self,
        logits: &[f32],
        constraint: &mut (impl Constraint + ?Sized),
    ) -> Result<u32, SampleError> {
        let mask = |cands: &mut CandSet<'_>| {
            constraint.mask(cands);
            let any = cands.logits().any(|logit| logit > f32::NEG_INFINITY);
            if any { Ok(()) } else { Err(SampleError::AllMasked) }
        };
        self.run(logits, mask, |chain, cands, ctx| chain.apply(cands, ctx)).map(|draw| draw.token())
    }
}

#[cfg(test)]
mod tests {
    use sampler_steps::{Chain, Ctx, Dist, Greedy, Penalties};

    use super::*;

    /// Allows only these tokens.
    struct Only(&'static [u32]);

    impl Constraint for Only {
        fn allows(&mut self, token: u32) -> bool {
            self.0.contains(&token)
        }
    }

    fn sampler(chain: Chain) -> Sampler {
        Sampler::from_chain(chain, Ctx::new(42)).unwrap()
    }

    #[test]
    fn an_allowed_token_stands() {
        let mut greedy = sampler(Chain::new().with(Greedy {}));
        assert_eq!(greedy.sample_constrained(&[1.0, 3.0, 2.0], &mut Only(&[1, 2])), Ok((1, false)));
        assert_eq!(greedy.sample_constrained(&[1.0, 3.0, 2.0], &mut Only(&[0, 2])), Ok((2, true)));
        assert_eq!(greedy.sample_grammar_first(&[1.0, 3.0, 2.0], &mut Only(&[0])), Ok(0));
    }

    #[test]
    fn a_redraw_moves_the_generator_again() {
        let drawn_after = |constraint: &mut Only| {
            let mut dist = sampler(Chain::new().with(Dist::default()));
            dist.sample_constrained(&[9.0, 1.0], constraint).unwrap();
            let mut state = dist.snapshot().state;
            state.pop().unwrap()
        };
        assert_eq!(drawn_after(&mut Only(&[0])), 2, "one double is two outputs");
        assert_eq!(drawn_after(&mut Only(&[1])), 4);
    }

    #[test]
    fn penalties_apply_anew_to_the_raw_logits() {
        let mut sampler = sampler(Chain::new().with(Penalties::new(8, 2.0, 0.0, 0.0)).with(Greedy {}));
        sampler.accept_prompt(1).unwrap();
        // 3.0 becomes 1.5 once, not 0.75 in the second run.
        assert_eq!(sampler.sample_constrained(&[2.0, 3.0, 1.0], &mut Only(&[1, 2])), Ok((1, true)));
    }

    /// A row that is not finite keeps to the grammar, too.
    #[test]
    fn the_largest_finite_logit_is_an_allowed_one() {
        let mut argmax = sampler(Chain::new().with(Dist::default())).with_non_finite(crate::NonFinite::FiniteArgmax);
        let row = [1.0, f32::NAN, 3.0, 2.0];
        assert_eq!(argmax.sample_constrained(&row, &mut Only(&[0, 1, 3])), Ok((3, true)));
        assert_eq!(argmax.sample_constrained(&row, &mut Only(&[2])), Ok((2, false)));
        assert_eq!(argmax.sample_constrained(&row, &mut Only(&[1])), Err(SampleError::AllMasked));
    }

    #[test]
    fn a_constraint_that_allows_nothing_is_an_error() {
        let mut dist = sampler(Chain::new().with(Dist::default()));
        assert_eq!(dist.sample_constrained(&[1.0, 2.0], &mut Only(&[])), Err(SampleError::AllMasked));
    }
}
