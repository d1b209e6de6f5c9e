use std::error::Error;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::import::{Absent, Backend, Imported, Options, Source, import, import_file};
use crate::program::overwriting;
use crate::{Format, WriteError};
use clap::ValueEnum;
use clap::builder::PossibleValue;
use serde_json::{Value, json};

/// Make a chain file of another program's preset, and tell what became of each of its fields.
///
/// Reads SillyTavern, KoboldCpp, text-generation-webui, tabbyAPI, llama.cpp (INI files and command lines), Ollama's
/// Modelfile, generation_config.json, and llama-server's /props and generation_settings. The chain goes to stdout, the
/// report to stderr. What a chain must know and the preset does not say, such as how long the whole context is, is asked
/// for. docs/importing.md has the meanings that differ.
#[derive(clap::Args)]
pub struct Args {
    /// The preset; - for stdin.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// What the preset is of. Without it, that is seen from the file's name and what is in it.
    #[arg(long, value_name = "FORMAT")]
    from: Option<Named<Source>>,
    /// The program that a SillyTavern preset is for: which of its order lists counts, and what 0 means.
    #[arg(long, value_name = "PROGRAM")]
    backend: Option<Named<Backend>>,
    /// How many tokens the whole context has.
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u32).range(1..))]
    n_ctx: Option<u32>,
    /// The section of an INI file; it lies over [*].
    #[arg(long, value_name = "NAME")]
    preset: Option<String>,
    /// What is meant by a field that generation_config.json does not have.
    #[arg(long, value_name = "RULE")]
    absent: Option<Named<Absent>>,
    /// The format of the chain file.
    #[arg(long, value_name = "FORMAT", default_value = "toml", value_parser = ["toml", "json"])]
    format: String,
    /// Write the chain file there instead of stdout; not over the preset.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print one JSON object instead: source, chain and report.
    #[arg(long, conflicts_with = "out")]
    json: bool,
    /// Fail where something that matters has no counterpart, or is not known.
    #[arg(long)]
    strict: bool,
}

/// One of a few values, by the library's name for it.
#[derive(Debug, Clone, Copy)]
struct Named<T>(T);

macro_rules! named {
    ($($of:ty),*) => {$(
        impl ValueEnum for Named<$of> {
            fn value_variants<'a>() -> &'a [Self] {
                const ALL: &[Named<$of>] = &{
                    let mut all = [Named(<$of>::ALL[0]); <$of>::ALL.len()];
                    let mut i = 0;
                    while i < all.len() {
                        all[i] = Named(<$of>::ALL[i]);
                        i += 1;
                    }
                    all
                };
                ALL
            }

            fn to_possible_value(&self) -> Option<PossibleValue> {
                Some(PossibleValue::new(self.0.name()))
            }
        }
    )*};
}

named!(Source, Backend, Absent);

pub fn run(args: &Args, out: &mut impl Write) -> Result<ExitCode, Box<dyn Error>> {
    let options = Options {
        source: args.from.map(|named| named.0),
        backend: args.backend.map(|named| named.0),
        n_ctx: args.n_ctx,
        preset: args.preset.clone(),
        absent: args.absent.map(|named| named.0),
    };
    let outputs: Vec<_> = args.out.as_deref().map(|path| ("--out", path)).into_iter().collect();
    overwriting::refuse(&outputs, &[("the preset", &args.file)])?;
    let imported = if args.file == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map_err(|error| format!("stdin: {error}"))?;
        import(&text, Path::new("stdin"), &options)?
    } else {
        import_file(&args.file, &options)?
    };
    if args.json {
        let object = object(&imported)?;
        writeln!(out, "{}", serde_json::to_string_pretty(&object)?)?;
    } else {
        imported.report.notes.iter().for_each(|note| eprint!("{}", wrapped(&note.to_string())));
        let text = chain_text(args, &imported)?;
        match &args.out {
            Some(path) => std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))?,
            None => out.write_all(text.as_bytes())?,
        }
    }
    let n_lost = imported.report.losses().count();
    if args.strict && n_lost > 0 {
        let what = if n_lost == 1 { "field has no counterpart, or is" } else { "fields have no counterpart, or are" };
        eprintln!("--strict: {n_lost} {what} not known");
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

/// A note in lines of 80 columns, all but the first indented. A longer word has a line of its own.
fn wrapped(note: &str) -> String {
    const WIDTH: usize = 80;
    let mut lines = String::new();
    let mut column = 0;
    for word in note.split(' ') {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > WIDTH {
            lines.push_str("\n   ");
            column = 3;
        }
        if column > 0 {
            lines.push(' ');
            column += 1;
        }
        lines.push_str(word);
        column += length;
    }
    lines + "\n"
}

/// The chain file, in TOML under a line that says where it comes from.
fn chain_text(args: &Args, imported: &Imported) -> Result<String, WriteError> {
    if args.format == "json" {
        return imported.chain.to_text(Format::Json);
    }
    let name = match args.file.file_name() {
        Some(name) if args.file != Path::new("-") => name.to_string_lossy().escape_debug().to_string(),
        _ => "stdin".to_string(),
    };
    let chain = imported.chain.to_text(Format::Toml)?;
    Ok(format!("# Imported from {name} ({}) by sampler-chain import.\n{chain}", imported.source))
}

fn object(imported: &Imported) -> Result<Value, Box<dyn Error>> {
    let chain: Value = serde_json::from_str(&imported.chain.to_text(Format::Json)?)?;
    Ok(json!({"source": imported.source.name(), "chain": chain, "report": serde_json::to_value(&imported.report)?}))
}
