//! The set as it begins: the caller's logits, a short list of changed ones beside them, and what has been done to all of them
//! since. It is read in blocks, so that most of a row is passed over with one comparison a block.

use fearless_simd::{ExtractToken, Select, Simd, SimdBase, SimdFloat, SimdMask, f32x16};

use super::Cand;
use super::changes::Changes;
use super::order::before;
use super::survey::{BLOCK, LANES, largest, parts};
use crate::libm::{Kernel, in_lanes};
use crate::libstdcxx::Best;

/// What was done to every logit of a row. It keeps their order, but for those that become equal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Map {
    /// Divided by a temperature above 0.
    Divide(f32),
    /// Made -infinity where it was below.
    Mask(f32),
}

impl Map {
    #[inline(always)]
    fn apply(self, x: f32) -> f32 {
        match self {
            Self::Divide(by) => x / by,
            Self::Mask(below) if x < below => f32::NEG_INFINITY,
            Self::Mask(_) => x,
        }
    }

    /// The lowest number that becomes `bound` or more.
    fn undo(self, bound: f32) -> f32 {
        match self {
            // No logit is so large that it becomes infinite, and none is so low that it is less.
            _ if bound.is_infinite() => bound,
            Self::Divide(by) => {
                let mut x = bound * by;
                while x.next_down() / by >= bound && x > f32::NEG_INFINITY {
                    x = x.next_down();
                }
                while x / by < bound {
                    x = x.next_up();
                }
                x
            }
            Self::Mask(_) if bound.is_nan() => bound,
            Self::Mask(below) => bound.max(below),
        }
    }
}

/// Logits that follow each other.
pub(super) struct Block<'b> {
    pub index: usize,
    /// Behind the last ones of a short block stands -infinity.
    pub logits: &'b [f32; BLOCK],
    /// How many there are.
    pub len: usize,
    pub maximum: f32,
}

/// Logits in the order of their ids.
#[derive(Clone, Copy)]
pub(super) struct View<'v> {
    pub logits: &'v [f32],
    /// The changed ones.
    pub changes: Changes<'v>,
    /// What was done to all, then.
    pub maps: &'v [Map],
    /// No less than the largest logit of each block, changed, before the maps. The largest of all is exact.
    pub maxima: &'v [f32],
}

impl<'v> View<'v> {
    #[inline(always)]
    pub fn map(&self, mut logit: f32) -> f32 {
        for map in self.maps {
            logit = map.apply(logit);
        }
        logit
    }

    /// The lowest logit, before it is mapped, that becomes `bound` or more.
    pub fn unmap(&self, bound: f32) -> f32 {
        self.maps.iter().rev().fold(bound, |bound, map| map.undo(bound))
    }

    /// The logit of a token.
    pub fn get(&self, i: usize) -> f32 {
        self.map(self.changes.get(i as u32, self.logits[i]))
    }

    /// All logits, one by one.
    pub fn iter(self) -> impl Iterator<Item = f32> + 'v {
        let mut changes = self.changes;
        self.logits.iter().zip(0..).map(move |(&logit, id)| self.map(changes.next(id, logit)))
    }

    /// How far logits are above `max_logit` once they are mapped, nearly: quotients are products with the inverse, and not rounded.
    #[inline(always)]
    pub fn map_near_less<S: Simd>(&self, mut logits: f32x16<S>, max_logit: f32) -> f32x16<S> {
        if let [Map::Divide(by)] = *self.maps {
            return logits.mul_add(1.0 / by, -max_logit);
        }
        for map in self.maps {
            logits = match *map {
                Map::Divide(by) => logits * (1.0 / by),
                Map::Mask(below) => {
                    let masked = f32x16::splat(logits.token(), f32::NEG_INFINITY);
                    logits.simd_lt(below).select(masked, logits)
                }
            };
        }
        logits - max_logit
    }

    /// Shows all logits block by block, patched, not yet mapped. Inside a kernel this is vector code.
    #[inline(always)]
    pub fn blocks(&self, visit: impl FnMut(Block<'_>)) {
        self.blocks_above(f32::NEG_INFINITY, visit);
    }

    /// The same for the blocks with a logit of `lowest` or more, before it is mapped.
    #[inline(always)]
    pub fn blocks_above(&self, lowest: f32, mut visit: impl FnMut(Block<'_>)) {
        let mut changes = self.changes;
        let mut copy = [f32::NEG_INFINITY; BLOCK];
        let (whole, rest) = self.logits.as_chunks::<BLOCK>();
        for (index, &maximum) in self.maxima.iter().enumerate() {
            if maximum < lowest {
                continue;
            }
            let start = index * BLOCK;
            changes.skip_to(start);
            let (logits, len) = match whole.get(index) {
                Some(block) if !changes.begin_before(start + BLOCK) => (block, BLOCK),
                Some(block) => {
                    copy = *block;
                    changes.write(&mut copy, start);
                    (&copy, BLOCK)
                }
                None => {
                    copy[..rest.len()].copy_from_slice(rest);
                    changes.write(&mut copy[..rest.len()], start);
                    copy[rest.len()..].fill(f32::NEG_INFINITY);
                    (&copy, rest.len())
                }
            };
            visit(Block { index, logits, len, maximum });
        }
    }

    /// Shows the blocks that may have a logit of `bound` or more, each with the id of its first token. The bound may rise on the
    /// way: `visit` says what it is then.
    pub fn blocks_from(&self, bound: f32, mut visit: impl FnMut(u32, &[f32]) -> f32) {
        let (mut bound, mut lowest) = (bound, self.unmap(bound));
        let mut copy = [0.0; BLOCK];
        for (b, maximum) in self.maxima.iter().enumerate() {
            if *maximum >= lowest {
                let risen = visit((b * BLOCK) as u32, self.block(b, &mut copy));
                if risen > bound {
                    (bound, lowest) = (risen, self.unmap(risen));
                }
            }
        }
    }

    /// The logits of a block, in place or changed in `copy`.
    pub fn block<'b>(&'b self, b: usize, copy: &'b mut [f32; BLOCK]) -> &'b [f32] {
        let start = b * BLOCK;
        let end = self.logits.len().min(start + BLOCK);
        let changes = self.changes_from(start);
        if self.maps.is_empty() && !changes.begin_before(end) {
            return &self.logits[start..end];
        }
        let copy = &mut copy[..end - start];
        copy.copy_from_slice(&self.logits[start..end]);
        changes.write(copy, start);
        copy.iter_mut().for_each(|x| *x = self.map(*x));
        copy
    }

    /// Copies a block, patched, not yet mapped, and gives the number of its logits. Behind them stands -infinity.
    #[inline(always)]
    fn padded_block(&self, b: usize, copy: &mut [f32; BLOCK]) -> usize {
        let start = b * BLOCK;
        let n = BLOCK.min(self.logits.len() - start);
        copy[n..].fill(f32::NEG_INFINITY);
        copy[..n].copy_from_slice(&self.logits[start..start + n]);
        self.changes_from(start).write(&mut copy[..n], start);
        n
    }

    fn changes_from(&self, start: usize) -> Changes<'v> {
        let mut changes = self.changes;
        changes.skip_to(start);
        changes
    }

    /// The largest logit.
    pub fn max(&self) -> f32 {
        self.map(largest(self.maxima))
    }

    /// The same with the sign of the first where it is a zero.
    pub fn first_max(&self) -> f32 {
        match self.max() {
            0.0 => self.get(self.argmax()),
            max => max,
        }
    }

    /// The first place of the largest logit.
    pub fn argmax(&self) -> usize {
        let (max, mut best) = (self.max(), None);
        self.blocks_from(max, |first, block| {
            if best.is_none() {
                best = block.iter().position(|&x| x == max).map(|at| first as usize + at);
            }
            max
        });
        best.unwrap_or_default()
    }

    /// Every candidate whose logit is at least `bound`, in order.
    pub fn above(&self, bound: f32, cands: &mut Vec<Cand>) {
        cands.clear();
        in_lanes(Passing { view: self, lowest: bound, take: |id, logit| cands.push(Cand { id, logit, p: 0.0 }) });
    }

    /// The logits from `lowest` up, but below `cut`.
    pub fn logits_between(&self, lowest: f32, cut: f32, found: &mut Vec<f32>) {
        found.clear();
        in_lanes(Passing {
            view: self,
            lowest,
            take: |_, logit| {
                if logit < cut {
                    found.push(logit);
                }
            },
        });
    }

    /// What `std::partial_sort` leaves in its first `k` places, 1 or more: its heap's root only rises, so what does not beat
    /// it can be passed over.
    pub fn best(&self, k: usize, memory: Vec<Cand>) -> Vec<Cand> {
        let mut best = Best::new(k.min(self.logits.len()), memory, before);
        self.blocks_from(f32::NEG_INFINITY, |first, block| {
            for (&logit, id) in block.iter().zip(first..) {
                best.offer(Cand { id, logit, p: 0.0 });
            }
            best.worst().map_or(f32::NEG_INFINITY, |worst| worst.logit)
        });
        best.into_sorted()
    }
}

/// Shows every logit that is at least `lowest`, in order, with its id.
struct Passing<'v, F> {
    view: &'v View<'v>,
    lowest: f32,
    take: F,
}

impl<F: FnMut(u32, f32)> Kernel for Passing<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(mut self, simd: S) {
        let lowest = self.view.unmap(self.lowest);
        let mut copy = [0.0; BLOCK];
        for (maxima, first) in self.view.maxima.chunks(LANES).zip((0..).step_by(LANES)) {
            let mut few = [f32::NAN; LANES];
            few[..maxima.len()].copy_from_slice(maxima);
            let mut passing = f32x16::load_array(simd, few).simd_ge(lowest).to_bitmask();
            while passing != 0 {
                let b = first + passing.trailing_zeros() as usize;
                passing &= passing - 1;
                self.block(simd, b, lowest, &mut copy);
            }
        }
    }
}

impl<F: FnMut(u32, f32)> Passing<'_, F> {
    #[inline(always)]
    fn block<S: Simd>(&mut self, simd: S, b: usize, lowest: f32, copy: &mut [f32; BLOCK]) {
        let n = self.view.padded_block(b, copy);
        for (part, first) in parts(simd, copy).into_iter().zip((0..n).step_by(LANES)) {
            let mut passing = part.simd_ge(lowest).to_bitmask();
            while passing != 0 {
                let at = first + passing.trailing_zeros() as usize;
                passing &= passing - 1;
                if at < n {
                    (self.take)((b * BLOCK + at) as u32, self.view.map(copy[at]));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::changes::Penalty;
    use super::super::survey::survey;
    use super::*;

    #[test]
    fn changes_and_maps_are_seen_everywhere() {
        let logits: Vec<f32> = (0..200).map(|i| i as f32).collect();
        let penalty = Penalty { repeat: 2.0, freq: 0.25, present: 1.0 };
        let changes = Changes {
            patches: &[(0, 500.0), (63, -1.0), (64, -2.0), (199, 0.5)],
            counts: &[(3, 1), (64, 9), (65, 2), (130, 1), (198, 7)],
            penalty,
        };
        let mut patched = logits.clone();
        changes.counts.iter().for_each(|&(id, count)| patched[id as usize] = penalty.of(id as f32, count));
        changes.patches.iter().for_each(|&(id, logit)| patched[id as usize] = logit);
        let mut maxima = Vec::new();
        survey(&logits, &mut maxima);
        maxima[0] = 500.0;
        for maps in [
            vec![],
            vec![Map::Divide(0.7)],
            vec![Map::Mask(63.5), Map::Divide(1.3)],
            vec![Map::Divide(3.0), Map::Mask(20.0)],
        ] {
            let view = View { logits: &logits, changes, maps: &maps, maxima: &maxima };
            let plain: Vec<f32> = patched.iter().map(|&x| maps.iter().fold(x, |x, map| map.apply(x))).collect();
            assert!(view.iter().eq(plain.iter().copied()));
            assert!((0..200).all(|i| view.get(i) == plain[i]));
            let mut seen = Vec::new();
            view.blocks(|Block { logits, len, .. }| {
                assert!(logits[len..].iter().all(|&x| x == f32::NEG_INFINITY));
                seen.extend_from_slice(&logits[..len]);
            });
            assert_eq!(seen, patched);
            assert_eq!((view.max(), view.argmax()), (plain[0], 0));
            let bounds = plain.iter().flat_map(|&x| [x, x.next_up(), x.next_down()]);
            for bound in bounds.chain([f32::NEG_INFINITY, f32::INFINITY, f32::MIN, f32::NAN]) {
                let mut above = Vec::new();
                view.above(bound, &mut above);
                let ids = (0..200u32).filter(|&i| plain[i as usize] >= bound);
                assert!(above.iter().map(|cand| cand.id).eq(ids), "{bound} {maps:?}");
            }
        }
    }
}
