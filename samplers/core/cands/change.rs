//! Changing logits.
//!
//! What becomes of `sorted` is llama.cpp's convention, verb by verb: penalties clear it, biases and masks do not.

use super::view::Map;
use super::{CandBuf, CandSet, Form, Penalty};

impl CandSet<'_> {
    /// Changes the logit of one token, where it is a candidate, and marks the set unsorted.
    pub fn update(&mut self, id: u32, change: impl FnOnce(f32) -> f32) {
        if self.takes_a_patch() {
            return self.patch(id, change);
        }
        self.settle();
        self.sorted = false;
        let at = if self.in_place {
            Some(id as usize).filter(|&i| i < self.len)
        } else {
            self.array().iter().position(|c| c.id == id)
        };
        if let Some(cand) = at.and_then(|i| self.array().get_mut(i)) {
            cand.logit = change(cand.logit);
        }
    }

    /// Changes the logit of every candidate that `tokens` has a value for, and marks the set unsorted, even where nothing
    /// changed. `tokens` are by rising id, each once.
    pub fn update_all<V>(&mut self, tokens: &[(u32, V)], mut change: impl FnMut(f32, &V) -> f32) {
        self.update_each(tokens, |_, logit, value| change(logit, value));
    }

    /// The same by a function that is told the token, too. Equal tokens come in the candidates' order.
    pub(super) fn update_each<V>(&mut self, tokens: &[(u32, V)], mut change: impl FnMut(u32, f32, &V) -> f32) {
        if self.form == Form::Sorted {
            self.settle();
        }
        self.sorted = false;
        if tokens.is_empty() {
            return;
        }
        // Many patches would cost more than an array.
        if self.is_fresh_row() && tokens.len() * 4 < self.len {
            return self.patch_all(tokens, change);
        }
        self.array();
        let in_place = self.in_place;
        let CandBuf { cands, lookup, .. } = &mut *self.buf;
        let cands = &mut cands[self.start..self.start + self.len];
        if in_place {
            for (id, value) in tokens {
                if let Some(cand) = cands.get_mut(*id as usize) {
                    cand.logit = change(*id, cand.logit, value);
                }
            }
            return;
        }
        lookup.clear();
        lookup.reserve(tokens.len().next_power_of_two().max(256));
        lookup.extend(tokens.iter().map(|(id, _)| *id).zip(0..));
        for cand in cands {
            if let Some(&at) = lookup.get(&cand.id) {
                cand.logit = change(cand.id, cand.logit, &tokens[at].1);
            }
        }
    }

    /// Penalises every candidate whose token `counts` has a number of occurrences for, and marks the set unsorted, even where
    /// nothing changed: `llama_sampler_penalties_apply`. `counts` are by rising id, each once.
    pub fn penalise(&mut self, counts: &[(u32, u32)], penalty: Penalty) {
        if !self.defer_penalty(counts, penalty) {
            self.update_all(counts, |logit, &count| penalty.of(logit, count));
        }
    }

    /// Penalises a fresh row, later. Whether that is possible.
    pub(super) fn defer_penalty(&mut self, counts: &[(u32, u32)], penalty: Penalty) -> bool {
        let known = &counts[..counts.partition_point(|(id, _)| (*id as usize) < self.logits.len())];
        if !self.is_fresh_row() || !self.buf.row.penalise(self.logits, known, penalty) {
            return false;
        }
        self.sorted = false;
        if self.view().max() == f32::NEG_INFINITY {
            self.settle();
        }
        true
    }

    /// Whether a row takes one more patch: each is merged with all others.
    fn takes_a_patch(&self) -> bool {
        const MOST: usize = 512;
        self.is_fresh_row() && self.buf.row.patches.len() < MOST
    }

    /// Changes the logit of a token of a fresh row, where it has one.
    fn patch(&mut self, id: u32, change: impl FnOnce(f32) -> f32) {
        let mut change = Some(change);
        self.patch_all(&[(id, ())], |_, logit, ()| change.take().map_or(logit, |change| change(logit)));
    }

    /// Changes the logits of some tokens of a fresh row, those that it has.
    fn patch_all<V>(&mut self, tokens: &[(u32, V)], change: impl FnMut(u32, f32, &V) -> f32) {
        let tokens = &tokens[..tokens.partition_point(|(id, _)| (*id as usize) < self.len)];
        if !self.buf.row.patch_all(self.logits, tokens, change) {
            self.settle();
        }
    }

    /// Changes every logit by a function that may change their order, and marks the set unsorted.
    pub fn map_logits(&mut self, change: impl FnMut(f32) -> f32) {
        self.map_logits_in_order(change);
        self.sorted = false;
    }

    /// Changes every logit by a function that keeps their order. `sorted` stays what it was.
    pub fn map_logits_in_order(&mut self, mut change: impl FnMut(f32) -> f32) {
        for cand in self.array() {
            cand.logit = change(cand.logit);
        }
    }

    /// Sets every logit from its candidate's probability, leaving -infinity alone. `sorted` stays what it was, although the
    /// order may not: llama.cpp's adaptive-p does so, and takes the first logit of such a set for the maximum.
    pub fn set_logits_from_p(&mut self, logit: impl Fn(f32) -> f32) {
        for cand in self.array().iter_mut().filter(|c| c.logit != f32::NEG_INFINITY) {
            cand.logit = logit(cand.p);
        }
    }

    /// Sets every logit below `logit` to -infinity. The candidates stay, and so does `sorted`.
    pub fn mask_below(&mut self, logit: f32) {
        if self.defer_map(Map::Mask(logit)) {
            return;
        }
        self.map_logits_in_order(|x| if x < logit { f32::NEG_INFINITY } else { x });
    }

    /// Sets the logit of every token to -infinity that is not allowed. The candidates stay, and so does `sorted`.
    pub fn mask(&mut self, mut allowed: impl FnMut(u32) -> bool) {
        for cand in self.array() {
            if !allowed(cand.id) {
                cand.logit = f32::NEG_INFINITY;
            }
        }
    }

    /// Adds biases as llama.cpp's `logit_bias` does. `sorted` stays what it was, although the order may not.
    ///
    /// In list order where the token stands at the place of its id; for the others all candidates are searched, and only the
    /// first bias of a token counts.
    pub fn add_biases(&mut self, biases: impl IntoIterator<Item = (u32, f32)>) {
        let mut biases = biases.into_iter();
        while self.takes_a_patch() {
            let Some((id, bias)) = biases.next() else { return };
            self.patch(id, |logit| logit + bias);
        }
        self.array();
        let CandBuf { cands, elsewhere, .. } = &mut *self.buf;
        let cands = &mut cands[self.start..self.start + self.len];
        elsewhere.clear();
        for (id, bias) in biases {
            match cands.get_mut(id as usize) {
                Some(cand) if cand.id == id => cand.logit += bias,
                _ => elsewhere.push((id, bias)),
            }
        }
        if elsewhere.is_empty() {
            return;
        }
        for cand in cands {
            if let Some((_, bias)) = elsewhere.iter().find(|(id, _)| *id == cand.id) {
                cand.logit += bias;
            }
        }
    }

    /// Adds the probability of one candidate to another, and takes the first out of the running: -infinity, p = 0.
    pub fn merge(&mut self, into: usize, from: usize) {
        let cands = self.array();
        cands[into].p += cands[from].p;
        cands[from].logit = f32::NEG_INFINITY;
        cands[from].p = 0.0;
    }

    /// Divides every p by their sum, in f32.
    pub fn share_p(&mut self) {
        let sum = self.array().iter().fold(0.0f32, |sum, cand| sum + cand.p);
        for cand in self.array() {
            cand.p /= sum;
        }
    }

    /// Leaves one candidate: the token `id` with a logit, in the first one's place and with its p, whatever stood there. It is
    /// selected if it stood there and was.
    pub fn leave_only(&mut self, id: u32, logit: f32) {
        self.array();
        let first = self.buf.cands.get(self.start);
        let p = first.map_or(0.0, |cand| cand.p);
        let is_selected = self.len > 0 && self.selected == Some(0) && first.is_some_and(|cand| cand.id == id);
        self.buf.cands.truncate(self.start);
        self.buf.cands.push(super::Cand { id, logit, p });
        self.len = 1;
        self.in_place = false;
        self.selected = is_selected.then_some(0);
    }

    /// Divides every logit by `temp`: `llama_sampler_temp_impl`. At 0 or below, all but the first of the largest become
    /// -infinity. `sorted` stays what it was.
    pub fn temperature(&mut self, temp: f32) {
        if temp <= 0.0 {
            let Some(best) = self.argmax() else { return };
            for (i, cand) in self.array().iter_mut().enumerate() {
                if i != best {
                    cand.logit = f32::NEG_INFINITY;
                }
            }
        } else if !self.defer_temperature(temp) {
            self.map_logits_in_order(|x| x / temp);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logits_by_id(cands: &mut CandSet<'_>) -> Vec<f32> {
        let mut all = cands.as_slice().to_vec();
        all.sort_by_key(|c| c.id);
        all.iter().map(|c| c.logit).collect()
    }

    #[test]
    fn update_finds_ids_in_place_and_shuffled() {
        for shuffled in [false, true] {
            let mut buf = CandBuf::default();
            let mut cands = CandSet::new(&[1.0, 3.0, 2.0], &mut buf);
            if shuffled {
                cands.sort();
            }
            cands.update(2, |x| x + 10.0);
            cands.update(7, |_| unreachable!());
            assert_eq!(logits_by_id(&mut cands), [1.0, 3.0, 12.0]);
            assert!(!cands.is_sorted());
        }
    }

    #[test]
    fn update_all_clears_sorted_even_for_nothing() {
        let mut buf = CandBuf::default();
        let mut cands = CandSet::new(&[1.0, 3.0, 2.0], &mut buf);
        cands.sort();
        cands.update_all(&[] as &[(u32, ())], |x, ()| x);
        assert!(!cands.is_sorted());
        cands.sort();
        cands.update_all(&[(0, 5.0), (9, 1.0)], |x, by| x + by);
        assert_eq!(logits_by_id(&mut cands), [6.0, 3.0, 2.0]);
    }

    #[test]
    fn biases_add_up_in_place_and_count_once_elsewhere() {
        let biases = [(1, 1.0), (1, 2.0), (2, -1.0), (9, 5.0)];
        let mut buf = CandBuf::default();
        let mut cands = CandSet::new(&[0.0, 0.0, 0.0], &mut buf);
        cands.add_biases(biases);
        assert_eq!(logits_by_id(&mut cands), [0.0, 3.0, -1.0]);

        let mut cands = CandSet::new(&[1.0, 2.0, 3.0], &mut buf);
        cands.sort();
        cands.add_biases(biases);
        // Sorted, the ids are 2, 1, 0: 1 still stands at its place, 2 does not.
        assert_eq!(logits_by_id(&mut cands), [1.0, 5.0, 2.0]);
        assert!(cands.is_sorted());
    }

    #[test]
    fn the_first_maximum_wins_at_no_temperature() {
        let mut buf = CandBuf::default();
        let mut cands = CandSet::new(&[1.0, 3.0, 3.0, 2.0], &mut buf);
        cands.temperature(0.0);
        let inf = f32::NEG_INFINITY;
        assert_eq!(logits_by_id(&mut cands), [inf, 3.0, inf, inf]);
    }

    #[test]
    fn many_biases_are_those_of_an_array() {
        let logits: Vec<f32> = (0..3000).map(|i| (i % 77) as f32 / 8.0).collect();
        let biases =
            (0..3000).rev().filter(|i| i % 3 != 0).map(|i| (i, if i % 5 == 0 { f32::NEG_INFINITY } else { 0.25 }));
        let mut buf = CandBuf::default();
        let mut cands = CandSet::new(&logits, &mut buf);
        cands.add_biases(biases.clone());
        let mut plain = logits.clone();
        biases.for_each(|(id, bias)| plain[id as usize] += bias);
        assert_eq!(logits_by_id(&mut cands), plain);
    }
}
