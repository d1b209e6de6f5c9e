//! One of the records, followed draw by draw.

use super::{Difference, HistoryDifference, OtherToken, ParameterChange, Replayed, Side};
use crate::record::{Frame, Parameters, Record, RecordedDraw, Tokens};
use crate::sampler::Sampler;

/// A record, at one of its draws.
pub struct Walk<'r> {
    record: &'r Record,
    next_frame: usize,
    past: Tokens,
    parameters: &'r Parameters,
    seed: u32,
    /// Whether the parameters may have changed since somebody asked.
    has_changed: bool,
}

impl<'r> Walk<'r> {
    pub fn new(record: &'r Record) -> Self {
        let header = record.header();
        Self {
            record,
            next_frame: 0,
            past: Tokens::default(),
            parameters: &header.parameters,
            seed: header.seed,
            has_changed: true,
        }
    }

    /// What is accepted.
    pub fn tokens(&self) -> &[u32] {
        self.past.tokens()
    }

    /// Goes on to the next draw, or to the end.
    pub fn advance(&mut self) -> Option<RecordedDraw<'r>> {
        loop {
            let frame = self.record.frame(self.next_frame)?;
            self.next_frame += 1;
            if let Frame::Draw(draw) = frame {
                return Some(draw);
            }
            self.past.follow(&frame);
            if let Frame::Parameters(_) | Frame::State(_) = frame {
                self.parameters = self.record.parameters_before(self.next_frame);
                self.seed = self.record.seed_before(self.next_frame);
                self.has_changed = true;
            }
        }
    }
}

/// Both records, and how their parameters differ now.
pub struct Pair<'r> {
    pub a: Walk<'r>,
    pub b: Walk<'r>,
    changes: Vec<ParameterChange>,
}

impl<'r> Pair<'r> {
    pub fn new(a: &'r Record, b: &'r Record) -> Self {
        Self { a: Walk::new(a), b: Walk::new(b), changes: Vec::new() }
    }

    pub fn history_lens(&self) -> [usize; 2] {
        [self.a.tokens().len(), self.b.tokens().len()]
    }

    pub fn history_difference(&self) -> Option<HistoryDifference> {
        history(&self.a.past, &self.b.past)
    }

    /// What differs in what both know before a draw.
    pub fn before_draw(&mut self) -> Vec<Difference> {
        let (a, b) = (&mut self.a, &mut self.b);
        if a.has_changed || b.has_changed {
            self.changes = a.parameters.changes(b.parameters);
            (a.has_changed, b.has_changed) = (false, false);
        }
        let mut found = Vec::new();
        found.extend(history(&a.past, &b.past).map(Difference::History));
        if !self.changes.is_empty() {
            found.push(Difference::Parameters { changes: self.changes.clone() });
        }
        if a.seed != b.seed {
            found.push(Difference::Seed { a: a.seed, b: b.seed });
        }
        found
    }
}

fn history(a: &Tokens, b: &Tokens) -> Option<HistoryDifference> {
    if a == b {
        return None;
    }
    let (a_tokens, b_tokens) = (a.tokens(), b.tokens());
    let shorter = a_tokens.len().min(b_tokens.len());
    let index = a_tokens.iter().zip(b_tokens).position(|(a, b)| a != b);
    let index = index.or((a_tokens.len() != b_tokens.len()).then_some(shorter));
    let (a_prompt, b_prompt) = (a.n_prompt(), b.n_prompt());
    if index.is_none() && a_prompt == b_prompt {
        // The prompt's parts came otherwise, which no step can tell.
        return None;
    }
    let at = |tokens: &[u32]| index.and_then(|index| tokens.get(index).copied());
    Some(HistoryDifference {
        index,
        a: at(a_tokens),
        b: at(b_tokens),
        a_len: a_tokens.len(),
        b_len: b_tokens.len(),
        a_prompt,
        b_prompt,
    })
}

/// What became of a record's replay.
pub struct Played {
    pub replayed: Replayed,
    /// This crate's token at the parting.
    pub drawn: Option<u32>,
    /// What the steps remembered before that draw.
    pub state: Option<Vec<u64>>,
}

impl Played {
    /// Replays a record, and looks at what the steps remember before a draw. `seen` is told of every draw.
    pub fn of(record: &Record, sampler: Sampler, at: Option<usize>, seen: &mut impl FnMut()) -> Self {
        let mut played = Self { replayed: Replayed::default(), drawn: None, state: None };
        let mut replay = record.replay(sampler);
        loop {
            if at == Some(played.replayed.n_draws) && replay.advance().is_ok() {
                played.state = Some(replay.sampler().snapshot().state);
            }
            match replay.next() {
                None => return played,
                Some(Err(error)) => {
                    played.replayed.stopped = Some(error.to_string());
                    return played;
                }
                Some(Ok(draw)) => {
                    seen();
                    let (drawn, error) = match draw.drawn {
                        Ok(token) => (Some(token), None),
                        Err(error) => (None, Some(error.to_string())),
                    };
                    if at == Some(draw.draw) {
                        played.drawn = drawn;
                    }
                    let replayed = &mut played.replayed;
                    replayed.n_draws += 1;
                    if drawn == Some(draw.recorded) {
                        replayed.n_same += 1;
                    } else if replayed.first_other.is_none() {
                        let (draw, recorded) = (draw.draw, draw.recorded);
                        replayed.first_other = Some(OtherToken { draw, recorded, drawn, error });
                    }
                }
            }
        }
    }

    /// A record that cannot be replayed at all.
    pub fn not(why: String) -> Self {
        Self { replayed: Replayed { stopped: Some(why), ..Replayed::default() }, drawn: None, state: None }
    }
}

impl Side {
    pub(super) fn of(record: &Record, replay: Replayed) -> Self {
        let header = record.header();
        Self {
            path: record.path().into(),
            n_draws: record.n_draws(),
            seed: header.seed,
            program: header.program.clone(),
            note: header.note.clone(),
            is_cut: record.is_cut(),
            replay,
        }
    }
}
