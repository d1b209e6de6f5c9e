//! Sorting by falling logit, with llama.cpp's algorithms, since they decide where equal logits fall.

use super::{Cand, CandBuf, CandSet, Form, HEAP_MAX};
use crate::libm::int;
use crate::libstdcxx::{keyed, keyed_before, partial_sort, payload, rising, sort_by, sort_keyed};

pub(super) const N_BUCKETS: usize = 128;

pub(super) fn before(a: &Cand, b: &Cand) -> bool {
    a.logit > b.logit
}

/// The bucket of a logit: 128 over [-10, 10], and all arithmetic in f32. What an `int` does not hold (+infinity, NaN) falls
/// into the lowest, as on x86.
pub(super) fn bucket(logit: f32) -> u8 {
    int(6.4 * logit + 64.0).clamp(0, N_BUCKETS as i32 - 1) as u8
}

/// The memory of a sort.
#[derive(Debug, Clone, Default)]
pub(super) struct Scratch {
    pub sorted: Vec<Cand>,
    buckets: Vec<u8>,
    pub keys: Vec<u64>,
    pub sample: Vec<u32>,
    pub ahead: Vec<Cand>,
}

/// How the last bucket that is needed is sorted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Last {
    /// As far as it is needed.
    Partial,
    /// Whole, as when others follow.
    Full,
}

/// `llama_token_data_array_partial_sort`: puts at least the `n` best of `cands` into `scratch.sorted`, the first `n` of them
/// in order. Candidates are dealt into buckets in their order; each full bucket is sorted, the last one needed partially.
pub(super) fn bucket_sort(cands: &[Cand], n: usize, last: Last, scratch: &mut Scratch) {
    let Scratch { sorted, buckets, keys, .. } = scratch;
    let mut counts = [0usize; N_BUCKETS];
    buckets.clear();
    buckets.extend(cands.iter().map(|c| bucket(c.logit)));
    for &b in buckets.iter() {
        counts[b as usize] += 1;
    }

    let (mut have, mut lowest) = (0, N_BUCKETS);
    while lowest > 0 && (lowest == N_BUCKETS || have < n) {
        lowest -= 1;
        have += counts[lowest];
    }

    let mut ends = [0usize; N_BUCKETS];
    let mut end = 0;
    for b in (lowest..N_BUCKETS).rev() {
        ends[b] = end;
        end += counts[b];
    }
    keys.clear();
    keys.resize(have, 0);
    for ((cand, &b), place) in cands.iter().zip(buckets.iter()).zip(0..) {
        let b = b as usize;
        if b >= lowest {
            keys[ends[b]] = keyed(!rising(cand.logit), place);
            ends[b] += 1;
        }
    }

    let (full, rest) = match last {
        Last::Full => (&counts[lowest..], 0),
        Last::Partial => (&counts[lowest + 1..], n - (have - counts[lowest])),
    };
    let full = full.iter().rev();
    // With NaN the comparison contradicts itself, and only llama.cpp's own gives its order.
    let consistent = !cands.iter().any(|cand| cand.logit.is_nan());
    if consistent {
        let last = sort_each(keys, full.clone(), sort_keyed);
        partial_sort(last, rest, keyed_before);
    }
    sorted.clear();
    sorted.extend(keys.iter().map(|&key| cands[payload(key) as usize]));
    if !consistent {
        let last = sort_each(sorted, full, |bucket| sort_by(bucket, before));
        partial_sort(last, rest, before);
    }
}

/// Sorts each of the ranges of these lengths, and gives what is behind them.
fn sort_each<'v, 'c, T>(
    mut v: &'v mut [T],
    counts: impl Iterator<Item = &'c usize>,
    sort: impl Fn(&mut [T]),
) -> &'v mut [T] {
    for &count in counts {
        let (bucket, rest) = v.split_at_mut(count);
        sort(bucket);
        v = rest;
    }
    v
}

impl CandSet<'_> {
    /// Keeps the `k` best in order: `llama_sampler_top_k_impl`. More than there are means all of them; 0 does nothing, and
    /// sorts nothing. A sorted set is only cut.
    pub fn top_k(&mut self, k: usize) {
        if k == 0 {
            return;
        }
        let k = k.min(self.len);
        if (self.form == Form::Sorted && k == self.len) || self.cut_others(k) || self.keep_best(k) {
            return;
        }
        self.settle();
        if !self.sorted {
            self.sort_head(k);
        }
        self.truncate(k);
    }

    /// Sorts by falling logit, unless the set is sorted.
    pub fn sort(&mut self) {
        if !self.sorted && !self.defer_sort(1) {
            self.settle();
            self.sort_head(self.len);
        }
    }

    /// Takes note that the candidates stand in another order.
    pub(super) fn reordered(&mut self, sorted: bool) {
        self.sorted = sorted;
        self.in_place = false;
        self.selected = None;
    }

    /// `llama_token_data_array_partial_sort_inplace`, without the cut.
    fn sort_head(&mut self, n: usize) {
        let CandBuf { cands, scratch, .. } = &mut *self.buf;
        let cands = &mut cands[self.start..self.start + self.len];
        if n <= HEAP_MAX {
            partial_sort(cands, n, before);
        } else {
            bucket_sort(cands, n, Last::Partial, scratch);
            cands[..n].copy_from_slice(&scratch.sorted[..n]);
        }
        self.reordered(true);
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::libstdcxx::Mt19937;

    #[test]
    fn buckets_are_those_of_x86() {
        for (logit, expected) in [
            (-10.0, 0),
            (-11.0, 0),
            (-9.9, 0),
            (0.0, 64),
            (9.99, 127),
            (10.0, 127),
            (1e30, 0),
            (f32::INFINITY, 0),
            (f32::NEG_INFINITY, 0),
            (f32::NAN, 0),
            (3e8, 127),
        ] {
            assert_eq!(bucket(logit), expected, "bucket of {logit}");
        }
    }

    #[test]
    fn a_sorted_set_falls_and_keeps_its_candidates() {
        let logits: Vec<f32> = (0..3000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 8) as f32 / 4e5 - 20.0).collect();
        for n in [1, 2, 127, 128, 129, 1024, 1025, 3000] {
            let mut buf = CandBuf::default();
            let mut cands = CandSet::new(&logits[..n], &mut buf);
            cands.sort();
            assert!(cands.is_sorted() && cands.len() == n);
            assert!(cands.as_slice().is_sorted_by(|a, b| a.logit >= b.logit), "{n}");
            let mut ids: Vec<u32> = cands.as_slice().iter().map(|c| c.id).collect();
            ids.sort_unstable();
            assert!(ids.into_iter().eq(0..n as u32));
        }
    }

    /// A row of the given kind: plain, with ties, with both zeros and infinities, with NaN.
    pub fn row(rng: &mut Mt19937, n: usize, kind: u32) -> Vec<f32> {
        let odd = [0.0, -0.0, f32::NEG_INFINITY, f32::INFINITY, f32::MAX, 1e-40, f32::NAN];
        (0..n)
            .map(|_| {
                let x = rng.next_u32();
                match kind {
                    1 => (x % 50) as f32 / 5.0 - 5.0,
                    2 | 3 if x.is_multiple_of(5) => odd[(x >> 8) as usize % (odd.len() - 3 + kind as usize)],
                    _ => (x >> 8) as f32 / 1_048_576.0 - 8.0,
                }
            })
            .collect()
    }

    pub fn bits(cands: &[Cand]) -> Vec<(u32, u32)> {
        cands.iter().map(|cand| (cand.id, cand.logit.to_bits())).collect()
    }

    /// The plain twin: deals into buckets and sorts each with `sort_by`.
    #[test]
    fn bucket_sort_equals_its_plain_form() {
        let mut rng = Mt19937::new(5);
        let mut scratch = Scratch::default();
        for (n, kind) in [1, 2, 16, 17, 129, 700, 3000].into_iter().flat_map(|n| (0..4).map(move |kind| (n, kind))) {
            let cands: Vec<Cand> =
                row(&mut rng, n, kind).into_iter().zip(0..).map(|(logit, id)| Cand { id, logit, p: 0.0 }).collect();
            for k in [1, n / 2 + 1, n] {
                let mut plain = Vec::new();
                for b in (0..N_BUCKETS as u8).rev() {
                    let start = plain.len();
                    if start >= k {
                        break;
                    }
                    plain.extend(cands.iter().filter(|cand| bucket(cand.logit) == b));
                    if plain.len() >= k {
                        partial_sort(&mut plain[start..], k - start, before);
                    } else {
                        sort_by(&mut plain[start..], before);
                    }
                }
                bucket_sort(&cands, k, Last::Partial, &mut scratch);
                assert_eq!(bits(&scratch.sorted), bits(&plain), "{k} of {n}, kind {kind}");
            }
        }
    }
}
