//! The tokens of penalties that were copied from a sampler with another window.
//!
//! b11192 copies its ring of tokens, the room for them included, and how often each stands in it; the window of the sampler that gets
//! them stays. When a token comes, the sampler looks at its window for whether one leaves, and the ring at its room. So a token may
//! stay in the ring though it was taken off the count, or leave it though it was not, and counts run below 0 or beyond the window.

use std::collections::{BTreeMap, VecDeque};

use sampler_steps::{CandSet, Penalties};

/// The parameters of penalties.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Strength {
    /// The window.
    pub last_n: usize,
    repeat: f32,
    freq: f32,
    present: f32,
}

impl Strength {
    /// Those of the step.
    pub fn of(step: &Penalties) -> Self {
        let Penalties { last_n, repeat, freq, present, .. } = *step;
        Self { last_n: last_n as usize, repeat, freq, present }
    }

    /// A logit that a token of this count has.
    fn penalise(&self, logit: f32, count: i32) -> f32 {
        let repeated = if logit <= 0.0 { logit * self.repeat } else { logit / self.repeat };
        let is_present = if count > 0 { 1.0 } else { 0.0 };
        repeated - (count as f32 * self.freq + is_present * self.present)
    }
}

/// A ring of tokens with room for other than the sampler's window, and counts that belong to neither.
#[derive(Debug, Clone)]
pub struct CopiedWindow {
    room: usize,
    tokens: VecDeque<u32>,
    counts: BTreeMap<u32, i32>,
    /// The same for a set of candidates.
    list: Vec<(u32, i32)>,
}

impl CopiedWindow {
    /// What a sampler whose window is `room` has: these tokens, as many as that at most.
    pub fn new(room: usize, tokens: &[u32]) -> Self {
        let mut counts = BTreeMap::new();
        tokens.iter().for_each(|&token| *counts.entry(token).or_default() += 1);
        Self { room, tokens: tokens.iter().copied().collect(), counts, list: Vec::new() }
    }

    /// `llama_sampler_penalties_accept` of a sampler with a window of `last_n`.
    pub fn accept(&mut self, token: u32, last_n: usize) {
        *self.counts.entry(token).or_default() += 1;
        if let Some(&first) = self.tokens.front().filter(|_| self.tokens.len() >= last_n) {
            let count = self.counts.entry(first).or_default();
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&first);
            }
        }
        if self.tokens.len() >= self.room {
            self.tokens.pop_front();
        }
        self.tokens.push_back(token);
    }

    /// `llama_sampler_penalties_reset`: the room stays.
    pub fn clear(&mut self) {
        self.tokens.clear();
        self.counts.clear();
    }

    /// `llama_sampler_penalties_apply`.
    pub fn penalise(&mut self, cands: &mut CandSet<'_>, strength: Strength) {
        self.list.clear();
        self.list.extend(self.counts.iter().map(|(&token, &count)| (token, count)));
        cands.update_all(&self.list, |logit, &count| strength.penalise(logit, count));
    }
}
