//! cargo run --features cli --example workbench -- steps biggest_gap
//!
//! The program `sampler-chain` with a step of another crate in it: all of its subcommands know `biggest_gap`.
//! Without words of its own it shows the step.

use std::process::ExitCode;

use biggest_gap as _;
use sampler_chain::program;

fn main() -> ExitCode {
    let given: Vec<_> = std::env::args_os().collect();
    match given.len() {
        0 | 1 => program::run(["workbench", "steps", "biggest_gap"].map(Into::into)),
        _ => program::run(given),
    }
}
