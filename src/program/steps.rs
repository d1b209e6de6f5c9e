use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;

use crate::{ParameterInfo, StepInfo, chain_schema};
use serde_json::{Value, json};

/// Texts are as wide as this.
const WIDTH: usize = 80;

/// List the steps that a chain can have, with their parameters, types and defaults.
///
/// With a name, all that is to be known of one step: what it does, what its parameters mean, where it comes from, what it does to
/// the order of the candidates, what it draws, and how it stands in a chain file.
///
/// `--schema` prints the JSON Schema of chain files, with which editors complete and check them (docs/chain-files.md).
#[derive(clap::Args)]
pub struct Args {
    /// A step.
    #[arg(conflicts_with = "schema")]
    name: Option<String>,
    /// Print JSON instead: a list of steps, or one step.
    #[arg(long)]
    json: bool,
    /// Print the JSON Schema of chain files (draft 7).
    #[arg(long)]
    schema: bool,
}

pub fn run(args: &Args, out: &mut impl Write) -> Result<ExitCode, Box<dyn Error>> {
    match &args.name {
        _ if args.schema => print_json(&chain_schema(), out)?,
        Some(name) if args.json => print_json(&json!(StepInfo::of(name)?), out)?,
        Some(name) => print_step(&StepInfo::of(name)?, out)?,
        None if args.json => print_json(&json!(StepInfo::all()), out)?,
        None => {
            for (i, step) in StepInfo::all().iter().enumerate() {
                if i > 0 {
                    writeln!(out)?;
                }
                print_overview(step, out)?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn print_json(value: &Value, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    writeln!(out, "{}", serde_json::to_string_pretty(value)?)?;
    Ok(())
}

fn print_overview(step: &StepInfo, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{}{}", step.name, selects(step))?;
    if let Some(summary) = &step.summary {
        print_text(summary, "  ", "  ", out)?;
    }
    let parameters = step.parameters.as_deref().unwrap_or_default();
    let width = parameters.iter().map(|parameter| parameter.name.len()).max().unwrap_or_default();
    for parameter in parameters {
        let name = format!("    {:<width$}  ", parameter.name);
        print_text(&type_and_default(parameter), &name, &" ".repeat(name.len()), out)?;
    }
    Ok(())
}

fn print_step(step: &StepInfo, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{}{}", step.name, selects(step))?;
    writeln!(out)?;
    match &step.about {
        Some(about) => print_text(about, "", "", out)?,
        None => writeln!(out, "It does not describe itself.")?,
    }
    writeln!(out, "\nParameters")?;
    match step.parameters.as_deref() {
        None => writeln!(out, "  It takes any.")?,
        Some([]) => writeln!(out, "  None.")?,
        Some(parameters) => parameters.iter().try_for_each(|parameter| print_parameter(parameter, out))?,
    }
    let sections = [("Origin", &step.origin), ("Order and flags", &step.order), ("Draws", &step.draws)];
    for (heading, text) in sections {
        if let Some(text) = text {
            writeln!(out, "\n{heading}")?;
            print_text(text, "  ", "  ", out)?;
        }
    }
    if let Some(example) = &step.example {
        writeln!(out, "\nIn a chain file\n")?;
        let toml = toml::to_string(&json!({"steps": [example]})).unwrap_or_else(|_| example.to_string());
        // As it can be pasted: an indent would change texts of several lines.
        writeln!(out, "{}", toml.trim_end())?;
    }
    Ok(())
}

fn selects(step: &StepInfo) -> &'static str {
    if step.selects == Some(true) { "   (selects the token)" } else { "" }
}

fn print_parameter(parameter: &ParameterInfo, out: &mut impl Write) -> io::Result<()> {
    const INDENT: &str = "      ";
    print_text(&type_and_default(parameter), &format!("  {}   ", parameter.name), INDENT, out)?;
    if let Some(doc) = &parameter.doc {
        print_text(&without_default(doc, parameter), INDENT, INDENT, out)?;
    }
    for value in &parameter.values {
        let doc = value.doc.as_deref().unwrap_or_default();
        print_text(&format!("{}: {doc}", json!(value.value)), INDENT, INDENT, out)?;
    }
    Ok(())
}

fn type_and_default(parameter: &ParameterInfo) -> String {
    match &parameter.default {
        _ if parameter.required => format!("{}, must be given", parameter.kind),
        Some(default) => format!("{}, default {default}", parameter.kind),
        None => parameter.kind.clone(),
    }
}

/// The text without its last sentence, where that only tells the default, which stands beside it.
fn without_default(doc: &str, parameter: &ParameterInfo) -> String {
    let last = doc.rfind("Default ").filter(|_| parameter.default.is_some());
    let is_last = |at: &usize| !doc[*at..].trim_end_matches('.').contains(". ");
    last.filter(is_last).map_or(doc, |at| doc[..at].trim_end()).to_string()
}

/// Paragraphs, with what stands before the first line and before the others.
fn print_text(text: &str, first: &str, others: &str, out: &mut impl Write) -> io::Result<()> {
    let options = textwrap::Options::new(WIDTH).initial_indent(first).subsequent_indent(others);
    for (i, paragraph) in text.split("\n\n").enumerate() {
        if i > 0 {
            writeln!(out)?;
        }
        textwrap::wrap(paragraph, &options).iter().try_for_each(|line| writeln!(out, "{line}"))?;
    }
    Ok(())
}
