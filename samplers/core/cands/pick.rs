//! Picking the token.

use super::deferred::{Asked, Softmax};
use super::survey::BLOCK;
use super::tally::Masses;
use super::terms::{Exactly, Terms, Weights};
use super::view::View;
use super::{Cand, CandSet, Form};
use crate::libm::{expf, in_lanes};
use crate::libstdcxx::{Mt19937, discrete_draw};

impl CandSet<'_> {
    /// Selects the candidate at a place.
    ///
    /// # Panics
    /// If there is none.
    pub fn select(&mut self, i: usize) {
        assert!(i < self.len, "candidate {i} of {} is selected", self.len);
        if self.form == Form::Sorted && self.start + i >= self.buf.cands.len() {
            self.settle();
        }
        if self.form != Form::Array {
            self.ask(Asked::Select(i));
        }
        self.selected = Some(i);
    }

    /// The selected candidate.
    pub fn selected_cand(&mut self) -> Option<Cand> {
        self.selected.and_then(|i| self.get(i))
    }

    /// Whether the selected candidate has a logit above -infinity, and neither logit nor p is NaN. True where none is selected.
    pub fn selected_is_sound(&self) -> bool {
        self.selected.is_none_or(|i| match self.form {
            Form::Array => self.cands()[i].logit > f32::NEG_INFINITY && !self.cands()[i].p.is_nan(),
            // The quick forms have no NaN.
            Form::Row => self.view().get(i) > f32::NEG_INFINITY,
            Form::Sorted => self.buf.cands[self.start + i].logit > f32::NEG_INFINITY,
        })
    }

    /// The place of the first of the largest logits; none of an empty set.
    pub fn argmax(&mut self) -> Option<usize> {
        if self.form == Form::Row {
            return Some(self.view().argmax());
        }
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
        if let Some(place) = self.place_by_logits(u) {
            self.selected = Some(place);
            self.known.p_is_hidden = true;
            return self.ask(Asked::SelectByLogits(u));
        }
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

    /// The place that [`select_by_logits`](Self::select_by_logits) selects, if a set that is not written out leaves no doubt.
    fn place_by_logits(&mut self, u: f64) -> Option<usize> {
        match self.form {
            Form::Array => None,
            Form::Row => self.place_in_row(u),
            Form::Sorted => {
                self.place_among_best(u, 1.0, 0.0, |cand, max_logit| f64::from(expf(cand.logit - max_logit)))
            }
        }
    }

    /// The place that [`select_by_p`](Self::select_by_p) selects in a sorted set, if that leaves no doubt.
    fn place_by_p(&mut self, u: f64) -> Option<usize> {
        if self.form != Form::Sorted || !self.is_as_sorted() || self.known.softmax_is_stale {
            return None;
        }
        let Softmax { sum, .. } = self.known.softmax?;
        // Each p is a quotient that is rounded.
        self.place_among_best(u, f64::from(sum), 1e-7, |cand, _| f64::from(cand.p))
    }

    /// The same for a row: the block is found by the masses of all, the place by the weights in it.
    fn place_in_row(&mut self, u: f64) -> Option<usize> {
        let mut masses = std::mem::take(&mut self.buf.row.masses);
        let view = self.view();
        let weights = Weights { max_logit: view.max() };
        let place = place_by_masses(&view, weights, u, &mut masses)
            .or_else(|| place_by_masses(&view, Exactly(weights), u, &mut masses));
        self.buf.row.masses = masses;
        place
    }

    /// The same for a sorted set: the best ones weigh most, and all the others are only weighed together, in shares of
    /// `whole`, each of which may be off by `rounded`.
    fn place_among_best(
        &mut self,
        u: f64,
        whole: f64,
        rounded: f64,
        weight: impl Fn(&Cand, f32) -> f64,
    ) -> Option<usize> {
        loop {
            let best = &self.buf.cands[self.start..];
            let max_logit = best.first()?.logit;
            let mut weights = std::mem::take(&mut self.buf.sums);
            weights.clear();
            weights.extend(best.iter().map(|cand| weight(cand, max_logit)));
            let (cut, view, terms) = (self.view().unmap(self.known.cut), self.divided_others(), Weights { max_logit });
            let others = in_lanes(Masses { view: &view, terms, cut, masses: None }) / whole;
            let best: f64 = weights.iter().sum();
            let target = (best + others) * u;
            let off = mass_off(terms, &view, others) + rounded * others + loop_off(self.logits.len()) * (best + others);
            let place = place_beyond(weights.iter().copied(), 0.0, target, off);
            self.buf.sums = weights;
            if place.is_some() || target < best || !self.extend_much() {
                return place;
            }
        }
    }

    /// Selects by the probabilities with `std::discrete_distribution` and returns the selected candidate; none of an empty
    /// set. Takes one double from `rng`, or nothing for an only candidate.
    pub fn select_by_p(&mut self, rng: &mut Mt19937) -> Option<Cand> {
        if self.is_empty() {
            return None;
        }
        // Drawn now, for whichever of the two needs it.
        let u = if self.len > 1 { rng.uniform() } else { 0.0 };
        let place = self.place_by_p(u).unwrap_or_else(|| {
            self.array();
            let weights = self.buf.cands[self.start..self.start + self.len].iter().map(|c| c.p);
            discrete_draw(weights, &mut self.buf.sums, || u)
        });
        self.select(place);
        self.selected_cand()
    }
}

/// How far masses may be from their sum in a loop.
fn mass_off<T: Terms>(terms: T, view: &View<'_>, mass: f64) -> f64 {
    // What is far below the maximum has a small weight instead of a smaller one.
    const ABSOLUTE: f64 = 5e-18;
    // Seven additions of f32 make a block's sum.
    let added = if T::WIDE { 0.0 } else { 5e-7 };
    let n = view.logits.len();
    mass * (f64::from(terms.off(view).unwrap_or(0.0)) + added + loop_off(n)) + ABSOLUTE * n as f64
}

/// How far a loop's f64 sum of `n` weights, and ours, may be from the true one, relative to it: each addition rounds.
fn loop_off(n: usize) -> f64 {
    n as f64 * 2.0 * f64::EPSILON + 1e-12
}

/// The place in a row where the sum of the weights reaches `u` times the whole, if there is no doubt.
fn place_by_masses<T: Terms>(view: &View<'_>, terms: T, u: f64, masses: &mut Vec<f64>) -> Option<usize> {
    let whole = in_lanes(Masses { view, terms, cut: f32::INFINITY, masses: Some(masses) });
    let target = whole * u;
    let mut reached = 0.0;
    let block = masses.iter().position(|mass| {
        reached += mass;
        reached >= target
    })?;
    let mut copy = [0.0; BLOCK];
    let weights = view.block(block, &mut copy).iter().map(|&logit| f64::from(terms.exact(logit)));
    // What was added up before and the target are both off by a little.
    let off = mass_off(terms, view, reached + target);
    Some(block * BLOCK + place_beyond(weights, reached - masses[block], target, off)?)
}

/// The place of the first of the weights with which a sum that has come to `before` reaches the target, if a difference of
/// `off` would not make it another one.
fn place_beyond(weights: impl Iterator<Item = f64>, before: f64, target: f64, off: f64) -> Option<usize> {
    let mut sum = before;
    for (i, weight) in weights.enumerate() {
        if sum >= target - off {
            return None;
        }
        sum += weight;
        if sum > target + off {
            return Some(i);
        }
    }
    None
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

    /// A quarter of a million equal weights, whose loop's sum is off to one side by more than any of them.
    #[test]
    fn a_flat_tail_is_drawn_as_the_loop_draws_it() {
        for (below, u) in
            [(21.3, 0.999_871_727_237_087_1), (21.7, 0.999_949_328_704_486_2), (22.6, 0.999_985_640_633_316_9)]
        {
            let mut logits = vec![-below; 250_000];
            logits[0] = 0.0;
            let cands: Vec<Cand> = logits.iter().zip(0..).map(|(&logit, id)| Cand { id, logit, p: 0.0 }).collect();
            let (mut row_buf, mut array_buf) = (CandBuf::default(), CandBuf::default());
            let mut row = CandSet::new(&logits, &mut row_buf);
            let mut array = CandSet::from_cands(&cands, false, &mut array_buf);
            row.select_by_logits(u);
            array.select_by_logits(u);
            assert_eq!(row.selected_id(), array.selected_id(), "{below} {u}");
        }
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
