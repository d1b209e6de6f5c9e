//! Probabilities and sums over the set, each in llama.cpp's width and order.

use super::deferred::{Asked, Softmax};
use super::parts::add_sorted;
use super::signed::Signed;
use super::tally::{InOrder, OneByOne};
use super::terms::{Squares, Surprises, Terms, Weights};
use super::{Cand, CandSet, Form};
use crate::libm::{exp, exp_each, in_lanes, ln_each, logf, max};

/// So many floats are worked on at once.
pub(super) const BLOCK: usize = 256;

impl CandSet<'_> {
    /// Computes every `p` from the logits, sorting first where that is asked: `llama_sampler_softmax_impl`. f32 throughout;
    /// a sorted set takes its first logit for the maximum.
    pub fn softmax(&mut self, sort: bool) {
        if self.is_empty() {
            return;
        }
        if sort {
            self.sort();
        }
        if self.defer_softmax() {
            return;
        }
        self.exp_below_max();
        let sum = self.array().iter().fold(0.0f32, |sum, cand| sum + cand.p);
        for cand in self.array() {
            cand.p /= sum;
        }
    }

    /// Sets every `p` to `expf` of how far the logit is below the maximum.
    pub(super) fn exp_below_max(&mut self) {
        let max_logit = self.max_logit();
        exp_below(max_logit, self.array());
    }

    /// Computes every `p` as dynamic temperature does at its end: in f64 from the first logit, each rounded to f32, then
    /// divided by the f64 sum.
    pub fn softmax_f64(&mut self) {
        if self.is_empty() {
            return;
        }
        if self.form == Form::Sorted {
            self.known.p_is_hidden = true;
            return self.ask(Asked::SoftmaxF64);
        }
        let first_logit = f64::from(self.array()[0].logit);
        let mut sum = 0.0f64;
        for cand in self.array() {
            let p = exp(f64::from(cand.logit) - first_logit);
            cand.p = p as f32;
            sum += p;
        }
        for cand in self.array() {
            cand.p = (f64::from(cand.p) / sum) as f32;
        }
    }

    /// The largest logit; a sorted set's first. -infinity for an empty set.
    pub fn max_logit(&mut self) -> f32 {
        match self.form {
            Form::Row => return self.view().first_max(),
            Form::Sorted => return self.buf.cands[self.start].logit,
            Form::Array => {}
        }
        match self.cands() {
            [] => f32::NEG_INFINITY,
            [first, ..] if self.sorted || first.logit.is_nan() => first.logit,
            cands => largest(cands, cands[0].logit, |cand| cand.logit),
        }
    }

    /// The largest logit that is larger than `least`, or `least`. NaN is passed over wherever it stands.
    pub fn max_logit_above(&mut self, least: f32) -> f32 {
        if self.form == Form::Array {
            largest(self.cands(), least, |cand| cand.logit)
        } else {
            max(least, self.max_logit())
        }
    }

    /// The entropy of the probabilities in nats, in f32 and in order. A probability of 0 makes it NaN, as in llama.cpp's
    /// typical-p; [`entropy_of_positive`](Self::entropy_of_positive) passes over it.
    pub fn entropy(&mut self) -> f32 {
        self.find_entropy(true).unwrap_or_else(|| entropy(self.array(), true))
    }

    /// The entropy of the probabilities above 0, as in llama.cpp's dynamic temperature.
    pub fn entropy_of_positive(&mut self) -> f32 {
        self.find_entropy(false).unwrap_or_else(|| entropy(self.array(), false))
    }

    /// The largest logit, and mean and standard deviation of those that are not -infinity, as llama.cpp's top-n-sigma
    /// computes them: f32, but each square is added in f64. All 0 but the maximum where nothing is left.
    pub fn spread(&mut self) -> (f32, f32, f32) {
        if self.is_row_as_it_came() {
            let view = self.view();
            let (sum, n) = in_lanes(Signed(&view));
            let mean = sum / n as f32;
            let squares = in_lanes(InOrder(&view, Squares { mean }));
            return (view.first_max(), mean, (squares / n as f32).sqrt());
        }
        let first = self.get(0).map_or(f32::NEG_INFINITY, |c| c.logit);
        let (mut max_logit, mut sum, mut n) = (first, 0.0f32, 0usize);
        let counted = |x: &f32| *x != f32::NEG_INFINITY;
        for logit in self.logits().filter(counted) {
            max_logit = max(max_logit, logit);
            sum += logit;
            n += 1;
        }
        if n == 0 {
            return (max_logit, 0.0, 0.0);
        }
        let mean = sum / n as f32;
        let mut squares = 0.0f32;
        for logit in self.logits().filter(counted) {
            let off = f64::from(logit - mean);
            squares = (f64::from(squares) + off * off) as f32;
        }
        (max_logit, mean, (squares / n as f32).sqrt())
    }

    /// Finds what every p of a set that is not written out would be. Whether that is possible.
    fn defer_softmax(&mut self) -> bool {
        let softmax = match self.form {
            Form::Row => {
                let view = self.view();
                let max_logit = view.max();
                Some(Softmax { max_logit, sum: in_lanes(InOrder(&view, Weights { max_logit })) })
            }
            Form::Sorted if self.is_as_sorted() && self.known.softmax.is_some() && !self.known.softmax_is_stale => {
                return true;
            }
            Form::Sorted if self.is_as_sorted() => {
                let max_logit = self.max_logit();
                Some(Softmax { max_logit, sum: self.sum_sorted(Weights { max_logit }) })
            }
            _ => None,
        };
        let Some(softmax) = softmax else { return false };
        self.known.softmax = Some(softmax);
        self.known.p_is_hidden = false;
        self.known.softmax_is_stale = false;
        if self.form == Form::Sorted {
            self.known.write(&mut self.buf.cands);
        }
        self.ask(Asked::Softmax);
        true
    }

    fn find_entropy(&mut self, zero_counts: bool) -> Option<f32> {
        let softmax = self.known.softmax?;
        if self.form != Form::Sorted || !self.is_as_sorted() || self.known.softmax_is_stale {
            return None;
        }
        let entropy =
            self.sum_sorted(Surprises { softmax, ln_sum: logf(softmax.sum), inverse: 1.0 / softmax.sum, zero_counts });
        // Which NaN it is, is for the loop to say.
        Some(entropy).filter(|entropy| !entropy.is_nan())
    }

    /// What a loop over the terms of a sorted set gives: it is run over the best, and the others are added at once.
    fn sum_sorted<T: Terms>(&mut self, terms: T) -> f32 {
        let mut parts = std::mem::take(&mut self.buf.row.parts);
        let best = &mut parts.best;
        best.clear();
        best.extend(self.buf.cands.iter().map(|cand| cand.logit));
        let sum = in_lanes(OneByOne { logits: best, terms, sum: 0.0 });
        let sum = add_sorted(&self.others(), terms, self.known.cut, sum, &mut parts, 0);
        self.buf.row.parts = parts;
        sum
    }
}

/// Sets every `p` to `expf` of how far the logit is below a maximum.
pub(super) fn exp_below(max_logit: f32, cands: &mut [Cand]) {
    let mut block = [0.0f32; BLOCK];
    for cands in cands.chunks_mut(BLOCK) {
        let block = &mut block[..cands.len()];
        for (x, cand) in block.iter_mut().zip(cands.iter()) {
            *x = cand.logit - max_logit;
        }
        exp_each(block);
        for (cand, x) in cands.iter_mut().zip(block.iter()) {
            cand.p = *x;
        }
    }
}

/// The largest logit, not below `at_least`; NaN is passed over, and of zeros the first counts. In lanes, so that it becomes vector code.
fn largest<T>(of: &[T], at_least: f32, logit: impl Fn(&T) -> f32) -> f32 {
    const LANES: usize = 16;
    let (whole, rest) = of.as_chunks::<LANES>();
    let mut lanes = [at_least; LANES];
    for chunk in whole {
        for (lane, item) in lanes.iter_mut().zip(chunk) {
            *lane = max(*lane, logit(item));
        }
    }
    let largest = rest.iter().map(&logit).chain(lanes).fold(at_least, max);
    match (largest, at_least) {
        (0.0, 0.0) => at_least,
        (0.0, _) => of.iter().map(logit).find(|&x| x == 0.0).unwrap_or(largest),
        _ => largest,
    }
}

fn entropy(cands: &[Cand], zero_counts: bool) -> f32 {
    let mut block = [0.0f32; BLOCK];
    let mut sum = 0.0f32;
    for cands in cands.chunks(BLOCK) {
        let block = &mut block[..cands.len()];
        block.iter_mut().zip(cands).for_each(|(x, cand)| *x = cand.p);
        ln_each(block);
        for (cand, ln_p) in cands.iter().zip(block.iter()).filter(|(cand, _)| zero_counts || cand.p > 0.0) {
            sum -= cand.p * ln_p;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::super::CandBuf;
    use super::*;

    #[test]
    fn softmax_of_equals_is_even() {
        let mut buf = CandBuf::default();
        let mut cands = CandSet::new(&[2.0; 4], &mut buf);
        cands.softmax(false);
        assert!(cands.as_slice().iter().all(|c| c.p == 0.25));
        assert!(!cands.is_sorted());
        assert_eq!(cands.entropy(), 4f32.ln());
    }

    #[test]
    fn a_masked_candidate_makes_one_entropy_nan() {
        let mut buf = CandBuf::default();
        let mut cands = CandSet::new(&[0.0, 0.0, f32::NEG_INFINITY], &mut buf);
        cands.softmax(true);
        assert!(cands.entropy().is_nan());
        assert_eq!(cands.entropy_of_positive(), 2f32.ln());
    }

    #[test]
    fn the_maximum_passes_over_nan_unless_it_is_first() {
        let mut logits: Vec<f32> = (0..100).map(|i| (i * 37 % 100) as f32 - 200.0).collect();
        for at in [1, 15, 16, 17, 50, 99] {
            logits[at] = f32::NAN;
        }
        let mut buf = CandBuf::default();
        let mut cands = CandSet::new(&logits, &mut buf);
        let plain = logits.iter().copied().fold(logits[0], max);
        assert_eq!(cands.max_logit(), plain);
        cands.as_slice();
        assert_eq!(cands.max_logit(), plain);
        logits[0] = f32::NAN;
        let mut buf = CandBuf::default();
        let mut cands = CandSet::new(&logits, &mut buf);
        assert!(cands.max_logit().is_nan());
        cands.as_slice();
        assert!(cands.max_logit().is_nan());
    }

    /// Of zeros with both signs the first is the maximum, as `std::max` leaves it, in a row as in an array.
    #[test]
    fn the_maximum_has_the_first_zeros_sign() {
        for (first, second) in [(3, 61), (61, 3), (0, 40), (200, 17), (700, 699)] {
            for signs in [[0.0f32, -0.0], [-0.0, 0.0]] {
                let mut logits = [-1.5f32; 900];
                (logits[first], logits[second]) = (signs[0], signs[1]);
                let expected = logits[first.min(second)].to_bits();
                let mut buf = CandBuf::default();
                let mut cands = CandSet::new(&logits, &mut buf);
                for _ in ["row", "array"] {
                    let found = [cands.max_logit(), cands.max_logit_above(-3.0), cands.spread().0].map(f32::to_bits);
                    assert_eq!(found, [expected; 3], "{first} {second} {signs:?}");
                    assert_eq!(cands.max_logit_above(0.0).to_bits(), 0);
                    cands.as_slice();
                }
            }
        }
    }

    #[test]
    fn spread_leaves_masked_logits_out() {
        let mut buf = CandBuf::default();
        let mut cands = CandSet::new(&[f32::NEG_INFINITY, 1.0, 3.0], &mut buf);
        assert_eq!(cands.spread(), (3.0, 2.0, 1.0));
        let mut buf = CandBuf::default();
        assert_eq!(CandSet::new(&[f32::NEG_INFINITY; 2], &mut buf).spread(), (f32::NEG_INFINITY, 0.0, 0.0));
    }

    #[test]
    fn nothing_has_no_weight() {
        let mut buf = CandBuf::default();
        let mut cands = CandSet::new(&[], &mut buf);
        cands.softmax(true);
        cands.softmax_f64();
        assert_eq!((cands.entropy(), cands.max_logit()), (0.0, f32::NEG_INFINITY));
    }
}
