//! The biases of one token add up in f32, and so in an order: transformers'.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::BiasedSequence;

/// No sum is +infinity, so that none becomes NaN; what is forbidden stays so.
pub(super) fn add(a: f32, b: f32) -> f32 {
    match a + b {
        f32::INFINITY => f32::MAX,
        _ if b == f32::NEG_INFINITY => b,
        sum => sum,
    }
}

/// The sequences by their last token, those of one token in the order in which they add up: single tokens first, then length by
/// length, lengths as they are first seen. A sequence that is given twice stands at its first place and has its last bias.
pub(super) fn in_order(given: &[BiasedSequence]) -> Vec<BiasedSequence> {
    let (mut places, mut lengths) = (HashMap::<&[u32], usize>::new(), vec![1]);
    let mut sequences: Vec<BiasedSequence> = Vec::new();
    for sequence in given {
        let BiasedSequence(tokens, bias) = sequence;
        if !lengths.contains(&tokens.len()) {
            lengths.push(tokens.len());
        }
        match places.entry(tokens) {
            Entry::Occupied(place) => sequences[*place.get()].1 = *bias,
            Entry::Vacant(place) => {
                place.insert(sequences.len());
                sequences.push(sequence.clone());
            }
        }
    }
    let length = |tokens: &[u32]| lengths.iter().position(|&length| length == tokens.len());
    sequences.sort_by_cached_key(|BiasedSequence(tokens, _)| (tokens.last().copied(), length(tokens)));
    sequences
}

/// Each token that a sequence ends with whose other tokens end the history, with the sum of its biases.
pub(super) fn of_matching(sequences: &[BiasedSequence], history: &[u32], sums: &mut Vec<(u32, f32)>) {
    sums.clear();
    for BiasedSequence(tokens, bias) in sequences {
        let Some((&last, before)) = tokens.split_last() else { continue };
        if history.ends_with(before) {
            match sums.last_mut() {
                Some((token, sum)) if *token == last => *sum = add(*sum, *bias),
                _ => sums.push((last, *bias)),
            }
        }
    }
}
