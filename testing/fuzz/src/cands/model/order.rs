//! Order and places. Which of two equals comes first is what llama.cpp's own algorithms leave: buckets, and in each `std::sort` or
//! `std::partial_sort`.

use sampler_chain::steps::libm::logf;
use sampler_chain::{Cand, Mt19937, partial_sort, sort_by};

use super::Model;

fn before(a: &Cand, b: &Cand) -> bool {
    a.logit > b.logit
}

/// The bucket of a logit. What does not fit an `int` is its smallest value on x86.
fn bucket(logit: f32) -> i32 {
    let place = 6.4f32 * logit + 64.0f32;
    let place = if place.is_nan() || place.abs() >= 2_147_483_648.0 { i32::MIN } else { place as i32 };
    place.clamp(0, 127)
}

/// `llama_token_data_array_partial_sort`: the `n` best, in order.
fn best(cands: &[Cand], n: usize) -> Vec<Cand> {
    let mut best: Vec<Cand> = Vec::new();
    for b in (0..128).rev() {
        let start = best.len();
        best.extend(cands.iter().filter(|cand| bucket(cand.logit) == b));
        if best.len() >= n {
            partial_sort(&mut best[start..], n - start, before);
            break;
        }
        sort_by(&mut best[start..], before);
    }
    best.truncate(n);
    // Within buckets that overflow, and with NaN, nothing falls.
    if cands.iter().all(|cand| cand.logit < 1e8) {
        let mut logits: Vec<f32> = cands.iter().map(|cand| cand.logit).collect();
        logits.sort_by(|a, b| b.partial_cmp(a).expect("no logit is NaN"));
        assert!(best.iter().map(|cand| cand.logit).eq(logits.into_iter().take(n)), "these are not the best");
    }
    best
}

impl Model {
    /// `llama_token_data_array_partial_sort_inplace`.
    fn sort_head(&mut self, n: usize) {
        if n <= 128 {
            partial_sort(&mut self.cands, n, before);
        } else {
            let best = best(&self.cands, n);
            self.cands[..n].copy_from_slice(&best);
        }
        (self.sorted, self.selected) = (true, None);
    }

    pub fn sort(&mut self) {
        if !self.sorted {
            self.sort_head(self.len());
        }
    }

    pub fn top_k(&mut self, k: usize) {
        if k == 0 {
            return;
        }
        let k = k.min(self.len());
        if !self.sorted {
            self.sort_head(k);
        }
        self.truncate(k);
    }

    pub fn keep_nucleus(&mut self, p: f32, min_keep: usize) {
        if p < 1.0 {
            self.softmax(false);
            let mut sum = 0.0f32;
            self.keep_through(|i, cand| {
                sum += cand.p;
                sum >= p && i + 1 >= min_keep
            });
        }
    }

    /// As llama.cpp's top-p walks: a set of more than 1,024 is sorted for 256 first, into a copy, and whole only if the walk goes on.
    pub fn keep_through(&mut self, mut last: impl FnMut(usize, &Cand) -> bool) {
        let mut walked = self.cands.clone();
        let mut have = self.len();
        if !self.sorted && self.len() > 1024 {
            have = 256;
            walked = best(&self.cands, have);
        } else if !self.sorted {
            self.sort_head(self.len());
            walked.clone_from(&self.cands);
        }
        let mut kept = 0;
        while kept < self.len() {
            if kept == have {
                have = self.len();
                walked = best(&self.cands, have);
            }
            kept += 1;
            if last(kept - 1, &walked[kept - 1]) {
                break;
            }
        }
        if self.sorted {
            return self.truncate(kept);
        }
        walked.truncate(kept);
        (self.cands, self.sorted, self.selected) = (walked, true, None);
    }

    pub fn keep_typical_through(&mut self, entropy: f32, mut last: impl FnMut(usize, &Cand) -> bool) {
        let score = |cand: &Cand| (-logf(cand.p) - entropy).abs();
        let mut scored: Vec<(f32, Cand)> = self.cands.iter().map(|cand| (score(cand), *cand)).collect();
        sort_by(&mut scored, |a, b| a.0 < b.0);
        self.cands = scored.into_iter().map(|(_, cand)| cand).collect();
        (self.sorted, self.selected) = (false, None);
        if let Some(at) = (0..self.len()).find(|&i| last(i, &self.cands[i])) {
            self.truncate(at + 1);
        }
    }

    pub fn select(&mut self, i: usize) {
        self.selected = Some(i);
    }

    pub fn argmax(&self) -> Option<usize> {
        let mut best = 0;
        for i in 0..self.len() {
            if self.cands[i].logit > self.cands[best].logit {
                best = i;
            }
        }
        Some(best).filter(|_| !self.cands.is_empty())
    }

    /// `std::discrete_distribution<int>`, written out.
    pub fn select_by_p(&mut self, rng: &mut Mt19937) -> Option<Cand> {
        let n = self.len();
        if n < 2 {
            self.selected = (n == 1).then_some(0);
            return self.selected_cand();
        }
        let mut sum = 0.0f64;
        self.cands.iter().for_each(|cand| sum += f64::from(cand.p));
        let mut reached = vec![0.0f64; n];
        for i in 0..n {
            let share = f64::from(self.cands[i].p) / sum;
            reached[i] = if i == 0 { share } else { reached[i - 1] + share };
        }
        reached[n - 1] = 1.0;
        let u = rng.uniform();
        // `std::lower_bound`
        let (mut first, mut count) = (0, n);
        while count > 0 {
            let step = count / 2;
            if reached[first + step] < u {
                first += step + 1;
                count -= step + 1;
            } else {
                count = step;
            }
        }
        // With NaN the bound may lie behind them all, where b11192 reads past its end; the crate takes the last.
        self.selected = Some(first.min(n - 1));
        self.selected_cand()
    }
}
