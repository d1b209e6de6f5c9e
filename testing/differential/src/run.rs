//! Both sides run one case.

mod compare;
mod ours;
mod theirs;

use crate::case::{Case, Event};
use crate::left_out::{self, Reason};
use crate::step::{Build, Oracle, leaves};
pub use compare::Difference;
use ours::{Stepwise, Whole};
use theirs::Theirs;

/// What became of a case.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Draws that were compared whole.
    pub draws: usize,
    /// Steps that were compared one by one.
    pub applied: usize,
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
    let mut outcome = Outcome { draws: 0, applied: 0, end: None };
    let mut pair = match Pair::new(oracle, case, build) {
        Ok(pair) => pair,
        Err(refused) => return Outcome { end: Some(Difference::at_start(refused).into()), ..outcome },
    };
    for draw in 0..case.draws.len() {
        match pair.draw(draw, &mut outcome.applied) {
            Ok(()) => outcome.draws += 1,
            Err(end) => return Outcome { end: Some(end), ..outcome },
        }
    }
    outcome.end = pair.seeds().err();
    outcome
}

/// The same, with a panic of this crate as a difference.
pub fn run_caught(oracle: &Oracle, case: &Case, build: &Build) -> Outcome {
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(oracle, case, build)));
    caught.unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or(payload.downcast_ref::<&str>().copied()).unwrap_or("no text");
        let end = Difference::at_start(format!("a panic: {text}")).into();
        Outcome { draws: 0, applied: 0, end: Some(end) }
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
    fn draw(&mut self, draw: usize, applied: &mut usize) -> Result<(), Ending> {
        let at = |(place, what)| Ending::from(Difference { draw, place, what });
        let row = self.case.row(draw);
        self.theirs.begin(row);
        self.step_by_step(draw, applied)?;
        self.theirs.apply_whole();
        // As far as a selection that moved is left out.
        self.theirs.whole_candidates.selected = self.theirs.candidates.selected;
        let theirs = &self.theirs.whole_candidates;
        if let Some(what) = compare::sets(self.theirs.candidates.as_slice(), theirs.as_slice()) {
            return Err(at(("libllama's own chain".into(), what)));
        }
        let seen = |step: usize| self.theirs.seen.iter().find(|(at, _)| *at == step).map(|(_, set)| set);
        match self.whole.draw(self.case, row, theirs, seen) {
            Ok(()) => {}
            Err(ours::Stop::Refused) => return Err(Ending::LeftOut(Reason::NotFinite)),
            Err(ours::Stop::Differs(place, what)) => return Err(at((place, what))),
        }
        for &event in &self.case.draws[draw] {
            self.after(event, draw).map_err(|what| at((format!("{event:?}"), what)))?;
        }
        Ok(())
    }

    fn step_by_step(&mut self, draw: usize, applied: &mut usize) -> Result<(), Ending> {
        let steps = leaves(&self.case.steps);
        let (theirs, mut end) = (&mut self.theirs, None);
        let row = self.case.row(draw);
        self.stepwise.apply(self.case, row, |i, cands| {
            if end.is_some() {
                return;
            }
            if let Some(reason) = left_out::candidates(&theirs.candidates) {
                end = Some(Ending::LeftOut(reason));
                return;
            }
            let before = theirs.candidates.selected().map(|candidate| candidate.id);
            theirs.apply(i);
            *applied += 1;
            if !steps[i].selects() {
                theirs.candidates.selected = left_out::selection(before, cands, &theirs.candidates);
            }
            theirs.keep(i);
            if let Some(what) = compare::set(cands, &theirs.candidates) {
                let place = format!("step {} ({})", i + 1, steps[i].name());
                end = Some(Difference { draw, place, what }.into());
            }
        });
        end.map_or(Ok(()), Err)
    }

    fn after(&mut self, event: Event, draw: usize) -> Result<(), String> {
        match event {
            Event::AcceptDrawn => {
                let theirs = &self.theirs.whole_candidates;
                match theirs.selected().or(theirs.as_slice().first()) {
                    Some(token) => self.accept(token.id as u32, false),
                    None => Ok(()),
                }
            }
            Event::Accept(token) => self.accept(token, false),
            Event::Reset => {
                self.theirs.reset();
                self.stepwise.reset();
                self.whole.reset();
                Ok(())
            }
            Event::Clone => {
                self.theirs.go_on_as_clone();
                self.stepwise = self.stepwise.clone();
                self.whole = self.whole.clone();
                Ok(())
            }
            // The clone's selection is compared as it is.
            Event::CloneAside if !self.case.ends_with_its_selector() => Ok(()),
            Event::CloneAside => {
                let row = self.case.row(draw);
                let theirs = self.theirs.clone_aside(row);
                match self.whole.clone().draw(self.case, row, &theirs, |_| None) {
                    Err(ours::Stop::Differs(place, what)) => Err(format!("{place}: {what}")),
                    Ok(()) | Err(ours::Stop::Refused) => Ok(()),
                }
            }
            Event::Snapshot => self.whole.go_on_from_snapshot(self.oracle, self.case, self.build),
        }
    }

    /// `llama_sampler_get_seed`, where there is something to tell.
    fn seeds(&self) -> Result<(), Ending> {
        let (ours, theirs) = (self.whole.seed(), self.theirs.seed());
        // The default seed says that no sampler of the chain has one.
        if theirs == ours || theirs == sampler_chain::DEFAULT_SEED {
            return Ok(());
        }
        let what = format!("seed {ours} here, {theirs} in libllama");
        Err(Difference { draw: self.case.draws.len(), place: "the end".into(), what }.into())
    }
}
