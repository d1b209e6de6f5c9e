//! Sums and distributions in f64, for looking: nothing here is part of a draw.

use sampler_steps::Cand;

/// A sum with the error of each addition kept beside it (Neumaier): as good as in twice the digits, rounded once.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sum {
    sum: f64,
    rest: f64,
}

impl Sum {
    pub fn add(&mut self, x: f64) {
        let sum = self.sum + x;
        self.rest += if self.sum.abs() >= x.abs() { self.sum - sum + x } else { x - sum + self.sum };
        self.sum = sum;
    }

    pub fn get(self) -> f64 {
        self.sum + self.rest
    }
}

impl FromIterator<f64> for Sum {
    fn from_iter<I: IntoIterator<Item = f64>>(numbers: I) -> Self {
        let mut sum = Self::default();
        numbers.into_iter().for_each(|x| sum.add(x));
        sum
    }
}

/// The softmax of the candidates' logits, in their order. None where these are no distribution.
pub fn softmax(cands: &[Cand]) -> Option<Vec<f64>> {
    if cands.iter().any(|cand| cand.logit.is_nan()) {
        return None;
    }
    let largest = cands.iter().fold(f32::NEG_INFINITY, |largest, cand| largest.max(cand.logit));
    if !largest.is_finite() {
        return None;
    }
    let mut probs: Vec<f64> = cands.iter().map(|cand| (f64::from(cand.logit) - f64::from(largest)).exp()).collect();
    let sum = probs.iter().copied().collect::<Sum>().get();
    probs.iter_mut().for_each(|p| *p /= sum);
    Some(probs)
}

/// The entropy of a distribution, in bits.
pub fn entropy(probs: &[f64]) -> f64 {
    let surprises = probs.iter().filter(|&&p| p > 0.0).map(|p| -p * p.log2());
    // A certain token has a surprise of -0.
    surprises.collect::<Sum>().get().max(0.0)
}

/// How a logit stands in JSON: as a parameter does, and `"nan"`.
pub mod logit {
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(logit: &f32, serializer: S) -> Result<S::Ok, S::Error> {
        if logit.is_nan() {
            serializer.serialize_str("nan")
        } else {
            sampler_steps::float::serialize(logit, serializer)
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f32, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Number(#[serde(with = "sampler_steps::float")] f32),
            Word(String),
        }
        match Written::deserialize(deserializer)? {
            Written::Number(logit) => Ok(logit),
            Written::Word(word) if word == "nan" => Ok(f32::NAN),
            Written::Word(word) => Err(serde::de::Error::custom(format!("\"{word}\" is no logit"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cands(logits: &[f32]) -> Vec<Cand> {
        logits.iter().zip(0..).map(|(&logit, id)| Cand { id, logit, p: 0.0 }).collect()
    }

    #[test]
    fn a_sum_keeps_what_rounding_loses() {
        let naive: f64 = std::iter::once(1.0).chain(std::iter::repeat_n(1e-17, 1_000_000)).sum();
        assert_eq!(naive, 1.0);
        let sum: Sum = std::iter::once(1.0).chain(std::iter::repeat_n(1e-17, 1_000_000)).collect();
        assert!((sum.get() - (1.0 + 1e-11)).abs() <= f64::EPSILON, "{}", sum.get());
        assert_eq!([1e100, 1.0, -1e100].into_iter().collect::<Sum>().get(), 1.0);
    }

    #[test]
    fn entropy_is_in_bits() {
        let of = |logits: &[f32]| entropy(&softmax(&cands(logits)).unwrap());
        assert_eq!(of(&[5.0; 8]), 3.0);
        assert_eq!(of(&[5.0]), 0.0);
        assert!(of(&[5.0]).is_sign_positive());
        assert_eq!(of(&[1.0, f32::NEG_INFINITY, 1.0]), 1.0);
    }

    #[test]
    fn what_is_no_distribution_has_none() {
        for logits in [&[][..], &[1.0, f32::NAN], &[f32::INFINITY, 1.0], &[f32::NEG_INFINITY; 2]] {
            assert_eq!(softmax(&cands(logits)), None, "{logits:?}");
        }
    }
}
