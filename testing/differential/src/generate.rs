//! Cases by seed and number: case i of a seed is always the same.

mod events;
mod rows;
mod steps;

use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sampler_chain::{LogitsError, NonFinite};

use crate::case::{Case, End};
use crate::left_out::{self, Reason};
use crate::step::Step;
pub use rows::{KINDS, RealRows, SIZES, size_class};

/// Draws a case has, unless it has more than 1,024 tokens: the first, and the next ten.
pub const DRAWS: usize = 11;

/// Makes cases.
#[derive(Debug)]
pub struct Generator {
    real: RealRows,
    /// The size of the vocabulary that infill looks into.
    n_infill: usize,
}

impl Generator {
    /// A generator; `n_infill` is the size of the vocabulary that infill looks into.
    ///
    /// # Errors
    /// The repository's real rows cannot be read.
    pub fn new(n_infill: usize) -> Result<Self, LogitsError> {
        Ok(Self { real: RealRows::open()?, n_infill })
    }

    /// Case `i` of a seed, and why something that was drawn for it was left out.
    pub fn case(&self, seed: u64, i: u64) -> (Case, Vec<Reason>) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(i);
        let with_infill = rng.random_ratio(1, 30);
        let n_vocab = if with_infill { self.n_infill } else { rows::size(&mut rng) };
        let mut left_out = Vec::new();
        let steps = self.chain(&mut rng, n_vocab, with_infill, &mut left_out);
        let draws = if n_vocab > 1024 { rng.random_range(2..=4) } else { DRAWS };
        let rows = (0..rng.random_range(1..=draws.min(4))).map(|_| rows::row(&mut rng, n_vocab, &self.real)).collect();
        let start =
            if n_vocab <= 4096 && rng.random_ratio(1, 8) { Some(events::start(&mut rng, n_vocab)) } else { None };
        let prompt = events::prompt(&mut rng, n_vocab);
        let draws = events::draws(&mut rng, n_vocab, draws, &steps, &mut left_out);
        let case = Case {
            // Every value but the one that asks for a random seed.
            seed: *[0, 1, 42, u32::MAX - 1, rng.random::<u32>() >> 1].choose(&mut rng).unwrap_or(&7),
            n_vocab,
            steps,
            rows,
            start,
            prompt,
            draws,
            looks: if rng.random_ratio(1, 3) { rng.random() } else { 0 },
            end: *[End::Token, End::Token, End::Selected, End::All].choose(&mut rng).unwrap_or(&End::All),
            policy: if rng.random_ratio(1, 4) { NonFinite::Refuse } else { NonFinite::LikeLlamaCpp },
        };
        (case, left_out)
    }

    /// A chain: some steps, and usually one that selects at its end.
    fn chain(&self, rng: &mut ChaCha8Rng, n_vocab: usize, with_infill: bool, out: &mut Vec<Reason>) -> Vec<Step> {
        let n = *[0, 1, 1, 1, 2, 2, 3, 3, 4, 5, 6, 8, 10, 14].choose(rng).unwrap_or(&2);
        let mut chain: Vec<Step> = (0..n).map(|_| draw_step(rng, n_vocab, out)).collect();
        if with_infill {
            let at = rng.random_range(0..=chain.len());
            chain.insert(at, Step::Infill);
            // It compares every candidate with every other.
            if !rng.random_ratio(1, 12) {
                chain.insert(at, Step::TopK { k: rng.random_range(1..40) });
            }
            if rng.random_ratio(1, 4) {
                chain.push(Step::Infill);
            }
        }
        if rng.random_ratio(1, 12) {
            let inner = (0..rng.random_range(0..4)).map(|_| draw_step(rng, n_vocab, out)).collect();
            chain.insert(rng.random_range(0..=chain.len()), Step::Chain { steps: inner });
        }
        // Steps that select in the middle, which `Sampler` refuses and libllama and a bare chain run.
        if rng.random_ratio(1, 25) {
            chain.insert(rng.random_range(0..=chain.len()), draw_selector(rng, out));
        }
        if !rng.random_ratio(1, 25) {
            chain.push(draw_selector(rng, out));
        }
        chain
    }
}

/// A step that selects nothing. What `left_out` names is drawn again.
fn draw_step(rng: &mut ChaCha8Rng, n_vocab: usize, out: &mut Vec<Reason>) -> Step {
    drawn(out, || steps::step(rng, n_vocab))
}

fn draw_selector(rng: &mut ChaCha8Rng, out: &mut Vec<Reason>) -> Step {
    drawn(out, || steps::selector(rng))
}

fn drawn(out: &mut Vec<Reason>, mut draw: impl FnMut() -> Step) -> Step {
    loop {
        let step = draw();
        match left_out::parameters(&step) {
            Some(reason) => out.push(reason),
            None => return step,
        }
    }
}
