//! The sum of a row's logits, which have signs.

use fearless_simd::{Simd, SimdBase, SimdMask, f32x16};

use super::survey::{BLOCK, parts};
use super::tally::Binade;
use super::view::{Block, View};
use crate::libm::Kernel;

/// Sums of logits for [`CandSet::spread`](super::CandSet::spread), which have signs.
pub(super) struct Signed<'v>(pub &'v View<'v>);

impl Kernel for Signed<'_> {
    /// The sum, and how many logits are not -infinity.
    type Output = (f32, usize);

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> (f32, usize) {
        let (mut sum, mut count) = (0.0f32, 0);
        self.0.blocks(
            #[inline(always)]
            |Block { logits: block, len: n, .. }| {
                count += n;
                sum = add_signed(simd, sum, block).unwrap_or_else(|| {
                    let mut finite = *block;
                    for x in finite[..n].iter_mut().filter(|x| **x == f32::NEG_INFINITY) {
                        (*x, count) = (0.0, count - 1);
                    }
                    finite[..n].iter().fold(sum, |sum, x| sum + x)
                });
            },
        );
        (sum, count)
    }
}

/// Adds finite logits to a sum, if it stays within its power of two all the way.
#[inline(always)]
fn add_signed<S: Simd>(simd: S, sum: f32, block: &[f32; BLOCK]) -> Option<f32> {
    let Binade { top, bottom, half } = Binade::of(sum.abs())?;
    // A term may have either sign.
    let shift = 1.5 * bottom;
    let zero = f32x16::splat(simd, 0.0);
    // Each lane gets four logits that follow each other.
    let [a, b, c, d] = parts(simd, block);
    let ((even_ab, odd_ab), (even_cd, odd_cd)) = (a.deinterleave(b), c.deinterleave(d));
    let ((a, c), (b, d)) = (even_ab.deinterleave(even_cd), odd_ab.deinterleave(odd_cd));
    let rounded = [(a + shift) - shift, (b + shift) - shift, (c + shift) - shift, (d + shift) - shift];
    // What has been added after each, in the lane; and before the lane.
    let first = rounded[0];
    let second = first + rounded[1];
    let third = second + rounded[2];
    let fourth = third + rounded[3];
    let mut lanes = fourth;
    lanes += zero.slide::<15>(lanes);
    lanes += zero.slide::<14>(lanes);
    lanes += zero.slide::<12>(lanes);
    lanes += zero.slide::<8>(lanes);
    let before = lanes - fourth + sum;
    let (mut farthest, mut nearest) = (before.abs(), before.abs());
    for after in [first, second, third, fourth] {
        let reached = (before + after).abs();
        farthest = farthest.max(reached);
        nearest = nearest.min(reached);
    }
    let largest = a.abs().max(b.abs()).max(c.abs().max(d.abs()));
    // Sums of 64 are exact then, and no term leaves the power of two of the shift. So many terms may lie half-way between two
    // multiples.
    let few = 256.0 * half;
    let stays = farthest.reduce_max() < top - few && nearest.reduce_min() > bottom + few;
    if !(stays && largest.reduce_max() < top / 4.0) {
        return None;
    }
    let off = [a - rounded[0], b - rounded[1], c - rounded[2], d - rounded[3]];
    let is_half = |i: usize| off[i].abs().simd_ge(half).to_bitmask();
    let is_half = [is_half(0), is_half(1), is_half(2), is_half(3)];
    let mut lanes_left = is_half[0] | is_half[1] | is_half[2] | is_half[3];
    let mut moved = sum + lanes[15];
    if lanes_left != 0 {
        // Such a term goes to the multiple that makes the sum even.
        let reached = [before, before + first, before + second, before + third];
        let mut more = 0.0;
        while lanes_left != 0 {
            let lane = lanes_left.trailing_zeros() as usize;
            lanes_left &= lanes_left - 1;
            for i in 0..4 {
                if is_half[i] >> lane & 1 == 1 && ((reached[i][lane] + more) / (2.0 * half)) as i64 % 2 != 0 {
                    more += 2.0 * off[i][lane];
                }
            }
        }
        moved += more;
    }
    Some(moved)
}
