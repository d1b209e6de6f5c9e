//! Steps with parameters: usual ones, and those at every edge.

use std::ops::Range;

use rand::Rng;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;

use crate::left_out::MAX_WINDOW;
use crate::step::Step;

/// Floats at which something may change.
const EDGES: [f32; 24] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    f32::EPSILON,
    -f32::EPSILON,
    1.0 - f32::EPSILON / 2.0,
    1.0 + f32::EPSILON,
    0.999_999,
    1.000_001,
    1.000_002,
    1e-45,
    -1e-45,
    f32::MIN_POSITIVE,
    1e-10,
    1e10,
    1e38,
    f32::MAX,
    f32::MIN,
    f32::INFINITY,
    f32::NEG_INFINITY,
    2.0,
    f32::NAN,
];

/// A parameter that usually lies in a range, and now and then in a wider one.
fn wide(rng: &mut ChaCha8Rng, usual: Range<f32>, wide: Range<f32>) -> f32 {
    if rng.random_ratio(1, 6) { rng.random_range(wide) } else { float(rng, usual) }
}

/// A parameter that usually lies in a range.
fn float(rng: &mut ChaCha8Rng, usual: Range<f32>) -> f32 {
    match rng.random_range(0..10) {
        0 => *EDGES.choose(rng).unwrap_or(&0.0),
        // A few digits, as people write them.
        1..=4 => (rng.random_range(usual) * 20.0).round() / 20.0,
        _ => rng.random_range(usual),
    }
}

fn int(rng: &mut ChaCha8Rng, usual: Range<i32>) -> i32 {
    if rng.random_ratio(1, 12) {
        *[0, 1, -1, 2, 128, 129, 1024, i32::MAX, i32::MIN, i32::MIN + 1].choose(rng).unwrap_or(&0)
    } else {
        rng.random_range(usual)
    }
}

fn min_keep(rng: &mut ChaCha8Rng) -> u32 {
    *[0, 0, 0, 0, 1, 1, 2, 3, 10, 200, u32::MAX].choose(rng).unwrap_or(&0)
}

/// A window: short, long, off, or too long to be compared.
fn window(rng: &mut ChaCha8Rng) -> i32 {
    match rng.random_range(0..24) {
        // Longer than any history, and so long that a long one fills it.
        20 => rng.random_range(1 << 16..=MAX_WINDOW),
        21..=23 => rng.random_range(600..4000),
        0 => *[0, -1, i32::MIN, MAX_WINDOW, i32::MAX].choose(rng).unwrap_or(&0),
        1..=4 => rng.random_range(1..4),
        5..=15 => rng.random_range(1..65),
        _ => rng.random_range(1..600),
    }
}

/// A token, or with `beyond` now and then an id that no token has.
fn id(rng: &mut ChaCha8Rng, n_vocab: usize, beyond: bool) -> u32 {
    if beyond && rng.random_ratio(1, 3) {
        let n = n_vocab as u32;
        return *[n, n + 1, n + 63, u32::MAX, i32::MAX as u32, 1 << 20].choose(rng).unwrap_or(&n);
    }
    super::events::token(rng, n_vocab)
}

fn biases(rng: &mut ChaCha8Rng, n_vocab: usize, beyond: bool) -> Vec<(u32, f32)> {
    let n = *[0, 1, 2, 3, 5, 40].choose(rng).unwrap_or(&1);
    let bias = |rng: &mut ChaCha8Rng| if rng.random_ratio(1, 4) { f32::NEG_INFINITY } else { float(rng, -12.0..12.0) };
    (0..n).map(|_| (id(rng, n_vocab, beyond), bias(rng))).collect()
}

/// DRY's breakers as tokens: many of one token, some longer, some that begin alike, some of nothing.
fn breakers(rng: &mut ChaCha8Rng, n_vocab: usize, beyond: bool) -> Vec<Vec<u32>> {
    let n = *[0, 0, 1, 2, 4, 9, 30].choose(rng).unwrap_or(&0);
    let length = |rng: &mut ChaCha8Rng| *[1, 1, 1, 1, 1, 2, 3, 4, 7, 25, 0].choose(rng).unwrap_or(&1);
    (0..n).map(|_| (0..length(rng)).map(|_| id(rng, n_vocab, beyond)).collect()).collect()
}

/// Texts that end a repetition: llama.cpp's own, words, none, one that begins inside others, and some that it cuts.
const TEXTS: [&str; 20] = [
    "\n",
    ":",
    "\"",
    "*",
    "",
    "e",
    " the",
    "the",
    "ing",
    "in",
    "  ",
    "\u{e9}",
    "\u{4e2d}\u{6587}",
    ".\n\n",
    "<|im_end|>",
    "\u{1f600}",
    "thing else",
    "a breaker of more than forty bytes, of which llama.cpp cuts some",
    "eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\u{e9}b",
];

/// DRY with texts as breakers.
pub fn dry_by_texts(rng: &mut ChaCha8Rng) -> Step {
    let n = *[0, 1, 1, 2, 4, 7].choose(rng).unwrap_or(&1);
    Step::DryTexts {
        multiplier: float(rng, -0.5..3.0),
        base: float(rng, 0.9..4.0),
        allowed_length: int(rng, -1..4),
        last_n: window(rng),
        texts: (0..n).filter_map(|_| TEXTS.choose(rng).map(|text| text.to_string())).collect(),
    }
}

/// A step that selects nothing. With `beyond` its ids may lie beyond the vocabulary.
pub fn step(rng: &mut ChaCha8Rng, n_vocab: usize, beyond: bool) -> Step {
    match rng.random_range(0..13) {
        0 => Step::Penalties {
            last_n: window(rng),
            repeat: wide(rng, 0.5..2.0, 0.01..50.0),
            freq: wide(rng, -2.0..2.0, -100.0..100.0),
            present: wide(rng, -2.0..2.0, -100.0..100.0),
        },
        1 => Step::Dry {
            multiplier: float(rng, -0.5..3.0),
            base: float(rng, 0.9..4.0),
            allowed_length: int(rng, -1..4),
            last_n: window(rng),
            breakers: breakers(rng, n_vocab, beyond),
        },
        2 => Step::TopNSigma { n: float(rng, 0.0..4.0) },
        3 => {
            let usual = if rng.random() { 1..20 } else { 1..i32::try_from(n_vocab).unwrap_or(i32::MAX).max(1) + 10 };
            Step::TopK { k: int(rng, usual) }
        }
        4 => Step::TypP { p: float(rng, 0.0..1.0), min_keep: min_keep(rng) },
        5 => Step::TopP { p: top_p(rng), min_keep: min_keep(rng) },
        6 => Step::MinP { p: float(rng, 0.0..1.0), min_keep: min_keep(rng) },
        7 => Step::MinP { p: float(rng, 0.0..0.1), min_keep: min_keep(rng) },
        8 => Step::Xtc { probability: float(rng, 0.0..1.2), threshold: float(rng, 0.0..0.55), min_keep: min_keep(rng) },
        9 => Step::Temp { temp: wide(rng, 0.0..3.0, 3.0..60.0) },
        10 => Step::TempExt { temp: wide(rng, 0.0..3.0, 3.0..60.0), delta: 0.0, exponent: 1.0 },
        11 => Step::TempExt {
            temp: wide(rng, 0.0..3.0, 3.0..60.0),
            delta: float(rng, -0.5..3.0),
            exponent: float(rng, -1.0..3.0),
        },
        _ => Step::LogitBias { bias: biases(rng, n_vocab, beyond) },
    }
}

/// Near 1 the sum runs far, and its last bits decide.
fn top_p(rng: &mut ChaCha8Rng) -> f32 {
    if rng.random_ratio(1, 4) { 1.0 - 10f32.powi(rng.random_range(-7..-1)) } else { float(rng, 0.0..1.0) }
}

/// A step that selects a token.
pub fn selector(rng: &mut ChaCha8Rng) -> Step {
    match rng.random_range(0..12) {
        0..=5 => Step::Dist,
        6 => Step::Greedy,
        7 => Step::Mirostat { tau: wide(rng, 0.0..8.0, 8.0..60.0), eta: float(rng, 0.0..1.0), m: int(rng, 1..200) },
        8 | 9 => Step::MirostatV2 { tau: wide(rng, 0.0..8.0, 8.0..60.0), eta: float(rng, 0.0..1.0) },
        _ => Step::AdaptiveP { target: float(rng, -0.3..1.0), decay: float(rng, 0.0..1.0) },
    }
}
