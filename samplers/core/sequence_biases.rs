//! Biases of token sequences: which of them hold now, added up.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Biases of token sequences. That of a sequence holds for its last token where the tokens before end the history; of one token
/// it always does. Those of one token are added up in f32, and so in an order: transformers'
/// (`SequenceBiasLogitsProcessor`).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SequenceBiases {
    /// By the last token, those of one token in the order in which they add up.
    sequences: Vec<(Vec<u32>, f32)>,
    now: Vec<(u32, f32)>,
}

impl SequenceBiases {
    /// Of pairs of a sequence and its bias, a finite number or -infinity. A sequence that is given twice stands at its first
    /// place and has its last bias; an empty one is none.
    ///
    /// Of a token add up: the bias of the token alone, then length by length, lengths as they are first seen.
    pub fn new<'t>(given: impl IntoIterator<Item = (&'t [u32], f32)>) -> Self {
        let (mut places, mut lengths) = (HashMap::<&[u32], usize>::new(), vec![1]);
        let mut sequences: Vec<(Vec<u32>, f32)> = Vec::new();
        for (tokens, bias) in given {
            if !lengths.contains(&tokens.len()) {
                lengths.push(tokens.len());
            }
            match places.entry(tokens) {
                Entry::Occupied(place) => sequences[*place.get()].1 = bias,
                Entry::Vacant(place) => {
                    place.insert(sequences.len());
                    sequences.push((tokens.to_vec(), bias));
                }
            }
        }
        let length = |tokens: &[u32]| lengths.iter().position(|&length| length == tokens.len());
        sequences.sort_by_cached_key(|(tokens, _)| (tokens.last().copied(), length(tokens)));
        Self { sequences, now: Vec::new() }
    }

    /// Every token with a bias after this history, by rising id, each with the sum of its biases.
    pub fn after(&mut self, history: &[u32]) -> &[(u32, f32)] {
        self.now.clear();
        for (tokens, bias) in &self.sequences {
            let Some((&last, before)) = tokens.split_last() else { continue };
            if history.ends_with(before) {
                match self.now.last_mut() {
                    Some((token, sum)) if *token == last => *sum = Self::add(*sum, *bias),
                    _ => self.now.push((last, *bias)),
                }
            }
        }
        &self.now
    }

    /// The sum, no larger than the largest f32: an infinite one would become NaN beside -infinity. What is forbidden by `b`
    /// stays so, whatever `a` is.
    pub fn add(a: f32, b: f32) -> f32 {
        match a + b {
            f32::INFINITY => f32::MAX,
            _ if b == f32::NEG_INFINITY => b,
            sum => sum,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: f32 = f32::NEG_INFINITY;

    #[test]
    fn what_holds_is_told_by_rising_id() {
        let given: [(&[u32], f32); 5] = [(&[9], 1.0), (&[4, 2], 2.0), (&[3, 4, 2], 4.0), (&[2, 5], 8.0), (&[], 16.0)];
        let mut biases = SequenceBiases::new(given);
        assert_eq!(biases.after(&[]), [(9, 1.0)]);
        assert_eq!(biases.after(&[4]), [(2, 2.0), (9, 1.0)]);
        assert_eq!(biases.after(&[3, 4]), [(2, 6.0), (9, 1.0)]);
        assert_eq!(biases.after(&[4, 2]), [(5, 8.0), (9, 1.0)]);
    }

    /// In f32, 2^24 + 1 is 2^24: which is added first is seen.
    #[test]
    fn the_order_is_the_references() {
        let big = 16_777_216.0;
        let after = |given: &[(&[u32], f32)]| SequenceBiases::new(given.iter().copied()).after(&[1, 2])[0].1;
        assert_eq!(after(&[(&[2, 0], big), (&[0], 1.0), (&[1, 2, 0], 1.0)]), big);
        assert_eq!(after(&[(&[1, 2, 0], 1.0), (&[2, 0], big), (&[0], 1.0)]), big + 2.0);
        assert_eq!(after(&[(&[2, 0], 5.0), (&[0], 1.0), (&[2, 0], 2.0)]), 3.0);
    }

    #[test]
    fn no_sum_is_infinite_or_nan() {
        assert_eq!(SequenceBiases::add(f32::MAX, f32::MAX), f32::MAX);
        assert_eq!(SequenceBiases::add(SequenceBiases::add(f32::MAX, f32::MAX), NONE), NONE);
        assert_eq!(SequenceBiases::add(f32::INFINITY, NONE), NONE);
    }
}
