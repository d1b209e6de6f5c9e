//! A naive model of the candidates: a plain array with llama.cpp's two flags, and each verb as the loop that llama.cpp has, or as the
//! verb's documentation says. It shares three things with the crate, which have targets and recordings of their own: `expf`, `logf`
//! and `exp` (`samplers/libm`, compared with glibc's), `sort_by` and `partial_sort` (target `sort`), and the generator.

mod leave;
mod order;
mod weigh;

use std::collections::BTreeMap;

use sampler_chain::{Cand, Penalty};

/// The candidates as the model keeps them.
#[derive(Debug, Clone)]
pub struct Model {
    cands: Vec<Cand>,
    sorted: bool,
    selected: Option<usize>,
}

impl Model {
    pub fn new(cands: &[Cand], sorted: bool) -> Self {
        Self { cands: cands.to_vec(), sorted, selected: None }
    }

    pub fn len(&self) -> usize {
        self.cands.len()
    }

    pub fn is_sorted(&self) -> bool {
        self.sorted
    }

    pub fn selected(&self) -> Option<usize> {
        self.selected
    }

    pub fn selected_id(&self) -> Option<u32> {
        self.selected.map(|i| self.cands[i].id)
    }

    pub fn selected_cand(&self) -> Option<Cand> {
        self.selected.map(|i| self.cands[i])
    }

    pub fn selected_is_sound(&self) -> bool {
        self.selected_cand().is_none_or(|cand| cand.logit > f32::NEG_INFINITY && !cand.p.is_nan())
    }

    pub fn as_slice(&self) -> &[Cand] {
        &self.cands
    }

    pub fn first(&self, n: usize) -> &[Cand] {
        &self.cands[..n.min(self.len())]
    }

    pub fn get(&self, i: usize) -> Option<Cand> {
        self.cands.get(i).copied()
    }

    pub fn logits(&self) -> impl Iterator<Item = f32> + '_ {
        self.cands.iter().map(|cand| cand.logit)
    }

    pub fn position(&self, found: impl FnMut(&Cand) -> bool) -> Option<usize> {
        self.cands.iter().position(found)
    }
}

/// What leaves, and what comes back.
impl Model {
    pub fn truncate(&mut self, n: usize) {
        self.cands.truncate(n);
        self.selected = self.selected.filter(|&i| i < n);
    }

    pub fn drop_front(&mut self, n: usize) {
        let n = n.min(self.len());
        self.cands.drain(..n);
        self.selected = self.selected.and_then(|i| i.checked_sub(n));
    }

    pub fn retain(&mut self, keep: impl FnMut(&Cand) -> bool) {
        let before = self.len();
        self.cands.retain(keep);
        if self.len() < before {
            self.selected = None;
        }
    }

    pub fn retain_above(&mut self, logit: f32, at_least: usize) -> bool {
        let passing = self.logits().filter(|&x| x >= logit).count();
        let enough = passing > 0 && passing >= at_least;
        if enough {
            self.retain(|cand| cand.logit >= logit);
        }
        enough
    }

    /// Only for rows without NaN, but for `n` of 1.
    pub fn remove_but_best(&mut self, n: usize, mut remove: impl FnMut(&Cand) -> bool) {
        let nth = if n <= 1 {
            self.argmax().map_or(f32::NEG_INFINITY, |best| self.cands[best].logit)
        } else {
            let mut logits: Vec<f32> = self.logits().collect();
            logits.sort_by(|a, b| b.partial_cmp(a).expect("no logit is NaN"));
            logits.get(n - 1).or(logits.last()).copied().unwrap_or(f32::NEG_INFINITY)
        };
        self.retain(|cand| !(cand.logit < nth && remove(cand)));
    }

    pub fn cands_of(&self, tokens: &[u32], found: &mut Vec<Cand>) {
        found.clear();
        found.extend(tokens.iter().filter_map(|id| self.cands.iter().find(|cand| cand.id == *id)));
    }

    pub fn bring_back(&mut self, before: &[Cand]) {
        for cand in before {
            match self.cands.iter_mut().find(|now| now.id == cand.id) {
                Some(now) if now.logit == f32::NEG_INFINITY => now.logit = cand.logit,
                Some(_) => continue,
                None => self.cands.push(*cand),
            }
            self.sorted = false;
        }
    }
}

/// Logits.
impl Model {
    pub fn update(&mut self, id: u32, change: impl FnOnce(f32) -> f32) {
        self.sorted = false;
        if let Some(cand) = self.cands.iter_mut().find(|cand| cand.id == id) {
            cand.logit = change(cand.logit);
        }
    }

    pub fn update_all<V>(&mut self, tokens: &[(u32, V)], mut change: impl FnMut(f32, &V) -> f32) {
        self.sorted = false;
        let by_id: BTreeMap<u32, &V> = tokens.iter().map(|(id, value)| (*id, value)).collect();
        for cand in &mut self.cands {
            if let Some(value) = by_id.get(&cand.id) {
                cand.logit = change(cand.logit, value);
            }
        }
    }

    pub fn penalise(&mut self, counts: &[(u32, u32)], penalty: Penalty) {
        self.update_all(counts, |logit, &count| penalised(logit, count, penalty));
    }

    pub fn add_biases(&mut self, biases: impl IntoIterator<Item = (u32, f32)>) {
        let mut to_search = Vec::new();
        for (id, bias) in biases {
            match self.cands.get_mut(id as usize) {
                Some(cand) if cand.id == id => cand.logit += bias,
                _ => to_search.push((id, bias)),
            }
        }
        for cand in &mut self.cands {
            if let Some((_, bias)) = to_search.iter().find(|(id, _)| *id == cand.id) {
                cand.logit += bias;
            }
        }
    }

    pub fn map_logits(&mut self, change: impl FnMut(f32) -> f32) {
        self.map_logits_in_order(change);
        self.sorted = false;
    }

    pub fn map_logits_in_order(&mut self, mut change: impl FnMut(f32) -> f32) {
        self.cands.iter_mut().for_each(|cand| cand.logit = change(cand.logit));
    }

    pub fn set_logits_from_p(&mut self, logit: impl Fn(f32) -> f32) {
        for cand in self.cands.iter_mut().filter(|cand| cand.logit != f32::NEG_INFINITY) {
            cand.logit = logit(cand.p);
        }
    }

    pub fn mask_below(&mut self, logit: f32) {
        self.map_logits_in_order(|x| if x < logit { f32::NEG_INFINITY } else { x });
    }

    pub fn mask(&mut self, mut allowed: impl FnMut(u32) -> bool) {
        for cand in self.cands.iter_mut().filter(|cand| !allowed(cand.id)) {
            cand.logit = f32::NEG_INFINITY;
        }
    }

    pub fn merge(&mut self, into: usize, from: usize) {
        self.cands[into].p += self.cands[from].p;
        (self.cands[from].logit, self.cands[from].p) = (f32::NEG_INFINITY, 0.0);
    }

    pub fn share_p(&mut self) {
        let mut sum = 0.0f32;
        self.cands.iter().for_each(|cand| sum += cand.p);
        self.cands.iter_mut().for_each(|cand| cand.p /= sum);
    }

    pub fn leave_only(&mut self, id: u32, logit: f32) {
        let first = self.cands.first().copied();
        let is_selected = self.selected == Some(0) && first.is_some_and(|first| first.id == id);
        self.cands = vec![Cand { id, logit, p: first.map_or(0.0, |first| first.p) }];
        self.selected = is_selected.then_some(0);
    }

    pub fn temperature(&mut self, temp: f32) {
        if temp > 0.0 {
            return self.map_logits_in_order(|logit| logit / temp);
        }
        let best = self.argmax();
        for (i, cand) in self.cands.iter_mut().enumerate() {
            if best != Some(i) {
                cand.logit = f32::NEG_INFINITY;
            }
        }
    }
}

/// `llama_sampler_penalties_apply` for one candidate that occurs.
fn penalised(logit: f32, count: u32, penalty: Penalty) -> f32 {
    let mut logit = logit;
    if logit <= 0.0 {
        logit *= penalty.repeat;
    } else {
        logit /= penalty.repeat;
    }
    logit - (count as f32 * penalty.freq + 1.0 * penalty.present)
}
