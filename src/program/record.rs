use std::error::Error;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::record::{Header, Parameters, mend};
use crate::{Recorded, Recorder, Sampler};

use crate::program::input::{ChainArgs, Input, RowArgs};
use crate::program::progress::Progress;
use crate::program::sample::{print_row, printable};

/// Draw one token from each row, as sample does, and keep all of it in a record.
///
/// The record holds the chain, the seed that was really used, the prompt, every row with its token, and what was accepted.
/// diff compares two records; sample and other subcommands take one for --logits. A record that is there already goes on
/// where it ended: with its chain, seed and history, and with --prompt as the next turn. Two runs into one file leave the
/// bytes of one.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    rows: RowArgs,
    /// The record: a new file, or one to go on with.
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,
    /// A note for a new record: the model, the engine, why.
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// Cut off the last frame of a record that was left in the middle of it, and go on from there.
    #[arg(long)]
    mend: bool,
    /// Print one JSON object a row instead.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    chain: ChainArgs,
}

pub fn run(args: &Args, out: &mut impl Write) -> Result<ExitCode, Box<dyn Error>> {
    let input = args.rows.open()?;
    let mut recorded = if args.out.exists() { go_on(args, &input)? } else { begin(args, &input)? };
    let seed = recorded.sampler().seed();
    if !args.json {
        writeln!(out, "seed {seed}")?;
    }
    let progress = Progress::of_printing(input.rows.len());
    let (mut row, mut text) = (Vec::new(), Vec::new());
    for i in input.rows.clone() {
        input.row(i, &mut row)?;
        let drawn = recorded.select(&row).map_err(|error| format!("row {i}: {error}"))?;
        match input.accepted(i) {
            None => recorded.accept(drawn.id)?,
            Some(tokens) if input.only_accepted(i) => tokens.iter().try_for_each(|&token| recorded.accept(token))?,
            Some(_) => recorded.change(|sampler| input.accept(i, drawn.id, sampler))??,
        }
        let piece = input.vocab.as_ref().map(|vocab| vocab.piece(drawn.id).to_vec());
        text.extend_from_slice(piece.as_deref().unwrap_or_default());
        print_row(args.json, i, drawn, piece.as_deref(), seed, out)?;
        progress.step();
    }
    if !args.json {
        if input.vocab.is_some() {
            writeln!(out, "{}", printable(&text))?;
        }
        writeln!(out, "{} draws are in {}", input.rows.len(), args.out.display())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A new record.
fn begin(args: &Args, input: &Input) -> Result<Recorded, Box<dyn Error>> {
    let mut sampler = args.chain.unprompted(input)?;
    let is_led = input.followed().is_some();
    if is_led {
        sampler = input.prompted(sampler)?;
    }
    let mut header = Header::of(&sampler)?;
    header.note.clone_from(&args.note);
    if !is_led {
        // Before there is a file, so that a wrong prompt leaves none.
        input.prompted(sampler.clone())?;
    }
    let mut recorded = Recorded::new(Recorder::create_with(&args.out, &header, &sampler)?, sampler);
    if !is_led {
        recorded.accept_prompt_all(&input.prompt)?;
    }
    Ok(recorded)
}

/// A record that is there already.
fn go_on(args: &Args, input: &Input) -> Result<Recorded, Box<dyn Error>> {
    let path = args.out.display();
    if args.note.is_some() {
        return Err(format!("--note: {path} is there already, and has the note that it began with").into());
    }
    if args.mend
        && let Some(cut) = mend(&args.out)?
    {
        eprintln!("note: {path}: {} bytes of a frame that was never whole are cut off", cut.bytes);
    }
    let (recorder, sampler) = Recorder::resume(&args.out, input.vocab.clone())?;
    let here = input.logits.n_vocab();
    if let Some(there) = sampler.ctx().n_vocab().filter(|&there| there != here) {
        return Err(format!("{path} is of a vocabulary of {there} tokens, and the rows are {here} wide").into());
    }
    if args.chain.is_given() {
        check_chain(args, &sampler, &args.chain.unprompted(input)?)?;
    }
    let mut recorded = Recorded::new(recorder, sampler);
    if input.is_prompt_given() {
        recorded.accept_prompt_all(&input.prompt).map_err(|error| format!("--prompt: {error}"))?;
    }
    Ok(recorded)
}

/// A chain that is given again has to be the record's.
fn check_chain(args: &Args, there: &Sampler, here: &Sampler) -> Result<(), Box<dyn Error>> {
    let path = args.out.display();
    let leave = "leave the chain away to go on with the record's";
    if let Some(change) = Parameters::of(there)?.changes(&Parameters::of(here)?).first() {
        return Err(format!("{path}: {}; {leave}", change.describe("the record", "this chain")).into());
    }
    let (there, here) = (there.seed(), here.seed());
    if there != here {
        return Err(format!(
            "{path}: the record's seed is {there}, and this chain's {here} (without one it draws one); {leave}"
        )
        .into());
    }
    Ok(())
}
