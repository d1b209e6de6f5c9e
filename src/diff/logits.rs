//! What differs between two rows of logits.

use serde::{Serialize, Serializer};

/// How two rows of the same width differ, by their bits.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LogitsDifference {
    /// How wide the rows are.
    pub n_vocab: usize,
    /// How many logits differ in their bits; 0 and -0 do, and NaNs with other payloads.
    pub n_differ: usize,
    /// The first that does.
    pub first: LogitPair,
    /// The pair of finite logits that are furthest apart. None where no two that differ are finite.
    pub furthest: Option<LogitPair>,
    /// How far these are apart.
    pub max_difference: Option<f64>,
    /// The largest number of f32 that lie between two logits of a pair, and one more: 1 is the next float. NaN is left out.
    pub max_ulp: Option<u64>,
    /// The most likely token of A's row, the first of several; None where every logit is NaN.
    pub a_best: Option<u32>,
    /// B's.
    pub b_best: Option<u32>,
}

/// The logits of a token in both rows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LogitPair {
    /// The token.
    pub token: u32,
    /// A's logit.
    #[serde(serialize_with = "number")]
    pub a: f32,
    /// B's.
    #[serde(serialize_with = "number")]
    pub b: f32,
    /// A's bits.
    pub a_bits: u32,
    /// B's.
    pub b_bits: u32,
}

impl LogitsDifference {
    /// Compares two rows of f32, little-endian, of the same width. None where every bit is the same.
    pub(super) fn between(a: &[u8], b: &[u8]) -> Option<Self> {
        if a == b {
            return None;
        }
        let rows = [a, b].map(|row| row.as_chunks::<4>().0.iter().map(|four| f32::from_le_bytes(*four)));
        let [a_row, b_row] = rows;
        let pairs = a_row.clone().zip(b_row.clone()).zip(0u32..);
        let mut differing = pairs.filter(|((a, b), _)| a.to_bits() != b.to_bits()).map(|((a, b), token)| LogitPair {
            token,
            a,
            b,
            a_bits: a.to_bits(),
            b_bits: b.to_bits(),
        });
        let first = differing.next()?;
        let (mut n_differ, mut furthest, mut max_ulp) = (0, None, None);
        for pair in std::iter::once(first).chain(differing) {
            n_differ += 1;
            max_ulp = max_ulp.max(pair.ulp());
            if let Some(far) = pair.difference()
                && furthest.is_none_or(|(most, _)| far > most)
            {
                furthest = Some((far, pair));
            }
        }
        Some(Self {
            n_vocab: a.len() / 4,
            n_differ,
            first,
            furthest: furthest.map(|(_, pair)| pair),
            max_difference: furthest.map(|(far, _)| far),
            max_ulp,
            a_best: best(a_row),
            b_best: best(b_row),
        })
    }
}

impl LogitPair {
    fn difference(&self) -> Option<f64> {
        let is_finite = self.a.is_finite() && self.b.is_finite();
        is_finite.then(|| (f64::from(self.a) - f64::from(self.b)).abs())
    }

    fn ulp(&self) -> Option<u64> {
        let is_number = !self.a.is_nan() && !self.b.is_nan();
        is_number.then(|| place(self.a).abs_diff(place(self.b)))
    }
}

/// The place of a float among all in their order, -0 just before 0.
fn place(x: f32) -> i64 {
    let bits = i64::from(x.to_bits() & 0x7fff_ffff);
    if x.is_sign_negative() { -1 - bits } else { bits }
}

fn best(row: impl Iterator<Item = f32>) -> Option<u32> {
    let mut numbers = row.zip(0u32..).filter(|(logit, _)| !logit.is_nan());
    let first = numbers.next()?;
    Some(numbers.fold(first, |best, next| if next.0 > best.0 { next } else { best }).1)
}

/// JSON has no numbers that are not finite: they are texts.
fn number<S: Serializer>(x: &f32, serializer: S) -> Result<S::Ok, S::Error> {
    if x.is_finite() { serializer.serialize_f32(*x) } else { serializer.serialize_str(&x.to_string()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn between(a: &[f32], b: &[f32]) -> Option<LogitsDifference> {
        let bytes = |row: &[f32]| row.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
        LogitsDifference::between(&bytes(a), &bytes(b))
    }

    #[test]
    fn the_same_bits_are_no_difference() {
        let row = [1.0, f32::NAN, f32::NEG_INFINITY, -0.0];
        assert_eq!(between(&row, &row), None);
    }

    #[test]
    fn one_ulp_is_one() {
        let found = between(&[1.0, 2.0, 3.0], &[1.0, 2.0_f32.next_up(), 3.0]).unwrap();
        assert_eq!((found.n_differ, found.first.token, found.max_ulp), (1, 1, Some(1)));
        assert_eq!(found.max_difference, Some(f64::from(2.0_f32.next_up()) - 2.0));
        assert_eq!((found.a_best, found.b_best), (Some(2), Some(2)));
    }

    #[test]
    fn zeros_are_two_floats() {
        let found = between(&[0.0], &[-0.0]).unwrap();
        assert_eq!((found.max_ulp, found.max_difference), (Some(1), Some(0.0)));
    }

    #[test]
    fn what_is_not_finite_has_no_distance() {
        let payload = f32::from_bits(0x7fc0_0001);
        let found = between(&[f32::NAN, f32::NEG_INFINITY], &[payload, f32::NEG_INFINITY]).unwrap();
        assert_eq!((found.n_differ, found.max_ulp, found.max_difference, found.furthest), (1, None, None, None));
        assert_eq!((found.first.a_bits, found.first.b_bits), (0x7fc0_0000, 0x7fc0_0001));
        let found = between(&[f32::NEG_INFINITY, 5.0], &[f32::INFINITY, 4.0]).unwrap();
        assert_eq!((found.n_differ, found.max_difference, found.furthest.unwrap().token), (2, Some(1.0), 1));
        assert_eq!((found.a_best, found.b_best), (Some(1), Some(0)));
        let json = serde_json::to_value(&found).unwrap();
        assert_eq!((&json["first"]["a"], &json["first"]["b"]), (&"-inf".into(), &"inf".into()));
    }
}
