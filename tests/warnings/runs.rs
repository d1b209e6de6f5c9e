//! Runs chains over rows and a fixed history, and watches the candidates at a place.

use std::cell::RefCell;

use sampler_chain::steps::StepError;
use sampler_chain::{CandSet, Chain, Ctx, Facts, Sampler, SamplerStep};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::cases::{Random, context};

pub const N_VOCAB: usize = 40;

thread_local! {
    static SEEN: RefCell<Vec<Seen>> = const { RefCell::new(Vec::new()) };
}

/// What a watch saw.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    pub mark: u32,
    pub draw: usize,
    /// Tokens, logits and probabilities in their order.
    pub cands: Vec<(u32, f32, f32)>,
    pub sorted: bool,
}

impl Seen {
    /// The tokens that can be drawn.
    pub fn alive(&self) -> Vec<u32> {
        let mut ids: Vec<u32> =
            self.cands.iter().filter(|cand| cand.1 > f32::NEG_INFINITY).map(|cand| cand.0).collect();
        ids.sort_unstable();
        ids
    }

    pub fn ids(&self) -> Vec<u32> {
        let mut ids: Vec<u32> = self.cands.iter().map(|cand| cand.0).collect();
        ids.sort_unstable();
        ids
    }
}

/// Writes down the candidates, and changes nothing.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Watch {
    mark: u32,
}

#[typetag::serde(name = "watch")]
impl SamplerStep for Watch {
    fn apply(&mut self, cands: &mut CandSet<'_>, ctx: &mut Ctx) {
        let (mark, draw, sorted) = (self.mark, ctx.history().len(), cands.is_sorted());
        let cands = cands.as_slice().iter().map(|cand| (cand.id, cand.logit, cand.p)).collect();
        SEEN.with_borrow_mut(|seen| seen.push(Seen { mark, draw, cands, sorted }));
    }

    fn facts(&self) -> Facts {
        Facts::TRUNCATION
    }
}

/// A step of somebody's own that holds a chain: nobody knows what comes back from it.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Somebodys {
    #[serde(with = "sampler_chain::steps::steps")]
    chain: Chain,
}

#[typetag::serde(name = "somebodys")]
impl SamplerStep for Somebodys {
    fn prepare(&mut self, ctx: &Ctx) -> Result<(), StepError> {
        self.chain.prepare(ctx)
    }

    fn apply(&mut self, cands: &mut CandSet<'_>, ctx: &mut Ctx) {
        self.chain.apply(cands, ctx);
    }

    fn chains(&self) -> Vec<(&'static str, &Chain)> {
        vec![("chain", &self.chain)]
    }

    fn chains_mut(&mut self) -> Vec<&mut Chain> {
        vec![&mut self.chain]
    }
}

pub fn watch(mark: u32) -> Value {
    json!({"type": "watch", "mark": mark})
}

/// The chain of such steps, if none refuses its parameters and one selects.
pub fn sampler(steps: &[Value], seed: u32) -> Option<Sampler> {
    let steps: Vec<Box<dyn SamplerStep>> = serde_json::from_value(json!(steps)).unwrap();
    Sampler::from_chain(Chain::from(steps), context(seed, N_VOCAB, true)).ok()
}

/// Rows, and the token that is accepted after each, whatever is drawn.
#[derive(Debug, Clone)]
pub struct Text {
    pub seed: u32,
    pub prompt: Vec<u32>,
    pub rows: Vec<(Vec<f32>, u32)>,
}

impl Text {
    pub fn random(random: &mut Random, n: usize) -> Self {
        let most = *random.of(&[3, 5, N_VOCAB]);
        let mut tokens = |n: usize| -> Vec<u32> { (0..n).map(|_| random.below(most) as u32).collect() };
        let (prompt, drawn) = (tokens(6), tokens(n));
        let rows = drawn.into_iter().map(|token| (row(random), token)).collect();
        Self { seed: random.bits() as u32, prompt, rows }
    }

    /// One in which each of eleven tokens has followed token 0, and rows in which one to twelve of the first stand out.
    pub fn repeating(random: &mut Random) -> Self {
        let prompt = (1..12).flat_map(|token| [0, token]).chain([0]).collect();
        let rows = (0..12).map(|n| {
            let mut row = row(random);
            (0..=n).for_each(|i| row[i] = 200.0 + i as f32 / 16.0);
            (row, 0)
        });
        Self { seed: 3, prompt, rows: rows.collect() }
    }

    /// The token of each row; none where the chain leaves nothing or a NaN.
    pub fn tokens(&self, steps: &[Value]) -> Vec<Option<u32>> {
        self.draw(steps, |sampler, row| sampler.sample(row).ok())
    }

    /// The tokens, and what the watches in the chain saw.
    pub fn watched(&self, steps: &[Value]) -> (Vec<Option<u32>>, Vec<Seen>) {
        SEEN.take();
        let tokens = self.tokens(steps);
        (tokens, SEEN.take())
    }

    fn draw<T>(&self, steps: &[Value], draw: impl Fn(&mut Sampler, &[f32]) -> T) -> Vec<T> {
        let mut sampler = sampler(steps, self.seed).unwrap_or_else(|| panic!("{}", json!(steps)));
        sampler.accept_prompt_all(&self.prompt).unwrap();
        let mut step = |(row, next): &(Vec<f32>, u32)| {
            let drawn = draw(&mut sampler, row);
            sampler.accept(*next).unwrap();
            drawn
        };
        self.rows.iter().map(&mut step).collect()
    }
}

/// Logits that differ by a sixteenth or more; peaked or flat, some with one, two or four that stand out (the first tokens
/// often, which the bans and biases of these tests are about), some with masks of the engine's.
fn row(random: &mut Random) -> Vec<f32> {
    let mut places: Vec<usize> = (0..N_VOCAB).collect();
    (1..N_VOCAB).rev().for_each(|i| places.swap(i, random.below(i + 1)));
    let apart = *random.of(&[0.0625, 0.25, 1.0]);
    let mut row: Vec<f32> = places.into_iter().map(|place| (place as f32 - 20.0) * apart).collect();
    let (n_high, are_first) = (*random.of(&[0, 0, 1, 1, 2, 4, 12]), random.below(3) == 0);
    for n in 0..n_high {
        let any = if random.below(3) > 0 { random.below(6) } else { random.below(N_VOCAB) };
        let at = if are_first { n } else { any };
        row[at] = 60.0 + n as f32 * *random.of(&[0.0625, 1.0, 4.0]);
    }
    if random.below(6) == 0 {
        for logit in &mut row {
            if *logit < 50.0 && random.below(3) == 0 {
                *logit = f32::NEG_INFINITY;
            }
        }
    }
    if row.iter().all(|logit| *logit == f32::NEG_INFINITY) {
        row[7] = 1.0;
    }
    row
}

/// The list of steps that holds the step at a place as warnings name it, and its index there.
pub fn find<'v>(steps: &'v mut Vec<Value>, place: &str) -> (&'v mut Vec<Value>, usize) {
    let mut parts = place.split('.').peekable();
    let mut list = steps;
    loop {
        let at: usize = parts.next().unwrap().parse::<usize>().unwrap() - 1;
        let Some(next) = parts.peek() else { return (list, at) };
        let field = if next.parse::<usize>().is_ok() { "steps" } else { parts.next().unwrap() };
        list = match &mut list[at][field] {
            Value::Array(inner) => inner,
            other => panic!("{place}: {other}"),
        };
    }
}

/// The chain with the step at a place changed: nothing, one or several in its stead.
pub fn replaced(steps: &[Value], place: &str, by: impl FnOnce(Value) -> Vec<Value>) -> Vec<Value> {
    let mut steps = steps.to_vec();
    let (list, at) = find(&mut steps, place);
    let step = list[at].clone();
    list.splice(at..=at, by(step));
    steps
}
