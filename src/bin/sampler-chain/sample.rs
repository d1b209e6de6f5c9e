use std::error::Error;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use sampler_chain::{Cand, ChainFile, Ctx, GgufFile, LogitsFile, Params, Report, Sampler, Vocab, VocabFile};
use serde_json::json;

use crate::flags::Flags;
use crate::request;

/// Draw one token from each row of a logits file.
///
/// The chain is that of a file, or the one that llama-server builds: from the model's values, the flags, and a request, each
/// over the one before. Each drawn token is accepted before the next row, so penalties and DRY see it. One line a row: the
/// row, the token, its probability after the chain (- where no step computed it) and, with a vocabulary, its text; then the
/// whole text.
#[derive(clap::Args)]
pub struct Args {
    /// A chain file, TOML or JSON.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["request", "Flags"])]
    chain: Option<PathBuf>,
    /// A llama-server request body: a file, or the JSON itself.
    #[arg(long, value_name = "FILE-OR-JSON")]
    request: Option<String>,
    /// A model file, whose general.sampling.* values and vocabulary are used.
    #[arg(long, value_name = "MODEL")]
    gguf: Option<PathBuf>,
    /// The logits: a safetensors file with an F32 tensor of shape [rows, vocabulary].
    #[arg(long, value_name = "FILE")]
    logits: PathBuf,
    /// The tensor's name; needed where the file has several and none is called logits.
    #[arg(long, value_name = "NAME")]
    tensor: Option<String>,
    /// The rows to draw from: the first, and the one behind the last. Without it, all.
    #[arg(long, value_name = "A..B", value_parser = parse_rows)]
    rows: Option<(usize, usize)>,
    /// The prompt's tokens, which penalties, DRY and the like see: ids with commas or spaces between, or a file of them.
    #[arg(long, value_name = "IDS-OR-FILE")]
    prompt: Option<String>,
    /// The vocabulary: a JSON file with pieces_hex, eog, eot and eos (testing/README.md). Without it, the model file's.
    #[arg(long, value_name = "FILE")]
    vocab: Option<PathBuf>,
    /// Print one JSON object a row instead.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    flags: Flags,
}

fn parse_rows(text: &str) -> Result<(usize, usize), String> {
    let wrong = || format!("\"{text}\" is no range of rows; 0..16 is");
    let (from, to) = text.split_once("..").ok_or_else(wrong)?;
    let (from, to): (usize, usize) = (from.parse().map_err(|_| wrong())?, to.parse().map_err(|_| wrong())?);
    if from < to { Ok((from, to)) } else { Err(format!("the rows {text} are none")) }
}

pub fn run(args: &Args, out: &mut impl Write) -> Result<ExitCode, Box<dyn Error>> {
    let logits = LogitsFile::open(&args.logits, args.tensor.as_deref())?;
    let (from, to) = args.rows.unwrap_or((0, logits.n_rows()));
    if to > logits.n_rows() || from == to {
        return Err(format!("{}: rows {from}..{to} of {}", args.logits.display(), logits.n_rows()).into());
    }
    let model = args.gguf.as_deref().map(GgufFile::open).transpose()?;
    let vocab = vocab(args, model.as_ref(), logits.n_vocab())?;
    let mut sampler = match &args.chain {
        Some(path) => of_chain(path, vocab.clone(), logits.n_vocab())?,
        None => of_params(args, model.as_ref(), vocab.clone(), logits.n_vocab())?,
    };
    sampler.accept_prompt_all(&prompt(args.prompt.as_deref())?).map_err(|error| format!("--prompt: {error}"))?;
    if !args.json {
        writeln!(out, "seed {}", sampler.seed())?;
    }
    let mut text = Vec::new();
    let mut row = Vec::new();
    for i in from..to {
        logits.row(i, &mut row).ok_or_else(|| format!("row {i} is not there"))?;
        let drawn = sampler.draw(&row).map_err(|error| format!("row {i}: {error}"))?.selected();
        sampler.accept(drawn.id)?;
        let piece = vocab.as_ref().map(|vocab| vocab.piece(drawn.id).to_vec());
        text.extend_from_slice(piece.as_deref().unwrap_or_default());
        print_row(args.json, i, drawn, piece.as_deref(), sampler.seed(), out)?;
    }
    if !args.json && vocab.is_some() {
        writeln!(out, "{}", String::from_utf8_lossy(&text))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn print_row(
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

/// The vocabulary of its own file, or of the model's.
fn vocab(args: &Args, model: Option<&GgufFile>, n_vocab: usize) -> Result<Option<Arc<dyn Vocab>>, Box<dyn Error>> {
    let (path, vocab): (&Path, Arc<dyn Vocab>) = match (&args.vocab, &args.gguf, model) {
        (Some(path), _, _) => (path, Arc::new(VocabFile::read(path)?)),
        (None, Some(path), Some(model)) if model.has_vocab() => (path, Arc::new(model.vocab()?)),
        _ => return Ok(None),
    };
    if vocab.n_tokens() != n_vocab {
        let (path, logits) = (path.display(), args.logits.display());
        let n_tokens = vocab.n_tokens();
        return Err(format!("{path} has {n_tokens} tokens, and the rows of {logits} are {n_vocab} wide").into());
    }
    Ok(Some(vocab))
}

fn of_chain(path: &Path, vocab: Option<Arc<dyn Vocab>>, n_vocab: usize) -> Result<Sampler, Box<dyn Error>> {
    let ctx = |seed| match vocab {
        Some(vocab) => Ctx::new(seed).with_vocab(vocab),
        None => Ctx::new(seed).with_n_vocab(n_vocab),
    };
    let sampler = ChainFile::read(path)?.into_sampler(ctx);
    Ok(sampler.map_err(|error| format!("{}: {error}", path.display()))?)
}

/// The chain that llama-server builds: defaults, the model's values, the flags, the request.
fn of_params(
    args: &Args,
    model: Option<&GgufFile>,
    vocab: Option<Arc<dyn Vocab>>,
    n_vocab: usize,
) -> Result<Sampler, Box<dyn Error>> {
    let base = Params { vocab, n_vocab: Some(n_vocab), ..Params::default() };
    let base = model.map_or_else(|| base.clone(), |model| model.params(&base));
    let (mut params, report) = args.flags.over(&base)?;
    tell(&report);
    if let Some(given) = &args.request {
        let (over, report) = request::read(given, &params)?;
        params = over;
        tell(&report);
    }
    Ok(Sampler::new(params)?)
}

fn tell(report: &Report) {
    report.surprises().for_each(|note| eprintln!("note: {note}"));
}

fn prompt(given: Option<&str>) -> Result<Vec<u32>, Box<dyn Error>> {
    let Some(given) = given else { return Ok(Vec::new()) };
    let is_list = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || b" ,\t\r\n[]-".contains(&byte));
    let text = if is_list(given) {
        given.to_string()
    } else {
        std::fs::read_to_string(given).map_err(|error| format!("--prompt: {given}: {error}"))?
    };
    let separators = |c: char| c.is_whitespace() || matches!(c, ',' | '[' | ']');
    text.split(separators)
        .filter(|id| !id.is_empty())
        .map(|id| id.parse().map_err(|_| format!("--prompt: \"{id}\" is no token id").into()))
        .collect()
}
