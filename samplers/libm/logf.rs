//! `logf` and `log2f`, after the algorithms and with the constants of Arm's optimized routines (see NOTICE): the logarithm of a centre of 16 from a table, and a polynomial of the distance to it, all in f64.

/// Where the mantissas of the table begin: 0.699…
const BEGIN: u32 = 0x3f33_0000;
/// For each sixteenth its centre's inverse, the centre's natural logarithm and its logarithm to base 2.
const TABLE: [(u64, u64, u64); 16] = [
    (0x3ff661ec79f8f3be, 0xbfd57bf7808caade, 0xbfdefec65b963019),
    (0x3ff571ed4aaf883d, 0xbfd2bef0a7c06ddb, 0xbfdb0b6832d4fca4),
    (0x3ff49539f0f010b0, 0xbfd01eae7f513a67, 0xbfd7418b0a1fb77b),
    (0x3ff3c995b0b80385, 0xbfcb31d8a68224e9, 0xbfd39de91a6dcf7b),
    (0x3ff30d190c8864a5, 0xbfc6574f0ac07758, 0xbfd01d9bf3f2b631),
    (0x3ff25e227b0b8ea0, 0xbfc1aa2bc79c8100, 0xbfc97c1d1b3b7af0),
    (0x3ff1bb4a4a1a343f, 0xbfba4e76ce8c0e5e, 0xbfc2f9e393af3c9f),
    (0x3ff12358f08ae5ba, 0xbfb1973c5a611ccc, 0xbfb960cbbf788d5c),
    (0x3ff0953f419900a7, 0xbfa252f438e10c1e, 0xbfaa6f9db6475fce),
    (0x3ff0000000000000, 0x0000000000000000, 0x0000000000000000),
    (0x3fee608cfd9a47ac, 0x3faaa5aa5df25984, 0x3fb338ca9f24f53d),
    (0x3feca4b31f026aa0, 0x3fbc5e53aa362eb4, 0x3fc476a9543891ba),
    (0x3feb2036576afce6, 0x3fc526e57720db08, 0x3fce840b4ac4e4d2),
    (0x3fe9c2d163a1aa2d, 0x3fcbc2860d224770, 0x3fd40645f0c6651c),
    (0x3fe886e6037841ed, 0x3fd1058bc8a07ee1, 0x3fd88e9c2c1b9ff8),
    (0x3fe767dcf5534862, 0x3fd4043057b6ee09, 0x3fdce0a44eb17bcc),
];
const LN2: f64 = f64::from_bits(0x3fe6_2e42_fefa_39ef);
const LN: [f64; 3] = [
    f64::from_bits(0xbfd0_0ea3_48b8_8334),
    f64::from_bits(0x3fd5_575b_0be0_0b6a),
    f64::from_bits(0xbfdf_fffe_f20a_4123),
];
const LOG2: [f64; 4] = [
    f64::from_bits(0xbfd7_12b6_f70a_7e4d),
    f64::from_bits(0x3fde_cabf_4968_32e0),
    f64::from_bits(0xbfe7_1547_9ffa_e3de),
    f64::from_bits(0x3ff7_1547_5f35_c8b8),
];

/// A number as 2^k times a number near a centre of the table.
pub(super) struct Split {
    pub k: f64,
    /// How far the number is from the centre, as a share of it.
    pub rest: f64,
    pub row: (u64, u64, u64),
}

#[inline(always)]
pub(super) fn split(x: f32) -> Split {
    // A subnormal number is made normal first.
    let is_small = x.to_bits() < 0x0080_0000;
    let bits = if is_small { (x * 8_388_608.0).to_bits().wrapping_sub(23 << 23) } else { x.to_bits() };
    let from_begin = bits.wrapping_sub(BEGIN);
    let row = TABLE[(from_begin >> 19) as usize % 16];
    let mantissa = f64::from(f32::from_bits(bits.wrapping_sub(from_begin & 0xff80_0000)));
    Split { k: f64::from(from_begin as i32 >> 23), rest: mantissa.mul_add(f64::from_bits(row.0), -1.0), row }
}

/// What is no positive number: the logarithm of 0 is -infinity, that of less is NaN.
#[inline(always)]
fn or_special(x: f32, result: f32) -> f32 {
    if x == 0.0 {
        f32::NEG_INFINITY
    } else if x == f32::INFINITY || x.is_nan() {
        x + x
    } else if x < 0.0 {
        // The NaN that x86 makes of (x - x) / 0.
        -f32::NAN
    } else {
        result
    }
}

/// `logf`
#[inline(always)]
pub fn logf(x: f32) -> f32 {
    let Split { k, rest, row } = split(x);
    let base = k.mul_add(LN2, f64::from_bits(row.1));
    let square = rest * rest;
    let tail = square.mul_add(LN[0], rest.mul_add(LN[1], LN[2]));
    or_special(x, tail.mul_add(square, base + rest) as f32)
}

/// `log2f`
#[inline(always)]
pub fn log2f(x: f32) -> f32 {
    let Split { k, rest, row } = split(x);
    let base = f64::from_bits(row.2) + k;
    let square = rest * rest;
    let tail = square.mul_add(LOG2[0], rest.mul_add(LOG2[1], LOG2[2]));
    or_special(x, tail.mul_add(square, rest.mul_add(LOG2[3], base)) as f32)
}
