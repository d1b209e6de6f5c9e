//! Picking the token.

use super::{Cand, CandSet};
use crate::libstdcxx::{Mt19937, discrete_draw};

impl CandSet<'_> {
    /// Selects the candidate at a place.
    ///
    /// # Panics
    /// If there is none.
    pub fn select(&mut self, i: usize) {
        assert!(i < self.len, "candidate {i} of {} is selected", self.len);
        self.selected = Some(i);
    }

    /// The selected candidate.
    pub fn selected_cand(&self) -> Option<Cand> {
        self.selected.and_then(|i| self.get(i))
    }

    /// The place of the first of the largest logits; none of an empty set.
    pub fn argmax(&self) -> Option<usize> {
        let mut logits = self.logits().enumerate();
        let (mut best, mut best_logit) = logits.next()?;
        for (i, logit) in logits {
            if logit > best_logit {
                (best, best_logit) = (i, logit);
            }
        }
        Some(best)
    }

    /// Selects by the logits with a uniform number `u` in [0, 1), and computes every `p`: `llama_sampler_dist_apply`.
    ///
    /// `expf` of each logit below the maximum, summed in f64; the first candidate whose running sum reaches `u` times the
    /// whole is selected (the last, where NaN lets none), and each p is divided by the sum. An only candidate has p = 1.
    pub fn select_by_logits(&mut self, u: f64) {
        match self.array() {
            [] => return,
            [only] => {
                only.p = 1.0;
                return self.select(0);
            }
            _ => self.exp_below_max(),
        }
        let cands = self.array();
        let sum = cands.iter().fold(0.0f64, |sum, cand| sum + f64::from(cand.p));
        let target = sum * u;
        let mut running = 0.0f64;
        let chosen = cands.iter().position(|cand| {
            running += f64::from(cand.p);
            running >= target
        });
        for cand in cands {
            cand.p = (f64::from(cand.p) / sum) as f32;
        }
        self.select(chosen.unwrap_or(self.len - 1));
    }

    /// Selects by the probabilities with `std::discrete_distribution` and returns the selected candidate; none of an empty
    /// set. Takes one double from `rng`, or nothing for an only candidate.
    pub fn select_by_p(&mut self, rng: &mut Mt19937) -> Option<Cand> {
        if self.is_empty() {
            return None;
        }
        self.array();
        let weights = self.buf.cands[self.start..self.start + self.len].iter().map(|c| c.p);
        let i = discrete_draw(weights, &mut self.buf.sums, rng);
        self.select(i);
        self.selected_cand()
    }
}

#[cfg(test)]
mod tests {
    use super::super::CandBuf;
    use super::*;

    #[test]
    fn the_running_sum_decides() {
        let logits = [0.5f32.ln(), 0.3f32.ln(), 0.15f32.ln(), 0.05f32.ln()];
        for (u, expected) in [(0.0, 0), (0.49, 0), (0.51, 1), (0.79, 1), (0.81, 2), (0.951, 3), (1.0f64.next_down(), 3)]
        {
            let mut buf = CandBuf::default();
            let mut cands = CandSet::new(&logits, &mut buf);
            cands.select_by_logits(u);
            assert_eq!(cands.selected(), Some(expected), "u = {u}");
        }
    }

    #[test]
    fn an_only_candidate_is_certain() {
        let mut buf = CandBuf::default();
        let mut cands = CandSet::new(&[-7.0], &mut buf);
        cands.select_by_logits(0.9);
        assert_eq!(cands.selected_cand(), Some(Cand { id: 0, logit: -7.0, p: 1.0 }));
    }

    #[test]
    fn not_a_number_selects_the_last() {
        let mut buf = CandBuf::default();
        let mut cands = CandSet::new(&[f32::NAN, 1.0, 2.0], &mut buf);
        cands.select_by_logits(0.1);
        assert_eq!(cands.selected(), Some(2));
    }

    #[test]
    fn nothing_selects_nothing() {
        let mut buf = CandBuf::default();
        let mut cands = CandSet::new(&[], &mut buf);
        cands.select_by_logits(0.1);
        assert_eq!((cands.selected(), cands.argmax()), (None, None));
        assert_eq!(cands.select_by_p(&mut Mt19937::new(1)), None);
    }
}
