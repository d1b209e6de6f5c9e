//! Probabilities and sums, each in llama.cpp's width and order.

use sampler_chain::steps::libm::{exp, expf, logf};

use super::Model;

/// `std::max`
fn max(a: f32, b: f32) -> f32 {
    if a < b { b } else { a }
}

impl Model {
    pub fn max_logit(&self) -> f32 {
        match self.cands.first() {
            None => f32::NEG_INFINITY,
            Some(first) if self.sorted => first.logit,
            Some(first) => self.logits().fold(first.logit, max),
        }
    }

    pub fn max_logit_above(&self, least: f32) -> f32 {
        self.logits().fold(least, max)
    }

    pub fn softmax(&mut self, sort: bool) {
        if self.cands.is_empty() {
            return;
        }
        if sort {
            self.sort();
        }
        let max_logit = self.max_logit();
        let mut sum = 0.0f32;
        for cand in &mut self.cands {
            cand.p = expf(cand.logit - max_logit);
            sum += cand.p;
        }
        self.cands.iter_mut().for_each(|cand| cand.p /= sum);
    }

    pub fn softmax_f64(&mut self) {
        let Some(first) = self.cands.first() else { return };
        let max_logit = f64::from(first.logit);
        let mut sum = 0.0f64;
        for cand in &mut self.cands {
            let p = exp(f64::from(cand.logit) - max_logit);
            cand.p = p as f32;
            sum += p;
        }
        self.cands.iter_mut().for_each(|cand| cand.p = (f64::from(cand.p) / sum) as f32);
    }

    pub fn entropy(&self) -> f32 {
        let mut entropy = 0.0f32;
        self.cands.iter().for_each(|cand| entropy += -cand.p * logf(cand.p));
        entropy
    }

    pub fn entropy_of_positive(&self) -> f32 {
        let mut entropy = 0.0f32;
        for cand in self.cands.iter().filter(|cand| cand.p > 0.0) {
            entropy -= cand.p * logf(cand.p);
        }
        entropy
    }

    pub fn spread(&self) -> (f32, f32, f32) {
        let mut largest = self.cands.first().map_or(f32::NEG_INFINITY, |cand| cand.logit);
        let (mut sum, mut n) = (0.0f32, 0usize);
        for logit in self.logits().filter(|&logit| logit != f32::NEG_INFINITY) {
            largest = max(largest, logit);
            sum += logit;
            n += 1;
        }
        let mean = if n > 0 { sum / n as f32 } else { 0.0 };
        let mut squares = 0.0f32;
        for logit in self.logits().filter(|&logit| logit != f32::NEG_INFINITY) {
            squares = (f64::from(squares) + f64::from(logit - mean).powi(2)) as f32;
        }
        (largest, mean, if n > 0 { (squares / n as f32).sqrt() } else { 0.0 })
    }

    /// `llama_sampler_dist_apply`
    pub fn select_by_logits(&mut self, u: f64) {
        if self.len() < 2 {
            self.cands.iter_mut().for_each(|only| only.p = 1.0);
            self.selected = if self.cands.is_empty() { self.selected } else { Some(0) };
            return;
        }
        let max_logit = self.max_logit();
        let mut sum = 0.0f64;
        for cand in &mut self.cands {
            cand.p = expf(cand.logit - max_logit);
            sum += f64::from(cand.p);
        }
        let (target, mut running, mut found) = (sum * u, 0.0f64, None);
        for (i, cand) in self.cands.iter_mut().enumerate() {
            running += f64::from(cand.p);
            if found.is_none() && running >= target {
                found = Some(i);
            }
            cand.p = (f64::from(cand.p) / sum) as f32;
        }
        self.selected = found.or(Some(self.len() - 1));
    }
}
