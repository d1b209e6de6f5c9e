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
    /// The sizes of the vocabularies that infill and DRY look into.
    vocabs: Vec<usize>,
}

impl Generator {
    /// A generator; `vocabs` are the sizes of the vocabularies that infill and DRY look into.
    ///
    /// # Errors
    /// The repository's real rows cannot be read.
    pub fn new(vocabs: Vec<usize>) -> Result<Self, LogitsError> {
        Ok(Self { real: RealRows::open()?, vocabs })
    }

    /// Case `i` of a seed, and why something that was drawn for it was left out.
    pub fn case(&self, seed: u64, i: u64) -> (Case, Vec<Reason>) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(i);
        let with_vocab = rng.random_ratio(1, 20);
        let vocab = with_vocab.then(|| usize::from(rng.random_ratio(1, 3)));
        let n_vocab = vocab.map_or_else(|| rows::size(&mut rng), |vocab| self.vocabs[vocab]);
        let mut left_out = Vec::new();
        let steps = self.chain(&mut rng, n_vocab, vocab, &mut left_out);
        // Every pair of hundreds of candidates is compared in libllama.
        let is_slow = vocab == Some(1) && steps.contains(&Step::Infill);
        let draws = if n_vocab > 1024 || is_slow { rng.random_range(2..=4) } else { DRAWS };
        let rows = (0..rng.random_range(1..=draws.min(4))).map(|_| rows::row(&mut rng, n_vocab, &self.real)).collect();
        let start =
            if n_vocab <= 4096 && rng.random_ratio(1, 8) { Some(events::start(&mut rng, n_vocab)) } else { None };
        let prompt = events::prompt(&mut rng, n_vocab);
        let draws = events::draws(&mut rng, n_vocab, draws, &steps, &mut left_out);
        let is_beyond = steps.iter().any(|step| step.largest_id().is_some_and(|id| id as usize >= n_vocab));
        let told = match vocab {
            // This crate refuses ids beyond the vocabulary, where it knows its size.
            None if is_beyond => None,
            // Mirostat's only. A sampler refuses rows of another size: a bare chain runs.
            None if rng.random_ratio(1, 24) => Some(n_vocab * 2 + rng.random_range(0..1000)),
            _ => Some(n_vocab),
        };
        let seeds = rng.random_ratio(1, 12).then(|| steps.iter().map(|_| any_seed(&mut rng)).collect());
        let case = Case {
            seed: any_seed(&mut rng),
            seeds,
            n_vocab,
            told,
            vocab,
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
    fn chain(&self, rng: &mut ChaCha8Rng, n_vocab: usize, vocab: Option<usize>, out: &mut Vec<Reason>) -> Vec<Step> {
        let n = *[0, 1, 1, 1, 2, 2, 3, 3, 4, 5, 6, 8, 10, 14].choose(rng).unwrap_or(&2);
        // A vocabulary says how many tokens there are, and ids beyond are refused.
        let with_beyond = vocab.is_none() && rng.random_ratio(1, 16);
        let mut chain: Vec<Step> = (0..n).map(|_| draw_step(rng, n_vocab, with_beyond, out)).collect();
        if vocab.is_some() && rng.random_ratio(2, 5) {
            chain.insert(rng.random_range(0..=chain.len()), drawn(out, || steps::dry_by_texts(rng)));
        } else if vocab.is_some() {
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
            let inner = (0..rng.random_range(0..4)).map(|_| draw_step(rng, n_vocab, with_beyond, out)).collect();
            chain.insert(rng.random_range(0..=chain.len()), Step::Chain { steps: inner });
        }
        // Steps that select in the middle, which `Sampler` refuses and libllama and a bare chain run.
        if rng.random_ratio(1, 25) {
            chain.insert(rng.random_range(0..=chain.len()), draw_selector(rng, out));
        }
        if !rng.random_ratio(1, 25) {
            chain.push(draw_selector(rng, out));
        }
        // Without a size to be told, mirostat takes the candidates' number here, and libllama's is always told one.
        if with_beyond {
            chain.retain(|step| !matches!(step, Step::Mirostat { .. }));
        }
        chain
    }
}

/// Every seed but the one that asks for a random one.
fn any_seed(rng: &mut ChaCha8Rng) -> u32 {
    let any = rng.random::<u32>().min(u32::MAX - 1);
    *[0, 1, 42, u32::MAX - 1, any, any, any, any].choose(rng).unwrap_or(&7)
}

/// A step that selects nothing. What `left_out` names is drawn again.
fn draw_step(rng: &mut ChaCha8Rng, n_vocab: usize, with_beyond: bool, out: &mut Vec<Reason>) -> Step {
    drawn(out, || steps::step(rng, n_vocab, with_beyond))
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
