//! Writing a record, frame by frame.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use serde::Serialize;

use super::error::{RecordError, RecordProblem};
use super::frame::{Buffer, Kind, Masking};
use super::header::{Header, Parameters, State};
use super::reader::Record;
use crate::sampler::Sampler;

/// Writes a record. Every frame is one write of its own, so that a program that ends in the middle of one leaves all before
/// it; see [`Record::cut`]. After a write that failed all others fail.
///
/// It is told what happened, in the order in which it happened; [`Recorded`](super::Recorded) does so by itself.
#[derive(Debug)]
pub struct Recorder<W: Write = File> {
    out: W,
    path: PathBuf,
    n_vocab: Option<usize>,
    parameters: Parameters,
    /// How many tokens are accepted.
    len: usize,
    /// How many of them came after the last state or change of parameters: so many can be taken back in a replay.
    since_state: usize,
    buffer: Buffer,
    is_broken: bool,
}

impl<W: Write> Recorder<W> {
    /// Begins a record of a sampler: the header and, where the sampler has a past already, its state.
    ///
    /// # Errors
    /// What cannot be written.
    pub fn new(out: W, sampler: &Sampler) -> Result<Self, RecordError> {
        let header = Header::of(sampler).map_err(RecordError::of("record".as_ref()))?;
        Self::started(out, "record".into(), &header, sampler)
    }

    /// Begins a record with a header of one's own: an engine with a sampler that is not this crate's says in it what this
    /// crate's would be, so that [`Diff`](crate::Diff) can tell whose tokens are right.
    ///
    /// # Errors
    /// What cannot be written.
    pub fn with_header(out: W, header: &Header) -> Result<Self, RecordError> {
        Self::headed(out, "record".into(), header)
    }

    pub(super) fn started(out: W, path: PathBuf, header: &Header, sampler: &Sampler) -> Result<Self, RecordError> {
        let mut recorder = Self::headed(out, path, header)?;
        let mut fresh = sampler.clone();
        fresh.reset();
        let now = sampler.snapshot();
        if !now.history.is_empty() || fresh.snapshot() != now {
            recorder.state(sampler)?;
        }
        Ok(recorder)
    }

    fn headed(out: W, path: PathBuf, header: &Header) -> Result<Self, RecordError> {
        let n_vocab = header.n_vocab.map(|n| n as usize);
        let mut recorder = Self::over(out, path, n_vocab, header.parameters.clone());
        let line = header.to_line().map_err(|problem| recorder.error(problem))?;
        recorder.out.write_all(&line).map_err(|error| recorder.error(error.into()))?;
        Ok(recorder)
    }

    /// A recorder behind what a record holds.
    pub(super) fn behind(out: W, record: &Record) -> Self {
        let parameters = record.parameters_at(record.n_draws()).clone();
        let mut recorder = Self::over(out, record.path().into(), record.n_vocab(), parameters);
        recorder.len = record.history(record.n_draws()).tokens().len();
        recorder
    }

    fn over(out: W, path: PathBuf, n_vocab: Option<usize>, parameters: Parameters) -> Self {
        let (buffer, is_broken) = (Buffer::default(), false);
        Self { out, path, n_vocab, parameters, len: 0, since_state: 0, buffer, is_broken }
    }

    /// Tokens of a prompt that were accepted.
    ///
    /// # Errors
    /// A token beyond the vocabulary, or what cannot be written.
    pub fn prompt(&mut self, tokens: &[u32]) -> Result<(), RecordError> {
        self.tokens(Kind::Prompt, tokens)
    }

    /// A draw: the row as the model gave it, and the token that the chain drew from it.
    ///
    /// # Errors
    /// A row of another width, a token beyond it, or what cannot be written.
    pub fn draw(&mut self, logits: &[f32], token: u32) -> Result<(), RecordError> {
        self.draw_masked(logits, token, Masking::None, |_| true)
    }

    /// A draw that a constraint took part in, with the tokens that it allowed. With [`Masking::None`] nobody is asked.
    ///
    /// # Errors
    /// As [`draw`](Self::draw).
    pub fn draw_masked(
        &mut self,
        logits: &[f32],
        token: u32,
        masking: Masking,
        allows: impl FnMut(u32) -> bool,
    ) -> Result<(), RecordError> {
        let found = logits.len();
        let width = u32::try_from(found).map_err(|_| self.error(RecordProblem::TooLarge))?;
        match self.n_vocab {
            Some(n_vocab) if n_vocab != found => return Err(self.error(RecordProblem::RowWidth { found, n_vocab })),
            None if found == 0 => return Err(self.error(RecordProblem::RowWidth { found, n_vocab: 1 })),
            _ => {}
        }
        if token >= width {
            return Err(self.error(RecordProblem::TokenBeyondVocab { token, n_vocab: found }));
        }
        let frame = self.buffer.begin(Kind::Draw).word(token).word(masking.number()).word(width);
        frame.words(logits, f32::to_le_bytes);
        if masking != Masking::None {
            frame.mask(found, allows);
        }
        self.send()?;
        self.n_vocab = Some(found);
        Ok(())
    }

    /// A token that was accepted. It need not be the drawn one.
    ///
    /// # Errors
    /// A token beyond the vocabulary, or what cannot be written.
    pub fn accept(&mut self, token: u32) -> Result<(), RecordError> {
        self.tokens(Kind::Accept, &[token])
    }

    /// The last `n` accepted tokens were taken back; 0: a draw was undone. A replay can take back what was accepted after the last
    /// [`state`](Self::state) or change of [`parameters`](Self::parameters); for more than that, tell the state instead.
    ///
    /// # Errors
    /// More tokens than are accepted, or what cannot be written.
    pub fn rewind(&mut self, n: usize) -> Result<(), RecordError> {
        let there = self.len;
        let (Some(left), Ok(word)) = (there.checked_sub(n), u32::try_from(n)) else {
            return Err(self.error(RecordProblem::TooFarBack { asked: n, there }));
        };
        self.buffer.begin(Kind::Rewind).word(word);
        self.send()?;
        self.len = left;
        self.since_state = self.since_state.saturating_sub(n);
        Ok(())
    }

    /// The sampler was brought back to where it was before the first token, with an empty history.
    ///
    /// # Errors
    /// What cannot be written.
    pub fn reset(&mut self) -> Result<(), RecordError> {
        self.buffer.begin(Kind::Reset);
        self.send()?;
        (self.len, self.since_state) = (0, 0);
        Ok(())
    }

    /// The sampler's parameters, where they have changed since they were written last: a step's field, the breakers of DRY. The
    /// state of the steps goes on. For another chain, [`state`](Self::state) tells all.
    ///
    /// # Errors
    /// What cannot be written.
    pub fn parameters(&mut self, sampler: &Sampler) -> Result<(), RecordError> {
        let now = Parameters::of(sampler).map_err(|problem| self.error(problem))?;
        if now != self.parameters {
            self.json(Kind::Parameters, &now)?;
            self.parameters = now;
            self.since_state = 0;
        }
        Ok(())
    }

    /// The sampler's whole state: after this its past no longer matters.
    ///
    /// # Errors
    /// What cannot be written.
    pub fn state(&mut self, sampler: &Sampler) -> Result<(), RecordError> {
        let state = State { non_finite: sampler.non_finite(), snapshot: sampler.snapshot() };
        self.json(Kind::State, &state)?;
        self.parameters = Parameters::of_state(&state);
        (self.len, self.since_state) = (state.snapshot.history.len(), 0);
        Ok(())
    }

    /// What the record is written to, to flush it or see it through to the disk (`recorder.get_ref().sync_data()`).
    pub fn get_ref(&self) -> &W {
        &self.out
    }

    /// What the record was written to.
    pub fn into_inner(self) -> W {
        self.out
    }

    /// Whether a replay can take so many tokens back.
    pub(super) fn can_rewind(&self, n: usize) -> bool {
        n <= self.since_state
    }

    fn tokens(&mut self, kind: Kind, tokens: &[u32]) -> Result<(), RecordError> {
        if let Some(n_vocab) = self.n_vocab
            && let Some(&token) = tokens.iter().find(|&&token| token as usize >= n_vocab)
        {
            return Err(self.error(RecordProblem::TokenBeyondVocab { token, n_vocab }));
        }
        if tokens.is_empty() {
            return Ok(());
        }
        self.buffer.begin(kind).words(tokens, u32::to_le_bytes);
        self.send()?;
        self.len += tokens.len();
        self.since_state += tokens.len();
        Ok(())
    }

    fn json(&mut self, kind: Kind, value: &impl Serialize) -> Result<(), RecordError> {
        if let Err(error) = self.buffer.begin(kind).json(value) {
            return Err(self.error(RecordProblem::Chain(error.to_string())));
        }
        self.send()
    }

    /// Writes the frame in the buffer.
    fn send(&mut self) -> Result<(), RecordError> {
        if self.is_broken {
            return Err(self.error(RecordProblem::Broken));
        }
        let sent = match self.buffer.end() {
            Ok(bytes) => self.out.write_all(bytes),
            Err(problem) => return Err(self.error(problem)),
        };
        sent.map_err(|error| {
            self.is_broken = true;
            self.error(error.into())
        })
    }

    fn error(&self, problem: RecordProblem) -> RecordError {
        RecordError { path: self.path.clone(), problem }
    }
}
