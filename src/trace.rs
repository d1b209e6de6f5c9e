//! One draw, step by step: what each step of a chain does to a distribution.
//!
//! [`Sampler::trace`] draws a token as [`Sampler::sample`] does, and writes down the candidates as they come and after every
//! step. A [`Trace`] is data: it can be saved as JSON and read again.
//!
//! ```
//! use sampler_chain::{Chain, Ctx, Sampler, TraceOptions, steps};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let chain = Chain::new().with(steps::TopK { k: 2 }).with(steps::Dist::default());
//! let mut sampler = Sampler::from_chain(chain, Ctx::new(42))?;
//! let trace = sampler.trace(&[3.0, 1.0, 2.0, 0.0], &TraceOptions { follow: vec![1], ..TraceOptions::default() })?;
//! let top_k = &trace.steps[0];
//! assert_eq!((top_k.before, top_k.after.len, top_k.removed), (4, 2, 2));
//! let mass = top_k.mass.ok_or("a distribution")?;
//! assert!((mass.removed + mass.kept - 1.0).abs() < 1e-15);
//! let story = trace.story(1).ok_or("the story that was asked for")?;
//! assert_eq!(story.removed_by, Some(0));
//! # Ok(())
//! # }
//! ```
//!
//! # What the numbers are of
//! The distribution at any moment is the softmax of the candidates' logits as they are then, taken in f64 by the trace itself
//! from what the set holds. The steps' own f32 probabilities ([`Cand::p`](crate::Cand)) are neither read nor changed. Where
//! the logits are no distribution (one is NaN or +infinity, all are -infinity, none is left), what is made of
//! it is None.

mod mass;
mod moment;
mod observe;
mod piece;
mod story;
mod time;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use piece::Piece;
pub use story::{Point, Story};
pub use time::Time;

use crate::error::SampleError;
use crate::sampler::Sampler;
use observe::Observer;

/// The version of [`Trace`] as it is written.
pub const TRACE_VERSION: u32 = 1;

/// What a trace holds beside the numbers of each step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceOptions {
    /// How many of the most likely candidates are told after each step, and how many of those that it removed. Default 10.
    pub top: usize,
    /// Tokens whose [`Story`] is told, besides the drawn one's. Default none.
    pub follow: Vec<u32>,
    /// How often the draw is done again on clones that nobody looks into, to take its [`Time`]; the quickest counts. 0 takes
    /// none. Default 3.
    pub timed_draws: u32,
}

impl Default for TraceOptions {
    fn default() -> Self {
        Self { top: 10, follow: Vec::new(), timed_draws: 3 }
    }
}

/// One draw, step by step. Keys that it does not know are passed over when it is read, so a line of `sampler-chain trace --json`,
/// which tells its row, is one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Trace {
    /// [`TRACE_VERSION`]; a trace of another one is not read.
    #[serde(deserialize_with = "read_version")]
    pub version: u32,
    /// The seed of every generator.
    pub seed: u32,
    /// How many tokens had been accepted before the draw.
    pub n_accepted: usize,
    /// How many of these lie before the end of the prompt.
    pub n_prompt: usize,
    /// The drawn token.
    pub token: u32,
    /// Its bytes, where there is a vocabulary.
    pub piece: Option<Piece>,
    /// Its probability among the candidates that the chain left.
    pub prob: Option<f64>,
    /// The candidates before the first step.
    pub logits: Set,
    /// Every step, those of nested chains one by one. A step of another kind that is made of steps is one. Empty where
    /// the chain did not run, because of [`NonFinite::FiniteArgmax`](crate::NonFinite).
    pub steps: Vec<Step>,
    /// The stories of the tokens that were to be followed, in their order, and of the drawn token.
    pub stories: Vec<Story>,
    /// How long the draw takes, where that was asked.
    pub time: Option<Time>,
}

/// The candidates at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Set {
    /// How many there are.
    pub len: usize,
    /// llama.cpp's flag: whether they are known to be sorted by falling logit.
    pub sorted: bool,
    /// The place of the selected one, from 0.
    pub selected: Option<usize>,
    /// The entropy of their distribution in bits: 0 for a certain token, log2 of their number where all are alike.
    pub entropy: Option<f64>,
    /// The most likely ones, at most [`TraceOptions::top`]; of equals, those that stand first.
    pub top: Vec<Candidate>,
}

/// A candidate at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Candidate {
    /// The token.
    pub id: u32,
    /// Its bytes, where there is a vocabulary.
    pub piece: Option<Piece>,
    /// Its logit. In JSON `"inf"`, `"-inf"` and `"nan"` for what is no number there.
    #[serde(with = "mass::logit")]
    pub logit: f32,
    /// Its probability, from 0 to 1.
    pub prob: Option<f64>,
    /// Its probability before the step; None before the first, and for a candidate that the step brought in.
    pub was: Option<f64>,
}

/// What one step did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Step {
    /// Where it stands: `[1]` is the first, `[2, 1]` the first step of the chain that is the second.
    pub place: Vec<usize>,
    /// Its `type` in chain files.
    pub step: String,
    /// Its parameters, as in chain files.
    pub params: Map<String, Value>,
    /// Whether its parameters switch it off.
    pub off: bool,
    /// How many candidates there were before it.
    pub before: usize,
    /// The candidates after it.
    pub after: Set,
    /// How many candidates it removed.
    pub removed: usize,
    /// How many it brought in: infill does so with the end of generation where it leaves nothing else.
    pub added: usize,
    /// How many of those that stayed have another place among those that stayed.
    pub moved: usize,
    /// How many of those that stayed have another logit.
    pub changed: usize,
    /// How many of these have a logit of -infinity now, and had another one.
    pub masked: usize,
    /// What it did to the distribution.
    pub mass: Option<Mass>,
    /// The most likely ones of those that it removed, at most [`TraceOptions::top`], with the logit and the probability that
    /// they had.
    pub out: Vec<Candidate>,
    /// How long it took, in nanoseconds, in a draw that nobody looked into ([`Time`]).
    pub ns: Option<u64>,
}

/// What a step did to a distribution, in shares of 1.
///
/// `removed + kept` is 1 within 2 [`f64::EPSILON`], and `removed + lost` is `gained` within 5, however many candidates there are:
/// all are compensated sums of f64 quotients.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Mass {
    /// The probability, before the step, of the candidates that it removed.
    pub removed: f64,
    /// The probability, before the step, of those that stayed.
    pub kept: f64,
    /// What those that stayed and became less likely lost.
    pub lost: f64,
    /// What others gained: the total variation between the distributions before and after. 0: the same distribution; 1: nothing
    /// in common.
    pub gained: f64,
}

impl Trace {
    /// The story of a token, if it was followed.
    pub fn story(&self, token: u32) -> Option<&Story> {
        self.stories.iter().find(|story| story.id == token)
    }

    /// The candidates after the last step.
    pub fn last(&self) -> &Set {
        self.steps.last().map_or(&self.logits, |step| &step.after)
    }
}

impl Step {
    /// Where it stands, as errors and pages say it: `2.1`.
    pub fn place_text(&self) -> String {
        let places: Vec<String> = self.place.iter().map(usize::to_string).collect();
        places.join(".")
    }

    /// Whether it left the candidates as they were, their order included.
    pub fn is_idle(&self) -> bool {
        self.removed == 0 && self.added == 0 && self.moved == 0 && self.changed == 0
    }
}

impl Sampler {
    /// Draws a token from a row of logits, as [`sample`](Self::sample) does, and tells what every step did. Generators move
    /// as by `sample`, the token is the same, and the history does not change.
    ///
    /// Looking writes all candidates out after every step, so this takes some milliseconds for a large vocabulary.
    /// [`Trace::time`] is that of a draw which nobody looks into.
    ///
    /// # Errors
    /// As [`sample`](Self::sample). A token to follow that is beyond the row is refused before anything moves.
    pub fn trace(&mut self, logits: &[f32], options: &TraceOptions) -> Result<Trace, SampleError> {
        self.trace_seen(logits, options, |_| {})
    }

    /// The same, and shows every step as it is told: those of a draw that gives no token, too, of which there is no trace.
    ///
    /// # Errors
    /// As [`trace`](Self::trace).
    pub fn trace_seen(
        &mut self,
        logits: &[f32],
        options: &TraceOptions,
        mut seen: impl FnMut(&Step),
    ) -> Result<Trace, SampleError> {
        let n_vocab = logits.len();
        if let Some(&token) = options.follow.iter().find(|&&token| token as usize >= n_vocab && n_vocab > 0) {
            return Err(SampleError::TokenBeyondVocab { token, n_vocab });
        }
        let mut scout = self.clone();
        let (seed, history) = (self.seed(), self.ctx().history());
        let (n_accepted, n_prompt) = (history.len(), history.n_prompt());

        // A clone draws the same token, so its story can be followed from the start.
        let mut follow: Vec<u32> = Vec::new();
        let drawn = scout.clone().sample(logits).ok();
        for token in options.follow.iter().copied().chain(drawn) {
            if !follow.contains(&token) {
                follow.push(token);
            }
        }

        let vocab = self.ctx().vocab().cloned();
        let mut observer = Observer::new(logits, vocab.clone(), options.top, &follow);
        let draw = self.run(
            logits,
            |_| Ok(()),
            |chain, cands, ctx| {
                chain.apply_each(cands, ctx, |place, step, cands| seen(observer.see(place, step, cands)));
            },
        )?;
        let token = draw.token();
        let time = time::of_draw(&mut scout, logits, options.timed_draws);
        let prob = observer.prob(token);
        let (logits, mut steps, stories) = observer.done();
        let time = time.map(|(time, of_steps)| {
            steps.iter_mut().zip(of_steps).for_each(|(step, ns)| step.ns = Some(ns));
            time
        });
        let piece = vocab.map(|vocab| Piece::new(vocab.piece(token)));
        let version = TRACE_VERSION;
        Ok(Trace { version, seed, n_accepted, n_prompt, token, piece, prob, logits, steps, stories, time })
    }
}

fn read_version<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    match u32::deserialize(deserializer)? {
        TRACE_VERSION => Ok(TRACE_VERSION),
        other => Err(serde::de::Error::custom(format!("a trace of version {other}; {TRACE_VERSION} can be read"))),
    }
}

#[cfg(test)]
mod tests;
