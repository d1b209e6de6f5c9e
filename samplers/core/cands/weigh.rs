//! Probabilities and sums over the set, each in llama.cpp's width and order.

use super::{Cand, CandSet};
use crate::libm::{exp, exp_each, ln_each, max};

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
        self.exp_below_max();
        let sum = self.array().iter().fold(0.0f32, |sum, cand| sum + cand.p);
        for cand in self.array() {
            cand.p /= sum;
        }
    }

    /// Sets every `p` to `expf` of how far the logit is below the maximum.
    pub(super) fn exp_below_max(&mut self) {
        let max_logit = self.max_logit();
        let mut block = [0.0f32; BLOCK];
        for cands in self.array().chunks_mut(BLOCK) {
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

    /// Computes every `p` as dynamic temperature does at its end: in f64 from the first logit, each rounded to f32, then
    /// divided by the f64 sum.
    pub fn softmax_f64(&mut self) {
        let Some(first) = self.get(0) else { return };
        let first_logit = f64::from(first.logit);
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
    pub fn max_logit(&self) -> f32 {
        let first = self.get(0).map_or(f32::NEG_INFINITY, |c| c.logit);
        match (self.sorted, self.is_view) {
            (true, _) => first,
            _ if first.is_nan() => first,
            (false, true) => self.view().max(first),
            (false, false) => largest(&self.buf.cands[self.start..self.start + self.len], first, |cand| cand.logit),
        }
    }

    /// The entropy of the probabilities in nats, in f32 and in order. A probability of 0 makes it NaN, as in llama.cpp's
    /// typical-p; [`entropy_of_positive`](Self::entropy_of_positive) passes over it.
    pub fn entropy(&mut self) -> f32 {
        entropy(self.array(), |_| true)
    }

    /// The entropy of the probabilities above 0, as in llama.cpp's dynamic temperature.
    pub fn entropy_of_positive(&mut self) -> f32 {
        entropy(self.array(), |p| p > 0.0)
    }

    /// The largest logit, and mean and standard deviation of those that are not -infinity, as llama.cpp's top-n-sigma
    /// computes them: f32, but each square is added in f64. All 0 but the maximum where nothing is left.
    pub fn spread(&self) -> (f32, f32, f32) {
        let counted = || self.logits().filter(|&x| x != f32::NEG_INFINITY);
        let first = self.get(0).map_or(f32::NEG_INFINITY, |c| c.logit);
        let (mut max_logit, mut sum, mut n) = (first, 0.0f32, 0usize);
        for logit in counted() {
            max_logit = max(max_logit, logit);
            sum += logit;
            n += 1;
        }
        if n == 0 {
            return (max_logit, 0.0, 0.0);
        }
        let mean = sum / n as f32;
        let mut squares = 0.0f32;
        for logit in counted() {
            let off = f64::from(logit - mean);
            squares = (f64::from(squares) + off * off) as f32;
        }
        (max_logit, mean, (squares / n as f32).sqrt())
    }
}

/// The largest logit, not below `at_least`; NaN is passed over. In lanes, so that it becomes vector code.
pub(super) fn largest<T>(of: &[T], at_least: f32, logit: impl Fn(&T) -> f32) -> f32 {
    const LANES: usize = 16;
    let (whole, rest) = of.as_chunks::<LANES>();
    let mut lanes = [at_least; LANES];
    for chunk in whole {
        for (lane, item) in lanes.iter_mut().zip(chunk) {
            *lane = max(*lane, logit(item));
        }
    }
    rest.iter().map(logit).chain(lanes).fold(at_least, max)
}

fn entropy(cands: &[Cand], counts: impl Fn(f32) -> bool) -> f32 {
    let mut block = [0.0f32; BLOCK];
    let mut sum = 0.0f32;
    for cands in cands.chunks(BLOCK) {
        let block = &mut block[..cands.len()];
        block.iter_mut().zip(cands).for_each(|(x, cand)| *x = cand.p);
        ln_each(block);
        for (cand, ln_p) in cands.iter().zip(block.iter()).filter(|(cand, _)| counts(cand.p)) {
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

    #[test]
    fn spread_leaves_masked_logits_out() {
        let mut buf = CandBuf::default();
        let cands = CandSet::new(&[f32::NEG_INFINITY, 1.0, 3.0], &mut buf);
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
