//! The tests that need libllama. Without `LLAMA_LIB` they are ignored, and the run says so.

mod abort;
mod divergences;
mod identity;
mod wrong_steps;

use libtest_mimic::{Arguments, Failed, Trial};
use sampler_chain_differential::step::Oracle;

type Test = fn(&Oracle) -> Result<(), Failed>;

fn main() {
    // A child of `abort`, which ends as libllama does.
    if let Ok(what) = std::env::var(abort::CHILD) {
        return abort::child(&what);
    }
    let is_set = std::env::var_os("LLAMA_LIB").is_some();
    if !is_set {
        eprintln!(
            "LLAMA_LIB is not set: every test of this file is ignored (testing/README.md says how to get libllama.so)"
        );
    }
    let tests = [identity::TESTS, wrong_steps::TESTS, divergences::TESTS, abort::TESTS].concat();
    let trials = tests.into_iter().map(|(name, test): (&str, Test)| {
        Trial::test(name, move || test(&Oracle::from_env()?)).with_ignored_flag(!is_set)
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit();
}

/// Fails with a text unless something holds.
fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), Failed> {
    if holds { Ok(()) } else { Err(otherwise().into()) }
}
