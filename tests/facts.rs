//! Every registered step keeps what its facts promise, whoever wrote it. A new step needs no line here: `variants` finds its
//! parameters, `cases` makes sets and histories, `hold` looks what became of them.

#[path = "facts/cases.rs"]
mod cases;
#[path = "facts/expected.rs"]
mod expected;
#[path = "facts/hold.rs"]
mod hold;
#[path = "facts/variants.rs"]
mod variants;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex};

use biggest_gap as _;
use cases::{Case, Random};
use hold::{broken, survives};
use sampler_chain::{SamplerStep, registered_steps};
use serde_json::Value;

static WRITTEN: LazyLock<Vec<Value>> = LazyLock::new(variants::written);

/// So many cases of each step are judged.
const CASES: usize = 2000;

/// The cases of a step, one after another. Those of steps made of others have logits far apart: where one step makes two
/// equal, the next may prefer either.
fn cases_for(step: &dyn SamplerStep, seed: u64) -> impl Iterator<Item = Case> {
    let is_made_of_others = serde_json::to_string(step).unwrap().matches("\"type\":").count() > 1;
    let (mut random, far_apart) = (Random::new(seed), is_made_of_others || !step.inner().is_empty());
    std::iter::repeat_with(move || Case::random(&mut random, far_apart))
}

/// How many cases were judged, and what is broken.
fn judge(name: &str) -> (usize, Option<String>) {
    let variants = variants::variants(name, &WRITTEN);
    if variants.is_empty() {
        let why = "no parameters were found for it: an example in its docs or a chain in examples/chains has them";
        return (0, Some(format!("{name}: {why}")));
    }
    let mut judged = 0;
    let each = CASES.div_ceil(variants.len());
    for (i, step) in variants.iter().enumerate() {
        // Some vocabularies are too small for some tokens: then more are tried.
        let enough = judged + each;
        for case in cases_for(step.as_ref(), i as u64).take(each * 4) {
            survives(step.as_ref(), &case);
            match broken(step.as_ref(), step.facts(), &case) {
                Err(()) => {}
                Ok(None) => judged += 1,
                Ok(Some(what)) => {
                    let text = serde_json::to_string(step).unwrap();
                    return (judged, Some(format!("{text}: {what}\nin {case:?}")));
                }
            }
            if judged == enough {
                break;
            }
        }
    }
    (judged, None)
}

#[test]
fn every_step_keeps_what_it_promises() {
    let (steps, next) = (registered_steps(), AtomicUsize::new(0));
    let wrong = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(name) = steps.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let (judged, broken) = judge(name);
                    let few = (judged < CASES / 2).then(|| format!("{name}: {judged} cases alone were judged"));
                    wrong.lock().unwrap().extend(broken.or(few));
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(steps.iter().any(|step| step == "biggest_gap") && steps.len() >= 19);
}

/// Where the test finds nothing to try it says so, and does not pass.
#[test]
fn a_step_without_parameters_to_try_is_named() {
    let (judged, broken) = judge("no_such_step");
    assert!(judged == 0 && broken.unwrap().starts_with("no_such_step: no parameters were found"));
}
