//! For engines: drafts, taking tokens back, and saving a sampler.

use sampler_steps::{SamplerStep, StateReader, StepError};
use serde::{Deserialize, Serialize};

use super::past::Mark;
use super::{Constraint, Sampler};
use crate::error::SampleError;

/// What cannot be taken back or brought back.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// More tokens are to be taken back than states are kept.
    #[error("{asked} tokens cannot be taken back: the states of {kept} are kept")]
    TooFarBack {
        /// How many were asked for.
        asked: usize,
        /// How many can be taken back.
        kept: usize,
    },
    /// The snapshot is of another chain.
    #[error("the snapshot is of another chain: {there}; this one is {here}")]
    OtherChain {
        /// The snapshot's chain.
        there: String,
        /// This sampler's.
        here: String,
    },
    /// The snapshot is of a version that this crate does not know.
    #[error("version {0} of snapshots is not known; this is version 1")]
    Version(u32),
    /// The snapshot is of a sampler whose DRY steps have other breakers: another vocabulary's, or given by the engine.
    #[error("the snapshot is of a sampler with other DRY breakers")]
    OtherBreakers,
    /// The snapshot's prompt is longer than its history.
    #[error("the snapshot's prompt of {n_prompt} tokens is longer than its history of {len}")]
    Prompt {
        /// Of the prompt.
        n_prompt: usize,
        /// Of the history.
        len: usize,
    },
    /// A token of the snapshot's history is beyond this vocabulary.
    #[error("the snapshot's history: {0}")]
    History(SampleError),
    /// A step does not know its state again.
    #[error("the snapshot's {0}")]
    State(StepError),
}

/// A sampler's whole state: history, generators, averages. As JSON it can go to another process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    version: u32,
    pub(crate) seed: u32,
    /// The chain's steps, to know that it is the same.
    pub(crate) chain: serde_json::Value,
    /// What DRY's breakers became in the vocabulary, which the steps alone do not tell.
    pub(crate) dry_breakers: Vec<u64>,
    pub(crate) history: Vec<u32>,
    pub(crate) n_prompt: usize,
    pub(crate) state: Vec<u64>,
}

impl Sampler {
    /// Draws and accepts along a draft, as `common_sampler_sample_and_accept_n` does: one row a token of the draft, and one
    /// more. It stops at the first token that is not the draft's; so 1 to `draft.len() + 1` tokens come back, all accepted,
    /// and they and the state are those of drawing one by one.
    ///
    /// # Errors
    /// A row that gives no token, or too few rows. The sampler is then as it was before the draft.
    pub fn sample_and_accept<'r>(
        &mut self,
        draft: &[u32],
        rows: impl IntoIterator<Item = &'r [f32]>,
    ) -> Result<Vec<u32>, SampleError> {
        self.sample_and_accept_with(draft, rows, |sampler, row| {
            let token = sampler.sample(row)?;
            sampler.accept(token)
        })
    }

    /// The same with a grammar, which is told of every token: [`sample_constrained`](Self::sample_constrained) and
    /// [`Constraint::accept`] for each.
    ///
    /// # Errors
    /// As [`sample_and_accept`](Self::sample_and_accept). The constraint keeps the tokens that came before the error.
    pub fn sample_and_accept_constrained<'r>(
        &mut self,
        draft: &[u32],
        rows: impl IntoIterator<Item = &'r [f32]>,
        constraint: &mut (impl Constraint + ?Sized),
    ) -> Result<Vec<u32>, SampleError> {
        self.sample_and_accept_with(draft, rows, |sampler, row| {
            let (token, _) = sampler.sample_constrained(row, constraint)?;
            sampler.accept(token)?;
            constraint.accept(token);
            Ok(())
        })
    }

    /// Goes along a draft with a way to draw and accept a token; all or nothing.
    fn sample_and_accept_with<'r>(
        &mut self,
        draft: &[u32],
        rows: impl IntoIterator<Item = &'r [f32]>,
        step: impl FnMut(&mut Self, &[f32]) -> Result<(), SampleError>,
    ) -> Result<Vec<u32>, SampleError> {
        let before = self.mark();
        // No mark of before may go until the draft has succeeded.
        let depth = self.past.make_room(draft.len() + 1);
        let drawn = self.along(draft, rows, step);
        if drawn.is_err() {
            let accepted = self.ctx.history().len() - before.len;
            self.past.back(accepted);
            self.go_back_to(&before);
        }
        self.past.set_depth(depth);
        drawn
    }

    fn along<'r>(
        &mut self,
        draft: &[u32],
        rows: impl IntoIterator<Item = &'r [f32]>,
        mut step: impl FnMut(&mut Self, &[f32]) -> Result<(), SampleError>,
    ) -> Result<Vec<u32>, SampleError> {
        let start = self.ctx.history().len();
        let mut rows = rows.into_iter();
        loop {
            let found = self.ctx.history().len() - start;
            let row = rows.next().ok_or(SampleError::TooFewRows { wanted: draft.len() + 1, found })?;
            step(self, row)?;
            let drawn = &self.ctx.history().tokens()[start..];
            if draft.get(found) != drawn.last() {
                return Ok(drawn.to_vec());
            }
        }
    }

    /// Takes the last `n` accepted tokens back: the history, generators and averages are those of before they were drawn. With
    /// 0 it undoes a draw that was not accepted.
    /// The states of the last 256 tokens are kept; [`with_rewind_depth`](Self::with_rewind_depth) changes that. Together they take
    /// 128 MB at most, which only chains of very many steps reach.
    ///
    /// # Errors
    /// More tokens than states are kept; nothing changes then.
    pub fn rewind(&mut self, n: usize) -> Result<(), EngineError> {
        let kept = self.past.len();
        if n > kept {
            return Err(EngineError::TooFarBack { asked: n, kept });
        }
        let mark = self.past.back(n).cloned().unwrap_or_default();
        self.go_back_to(&mark);
        Ok(())
    }

    /// The same with states kept for the last `n` tokens; 0 for none. A state takes some tens of bytes.
    pub fn with_rewind_depth(mut self, n: usize) -> Self {
        self.past.set_depth(n);
        self
    }

    /// The whole state, to go on from later or elsewhere.
    pub fn snapshot(&self) -> Snapshot {
        let Mark { n_prompt, state, .. } = self.mark();
        Snapshot {
            version: 1,
            seed: self.seed(),
            chain: self.chain_json(),
            dry_breakers: self.breaker_digests(),
            history: self.ctx.history().tokens().to_vec(),
            n_prompt,
            state,
        }
    }

    /// Goes to the state of a snapshot, which was taken of a sampler with the same chain. The seed becomes the snapshot's.
    /// What lies before it cannot be taken back.
    ///
    /// # Errors
    /// A snapshot of another chain, version, vocabulary or table of breakers; nothing changes then.
    pub fn restore(&mut self, snapshot: &Snapshot) -> Result<(), EngineError> {
        if snapshot.version != 1 {
            return Err(EngineError::Version(snapshot.version));
        }
        let here = self.chain_json();
        if snapshot.chain != here {
            return Err(EngineError::OtherChain { there: snapshot.chain.to_string(), here: here.to_string() });
        }
        if snapshot.dry_breakers != self.breaker_digests() {
            return Err(EngineError::OtherBreakers);
        }
        if let Some(n_vocab) = self.ctx.n_vocab()
            && let Some(&token) = snapshot.history.iter().find(|&&token| token as usize >= n_vocab)
        {
            return Err(EngineError::History(SampleError::TokenBeyondVocab { token, n_vocab }));
        }
        if snapshot.n_prompt > snapshot.history.len() {
            return Err(EngineError::Prompt { n_prompt: snapshot.n_prompt, len: snapshot.history.len() });
        }
        let mut other = self.clone();
        other.ctx.set_seed(snapshot.seed);
        let history = other.ctx.history_mut();
        history.clear();
        for (i, &token) in snapshot.history.iter().enumerate() {
            if i < snapshot.n_prompt { history.push_prompt(token) } else { history.push(token) }
        }
        let mut state = StateReader::of_snapshot(&snapshot.state);
        other.chain.load(&mut state, &other.ctx).map_err(EngineError::State)?;
        if !state.is_done() {
            return Err(EngineError::State(StepError::State("it goes on behind the last step".into())));
        }
        other.past.clear();
        other.remember();
        *self = other;
        Ok(())
    }

    pub(crate) fn chain_json(&self) -> serde_json::Value {
        serde_json::to_value(&self.chain).unwrap_or_default()
    }

    /// Where the sampler is now.
    fn mark(&self) -> Mark {
        let mut mark = Mark::default();
        self.write_mark(&mut mark);
        mark
    }

    fn write_mark(&self, mark: &mut Mark) {
        mark.len = self.ctx.history().len();
        mark.n_prompt = self.ctx.history().n_prompt();
        self.chain.save(&mut mark.state);
    }

    /// Keeps a state to go back to.
    pub(super) fn remember(&mut self) {
        let mut mark = std::mem::take(self.past.push());
        self.write_mark(&mut mark);
        self.past.replace_last(mark);
    }

    fn go_back_to(&mut self, mark: &Mark) {
        self.ctx.history_mut().truncate(mark.len, mark.n_prompt);
        let loaded = self.chain.load(&mut StateReader::new(&mark.state), &self.ctx);
        debug_assert_eq!(loaded, Ok(()), "a chain reads what it saved");
    }
}

#[cfg(test)]
mod tests;
