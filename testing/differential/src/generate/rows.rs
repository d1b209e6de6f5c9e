//! Rows of logits of many kinds.

use std::path::Path;

use rand::Rng;
use rand::seq::{IndexedRandom, SliceRandom};
use rand_chacha::ChaCha8Rng;
use sampler_chain::{LogitsError, LogitsFile, Synthetic, SyntheticKind};

use crate::case::Row;

/// The classes of sizes, each with its largest.
pub const SIZES: [(&str, usize); 8] = [
    ("1", 1),
    ("2 to 16", 16),
    ("17 to 128", 128),
    ("129 to 511", 511),
    ("512 to 1,024", 1024),
    ("1,025 to 4,096", 4096),
    ("49,152", 49_152),
    ("151,669", 151_669),
];

/// The class of a size.
pub fn size_class(n: usize) -> &'static str {
    SIZES.iter().find(|(_, largest)| n <= *largest).map_or("more", |(name, _)| name)
}

/// How many tokens there are: mostly few, so that there are many cases.
pub fn size(rng: &mut ChaCha8Rng) -> usize {
    match rng.random_range(0..10_000) {
        0..6 => 151_669,
        6..46 => 49_152,
        46..700 => rng.random_range(1025..=4096),
        // From 512 on this crate leaves rows where they are.
        700..1600 => rng.random_range(512..=1024),
        1600..2300 => rng.random_range(129..512),
        2300..5000 => rng.random_range(17..=128),
        5000..9700 => rng.random_range(2..=16),
        _ => 1,
    }
}

/// The repository's rows of SmolLM2, each as it is and by falling logit.
#[derive(Debug)]
pub struct RealRows(Vec<[Vec<f32>; 2]>);

impl RealRows {
    /// Reads `testing/data/smollm2.safetensors`.
    ///
    /// # Errors
    /// A file that is not as it should be.
    pub fn open() -> Result<Self, LogitsError> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../data/smollm2.safetensors");
        let file = LogitsFile::open(&path, None)?;
        let read = |i| {
            let mut row = Vec::new();
            file.row(i, &mut row)?;
            let mut falling = row.clone();
            falling.sort_unstable_by(|a, b| b.total_cmp(a));
            Some([row, falling])
        };
        Ok(Self((0..file.n_rows()).filter_map(read).collect()))
    }

    /// `n` logits of a row: all of it, a piece, or the best; more than it has are filled with its own once more, a little lower.
    fn some(&self, rng: &mut ChaCha8Rng, n: usize) -> Vec<f32> {
        let Some([row, falling]) = self.0.choose(rng) else { return vec![0.0; n] };
        if n < row.len() {
            if rng.random() {
                return shuffled(rng, falling[..n].to_vec());
            }
            let from = rng.random_range(0..=row.len() - n);
            return row[from..from + n].to_vec();
        }
        let mut longer = row.clone();
        for i in row.len()..n {
            longer.push(longer[i - row.len()] - 0.125);
        }
        longer
    }
}

/// The kinds of rows, each with how often it comes.
pub const KINDS: [(&str, u32); 20] = [
    ("real", 14),
    ("uniform", 8),
    ("peaked", 8),
    ("ties", 8),
    ("masked", 6),
    ("few values", 6),
    ("all equal", 3),
    ("neighbours", 4),
    ("bucket edges", 4),
    ("zeros", 3),
    ("denormals", 3),
    ("huge", 4),
    ("tiny differences", 3),
    ("steep", 4),
    ("flat", 4),
    ("shaped", 4),
    ("one left", 2),
    ("all masked", 1),
    ("+infinity", 2),
    ("NaN", 2),
];

/// A row of a random kind.
pub fn row(rng: &mut ChaCha8Rng, n: usize, real: &RealRows) -> Row {
    let kind = KINDS.choose_weighted(rng, |kind| kind.1).map_or("uniform", |kind| kind.0);
    let logits = match kind {
        "real" => real.some(rng, n),
        "uniform" => synthetic(rng, n, SyntheticKind::Uniform),
        "peaked" => synthetic(rng, n, SyntheticKind::Peaked),
        "ties" => synthetic(rng, n, SyntheticKind::Ties),
        "masked" => synthetic(rng, n, SyntheticKind::Masked),
        _ => made(rng, n, kind),
    };
    Row { kind, logits }
}

fn synthetic(rng: &mut ChaCha8Rng, n_vocab: usize, kind: SyntheticKind) -> Vec<f32> {
    Synthetic { kind, seed: rng.random(), n_vocab, rows: 1 }.row(0)
}

fn made(rng: &mut ChaCha8Rng, n: usize, kind: &str) -> Vec<f32> {
    let level = *[0.0f32, 3.0, -7.5, 40.0, -300.0].choose(rng).unwrap_or(&0.0);
    match kind {
        "few values" => {
            let values: Vec<f32> = (0..rng.random_range(2..5)).map(|_| rng.random_range(-6.0..12.0)).collect();
            (0..n).map(|_| *values.choose(rng).unwrap_or(&level)).collect()
        }
        "all equal" => vec![level; n],
        // Floats next to each other.
        "neighbours" => {
            let base = level.to_bits() + 4096;
            (0..n).map(|_| f32::from_bits(base + rng.random_range(0..6))).collect()
        }
        // Where llama.cpp's sort changes from one of its 128 buckets to the next, and beyond its ends.
        "bucket edges" => (0..n).map(|_| nudged(rng.random_range(-70..70) as f32 / 6.4, rng)).collect(),
        "zeros" => (0..n).map(|_| *[0.0, -0.0, -0.0, 1e-30].choose(rng).unwrap_or(&0.0)).collect(),
        "denormals" => {
            (0..n).map(|_| f32::from_bits(rng.random_range(0..0x80_0000) | rng.random::<u32>() & 1 << 31)).collect()
        }
        "huge" => {
            let values = [f32::MAX, f32::MIN, 1e38, -1e38, 3.3e38, 1e30, 88.0, 104.0, -104.0, 0.0, f32::NEG_INFINITY];
            (0..n).map(|_| *values.choose(rng).unwrap_or(&0.0)).collect()
        }
        "tiny differences" => (0..n).map(|_| level + rng.random_range(-1e-5..1e-5)).collect(),
        // Sums of probabilities that run from 1 to nothing.
        "steep" => shuffled(rng, (0..n).map(|i| 10.0 - i as f32 * 1.7).collect()),
        "flat" => (0..n).map(|_| level + rng.random_range(-0.1..0.1)).collect(),
        "shaped" => shaped(rng, n),
        "one left" => with_some(rng, vec![f32::NEG_INFINITY; n], level),
        "all masked" => vec![f32::NEG_INFINITY; n],
        "+infinity" => {
            let row = synthetic(rng, n, SyntheticKind::Peaked);
            with_some(rng, row, f32::INFINITY)
        }
        "NaN" => {
            let row = synthetic(rng, n, SyntheticKind::Masked);
            with_some(rng, row, f32::NAN)
        }
        _ => unreachable!("no kind {kind}"),
    }
}

/// The same, or a float beside it.
fn nudged(x: f32, rng: &mut ChaCha8Rng) -> f32 {
    match rng.random_range(0..4) {
        0 => x.next_up(),
        1 => x.next_down(),
        _ => x,
    }
}

/// Orders that a sort has a hard or an easy time with.
fn shaped(rng: &mut ChaCha8Rng, n: usize) -> Vec<f32> {
    let scale = *[0.01f32, 0.3, 5.0].choose(rng).unwrap_or(&1.0);
    let shape = rng.random_range(0..4);
    (0..n)
        .map(|i| {
            let place = match shape {
                0 => i,
                1 => n - i,
                2 => i.min(n - i),
                _ => i * 7919 % n,
            };
            place as f32 * scale / n as f32 * 20.0
        })
        .collect()
}

fn shuffled(rng: &mut ChaCha8Rng, mut row: Vec<f32>) -> Vec<f32> {
    row.shuffle(rng);
    row
}

/// Puts a value into some places.
fn with_some(rng: &mut ChaCha8Rng, mut row: Vec<f32>, value: f32) -> Vec<f32> {
    for _ in 0..*[1, 1, 1, 2, 5].choose(rng).unwrap_or(&1) {
        let at = rng.random_range(0..row.len());
        row[at] = value;
    }
    row
}
