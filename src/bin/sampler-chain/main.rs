//! The program: a file a subcommand.

mod check;
mod sample;
mod verify;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// llama.cpp's sampling chain: draw tokens from logits, check chains, prove that both are exact.
///
/// A chain is a list of steps (top_k, min_p, temperature, …) that ends with one that picks the token. It stands in a TOML or
/// JSON file, or is built from a llama-server request.
#[derive(Parser)]
#[command(name = "sampler-chain", version)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Sample(sample::Args),
    Check(check::Args),
    Verify(verify::Args),
}

fn main() -> ExitCode {
    let done = match Args::parse().command {
        Command::Sample(args) => sample::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Verify(args) => verify::run(&args),
    };
    done.unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::from(2)
    })
}
