use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use sampler_chain::{ChainFile, DEFAULT_SEED, SamplerStep};

/// Read a chain file and print the chain as it will run, or everything that is wrong with it.
///
/// Every error names the file, line and column, the step, the field, and the known name that was most likely meant.
#[derive(clap::Args)]
pub struct Args {
    /// A chain file, TOML or JSON.
    file: PathBuf,
}

pub fn run(args: &Args) -> Result<ExitCode, Box<dyn Error>> {
    let file = match ChainFile::read(&args.file) {
        Ok(file) => file,
        Err(error) => {
            eprintln!("{error}");
            let n = error.problems.len();
            eprintln!("{n} error{}", if n == 1 { "" } else { "s" });
            return Ok(ExitCode::FAILURE);
        }
    };
    match file.seed {
        None | Some(DEFAULT_SEED) => println!("seed: random"),
        Some(seed) => println!("seed: {seed}"),
    }
    print_steps(file.chain.steps(), "");
    Ok(ExitCode::SUCCESS)
}

fn print_steps(steps: &[Box<dyn SamplerStep>], outer: &str) {
    for (i, step) in steps.iter().enumerate() {
        let index = format!("{outer}{}", i + 1);
        let name = step.typetag_name();
        let inner = step.inner();
        let note = match (step.is_off(), step.selects() && inner.is_empty()) {
            (true, _) => "   (off: its parameters change nothing)",
            (false, true) => "   (selects the token)",
            (false, false) => "",
        };
        let parameters = if inner.is_empty() { parameters(step.as_ref()) } else { String::new() };
        println!("{index:>4}  {name}{parameters}{note}");
        print_steps(inner, &format!("{index}."));
    }
}

/// ` k = 40`, from the step's own serialisation.
fn parameters(step: &dyn SamplerStep) -> String {
    let Ok(serde_json::Value::Object(fields)) = serde_json::to_value(step) else { return String::new() };
    let shown: Vec<String> =
        fields.iter().filter(|(key, _)| *key != "type").map(|(key, value)| format!("{key} = {value}")).collect();
    if shown.is_empty() { String::new() } else { format!("  {}", shown.join(", ")) }
}
