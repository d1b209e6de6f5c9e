//! Tests that hold the functions to the host's, where these are glibc's on x86-64.

use std::hint::black_box;

use super::*;

/// A few million inputs of every kind against the host's functions, where these are glibc's on a processor with FMA.
#[test]
fn a_sample_equals_the_hosts() {
    if std::arch::is_x86_feature_detected!("fma") {
        compare((0..=u32::MAX).step_by(if cfg!(debug_assertions) { 40_009 } else { 1009 }));
    }
}

/// Pairs of every kind against the host's functions: of any bits, and near where the chain asks.
fn compare_pairs(n: u32) {
    let mut rng = crate::libstdcxx::Mt19937::new(n);
    let same =
        |found: f64, expected: f64| found.to_bits() == expected.to_bits() || (found.is_nan() && expected.is_nan());
    for i in 0..n {
        let (a, b) = (rng.next_u32(), rng.next_u32());
        let (x, y) = match i % 4 {
            0 => (f32::from_bits(a), f32::from_bits(b)),
            1 => (f32::from_bits(a), (b % 41) as f32 - 20.0),
            2 => (a as f32 / u32::MAX as f32, f32::from_bits(0x3d00_0000 + b % 0x0400_0000)),
            _ => (2.0 + (a % 300_000) as f32, b as f32 / 1e9 - 2.0),
        };
        let (found, expected) = (powf(x, y), black_box(x).powf(black_box(y)));
        assert!(same(found.into(), expected.into()), "powf({x:e}, {y:e}) is {found:e}, expected {expected:e}");
        let x = match i % 4 {
            0 => f64::from_bits(u64::from(a) << 32 | u64::from(b)),
            1 => f64::from(a) / -6e6 - f64::from(b) / 1e13,
            2 => -f64::from(f32::from_bits(a % 0x4300_0000)),
            _ => f64::from(a as i32) / 2e9 + f64::from(b) / 1e19,
        };
        let (found, expected) = (exp(x), black_box(x).exp());
        assert!(same(found, expected), "exp({x:e}) is {found:e}, expected {expected:e}");
        let (x, y) = match i % 8 {
            0 => (f64::from_bits(u64::from(a) << 32 | u64::from(b)), f64::from(b as i32) / 1e8),
            1 => (f64::from_bits(u64::from(a) << 32), f64::from_bits(u64::from(b) << 32)),
            2 => (f64::from_bits(u64::from(a % 0x0020_0000) << 32 | u64::from(b)), f64::from(b as i32) / 2e9),
            3 => (f64::from(a as i32), f64::from(b % 41) - 20.0),
            // Powers of numbers next to a power of 2 lie near the middle between two.
            6 => ((1 << (a % 5)) as f64 * (1.0 - f64::from(b % 256) * f64::EPSILON), f64::from(a % 19) / 2.0 - 4.5),
            4 => (f64::from(a) / 4e9 + f64::from(b) / 1e19, f64::from(b) / 1e6),
            5 => (1.0 + f64::from(a as i32) / 1e14, f64::from(b as i32) * 1e6),
            // DRY: a base and a length.
            _ => (f64::from(1.0 + a as f32 / 2e9), f64::from(b % 600)),
        };
        let (found, expected) = (pow(x, y), black_box(x).powf(black_box(y)));
        assert!(same(found, expected), "pow({x:e}, {y:e}) is {found:e}, expected {expected:e}");
    }
}

#[test]
fn powers_of_particular_numbers_are_the_hosts() {
    let sizes = [0.0, 1.0, 2.0, 3.0, 0.5, 1.5, 1e-320, 1e-300, 1e300, f64::MAX, f64::INFINITY, 9e15, 1e19, 1e-20, 0.1];
    let mut all: Vec<f64> = sizes.iter().flat_map(|&x| [x, -x, x.next_up(), x.next_down()]).collect();
    all.push(f64::NAN);
    for (x, y) in all.iter().flat_map(|&x| all.iter().map(move |&y| (x, y))) {
        let (found, expected) = (pow(x, y), black_box(x).powf(black_box(y)));
        let same = found.to_bits() == expected.to_bits() || (found.is_nan() && expected.is_nan());
        assert!(same, "pow({x:e}, {y:e}) is {found:e}, expected {expected:e}");
    }
    // With another last bit in the second part of ln 2 these are the neighbours: a few in 10^9 are.
    for (x, y) in [(2.186_509_038, 325.0), (2.0f64.next_down(), -1.0)] {
        assert_eq!(pow(x, y).to_bits(), black_box(x).powf(black_box(y)).to_bits(), "pow({x:e}, {y:e})");
    }
    let x = f64::from_bits(0x406f_c7fc_1e65_a009);
    assert_eq!(exp(x).to_bits(), black_box(x).exp().to_bits(), "exp({x:e})");
}

#[test]
fn some_pairs_equal_the_hosts() {
    if std::arch::is_x86_feature_detected!("fma") {
        compare_pairs(if cfg!(debug_assertions) { 100_000 } else { 2_000_000 });
    }
}

/// 200 million pairs. `cargo test --release -p sampler-steps many_pairs -- --ignored`
#[test]
#[ignore = "takes a minute; run it after a change of these functions"]
fn many_pairs_equal_the_hosts() {
    compare_pairs(200_000_000);
}

/// All inputs: some minutes. `cargo test --release -p sampler-steps all_inputs -- --ignored`
#[test]
#[ignore = "takes minutes; run it after a change of these functions"]
fn all_inputs_equal_the_hosts() {
    compare(0..=u32::MAX);
}

fn compare(inputs: impl Iterator<Item = u32>) {
    let mut inputs = inputs.map(f32::from_bits).peekable();
    let mut block = Vec::with_capacity(4096);
    type Pair = (&'static str, fn(&mut [f32]), fn(f32) -> f32);
    let pairs: [Pair; 3] =
        [("expf", exp_each, f32::exp), ("logf", ln_each, f32::ln), ("log2f", lanes::log2_each, f32::log2)];
    while inputs.peek().is_some() {
        block.clear();
        block.extend(inputs.by_ref().take(4096));
        for (name, ours, host) in pairs {
            let mut found = block.clone();
            ours(&mut found);
            for (&x, found) in block.iter().zip(found) {
                let expected = host(x);
                let same = found.to_bits() == expected.to_bits() || (found.is_nan() && expected.is_nan());
                let (bits, found, expected) = (x.to_bits(), found.to_bits(), expected.to_bits());
                assert!(same, "{name}({x:e} {bits:#010x}) is {found:#010x}, expected {expected:#010x}");
            }
        }
    }
}
