//! Finding where two records part.

use std::sync::Arc;

use sampler_steps::Vocab;

use super::side::{Pair, Played};
use super::{Cause, Diff, DiffError, Difference, Earlier, LogitsDifference, Parting, PartingToken, Side};
use crate::record::{Masking, Record, RecordProblem, RecordedDraw};

impl Diff {
    /// Compares two records, and replays both. The vocabulary is needed where the chain needs it.
    ///
    /// # Errors
    /// Records of different vocabularies, or a vocabulary that is not theirs. A record that cannot be replayed for another
    /// reason is compared, and [`Replayed::stopped`](super::Replayed::stopped) tells.
    pub fn between(a: &Record, b: &Record, vocab: Option<Arc<dyn Vocab>>) -> Result<Self, DiffError> {
        Self::between_seen(a, b, vocab, || {})
    }

    /// The same, and `seen` is told of every draw that was replayed, of both records.
    ///
    /// # Errors
    /// As [`between`](Self::between).
    pub fn between_seen(
        a: &Record,
        b: &Record,
        vocab: Option<Arc<dyn Vocab>>,
        mut seen: impl FnMut(),
    ) -> Result<Self, DiffError> {
        if let (Some(a_tokens), Some(b_tokens)) = (a.n_vocab(), b.n_vocab())
            && a_tokens != b_tokens
        {
            return Err(DiffError::OtherVocab { a: a.path().into(), b: b.path().into(), a_tokens, b_tokens });
        }
        let (mut parting, earlier) = compare(a, b);
        let at = parting.as_ref().map(|parting| parting.draw);
        let mut play = |record: &Record| match record.sampler(vocab.clone()) {
            Ok(sampler) => Ok(Played::of(record, sampler, at, &mut seen)),
            Err(error) if matches!(error.problem, RecordProblem::OtherVocab { .. }) => Err(error),
            Err(error) => Ok(Played::not(error.problem.to_string())),
        };
        let (a_played, b_played) = (play(a)?, play(b)?);
        if let Some(parting) = &mut parting {
            parting.learn(&a_played, &b_played, !earlier.is_empty());
        }
        Ok(Self {
            n_same: at.unwrap_or(a.n_draws()),
            a: Side::of(a, a_played.replayed),
            b: Side::of(b, b_played.replayed),
            parting,
            earlier,
        })
    }
}

impl Parting {
    /// Adds what the replays told.
    fn learn(&mut self, a: &Played, b: &Played, has_earlier: bool) {
        for (token, played) in [(&mut self.a, a), (&mut self.b, b)] {
            if let Some(token) = token {
                token.drawn = played.drawn;
            }
        }
        if matches!(self.cause, Cause::Accepted | Cause::Length) {
            return;
        }
        // States of other chains cannot be compared.
        let is_same_chain = !self.differences.iter().any(|difference| difference.cause() == Cause::Parameters);
        let state = match (&a.state, &b.state) {
            (Some(a), Some(b)) => (is_same_chain && a != b).then_some(Difference::State { seen: true }),
            _ => (self.differences.is_empty() && has_earlier).then_some(Difference::State { seen: false }),
        };
        self.differences.extend(state);
        self.differences.sort_by_key(Difference::cause);
        self.cause = self.differences.first().map_or(Cause::Sampler, Difference::cause);
    }
}

/// A draw that both gave, and what was accepted before it.
struct Last {
    draw: usize,
    tokens: [PartingToken; 2],
    had_other_history: bool,
    lens: [usize; 2],
}

/// Walks both records until they part.
fn compare(a: &Record, b: &Record) -> (Option<Parting>, Vec<Earlier>) {
    let mut pair = Pair::new(a, b);
    let mut earlier = Vec::new();
    let mut last: Option<Last> = None;
    for draw in 0.. {
        let draws = (pair.a.advance(), pair.b.advance());
        let mut differences = pair.before_draw();
        if let Some(parting) = last.take().and_then(|last| after_draw(last, &pair, a, b, draws)) {
            return (Some(parting), earlier);
        }
        let (a_draw, b_draw) = match draws {
            (Some(a_draw), Some(b_draw)) => (a_draw, b_draw),
            (None, None) => {
                // Behind the last draw: what no draw has met.
                note(&mut earlier, draw, 0, differences);
                break;
            }
            (a_draw, b_draw) => return (Some(end(draw, a_draw, b_draw)), earlier),
        };
        let had_other_history = differences.iter().any(|difference| difference.cause() == Cause::History);
        differences.extend(LogitsDifference::between(a_draw.row_bytes(), b_draw.row_bytes()).map(Difference::Logits));
        differences.extend(constraint(&a_draw, &b_draw));
        let tokens = [a_draw, b_draw].map(token);
        if a_draw.token != b_draw.token {
            let cause = differences.first().map_or(Cause::Sampler, Difference::cause);
            let [a, b] = tokens.map(Some);
            return (Some(Parting { draw, cause, a, b, differences }), earlier);
        }
        note(&mut earlier, draw, 1, differences);
        last = Some(Last { draw, tokens, had_other_history, lens: pair.history_lens() });
    }
    (None, earlier)
}

/// Whether the records part after a draw that gave both the same token: at what was accepted, or taken back.
fn after_draw(
    last: Last,
    pair: &Pair<'_>,
    a: &Record,
    b: &Record,
    next: (Option<RecordedDraw<'_>>, Option<RecordedDraw<'_>>),
) -> Option<Parting> {
    let draw = last.draw;
    let after = pair.history_difference();
    let [a_tokens, b_tokens] = [(&pair.a, a, last.lens[0]), (&pair.b, b, last.lens[1])].map(|(walk, record, len)| {
        // However it is written down: frame by frame, or as a state.
        walk.tokens().get(len..).map_or_else(|| record.accepted(draw), <[u32]>::to_vec)
    });
    let is_same = if last.had_other_history { a_tokens == b_tokens } else { after.is_none() };
    // A record that ends there has accepted less, and nothing else.
    let has_ended = match next {
        (None, Some(_)) => b_tokens.starts_with(&a_tokens),
        (Some(_), None) => a_tokens.starts_with(&b_tokens),
        _ => false,
    };
    if is_same || has_ended {
        return None;
    }
    let differences = vec![Difference::Accepted { a: a_tokens, b: b_tokens, after }];
    let [a, b] = last.tokens.map(Some);
    Some(Parting { draw, cause: Cause::Accepted, a, b, differences })
}

fn token(draw: RecordedDraw<'_>) -> PartingToken {
    PartingToken { token: draw.token, drawn: None }
}

/// The parting of records of which one ends.
fn end(draw: usize, a: Option<RecordedDraw<'_>>, b: Option<RecordedDraw<'_>>) -> Parting {
    Parting { draw, cause: Cause::Length, a: a.map(token), b: b.map(token), differences: Vec::new() }
}

fn constraint(a: &RecordedDraw<'_>, b: &RecordedDraw<'_>) -> Option<Difference> {
    let is_same = a.masking == b.masking && a.mask() == b.mask();
    let only_one = (a.masking == Masking::None) != (b.masking == Masking::None);
    (!is_same).then_some(Difference::Constraint { only_one })
}

/// Keeps the first of each kind, and counts.
fn note(earlier: &mut Vec<Earlier>, draw: usize, n_draws: usize, differences: Vec<Difference>) {
    for difference in differences {
        match earlier.iter_mut().find(|known| known.difference.cause() == difference.cause()) {
            Some(known) => known.n_draws += n_draws,
            None => earlier.push(Earlier { draw, n_draws, difference }),
        }
    }
    earlier.sort_by_key(|known| known.difference.cause());
}
