//! The best of a row, without the rest.
//!
//! llama.cpp's algorithms leave unequal logits in one order only. So the best are gathered and sorted anyhow; only where two
//! are equal does the algorithm that llama.cpp would use decide, over what it would look at.

use super::order::{Last, N_BUCKETS, Scratch, bucket, bucket_sort};
use super::survey::reached_by;
use super::view::View;
use super::{Cand, HEAP_MAX};
use crate::libstdcxx::{keyed, payload, risen, rising};

/// Of a larger share of a row than this the best are not looked for: all are sorted.
pub(super) const LARGEST_SHARE: usize = 4;

/// From here on an `int` overflows in the bucket's index, and the order of the buckets is not that of the logits.
const TOO_LARGE: f32 = 3.0e8;

/// Which sort the best are the first of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Of {
    /// llama.cpp's partial sort for the `n` best.
    Partial,
    /// That for all.
    Full,
}

impl View<'_> {
    /// Writes the `n` best, 1 or more, in the order of llama.cpp's sort, to `cands`; of a full sort perhaps some more, and
    /// all that equal the last one. Whether that could be done from a part of the row.
    pub fn head(&self, n: usize, of: Of, cands: &mut Vec<Cand>, scratch: &mut Scratch) -> bool {
        if n == 0 || n > self.logits.len() / LARGEST_SHARE {
            return false;
        }
        if (of == Of::Full || n > HEAP_MAX) && self.max() > TOO_LARGE {
            return false;
        }
        self.gather(n, cands, scratch);
        let keys = &mut scratch.keys;
        keys.clear();
        keys.extend(cands.iter().zip(0..).map(|(cand, place)| keyed(!rising(cand.logit), place)));
        keys.sort_unstable();
        let n_compared = if of == Of::Full { keys.len() } else { keys.len().min(n + 1) };
        if keys[..n_compared].is_sorted_by(|a, b| a >> 32 < b >> 32) {
            scratch.sorted.clear();
            scratch.sorted.extend(keys[..n_compared.max(n)].iter().map(|&key| cands[payload(key) as usize]));
        } else if !self.equals_decided(n, of, cands, scratch) {
            return false;
        }
        std::mem::swap(cands, &mut scratch.sorted);
        if of == Of::Partial {
            cands.truncate(n);
        }
        true
    }

    /// The same where equals are among the best, by llama.cpp's own algorithms; to `scratch.sorted`.
    fn equals_decided(&self, n: usize, of: Of, cands: &mut Vec<Cand>, scratch: &mut Scratch) -> bool {
        if of == Of::Partial && n <= HEAP_MAX {
            scratch.sorted = self.best(n, std::mem::take(&mut scratch.sorted));
            return true;
        }
        let lowest = cands.iter().map(|cand| bucket(cand.logit)).min().unwrap_or_default();
        if lowest == 0 {
            return false;
        }
        // What is in that bucket or above it, and a little more.
        self.above((f32::from(lowest) - 64.0) / 6.4 - 0.01, cands);
        cands.retain(|cand| bucket(cand.logit) >= lowest);
        match of {
            Of::Partial => bucket_sort(cands, n, Last::Partial, scratch),
            Of::Full if cands.len() < self.logits.len() => bucket_sort(cands, cands.len(), Last::Full, scratch),
            Of::Full => bucket_sort(cands, cands.len(), Last::Partial, scratch),
        }
        true
    }

    /// Every candidate down to a logit that at least `n` reach, in order.
    fn gather(&self, n: usize, cands: &mut Vec<Cand>, scratch: &mut Scratch) {
        let mut aim = n;
        loop {
            self.above(self.reached_by(aim, &mut scratch.sample), cands);
            if cands.len() >= n {
                return;
            }
            aim *= 2;
        }
    }

    /// A logit that about `n` reach: some more, or, if these are many, perhaps less.
    pub fn reached_by(&self, n: usize, sample: &mut Vec<u32>) -> f32 {
        let n_blocks = self.maxima.len();
        if n <= n_blocks / 2 {
            // At least `n` blocks have a logit as large as the n-th largest maximum.
            return self.map(reached_by(n, self.maxima));
        }
        const SAMPLE: usize = 4096;
        let step = self.logits.len().div_ceil(SAMPLE);
        sample.clear();
        sample.extend((0..self.logits.len()).step_by(step).map(|i| rising(self.get(i))));
        let rank = n / step + n / step / 8 + 16;
        if rank >= sample.len() {
            return f32::NEG_INFINITY;
        }
        risen(*sample.select_nth_unstable_by(rank, |a, b| b.cmp(a)).1)
    }
}

const _: () = assert!(N_BUCKETS == 128, "`equals_decided` knows how wide a bucket is");
