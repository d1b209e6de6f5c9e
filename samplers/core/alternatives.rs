//! Chains of which one runs at a time: whether they go together, and what their generators are.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Chain, SamplerStep, StepError};
use crate::libstdcxx::Mt19937;

/// Whether the steps of chains of which one runs at a time draw from one generator.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
#[serde(rename_all = "snake_case")]
pub enum Generators {
    /// Each step has its own.
    #[default]
    Separate,
    /// The n-th step of a type in one chain and in the others have one. Steps inside other steps count where these stand; of
    /// chains inside that share theirs, the n-th steps of a type count once.
    Shared,
}

/// By the type of their steps, in the order of the chain: every generator, with those that it is one with.
type Lanes<'c> = BTreeMap<&'static str, Vec<Vec<&'c mut Mt19937>>>;

impl Generators {
    /// For whoever is about to run another of the chains: what was drawn in one goes on in the others, where they share.
    pub fn go_on(self, chains: Vec<&mut Chain>) {
        if self == Self::Shared {
            lanes_of(chains, true).into_values().flatten().for_each(level);
        }
    }
}

/// All of them are copies of one generator, and the one that has run is ahead: the others follow.
fn level(mut lane: Vec<&mut Mt19937>) {
    lane.sort_by_key(|generator| generator.taken());
    if let Some((ahead, behind)) = lane.split_last_mut() {
        behind.iter_mut().for_each(|generator| (**generator).clone_from(ahead));
    }
}

/// The lanes of chains one after another, or side by side: then their n-th lanes of a type are one.
fn lanes_of(chains: Vec<&mut Chain>, are_shared: bool) -> Lanes<'_> {
    let mut all = Lanes::new();
    for chain in chains {
        let mut own = Lanes::new();
        for step in chain.steps_mut() {
            for (name, lanes) in lanes_of_step(step.as_mut()) {
                own.entry(name).or_default().extend(lanes);
            }
        }
        for (name, lanes) in own {
            let known = all.entry(name).or_default();
            for (i, lane) in lanes.into_iter().enumerate() {
                match known.get_mut(i).filter(|_| are_shared) {
                    Some(same) => same.extend(lane),
                    None => known.push(lane),
                }
            }
        }
    }
    all
}

fn lanes_of_step(step: &mut dyn SamplerStep) -> Lanes<'_> {
    if step.chains().is_empty() {
        let name = step.typetag_name();
        return step.generator().map(|generator| (name, vec![vec![generator]])).into_iter().collect();
    }
    let are_shared = step.alternatives() == Some(Generators::Shared);
    lanes_of(step.chains_mut(), are_shared)
}

/// Refuses alternatives of which only some select, and, where they share their generators, steps inside that keep those of their
/// own alternatives apart: no generator is one with two that differ. Where only one of these draws, there is nothing to keep apart.
pub(super) fn check(step: &mut (impl SamplerStep + ?Sized)) -> Result<(), StepError> {
    let Some(generators) = step.alternatives() else { return Ok(()) };
    let chains = step.chains();
    for pair in chains.windows(2) {
        let [(other, before), (field, chain)] = [pair[0], pair[1]];
        if before.selects() != chain.selects() {
            let why = "one of them selects the token, and the other does not";
            return Err(StepError::Excludes { field, other, why });
        }
    }
    let fields: Vec<&'static str> = chains.into_iter().map(|(field, _)| field).collect();
    for (field, chain) in fields.into_iter().zip(step.chains_mut()).filter(|_| generators == Generators::Shared) {
        if let Some((index, step)) = apart(chain, "") {
            return Err(StepError::KeepsApart { field, index, step });
        }
    }
    Ok(())
}

/// The first step that keeps generators apart, with its place: `2`, `2.1` inside a chain, `2.first.1` in another step's field.
fn apart(chain: &mut Chain, outer: &str) -> Option<(String, &'static str)> {
    for (i, step) in chain.steps_mut().iter_mut().enumerate() {
        let index = format!("{outer}{}", i + 1);
        if step.alternatives() == Some(Generators::Separate) {
            let types = step.chains_mut().into_iter().flat_map(|chain| lanes_of(vec![chain], false).into_keys());
            let types: Vec<&str> = types.collect();
            if types.iter().collect::<BTreeSet<_>>().len() < types.len() {
                return Some((index, step.typetag_name()));
            }
        }
        let fields: Vec<&str> = step.chains().into_iter().map(|(field, _)| field).collect();
        for (field, inner) in fields.into_iter().zip(step.chains_mut()) {
            let outer = if field == "steps" { format!("{index}.") } else { format!("{index}.{field}.") };
            if let Some(found) = apart(inner, &outer) {
                return Some(found);
            }
        }
    }
    None
}
