//! Changes that leave something.

use std::collections::{BTreeMap, BTreeSet};

use sampler_chain::Penalty;

use super::{Model, penalised};

impl Model {
    pub fn update_all_but_leave_one<V>(&mut self, tokens: &[(u32, V)], mut change: impl FnMut(f32, &V) -> f32) {
        let before = self.cands.clone();
        self.update_all(tokens, |logit, value| {
            let changed = change(logit, value);
            // No number rises above the largest.
            if changed == f32::INFINITY && logit < f32::INFINITY { f32::MAX } else { changed }
        });
        if self.max_logit() != f32::NEG_INFINITY {
            return;
        }
        let mut best: Option<usize> = None;
        for (i, was) in before.iter().enumerate() {
            let is_lost = was.logit > f32::NEG_INFINITY && self.cands[i].logit == f32::NEG_INFINITY;
            if is_lost && best.is_none_or(|best| was.logit > before[best].logit) {
                best = Some(i);
            }
        }
        if let Some(best) = best {
            self.cands[best].logit = before[best].logit;
        }
    }

    pub fn update_but_leave_one<V>(&mut self, tokens: &[(u32, V)], change: impl FnMut(f32, &V) -> f32) {
        if !tokens.is_empty() {
            self.update_all_but_leave_one(tokens, change);
        }
    }

    pub fn penalise_but_leave_one(&mut self, counts: &[(u32, u32)], penalty: Penalty) {
        self.update_all_but_leave_one(counts, |logit, &count| penalised(logit, count, penalty));
    }

    pub fn update_listed(&mut self, lists: [&[u32]; 2], mut change: impl FnMut(f32, bool) -> f32) {
        let first: BTreeSet<u32> = lists[0].iter().copied().collect();
        let mut all: BTreeMap<u32, bool> = lists[1].iter().map(|&id| (id, true)).collect();
        all.extend(first.into_iter().map(|id| (id, false)));
        let all: Vec<(u32, bool)> = all.into_iter().collect();
        self.update_all_but_leave_one(&all, |logit, &second_alone| change(logit, second_alone));
    }

    pub fn ban(&mut self, tokens: &[u32]) {
        self.ban_but(tokens, &[]);
    }

    pub fn ban_but(&mut self, tokens: &[u32], spared: &[u32]) {
        let banned: BTreeSet<u32> = tokens.iter().copied().filter(|id| !spared.contains(id)).collect();
        let banned: Vec<(u32, ())> = banned.into_iter().map(|id| (id, ())).collect();
        self.update_but_leave_one(&banned, |_, ()| f32::NEG_INFINITY);
    }
}
