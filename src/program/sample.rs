use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;

use crate::Cand;
use serde_json::json;

use crate::program::input::{ChainArgs, RowArgs};

/// Draw one token from each row of a logits file.
///
/// The chain is that of a file, or the one that llama-server builds: from the model's values, the flags, and a request, each
/// over the one before; for a record it is the record's, where none is given. Each drawn token is accepted before the next
/// row, so penalties and DRY see it; of a record's rows, the tokens that were accepted then. One line a row: the row, the
/// token, its probability after the chain (- where no step computed it) and, with a vocabulary, its text; then the whole
/// text.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    rows: RowArgs,
    /// Print one JSON object a row instead.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    chain: ChainArgs,
}

pub fn run(args: &Args, out: &mut impl Write) -> Result<ExitCode, Box<dyn Error>> {
    let input = args.rows.open()?;
    let mut sampler = args.chain.sampler(&input)?;
    if !args.json {
        writeln!(out, "seed {}", sampler.seed())?;
    }
    let mut text = Vec::new();
    let mut row = Vec::new();
    for i in input.rows.clone() {
        input.row(i, &mut row)?;
        let drawn = sampler.draw(&row).map_err(|error| format!("row {i}: {error}"))?.selected();
        input.accept(i, drawn.id, &mut sampler)?;
        let piece = input.vocab.as_ref().map(|vocab| vocab.piece(drawn.id).to_vec());
        text.extend_from_slice(piece.as_deref().unwrap_or_default());
        print_row(args.json, i, drawn, piece.as_deref(), sampler.seed(), out)?;
    }
    if !args.json && input.vocab.is_some() {
        writeln!(out, "{}", printable(&text))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A text with what a terminal would obey written out: control characters but newlines and tabs, and changes of direction.
pub fn printable(text: &[u8]) -> String {
    let is_obeyed = |c: char| {
        (c.is_control() && c != '\n' && c != '\t') || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let mut shown = String::new();
    for c in String::from_utf8_lossy(text).chars() {
        if is_obeyed(c) { shown.extend(c.escape_unicode()) } else { shown.push(c) }
    }
    shown
}

/// Prints what was drawn from a row.
pub fn print_row(
    as_json: bool,
    row: usize,
    drawn: Cand,
    piece: Option<&[u8]>,
    seed: u32,
    out: &mut impl Write,
) -> io::Result<()> {
    let p = (drawn.p > 0.0).then_some(drawn.p);
    if as_json {
        let text = piece.map(String::from_utf8_lossy);
        writeln!(out, "{}", json!({"row": row, "token": drawn.id, "p": p, "text": text, "seed": seed}))
    } else {
        let p = p.map_or("-".to_string(), |p| format!("{p:.6}"));
        let piece = piece.map_or(String::new(), |piece| format!("  {:?}", String::from_utf8_lossy(piece)));
        writeln!(out, "{row:>4}  {:>7}  {p:>8}{piece}", drawn.id)
    }
}
