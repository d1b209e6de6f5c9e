//! Sums over sorted logits that are not sorted.

use std::ops::Range;

use fearless_simd::{Simd, SimdBase, SimdMask, mask32x16};

use super::changes::Changes;
use super::survey::{BLOCK, LANES, parts, survey};
use super::tally::{Below, OneByOne};
use super::terms::Terms;
use super::view::{Block, View};
use crate::libm::{Kernel, in_lanes};
use crate::libstdcxx::{risen, rising};

/// So few are sorted and added one by one, where they cannot be added at once.
const FEW: usize = 1024;

/// The memory of a sum: a row's parts, halved again and again.
#[derive(Debug, Clone, Default)]
pub(super) struct Parts {
    /// Logits in falling order.
    pub best: Vec<f32>,
    sample: Vec<u32>,
    halves: Vec<Part>,
}

/// Some of a row's logits, not mapped, in order.
#[derive(Debug, Clone, Default)]
pub(super) struct Part {
    pub logits: Vec<f32>,
    /// The largest of each block.
    pub maxima: Vec<f32>,
}

impl Part {
    /// Finds those of a view in a range.
    fn find(&mut self, view: &View<'_>, lowest: f32, cut: f32) {
        let range = view.unmap(lowest)..view.unmap(cut);
        in_lanes(Unmapped { view, range, found: &mut self.logits });
        survey(&self.logits, &mut self.maxima);
    }
}

/// What a float loop over falling terms gives that has come to `sum` and goes on with those of all logits below `cut`.
///
/// Where they are too heavy to be added at once, or one of them is too particular, the upper half of them is added first,
/// and then the lower half, in the same way.
pub(super) fn add_sorted<T: Terms>(
    view: &View<'_>,
    terms: T,
    cut: f32,
    sum: f32,
    parts: &mut Parts,
    depth: usize,
) -> f32 {
    if let Some(sum) = in_lanes(Below { view, terms, cut, sum }) {
        return sum;
    }
    let middle = view.median_below(cut, &mut parts.sample);
    let Some(middle) = middle.filter(|&middle| view.logits.len() > FEW && middle > f32::NEG_INFINITY) else {
        parts.best.clear();
        // No more than there may be: growing would take twice that.
        parts.best.reserve_exact(view.logits.len());
        view.logits_between(f32::NEG_INFINITY, cut, &mut parts.best);
        parts.best.sort_unstable_by(|a, b| b.total_cmp(a));
        return in_lanes(OneByOne { logits: &parts.best, terms, sum });
    };
    if parts.halves.len() <= depth {
        parts.halves.push(Part::default());
    }
    let mut half = std::mem::take(&mut parts.halves[depth]);
    let mut sum = sum;
    for (lowest, cut) in [(middle, cut), (f32::NEG_INFINITY, middle)] {
        half.find(view, lowest, cut);
        let view = View { logits: &half.logits, changes: Changes::none(), maps: view.maps, maxima: &half.maxima };
        sum = add_sorted(&view, terms, cut, sum, parts, depth + 1);
    }
    parts.halves[depth] = half;
    sum
}

impl View<'_> {
    /// Finds the `k` best but for those from `cut` up, which are fewer.
    pub fn cut_to(&self, k: usize, cut: f32, others: &mut Part, sample: &mut Vec<u32>) {
        let mut aim = k;
        loop {
            let bound = self.reached_by(aim, sample);
            others.find(self, bound, f32::INFINITY);
            if others.logits.len() >= k {
                break;
            }
            aim *= 2;
        }
        sample.clear();
        // As many as there may ever be: this grows with every draw of mirostat.
        sample.reserve(self.logits.len());
        sample.extend(others.logits.iter().map(|&x| rising(x)));
        let lowest = risen(*sample.select_nth_unstable_by(k - 1, |a, b| b.cmp(a)).1);
        let (cut, mut n_equal) = (self.unmap(cut), k);
        others.logits.retain(|&x| {
            n_equal -= usize::from(x > lowest);
            x > lowest && x < cut
        });
        // Which of the equals at the end are kept is not known, and only that many are.
        others.logits.extend(std::iter::repeat_n(lowest, n_equal));
        survey(&others.logits, &mut others.maxima);
    }

    /// A logit that about half of those below `cut` reach, and not all of them; none if there is none.
    fn median_below(&self, cut: f32, sample: &mut Vec<u32>) -> Option<f32> {
        const SAMPLE: usize = 255;
        let step = self.logits.len().div_ceil(SAMPLE).max(1);
        sample.clear();
        let logits = (0..self.logits.len()).step_by(step).map(|i| self.get(i));
        sample.extend(logits.filter(|&x| x < cut).map(rising));
        let half = sample.len().checked_sub(1)? / 2;
        let median = risen(*sample.select_nth_unstable(half).1);
        // Were all below it equal to it, halves would not be smaller.
        let lowest = sample.iter().copied().min().map(risen)?;
        (median > lowest).then_some(median)
    }
}

/// Makes room for so many logits and what a vector writes behind them, and no more.
fn hold(found: &mut Vec<f32>, n: usize) {
    let n = n + BLOCK + LANES;
    found.reserve_exact(n.saturating_sub(found.len()));
    found.resize(n, 0.0);
}

/// Finds the logits in a range, all before they are mapped.
struct Unmapped<'v> {
    view: &'v View<'v>,
    range: Range<f32>,
    found: &'v mut Vec<f32>,
}

impl Kernel for Unmapped<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { view, range, found } = self;
        // Mostly it is about half of them.
        hold(found, (view.logits.len() / 16 * 9).max(BLOCK));
        let mut n = 0;
        view.blocks_above(
            range.start,
            #[inline(always)]
            |Block { logits, len, .. }| {
                if found.len() < n + BLOCK + LANES {
                    hold(found, view.logits.len());
                }
                for (logits, first) in parts(simd, logits).into_iter().zip((0..len).step_by(LANES)) {
                    let mut is_in = logits.simd_lt(range.end) & logits.simd_ge(range.start);
                    if first + LANES > len {
                        is_in &= mask32x16::from_bitmask(simd, (1 << (len - first)) - 1);
                    }
                    logits.compress(is_in).store_slice(&mut found[n..n + LANES]);
                    n += is_in.to_bitmask().count_ones() as usize;
                }
            },
        );
        found.truncate(n);
    }
}
