//! DRY's breakers for engines that have a tokenizer of their own.

use std::sync::Arc;

use sampler_steps::{Dry, DryBreakers};

use super::Sampler;

impl Sampler {
    /// Whether a DRY step runs without its breakers, because no vocabulary has made tokens of their texts:
    /// [`set_dry_breakers`](Self::set_dry_breakers) gives them.
    pub fn wants_dry_breakers(&self) -> bool {
        !self.breaker_texts.is_empty() && self.has_dry()
    }

    /// The texts that wait to be made breakers of; none where there is a vocabulary, or they were given.
    pub fn dry_sequence_breakers(&self) -> &[String] {
        &self.breaker_texts
    }

    /// Gives every DRY step of the chain its breakers, made by [`dry_breakers`](crate::dry_breakers) or from tokens.
    pub fn set_dry_breakers(&mut self, breakers: Arc<DryBreakers>) {
        self.chain.visit_mut(&mut |dry: &mut Dry| dry.set_breakers(breakers.clone()));
        self.breaker_texts.clear();
    }

    /// What tells the breakers of every DRY step from others.
    pub(crate) fn breaker_digests(&self) -> Vec<u64> {
        let mut digests = Vec::new();
        self.chain.visit(&mut |dry: &Dry| digests.push(dry.breakers_in_use().digest()));
        digests
    }

    fn has_dry(&self) -> bool {
        let mut found = false;
        self.chain.visit(&mut |dry: &Dry| found |= !sampler_steps::SamplerStep::is_off(dry));
        found
    }
}

#[cfg(test)]
mod tests {
    use crate::Params;

    use super::*;

    #[test]
    fn breakers_are_wanted_until_they_are_given() {
        let params =
            Params { dry_multiplier: 0.8, dry_allowed_length: 1, temperature: 0.0, seed: 1, ..Params::default() };
        let mut sampler = Sampler::new(params.clone()).unwrap();
        assert!(sampler.wants_dry_breakers());
        assert_eq!(sampler.dry_sequence_breakers(), ["\n", ":", "\"", "*"]);
        // 1 2 1: after 1 came 2, which DRY makes less likely than 0.
        [1, 2, 1].into_iter().for_each(|token| sampler.accept_prompt(token).unwrap());
        assert_eq!(sampler.sample(&[2.9, 0.0, 3.0]), Ok(0));
        sampler.set_dry_breakers(Arc::new(DryBreakers::from_tokens(&[vec![1]])));
        assert!(!sampler.wants_dry_breakers());
        assert_eq!(sampler.sample(&[2.9, 0.0, 3.0]), Ok(2));

        let off = Params { dry_multiplier: 0.0, ..params.clone() };
        assert!(!Sampler::new(off).unwrap().wants_dry_breakers());
        let given = Params { dry_breakers: Some(vec![vec![1]]), ..params };
        assert!(!Sampler::new(given).unwrap().wants_dry_breakers());
    }
}
