//! The story of one token: which one is meant, and what became of it.

use std::io::{self, Write};

use crate::trace::{Piece, Point, Story};
use crate::{Trace, Vocab};

use super::fit::{WIDTH, bar, cut, percent};
use super::table::{label, params};

/// So many tokens are named that a text means, too.
const MAX_NAMED: usize = 8;

/// The token that a text means: an id, or a piece as it is or as it is shown. Of several it is the first, and `note` is told
/// of the others.
pub fn token(text: &str, n_vocab: usize, vocab: Option<&dyn Vocab>, note: impl FnOnce(String)) -> Result<u32, String> {
    if let Ok(id) = text.parse::<u32>() {
        return if (id as usize) < n_vocab {
            Ok(id)
        } else {
            Err(format!("--why: token {id} is beyond the vocabulary of {n_vocab} tokens"))
        };
    }
    let Some(vocab) = vocab else {
        return Err(format!(
            "--why: \"{text}\" is no token id, and without a vocabulary (--vocab) there are no pieces"
        ));
    };
    let quoted = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).filter(|text| !text.is_empty());
    let (given, text) = (text, quoted.unwrap_or(text));
    let ids = 0..u32::try_from(n_vocab).unwrap_or(u32::MAX);
    let is_meant = |id: &u32| vocab.piece(*id) == text.as_bytes() || shown(vocab, *id) == text;
    let mut meant = ids.clone().filter(is_meant);
    if let Some(id) = meant.next() {
        let others: Vec<u32> = meant.collect();
        if !others.is_empty() {
            let named: Vec<String> = others.iter().take(MAX_NAMED).map(u32::to_string).collect();
            let more = if others.len() > MAX_NAMED { ", …" } else { "" };
            let (n, named) = (others.len() + 1, named.join(", "));
            note(format!("--why: {n} tokens are \"{given}\": {id} is taken, and not {named}{more}; an id says which"));
        }
        return Ok(id);
    }
    let wanted = bare(text);
    let likeness = |id: u32| (strsim::jaro_winkler(&wanted, &bare(&shown(vocab, id))), id);
    let near = ids.map(likeness).filter(|(likeness, _)| *likeness >= 0.75);
    // Of equals the one with the lowest id, which is the most common.
    let near = near.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
    let near = near.map(|(_, id)| format!(" (did you mean {}, token {id}?)", shown(vocab, id)));
    Err(format!("--why: no token is \"{text}\"{}", near.unwrap_or_default()))
}

fn shown(vocab: &dyn Vocab, id: u32) -> String {
    Piece::new(vocab.piece(id)).to_string()
}

/// A piece without what stands around its word.
fn bare(text: &str) -> String {
    text.trim_matches(|c: char| c.is_whitespace() || c == '␠' || c == '␊').to_lowercase()
}

/// Prints a token's rank and probability after each step, and its end.
pub fn print(trace: &Trace, story: &Story, out: &mut impl Write) -> io::Result<()> {
    let piece = story.piece.as_ref().map_or(String::new(), |piece| format!(" {}", cut(&piece.to_string(), 40)));
    writeln!(out, "\ntoken {}{piece}", story.id)?;
    writeln!(out, "   #  step                rank of candidates     prob      logit")?;
    let largest = story.points.iter().flatten().filter_map(|point| point.prob).fold(0.0, f64::max);
    let first = std::iter::once(("".to_string(), "logits", trace.logits.len));
    let steps = trace.steps.iter().map(|step| (step.place_text(), step.step.as_str(), step.after.len));
    let is_shown = |n: usize| n == 0 || trace.steps.get(n - 1).is_some_and(|step| !step.off);
    for (n, ((place, name, len), point)) in first.chain(steps).zip(&story.points).enumerate() {
        match point {
            Some(Point { logit, rank, prob, .. }) if is_shown(n) => {
                let share = prob.filter(|_| largest > 0.0).map_or(0.0, |prob| prob / largest);
                let (label, prob) = (label(&place, name), percent(*prob));
                let line = format!("{label} {rank:>7} of {len:>10} {prob:>8} {logit:>10.4}  ");
                let bar = bar(share, WIDTH.saturating_sub(line.chars().count()));
                writeln!(out, "{}", format!("{line}{bar}").trim_end())?;
            }
            None if n > 0 && story.removed_by == Some(n - 1) => writeln!(out, "{} removed", label(&place, name))?,
            _ => {}
        }
    }
    writeln!(out, "{}", cut(&end(trace, story), WIDTH))
}

/// What became of it.
fn end(trace: &Trace, story: &Story) -> String {
    let by = |n: usize| match trace.steps.get(n) {
        Some(step) => format!("by step {} ({}{})", step.place_text(), step.step, params(&step.params)),
        None => String::new(),
    };
    let before = |n: usize| match story.points.get(n) {
        Some(Some(last)) => format!("at rank {}, {}", last.rank, percent(last.prob)),
        _ => String::new(),
    };
    if let Some(n) = story.removed_by {
        return format!("removed {} {}", by(n), before(n));
    }
    let is_masked = |point: &Option<Point>| point.is_some_and(|point| point.logit == f32::NEG_INFINITY);
    match story.points.last().copied().flatten() {
        _ if story.id == trace.token => format!("drawn, at {}", percent(trace.prob)),
        Some(last) if last.logit == f32::NEG_INFINITY => match story.points.iter().position(is_masked) {
            Some(0) | None => "its logit came as -infinity, so it cannot be drawn".to_string(),
            Some(n) => format!("masked {} {}", by(n - 1), before(n - 1)),
        },
        Some(last) => format!("left at {}, and not drawn", percent(last.prob)),
        None => String::new(),
    }
}
