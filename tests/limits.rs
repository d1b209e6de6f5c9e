//! Hostile and huge input: an error that says what is wrong, or bounded time and memory.
//!
//! What is quick runs with all tests. The whole table, each input measured in a process of its own, in release:
//! `cargo test --release --test limits table -- --ignored --nocapture`

#[path = "limits/deep.rs"]
mod deep;
#[path = "limits/files.rs"]
mod files;
#[path = "limits/histories.rs"]
mod histories;
#[path = "limits/lengths.rs"]
mod lengths;
#[path = "limits/measure.rs"]
mod measure;
#[path = "limits/processor.rs"]
mod processor;
#[path = "limits/requests.rs"]
mod requests;

use measure::{Case, Ready};

fn cases() -> Vec<Case> {
    [deep::CASES, lengths::CASES, requests::CASES, histories::CASES].concat()
}

/// The inputs that take no time in a debug build, each with its answer.
#[test]
fn quick_ones_are_answered() {
    let (mut n_run, mut wrong) = (0, Vec::new());
    for case in cases().iter().filter(|case| case.quick) {
        let answer = (case.run)(&mut Ready::default());
        if !answer.contains(case.answer) {
            wrong.push(format!("{}: {answer:.300}", case.input));
        }
        n_run += 1;
    }
    assert!(wrong.is_empty() && n_run > 30, "{n_run} inputs:\n{}", wrong.join("\n"));
}

/// Runs every input in a process of its own and prints the table. `LIMITS=words` runs those whose names have it.
#[test]
#[ignore = "takes a minute in release, and more in debug"]
fn table() {
    let chosen = std::env::var("LIMITS").unwrap_or_default();
    measure::table(cases().into_iter().filter(|case| case.input.contains(&chosen)).collect());
}

/// What the process of one input runs.
#[test]
#[ignore = "table runs it"]
fn one_input() {
    let Ok(input) = std::env::var(measure::VARIABLE) else { return };
    let case = cases().into_iter().find(|case| case.input == input).expect("the table knows it");
    measure::tell(&case);
}
