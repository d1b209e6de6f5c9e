//! Walks down from the best candidate, or from the most typical one, that end where somebody has seen enough. A sorted set is
//! written out no further than it is walked.

use super::order::{Last, Scratch, bucket_sort};
use super::weigh::BLOCK;
use super::{Cand, CandBuf, CandSet, Form};
use crate::libm::{ln_each, logf};
use crate::libstdcxx::{keyed, payload, rising, sort_by, sort_keyed};

/// Up to this many, top-p sorts its set whole.
const SMALL_SET: usize = 1024;
/// How many top-p sorts of a larger set before it sorts all.
const FIRST_HEAD: usize = 256;

impl CandSet<'_> {
    /// Computes p of the set as it lies, walks down from the best candidate and keeps all up to and including the first with which
    /// the sum of p, in f32, reaches `p`, at least `min_keep`: llama.cpp's top-p. The set is sorted then. A `p` of 1 or more leaves the
    /// set as it lies.
    pub fn keep_nucleus(&mut self, p: f32, min_keep: usize) {
        if p >= 1.0 {
            return;
        }
        let mut sum = 0.0f32;
        self.softmax(false);
        self.keep_through(|i, cand| {
            sum += cand.p;
            sum >= p && i + 1 >= min_keep
        });
    }

    /// Walks down from the best candidate and keeps all up to and including the first for which `last` holds (its place
    /// from 0, the candidate), or all. The set is sorted then.
    ///
    /// A large unsorted set is sorted only as far down as the walk goes, as llama.cpp's top-p does it.
    pub fn keep_through(&mut self, last: impl FnMut(usize, &Cand) -> bool) {
        if self.sorted || self.len <= SMALL_SET {
            self.sort();
            return self.keep_sorted_through(last);
        }
        if !self.known.p_is_hidden && self.defer_sort(FIRST_HEAD + 1) {
            return self.keep_of_row_through(last);
        }
        self.keep_of_array_through(0, last);
    }

    /// The same for an unsorted array, of which the first `kept` were seen and stay.
    fn keep_of_array_through(&mut self, mut kept: usize, mut last: impl FnMut(usize, &Cand) -> bool) {
        let cands = self.array();
        let n = cands.len();
        let CandBuf { cands, scratch, .. } = &mut *self.buf;
        let cands = &mut cands[self.start..self.start + n];
        let mut have = FIRST_HEAD;
        bucket_sort(cands, have, Last::Partial, scratch);
        while kept < n {
            if kept == have {
                have = n;
                bucket_sort(cands, have, Last::Partial, scratch);
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

    /// The same for a row that has been sorted as a whole, where llama.cpp sorts the first 256 at first. Unequal logits stand in one
    /// order only; from the first equals on, those 256 are looked at as they stand by themselves.
    fn keep_of_row_through(&mut self, mut last: impl FnMut(usize, &Cand) -> bool) {
        let (first, mut at) = (self.first(FIRST_HEAD + 1), 0);
        while at < FIRST_HEAD && first[at].logit != first[at + 1].logit {
            if last(at, &first[at]) {
                return self.truncate(at + 1);
            }
            at += 1;
        }
        if at < FIRST_HEAD {
            let mut ahead = std::mem::take(&mut self.buf.scratch.ahead);
            if !self.best_of_row(FIRST_HEAD, &mut ahead) {
                self.buf.scratch.ahead = ahead;
                self.undo_sort();
                self.settle();
                return self.keep_of_array_through(at, last);
            }
            let found = (at..FIRST_HEAD).find(|&i| last(i, &ahead[i]));
            if let Some(i) = found {
                self.buf.cands.clear();
                self.buf.cands.extend_from_slice(&ahead[..=i]);
                self.written(0, i + 1);
                self.reordered(true);
            }
            self.buf.scratch.ahead = ahead;
            if found.is_some() {
                return;
            }
        }
        if let Some(at) = self.place_from(FIRST_HEAD, &mut last) {
            self.truncate(at + 1);
        }
    }

    fn keep_sorted_through(&mut self, mut last: impl FnMut(usize, &Cand) -> bool) {
        if let Some(at) = self.place_of(&mut last) {
            self.truncate(at + 1);
        }
    }

    /// The place of the first candidate for which `found` holds (its place from 0, the candidate). Of a sorted set no more
    /// is written out than is looked at.
    fn place_of(&mut self, found: &mut impl FnMut(usize, &Cand) -> bool) -> Option<usize> {
        self.place_from(0, found)
    }

    /// The same from a place on.
    fn place_from(&mut self, mut at: usize, found: &mut impl FnMut(usize, &Cand) -> bool) -> Option<usize> {
        while at < self.len {
            for cand in &self.at_least(at + 1)[at..] {
                if found(at, cand) {
                    return Some(at);
                }
                at += 1;
            }
        }
        None
    }

    /// The place of the first candidate for which `found` holds.
    pub fn position(&mut self, mut found: impl FnMut(&Cand) -> bool) -> Option<usize> {
        self.place_of(&mut |_, cand| found(cand))
    }

    /// Orders by how far the surprise, `-logf(p)`, is from the entropy, as `std::sort` of llama.cpp's typical-p does, and keeps
    /// all up to and including the first for which `last` holds (its place from 0, the candidate), or all. The set is unsorted
    /// then.
    pub fn keep_typical_through(&mut self, entropy: f32, mut last: impl FnMut(usize, &Cand) -> bool) {
        let mut walked = 0;
        if self.keep_typical_of_best(entropy, &mut walked, &mut last) {
            return;
        }
        self.sort_by_score(|ln_p| (-ln_p - entropy).abs());
        let rest = &self.array()[walked..];
        if let Some(at) = rest.iter().zip(walked..).position(|(cand, i)| last(i, cand)) {
            self.truncate(walked + at + 1);
        }
    }

    /// The same for a sorted set that is not written out, as far as its best candidates are typical: those that are not
    /// written out have a score above some bound. Whether the walk ended; how far it came.
    fn keep_typical_of_best(
        &mut self,
        entropy: f32,
        walked: &mut usize,
        last: &mut impl FnMut(usize, &Cand) -> bool,
    ) -> bool {
        let is_quick = self.form == Form::Sorted && self.known.softmax.is_some() && !self.known.softmax_is_stale;
        if !is_quick || !self.is_as_sorted() || entropy.is_nan() {
            return false;
        }
        loop {
            let CandBuf { cands, scratch: Scratch { keys, sorted, .. }, .. } = &mut *self.buf;
            let score = |cand: &Cand| -logf(cand.p) - entropy;
            // The others are less likely than the last one here; the logarithm is rounded.
            let lowest = cands.last().map_or(0.0, score);
            let bound = lowest - (lowest.abs() + entropy.abs()) * 1e-5;
            keys.clear();
            keys.extend(cands.iter().zip(0..).map(|(cand, place)| keyed(rising(score(cand).abs()), place)));
            keys.sort_unstable();
            let is_below = |key: u64| key >> 32 < u64::from(rising(bound.max(0.0)));
            while let Some(&key) = keys.get(*walked).filter(|&&key| is_below(key)) {
                let equals = |other: Option<&u64>| other.is_some_and(|other| other >> 32 == key >> 32);
                if equals(keys.get(*walked + 1)) {
                    return false;
                }
                *walked += 1;
                if last(*walked - 1, &cands[payload(key) as usize]) {
                    sorted.clear();
                    sorted.extend(keys[..*walked].iter().map(|&key| cands[payload(key) as usize]));
                    std::mem::swap(cands, sorted);
                    self.written(0, *walked);
                    self.reordered(false);
                    return true;
                }
            }
            if !self.extend_much() {
                return false;
            }
        }
    }

    /// Orders by a rising score of the logarithm of p, as `std::sort` does, and marks the set unsorted.
    fn sort_by_score(&mut self, score: impl Fn(f32) -> f32) {
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
}

#[cfg(test)]
mod tests {
    use super::super::order::tests::{bits, row};
    use super::*;
    use crate::libstdcxx::Mt19937;

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

    /// A walk over equals meets them as they stand afterwards, if it ends among the first 256, in a row as in an array.
    #[test]
    fn equals_are_met_in_llama_cpps_order() {
        let mut rng = Mt19937::new(9);
        for _ in 0..40 {
            let logits: Vec<f32> = (0..1300).map(|_| (rng.next_u32() % 150) as f32 / 8.0).collect();
            let cands: Vec<Cand> = logits.iter().zip(0..).map(|(&logit, id)| Cand { id, logit, p: 0.0 }).collect();
            let (mut buf, mut array_buf) = (CandBuf::default(), CandBuf::default());
            for end in [0, 3, 40, 255, 256, 700, 1299, 5000] {
                let mut row = CandSet::new(&logits, &mut buf);
                let mut array = CandSet::from_cands(&cands, false, &mut array_buf);
                let (mut seen, mut seen_there) = (Vec::new(), Vec::new());
                row.keep_through(|i, cand| {
                    seen.push(*cand);
                    i == end
                });
                array.keep_through(|i, cand| {
                    seen_there.push(*cand);
                    i == end
                });
                assert_eq!(bits(&seen), bits(&seen_there), "{end}");
                assert_eq!(bits(row.as_slice()), bits(array.as_slice()), "{end}");
                assert!(end > 255 || bits(&seen) == bits(row.as_slice()));
            }
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

    /// A walk to the end of a set that was cut ends, in the plain form.
    #[test]
    fn a_walk_over_all_that_is_left_ends() {
        let mut rng = Mt19937::new(8);
        let logits: Vec<f32> = (0..20_000).map(|_| rng.uniform_f32() * 9.0).collect();
        let mut buf = CandBuf::default();
        let mut cands = CandSet::new(&logits, &mut buf);
        cands.softmax(true);
        cands.top_k(1200);
        cands.softmax(true);
        let entropy = cands.entropy();
        cands.keep_typical_through(entropy, |_, _| false);
        assert_eq!((cands.len(), cands.is_sorted()), (1200, false));
    }
}
