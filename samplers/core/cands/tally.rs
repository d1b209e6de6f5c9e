//! Sums of floats that equal those of a loop, taken in lanes.
//!
//! While a sum stays within one power of two, its last place, `u`, does not change, and adding a term moves it by the term
//! rounded to a multiple of `u`, whatever was added before: so rounded terms can be added in any order, and exactly. Only a
//! term that lies half-way between two multiples asks for more: there the sum's own last bit decides. A block with such a
//! term, or after which the sum would leave its power of two, is added one by one.
//!
//! For most terms it is enough to know them nearly: when what they may be off by cannot change what they round to.

use fearless_simd::{Select, Simd, SimdBase, SimdFloat, SimdMask, f32x16, f64x8, mask32x16};

use super::survey::{BLOCK, parts};
use super::terms::{Exactly, Terms};
use super::view::{Block, View};
use crate::libm::Kernel;

/// A sum's power of two.
#[derive(Clone, Copy)]
pub(super) struct Binade {
    /// 2^(e + 1): the sum is less.
    pub top: f32,
    /// 2^e: the sum is no less. A smaller term is rounded to a multiple of the sum's last place by adding and subtracting it.
    pub bottom: f32,
    /// Half a unit in the last place.
    pub half: f32,
}

impl Binade {
    /// The one of a positive sum; none of a sum so small that what [`Terms::near`] is absolutely off by would count, or too large.
    #[inline(always)]
    pub fn of(sum: f32) -> Option<Self> {
        const SMALLEST: f32 = 1e-7;
        const LARGEST: f32 = 1e30;
        if !(SMALLEST..LARGEST).contains(&sum) {
            return None;
        }
        let bottom = f32::from_bits(sum.to_bits() & 0x7f80_0000);
        Some(Self { top: 2.0 * bottom, bottom, half: bottom / 16_777_216.0 })
    }
}

/// Rounds terms of 0 or more and adds them up: all of them, or those whose logits, before they are mapped, are below `cut`.
/// With whether one was too near to half-way between two multiples, or NaN. A term of 2^e or more is not rounded rightly, and takes
/// the sum out of its power of two.
#[inline(always)]
fn round_block<S: Simd, T: Terms>(
    simd: S,
    view: &View<'_>,
    block: &[f32; BLOCK],
    binade: Binade,
    cut: Option<f32>,
    terms: T,
) -> (f32x16<S>, bool) {
    let Binade { bottom, half, .. } = binade;
    let off = terms.off(view);
    let (mut sums, mut sure) = (f32x16::splat(simd, 0.0), mask32x16::splat(simd, true));
    for logits in parts(simd, block) {
        let terms = terms.near(view, logits);
        let (rounded, is_sure) = match off {
            Some(off) => {
                // The term is between the two, and so is what it makes of 2^e.
                let (low, high) = (terms.mul_add(1.0 - off, bottom), terms.mul_add(1.0 + off, bottom));
                (low - bottom, low.simd_eq(high))
            }
            None => {
                let rounded = (terms + bottom) - bottom;
                (rounded, (terms - rounded).abs().simd_lt(half))
            }
        };
        if let Some(cut) = cut {
            let is_in = logits.simd_lt(cut);
            sums += is_in.select(rounded, f32x16::splat(simd, 0.0));
            sure &= is_sure | !is_in;
        } else {
            sums += rounded;
            sure &= is_sure;
        }
    }
    (sums, !sure.all_true())
}

/// What a float loop over the terms of a whole row gives, in the order of ids.
pub(super) struct InOrder<'v, T>(pub &'v View<'v>, pub T);

impl<T: Terms> Kernel for InOrder<'_, T> {
    type Output = f32;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> f32 {
        let (view, terms) = (self.0, self.1);
        let mut sum = 0.0f32;
        view.blocks(
            #[inline(always)]
            |Block { logits: block, len: n, .. }| {
                if let Some(binade) = Binade::of(sum) {
                    let (sums, is_unsure) = round_block(simd, view, block, binade, None, terms);
                    let moved = sum + sums.reduce_sum();
                    if !is_unsure && moved < binade.top {
                        sum = moved;
                        return;
                    }
                }
                let mut mapped = *block;
                mapped.iter_mut().for_each(|x| *x = view.map(*x));
                sum = terms.add(sum, &mapped[..n]);
            },
        );
        sum
    }
}

/// A float loop over the terms of some logits that has come to `sum`.
pub(super) struct OneByOne<'l, T> {
    pub logits: &'l [f32],
    pub terms: T,
    pub sum: f32,
}

impl<T: Terms> Kernel for OneByOne<'_, T> {
    type Output = f32;

    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> f32 {
        let Self { logits, terms, sum } = self;
        logits.chunks(BLOCK).fold(sum, |sum, logits| terms.add(sum, logits))
    }
}

/// What a float loop over falling terms gives that has come to `sum` and goes on with those of the logits below `cut`. None where
/// the order of these would have to be known.
pub(super) struct Below<'v, T> {
    pub view: &'v View<'v>,
    pub terms: T,
    pub cut: f32,
    pub sum: f32,
}

impl<T: Terms> Kernel for Below<'_, T> {
    type Output = Option<f32>;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Option<f32> {
        let Self { view, terms, cut, sum } = self;
        let binade = Binade::of(sum)?;
        let cut = view.unmap(cut);
        let (mut sums, mut is_decided) = (f32x16::splat(simd, 0.0), true);
        view.blocks(
            #[inline(always)]
            |Block { logits: block, len: n, maximum, .. }| {
                if !is_decided {
                    return;
                }
                let cut_here = if maximum < cut { None } else { Some(cut) };
                let (mut rounded, is_unsure) = round_block(simd, view, block, binade, cut_here, terms);
                if is_unsure {
                    let mut known = [f32::INFINITY; BLOCK];
                    known[..n].copy_from_slice(&block[..n]);
                    let (exact, is_unsure) = round_block(simd, view, &known, binade, Some(cut), Exactly(terms));
                    rounded = exact;
                    is_decided &= !is_unsure;
                }
                sums += rounded;
            },
        );
        let moved = sum + sums.reduce_sum();
        (is_decided && moved < binade.top).then_some(moved)
    }
}

/// The terms of the logits that are below `cut` before they are mapped, nearly, each but for [`Terms::off`]: for decisions that
/// do not hang on the rest.
pub(super) struct Masses<'v, T> {
    pub view: &'v View<'v>,
    pub terms: T,
    pub cut: f32,
    /// To be filled with the sum of each block.
    pub masses: Option<&'v mut Vec<f64>>,
}

impl<T: Terms> Kernel for Masses<'_, T> {
    /// The sum of all.
    type Output = f64;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> f64 {
        let Self { view, terms, cut, mut masses } = self;
        let zero = f32x16::splat(simd, 0.0);
        let mut total = 0.0;
        if let Some(masses) = &mut masses {
            masses.clear();
            masses.resize(view.maxima.len(), 0.0);
        }
        view.blocks_above(
            view.unmap(terms.negligible()),
            #[inline(always)]
            |Block { index, logits, .. }| {
                let (mut wide, mut sums) = (f64x8::splat(simd, 0.0), zero);
                for logits in parts(simd, logits) {
                    let terms = logits.simd_lt(cut).select(terms.near(view, logits), zero);
                    if T::WIDE {
                        let (low, high) = simd.widen_f32x16(terms);
                        wide += low + high;
                    } else {
                        sums += terms;
                    }
                }
                let mass = if T::WIDE { wide.reduce_sum() } else { f64::from(sums.reduce_sum()) };
                total += mass;
                if let Some(masses) = &mut masses {
                    masses[index] = mass;
                }
            },
        );
        total
    }
}

#[cfg(test)]
mod tests {
    use super::super::changes::Changes;
    use super::super::deferred::Softmax;
    use super::super::parts::{Parts, add_sorted};
    use super::super::signed::Signed;
    use super::super::survey::survey;
    use super::super::terms::{Squares, Surprises, Weights};
    use super::super::view::Map;
    use super::*;
    use crate::libm::{in_lanes, logf};
    use crate::libstdcxx::Mt19937;

    /// Rows in which the sum stays small for long, grows steadily, jumps, or meets terms half-way between multiples.
    fn row(rng: &mut Mt19937, kind: u32, n: usize) -> Vec<f32> {
        let normal = |rng: &mut Mt19937| (0..6).map(|_| rng.uniform_f32() - 0.5).sum::<f32>() * 1.4;
        (0..n)
            .map(|i| match kind {
                0 => normal(rng),
                1 => normal(rng) * 3.0 + 8.0,
                2 => normal(rng) + if i % 500 == 77 { 11.0 } else { 0.0 },
                3 => (rng.next_u32() % 64) as f32 / 8.0 - 4.0,
                4 if rng.next_u32().is_multiple_of(3) => f32::NEG_INFINITY,
                5 => -(i as f32) / 200.0,
                6 => rng.uniform_f32() * 1e-3,
                _ => normal(rng) * 20.0 - 100.0,
            })
            .collect()
    }

    fn same(what: &str, found: f32, expected: f32) {
        let same = found.to_bits() == expected.to_bits() || (found.is_nan() && expected.is_nan());
        assert!(same, "{what}: {:#010x}, the loop gives {:#010x}", found.to_bits(), expected.to_bits());
    }

    /// The plain twins: loops over all terms, in the order of ids and falling.
    #[test]
    fn sums_are_those_of_loops() {
        let mut rng = Mt19937::new(3);
        let mut parts = Parts::default();
        let n_cases = if cfg!(debug_assertions) { 60 } else { 1500 };
        for case in 0..n_cases {
            let n = [64, 65, 1000, 4096, 9001, 20_000][case as usize / 8 % 6];
            let logits = row(&mut rng, case % 8, n);
            let mut maxima = Vec::new();
            survey(&logits, &mut maxima);
            let maps: &[Map] =
                [&[][..], &[Map::Divide(0.7)], &[Map::Mask(-1.0), Map::Divide(1.9)]][case as usize / 48 % 3];
            let view = View { logits: &logits, changes: Changes::none(), maps, maxima: &maxima };
            let mut falling: Vec<f32> = view.iter().collect();
            falling.sort_by(|a, b| b.total_cmp(a));
            let (max_logit, what) = (falling[0], format!("case {case}"));

            let weights = Weights { max_logit };
            let in_order = view.iter().fold(0.0, |sum, x| sum + weights.exact(x));
            same(&format!("{what}, weights in order"), in_lanes(InOrder(&view, weights)), in_order);
            let sum = falling.iter().fold(0.0, |sum, &x| sum + weights.exact(x));
            let head = falling.iter().take_while(|&&x| x >= falling[40]).fold(0.0, |sum, &x| sum + weights.exact(x));
            same(
                &format!("{what}, weights falling"),
                add_sorted(&view, weights, falling[40], head, &mut parts, 0),
                sum,
            );

            let softmax = Softmax { max_logit, sum };
            for zero_counts in [false, true] {
                let terms = Surprises { softmax, ln_sum: logf(sum), inverse: 1.0 / sum, zero_counts };
                let entropy = falling.iter().fold(0.0, |sum, &x| sum + terms.exact(x));
                let head = falling.iter().take_while(|&&x| x >= falling[40]).fold(0.0, |sum, &x| sum + terms.exact(x));
                same(&format!("{what}, entropy"), add_sorted(&view, terms, falling[40], head, &mut parts, 0), entropy);
            }

            let plain = View { maps: &[], ..view };
            let finite: Vec<f32> = logits.iter().copied().filter(|&x| x > f32::NEG_INFINITY).collect();
            let (signed, count) = in_lanes(Signed(&plain));
            same(&format!("{what}, signed"), signed, finite.iter().fold(0.0, |sum, x| sum + x));
            assert_eq!(count, finite.len());
            let mean = signed / count as f32;
            let squares = finite.iter().fold(0.0f32, |sum, x| {
                let off = f64::from(x - mean);
                (f64::from(sum) + off * off) as f32
            });
            same(&format!("{what}, squares"), in_lanes(InOrder(&plain, Squares { mean })), squares);
        }
    }
}
