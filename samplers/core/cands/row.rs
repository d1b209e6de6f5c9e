//! The memory of a set that is not written out, and the changes to its row.

use super::changes::{Changes, Penalty};
use super::deferred::{Asked, LARGEST_LOGIT};
use super::parts::{Part, Parts};
use super::survey::{BLOCK, largest, reached_by};
use super::view::{Map, View};
use crate::libm::max;

/// So many of the largest maxima are exact after penalties, if not more: about as many blocks are looked at for a default chain.
/// The twins' rows are short.
const N_EXACT: usize = if cfg!(test) { 2 } else { 64 };

/// The memory of a set that is not written out.
#[derive(Debug, Clone, Default)]
pub(super) struct RowBuf {
    /// The changed logits, by rising id.
    pub patches: Vec<(u32, f32)>,
    /// Where patches and new ones are merged, and the blocks whose largest logit was changed.
    merged: Vec<(u32, f32)>,
    lowered: Vec<usize>,
    /// How often tokens occur that are penalised when somebody looks at them.
    counts: Vec<(u32, u32)>,
    penalty: Penalty,
    /// No less than the largest logit of each block, changed. The largest of all is exact.
    pub maxima: Vec<f32>,
    pub maps: Vec<Map>,
    pub asked: Vec<Asked>,
    pub parts: Parts,
    /// What is left of a sorted set that was cut, besides its best.
    pub others: Part,
    /// Sums of blocks.
    pub masses: Vec<f64>,
}

impl RowBuf {
    pub fn clear(&mut self) {
        self.patches.clear();
        self.counts.clear();
        self.maps.clear();
        self.asked.clear();
    }

    /// Changes the logits of tokens, by rising id, and keeps the maxima. Whether quick forms still do: there is neither NaN nor
    /// too large a logit among the changed ones, and not -infinity alone.
    pub fn patch_all<V>(
        &mut self,
        logits: &[f32],
        tokens: &[(u32, V)],
        mut change: impl FnMut(u32, f32, &V) -> f32,
    ) -> bool {
        let Self { patches, merged, counts, maxima, lowered, .. } = self;
        let was_largest = if counts.is_empty() { f32::NEG_INFINITY } else { largest(maxima) };
        let unpatched = Changes { patches: &[], counts, penalty: self.penalty };
        let (mut is_plain, mut masks) = (true, false);
        merged.clear();
        merged.reserve((patches.len() + tokens.len()).next_power_of_two().max(256));
        lowered.clear();
        lowered.reserve(64);
        let mut old = patches.iter().copied().peekable();
        for (id, value) in tokens {
            while let Some(patch) = old.next_if(|patch| patch.0 < *id) {
                merged.push(patch);
            }
            let logit = match old.next_if(|patch| patch.0 == *id) {
                Some(patch) => patch.1,
                None => unpatched.get(*id, logits[*id as usize]),
            };
            let changed = change(*id, logit, value);
            merged.push((*id, changed));
            is_plain &= changed <= LARGEST_LOGIT;
            masks |= changed == f32::NEG_INFINITY;
            let block = *id as usize / BLOCK;
            if changed > maxima[block] {
                maxima[block] = changed;
            } else if logit >= maxima[block] && lowered.last() != Some(&block) {
                lowered.push(block);
            }
        }
        merged.extend(old);
        std::mem::swap(patches, merged);
        for i in 0..self.lowered.len() {
            self.look_at(self.lowered[i], logits);
        }
        if !self.counts.is_empty() && largest(&self.maxima) < was_largest {
            self.make_largest_exact(logits);
        }
        is_plain && !(masks && largest(&self.maxima) == f32::NEG_INFINITY)
    }

    /// Lowers the logits of tokens that occur, by rising id, once somebody looks at them. Whether that is possible: nothing waits
    /// already, and no logit rises.
    pub fn penalise(&mut self, logits: &[f32], counts: &[(u32, u32)], penalty: Penalty) -> bool {
        if !self.counts.is_empty() || !penalty.only_lowers() {
            return false;
        }
        for (id, patched) in &mut self.patches {
            if let Ok(at) = counts.binary_search_by_key(id, |count| count.0) {
                *patched = penalty.of(*patched, counts[at].1);
            }
        }
        self.counts.reserve(counts.len().next_power_of_two().max(256));
        self.counts.extend_from_slice(counts);
        self.penalty = penalty;
        self.make_largest_exact(logits);
        true
    }

    /// Makes the largest maximum exact, and some more.
    fn make_largest_exact(&mut self, logits: &[f32]) {
        loop {
            let bound = reached_by(N_EXACT.min(self.maxima.len()), &self.maxima);
            for block in 0..self.maxima.len() {
                if self.maxima[block] >= bound {
                    self.look_at(block, logits);
                }
            }
            if largest(&self.maxima) >= bound {
                return;
            }
        }
    }

    /// Makes the maximum of a block exact.
    fn look_at(&mut self, block: usize, logits: &[f32]) {
        let mut copy = [0.0; BLOCK];
        let view = View { maps: &[], ..self.view(logits, false) };
        let maximum = view.block(block, &mut copy).iter().copied().fold(f32::NEG_INFINITY, max);
        self.maxima[block] = maximum;
    }

    /// What was changed.
    pub fn changes(&self) -> Changes<'_> {
        Changes { patches: &self.patches, counts: &self.counts, penalty: self.penalty }
    }

    /// The row with all that was done to its logits, or all but the last.
    pub fn view<'v>(&'v self, logits: &'v [f32], but_last: bool) -> View<'v> {
        let Self { maps, maxima, .. } = self;
        View { logits, changes: self.changes(), maps: &maps[..maps.len() - usize::from(but_last)], maxima }
    }
}
