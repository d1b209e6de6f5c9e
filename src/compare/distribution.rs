//! Final distributions of draws, and how far two are apart.

use std::cmp::Ordering;

use sampler_steps::libm::exp;

use crate::sampler::Draw;

/// A distribution over token ids: the tokens that can be drawn, each with its probability.
///
/// It stands in the order of the ids, and every sum over it runs in that order. So its numbers do not depend on the order in
/// which a chain left its candidates; and as exponentials and logarithms are not the system's, they have the same bits on every
/// machine.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Distribution {
    /// Ids rise; every probability is above 0.
    entries: Vec<(u32, f64)>,
}

/// Numbers that are no distribution.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DistributionError {
    /// A logit is NaN or +infinity.
    #[error("the logit of token {token} is {logit} at the end of the chain")]
    Logit {
        /// The token.
        token: u32,
        /// Its logit.
        logit: f32,
    },
    /// A weight is negative, infinite or NaN.
    #[error("the weight of token {token} is {weight}, and 0 or more is wanted")]
    Weight {
        /// The token.
        token: u32,
        /// Its weight.
        weight: f64,
    },
    /// No token can be drawn: there is none, or all have logit -infinity or weight 0; or the sum of weights is infinite.
    #[error("no token has a probability")]
    Nothing,
}

impl Distribution {
    /// The softmax in f64 of tokens with their logits (in nats), largest taken off first. A token with logit -infinity, or one
    /// whose exponential is 0 in f64 (746 nats below the largest), is no part of it. A token that comes twice counts twice.
    ///
    /// # Errors
    /// A logit that is NaN or +infinity, or nothing above -infinity.
    pub fn from_logits(logits: impl IntoIterator<Item = (u32, f32)>) -> Result<Self, DistributionError> {
        let mut weights = Vec::new();
        let mut largest = f32::NEG_INFINITY;
        for (token, logit) in logits {
            if logit.is_nan() || logit == f32::INFINITY {
                return Err(DistributionError::Logit { token, logit });
            }
            largest = largest.max(logit);
            weights.push((token, f64::from(logit)));
        }
        if largest == f32::NEG_INFINITY {
            return Err(DistributionError::Nothing);
        }
        weights.iter_mut().for_each(|(_, weight)| *weight = exp(*weight - f64::from(largest)));
        Self::normalised(weights)
    }

    /// Tokens with weights of any sum: probabilities, or counts. A token that comes twice counts twice.
    ///
    /// # Errors
    /// A weight that is negative, infinite or NaN, or no weight above 0.
    pub fn from_weights(weights: impl IntoIterator<Item = (u32, f64)>) -> Result<Self, DistributionError> {
        let weights: Vec<_> = weights.into_iter().collect();
        match weights.iter().find(|(_, weight)| !(weight.is_finite() && *weight >= 0.0)) {
            Some(&(token, weight)) => Err(DistributionError::Weight { token, weight }),
            None => Self::normalised(weights),
        }
    }

    /// The one that always gives this token.
    pub fn one_hot(token: u32) -> Self {
        Self { entries: vec![(token, 1.0)] }
    }

    /// The distribution that a draw was made from: the [softmax](Self::from_logits) of the logits that the chain left. That
    /// is what `dist`, `mirostat`, `mirostat_v2` and `adaptive_p` draw from, up to the rounding of their f32. After `greedy`,
    /// which leaves all candidates and takes the best, [`one_hot`](Self::one_hot) is the truth.
    ///
    /// # Errors
    /// As [`from_logits`](Self::from_logits).
    pub fn of_draw(draw: &mut Draw<'_>) -> Result<Self, DistributionError> {
        Self::from_logits(draw.candidates().iter().map(|cand| (cand.id, cand.logit)))
    }

    fn normalised(mut weights: Vec<(u32, f64)>) -> Result<Self, DistributionError> {
        weights.retain(|(_, weight)| *weight > 0.0);
        if !weights.is_sorted_by_key(|(token, _)| *token) {
            // Stable, so that a token that comes twice is added up in its order.
            weights.sort_by_key(|(token, _)| *token);
        }
        weights.dedup_by(|later, first| {
            let is_same = later.0 == first.0;
            first.1 += if is_same { later.1 } else { 0.0 };
            is_same
        });
        let sum: f64 = weights.iter().map(|(_, weight)| weight).sum();
        if weights.is_empty() || !sum.is_finite() {
            return Err(DistributionError::Nothing);
        }
        weights.iter_mut().for_each(|(_, weight)| *weight /= sum);
        // A weight far below the sum may have become 0.
        weights.retain(|(_, weight)| *weight > 0.0);
        Ok(Self { entries: weights })
    }

    /// The tokens that can be drawn and their probabilities, by rising id.
    pub fn entries(&self) -> &[(u32, f64)] {
        &self.entries
    }

    /// The probability of a token: 0 for one that cannot be drawn.
    pub fn probability(&self, token: u32) -> f64 {
        let found = self.entries.binary_search_by_key(&token, |(token, _)| *token);
        found.ok().and_then(|i| self.entries.get(i)).map_or(0.0, |(_, p)| *p)
    }

    /// How many tokens can be drawn.
    pub fn kept(&self) -> usize {
        self.entries.len()
    }

    /// Shannon's entropy -Σ p log₂ p, in bits, as mirostat's tau: 0 for one token, log₂ n for n equal ones.
    pub fn entropy(&self) -> f64 {
        // From 0.0, as a sum of -0.0 would print as such.
        self.entries.iter().fold(0.0, |sum, (_, p)| sum - p * libm::log2(*p)).max(0.0)
    }

    /// The total variation distance ½ Σ |p - q|: 0 where both are the same, 1 where no token can be drawn from both. It is the
    /// least share of draws that must differ, whatever the random numbers.
    pub fn total_variation(&self, other: &Self) -> f64 {
        let twice = self.beside(other).fold(0.0, |sum, (p, q)| sum + (p - q).abs());
        (twice / 2.0).min(1.0)
    }

    /// The Kullback-Leibler divergence D(self ‖ other) = Σ p ln(p / q), in nats, p being this distribution: 0 where both are the
    /// same, and +infinity where a token can be drawn from this one that cannot be from `other`. Not symmetric.
    pub fn kl_divergence(&self, other: &Self) -> f64 {
        let term = |(p, q): (f64, f64)| match p / q {
            _ if q == 0.0 => f64::INFINITY,
            // One that is beyond f64 has a logarithm all the same.
            f64::INFINITY => p * (libm::log(p) - libm::log(q)),
            ratio => p * libm::log(ratio),
        };
        let sum = self.beside(other).filter(|(p, _)| *p > 0.0).fold(0.0, |sum, both| sum + term(both));
        // Gibbs: what is below 0 is rounding.
        f64::max(sum, 0.0)
    }

    /// The probabilities of every token that one of two can give, by rising id.
    fn beside<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = (f64, f64)> + 'a {
        let (mut these, mut those) = (self.entries.iter().peekable(), other.entries.iter().peekable());
        std::iter::from_fn(move || {
            let order = match (these.peek(), those.peek()) {
                (None, None) => return None,
                (Some((here, _)), Some((there, _))) => here.cmp(there),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
            };
            let p = if order.is_le() { these.next() } else { None };
            let q = if order.is_ge() { those.next() } else { None };
            Some((p.map_or(0.0, |(_, p)| *p), q.map_or(0.0, |(_, q)| *q)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(weights: &[(u32, f64)]) -> Distribution {
        Distribution::from_weights(weights.iter().copied()).unwrap()
    }

    #[test]
    fn by_hand() {
        let p = of(&[(1, 0.5), (2, 0.25), (5, 0.25)]);
        let q = of(&[(5, 0.5), (2, 0.25), (1, 0.25)]);
        assert_eq!(q.entries(), [(1, 0.25), (2, 0.25), (5, 0.5)]);
        assert_eq!((p.kept(), p.probability(5), p.probability(3)), (3, 0.25, 0.0));
        // ½ (¼ + 0 + ¼), and ½ ln 2 + ¼ ln 1 - ¼ ln 2.
        assert_eq!(p.total_variation(&q), 0.25);
        let ln2 = std::f64::consts::LN_2;
        assert_eq!(p.kl_divergence(&q).to_bits(), (0.25 * ln2).to_bits());
        assert_eq!(p.entropy(), 1.5);
        // The directions differ: ¾ ln 3 - ln 2, and ln 2 - ½ ln 3.
        let (a, b) = (of(&[(0, 0.75), (1, 0.25)]), of(&[(0, 0.5), (1, 0.5)]));
        let (there, back) = (a.kl_divergence(&b), b.kl_divergence(&a));
        assert!((there - (0.75 * 3f64.ln() - ln2)).abs() < 1e-15, "{there}");
        assert!((back - (ln2 - 0.5 * 3f64.ln())).abs() < 1e-15, "{back}");
    }

    #[test]
    fn tokens_of_one_side_alone() {
        let all = of(&[(0, 0.5), (1, 0.25), (2, 0.25)]);
        let cut = of(&[(0, 2.0), (1, 2.0)]);
        assert_eq!(all.kl_divergence(&cut), f64::INFINITY);
        // ½ ln 1 + ½ ln 2
        assert_eq!(cut.kl_divergence(&all).to_bits(), (0.5 * std::f64::consts::LN_2).to_bits());
        assert_eq!(all.total_variation(&cut), 0.25);
        let elsewhere = Distribution::one_hot(9);
        assert_eq!((all.total_variation(&elsewhere), elsewhere.entropy().to_bits()), (1.0, 0));
        assert_eq!((elsewhere.kl_divergence(&all), all.kl_divergence(&elsewhere)), (f64::INFINITY, f64::INFINITY));
    }

    #[test]
    fn the_same_is_exactly_the_same() {
        let logits: Vec<(u32, f32)> = (0..1000).map(|i| (i, ((i * 7919) % 1000) as f32 / 90.0)).collect();
        let p = Distribution::from_logits(logits.iter().copied()).unwrap();
        // In another order, too.
        let q = Distribution::from_logits(logits.iter().rev().copied()).unwrap();
        assert_eq!(p, q);
        assert_eq!((p.kl_divergence(&q).to_bits(), p.total_variation(&q).to_bits()), (0, 0));
    }

    #[test]
    fn softmax() {
        let p = Distribution::from_logits([(3, 1.0), (1, 1.0), (2, f32::NEG_INFINITY), (0, -800.0)]).unwrap();
        assert_eq!(p.entries(), [(1, 0.5), (3, 0.5)]);
        assert_eq!(Distribution::from_logits([(7, -3.0)]), Ok(Distribution::one_hot(7)));
        // Very unlikely is not impossible.
        let [a, b] = [(0.0, -740.0), (-740.0, 0.0)].map(|(a, b)| Distribution::from_logits([(0, a), (1, b)]).unwrap());
        assert!((a.kl_divergence(&b) - 740.0).abs() < 0.01, "{}", a.kl_divergence(&b));
        let twice = Distribution::from_weights([(4, 1.0), (2, 2.0), (4, 1.0), (5, 0.0)]).unwrap();
        assert_eq!(twice.entries(), [(2, 0.5), (4, 0.5)]);
    }

    #[test]
    fn what_is_none_is_refused() {
        let error = |logits: &[(u32, f32)]| Distribution::from_logits(logits.iter().copied()).unwrap_err().to_string();
        assert_eq!(error(&[(1, 0.0), (2, f32::NAN)]), "the logit of token 2 is NaN at the end of the chain");
        assert_eq!(error(&[(1, f32::INFINITY)]), "the logit of token 1 is inf at the end of the chain");
        assert_eq!(error(&[(1, f32::NEG_INFINITY)]), "no token has a probability");
        assert_eq!(error(&[]), "no token has a probability");
        let error =
            |weights: &[(u32, f64)]| Distribution::from_weights(weights.iter().copied()).unwrap_err().to_string();
        assert_eq!(error(&[(8, -0.5)]), "the weight of token 8 is -0.5, and 0 or more is wanted");
        assert_eq!(error(&[(8, 0.0)]), "no token has a probability");
        assert_eq!(error(&[(8, f64::MAX), (9, f64::MAX)]), "no token has a probability");
    }
}
