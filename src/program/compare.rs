//! Chains against a baseline. The rooms: `names` of the chains, the `table`, what is written (`outputs`), and the `page`, whose
//! `figures` show `bins` of rows in `plots`.

mod bins;
mod figures;
mod names;
mod outputs;
mod page;
mod plots;
mod table;

use std::error::Error;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

use crate::compare::{Comparison, Contestant, Follow, Plan, Shard, ShardNumber};
use serde_json::json;

use crate::program::input::{Input, RowArgs, parse_ids};
use crate::program::progress::Progress;
pub use outputs::Outputs;

/// Compare chains with a baseline along the rows of a logits file.
///
/// Every chain draws from every row with the same random numbers. Told are: how often it draws the baseline's token; how far its
/// final distribution is from the baseline's (total variation; KL divergence in nats, and where that is infinite); how many
/// candidates it keeps; its entropy; how varied it draws (distinct-n); and its time a token. The results do not depend on the
/// number of threads, and shards that are merged give the table of one run.
#[derive(clap::Args)]
pub struct Args {
    /// The chain to compare with: a chain file, or a llama-server request (a file, or the JSON itself). NAME=… names it.
    #[arg(value_name = "BASELINE")]
    baseline: String,
    /// The chains to compare, told like the baseline.
    #[arg(value_name = "OTHER", required = true)]
    others: Vec<String>,
    #[command(flatten)]
    rows: RowArgs,
    /// The first seed. Every chain gets it, whatever its file says.
    #[arg(long, value_name = "N", default_value_t = 42)]
    seed: u32,
    /// How many seeds, from --seed on; a million at most.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    seeds: u32,
    /// After each row, tell every chain the token that it drew itself. Without this and --tokens, all are told the same, so that
    /// penalties and DRY see one history: a record's tokens, or for other rows the baseline's.
    #[arg(long, conflicts_with = "tokens")]
    own_history: bool,
    /// After each row, tell every chain the token of the text along which the rows were recorded: one id a row, or a file of
    /// them.
    #[arg(long, value_name = "IDS-OR-FILE")]
    tokens: Option<String>,
    /// Do one part of the work, as 2/3, and write it to --out; merge makes one table of all parts.
    #[arg(long, value_name = "I/N", requires = "out", conflicts_with_all = ["csv", "csv_rows", "html"])]
    shard: Option<ShardNumber>,
    /// Measure no times. What is printed and written is then the same, byte for byte, each time.
    #[arg(long)]
    no_time: bool,
    /// How many threads; without it, one a core. With 1, times are not disturbed by the other threads.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    #[command(flatten)]
    outputs: Outputs,
}

pub fn run(args: &Args, out: &mut impl Write) -> Result<ExitCode, Box<dyn Error>> {
    let chains = args.chains().into_iter().map(|(_, spec)| ("a chain", Path::new(spec)));
    args.outputs.check(&args.rows.files().into_iter().chain(chains).collect::<Vec<_>>())?;
    let input = args.rows.open()?;
    let plan = args.plan(&input)?;
    let number = args.shard.unwrap_or(ShardNumber::WHOLE);
    let shard = args.draw(&plan, number, input.rows.len())?;
    match args.shard {
        Some(_) => print_shard(args, &shard, out)?,
        None => args.outputs.write(&Comparison::merge(vec![(String::new(), shard)])?, out)?,
    }
    Ok(ExitCode::SUCCESS)
}

impl Args {
    /// The chains, each with its name.
    fn chains(&self) -> Vec<(String, &str)> {
        let specs: Vec<&str> = [&self.baseline].into_iter().chain(&self.others).map(String::as_str).collect();
        names::of(&specs, |file| Path::new(file).exists())
    }

    fn plan<'i>(&self, input: &'i Input) -> Result<Plan<'i>, Box<dyn Error>> {
        let mut contestants = Vec::new();
        for (name, spec) in self.chains() {
            contestants.push(Contestant::new(name, input.of_spec(spec)?));
        }
        let last = self.seed.checked_add(self.seeds - 1).filter(|last| *last < u32::MAX);
        let last =
            last.ok_or_else(|| format!("--seed {} --seeds {}: seeds end at 4294967294", self.seed, self.seeds))?;
        let plan = Plan::new(&input.logits, contestants)
            .rows(input.rows.clone())
            .prompt(input.prompt.clone())
            .seeds((self.seed..=last).collect())
            .follow(match &self.tokens {
                Some(given) => Follow::Tokens(parse_ids("--tokens", given)?),
                None if self.own_history => Follow::Own,
                None => recorded_text(input).map_or(Follow::Baseline, Follow::Tokens),
            });
        Ok(if self.no_time { plan.untimed() } else { plan })
    }

    /// Draws on all cores, under a progress bar.
    fn draw(&self, plan: &Plan<'_>, number: ShardNumber, n_rows: usize) -> Result<Shard, Box<dyn Error>> {
        let n_cells = number.cells(n_rows.saturating_mul(self.seeds as usize)).len();
        let progress = Progress::new(n_cells);
        // No more than there is work for.
        let n_threads = self.threads.map_or(0, |n| usize::from(n).min(n_cells.max(1)));
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build();
        let pool = pool.map_err(|error| format!("--threads {n_threads}: {error}"))?;
        Ok(pool.install(|| plan.run_shard(number, &|| progress.step()))?)
    }
}

/// The text of a record along its rows. None for rows that are no record's, and where a row was not followed by one token.
fn recorded_text(input: &Input) -> Option<Vec<u32>> {
    input.logits.record()?;
    let after = |row| match input.accepted(row) {
        Some(&[token]) if input.only_accepted(row) => Some(token),
        _ => None,
    };
    let text: Option<Vec<u32>> = input.rows.clone().map(after).collect();
    if text.is_none() {
        eprintln!(
            "note: not every row of the record was followed by one token: the baseline's are told after each row"
        );
    }
    text
}

fn print_shard(args: &Args, shard: &Shard, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let Some(path) = &args.outputs.out else { return Ok(()) };
    write_rows(path, |file| shard.write(file))?;
    let (number, n) = (shard.number(), shard.cells().len());
    if args.outputs.json {
        writeln!(out, "{}", json!({"shard": number, "rows": n, "out": path}))?;
    } else {
        writeln!(out, "shard {number}: {n} rows of every chain, in {}", path.display())?;
    }
    Ok(())
}

/// Writes the rows' results to a file.
fn write_rows(path: &Path, write: impl FnOnce(BufWriter<File>) -> io::Result<()>) -> Result<(), String> {
    let written = File::create(path).and_then(|file| write(BufWriter::new(file)));
    written.map_err(|error| format!("{}: {error}", path.display()))
}
