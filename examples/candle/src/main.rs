//! cargo run --release -- --chain ../chains/min-p.toml --prompt "Tell me about the sea."
//!
//! SmolLM2-135M-Instruct (or another small chat model with its template) through candle on the CPU, sampled with a chain
//! file or with what the model file says. README.md downloads the model.

mod engine;

use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Parser;
use engine::{Engine, default_model};
use sampler_chain::{ChainFile, Ctx, GgufFile, Params, Recorder, Sampler, Vocab};

/// Let a model answer: the text on stdout as it is drawn, the seed and the times on stderr.
#[derive(Parser)]
#[command(group = clap::ArgGroup::new("how").required(true))]
struct Args {
    /// What is asked.
    #[arg(long, default_value = "What is gravity?")]
    prompt: String,
    /// A chain file, TOML or JSON.
    #[arg(long, value_name = "FILE", group = "how")]
    chain: Option<PathBuf>,
    /// llama-server's defaults, with the model file's general.sampling.* values over them.
    #[arg(long, group = "how")]
    gguf_defaults: bool,
    /// The seed, in place of the chain file's; without either, a random one.
    #[arg(long)]
    seed: Option<u32>,
    /// How many tokens at most.
    #[arg(short, default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..))]
    n: u32,
    /// Keep all of it in a record, for trace, compare and diff of sampler-chain.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// The model: GGUF, of the architecture llama, with a byte-level vocabulary and the ChatML template.
    #[arg(long, value_name = "FILE", default_value_os_t = default_model())]
    model: PathBuf,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(args: &Args) -> Result<(), Box<dyn Error>> {
    let file = GgufFile::open(&args.model)?;
    let mut engine = Engine::open(&args.model, &file)?;
    let mut sampler = match &args.chain {
        Some(path) => from_chain(path, args.seed, engine.vocab.clone())?,
        None => {
            let params = file.params(&Params { vocab: Some(engine.vocab.clone()), ..Params::default() });
            Sampler::new(Params { seed: args.seed.unwrap_or(params.seed), ..params })?
        }
    };
    eprintln!("seed {}", sampler.seed());

    let prompt = engine.encode(&chat(&args.prompt))?;
    let mut record = args.record.as_deref().map(|path| Recorder::create(path, &sampler)).transpose()?;
    sampler.accept_prompt_all(&prompt)?;
    if let Some(record) = &mut record {
        record.prompt(&prompt)?;
    }
    let start = Instant::now();
    let mut logits = engine.read(&prompt)?;
    let reading = start.elapsed();

    let mut out = std::io::stdout().lock();
    let (start, mut sampling, mut n_drawn) = (Instant::now(), Duration::ZERO, 0);
    loop {
        let drawing = Instant::now();
        let token = sampler.sample(&logits)?;
        sampler.accept(token)?;
        sampling += drawing.elapsed();
        n_drawn += 1;
        if let Some(record) = &mut record {
            record.draw(&logits, token)?;
            record.accept(token)?;
        }
        if engine.vocab.is_eog(token) {
            break;
        }
        // Whole bytes of half characters, too: the next piece brings the rest.
        out.write_all(engine.vocab.piece(token))?;
        out.flush()?;
        if n_drawn == args.n || engine.n_left() == 0 {
            break;
        }
        logits = engine.read(&[token])?;
    }
    writeln!(out)?;
    let generating = start.elapsed();
    eprintln!("prompt: {} tokens in {:.2} s", prompt.len(), reading.as_secs_f64());
    eprintln!(
        "drawn: {n_drawn} tokens in {:.2} s, {:.1} a second; sampling took {:.2}% of it, {:.0} us a token",
        generating.as_secs_f64(),
        f64::from(n_drawn) / generating.as_secs_f64(),
        100.0 * sampling.as_secs_f64() / generating.as_secs_f64(),
        1e6 * sampling.as_secs_f64() / f64::from(n_drawn),
    );
    Ok(())
}

fn from_chain(path: &Path, seed: Option<u32>, vocab: Arc<dyn Vocab>) -> Result<Sampler, Box<dyn Error>> {
    let mut file = ChainFile::read(path)?;
    file.seed = seed.or(file.seed);
    let sampler = file.into_sampler(|seed| Ctx::new(seed).with_vocab(vocab));
    Ok(sampler.map_err(|error| format!("{}: {error}", path.display()))?)
}

/// A conversation of one question in SmolLM2's template, ready for the answer.
fn chat(question: &str) -> String {
    const SYSTEM: &str = "You are a helpful AI assistant named SmolLM, trained by Hugging Face";
    format!("<|im_start|>system\n{SYSTEM}<|im_end|>\n<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n")
}
