//! `sort_by` and `partial_sort` with comparators that contradict themselves, as NaN makes them: they end, stay in bounds, and leave a
//! permutation. With a consistent one the result is sorted, and `sort_keyed` leaves the same.

use std::cmp::Ordering;

use sampler_chain::steps::libstdcxx::{discrete_draw, keyed, keyed_before, rising, sort_keyed};
use sampler_chain::{partial_sort, sort_by};

pub fn entry(data: &[u8]) {
    let Some((&[kind, middle], rest)) = data.split_first_chunk() else { return };
    let floats: Vec<f32> = match kind % 4 {
        0 => rest.iter().map(|&byte| f32::from(byte as i8)).collect(),
        1 => rest.as_chunks().0.iter().map(|four| f32::from_le_bytes(*four)).collect(),
        _ => rest.iter().map(|&byte| if byte == 0 { f32::NAN } else { f32::from(byte) }).collect(),
    };
    let middle = if kind & 128 == 0 { usize::from(middle).min(floats.len()) } else { floats.len() };
    let n = floats.len();
    // Insertion, at worst, compares every element with every other.
    let most = n * n + 64 * (n + 1);
    let mut n_compared = 0;
    let mut answers = rest.iter().cycle();
    let mut before = |a: &u32, b: &u32| {
        n_compared += 1;
        assert!(n_compared <= 2 * most, "{n_compared} comparisons of {n} elements");
        match kind >> 2 & 3 {
            0 => floats[*a as usize] > floats[*b as usize],
            1 => answers.next().is_some_and(|byte| byte & 1 == 1),
            2 => true,
            // Whatever is not known to be smaller or equal goes before.
            _ => floats[*a as usize].partial_cmp(&floats[*b as usize]).is_none_or(Ordering::is_gt),
        }
    };
    let mut sorted: Vec<u32> = (0..n as u32).collect();
    sort_by(&mut sorted, &mut before);
    let mut partly: Vec<u32> = (0..n as u32).collect();
    partial_sort(&mut partly, middle, &mut before);
    for permutation in [&sorted, &partly] {
        let mut ids = permutation.clone();
        ids.sort_unstable();
        assert!(ids.into_iter().eq(0..n as u32), "no permutation: {permutation:?}");
    }
    let is_consistent = kind >> 2 & 3 == 0 && !floats.iter().any(|x| x.is_nan());
    if is_consistent {
        check_order(&floats, &sorted, &partly[..middle]);
    }
    let u = f64::from(kind) / 256.0;
    let place = discrete_draw(floats.iter().copied(), &mut Vec::new(), || u);
    assert!(place < n.max(1), "place {place} of {n}");
}

fn check_order(floats: &[f32], sorted: &[u32], head: &[u32]) {
    let falls = |ids: &[u32]| ids.is_sorted_by(|&a, &b| floats[a as usize] >= floats[b as usize]);
    assert!(falls(sorted) && falls(head), "not sorted: {sorted:?}, {head:?}");
    let best = |ids: &[u32]| ids.iter().map(|&id| floats[id as usize] + 0.0).map(f32::to_bits).collect::<Vec<_>>();
    assert_eq!(best(head), best(&sorted[..head.len()]), "the head is not the best");
    let mut quick: Vec<u64> = (0..).zip(floats).map(|(i, &x)| keyed(!rising(x), i)).collect();
    let mut plain = quick.clone();
    sort_keyed(&mut quick);
    sort_by(&mut plain, keyed_before);
    assert_eq!(plain, quick, "sort_keyed leaves another order than sort_by");
    assert!(plain.iter().map(|&key| key as u32).eq(sorted.iter().copied()), "keys order other than floats");
}
