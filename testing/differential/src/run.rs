//! Both sides run one case.

mod compare;
mod ours;
mod theirs;

use std::collections::BTreeSet;

use crate::case::{Case, Event};
use crate::left_out::{self, Reason};
use crate::step::{Build, Oracle, Step, leaves};
use crate::tally::event_name;
pub use compare::Difference;
use ours::{Stepwise, Whole};
pub(crate) use theirs::Theirs;

/// What became of a case.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome {
    /// Draws that were compared whole.
    pub draws: usize,
    /// Steps that were compared one by one.
    pub applied: usize,
    /// The steps that were, by name.
    pub steps: BTreeSet<&'static str>,
    /// The kinds of rows of compared draws.
    pub kinds: BTreeSet<&'static str>,
    /// What happened that a compared draw has seen: an event counts once the next draw was compared.
    pub happened: BTreeSet<&'static str>,
    /// Why the case ended early, if it did.
    pub end: Option<Ending>,
}

/// Why a case ended before its last draw.
#[derive(Debug, Clone, PartialEq)]
pub enum Ending {
    /// The two sides differ.
    Differs(Difference),
    /// The rest is left out.
    LeftOut(Reason),
}

impl From<Difference> for Ending {
    fn from(difference: Difference) -> Self {
        Self::Differs(difference)
    }
}

impl Outcome {
    /// The difference, where there is one.
    pub fn difference(&self) -> Option<&Difference> {
        match &self.end {
            Some(Ending::Differs(difference)) => Some(difference),
            _ => None,
        }
    }
}

/// Runs a case on both sides, step by step and as a whole, and compares after each step, after each draw and at the
/// end.
/// `build` makes this crate's steps.
pub fn run(oracle: &Oracle, case: &Case, build: &Build) -> Outcome {
    let mut pair = match Pair::new(oracle, case, build) {
        Ok(pair) => pair,
        Err(refused) => return Outcome { end: Some(Difference::at_start(refused).into()), ..Outcome::default() },
    };
    let end = (0..case.draws.len()).try_for_each(|draw| pair.draw(draw)).and_then(|()| pair.seeds()).err();
    Outcome { end, ..pair.outcome }
}

/// The same, with a panic of this crate as a difference.
pub fn run_caught(oracle: &Oracle, case: &Case, build: &Build) -> Outcome {
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(oracle, case, build)));
    caught.unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or(payload.downcast_ref::<&str>().copied()).unwrap_or("no text");
        let end = Difference::at_start(format!("a panic: {text}")).into();
        Outcome { end: Some(end), ..Outcome::default() }
    })
}

/// Both sides, each step by step and whole.
struct Pair<'c> {
    case: &'c Case,
    oracle: &'c Oracle,
    build: &'c Build,
    theirs: Theirs<'c>,
    stepwise: Stepwise,
    whole: Whole,
    outcome: Outcome,
    /// What has happened since the last draw.
    pending: Vec<&'static str>,
}

impl<'c> Pair<'c> {
    fn new(oracle: &'c Oracle, case: &'c Case, build: &'c Build) -> Result<Self, String> {
        let mut pair = Self {
            case,
            oracle,
            build,
            theirs: Theirs::new(oracle, case),
            stepwise: Stepwise::new(oracle, case, build)?,
            whole: Whole::new(oracle, case, build)?,
            outcome: Outcome::default(),
            pending: Vec::new(),
        };
        case.prompt.iter().try_for_each(|&token| pair.accept(token, true))?;
        Ok(pair)
    }

    fn accept(&mut self, token: u32, is_prompt: bool) -> Result<(), String> {
        self.theirs.accept(token);
        self.stepwise.accept(token, is_prompt);
        self.whole.accept(token, is_prompt)
    }

    /// One draw and what happens after it.
    fn draw(&mut self, draw: usize) -> Result<(), Ending> {
        let at = |(place, what)| Ending::from(Difference { draw, place, what });
        let row = self.case.row(draw);
        self.theirs.begin(row);
        let selected = self.step_by_step(draw)?;
        self.theirs.apply_whole();
        let (by_steps, whole) = (&self.theirs.candidates, &self.theirs.whole_candidates);
        if let Some(what) = compare::sets(by_steps.as_slice(), whole.as_slice()) {
            return Err(at(("libllama's own chain".into(), what)));
        }
        if (by_steps.selected, by_steps.sorted) != (whole.selected, whole.sorted) {
            let what = format!("selected {}, sorted {}, and step by step others", whole.selected, whole.sorted);
            return Err(at(("libllama's own chain".into(), what)));
        }
        let seen = |step: usize| self.theirs.seen.iter().find(|(at, _)| *at == step).map(|(_, set)| set);
        match self.whole.draw(self.case, row, (by_steps, selected), seen) {
            Ok(()) => {}
            Err(ours::Stop::Refused) => return Err(Ending::LeftOut(Reason::NotFinite)),
            Err(ours::Stop::Differs(place, what)) => return Err(at((place, what))),
        }
        self.count(row.kind);
        let events = &self.case.draws[draw];
        if !events.iter().any(|event| matches!(event, Event::AcceptDrawn | Event::Accept(_) | Event::Reset)) {
            self.pending.push("a redraw");
        }
        for &event in events {
            self.after(event, draw).map_err(|what| at((format!("{event:?}"), what)))?;
        }
        Ok(())
    }

    /// Counts what the draw has compared.
    fn count(&mut self, kind: &'static str) {
        let outcome = &mut self.outcome;
        outcome.draws += 1;
        outcome.kinds.insert(kind);
        outcome.happened.extend(self.pending.drain(..));
        outcome.happened.extend(self.case.start.is_some().then_some("other candidates to begin with"));
        outcome.happened.extend((!self.theirs.seen.is_empty()).then_some("looks between steps"));
        let whole =
            if matches!(self.whole, Whole::Sampler(_)) { "draws of a sampler" } else { "draws of a bare chain" };
        outcome.happened.insert(whole);
    }

    /// Compares after each step. What `selected` must be at the end.
    fn step_by_step(&mut self, draw: usize) -> Result<i64, Ending> {
        let steps = leaves(&self.case.steps);
        let (theirs, outcome, mut end) = (&mut self.theirs, &mut self.outcome, None);
        let row = self.case.row(draw);
        // The token whose selection this crate may keep, and where libllama has it, if it does.
        let mut kept = theirs.was;
        let mut selected = theirs.candidates.selected;
        self.stepwise.apply(self.case, row, |i, cands| {
            if end.is_some() {
                return;
            }
            if let Some(reason) = left_out::candidates(&theirs.candidates) {
                end = Some(Ending::LeftOut(reason));
                return;
            }
            if *steps[i] == Step::Infill && theirs.candidates.as_slice().len() >= 512 {
                outcome.happened.insert("infill of 512 candidates or more");
            }
            theirs.apply(i, steps[i]);
            outcome.applied += 1;
            outcome.steps.insert(steps[i].name());
            if steps[i].selects() || theirs.is_live {
                (kept, selected) = (theirs.was, theirs.candidates.selected);
            } else {
                selected = left_out::selection(kept, cands.selected(), &theirs.candidates);
                kept = kept.filter(|_| selected >= 0);
            }
            theirs.keep(i, selected);
            if let Some(what) = compare::set(cands, &theirs.candidates, selected) {
                let place = format!("step {} ({})", i + 1, steps[i].name());
                end = Some(Difference { draw, place, what }.into());
            }
        });
        end.map_or(Ok(selected), Err)
    }

    fn after(&mut self, event: Event, draw: usize) -> Result<(), String> {
        match event {
            Event::AcceptDrawn => match self.theirs.drawn() {
                Some(token) => self.accept(token as u32, false)?,
                None => return Ok(()),
            },
            Event::Accept(token) => self.accept(token, false)?,
            Event::Reset => {
                self.theirs.reset();
                self.stepwise.reset();
                self.whole.reset();
            }
            Event::Clone => {
                self.theirs.go_on_as_clone();
                self.stepwise = self.stepwise.clone();
                self.whole = self.whole.clone();
            }
            Event::CloneAside => {
                let row = self.case.row(draw);
                let theirs = self.theirs.clone_aside(row);
                // Behind a step that selects the index may be another candidate's: the draw itself has compared that.
                let mut whole = self.whole.clone();
                let compared = match self.case.ends_with_its_selector() {
                    true => whole.draw(self.case, row, (&theirs, theirs.selected), |_| None),
                    false => whole.draw_unselected(self.case, row, &theirs),
                };
                return match compared {
                    Err(ours::Stop::Differs(place, what)) => Err(format!("{place}: {what}")),
                    Err(ours::Stop::Refused) => Ok(()),
                    Ok(()) => {
                        self.outcome.happened.insert(event_name(&event));
                        Ok(())
                    }
                };
            }
            // A bare chain has none.
            Event::Snapshot if !self.whole.go_on_from_snapshot(self.oracle, self.case, self.build)? => return Ok(()),
            Event::Snapshot => {}
        }
        self.pending.push(event_name(&event));
        Ok(())
    }

    /// `llama_sampler_get_seed`, where there is something to tell.
    fn seeds(&self) -> Result<(), Ending> {
        let (ours, theirs) = (self.whole.seed(), self.theirs.seed());
        // The default seed says that no sampler of the chain has one; with seeds of their own there is no one seed.
        if self.case.seeds.is_some() || theirs == ours || theirs == sampler_chain::DEFAULT_SEED {
            return Ok(());
        }
        let what = format!("seed {ours} here, {theirs} in libllama");
        Err(Difference { draw: self.case.draws.len(), place: "the end".into(), what }.into())
    }
}
