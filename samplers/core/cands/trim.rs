//! What leaves the set. None of these verbs changes the order, nor `sorted`; a selection that leaves is none any more.

use super::deferred::Asked;
use super::order::Scratch;
use super::{Cand, CandBuf, CandSet, Form};
use crate::libstdcxx::{risen, rising};

impl CandSet<'_> {
    /// Keeps the first `n`.
    pub fn truncate(&mut self, n: usize) {
        if n >= self.len || (self.form == Form::Sorted && self.keep_best(n)) {
            return;
        }
        self.settle();
        self.len = self.len.min(n);
        self.selected = self.selected.filter(|&i| i < self.len);
    }

    /// Drops the first `n`: XTC's way of moving the start of the array.
    pub fn drop_front(&mut self, n: usize) {
        let n = n.min(self.len);
        if n > 0 {
            if self.form == Form::Sorted && self.selected.is_none() && self.start + n < self.buf.cands.len() {
                self.ask(Asked::DropFront(n));
            } else {
                self.settle();
            }
            self.start += n;
            self.len -= n;
            self.in_place = false;
            self.selected = self.selected.and_then(|i| i.checked_sub(n));
        }
    }

    /// Keeps the candidates for which `keep` holds.
    pub fn retain(&mut self, mut keep: impl FnMut(&Cand) -> bool) {
        let cands = self.array();
        let mut kept = 0;
        for i in 0..cands.len() {
            if keep(&cands[i]) {
                cands[kept] = cands[i];
                kept += 1;
            }
        }
        if kept < self.len {
            self.in_place = false;
            self.selected = None;
        }
        self.len = kept;
    }

    /// Removes the candidates for which `remove` holds, but for the `n` with the largest logits and what is tied with the last
    /// of these: Hugging Face's `min_tokens_to_keep`. One always stays.
    pub fn remove_but_best(&mut self, n: usize, mut remove: impl FnMut(&Cand) -> bool) {
        let nth = self.nth_largest_logit(n.max(1));
        self.retain(|cand| !(cand.logit < nth && remove(cand)));
    }

    /// The `n`th largest logit, from 1, or the smallest. -infinity for an empty set.
    fn nth_largest_logit(&mut self, n: usize) -> f32 {
        if n == 1 || self.is_empty() {
            let best = self.argmax();
            return best.and_then(|i| self.get(i)).map_or(f32::NEG_INFINITY, |cand| cand.logit);
        }
        self.array();
        let CandBuf { cands, scratch: Scratch { sample, .. }, .. } = &mut *self.buf;
        sample.clear();
        sample.extend(cands[self.start..self.start + self.len].iter().map(|cand| rising(cand.logit)));
        let at = sample.len() - n.min(sample.len());
        risen(*sample.select_nth_unstable(at).1)
    }

    /// Keeps the candidates whose logit is at least `logit`, if these are at least `at_least` and at least one; else
    /// changes nothing. Whether it did.
    pub fn retain_above(&mut self, logit: f32, at_least: usize) -> bool {
        if self.is_row_without_p() {
            return self.retain_row_above(logit, at_least);
        }
        self.settle();
        let passing = self.logits().filter(|&x| x >= logit).count();
        let enough = passing > 0 && passing >= at_least;
        if enough {
            self.retain(|c| c.logit >= logit);
        }
        enough
    }
}

impl CandSet<'_> {
    /// The same from a row, without an array of all.
    fn retain_row_above(&mut self, logit: f32, at_least: usize) -> bool {
        let mut kept = std::mem::take(&mut self.buf.cands);
        self.view().above(logit, &mut kept);
        let n = kept.len();
        self.buf.cands = kept;
        let enough = n > 0 && n >= at_least;
        if enough {
            if n < self.len {
                self.in_place = false;
                self.selected = None;
            }
            self.written(0, n);
        }
        enough
    }
}

#[cfg(test)]
mod tests {
    use super::super::{CandBuf, CandSet};

    const LOGITS: [f32; 5] = [3.0, 1.0, 2.0, 5.0, 4.0];

    fn ids(cands: &mut CandSet<'_>) -> Vec<u32> {
        cands.as_slice().iter().map(|c| c.id).collect()
    }

    #[test]
    fn truncate_keeps_the_first() {
        let mut buf = CandBuf::default();
        let mut cands = CandSet::new(&LOGITS, &mut buf);
        cands.truncate(9);
        assert_eq!(cands.len(), 5);
        cands.truncate(2);
        assert_eq!(ids(&mut cands), [0, 1]);
    }

    #[test]
    fn drop_front_moves_the_start() {
        let mut buf = CandBuf::default();
        let mut cands = CandSet::new(&LOGITS, &mut buf);
        cands.drop_front(3);
        assert_eq!(ids(&mut cands), [3, 4]);
        cands.drop_front(9);
        assert!(cands.is_empty());
    }

    #[test]
    fn a_selection_stays_with_its_candidate() {
        let mut buf = CandBuf::default();
        let mut cands = CandSet::new(&LOGITS, &mut buf);
        cands.select(3);
        cands.drop_front(2);
        assert_eq!(cands.selected_cand().unwrap().id, 3);
        cands.truncate(1);
        assert_eq!(cands.selected(), None);
        cands.select(0);
        cands.sort();
        assert_eq!(cands.selected(), None);
    }

    #[test]
    fn retain_above_wants_enough() {
        let mut buf = CandBuf::default();
        let mut cands = CandSet::new(&LOGITS, &mut buf);
        assert!(!cands.retain_above(3.0, 4));
        assert!(!cands.retain_above(6.0, 0));
        assert_eq!(cands.len(), 5);
        assert!(cands.retain_above(3.0, 3));
        assert_eq!(ids(&mut cands), [0, 3, 4]);
    }

    #[test]
    fn the_best_and_their_equals_stay() {
        let logits = [3.0, -0.0, 2.0, 5.0, 2.0, 0.0];
        for (n, expected) in [(0, &[3][..]), (1, &[3]), (2, &[0, 3]), (3, &[0, 2, 3, 4]), (4, &[0, 2, 3, 4])] {
            let mut buf = CandBuf::default();
            let mut cands = CandSet::new(&logits, &mut buf);
            cands.remove_but_best(n, |_| true);
            assert_eq!(ids(&mut cands), expected, "n = {n}");
        }
        for n in [5, 6, 9] {
            let mut buf = CandBuf::default();
            let mut cands = CandSet::new(&logits, &mut buf);
            cands.remove_but_best(n, |_| true);
            assert_eq!(cands.len(), 6, "n = {n}");
        }
        let mut buf = CandBuf::default();
        let mut cands = CandSet::new(&logits, &mut buf);
        cands.remove_but_best(1, |cand| cand.logit == 2.0);
        assert_eq!(ids(&mut cands), [0, 1, 3, 5]);
        let mut buf = CandBuf::default();
        let mut cands = CandSet::new(&[], &mut buf);
        cands.remove_but_best(2, |_| true);
        assert!(cands.is_empty());
    }
}
