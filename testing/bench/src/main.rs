//! Times sampler-chain beside libllama b11192, llm-samplers and candle, over the same rows, interleaved in one run.
//!
//! First every token of this crate is compared with libllama's; only then a clock starts.
#![deny(unsafe_code)]

mod args;
mod chains;
mod engines;
mod llama;
mod others;
mod rows;
mod table;

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use args::Args;
use chains::Chain;
use engines::{Engine, Floor, Ours};
use libllama::Libllama;
use llama::Llama;
use rows::Rows;
use table::Line;

/// Whatever went wrong: its text is all that anybody needs.
pub type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Failure> {
    let Some(args) = Args::read(std::env::args().skip(1))? else {
        println!("{}", args::USAGE);
        return Ok(());
    };
    let chains = chains::chosen(&args.chains)?;
    let sizes = args.sizes.iter().map(|&n| Rows::new(n, args.rows)).collect::<Result<Vec<_>, _>>()?;
    let library = Libllama::from_env()?;
    match &library {
        Some(library) => {
            for rows in &sizes {
                chains.iter().try_for_each(|chain| compare(library, chain, rows))?;
            }
            let (c, s, r) = (chains.len(), sizes.len(), args.rows);
            println!("{c} chains x {s} sizes x {r} rows: every token is libllama's");
        }
        None => println!("LLAMA_LIB is not set: no libllama, no token compared, no ratio to it"),
    }
    if !cfg!(feature = "candle") {
        println!("without --features candle: no candle");
    }

    println!("\n{}", table::HEAD);
    let mut all = Vec::new();
    for chain in &chains {
        for rows in &sizes {
            let lines = measure(library.as_ref(), chain, rows, args.rounds)?;
            lines.iter().for_each(|line| println!("{}", line.text()));
            all.extend(lines);
        }
    }
    if let Some(path) = &args.csv {
        std::fs::write(path, table::csv(&all)).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

/// Draws from every row with this crate and with libllama, and stops at the first token that differs.
fn compare(library: &Libllama, chain: &Chain, rows: &Rows) -> Result<(), Failure> {
    let mut ours = Ours::new(&chain.params, rows)?;
    let mut llama = Llama::new(library, &chain.params, rows)?;
    for (i, row) in rows.rows.iter().enumerate() {
        same(chain, rows, i, ours.draw(i, row)?, llama.draw(i, row)?)?;
    }
    Ok(())
}

fn same(chain: &Chain, rows: &Rows, i: usize, ours: Option<u32>, llama: Option<u32>) -> Result<(), Failure> {
    if ours == llama {
        return Ok(());
    }
    let name = |token: Option<u32>| token.map_or("none".into(), |token| token.to_string());
    let (chain, n_vocab, ours, llama) = (chain.name, rows.n_vocab, name(ours), name(llama));
    Err(format!("{chain}, {n_vocab}, row {i}: token {ours} here, {llama} in libllama").into())
}

/// The times of every engine that has the chain.
fn measure(library: Option<&Libllama>, chain: &Chain, rows: &Rows, rounds: usize) -> Result<Vec<Line>, Failure> {
    let mut engines = engines(library, chain, rows)?;
    let floor = Floor::new();
    let mut times: Vec<_> = engines.iter().map(|engine| (engine.name(), Vec::new())).collect();
    // One round before the clocks: memory is allocated, code and branches are known.
    let n_rows = rows.rows.len();
    let counting = chain.counting((rounds + 1) * n_rows);
    for (draw, &counts) in counting.iter().enumerate() {
        let i = draw % n_rows;
        let row = &rows.rows[i];
        let mut tokens = Vec::new();
        for turn in 0..engines.len() {
            // Another one begins each time, so that none always follows the same.
            let which = (draw + turn) % engines.len();
            let engine = &mut engines[which];
            // A model has just written its logits: everybody finds the row in the cache as far as it fits.
            black_box(floor.max(row));
            let clock = Instant::now();
            let token = black_box(engine.draw(i, row)?);
            let time = clock.elapsed();
            if counts && draw >= n_rows {
                times[which].1.push(time);
            }
            tokens.push((engine.name(), token));
        }
        // The tokens must stay the same, or the histories part and the engines do different work.
        let token = |name| tokens.iter().find(|(engine, _)| *engine == name).and_then(|(_, token)| *token);
        if library.is_some() {
            same(chain, rows, i, token(Ours::NAME), token(Llama::NAME))?;
        }
    }
    if times.iter().any(|(_, times)| times.is_empty()) {
        return Err(format!("{}: no draw in which XTC acts: more --rounds are needed", chain.name).into());
    }
    Ok(table::lines(chain.name, rows.n_vocab, times))
}

fn engines(library: Option<&Libllama>, chain: &Chain, rows: &Rows) -> Result<Vec<Box<dyn Engine>>, Failure> {
    let params = &chain.params;
    let mut engines: Vec<Box<dyn Engine>> = vec![Box::new(Ours::new(params, rows)?)];
    if let Some(library) = library {
        engines.push(Box::new(Llama::new(library, params, rows)?));
    }
    if let Some(other) = others::LlmSamplers::new(params, rows) {
        engines.push(Box::new(other));
    }
    #[cfg(feature = "candle")]
    if let Some(other) = others::Candle::new(params, rows)? {
        engines.push(Box::new(other));
    }
    engines.push(Box::new(Floor::new()));
    Ok(engines)
}
