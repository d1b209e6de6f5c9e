//! What a chain does to a distribution, step by step. Rooms: `table`, `why` (one token), `page` (HTML), `fit` (columns).

mod fit;
mod page;
mod table;
mod why;

use std::error::Error;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use crate::trace::Step;
use crate::{Sampler, Trace, TraceOptions};
use serde::Serialize;

use crate::program::input::{ChainArgs, RowArgs};
use crate::program::overwriting;
use crate::program::progress::Progress;

/// Show what each step of a chain does to the candidates.
///
/// One draw a row, each drawn token accepted before the next row, as by sample; of a record's rows, what was accepted then. A table has a line a step: the candidates
/// left, whether they are known to be sorted, the entropy in bits, the probability of the top, the probability that the step
/// removed and that it shifted (the total variation: removed, and taken from those that stayed), and its time. Then
/// bars: the first candidates of the row, and after each step that changed something, with what they gained in percentage
/// points; > marks the drawn token, with its rank where it is not among the first. In pieces, ␠ is a space, ␊ a newline, \xE2
/// a byte that is not UTF-8.
///
/// The times are those of the quickest of three draws that nobody looks into. A step can put work off until another step
/// needs its outcome, and then the time is the latter's.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    rows: RowArgs,
    /// How many candidates to show after each step; 0 for none. Without it 5, in JSON 10, on the page 12.
    #[arg(long, value_name = "N")]
    top: Option<usize>,
    /// Tell what becomes of one token: its rank and probability after each step, and the step that removes it. An id, or its
    /// text where there is a vocabulary (" would" or ␠would; "7" in double quotes for the text); of several tokens with that
    /// text the first. May be given several times.
    #[arg(long, value_name = "TOKEN")]
    why: Vec<String>,
    /// Print one JSON object a row instead: the library's Trace, and the row.
    #[arg(long, conflicts_with = "html")]
    json: bool,
    /// Write a page with pictures of all rows instead: one file under 1 MB, which needs no network.
    #[arg(long, value_name = "FILE", conflicts_with = "why")]
    html: Option<PathBuf>,
    #[command(flatten)]
    chain: ChainArgs,
}

/// A row of `--json`: read as a [`Trace`], too.
#[derive(Serialize)]
struct Line<'t> {
    row: usize,
    #[serde(flatten)]
    trace: &'t Trace,
}

pub fn run(args: &Args, out: &mut impl Write) -> Result<ExitCode, Box<dyn Error>> {
    let outputs: Vec<_> = args.html.as_deref().map(|path| ("--html", path)).into_iter().collect();
    overwriting::refuse(&outputs, &args.rows.files().into_iter().chain(args.chain.file()).collect::<Vec<_>>())?;
    let input = args.rows.open()?;
    let mut sampler = args.chain.sampler(&input)?;
    let n_vocab = input.logits.n_vocab();
    let note = |note: String| eprintln!("note: {note}");
    let meant = |text: &String| why::token(text, n_vocab, input.vocab.as_deref(), note);
    let follow = args.why.iter().map(meant).collect::<Result<Vec<u32>, _>>()?;
    let usual = if args.json {
        10
    } else if args.html.is_some() {
        page::TOP
    } else {
        5
    };
    let shown = args.top.unwrap_or(usual);
    // A table tells the probability of the top, whatever is shown below it.
    let top = if args.json { shown } else { shown.max(1) };
    let options = TraceOptions { top, follow, ..TraceOptions::default() };
    if let Some(path) = &args.html
        && let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.is_dir())
    {
        return Err(format!("{}: there is no folder {}", path.display(), folder.display()).into());
    }
    let mut page = args.html.as_deref().map(|_| page::Page::new(&input));
    let n = input.rows.len();
    let progress = if page.is_some() { Progress::new(n) } else { Progress::of_printing(n) };
    let mut row = Vec::new();
    for i in input.rows.clone() {
        input.row(i, &mut row)?;
        let trace = draw(&mut sampler, &row, &options).map_err(|error| format!("row {i}: {error}"))?;
        input.accept(i, trace.token, &mut sampler)?;
        match &mut page {
            Some(page) => {
                if !page.add(i, &trace) {
                    break;
                }
            }
            None if args.json => writeln!(out, "{}", serde_json::to_string(&Line { row: i, trace: &trace })?)?,
            None => {
                if i > input.rows.start {
                    writeln!(out)?;
                }
                print(i, &trace, &options.follow, shown, out)?;
            }
        }
        progress.step();
    }
    drop(progress);
    if let (Some(page), Some(path)) = (page, &args.html) {
        let (html, notes) = page.finish()?;
        std::fs::write(path, &html).map_err(|error| format!("{}: {error}", path.display()))?;
        notes.iter().for_each(|note| eprintln!("note: {note}"));
        writeln!(out, "{}: {} kB", path.display(), html.len().div_ceil(1000))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Traces a row; of a draw that gives no token the step is named behind which nothing could be drawn.
fn draw(sampler: &mut Sampler, row: &[f32], options: &TraceOptions) -> Result<Trace, String> {
    let mut culprit = None;
    let seen = |step: &Step| {
        if culprit.is_none() && step.after.entropy.is_none() {
            culprit = Some(format!("; nothing can be drawn since step {} ({})", step.place_text(), step.step));
        }
    };
    let traced = sampler.trace_seen(row, options, seen);
    traced.map_err(|error| format!("{error}{}", culprit.unwrap_or_default()))
}

/// The stories of the tokens that are followed, or the whole trace with `shown` candidates a step.
fn print(row: usize, trace: &Trace, follow: &[u32], shown: usize, out: &mut impl Write) -> io::Result<()> {
    if follow.is_empty() {
        return table::print(row, trace, shown, out);
    }
    table::head(row, trace, out)?;
    follow.iter().filter_map(|&token| trace.story(token)).try_for_each(|story| why::print(trace, story, out))
}
