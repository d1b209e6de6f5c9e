//! What was compared, by step, kind and size.

pub mod traits;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::case::{Case, Event};
use crate::generate::size_class;
use crate::left_out::Reason;
use crate::run::{Ending, Outcome};
use crate::step::Step;

/// Counts over many cases.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Tally {
    /// How many cases ran.
    pub cases: u64,
    /// How many differ.
    pub differences: u64,
    /// Draws that were compared whole, with the generators' state behind them.
    pub draws: u64,
    /// Steps that were compared one by one.
    pub steps_compared: u64,
    /// In how many cases each step was compared.
    pub by_step: BTreeMap<&'static str, u64>,
    /// In how many cases a draw from each kind of row was compared.
    pub by_kind: BTreeMap<&'static str, u64>,
    /// How many cases had so many tokens.
    pub by_size: BTreeMap<&'static str, u64>,
    /// In how many cases each event happened, and a draw after it was compared.
    pub by_event: BTreeMap<&'static str, u64>,
    /// In how many cases something rare was.
    pub by_trait: BTreeMap<&'static str, u64>,
    /// How many cases ended early because the rest is left out.
    pub ended: BTreeMap<Reason, u64>,
    /// What was drawn for a case and left out: steps with such parameters, events.
    pub left_out: BTreeMap<Reason, u64>,
}

impl Tally {
    /// Counts one case.
    pub fn add(&mut self, case: &Case, left_out: &[Reason], outcome: &Outcome) {
        self.cases += 1;
        self.draws += outcome.draws as u64;
        self.steps_compared += outcome.applied as u64;
        match &outcome.end {
            Some(Ending::Differs(_)) => self.differences += 1,
            Some(Ending::LeftOut(reason)) => *self.ended.entry(*reason).or_default() += 1,
            None => {}
        }
        count(&mut self.by_step, outcome.steps.iter().copied());
        count(&mut self.by_kind, outcome.kinds.iter().copied());
        count(&mut self.by_event, outcome.happened.iter().copied());
        if outcome.draws > 0 {
            let has_chain = case.steps.iter().any(|step| matches!(step, Step::Chain { .. }));
            count(&mut self.by_step, has_chain.then_some("chain"));
            count(&mut self.by_size, [size_class(case.n_vocab)]);
            count(&mut self.by_trait, traits::of(case));
        }
        left_out.iter().for_each(|reason| *self.left_out.entry(*reason).or_default() += 1);
    }

    /// Adds the counts of others.
    pub fn merge(&mut self, other: Self) {
        self.cases += other.cases;
        self.differences += other.differences;
        self.draws += other.draws;
        self.steps_compared += other.steps_compared;
        merge(&mut self.by_step, other.by_step);
        merge(&mut self.by_kind, other.by_kind);
        merge(&mut self.by_size, other.by_size);
        merge(&mut self.by_event, other.by_event);
        merge(&mut self.by_trait, other.by_trait);
        merge(&mut self.ended, other.ended);
        merge(&mut self.left_out, other.left_out);
    }

    /// The counts as text.
    pub fn table(&self) -> String {
        let mut text = String::new();
        section(&mut text, "cases with the step", &self.by_step);
        section(&mut text, "cases with rows of the kind", &self.by_kind);
        section(&mut text, "cases of so many tokens", &self.by_size);
        section(&mut text, "cases in which it happened, and the next draw was compared", &self.by_event);
        section(&mut text, "cases with", &self.by_trait);
        let words = |reasons: &BTreeMap<Reason, u64>| {
            reasons.iter().map(|(reason, n)| (format!("{reason:?}"), *n)).collect::<BTreeMap<_, _>>()
        };
        section(&mut text, "cases that end early, left out", &words(&self.ended));
        section(&mut text, "drawn and left out", &words(&self.left_out));
        text
    }
}

fn count(counts: &mut BTreeMap<&'static str, u64>, names: impl IntoIterator<Item = &'static str>) {
    names.into_iter().for_each(|name| *counts.entry(name).or_default() += 1);
}

fn merge<K: Ord>(into: &mut BTreeMap<K, u64>, from: BTreeMap<K, u64>) {
    from.into_iter().for_each(|(key, n)| *into.entry(key).or_default() += n);
}

fn section<K: std::fmt::Display>(text: &mut String, title: &str, counts: &BTreeMap<K, u64>) {
    if counts.is_empty() {
        return;
    }
    text.push_str(&format!("{title}\n"));
    for (name, n) in counts {
        text.push_str(&format!("  {:<48} {n:>10}\n", name.to_string()));
    }
}

/// An event in tables.
pub fn event_name(event: &Event) -> &'static str {
    match event {
        Event::AcceptDrawn => "the drawn token is accepted",
        Event::Accept(_) => "another token is accepted",
        Event::Reset => "a reset",
        Event::Clone => "a clone goes on",
        Event::CloneAside => "a clone beside it",
        Event::Snapshot => "a snapshot goes on",
    }
}
