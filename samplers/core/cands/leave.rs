//! Changes that leave something: no candidate rises above f32, and where all would fall below it, the most likely one keeps its
//! logit.

use super::{CandSet, Penalty};

/// What would rise above the largest number is held there.
fn held(before: f32, after: f32) -> f32 {
    if after == f32::INFINITY && before < f32::INFINITY { f32::MAX } else { after }
}

impl CandSet<'_> {
    /// Changes logits as [`update_all`](Self::update_all) does, but a number that would become +infinity becomes `f32::MAX`, and where
    /// nothing would be left above -infinity, the most likely candidate keeps its logit, of several the first.
    pub fn update_all_but_leave_one<V>(&mut self, tokens: &[(u32, V)], mut change: impl FnMut(f32, &V) -> f32) {
        // Where nothing is left, the most likely is the most likely of those that were lost just now.
        let mut lost: Option<(u32, f32)> = None;
        self.update_each(tokens, |id, before, value| {
            let after = held(before, change(before, value));
            let best = lost.map_or(f32::NEG_INFINITY, |(_, best)| best);
            if after == f32::NEG_INFINITY && before > best {
                lost = Some((id, before));
            }
            after
        });
        if let Some((id, logit)) = lost.filter(|_| self.max_logit() == f32::NEG_INFINITY) {
            self.update(id, |_| logit);
        }
    }

    /// The same, unless there are no tokens: then `sorted` stays, too.
    pub fn update_but_leave_one<V>(&mut self, tokens: &[(u32, V)], change: impl FnMut(f32, &V) -> f32) {
        if !tokens.is_empty() {
            self.update_all_but_leave_one(tokens, change);
        }
    }

    /// Penalises as [`penalise`](Self::penalise) does, and leaves one as [`update_all_but_leave_one`](Self::update_all_but_leave_one).
    pub fn penalise_but_leave_one(&mut self, counts: &[(u32, u32)], penalty: Penalty) {
        // Nothing that is lowered falls below the best one, which stays a number.
        let stays = self.is_fresh_row() && penalty.freq == 0.0 && penalty.of(self.view().max(), 1) > f32::NEG_INFINITY;
        if !stays || !self.defer_penalty(counts, penalty) {
            self.update_all_but_leave_one(counts, |logit, &count| penalty.of(logit, count));
        }
    }

    /// Changes the logit of every candidate that one of two lists has, in whatever order they have it and however often, and marks
    /// the set unsorted, even where nothing changed. `change` is told whether the second alone has it. Leaves
    /// one as [`update_all_but_leave_one`](Self::update_all_but_leave_one).
    pub fn update_listed(&mut self, lists: [&[u32]; 2], mut change: impl FnMut(f32, bool) -> f32) {
        let mut listed = std::mem::take(&mut self.buf.listed);
        self.update_all_but_leave_one(listed.of(lists), |logit, &is_second| change(logit, is_second));
        self.buf.listed = listed;
    }

    /// Sets the logits of tokens to -infinity, in whatever order they come and however often. Where that leaves nothing above it,
    /// the most likely candidate keeps its logit. Marks the set unsorted, but for no tokens.
    pub fn ban(&mut self, tokens: &[u32]) {
        self.ban_but(tokens, &[]);
    }

    /// The same without those that `spared` lists, too.
    pub fn ban_but(&mut self, tokens: &[u32], spared: &[u32]) {
        let mut listed = std::mem::take(&mut self.buf.listed);
        self.update_but_leave_one(listed.without(tokens, spared), |_, _| f32::NEG_INFINITY);
        self.buf.listed = listed;
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Cand, CandBuf};
    use super::*;

    const NONE: f32 = f32::NEG_INFINITY;

    fn logits_by_id(cands: &mut CandSet<'_>) -> Vec<f32> {
        let mut all = cands.as_slice().to_vec();
        all.sort_by_key(|c| c.id);
        all.iter().map(|c| c.logit).collect()
    }

    #[test]
    fn one_is_left() {
        let mut buf = CandBuf::default();
        let mut cands = CandSet::new(&[1.0, 4.0, 4.0], &mut buf);
        cands.sort();
        cands.update_but_leave_one(&[] as &[(u32, f32)], |_, _| NONE);
        assert!(cands.is_sorted());
        cands.update_but_leave_one(&[(0, 1.5), (1, NONE)], |logit, by| logit + by);
        assert_eq!((cands.is_sorted(), cands.argmax().and_then(|best| cands.get(best)).unwrap().id), (false, 2));
        cands.update_but_leave_one(&[(0, ()), (1, ()), (2, ())], |_, ()| NONE);
        cands.sort();
        assert_eq!(logits_by_id(&mut cands), [NONE, NONE, 4.0]);
        cands.update_but_leave_one(&[(2, 1.0)], |logit, by| logit + by);
        assert_eq!(cands.max_logit(), 5.0);
    }

    #[test]
    fn a_ban_of_all_leaves_the_first_of_the_largest() {
        let none = NONE;
        let row: Vec<f32> = (0..900).map(|i| (i % 300) as f32).collect();
        let lone = |id: u32| (0..900).map(|i| if i == id { 299.0 } else { none }).collect::<Vec<f32>>();
        for (logits, banned, expected) in [
            (vec![1.0, 3.0, 2.0], vec![1, 1, 7], vec![1.0, none, 2.0]),
            (vec![1.0, 3.0, 3.0], vec![2, 0, 1, 2], vec![none, 3.0, none]),
            (vec![none, 3.0], vec![1], vec![none, 3.0]),
            (vec![none, none], vec![1, 0], vec![none, none]),
            (vec![], vec![1], vec![]),
            (row.clone(), (0..900).rev().collect(), lone(299)),
            (lone(7), vec![7], lone(7)),
        ] {
            for is_row in [true, false] {
                let (mut buf, cands) = (CandBuf::default(), logits.iter().zip(0..));
                let cands: Vec<Cand> = cands.map(|(&logit, id)| Cand { id, logit, p: 0.0 }).collect();
                let mut cands =
                    if is_row { CandSet::new(&logits, &mut buf) } else { CandSet::from_cands(&cands, false, &mut buf) };
                cands.ban(&banned);
                assert_eq!(logits_by_id(&mut cands), expected, "{is_row}");
            }
        }
        let mut buf = CandBuf::default();
        let mut cands = CandSet::new(&[1.0, 3.0], &mut buf);
        cands.sort();
        cands.ban(&[]);
        assert!(cands.is_sorted());
        cands.ban(&[9]);
        assert!(!cands.is_sorted());
    }

    #[test]
    fn numbers_stay_numbers_upwards() {
        let mut buf = CandBuf::default();
        let mut cands = CandSet::new(&[1.0, 3e38, -1.0, f32::INFINITY], &mut buf);
        cands
            .update_listed([&[3, 1], &[0, 1, 2]], |logit, is_second| if is_second { logit + 1.0 } else { logit * 9.0 });
        assert_eq!(logits_by_id(&mut cands), [2.0, f32::MAX, 0.0, f32::INFINITY]);
    }

    /// Each way to penalise all out of the running leaves the first of the best, in a row and in an array.
    #[test]
    fn a_penalty_leaves_one() {
        let long: Vec<f32> = (0..900).map(|i| -1.0 - (i % 300) as f32).collect();
        let all: Vec<(u32, u32)> = (0..900).map(|id| (id, 1)).collect();
        for (logits, penalty) in [
            (vec![-4.0f32, -2.0, -2.0], Penalty { repeat: 3e38, ..Penalty::default() }),
            (long.clone(), Penalty { repeat: 3e38, present: 3e38, freq: 0.0 }),
            (long, Penalty { freq: f32::MAX, present: f32::MAX, repeat: 1.0 }),
        ] {
            let best = logits.iter().copied().fold(NONE, f32::max);
            let first = logits.iter().position(|&logit| logit == best).unwrap();
            for sorted in [false, true] {
                let mut buf = CandBuf::default();
                let mut cands = CandSet::new(&logits, &mut buf);
                if sorted {
                    cands.sort();
                }
                cands.penalise_but_leave_one(&all, penalty);
                let left = logits_by_id(&mut cands);
                let is_best = |i: usize| if sorted { left[i] == best } else { i == first };
                assert!((0..left.len()).all(|i| left[i] == if is_best(i) { best } else { NONE }));
                assert_eq!(left.iter().filter(|&&logit| logit > NONE).count(), 1);
            }
        }
    }
}
