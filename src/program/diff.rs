mod report;

use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use crate::{Diff, GgufFile, Record, Vocab, VocabFile};

use crate::program::progress::Progress;
use report::Report;

/// Tell where two records of the same generation part, and why.
///
/// The first draw where they part, and what comes first of: the history (the prompt, or a token that the engine chose), the
/// parameters (which step, which field), the seed, the logits (how many, how far), what the steps remember, a grammar; if
/// nothing differs, it is the sampler. Both records are replayed, which tells whose tokens are what the recorded chain draws
/// from the recorded logits. Draws are counted from 0. The exit status is 0 if the records are the same to the bit, 1 if they
/// differ, 2 if one cannot be read.
#[derive(clap::Args)]
pub struct Args {
    /// The first record.
    #[arg(value_name = "A")]
    a: PathBuf,
    /// The second record.
    #[arg(value_name = "B")]
    b: PathBuf,
    /// The vocabulary, to show the tokens' texts, and for chains that need it: a JSON file (testing/README.md).
    #[arg(long, value_name = "FILE", conflicts_with = "gguf")]
    vocab: Option<PathBuf>,
    /// A model file with the vocabulary.
    #[arg(long, value_name = "MODEL")]
    gguf: Option<PathBuf>,
    /// Print one JSON object instead.
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args, out: &mut impl Write) -> Result<ExitCode, Box<dyn Error>> {
    let (a, b) = (open(&args.a)?, open(&args.b)?);
    let vocab: Option<Arc<dyn Vocab>> = match (&args.vocab, &args.gguf) {
        (Some(path), _) => Some(Arc::new(VocabFile::read(path)?)),
        (None, Some(path)) => Some(Arc::new(GgufFile::open(path)?.vocab()?)),
        (None, None) => None,
    };
    let progress = Progress::new(a.n_draws() + b.n_draws());
    let diff = Diff::between_seen(&a, &b, vocab.clone(), || progress.step())?;
    drop(progress);
    if args.json {
        writeln!(out, "{}", serde_json::to_string(&diff)?)?;
    } else {
        Report::new(&diff, vocab.as_deref()).print(out)?;
    }
    Ok(if diff.is_same() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn open(path: &Path) -> Result<Record, Box<dyn Error>> {
    let record = Record::open(path)?;
    if let Some(cut) = record.cut() {
        eprintln!("note: {}: its last frame is cut, and passed over ({} bytes)", path.display(), cut.bytes);
    }
    Ok(record)
}
