//! The set as it begins: the caller's logits with a short list of changed ones beside them. It is read in blocks, so that most
//! of a row is passed over with one comparison a block.

use super::Cand;
use super::order::{Scratch, before, bucket_sort};
use super::weigh::largest;
use crate::libstdcxx::Best;

/// Enough for a vector loop, few enough that one good logit does not cost much.
const BLOCK: usize = 64;
/// A bucket is 0.15625 wide; what is further below a logit than this is in a lower one.
const BUCKET: f32 = 0.17;
/// From here on an `int` overflows in the bucket's index, and the order of the buckets is not that of the logits.
const TOO_LARGE: f32 = 3.0e8;

/// Logits in the order of their ids, some of them changed.
#[derive(Clone, Copy)]
pub(super) struct View<'v> {
    pub logits: &'v [f32],
    /// By rising id.
    pub patches: &'v [(u32, f32)],
}

impl<'v> View<'v> {
    /// The logit of a token.
    pub fn get(&self, i: usize) -> f32 {
        match self.patches.binary_search_by_key(&(i as u32), |patch| patch.0) {
            Ok(at) => self.patches[at].1,
            Err(_) => self.logits[i],
        }
    }

    /// All logits, one by one.
    pub fn iter(self) -> impl Iterator<Item = f32> + Clone + 'v {
        let mut patches = self.patches;
        self.logits.iter().zip(0u32..).map(move |(&logit, i)| match patches.split_first() {
            Some((&(id, patched), rest)) if id == i => {
                patches = rest;
                patched
            }
            _ => logit,
        })
    }

    /// Shows the logits block by block, beginning with a token, each block with its first one's id.
    fn blocks(&self, from: usize, mut visit: impl FnMut(usize, &[f32])) {
        let mut patches = &self.patches[self.patches.partition_point(|(id, _)| (*id as usize) < from)..];
        let mut patched = [0.0; BLOCK];
        for (block, start) in self.logits[from..].chunks(BLOCK).zip((from..).step_by(BLOCK)) {
            let end = start + block.len();
            let n = patches.iter().take_while(|(id, _)| (*id as usize) < end).count();
            if n == 0 {
                visit(start, block);
                continue;
            }
            let copy = &mut patched[..block.len()];
            copy.copy_from_slice(block);
            for (id, logit) in &patches[..n] {
                copy[*id as usize - start] = *logit;
            }
            patches = &patches[n..];
            visit(start, copy);
        }
    }

    /// Shows every candidate, beginning with a token, whose logit is at least, or above, a bound that may rise on the way.
    fn over(&self, from: usize, mut bound: f32, strict: bool, mut take: impl FnMut(Cand) -> f32) {
        self.blocks(from, |start, block| {
            let best = largest(block, f32::NEG_INFINITY, |logit| *logit);
            if if strict { best <= bound } else { best < bound } {
                return;
            }
            for (&logit, id) in block.iter().zip(start as u32..) {
                if if strict { logit > bound } else { logit >= bound } {
                    bound = take(Cand { id, logit, p: 0.0 });
                }
            }
        });
    }

    /// The largest logit, not below `at_least`.
    pub fn max(&self, at_least: f32) -> f32 {
        let mut max = at_least;
        self.blocks(0, |_, block| max = largest(block, max, |logit| *logit));
        max
    }

    /// What `std::partial_sort` leaves in its first `k` places, 1 or more: its heap's root only rises, so what does not beat
    /// it can be passed over.
    pub fn best(&self, k: usize, memory: Vec<Cand>) -> Vec<Cand> {
        let mut best = Best::new(k.min(self.logits.len()), memory, before);
        let head = k.min(self.logits.len());
        for id in 0..head {
            best.offer(Cand { id: id as u32, logit: self.get(id), p: 0.0 });
        }
        let bound = best.worst().map_or(f32::NEG_INFINITY, |worst| worst.logit);
        self.over(head, bound, true, |cand| {
            best.offer(cand);
            best.worst().map_or(f32::NEG_INFINITY, |worst| worst.logit)
        });
        best.into_sorted()
    }

    /// The first `k` of llama.cpp's bucket sort in `scratch.sorted`. Whether it could be done without the whole set.
    pub fn bucket_best(&self, k: usize, cands: &mut Vec<Cand>, scratch: &mut Scratch) -> bool {
        *cands = self.best(k, std::mem::take(cands));
        let (Some(first), Some(last)) = (cands.first(), cands.last()) else { return false };
        // Below the second bucket's beginning everything falls into the lowest, and a NaN among the first k hides the others.
        if first.logit > TOO_LARGE || !cands.iter().all(|cand| cand.logit >= -9.5) {
            return false;
        }
        let bound = last.logit.min(10.0) - BUCKET;
        self.above(bound, cands);
        bucket_sort(cands, k, scratch);
        true
    }

    /// Every candidate whose logit is at least `bound`, in order.
    pub fn above(&self, bound: f32, cands: &mut Vec<Cand>) {
        cands.clear();
        self.over(0, bound, false, |cand| {
            cands.push(cand);
            bound
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patches_are_seen_everywhere() {
        let logits: Vec<f32> = (0..200).map(|i| i as f32).collect();
        let patches = [(0, 500.0), (63, -1.0), (64, -2.0), (199, 0.5)];
        let view = View { logits: &logits, patches: &patches };
        let mut plain = logits.clone();
        patches.iter().for_each(|&(id, logit)| plain[id as usize] = logit);
        assert!(view.iter().eq(plain.iter().copied()));
        assert!((0..200).all(|i| view.get(i) == plain[i]));
        for from in [0, 1, 63, 64, 65, 199, 200] {
            let mut seen = plain[..from].to_vec();
            view.blocks(from, |start, block| {
                assert_eq!(start, seen.len());
                seen.extend_from_slice(block);
            });
            assert_eq!(seen, plain);
        }
        assert_eq!(view.max(f32::MIN), 500.0);
    }
}
