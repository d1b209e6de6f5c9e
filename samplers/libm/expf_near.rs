//! An `expf` that is off by a little, and quick: for sums of which only the rounded terms count.

use fearless_simd::{Bytes, Simd, SimdBase, SimdFloat, f32x16, u32x16};

/// 1.5 times 2^23: adding and subtracting it rounds to a whole number.
const SHIFT: f32 = 12_582_912.0;
/// ln 2 in two parts, the first so short that its multiples are exact.
const LN2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];
/// A polynomial for e^r, r from -ln 2 / 2 to ln 2 / 2, with the smallest relative error (7.5e-8) of its degree.
const C: [f32; 6] = [1.000_000_1, 0.999_999_7, 0.499_988_95, 0.166_675_75, 0.041_915_38, 0.008_297_655];
/// From here on the result is smaller than anybody asks for.
const LOWEST: f32 = -40.0;

/// How far [`expf_near`] may be from `expf`, relative to either. The test of all inputs finds 2^-21.9.
pub(crate) const OFF: f32 = 1.0 / 2_097_152.0;

/// `expf` of each x up to 0, with a relative error of up to [`OFF`]. Below -40 it is that of -40, 4.2e-18.
#[inline(always)]
pub(crate) fn expf_near<S: Simd>(x: f32x16<S>) -> f32x16<S> {
    let x = x.max(LOWEST);
    let shifted = x.mul_add(std::f32::consts::LOG2_E, SHIFT);
    let k = shifted - SHIFT;
    let r = k.mul_add(-LN2[1], k.mul_add(-LN2[0], x));
    let high = r.mul_add(C[5], C[4]).mul_add(r, C[3]);
    let power = high.mul_add(r, C[2]).mul_add(r, C[1]).mul_add(r, C[0]);
    // The whole number stands in the low bits of `shifted`, and goes to the exponent.
    (power.bitcast::<u32x16<S>>() + (shifted.bitcast::<u32x16<S>>() << 23)).bitcast()
}

#[cfg(test)]
mod tests {
    use super::super::lanes::{Kernel, in_lanes};
    use super::*;
    use crate::libm::exp_each;

    struct Near<'x>(&'x mut [f32]);

    impl Kernel for Near<'_> {
        type Output = ();

        #[inline(always)]
        fn run<S: Simd>(self, simd: S) {
            for xs in self.0.as_chunks_mut::<16>().0 {
                *xs = expf_near(f32x16::load_array(simd, *xs)).to_array();
            }
        }
    }

    fn near(x: f32) -> f32 {
        let mut xs = [x; 16];
        in_lanes(Near(&mut xs));
        xs[7]
    }

    /// The largest relative error over these inputs.
    fn farthest(bits: impl Iterator<Item = u32>) -> f64 {
        let mut bits = bits.map(f32::from_bits).peekable();
        let mut farthest = 0.0f64;
        while bits.peek().is_some() {
            let mut xs: Vec<f32> = bits.by_ref().take(4096).collect();
            xs.resize(4096, 0.0);
            let (mut near, mut exact) = (xs.clone(), xs);
            in_lanes(Near(&mut near));
            exp_each(&mut exact);
            for (near, exact) in near.iter().zip(&exact) {
                farthest = farthest.max((f64::from(*near) / f64::from(*exact) - 1.0).abs());
            }
        }
        farthest
    }

    const FIRST: u32 = (-0.0f32).to_bits();

    #[test]
    fn a_sample_is_near() {
        let last = LOWEST.to_bits();
        let farthest = farthest((FIRST..=last).step_by(if cfg!(debug_assertions) { 20_011 } else { 1009 }));
        assert!(farthest < f64::from(OFF), "{farthest:e}");
        assert_eq!(near(0.0), near(-0.0));
        for x in [-41.0, -1e10, f32::MIN, f32::NEG_INFINITY] {
            assert_eq!(near(x), near(LOWEST));
            assert!((0.0..5e-18).contains(&near(x)));
        }
    }

    /// All inputs: half a minute. `cargo test --release -p sampler-steps all_inputs -- --ignored`
    #[test]
    #[ignore = "takes half a minute; run it after a change of this function"]
    fn all_inputs_are_near() {
        let farthest = farthest(FIRST..=LOWEST.to_bits());
        assert!(farthest < f64::from(OFF), "{farthest:e}, 2^{}", farthest.log2());
        println!("2^{}", farthest.log2());
    }
}
