//! For engines: drafts, taking tokens back, and saving a sampler.

use sampler_steps::{SamplerStep, StateReader, StepError};
use serde::{Deserialize, Serialize};

use super::Sampler;
use super::past::Mark;
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
    seed: u32,
    /// The chain's steps, to know that it is the same.
    chain: serde_json::Value,
    history: Vec<u32>,
    n_prompt: usize,
    pub(super) state: Vec<u64>,
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
        let before = self.mark();
        let drawn = self.along(draft, rows);
        if drawn.is_err() {
            // What was accepted has left its marks; they go, too.
            let accepted = self.ctx.history().len() - before.len;
            self.past.back(accepted.min(self.past.len()));
            self.go_back_to(&before);
        }
        drawn
    }

    fn along<'r>(&mut self, draft: &[u32], rows: impl IntoIterator<Item = &'r [f32]>) -> Result<Vec<u32>, SampleError> {
        let mut rows = rows.into_iter();
        let mut tokens = Vec::with_capacity(draft.len() + 1);
        loop {
            let row = rows.next().ok_or(SampleError::TooFewRows { wanted: draft.len() + 1, found: tokens.len() })?;
            let token = self.sample(row)?;
            self.accept(token)?;
            tokens.push(token);
            if draft.get(tokens.len() - 1) != Some(&token) {
                return Ok(tokens);
            }
        }
    }

    /// Takes the last `n` accepted tokens back: the history, generators and averages are those of before they were drawn.
    /// The states of the last 256 tokens are kept; [`with_rewind_depth`](Self::with_rewind_depth) changes that.
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
            history: self.ctx.history().tokens().to_vec(),
            n_prompt,
            state,
        }
    }

    /// Goes to the state of a snapshot, which was taken of a sampler with the same chain. The seed becomes the snapshot's.
    /// What lies before it cannot be taken back.
    ///
    /// # Errors
    /// A snapshot of another chain, version or vocabulary; nothing changes then.
    pub fn restore(&mut self, snapshot: &Snapshot) -> Result<(), EngineError> {
        if snapshot.version != 1 {
            return Err(EngineError::Version(snapshot.version));
        }
        let here = self.chain_json();
        if snapshot.chain != here {
            return Err(EngineError::OtherChain { there: snapshot.chain.to_string(), here: here.to_string() });
        }
        if let Some(n_vocab) = self.ctx.n_vocab()
            && let Some(&token) = snapshot.history.iter().find(|&&token| token as usize >= n_vocab)
        {
            return Err(EngineError::History(SampleError::TokenBeyondVocab { token, n_vocab }));
        }
        let mut other = self.clone();
        other.ctx.set_seed(snapshot.seed);
        let history = other.ctx.history_mut();
        history.clear();
        for (i, &token) in snapshot.history.iter().enumerate() {
            if i < snapshot.n_prompt { history.push_prompt(token) } else { history.push(token) }
        }
        let mut state = StateReader::new(&snapshot.state);
        other.chain.load(&mut state, &other.ctx).map_err(EngineError::State)?;
        if !state.is_done() {
            return Err(EngineError::State(StepError::State("it goes on behind the last step".into())));
        }
        other.past.clear();
        other.remember();
        *self = other;
        Ok(())
    }

    fn chain_json(&self) -> serde_json::Value {
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
