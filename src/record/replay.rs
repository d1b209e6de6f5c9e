//! Running a chain over a record again.

use std::sync::Arc;

use sampler_steps::{Ctx, Vocab};

use super::error::{RecordError, RecordProblem, ReplayError};
use super::frame::{Mask, Masking};
use super::header::Parameters;
use super::reader::{Frame, Record};
use super::stored::RecordedDraw;
use crate::chain_file::{ChainFile, Format};
use crate::error::SampleError;
use crate::sampler::{Constraint, Sampler, Snapshot};

/// A record replayed draw by draw: what a sampler draws from each row, with the record's history whatever it draws.
#[derive(Debug)]
pub struct Replay<'r> {
    record: &'r Record,
    sampler: Sampler,
    next_frame: usize,
    next_draw: usize,
    row: Vec<f32>,
    has_failed: bool,
}

/// One draw, replayed.
#[derive(Debug, Clone, PartialEq)]
pub struct Replayed {
    /// The draw; 0 is the first.
    pub draw: usize,
    /// The token that the record says.
    pub recorded: u32,
    /// The token that was drawn, or why none was.
    pub drawn: Result<u32, SampleError>,
}

/// What a recorded mask allows.
struct Masked<'r>(Mask<'r>);

impl Constraint for Masked<'_> {
    fn allows(&mut self, token: u32) -> bool {
        self.0.allows(token)
    }
}

impl Record {
    /// A sampler as the record begins: its chain, seed and treatment of rows that are not finite. A chain that needs the
    /// vocabulary needs it here, too.
    ///
    /// # Errors
    /// A vocabulary of another size, a chain that cannot be read (a step of a crate that this program does not use), or DRY
    /// breakers that are not those of the record.
    pub fn sampler(&self, vocab: Option<Arc<dyn Vocab>>) -> Result<Sampler, RecordError> {
        let of = || RecordError::of(self.path());
        if let (Some(there), Some(here)) = (self.n_vocab(), vocab.as_ref().map(|vocab| vocab.n_tokens()))
            && there != here
        {
            return Err(of()(RecordProblem::OtherVocab { there, here }));
        }
        let header = self.header();
        let n_vocab = header.n_vocab.map(|n| n as usize);
        let sampler = sampler_of(&header.parameters, header.seed, n_vocab, vocab).map_err(of())?;
        if header.parameters.has_other_breakers(&sampler.breaker_digests()) {
            return Err(of()(RecordProblem::OtherBreakers));
        }
        Ok(sampler)
    }

    /// Replays the record with a sampler of its own chain: [`sampler`](Self::sampler)'s, or one that was given its breakers.
    pub fn replay(&self, sampler: Sampler) -> Replay<'_> {
        // A record may take back as much as its sampler could.
        let sampler = sampler.with_rewind_depth(usize::MAX);
        Replay { record: self, sampler, next_frame: 0, next_draw: 0, row: Vec::new(), has_failed: false }
    }

    /// Brings any sampler to where a draw is: it accepts what the record accepted and draws from the rows before, so that its
    /// generators and averages are where they would be. What only the record's own chain can follow (its saved state, its
    /// changes of parameters) is passed over by another chain, but for the history.
    ///
    /// # Errors
    /// A token that the sampler does not accept, or tokens that it cannot take back. A row that gives no token is none.
    pub fn lead(&self, sampler: &mut Sampler, draw: usize) -> Result<(), ReplayError> {
        let mut row = Vec::new();
        for i in 0..self.frame_of(draw) {
            match self.frame(i) {
                // A row that gives no token gives none again; what it moved has moved.
                Some(Frame::Draw(draw)) => drop(draw_again(sampler, &draw, &mut row)),
                _ => follow(self, sampler, i, Mode::Any)?,
            }
        }
        Ok(())
    }

    /// Does with any sampler what the record did between a draw and the next: accepts, takes back, resets.
    ///
    /// # Errors
    /// As [`lead`](Self::lead).
    pub fn follow(&self, sampler: &mut Sampler, draw: usize) -> Result<(), ReplayError> {
        let from = self.frame_of(draw).saturating_add(1);
        (from..self.frame_of(draw.saturating_add(1))).try_for_each(|i| follow(self, sampler, i, Mode::Any))
    }
}

impl Replay<'_> {
    /// The sampler, in the state in which the replay is.
    pub fn sampler(&self) -> &Sampler {
        &self.sampler
    }

    /// The sampler: at the end of the replay it is where the record ended.
    pub fn into_sampler(self) -> Sampler {
        self.sampler
    }

    /// Follows the record up to the next draw, which comes next, or to its end.
    ///
    /// # Errors
    /// What the sampler cannot follow. The replay is over then.
    pub fn advance(&mut self) -> Result<(), ReplayError> {
        while let Some(frame) = self.record.frame(self.next_frame)
            && !matches!(frame, Frame::Draw(_))
            && !self.has_failed
        {
            if let Err(error) = follow(self.record, &mut self.sampler, self.next_frame, Mode::Own) {
                self.has_failed = true;
                return Err(error);
            }
            self.next_frame += 1;
        }
        Ok(())
    }
}

impl Iterator for Replay<'_> {
    type Item = Result<Replayed, ReplayError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Err(error) = self.advance() {
            return Some(Err(error));
        }
        let Some(Frame::Draw(recorded)) = self.record.frame(self.next_frame).filter(|_| !self.has_failed) else {
            return None;
        };
        let drawn = draw_again(&mut self.sampler, &recorded, &mut self.row);
        let draw = self.next_draw;
        self.next_frame += 1;
        self.next_draw += 1;
        // What follows the last draw belongs to it.
        if self.next_draw == self.record.n_draws()
            && let Err(error) = self.advance()
        {
            return Some(Err(error));
        }
        Some(Ok(Replayed { draw, recorded: recorded.token, drawn }))
    }
}

/// The sampler of parameters, not yet run.
fn sampler_of(
    parameters: &Parameters,
    seed: u32,
    n_vocab: Option<usize>,
    vocab: Option<Arc<dyn Vocab>>,
) -> Result<Sampler, RecordProblem> {
    let chain = |error: String| RecordProblem::Chain(error);
    let text = parameters.chain.to_string();
    let file = ChainFile::parse(&text, Format::Json, "chain".as_ref()).map_err(|error| chain(error.to_string()))?;
    let mut ctx = Ctx::new(seed);
    if let Some(n_vocab) = n_vocab {
        ctx = ctx.with_n_vocab(n_vocab);
    }
    if let Some(vocab) = vocab {
        ctx = ctx.with_vocab(vocab);
    }
    let sampler = Sampler::from_chain(file.chain, ctx).map_err(|error| chain(error.to_string()))?;
    Ok(sampler.with_non_finite(parameters.non_finite))
}

fn draw_again(sampler: &mut Sampler, draw: &RecordedDraw<'_>, row: &mut Vec<f32>) -> Result<u32, SampleError> {
    draw.copy_row(row);
    match (draw.masking, draw.mask()) {
        (Masking::Redraw, Some(mask)) => sampler.sample_constrained(row, &mut Masked(mask)).map(|drawn| drawn.0),
        (Masking::First, Some(mask)) => sampler.sample_grammar_first(row, &mut Masked(mask)),
        _ => sampler.sample(row),
    }
}

/// What to do with what only the record's own chain can follow.
#[derive(Clone, Copy, PartialEq)]
enum Mode {
    /// The sampler is the record's: what it cannot follow is an error.
    Own,
    /// It may be any: it follows where it has the record's parameters and seed.
    Any,
}

/// Does with a sampler what a frame says that is no draw.
fn follow(record: &Record, sampler: &mut Sampler, i: usize, mode: Mode) -> Result<(), ReplayError> {
    let accept = |source| ReplayError::Accept { frame: i, source };
    let follows = |sampler: &Sampler| match mode {
        Mode::Own => true,
        Mode::Any => sampler.seed() == record.seed_before(i) && has_parameters(sampler, record.parameters_before(i)),
    };
    match record.frame(i) {
        None | Some(Frame::Draw(_)) => Ok(()),
        Some(Frame::Prompt(tokens)) => sampler.accept_prompt_all(&tokens).map_err(accept),
        Some(Frame::Accept(tokens)) => tokens.iter().try_for_each(|&token| sampler.accept(token)).map_err(accept),
        Some(Frame::Rewind(n)) => sampler.rewind(n).map_err(|source| ReplayError::State { frame: i, source }),
        Some(Frame::Reset) => {
            sampler.reset();
            Ok(())
        }
        Some(Frame::Parameters(parameters)) if follows(sampler) => {
            // A running sampler's state, as one with these parameters would have saved it.
            let other = made_of(sampler, i, parameters, sampler.seed())?;
            let mut now = sampler.snapshot();
            now.chain = other.chain_json();
            now.dry_breakers = other.breaker_digests();
            restored(sampler, i, other, &now)
        }
        Some(Frame::Parameters(_)) => Ok(()),
        Some(Frame::State(snapshot)) if follows(sampler) => {
            let parameters = record.parameters_before(i + 1);
            if Parameters::of(sampler).as_ref().is_ok_and(|here| here == parameters) {
                return sampler.restore(snapshot).map_err(|source| ReplayError::State { frame: i, source });
            }
            let other = made_of(sampler, i, parameters, snapshot.seed)?;
            restored(sampler, i, other, snapshot)
        }
        Some(Frame::State(snapshot)) => {
            sampler.reset();
            let (prompt, rest) = snapshot.history.split_at(snapshot.n_prompt.min(snapshot.history.len()));
            sampler.accept_prompt_all(prompt).map_err(accept)?;
            rest.iter().try_for_each(|&token| sampler.accept(token)).map_err(accept)
        }
    }
}

fn has_parameters(sampler: &Sampler, parameters: &Parameters) -> bool {
    Parameters::of(sampler).is_ok_and(|here| here.changes(parameters).is_empty())
}

/// A sampler of other parameters in the same context.
fn made_of(sampler: &Sampler, frame: usize, parameters: &Parameters, seed: u32) -> Result<Sampler, ReplayError> {
    let refused = |problem: RecordProblem| ReplayError::Parameters { frame, what: problem.to_string() };
    let (n_vocab, vocab) = (sampler.ctx().n_vocab(), sampler.ctx().vocab().cloned());
    let other = sampler_of(parameters, seed, n_vocab, vocab).map_err(refused)?;
    if parameters.has_other_breakers(&other.breaker_digests()) {
        return Err(refused(RecordProblem::OtherBreakers));
    }
    Ok(other)
}

/// Puts another sampler in a state in the place of one.
fn restored(sampler: &mut Sampler, frame: usize, mut other: Sampler, state: &Snapshot) -> Result<(), ReplayError> {
    other.restore(state).map_err(|source| ReplayError::State { frame, source })?;
    *sampler = other.with_rewind_depth(usize::MAX);
    Ok(())
}
