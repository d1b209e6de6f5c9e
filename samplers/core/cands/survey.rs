//! The first look at a row: the largest logit of each block, so that most of the row need not be looked at again, and
//! whether the row is one that the quick forms are made for.

use fearless_simd::{Simd, SimdBase, SimdMask, f32x16, mask32x16};

use crate::libm::{Kernel, in_lanes};
use crate::libstdcxx::{risen, rising};

/// So many logits have one maximum. Enough for a vector loop, few enough that one good logit does not cost much.
pub(super) const BLOCK: usize = 64;
/// How many lanes a loop is written for: the widest vectors have so many floats.
pub(super) const LANES: usize = 16;

/// Writes the largest logit of each block to `maxima`, and gives the largest of all; none where NaN or +infinity is among them, and
/// the maxima mean nothing.
pub(super) fn survey(logits: &[f32], maxima: &mut Vec<f32>) -> Option<f32> {
    maxima.clear();
    maxima.resize(logits.len().div_ceil(BLOCK), f32::NEG_INFINITY);
    let has_no_nan = in_lanes(Survey { logits, maxima }) || !logits.iter().any(|x| x.is_nan());
    Some(in_lanes(Largest(maxima))).filter(|&largest| has_no_nan && largest < f32::INFINITY)
}

/// The largest of the maxima of a row without NaN.
pub(super) fn largest(maxima: &[f32]) -> f32 {
    in_lanes(Largest(maxima))
}

/// A number that at least `n` of the maxima reach, 1 or more and no more than there are, and not many others.
pub(super) fn reached_by(n: usize, maxima: &[f32]) -> f32 {
    in_lanes(ReachedBy { n, maxima })
}

/// The parts of a block, in lanes.
#[inline(always)]
pub(super) fn parts<S: Simd>(simd: S, block: &[f32; BLOCK]) -> [f32x16<S>; BLOCK / LANES] {
    let (parts, _) = block.as_chunks::<LANES>();
    [0, 1, 2, 3].map(|i| f32x16::load_array(simd, parts[i]))
}

struct Survey<'s> {
    logits: &'s [f32],
    maxima: &'s mut [f32],
}

impl Kernel for Survey<'_> {
    /// Whether there is surely no NaN.
    type Output = bool;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> bool {
        let mut is_sound = mask32x16::splat(simd, true);
        let (blocks, rest) = self.logits.as_chunks::<BLOCK>();
        let mut last = [f32::NEG_INFINITY; BLOCK];
        last[..rest.len()].copy_from_slice(rest);
        for (b, maximum) in self.maxima.iter_mut().enumerate() {
            let [a, b, c, d] = parts(simd, blocks.get(b).unwrap_or(&last));
            // NaN makes the sum NaN; so do both infinities, and what overflows, which is looked at again.
            let sum = (a + b) + (c + d);
            is_sound &= sum.simd_eq(sum);
            *maximum = a.max(b).max(c.max(d)).reduce_max();
        }
        is_sound.all_true()
    }
}

/// A slice in lanes; the last are filled up.
#[inline(always)]
fn filled<S: Simd>(simd: S, xs: &[f32], filler: f32, mut visit: impl FnMut(f32x16<S>)) {
    let (whole, rest) = xs.as_chunks::<LANES>();
    for part in whole {
        visit(f32x16::load_array_ref(simd, part));
    }
    let mut last = [filler; LANES];
    last[..rest.len()].copy_from_slice(rest);
    visit(f32x16::load_array(simd, last));
}

struct Largest<'m>(&'m [f32]);

impl Kernel for Largest<'_> {
    type Output = f32;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> f32 {
        let mut largest = f32x16::splat(simd, f32::NEG_INFINITY);
        filled(
            simd,
            self.0,
            f32::NEG_INFINITY,
            #[inline(always)]
            |part| largest = largest.max(part),
        );
        largest.reduce_max()
    }
}

struct ReachedBy<'m> {
    n: usize,
    maxima: &'m [f32],
}

impl Kernel for ReachedBy<'_> {
    type Output = f32;

    /// By halving the range of bit patterns: this takes no memory, and no branch that is hard to foresee.
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> f32 {
        let enough = self.n..=self.n + self.n / 8;
        let (mut low, mut high) = (rising(f32::NEG_INFINITY), rising(Largest(self.maxima).run(simd)));
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            let bound = risen(middle);
            let mut count = 0;
            filled(
                simd,
                self.maxima,
                f32::NAN,
                #[inline(always)]
                |part| count += part.simd_ge(bound).to_bitmask().count_ones() as usize,
            );
            if enough.contains(&count) {
                return bound;
            }
            (low, high) = if count > self.n { (middle, high) } else { (low, middle - 1) };
        }
        risen(low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::libstdcxx::Mt19937;

    #[test]
    fn every_block_has_its_maximum() {
        let logits: Vec<f32> = (0..1000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 8) as f32 - 1e7).collect();
        for n in [1, 15, 63, 64, 65, 128, 1000] {
            let mut maxima = vec![7.0];
            let largest = survey(&logits[..n], &mut maxima);
            let plain = logits[..n].chunks(BLOCK).map(|block| block.iter().copied().fold(f32::NEG_INFINITY, f32::max));
            assert!(plain.clone().eq(maxima.iter().copied()), "{n}");
            assert_eq!(largest, plain.reduce(f32::max));
        }
    }

    #[test]
    fn what_is_no_logit_is_found_anywhere() {
        for odd in [f32::NAN, -f32::NAN, f32::from_bits(0x7f80_0001), f32::from_bits(0xff80_0001), f32::INFINITY] {
            for (n, at) in [(1, 0), (64, 63), (65, 64), (200, 100), (200, 199)] {
                for fill in [-3.0, 3.0, f32::NEG_INFINITY, f32::MAX] {
                    let mut logits = vec![fill; n];
                    assert_eq!(survey(&logits, &mut Vec::new()), Some(fill));
                    logits[at] = odd;
                    assert_eq!(survey(&logits, &mut Vec::new()), None, "{odd} at {at} of {n}");
                }
            }
        }
    }

    #[test]
    fn enough_reach_the_bound() {
        let mut rng = Mt19937::new(9);
        for n in [1, 2, 15, 16, 17, 100, 1000] {
            for spread in [1, 3, 50, 1 << 20] {
                let maxima: Vec<f32> = (0..n).map(|_| (rng.next_u32() % spread) as f32 - 3.0).collect();
                for at_least in [1, n / 3 + 1, n] {
                    let bound = reached_by(at_least, &maxima);
                    let mut sorted = maxima.clone();
                    sorted.sort_by(|a, b| b.total_cmp(a));
                    let reaching = |bound: f32| maxima.iter().filter(|&&x| x >= bound).count();
                    assert!(reaching(bound) >= at_least);
                    // Equals cannot be parted.
                    let most = reaching(sorted[at_least - 1]).max(at_least + at_least / 8);
                    assert!(reaching(bound) <= most, "{at_least} of {n}");
                }
            }
        }
    }
}
