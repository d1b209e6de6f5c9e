//! A comparison before it is made.

use std::ops::Range;

use sampler_steps::{Greedy, Vocab};
use sha2::{Digest, Sha256};

use super::error::CompareError;
use super::run;
use super::setup::{ChainSetup, Follow, Setup};
use super::shard::{Comparison, Shard, ShardNumber};
use crate::logits::{LogitsFile, Synthetic};
use crate::sampler::Sampler;

/// Rows of logits that several threads may read.
pub trait RowSource: Sync {
    /// How many rows there are.
    fn n_rows(&self) -> usize;

    /// How many logits a row has.
    fn n_vocab(&self) -> usize;

    /// Copies a row into `row`, in the place of what is there. None beyond the last.
    fn row(&self, i: usize, row: &mut Vec<f32>) -> Option<()>;
}

impl RowSource for LogitsFile {
    fn n_rows(&self) -> usize {
        self.n_rows()
    }

    fn n_vocab(&self) -> usize {
        self.n_vocab()
    }

    fn row(&self, i: usize, row: &mut Vec<f32>) -> Option<()> {
        self.row(i, row)
    }
}

impl RowSource for Synthetic {
    fn n_rows(&self) -> usize {
        self.rows
    }

    fn n_vocab(&self) -> usize {
        self.n_vocab
    }

    fn row(&self, i: usize, row: &mut Vec<f32>) -> Option<()> {
        (i < self.rows).then(|| *row = self.row(i))
    }
}

/// Rows in memory, as wide as the first.
impl RowSource for Vec<Vec<f32>> {
    fn n_rows(&self) -> usize {
        self.len()
    }

    fn n_vocab(&self) -> usize {
        self.first().map_or(0, Vec::len)
    }

    fn row(&self, i: usize, row: &mut Vec<f32>) -> Option<()> {
        self.get(i).map(|found| found.clone_into(row))
    }
}

/// A chain that takes part in a comparison.
#[derive(Debug, Clone)]
pub struct Contestant {
    /// Its name in tables.
    pub name: String,
    /// The chain. What it accepted does not count: it starts again with every seed.
    pub sampler: Sampler,
}

impl Contestant {
    /// A chain with a name.
    pub fn new(name: impl Into<String>, sampler: Sampler) -> Self {
        Self { name: name.into(), sampler }
    }

    /// Whether it takes the best of what is left, so that its distribution is one token.
    pub(super) fn is_greedy(&self) -> bool {
        let mut found = false;
        self.sampler.chain().visit(&mut |_: &Greedy| found = true);
        found
    }

    /// The chain at its start with a seed, after the prompt.
    pub(super) fn start(&self, seed: u32, prompt: &[u32]) -> Result<Sampler, CompareError> {
        let mut sampler = self.sampler.clone();
        sampler.restart(seed);
        sampler.accept_prompt_all(prompt).map_err(|source| {
            let (chain, what) = (self.name.clone(), "the prompt".to_string());
            CompareError::Told { chain, what, source }
        })?;
        Ok(sampler)
    }

    fn setup(&self) -> Result<ChainSetup, CompareError> {
        let wrong = |error: serde_json::Error| {
            let (chain, what) = (self.name.clone(), error.to_string());
            CompareError::Steps { chain, what }
        };
        let steps = serde_json::to_value(self.sampler.chain().steps()).map_err(wrong)?;
        let start = self.start(0, &[])?;
        let mut hash = Sha256::new();
        hash.update(serde_json::to_vec(&start.snapshot()).map_err(wrong)?);
        hash.update(format!("{:?}", start.non_finite()));
        if let Some(vocab) = start.ctx().vocab() {
            hash_vocab(vocab.as_ref(), &mut hash);
        }
        Ok(ChainSetup { name: self.name.clone(), steps, context_sha256: hex::encode(hash.finalize()) })
    }
}

fn hash_vocab(vocab: &dyn Vocab, hash: &mut Sha256) {
    let n_tokens = u32::try_from(vocab.n_tokens()).unwrap_or(u32::MAX);
    hash.update(format!("{n_tokens} {:?} {:?} {:?}", vocab.eot(), vocab.eos(), vocab.suppressed()));
    for id in 0..n_tokens {
        let piece = vocab.piece(id);
        hash.update((piece.len() as u64).to_le_bytes());
        hash.update([u8::from(vocab.is_eog(id)), u8::from(vocab.is_control(id))]);
        hash.update(piece);
    }
}

/// Chains, rows and seeds: all rows and seed 0, unless something else is said.
#[derive(Clone)]
pub struct Plan<'r> {
    pub(super) source: &'r dyn RowSource,
    pub(super) contestants: Vec<Contestant>,
    rows: Range<usize>,
    seeds: Vec<u32>,
    prompt: Vec<u32>,
    follow: Follow,
    timed: bool,
}

impl<'r> Plan<'r> {
    /// A comparison of the first chain with the others.
    pub fn new(source: &'r dyn RowSource, contestants: Vec<Contestant>) -> Self {
        let rows = 0..source.n_rows();
        Self { source, contestants, rows, seeds: vec![0], prompt: Vec::new(), follow: Follow::default(), timed: true }
    }

    /// Only these rows.
    pub fn rows(mut self, rows: Range<usize>) -> Self {
        self.rows = rows;
        self
    }

    /// Once with each of these seeds; each is used as it is.
    pub fn seeds(mut self, seeds: Vec<u32>) -> Self {
        self.seeds = seeds;
        self
    }

    /// The tokens that every chain accepts before the first row.
    pub fn prompt(mut self, prompt: Vec<u32>) -> Self {
        self.prompt = prompt;
        self
    }

    /// Which token every chain accepts after a row.
    pub fn follow(mut self, follow: Follow) -> Self {
        self.follow = follow;
        self
    }

    /// Without times, so that every byte of the result is the same each time.
    pub fn untimed(mut self) -> Self {
        self.timed = false;
        self
    }

    /// What this comparison is of. Reads all rows once, for their digest.
    ///
    /// # Errors
    /// No chains, rows or seeds; two of one name; a chain of another vocabulary.
    pub fn setup(&self) -> Result<Setup, CompareError> {
        let width = self.source.n_vocab();
        for Contestant { name, sampler } in &self.contestants {
            if let Some(n_vocab) = sampler.ctx().n_vocab().filter(|&n_vocab| n_vocab != width) {
                return Err(CompareError::Vocab { chain: name.clone(), n_vocab, width });
            }
        }
        let mut setup = Setup {
            program: env!("CARGO_PKG_VERSION").to_string(),
            rows: self.rows.clone(),
            n_vocab: width,
            logits_sha256: String::new(),
            seeds: self.seeds.clone(),
            prompt: self.prompt.clone(),
            follow: self.follow.clone(),
            timed: self.timed,
            chains: self.contestants.iter().map(Contestant::setup).collect::<Result<_, _>>()?,
        };
        let n_rows = self.source.n_rows();
        if self.rows.is_empty() || self.rows.end > n_rows {
            return Err(CompareError::NoRows { rows: self.rows.clone(), n_rows });
        }
        setup.check()?;
        let (mut hash, mut row) = (Sha256::new(), Vec::new());
        for i in self.rows.clone() {
            self.source.row(i, &mut row).ok_or(CompareError::NoRow(i))?;
            let bytes: Vec<u8> = row.iter().flat_map(|logit| logit.to_le_bytes()).collect();
            hash.update(&bytes);
        }
        setup.logits_sha256 = hex::encode(hash.finalize());
        Ok(setup)
    }

    /// Makes the whole comparison.
    ///
    /// # Errors
    /// A plan that cannot be made, or a chain that draws no token: which chain, row and seed.
    pub fn run(&self) -> Result<Comparison, CompareError> {
        self.run_shard(ShardNumber::WHOLE, &|| {}).map(Comparison::of_whole)
    }

    /// Makes one part of it. `done` is called after every measured cell, from any thread. With feature `rayon` all cores of
    /// the current pool are used; the results are the same.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_shard(&self, number: ShardNumber, done: &(dyn Fn() + Sync)) -> Result<Shard, CompareError> {
        let setup = self.setup()?;
        let cells = run::cells(self, &setup, number.cells(setup.n_cells()?), done)?;
        Ok(Shard { setup, number, cells })
    }
}
