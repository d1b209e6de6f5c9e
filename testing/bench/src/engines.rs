//! What an engine is, this crate as one, and the floor.

use sampler_chain::{Params, Sampler};

use crate::Failure;
use crate::rows::Rows;

/// Something that is timed. It is made for one chain and has accepted the prompt.
pub trait Engine {
    fn name(&self) -> &'static str;

    /// Draws a token from row `i` and accepts it: what the clock runs for. None from the floor, which draws nothing.
    fn draw(&mut self, i: usize, row: &[f32]) -> Result<Option<u32>, Failure>;
}

/// This crate.
pub struct Ours(Sampler);

impl Ours {
    pub const NAME: &str = "sampler-chain";

    pub fn new(params: &Params, rows: &Rows) -> Result<Self, Failure> {
        let mut sampler = Sampler::new(Params { n_vocab: Some(rows.n_vocab), ..params.clone() })?;
        sampler.accept_prompt_all(&rows.prompt)?;
        Ok(Self(sampler))
    }
}

impl Engine for Ours {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn draw(&mut self, _: usize, row: &[f32]) -> Result<Option<u32>, Failure> {
        let token = self.0.sample(row)?;
        self.0.accept(token)?;
        Ok(Some(token))
    }
}

/// One vector pass over the row for its maximum: what any sampler has to do at least.
pub struct Floor(pulp::Arch);

impl Floor {
    pub const NAME: &str = "floor";

    pub fn new() -> Self {
        Self(pulp::Arch::new())
    }

    pub fn max(&self, row: &[f32]) -> f32 {
        self.0.dispatch(|| vector_max(row))
    }
}

impl Engine for Floor {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn draw(&mut self, _: usize, row: &[f32]) -> Result<Option<u32>, Failure> {
        std::hint::black_box(self.max(std::hint::black_box(row)));
        Ok(None)
    }
}

/// 64 maxima side by side, so that the compiler keeps them in several vector registers and no compare waits for the last.
#[inline(always)]
fn vector_max(row: &[f32]) -> f32 {
    let mut best = [f32::NEG_INFINITY; 64];
    let (blocks, rest) = row.as_chunks::<64>();
    for block in blocks {
        for (best, &x) in best.iter_mut().zip(block) {
            *best = if x > *best { x } else { *best };
        }
    }
    best.iter().chain(rest).fold(f32::NEG_INFINITY, |a, &b| if b > a { b } else { a })
}
