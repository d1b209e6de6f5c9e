//! A comparison in words, 80 columns wide.

use std::io::{self, Write};

use crate::Vocab;
use crate::diff::{
    Cause, Diff, Difference, Earlier, HistoryDifference, LogitPair, LogitsDifference, Parting, PartingToken, Side,
};

const WIDTH: usize = 80;
/// So many parameters are told.
const MAX_CHANGES: usize = 12;

/// What is printed.
pub struct Report<'d> {
    diff: &'d Diff,
    vocab: Option<&'d dyn Vocab>,
}

impl<'d> Report<'d> {
    pub fn new(diff: &'d Diff, vocab: Option<&'d dyn Vocab>) -> Self {
        Self { diff, vocab }
    }

    pub fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let diff = self.diff;
        wrapped(out, "A  ", &side(&diff.a))?;
        wrapped(out, "B  ", &side(&diff.b))?;
        writeln!(out)?;
        match &diff.parting {
            Some(parting) => self.print_parting(parting, out)?,
            None if diff.earlier.is_empty() => {
                wrapped(out, "", "The same to the bit: every token, row, parameter, seed.")?
            }
            None => wrapped(out, "", "Every token is the same, and not all that they were drawn from.")?,
        }
        if !diff.earlier.is_empty() {
            let before = if diff.parting.is_some() {
                "Before that, and without changing a token"
            } else {
                "Without changing a token"
            };
            writeln!(out, "\n{before}:")?;
            let there = diff.parting.as_ref().map_or(&[][..], |parting| &parting.differences);
            for earlier in &diff.earlier {
                if there.contains(&earlier.difference) {
                    wrapped(out, "  ", &format!("{}, as above: {}", when(earlier), name_of(&earlier.difference)))?;
                } else {
                    wrapped(out, "  ", &format!("{}:", when(earlier)))?;
                    self.print_difference(&earlier.difference, "    ", out)?;
                }
            }
        }
        writeln!(out, "\nReplayed with the recorded chain:")?;
        for (name, side) in [("A", &diff.a), ("B", &diff.b)] {
            wrapped(out, &format!("  {name}: "), &self.replayed(name, side))?;
        }
        match self.conclusion() {
            Some(conclusion) => {
                writeln!(out)?;
                wrapped(out, "", &conclusion)
            }
            None => Ok(()),
        }
    }

    fn print_parting(&self, parting: &Parting, out: &mut impl Write) -> io::Result<()> {
        let Parting { draw, cause, a, b, differences, .. } = parting;
        let head = match (a, b) {
            (Some(a), Some(b)) if a.token == b.token => {
                format!("They part after draw {draw}: both drew {}.", self.token(a.token))
            }
            (Some(a), Some(b)) => {
                format!("They part at draw {draw}: A drew {}, B {}.", self.token(a.token), self.token(b.token))
            }
            (Some(a), None) => format!("B ends before draw {draw}, where A drew {}.", self.token(a.token)),
            (None, Some(b)) => format!("A ends before draw {draw}, where B drew {}.", self.token(b.token)),
            (None, None) => format!("They part at draw {draw}."),
        };
        wrapped(out, "", &head)?;
        wrapped(out, "Cause: ", cause_text(*cause))?;
        for difference in differences {
            self.print_difference(difference, "  ", out)?;
        }
        let differs = |cause: Cause| differences.iter().any(|difference| difference.cause() == cause);
        let compared = [
            (Cause::History, "history"),
            (Cause::Parameters, "parameters"),
            (Cause::Seed, "seed"),
            (Cause::Logits, "logits (to the bit)"),
        ];
        let same: Vec<&str> = compared.iter().filter(|(cause, _)| !differs(*cause)).map(|(_, name)| *name).collect();
        if *cause != Cause::Length && *cause != Cause::Accepted && !same.is_empty() {
            wrapped(out, "  the same there: ", &same.join(", "))?;
        }
        Ok(())
    }

    fn print_difference(&self, difference: &Difference, indent: &str, out: &mut impl Write) -> io::Result<()> {
        let line = |out: &mut _, text: &str| wrapped(out, indent, text);
        match difference {
            Difference::History(history) => line(out, &self.history(history)),
            Difference::Parameters { changes } => {
                for change in changes.iter().take(MAX_CHANGES) {
                    line(out, &change.describe("A", "B"))?;
                }
                match changes.len().saturating_sub(MAX_CHANGES) {
                    0 => Ok(()),
                    more => line(out, &format!("and {more} more (--json has all)")),
                }
            }
            Difference::Seed { a, b } => line(out, &format!("seed: {a} in A, {b} in B")),
            Difference::Logits(logits) => self.logits(logits).iter().try_for_each(|text| line(out, text)),
            Difference::State { seen: true } => line(out, "what the steps remember: not the same before this draw"),
            Difference::State { seen: false } => {
                line(out, "what the steps remember may not be the same; without a replay nobody knows")
            }
            Difference::Constraint { only_one: true } => line(out, "constraint: it masked only one of the rows"),
            Difference::Constraint { only_one: false } => line(out, "constraint: it allowed other tokens"),
            Difference::Accepted { a, b, after } => {
                if a != b {
                    line(out, &format!("accepted then: {} by A, {} by B", self.tokens(a), self.tokens(b)))?;
                }
                after.iter().try_for_each(|history| line(out, &format!("afterwards: {}", self.history(history))))
            }
        }
    }

    fn history(&self, history: &HistoryDifference) -> String {
        let &HistoryDifference { index, a, b, a_len, b_len, a_prompt, b_prompt } = history;
        let Some(index) = index else {
            return format!("history: the same {a_len} tokens, of which {a_prompt} are A's prompt, and {b_prompt} B's");
        };
        let token = |token: Option<u32>| token.map_or("nothing".to_string(), |token| self.token(token));
        let place = if index < a_prompt.max(b_prompt) { "in the prompt" } else { "behind the prompt" };
        let lengths = match (a_len, b_len) {
            (1, 1) => "1 token each".to_string(),
            (a, b) if a == b => format!("{a} tokens each"),
            (a, b) => format!("{a} tokens in A, {b} in B"),
        };
        format!("history: other from position {index} on, {place}: {} in A, {} in B ({lengths})", token(a), token(b))
    }

    fn logits(&self, logits: &LogitsDifference) -> Vec<String> {
        let LogitsDifference { n_vocab, n_differ, first, furthest, max_difference, max_ulp, a_best, b_best, .. } =
            logits;
        let pair = |pair: &LogitPair| {
            // Some pairs read the same and are not.
            let bits = if pair.a == pair.b || (pair.a.is_nan() && pair.b.is_nan()) {
                format!(" (bits {:08x}/{:08x})", pair.a_bits, pair.b_bits)
            } else {
                String::new()
            };
            format!("token {}: {:?} in A, {:?} in B{bits}", self.token(pair.token), pair.a, pair.b)
        };
        let differ = if *n_differ == 1 { "differs" } else { "differ" };
        let mut lines = vec![format!("logits: {n_differ} of {n_vocab} {differ}, first {}", pair(first))];
        if let (Some(furthest), Some(far)) = (furthest, max_difference) {
            // Around zero floats are so close that the number tells nothing.
            let ulp = max_ulp.filter(|&ulp| ulp < 10_000).map_or(String::new(), |ulp| format!(" and {ulp} ulp"));
            let which = if furthest.token == first.token { String::new() } else { format!(", at {}", pair(furthest)) };
            lines.push(format!("apart by at most {far:.3e}{ulp}{which}"));
        }
        lines.push(match (a_best, b_best) {
            (Some(a), Some(b)) if a == b => format!("most likely in both: {}", self.token(*a)),
            (a, b) => {
                let best = |best: &Option<u32>| best.map_or("none".to_string(), |token| self.token(token));
                format!("most likely: {} in A, {} in B", best(a), best(b))
            }
        });
        lines
    }

    fn replayed(&self, name: &str, side: &Side) -> String {
        let replay = &side.replay;
        let n = replay.n_draws;
        let drawn = match &replay.first_other {
            None if n == 0 => "no draw".to_string(),
            None if n == 1 => format!("its token is what the chain draws from {name}'s logits"),
            None => format!("all {n} tokens are what the chain draws from {name}'s logits"),
            Some(other) => {
                let drawn = match (other.drawn, &other.error) {
                    (Some(token), _) => format!("the chain draws {}", self.token(token)),
                    (None, error) => error.clone().unwrap_or_default(),
                };
                let n_other = n - replay.n_same;
                let more = if n_other == 1 { String::new() } else { format!("; {n_other} of {n} are other tokens") };
                format!("at draw {} {drawn}, and the record says {}{more}", other.draw, self.token(other.recorded))
            }
        };
        match &replay.stopped {
            Some(why) if n == 0 => format!("not possible: {why}"),
            Some(why) => format!("{drawn}; it stops there: {why}"),
            None => drawn,
        }
    }

    /// Who is to blame.
    fn conclusion(&self) -> Option<String> {
        let parting = self.diff.parting.as_ref()?;
        let is_right =
            |token: &Option<PartingToken>| token.as_ref().and_then(|token| Some(token.drawn? == token.token));
        let text = match (parting.cause, is_right(&parting.a), is_right(&parting.b)) {
            (Cause::Accepted | Cause::Length, ..) => return None,
            (Cause::Sampler, Some(true), Some(false)) => {
                "The sampler of B is at fault: given the same, it drew another token."
            }
            (Cause::Sampler, Some(false), Some(true)) => {
                "The sampler of A is at fault: given the same, it drew another token."
            }
            (Cause::Sampler, Some(false), Some(false)) => {
                "Neither token is what the chain draws: neither sampler is the recorded chain."
            }
            (Cause::Sampler, ..) => {
                "One of the samplers is not the recorded chain; without a replay nobody knows which."
            }
            (Cause::State, Some(true), Some(true)) if !self.diff.earlier.is_empty() => {
                "The sampler is not at fault: what differed before is what its steps remember."
            }
            (_, Some(true), Some(true)) => {
                "The sampler is not at fault: from what it was given each token is the right one."
            }
            (_, Some(false), Some(false)) => {
                "Beside that, neither token is what the chain draws: neither sampler is the recorded chain."
            }
            (_, Some(false), _) => {
                "Beside that, A's token is not what the chain draws: A's sampler is not the recorded chain."
            }
            (_, _, Some(false)) => {
                "Beside that, B's token is not what the chain draws: B's sampler is not the recorded chain."
            }
            _ => return None,
        };
        Some(text.to_string())
    }

    fn tokens(&self, tokens: &[u32]) -> String {
        match tokens {
            [] => "nothing".to_string(),
            tokens if tokens.len() > 8 => format!("{} and {} more", self.tokens(&tokens[..8]), tokens.len() - 8),
            tokens => tokens.iter().map(|&token| self.token(token)).collect::<Vec<_>>().join(", "),
        }
    }

    /// A token with its text, in which spaces and control characters can be seen.
    fn token(&self, token: u32) -> String {
        match self.vocab {
            Some(vocab) => format!("{token} {:?}", String::from_utf8_lossy(vocab.piece(token))),
            None => token.to_string(),
        }
    }
}

fn side(side: &Side) -> String {
    let note = side.note.as_ref().map_or(String::new(), |note| format!(" ({note})"));
    let draws = if side.n_draws == 1 { "draw" } else { "draws" };
    let cut = if side.is_cut { ", cut" } else { "" };
    format!("{}: {} {draws}{cut}, seed {}, {}{note}", side.path.display(), side.n_draws, side.seed, side.program)
}

fn when(earlier: &Earlier) -> String {
    match earlier.n_draws {
        0 => "behind the last draw".to_string(),
        1 => format!("at draw {}", earlier.draw),
        n => format!("at {n} draws, first at draw {}", earlier.draw),
    }
}

fn name_of(difference: &Difference) -> &'static str {
    match difference {
        Difference::History(_) => "the history",
        Difference::Parameters { .. } => "the parameters",
        Difference::Seed { .. } => "the seed",
        Difference::Logits(_) => "the logits",
        _ => "what the steps remember or may draw",
    }
}

fn cause_text(cause: Cause) -> &'static str {
    match cause {
        Cause::History => "the history differs",
        Cause::Parameters => "the parameters differ",
        Cause::Seed => "the seed differs",
        Cause::Logits => "the logits differ",
        Cause::State => "the steps remember something else",
        Cause::Constraint => "the constraint (a grammar) differs",
        Cause::Sampler => "the sampler: nothing that goes into it differs",
        Cause::Accepted => "the engine: what it accepted, or took back, differs",
        Cause::Length => "one record ends, and the other goes on",
    }
}

/// Prints a text behind `first`, with what is too long below it.
fn wrapped(out: &mut impl Write, first: &str, text: &str) -> io::Result<()> {
    let indent = " ".repeat(first.chars().count() + if first.trim().is_empty() { 2 } else { 0 });
    // A path or a value is not cut in two.
    let options = textwrap::Options::new(WIDTH)
        .initial_indent(first)
        .subsequent_indent(&indent)
        .break_words(false)
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
        .word_separator(textwrap::WordSeparator::AsciiSpace);
    textwrap::wrap(text, options).iter().try_for_each(|line| writeln!(out, "{line}"))
}
