//! The C library's float functions, under their C names, with glibc's bits.
//!
//! They are this crate's own, after the published algorithms of Arm's optimized routines, which glibc uses: the same on every
//! platform, and equal to glibc's on a processor with FMA, `expf`, `logf` and `log2f` in all 2^32 inputs, `powf`, `exp` and `pow` in
//! 200 million of each. `log`, which llama.cpp's steps do not need, is `pow`'s, and more exact than glibc's.

mod exp;
mod expf;
mod expf_near;
#[cfg(all(test, target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
mod hosts;
mod lanes;
mod log;
mod logf;
mod pow;
mod powf;

pub use exp::exp;
pub(crate) use expf_near::{OFF, expf_near};
pub(crate) use lanes::{Kernel, in_lanes};
pub use lanes::{Lanes, exp_each, ln_each};
pub use log::log;
pub use pow::pow;
pub use powf::powf;

/// `expf`
pub fn expf(x: f32) -> f32 {
    let mut one = [x];
    exp_each(&mut one);
    one[0]
}

/// `logf`
pub fn logf(x: f32) -> f32 {
    let mut one = [x];
    ln_each(&mut one);
    one[0]
}

/// `log2f`
pub fn log2f(x: f32) -> f32 {
    let mut one = [x];
    lanes::log2_each(&mut one);
    one[0]
}

/// `int(x)` as x86 converts it (`cvttss2si`): `i32::MIN` for NaN and for what an `i32` does not hold.
#[inline]
pub fn int(x: f32) -> i32 {
    if (-2_147_483_648.0..2_147_483_648.0).contains(&x) { x as i32 } else { i32::MIN }
}

/// `std::max(a, b)`: `a` unless it is less than `b`, which keeps `a` where one is NaN.
#[inline]
pub fn max(a: f32, b: f32) -> f32 {
    if a < b { b } else { a }
}

/// `std::clamp(x, low, high)`: NaN stays NaN.
#[inline]
pub fn clamp(x: f32, low: f32, high: f32) -> f32 {
    if x < low {
        low
    } else if high < x {
        high
    } else {
        x
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ints_out_of_range_are_the_smallest() {
        for (x, expected) in [
            (0.0, 0),
            (-0.9, 0),
            (127.99, 127),
            (-3.5, -3),
            (f32::INFINITY, i32::MIN),
            (f32::NEG_INFINITY, i32::MIN),
            (f32::NAN, i32::MIN),
            (3e9, i32::MIN),
            (-3e9, i32::MIN),
            (2_147_483_520.0, 2_147_483_520),
        ] {
            assert_eq!(int(x), expected, "int({x})");
        }
    }

    #[test]
    fn max_keeps_its_first_argument_beside_nan() {
        assert_eq!(max(1.0, f32::NAN), 1.0);
        assert!(max(f32::NAN, 1.0).is_nan());
        assert_eq!(max(0.0, -0.0).to_bits(), 0.0f32.to_bits());
    }

    /// Bits of glibc 2.36 on x86-64, taken from a C program; a change here is a change of tokens.
    #[test]
    fn values_are_those_of_glibc() {
        let cases: [(&str, u32, u32); 6] = [
            ("expf(-1)", expf(-1.0).to_bits(), 0x3ebc_5ab2),
            ("expf(-17.25)", expf(-17.25).to_bits(), 0x330a_7a4f),
            ("logf(0.3)", logf(0.3).to_bits(), 0xbf9a_1bc8),
            ("log2f(0.15)", log2f(0.15).to_bits(), 0xc02f_2a71),
            ("powf(2, 10.3)", powf(2.0, 10.3).to_bits(), 0x449d_9625),
            ("powf(49152, -0.37)", powf(49152.0, -0.37).to_bits(), 0x3c96_7e82),
        ];
        for (what, found, expected) in cases {
            assert_eq!(found, expected, "{what}: {found:#010x}, expected {expected:#010x}");
        }
        assert_eq!(exp(-3.7).to_bits(), 0x3f99_511f_c687_1044);
        assert_eq!(pow(1.75, 23.0).to_bits(), 0x4117_bd15_2b33_0f0a);
    }
}
