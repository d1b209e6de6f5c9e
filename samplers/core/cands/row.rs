//! The memory of a set that is not written out, and the changes to its row.

use super::deferred::{Asked, LARGEST_LOGIT};
use super::parts::{Part, Parts};
use super::survey::{BLOCK, largest};
use super::view::{Map, View};
use crate::libm::max;

/// The memory of a set that is not written out.
#[derive(Debug, Clone, Default)]
pub(super) struct RowBuf {
    /// The changed logits, by rising id.
    pub patches: Vec<(u32, f32)>,
    /// Where patches and new ones are merged, and the blocks whose largest logit was changed.
    merged: Vec<(u32, f32)>,
    lowered: Vec<usize>,
    /// The largest logit of each block, patched.
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
        self.maps.clear();
        self.asked.clear();
    }

    /// Changes the logits of tokens, by rising id, and keeps the maxima. Whether quick forms still do: there is neither NaN nor
    /// too large a logit among the changed ones, and not -infinity alone.
    pub fn patch_all<V>(
        &mut self,
        logits: &[f32],
        tokens: &[(u32, V)],
        mut change: impl FnMut(f32, &V) -> f32,
    ) -> bool {
        let Self { patches, merged, maxima, lowered, .. } = self;
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
            let logit = old.next_if(|patch| patch.0 == *id).map_or(logits[*id as usize], |patch| patch.1);
            let changed = change(logit, value);
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
            let block = self.lowered[i];
            let mut copy = [0.0; BLOCK];
            let maximum = self.view(logits, false).block(block, &mut copy).iter().copied().fold(f32::NEG_INFINITY, max);
            self.maxima[block] = maximum;
        }
        is_plain && !(masks && largest(&self.maxima) == f32::NEG_INFINITY)
    }

    /// The row with all that was done to its logits, or all but the last.
    pub fn view<'v>(&'v self, logits: &'v [f32], but_last: bool) -> View<'v> {
        let Self { patches, maps, maxima, .. } = self;
        View { logits, patches, maps: &maps[..maps.len() - usize::from(but_last)], maxima }
    }
}
