//! `expf`, after the algorithm and with the constants of Arm's optimized routines (see NOTICE): 2^(k/32) from a table, times a cubic of the rest, all in f64.

/// For i of 32, the bits of 2^(i/32), less i in the exponent's place.
pub(super) const TABLE: [u64; 32] = [
    0x3ff0000000000000,
    0x3fefd9b0d3158574,
    0x3fefb5586cf9890f,
    0x3fef9301d0125b51,
    0x3fef72b83c7d517b,
    0x3fef54873168b9aa,
    0x3fef387a6e756238,
    0x3fef1e9df51fdee1,
    0x3fef06fe0a31b715,
    0x3feef1a7373aa9cb,
    0x3feedea64c123422,
    0x3feece086061892d,
    0x3feebfdad5362a27,
    0x3feeb42b569d4f82,
    0x3feeab07dd485429,
    0x3feea47eb03a5585,
    0x3feea09e667f3bcd,
    0x3fee9f75e8ec5f74,
    0x3feea11473eb0187,
    0x3feea589994cce13,
    0x3feeace5422aa0db,
    0x3feeb737b0cdc5e5,
    0x3feec49182a3f090,
    0x3feed503b23e255d,
    0x3feee89f995ad3ad,
    0x3feeff76f2fb5e47,
    0x3fef199bdd85529c,
    0x3fef3720dcef9069,
    0x3fef5818dcfba487,
    0x3fef7c97337b9b5f,
    0x3fefa4afa2a490da,
    0x3fefd0765b6e4540,
];
/// 32 / ln 2
const PER_LN2: f64 = f64::from_bits(0x3ff7_1547_652b_82fe) * 32.0;
/// Adding and subtracting it rounds to a whole number, which stands in the low bits in between.
const SHIFT: f64 = 6_755_399_441_055_744.0;
const C0: f64 = f64::from_bits(0x3fac_6af8_4b91_2394) / 32.0 / 32.0 / 32.0;
const C1: f64 = f64::from_bits(0x3fce_bfce_50fa_c4f3) / 32.0 / 32.0;
const C2: f64 = f64::from_bits(0x3fe6_2e42_ff0c_52d6) / 32.0;
/// Above it the result is infinite: 88.72…, the logarithm of 2^128.
const MAX: f32 = f32::from_bits(0x42b1_7217);
/// Below it the result is 0: -103.97…, the logarithm of 2^-150.
const MIN: f32 = f32::from_bits(0xc2cf_f1b4);

/// `expf`
#[inline(always)]
pub fn expf(x: f32) -> f32 {
    let wide = f64::from(x);
    let shifted = wide.mul_add(PER_LN2, SHIFT);
    let rest = wide.mul_add(PER_LN2, SHIFT - shifted);
    let k = shifted.to_bits();
    let scale = f64::from_bits(TABLE[(k % 32) as usize].wrapping_add(k << 47));
    let high = rest.mul_add(C0, C1);
    let low = rest.mul_add(C2, 1.0);
    let result = (high.mul_add(rest * rest, low) * scale) as f32;
    if x < MIN {
        0.0
    } else if x > MAX {
        f32::INFINITY
    } else if x.is_nan() {
        x + x
    } else {
        result
    }
}
