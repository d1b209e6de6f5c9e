//! Rows of logits, and the prompt that was before them.

use std::path::Path;

use sampler_chain::{LogitsFile, Mt19937};

use crate::Failure;

/// The vocabulary of SmolLM2, of which the repository has real rows.
const SMOLLM2: usize = 49_152;

/// Different rows of one width.
pub struct Rows {
    pub n_vocab: usize,
    pub rows: Vec<Vec<f32>>,
    /// Accepted before the first draw.
    pub prompt: Vec<u32>,
}

impl Rows {
    pub fn new(n_vocab: usize, n: usize) -> Result<Self, Failure> {
        let rows = if n_vocab == SMOLLM2 { real(n)? } else { (0..n).map(|i| raised(n_vocab, i)).collect() };
        let prompt = prompt(&rows, n_vocab);
        Ok(Self { n_vocab, rows, prompt })
    }
}

/// Rows of SmolLM2, from all over the file.
fn real(n: usize) -> Result<Vec<Vec<f32>>, Failure> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../data/smollm2.safetensors");
    let file = LogitsFile::open(&path, None)?;
    if n > file.n_rows() {
        return Err(format!("--rows: there are {} real rows of {SMOLLM2}", file.n_rows()).into());
    }
    let mut rows = vec![Vec::new(); n];
    for (i, row) in rows.iter_mut().enumerate() {
        file.row(i * file.n_rows() / n, row).ok_or("a row is missing")?;
    }
    Ok(rows)
}

/// Standard normal logits, 50 of them raised by 10 to 14.
fn raised(n_vocab: usize, i: usize) -> Vec<f32> {
    let mut rng = Mt19937::new(i as u32 + 1);
    let mut row: Vec<f32> = (0..n_vocab).map(|_| normal(&mut rng)).collect();
    for _ in 0..50 {
        let id = rng.next_u32() as usize % n_vocab;
        row[id] += 10.0 + 4.0 * rng.uniform_f32();
    }
    row
}

/// Box and Muller's.
fn normal(rng: &mut Mt19937) -> f32 {
    let (radius, angle) = (1.0 - rng.uniform(), rng.uniform());
    ((-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()) as f32
}

/// The best token of each row and as many random ones, four times over: the penalties find likely tokens to penalise, and
/// DRY finds repetitions.
fn prompt(rows: &[Vec<f32>], n_vocab: usize) -> Vec<u32> {
    let mut rng = Mt19937::new(0);
    let once: Vec<u32> = rows
        .iter()
        .flat_map(|row| {
            let best = (0..n_vocab).max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap_or_default();
            [best as u32, rng.next_u32() % n_vocab as u32]
        })
        .collect();
    once.repeat(4)
}
