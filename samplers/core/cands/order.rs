//! Sorting by falling logit, with llama.cpp's algorithms, since they decide where equal logits fall.

use super::view::View;
use super::weigh::BLOCK;
use super::{Cand, CandBuf, CandSet};
use crate::libm::{int, ln_each, logf};
use crate::libstdcxx::{keyed, keyed_before, partial_sort, payload, rising, sort_by, sort_keyed};

/// Up to this many the head of a set is taken by `std::partial_sort`; more by buckets.
const HEAP_MAX: usize = 128;
const N_BUCKETS: usize = 128;
/// Up to this many, top-p sorts its set whole.
const SMALL_SET: usize = 1024;
/// How many top-p sorts of a larger set before it sorts all.
const FIRST_HEAD: usize = 256;

pub(super) fn before(a: &Cand, b: &Cand) -> bool {
    a.logit > b.logit
}

/// The bucket of a logit: 128 over [-10, 10], and all arithmetic in f32. What an `int` does not hold (+infinity, NaN) falls
/// into the lowest, as on x86.
fn bucket(logit: f32) -> u8 {
    int(6.4 * logit + 64.0).clamp(0, N_BUCKETS as i32 - 1) as u8
}

/// The memory of a sort.
#[derive(Debug, Clone, Default)]
pub(super) struct Scratch {
    pub sorted: Vec<Cand>,
    buckets: Vec<u8>,
    keys: Vec<u64>,
}

/// `llama_token_data_array_partial_sort`: puts at least the `n` best of `cands` into `scratch.sorted`, the first `n` of them
/// in order. Candidates are dealt into buckets in their order; each full bucket is sorted, the last one needed partially.
pub(super) fn bucket_sort(cands: &[Cand], n: usize, scratch: &mut Scratch) {
    let Scratch { sorted, buckets, keys } = scratch;
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

    let full = counts[lowest + 1..].iter().rev();
    // With NaN the comparison contradicts itself, and only llama.cpp's own gives its order.
    let consistent = !cands.iter().any(|cand| cand.logit.is_nan());
    if consistent {
        let last = sort_each(keys, full.clone(), sort_keyed);
        partial_sort(last, n - (have - counts[lowest]), keyed_before);
    }
    sorted.clear();
    sorted.extend(keys.iter().map(|&key| cands[payload(key) as usize]));
    if !consistent {
        let last = sort_each(sorted, full, |bucket| sort_by(bucket, before));
        partial_sort(last, n - (have - counts[lowest]), before);
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
        if !self.sorted {
            self.sort_head(k);
        }
        self.len = k;
    }

    /// Sorts by falling logit, unless the set is sorted.
    pub fn sort(&mut self) {
        if !self.sorted {
            self.sort_head(self.len);
        }
    }

    /// Walks down from the best candidate and keeps all up to and including the first for which `last` holds (its place
    /// from 0, the candidate), or all. The set is sorted then.
    ///
    /// A large unsorted set is sorted only as far down as the walk goes, as llama.cpp's top-p does it.
    pub fn keep_through(&mut self, mut last: impl FnMut(usize, &Cand) -> bool) {
        if self.len <= SMALL_SET {
            self.sort();
        }
        let is_last = |(i, cand): (usize, &Cand)| last(i, cand);
        if self.sorted {
            if let Some(i) = self.array().iter().enumerate().position(is_last) {
                self.truncate(i + 1);
            }
            return;
        }
        self.array();
        let n = self.len;
        let CandBuf { cands, scratch, .. } = &mut *self.buf;
        let cands = &mut cands[self.start..self.start + n];
        let (mut have, mut kept) = (FIRST_HEAD, 0);
        bucket_sort(cands, have, scratch);
        while kept < n {
            if kept == have {
                have = n;
                bucket_sort(cands, have, scratch);
            }
            kept += 1;
            if last(kept - 1, &scratch.sorted[kept - 1]) {
                break;
            }
        }
        cands[..kept].copy_from_slice(&scratch.sorted[..kept]);
        self.len = kept;
        self.reordered(true);
    }

    /// Orders by a rising score of the logarithm of p, as `std::sort` of llama.cpp's typical-p does, and marks the set
    /// unsorted.
    pub fn sort_by_score(&mut self, score: impl Fn(f32) -> f32) {
        self.array();
        let CandBuf { cands, scratch: Scratch { sorted, keys, .. }, .. } = &mut *self.buf;
        let cands = &mut cands[self.start..self.start + self.len];
        keys.clear();
        let mut consistent = true;
        let mut block = [0.0f32; BLOCK];
        for (cands, first) in cands.chunks(BLOCK).zip((0..).step_by(BLOCK)) {
            let block = &mut block[..cands.len()];
            block.iter_mut().zip(cands).for_each(|(x, cand)| *x = cand.p);
            ln_each(block);
            for (ln_p, place) in block.iter().zip(first..) {
                let score = score(*ln_p);
                consistent &= !score.is_nan();
                keys.push(keyed(rising(score), place));
            }
        }
        sorted.clear();
        if consistent {
            sort_keyed(keys);
            sorted.extend(keys.iter().map(|&key| cands[payload(key) as usize]));
            cands.copy_from_slice(sorted);
        } else {
            // The comparison contradicts itself, and only llama.cpp's own gives its order.
            let mut scored: Vec<(f32, Cand)> = cands.iter().map(|cand| (score(logf(cand.p)), *cand)).collect();
            sort_by(&mut scored, |a, b| a.0 < b.0);
            cands.iter_mut().zip(&scored).for_each(|(cand, (_, scored))| *cand = *scored);
        }
        self.reordered(false);
    }

    /// The same from a view, without an array of all. Whether it could be done.
    fn view_head(&mut self, n: usize) -> bool {
        let mut buf = std::mem::take(&mut *self.buf);
        let view = View { logits: &self.logits[..self.len], patches: &buf.patches };
        let done = if n <= HEAP_MAX {
            buf.cands = view.best(n.max(1), buf.cands);
            true
        } else if view.bucket_best(n, &mut buf.cands, &mut buf.scratch) {
            std::mem::swap(&mut buf.cands, &mut buf.scratch.sorted);
            true
        } else {
            false
        };
        *self.buf = buf;
        if done {
            self.is_view = false;
            self.len = n;
        }
        done
    }

    /// Takes note that the candidates stand in another order.
    fn reordered(&mut self, sorted: bool) {
        self.sorted = sorted;
        self.in_place = false;
        self.selected = None;
    }

    /// `llama_token_data_array_partial_sort_inplace`, without the cut.
    fn sort_head(&mut self, n: usize) {
        if self.is_view && n < self.len && self.view_head(n) {
            return self.reordered(true);
        }
        self.array();
        let CandBuf { cands, scratch, .. } = &mut *self.buf;
        let cands = &mut cands[self.start..self.start + self.len];
        if n <= HEAP_MAX {
            partial_sort(cands, n, before);
        } else {
            bucket_sort(cands, n, scratch);
            cands[..n].copy_from_slice(&scratch.sorted[..n]);
        }
        self.reordered(true);
    }
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn keep_through_walks_past_its_first_head() {
        let logits: Vec<f32> = (0..2000).map(|i| (i * 7 % 2000) as f32 / 100.0 - 10.0).collect();
        for keep in [1, 255, 256, 257, 1999, 2000, 5000] {
            let mut buf = CandBuf::default();
            let mut cands = CandSet::new(&logits, &mut buf);
            cands.keep_through(|i, _| i + 1 == keep);
            assert_eq!(cands.len(), keep.min(2000));
            assert!(cands.is_sorted() && cands.as_slice().is_sorted_by(|a, b| a.logit > b.logit));
        }
    }

    #[test]
    fn scores_rise_and_the_set_is_unsorted() {
        let mut buf = CandBuf::default();
        let mut cands = CandSet::new(&[1.0, 3.0, 2.0], &mut buf);
        cands.softmax(true);
        cands.sort_by_score(|ln_p| ln_p);
        assert!(!cands.is_sorted());
        assert!(cands.as_slice().iter().map(|c| c.id).eq([0, 2, 1]));
    }

    /// A row of the given kind: plain, with ties, with both zeros and infinities, with NaN.
    fn row(rng: &mut Mt19937, n: usize, kind: u32) -> Vec<f32> {
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

    fn bits(cands: &[Cand]) -> Vec<(u32, u32)> {
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
                bucket_sort(&cands, k, &mut scratch);
                assert_eq!(bits(&scratch.sorted), bits(&plain), "{k} of {n}, kind {kind}");
            }
        }
    }

    /// The plain twin: `sort_by` of the scores.
    #[test]
    fn sort_by_score_equals_its_plain_form() {
        let mut rng = Mt19937::new(6);
        for (n, kind) in [1, 16, 17, 700, 3000].into_iter().flat_map(|n| (0..4).map(move |kind| (n, kind))) {
            let logits = row(&mut rng, n, kind);
            let mut buf = CandBuf::default();
            let mut cands = CandSet::new(&logits, &mut buf);
            cands.softmax(false);
            let score = |ln_p: f32| (-ln_p - 2.0).abs();
            let mut plain: Vec<(f32, Cand)> = cands.as_slice().iter().map(|c| (score(logf(c.p)), *c)).collect();
            sort_by(&mut plain, |a, b| a.0 < b.0);
            let plain: Vec<Cand> = plain.into_iter().map(|(_, cand)| cand).collect();
            cands.sort_by_score(score);
            assert_eq!(bits(cands.as_slice()), bits(&plain), "{n}, kind {kind}");
        }
    }
}
