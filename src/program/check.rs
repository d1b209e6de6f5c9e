use std::error::Error;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::program::request;
use crate::warnings::is_idle;
use crate::{
    Chain, ChainFile, DEFAULT_SEED, FileError, Params, SamplerStep, StepPlace, chain_warnings, llama_server_chain,
    vocab_warnings,
};

/// Read a chain file or a request, and print the chain as it will run, or everything that is wrong with it.
///
/// Every error of a file names the file, line and column, the step, the field, and the known name that was most likely
/// meant. Of a request every field is told: whether it is used, clamped, read under another name, without effect, unknown.
///
/// A step that is meaningless where it stands gets a warning: a penalty behind a truncation, a top_k behind a smaller one.
#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("what").required(true))]
pub struct Args {
    /// A chain file, TOML or JSON.
    #[arg(group = "what")]
    file: Option<PathBuf>,
    /// A llama-server request body: a file, or the JSON itself.
    #[arg(long, value_name = "FILE-OR-JSON", group = "what")]
    request: Option<String>,
    /// Warn of the steps that want a vocabulary, too, as for a run that has none.
    #[arg(long)]
    no_vocab: bool,
    /// Exit with 1 where there is a warning.
    #[arg(long)]
    strict: bool,
}

pub fn run(args: &Args, out: &mut impl Write) -> Result<ExitCode, Box<dyn Error>> {
    match (&args.file, &args.request) {
        (Some(file), _) => {
            // What cannot be read is no wrong chain.
            std::fs::File::open(file).map_err(|error| format!("{}: {error}", file.display()))?;
            check_file(args, file, out)
        }
        (None, Some(given)) => check_request(args, given, out),
        (None, None) => unreachable!("clap wants one of the two"),
    }
}

fn check_file(args: &Args, file: &Path, out: &mut impl Write) -> Result<ExitCode, Box<dyn Error>> {
    match ChainFile::read(file) {
        Ok(file) => {
            print_seed(file.seed.unwrap_or(DEFAULT_SEED), out)?;
            print_chain(args, &file.chain, out)
        }
        Err(error) => {
            let FileError { problems, .. } = &error;
            let n = problems.len();
            eprintln!("{error}\n{n} error{}", if n == 1 { "" } else { "s" });
            Ok(ExitCode::FAILURE)
        }
    }
}

fn check_request(args: &Args, given: &str, out: &mut impl Write) -> Result<ExitCode, Box<dyn Error>> {
    let (params, report) = match request::read(given, &Params::default()) {
        Ok(read) => read,
        Err(error) => {
            eprintln!("{error}");
            return Ok(ExitCode::FAILURE);
        }
    };
    for note in &report.notes {
        writeln!(out, "{note}")?;
    }
    print_seed(params.seed, out)?;
    match llama_server_chain(&params) {
        Ok(chain) => print_chain(args, &chain, out),
        Err(error) => {
            eprintln!("{error}");
            Ok(ExitCode::FAILURE)
        }
    }
}

/// The steps, and on stderr what is meaningless about them.
fn print_chain(args: &Args, chain: &Chain, out: &mut impl Write) -> Result<ExitCode, Box<dyn Error>> {
    print_steps(chain.steps(), "", out)?;
    out.flush()?;
    let mut warnings = chain_warnings(chain);
    if args.no_vocab {
        warnings.extend(vocab_warnings(chain));
    }
    warnings.iter().for_each(|warning| eprintln!("warning: {warning}"));
    let fails = args.strict && !warnings.is_empty();
    Ok(if fails { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn print_seed(seed: u32, out: &mut impl Write) -> io::Result<()> {
    match seed {
        DEFAULT_SEED => writeln!(out, "seed: random"),
        seed => writeln!(out, "seed: {seed}"),
    }
}

fn print_steps(steps: &[Box<dyn SamplerStep>], outer: &str, out: &mut impl Write) -> io::Result<()> {
    for (i, step) in steps.iter().enumerate() {
        let place = StepPlace { index: format!("{outer}{}", i + 1), step: step.typetag_name() };
        let StepPlace { index, step: name } = &place;
        let chains = step.chains();
        let note = match (is_idle(step.as_ref()), step.selects() && chains.is_empty()) {
            (true, _) => "   (off: its parameters change nothing)",
            (false, true) => "   (selects the token)",
            (false, false) => "",
        };
        writeln!(out, "{index:>4}  {name}{}{note}", parameters(step.as_ref()))?;
        for (field, chain) in chains {
            print_steps(chain.steps(), &place.within(field), out)?;
        }
    }
    Ok(())
}

/// `  k = 40`, from the step's own serialisation; without the chains inside it, whose steps have lines of their own.
fn parameters(step: &dyn SamplerStep) -> String {
    let Ok(serde_json::Value::Object(fields)) = serde_json::to_value(step) else { return String::new() };
    let is_shown =
        |key: &str| key != "type" && !step.chains().iter().any(|(field, chain)| *field == key && !chain.is_empty());
    let shown: Vec<String> =
        fields.iter().filter(|(key, _)| is_shown(key)).map(|(key, value)| format!("{key} = {value}")).collect();
    if shown.is_empty() { String::new() } else { format!("  {}", shown.join(", ")) }
}
