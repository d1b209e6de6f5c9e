//! `powf`, after the algorithm and with the constants of Arm's optimized routines (see NOTICE): 2^(y * log2 x), all in f64.

use super::expf::TABLE as EXP2;
use super::logf::{Split, split};

/// The logarithm's polynomial, from r^5 down.
const LOG2: [f64; 5] = [
    f64::from_bits(0x3fd2_7616_c949_6e0b),
    f64::from_bits(0xbfd7_1969_a075_c67a),
    f64::from_bits(0x3fde_c70a_6ca7_badd),
    f64::from_bits(0xbfe7_1547_48be_f6c8),
    f64::from_bits(0x3ff7_1547_652a_b82b),
];
/// The power's polynomial, from r^3 down.
const C: [f64; 3] = [
    f64::from_bits(0x3fac_6af8_4b91_2394),
    f64::from_bits(0x3fce_bfce_50fa_c4f3),
    f64::from_bits(0x3fe6_2e42_ff0c_52d6),
];
/// Adding and subtracting it rounds to a 32nd.
const SHIFT: f64 = 6_755_399_441_055_744.0 / 32.0;
/// From here on the result is infinite: the logarithm of the largest float and half a unit.
const MAX: f64 = f64::from_bits(0x405f_ffff_ffd1_d571);

/// `powf`
pub fn powf(x: f32, y: f32) -> f32 {
    if let Some(result) = special(x, y) {
        return result;
    }
    let product = f64::from(y) * log2(x.abs());
    let result = if product > MAX {
        f32::INFINITY
    } else if product <= -150.0 {
        0.0
    } else {
        exp2(product)
    };
    if x < 0.0 && is_odd(y) { -result } else { result }
}

/// What C's rules say where an argument is 0, infinite, NaN or out of the logarithm's reach.
fn special(x: f32, y: f32) -> Option<f32> {
    let signals = |x: f32| x.is_nan() && x.to_bits() & 0x0040_0000 == 0;
    if (y == 0.0 && !signals(x)) || (x == 1.0 && !signals(y)) {
        return Some(1.0);
    }
    if x.is_nan() || y.is_nan() {
        return Some(x + y);
    }
    if y.is_infinite() {
        let is_one = x == -1.0;
        let grows = (x.abs() > 1.0) == (y > 0.0);
        return Some(if is_one {
            1.0
        } else if grows {
            f32::INFINITY
        } else {
            0.0
        });
    }
    if x == 0.0 || x.is_infinite() {
        let size = if (x == 0.0) == (y > 0.0) { 0.0 } else { f32::INFINITY };
        return Some(if x.is_sign_negative() && is_odd(y) { -size } else { size });
    }
    // The NaN that x86 makes of (x - x) / 0.
    (x < 0.0 && y.fract() != 0.0).then_some(-f32::NAN)
}

/// Whether a finite number is an odd integer.
fn is_odd(y: f32) -> bool {
    y.fract() == 0.0 && y.abs() < 16_777_216.0 && y as i32 % 2 != 0
}

fn log2(x: f32) -> f64 {
    let Split { k, rest: r, row } = split(x);
    let base = f64::from_bits(row.2) + k;
    let r2 = r * r;
    let high = r.mul_add(LOG2[0], LOG2[1]);
    let middle = r.mul_add(LOG2[2], LOG2[3]);
    let low = middle.mul_add(r2, r.mul_add(LOG2[4], base));
    high.mul_add(r2 * r2, low)
}

fn exp2(x: f64) -> f32 {
    let shifted = x + SHIFT;
    let k = shifted.to_bits();
    let r = x - (shifted - SHIFT);
    let scale = f64::from_bits(EXP2[(k % 32) as usize].wrapping_add(k << 47));
    let high = r.mul_add(C[0], C[1]);
    let low = r.mul_add(C[2], 1.0);
    (high.mul_add(r * r, low) * scale) as f32
}
