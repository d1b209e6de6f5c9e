//! Draws and measures: every seed on its own, rows in their order, all chains at each row.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

#[cfg(feature = "rayon")]
use rayon::prelude::*;

use super::cells::{Cell, RowResult};
use super::distribution::Distribution;
use super::error::CompareError;
use super::plan::{Contestant, Plan};
use super::setup::{Follow, Setup};
use crate::error::SampleError;
use crate::sampler::Sampler;

/// A part of the cells, by their numbers.
pub fn cells(
    plan: &Plan<'_>,
    setup: &Setup,
    part: Range<usize>,
    done: &(dyn Fn() + Sync),
) -> Result<Vec<Cell>, CompareError> {
    let per_seed = setup.rows.len();
    // The seeds that the part touches, each with its rows, counted from the setup's first.
    let blocks: Vec<(u32, Range<usize>)> = setup
        .seeds
        .iter()
        .enumerate()
        .map(|(i, &seed)| {
            let begin = i * per_seed;
            let own = part.start.clamp(begin, begin + per_seed)..part.end.clamp(begin, begin + per_seed);
            (seed, own.start - begin..own.end - begin)
        })
        .filter(|(_, rows)| !rows.is_empty())
        .collect();
    // The first block that failed. Those behind it are in vain; those before it go on, as one of them may fail, too: the error
    // that is told is the first in the order of the seeds, and so the same each time.
    let failed = AtomicUsize::new(usize::MAX);
    let run = |shared: bool, i: usize, (seed, rows): (u32, Range<usize>)| {
        let is_vain = || failed.load(Ordering::Relaxed) < i;
        let drawn = Block::new(plan, setup, seed, shared).and_then(|block| block.run(rows, is_vain, done));
        drawn.inspect_err(|_| {
            failed.fetch_min(i, Ordering::Relaxed);
        })
    };
    let blocks: Vec<Vec<Cell>> = run_all(blocks, run).into_iter().collect::<Result<_, _>>()?;
    Ok(blocks.into_iter().flatten().collect())
}

/// Seeds on their threads. Where there are fewer seeds than threads, the chains of a row have threads of their own, too: not
/// else, since a thread that waits for a row's chains begins another seed meanwhile, and so seeds within seeds.
#[cfg(feature = "rayon")]
fn run_all<B: Send, R: Send>(blocks: Vec<B>, run: impl Fn(bool, usize, B) -> R + Sync) -> Vec<R> {
    let shared = blocks.len() < rayon::current_num_threads();
    blocks.into_par_iter().enumerate().map(|(i, block)| run(shared, i, block)).collect()
}

#[cfg(not(feature = "rayon"))]
fn run_all<B, R>(blocks: Vec<B>, run: impl Fn(bool, usize, B) -> R) -> Vec<R> {
    blocks.into_iter().enumerate().map(|(i, block)| run(false, i, block)).collect()
}

/// One seed's way along the rows.
struct Block<'p> {
    plan: &'p Plan<'p>,
    setup: &'p Setup,
    seed: u32,
    lanes: Vec<Lane<'p>>,
    /// Whether the chains of a row are drawn on several threads.
    shared: bool,
}

/// One chain on its way.
struct Lane<'p> {
    contestant: &'p Contestant,
    sampler: Sampler,
    is_greedy: bool,
}

/// A draw, and what it was drawn from unless nobody wants to know.
struct Drawn {
    token: u32,
    took: Duration,
    from: Option<Distribution>,
}

impl<'p> Block<'p> {
    fn new(plan: &'p Plan<'p>, setup: &'p Setup, seed: u32, shared: bool) -> Result<Self, CompareError> {
        let lane = |contestant: &'p Contestant| {
            let sampler = contestant.start(seed, &setup.prompt)?;
            Ok(Lane { contestant, sampler, is_greedy: contestant.is_greedy() })
        };
        let lanes = plan.contestants.iter().map(lane).collect::<Result<_, CompareError>>()?;
        Ok(Self { plan, setup, seed, lanes, shared })
    }

    /// Draws from the first row to the last of `measured`, and measures these; less where it is in vain.
    fn run(
        mut self,
        measured: Range<usize>,
        is_vain: impl Fn() -> bool,
        done: &(dyn Fn() + Sync),
    ) -> Result<Vec<Cell>, CompareError> {
        let mut cells = Vec::with_capacity(measured.len());
        let mut logits = Vec::new();
        for i in 0..measured.end {
            if is_vain() {
                break;
            }
            let row = self.setup.rows.start + i;
            self.plan.source.row(row, &mut logits).ok_or(CompareError::NoRow(row))?;
            let is_measured = measured.contains(&i);
            let mut drawn = self.draw(row, &logits, is_measured)?;
            self.accept(i, &mut drawn)?;
            if is_measured {
                cells.push(self.cell(row, &drawn));
                done();
            }
        }
        Ok(cells)
    }

    fn draw(&mut self, row: usize, logits: &[f32], is_measured: bool) -> Result<Vec<Drawn>, CompareError> {
        let seed = self.seed;
        let draw = |lane: &mut Lane<'p>| lane.draw(seed, row, logits, is_measured);
        #[cfg(feature = "rayon")]
        if self.shared {
            let all: Vec<Result<Drawn, CompareError>> = self.lanes.par_iter_mut().map(draw).collect();
            return all.into_iter().collect();
        }
        let _ = self.shared;
        self.lanes.iter_mut().map(draw).collect()
    }

    /// Tells every chain what came after the row.
    fn accept(&mut self, i: usize, drawn: &mut [Drawn]) -> Result<(), CompareError> {
        let of_baseline = drawn.first().map(|baseline| baseline.token);
        for (lane, drawn) in self.lanes.iter_mut().zip(drawn) {
            let token = match &self.setup.follow {
                Follow::Baseline => of_baseline,
                Follow::Own => None,
                Follow::Tokens(tokens) => tokens.get(i).copied(),
            };
            let begin = Instant::now();
            let accepted = lane.sampler.accept(token.unwrap_or(drawn.token));
            drawn.took += begin.elapsed();
            accepted.map_err(|source| {
                let what = format!("the token after row {}", self.setup.rows.start + i);
                CompareError::Told { chain: lane.contestant.name.clone(), what, source }
            })?;
        }
        Ok(())
    }

    fn cell(&self, row: usize, drawn: &[Drawn]) -> Cell {
        let nothing = Distribution::default();
        let baseline = drawn.first().and_then(|drawn| drawn.from.as_ref()).unwrap_or(&nothing);
        let result = |drawn: &Drawn| {
            let from = drawn.from.as_ref().unwrap_or(&nothing);
            RowResult {
                token: drawn.token,
                kept: from.kept(),
                entropy: from.entropy(),
                tv: baseline.total_variation(from),
                kl: baseline.kl_divergence(from),
                reverse_kl: from.kl_divergence(baseline),
                nanos: self.setup.timed.then(|| u64::try_from(drawn.took.as_nanos()).unwrap_or(u64::MAX)),
            }
        };
        Cell { seed: self.seed, row, chains: drawn.iter().map(result).collect() }
    }
}

impl Lane<'_> {
    fn draw(&mut self, seed: u32, row: usize, logits: &[f32], is_measured: bool) -> Result<Drawn, CompareError> {
        let chain = || self.contestant.name.clone();
        let failed = |source: SampleError| CompareError::Draw { chain: chain(), row, seed, source };
        let begin = Instant::now();
        let mut draw = self.sampler.draw(logits).map_err(failed)?;
        let (token, took) = (draw.token(), begin.elapsed());
        let from = match (is_measured, self.is_greedy) {
            (false, _) => None,
            (true, true) => Some(Distribution::one_hot(token)),
            (true, false) => {
                let wrong = |source| CompareError::Distribution { chain: chain(), row, seed, source };
                Some(Distribution::of_draw(&mut draw).map_err(wrong)?)
            }
        };
        Ok(Drawn { token, took, from })
    }
}
