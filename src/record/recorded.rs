//! A sampler that writes its own record.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use sampler_steps::{Cand, CandSet, SamplerStep};

use super::error::RecordError;
use super::frame::Masking;
use super::writer::Recorder;
use crate::error::SampleError;
use crate::sampler::{Constraint, EngineError, Sampler};

/// A [`Sampler`] whose draws, accepted tokens and changes go into a record as they happen.
///
/// ```
/// use sampler_chain::{Params, Record, Recorded, Sampler};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("run.record");
/// let sampler = Sampler::new(Params { seed: 42, ..Params::default() })?;
/// let mut sampler = Recorded::create(&path, sampler)?;
/// sampler.accept_prompt_all(&[1, 2, 3])?;
/// let token = sampler.sample(&[0.1, 2.0, -1.0, 1.5])?;
/// sampler.accept(token)?;
/// sampler.rewind(1)?; // the user wants another one
/// let token = sampler.sample(&[0.1, 2.0, -1.0, 1.5])?;
/// sampler.accept(token)?;
///
/// let record = Record::open(&path)?;
/// assert_eq!(record.n_draws(), 2);
/// assert_eq!(record.history(2).tokens(), [1, 2, 3, token]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Recorded<W: Write = File> {
    sampler: Sampler,
    recorder: Recorder<W>,
}

/// Why a recorded sampler gave nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordedError {
    /// The sampler gave no token, or did not accept one.
    #[error(transparent)]
    Sample(#[from] SampleError),
    /// Tokens cannot be taken back.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The record cannot be written. The sampler has moved on.
    #[error(transparent)]
    Record(#[from] RecordError),
}

impl Recorded<File> {
    /// Records a sampler in a new file: [`Recorder::create`].
    ///
    /// # Errors
    /// As there.
    pub fn create(path: &Path, sampler: Sampler) -> Result<Self, RecordError> {
        Ok(Self { recorder: Recorder::create(path, &sampler)?, sampler })
    }
}

impl<W: Write> Recorded<W> {
    /// Records a sampler with a recorder that knows it: one that was made of it, or has been told its
    /// [state](Recorder::state).
    pub fn new(recorder: Recorder<W>, sampler: Sampler) -> Self {
        Self { sampler, recorder }
    }

    /// [`Sampler::sample`], recorded.
    ///
    /// # Errors
    /// As there, and what cannot be written.
    pub fn sample(&mut self, logits: &[f32]) -> Result<u32, RecordedError> {
        let drawn = self.sampler.sample(logits);
        self.record(logits, drawn, Masking::None, None)
    }

    /// The same, and tells the drawn candidate, as [`Draw::selected`](crate::Draw::selected) does.
    ///
    /// # Errors
    /// As [`sample`](Self::sample).
    pub fn select(&mut self, logits: &[f32]) -> Result<Cand, RecordedError> {
        let drawn = self.sampler.draw(logits).map(|mut draw| draw.selected());
        self.record(logits, drawn.as_ref().map(|cand| cand.id).map_err(Clone::clone), Masking::None, None)?;
        Ok(drawn?)
    }

    /// [`Sampler::sample_constrained`], recorded, with what the constraint allowed where the chain ran twice.
    ///
    /// # Errors
    /// As there, and what cannot be written.
    pub fn sample_constrained(
        &mut self,
        logits: &[f32],
        constraint: &mut (impl Constraint + ?Sized),
    ) -> Result<(u32, bool), RecordedError> {
        let mut seen = Seen { constraint, allowed: None };
        let drawn = self.sampler.sample_constrained(logits, &mut seen);
        let redrawn = drawn.as_ref().is_ok_and(|drawn| drawn.1);
        let masking = if redrawn { Masking::Redraw } else { Masking::None };
        let allowed = seen.allowed;
        Ok((self.record(logits, drawn.map(|drawn| drawn.0), masking, allowed)?, redrawn))
    }

    /// [`Sampler::sample_grammar_first`], recorded, with what the constraint allowed.
    ///
    /// # Errors
    /// As there, and what cannot be written.
    pub fn sample_grammar_first(
        &mut self,
        logits: &[f32],
        constraint: &mut (impl Constraint + ?Sized),
    ) -> Result<u32, RecordedError> {
        let mut seen = Seen { constraint, allowed: None };
        let drawn = self.sampler.sample_grammar_first(logits, &mut seen);
        let allowed = seen.allowed;
        self.record(logits, drawn, Masking::First, allowed)
    }

    /// [`Sampler::sample_and_accept`], recorded as the draws and tokens that it makes of the draft.
    ///
    /// # Errors
    /// As there, and what cannot be written. Where the sampler takes all back, nothing is recorded.
    pub fn sample_and_accept<'r>(
        &mut self,
        draft: &[u32],
        rows: impl IntoIterator<Item = &'r [f32]>,
    ) -> Result<Vec<u32>, RecordedError> {
        let mut used = Vec::new();
        let tokens = self.sampler.sample_and_accept(draft, rows.into_iter().inspect(|&row| used.push(row)))?;
        for (row, &token) in used.iter().zip(&tokens) {
            self.recorder.draw(row, token)?;
            self.recorder.accept(token)?;
        }
        Ok(tokens)
    }

    /// [`Sampler::accept`], recorded.
    ///
    /// # Errors
    /// As there, and what cannot be written.
    pub fn accept(&mut self, token: u32) -> Result<(), RecordedError> {
        self.sampler.accept(token)?;
        Ok(self.recorder.accept(token)?)
    }

    /// [`Sampler::accept_prompt_all`], recorded.
    ///
    /// # Errors
    /// As there, and what cannot be written.
    pub fn accept_prompt_all(&mut self, tokens: &[u32]) -> Result<(), RecordedError> {
        let before = self.sampler.ctx().history().len();
        let accepted = self.sampler.accept_prompt_all(tokens);
        let n_accepted = self.sampler.ctx().history().len() - before;
        self.recorder.prompt(tokens.get(..n_accepted).unwrap_or(tokens))?;
        Ok(accepted?)
    }

    /// [`Sampler::rewind`], recorded.
    ///
    /// # Errors
    /// As there, and what cannot be written.
    pub fn rewind(&mut self, n: usize) -> Result<(), RecordedError> {
        self.sampler.rewind(n)?;
        // A replay has the marks of what it has seen, and no others.
        Ok(if self.recorder.can_rewind(n) { self.recorder.rewind(n) } else { self.recorder.state(&self.sampler) }?)
    }

    /// [`Sampler::reset`], recorded.
    ///
    /// # Errors
    /// What cannot be written.
    pub fn reset(&mut self) -> Result<(), RecordedError> {
        self.sampler.reset();
        let is_empty = self.sampler.ctx().history().is_empty();
        Ok(if is_empty { self.recorder.reset() } else { self.recorder.state(&self.sampler) }?)
    }

    /// [`Sampler::visit_mut`], with the parameters that it changed recorded.
    ///
    /// # Errors
    /// What cannot be written.
    pub fn visit_mut<T: SamplerStep>(&mut self, visit: impl FnMut(&mut T)) -> Result<(), RecordedError> {
        self.sampler.visit_mut(visit);
        Ok(self.recorder.parameters(&self.sampler)?)
    }

    /// Does anything else with the sampler (restores a snapshot, puts another in its place), and records the state that it is
    /// in then.
    ///
    /// # Errors
    /// What cannot be written.
    pub fn change<T>(&mut self, change: impl FnOnce(&mut Sampler) -> T) -> Result<T, RecordedError> {
        let changed = change(&mut self.sampler);
        self.recorder.state(&self.sampler)?;
        Ok(changed)
    }

    /// The sampler, to look at.
    pub fn sampler(&self) -> &Sampler {
        &self.sampler
    }

    /// The recorder, to flush what it writes to.
    pub fn recorder(&self) -> &Recorder<W> {
        &self.recorder
    }

    /// The sampler, no longer recorded, and the recorder.
    pub fn into_parts(self) -> (Sampler, Recorder<W>) {
        (self.sampler, self.recorder)
    }

    fn record(
        &mut self,
        logits: &[f32],
        drawn: Result<u32, SampleError>,
        masking: Masking,
        allowed: Option<Vec<bool>>,
    ) -> Result<u32, RecordedError> {
        match drawn {
            Ok(token) => {
                let allowed = allowed.unwrap_or_default();
                let allows = |token: u32| allowed.get(token as usize).copied().unwrap_or(false);
                self.recorder.draw_masked(logits, token, masking, allows)?;
                Ok(token)
            }
            Err(error) => {
                // A chain that failed may have moved its generators.
                self.recorder.state(&self.sampler)?;
                Err(error.into())
            }
        }
    }
}

/// A constraint that remembers what it allowed when it masked a row.
struct Seen<'c, C: ?Sized> {
    constraint: &'c mut C,
    allowed: Option<Vec<bool>>,
}

impl<C: Constraint + ?Sized> Constraint for Seen<'_, C> {
    fn allows(&mut self, token: u32) -> bool {
        self.constraint.allows(token)
    }

    fn accept(&mut self, token: u32) {
        self.constraint.accept(token);
    }

    fn mask(&mut self, cands: &mut CandSet<'_>) {
        self.constraint.mask(cands);
        // What the row itself has at -infinity counts as refused, which changes nothing.
        let mut allowed = Vec::new();
        for cand in cands.as_slice() {
            let id = cand.id as usize;
            if allowed.len() <= id {
                allowed.resize(id + 1, false);
            }
            allowed[id] = cand.logit != f32::NEG_INFINITY;
        }
        self.allowed = Some(allowed);
    }
}
