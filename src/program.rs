//! The program `sampler-chain`: a file a subcommand.
//!
//! It stands in the library so that a program with steps of its own can be it, too: a step is known where it is linked.
//!
//! ```no_run
//! // use my_steps as _;
//! fn main() -> std::process::ExitCode {
//!     sampler_chain::program::main()
//! }
//! ```

mod check;
mod compare;
mod diff;
mod flags;
mod import;
mod input;
mod merge;
mod overwriting;
mod progress;
mod record;
mod recorded_rows;
mod request;
mod sample;
mod steps;
mod trace;
mod verify;

use std::error::Error;
use std::ffi::OsString;
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// llama.cpp's sampling chain: draw tokens from logits, check chains, prove that both are exact.
///
/// A chain is a list of steps (top_k, min_p, temperature, …) that ends with one that picks the token. It stands in a TOML or
/// JSON file, or is built from a llama-server request or a model file's values.
#[derive(Parser)]
#[command(name = "sampler-chain", version)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Sample(Box<sample::Args>),
    Check(check::Args),
    Steps(steps::Args),
    Import(import::Args),
    Trace(Box<trace::Args>),
    Compare(Box<compare::Args>),
    Merge(merge::Args),
    Record(Box<record::Args>),
    Diff(diff::Args),
    Verify(verify::Args),
}

/// Runs what the command line asks for, and gives the exit status: 0, 1 for a "no" (a case that fails, a chain that is wrong, records
/// that differ), 2 for an error.
pub fn main() -> ExitCode {
    run(std::env::args_os())
}

/// The same with given words, of which the first is the program's name.
pub fn run(words: impl IntoIterator<Item = OsString>) -> ExitCode {
    let mut out = BufWriter::new(io::stdout().lock());
    let done = match Args::parse_from(words).command {
        Command::Sample(args) => sample::run(&args, &mut out),
        Command::Check(args) => check::run(&args, &mut out),
        Command::Steps(args) => steps::run(&args, &mut out),
        Command::Import(args) => import::run(&args, &mut out),
        Command::Trace(args) => trace::run(&args, &mut out),
        Command::Compare(args) => compare::run(&args, &mut out),
        Command::Merge(args) => merge::run(&args, &mut out),
        Command::Record(args) => record::run(&args, &mut out),
        Command::Diff(args) => diff::run(&args, &mut out),
        Command::Verify(args) => verify::run(&args, &mut out),
    };
    let done = done.and_then(|code| Ok(out.flush().map(|()| code)?));
    done.unwrap_or_else(|error| {
        if is_broken_pipe(error.as_ref()) {
            // Whoever read has seen enough.
            return ExitCode::SUCCESS;
        }
        let _ = out.flush();
        eprintln!("error: {error}");
        ExitCode::from(2)
    })
}

fn is_broken_pipe(error: &(dyn Error + 'static)) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
