//! Random sets of candidates, histories and prompts, over a small vocabulary.

use std::sync::{Arc, OnceLock};

use sampler_chain::{Cand, Ctx, EncodeError, Vocab};

/// A generator of the tests' own.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 up to below `n`; 0 where that is none.
    pub fn below(&mut self, n: usize) -> usize {
        (self.bits() % (n as u64).max(1)) as usize
    }

    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn of<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// Roughly normal.
    fn normal(&mut self) -> f64 {
        (0..6).map(|_| self.uniform() - 0.5).sum::<f64>() * 1.4
    }
}

/// A vocabulary in which breakers, end tokens and parts of characters come again and again.
#[derive(Debug)]
struct Pieces(usize);

const PIECES: [&[u8]; 10] = [b"a", b"\n", b"</s>", b"b", b"\xe2\x82", b"ab", b":", b" c", b"\xac", b"a:"];

impl Vocab for Pieces {
    fn n_tokens(&self) -> usize {
        self.0
    }

    fn piece(&self, id: u32) -> &[u8] {
        if (id as usize) < self.0 { PIECES[id as usize % PIECES.len()] } else { &[] }
    }

    fn is_eog(&self, id: u32) -> bool {
        self.piece(id) == b"</s>"
    }

    fn eot(&self) -> Option<u32> {
        None
    }

    /// The only token of the smallest one ends the text, too.
    fn eos(&self) -> Option<u32> {
        Some(2.min(self.0 as u32 - 1))
    }

    fn encode(&self, text: &[u8]) -> Result<Vec<u32>, EncodeError> {
        Ok(text.iter().map(|byte| u32::from(*byte) % self.0 as u32).collect())
    }
}

const SIZES: [usize; 8] = [1, 2, 3, 8, 12, 40, 300, 3000];

/// A context with so many tokens, with a vocabulary or without one.
pub fn context(seed: u32, n_vocab: usize, has_vocab: bool) -> Ctx {
    static KNOWN: OnceLock<Vec<Arc<dyn Vocab>>> = OnceLock::new();
    let known = KNOWN.get_or_init(|| SIZES.map(|n| Arc::new(Pieces(n)) as Arc<dyn Vocab>).to_vec());
    let vocab = known.iter().find(|vocab| vocab.n_tokens() == n_vocab).filter(|_| has_vocab);
    match vocab {
        Some(vocab) => Ctx::new(seed).with_vocab(vocab.clone()),
        None => Ctx::new(seed).with_n_vocab(n_vocab),
    }
}

/// The accepted tokens, the one between two draws at the end.
#[derive(Debug, Clone, PartialEq)]
pub struct Past {
    pub prompt: Vec<u32>,
    pub drawn: Vec<u32>,
    pub next: u32,
}

/// One set and two pasts.
#[derive(Debug, Clone)]
pub struct Case {
    pub seed: u32,
    pub n_vocab: usize,
    pub cands: Vec<Cand>,
    /// Whether the set is a row of logits, of which no array was written yet.
    pub is_row: bool,
    pub sorted: bool,
    pub past: Past,
    /// Other tokens, and another number of them.
    pub other: Past,
    /// The same tokens, of which others are the prompt's.
    pub split: Past,
}

impl Case {
    /// A case of any kind, or one whose logits are so far apart that arithmetic makes none of them equal.
    pub fn random(random: &mut Random, far_apart: bool) -> Self {
        // Large sets are few: they take longest.
        let n_vocab = SIZES[random.below(SIZES.len() - 2) + random.below(12) / 10 + random.below(40) / 39];
        let is_row = random.below(2) == 0;
        let n = if is_row || random.below(2) == 0 { n_vocab } else { 1 + random.below(n_vocab) };
        let logits = if far_apart { distinct(random, n) } else { row(random, n) };
        let mut ids: Vec<u32> = (0..n_vocab as u32).collect();
        if !is_row && random.below(3) > 0 {
            (1..ids.len()).rev().for_each(|i| ids.swap(i, random.below(i + 1)));
        }
        let mut cands: Vec<Cand> = ids.iter().zip(&logits).map(|(&id, &logit)| Cand { id, logit, p: 0.0 }).collect();
        let sorted = !is_row && random.below(2) == 0;
        if sorted {
            cands.sort_by(|a, b| b.logit.total_cmp(&a.logit));
        }
        let past = Past::random(random, n_vocab);
        let tokens = [past.prompt.clone(), past.drawn.clone()].concat();
        let at = random.below(tokens.len() + 1);
        let split = Past { prompt: tokens[..at].to_vec(), drawn: tokens[at..].to_vec(), next: past.next };
        let other = Past::random(random, n_vocab);
        Self { seed: random.bits() as u32, n_vocab, cands, is_row, sorted, past, other, split }
    }
}

impl Past {
    /// Few different tokens, so that they repeat each other.
    fn random(random: &mut Random, n_vocab: usize) -> Self {
        let most = [2, 3, 6, 12][random.below(4)].min(n_vocab);
        let mut tokens = |n: usize| -> Vec<u32> { (0..n).map(|_| random.below(most) as u32).collect() };
        let (prompt, drawn, next) = (tokens(12), tokens(12), tokens(1)[0]);
        let (n_prompt, n_drawn) = (random.below(13), random.below(13));
        Self { prompt: prompt[..n_prompt].to_vec(), drawn: drawn[..n_drawn].to_vec(), next }
    }
}

/// Logits of one of many shapes, one at least above -infinity.
fn row(random: &mut Random, n: usize) -> Vec<f32> {
    let kind = random.below(9);
    let scale = *random.of(&[0.1, 1.0, 3.0, 12.0]);
    let mut logits: Vec<f32> = (0..n)
        .map(|_| match kind {
            // Many ties.
            0 => random.below(5) as f64 - 2.0,
            // All equal.
            1 => 1.25,
            // Powers of two, whose probabilities tie.
            2 => random.below(4) as f64 * std::f64::consts::LN_2,
            // Next to each other.
            3 => 1.0 + random.below(20) as f64 * f64::from(f32::EPSILON),
            // Huge, those above 0 as far as llama.cpp's bucket sort goes.
            4 => (random.normal() * 10f64.powi(random.below(31) as i32)).min(1e8),
            _ => random.normal() * scale,
        })
        .map(|logit| logit as f32)
        .collect();
    let best = random.below(n);
    match kind {
        // Peaked: one, or two that tie.
        5 => {
            logits[best] += 30.0;
            let second = random.below(n);
            logits[second] = logits[best];
        }
        // One alone.
        6 => (0..n).filter(|i| *i != best).for_each(|i| logits[i] = f32::NEG_INFINITY),
        _ => {}
    }
    // Masks, in either way that engines write them.
    if random.below(3) == 0 {
        let mask = *random.of(&[f32::NEG_INFINITY, f32::NEG_INFINITY, f32::MIN, -1e9]);
        for i in (0..n).filter(|i| *i != best) {
            if random.below(3) == 0 {
                logits[i] = mask;
            }
        }
    }
    logits
}

/// Different multiples of an eighth or more in any order, around 0.
fn distinct(random: &mut Random, n: usize) -> Vec<f32> {
    let mut places: Vec<usize> = (0..n).collect();
    (1..n).rev().for_each(|i| places.swap(i, random.below(i + 1)));
    let apart = *random.of(&[0.125, 0.5, 2.0]);
    places.into_iter().map(|place| (place as f32 - n as f32 / 2.0) * apart).collect()
}
