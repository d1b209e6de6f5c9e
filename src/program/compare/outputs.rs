//! What becomes of a comparison: the table, and files.

use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::compare::{Comparison, Divergence, Summary};
use serde_json::json;

use super::{page, table, write_rows};
use crate::program::overwriting::{self, Named};

/// What compare and merge write.
#[derive(clap::Args)]
pub struct Outputs {
    /// Print the table as one JSON object, with what the comparison is of.
    #[arg(long)]
    pub json: bool,
    /// Write the table to a CSV file, every number in full: a line a chain.
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Write the results of every row to a CSV file: a line for each seed, row and chain.
    #[arg(long, value_name = "FILE")]
    csv_rows: Option<PathBuf>,
    /// Write a page with the table and plots, which a browser opens without a network.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Keep the results of every row in a file that merge reads.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

impl Outputs {
    /// Whether all files can be written, and are none of the inputs, asked before hours of drawing. Nothing is changed.
    pub fn check(&self, inputs: &[Named<'_>]) -> Result<(), String> {
        let flags =
            [("--csv", &self.csv), ("--csv-rows", &self.csv_rows), ("--html", &self.html), ("--out", &self.out)];
        let outputs: Vec<_> = flags.iter().filter_map(|(flag, path)| Some((*flag, path.as_deref()?))).collect();
        overwriting::refuse(&outputs, inputs)?;
        for (_, path) in outputs {
            let is_new = !path.exists();
            let opened = std::fs::OpenOptions::new().write(true).create_new(is_new).open(path);
            let checked = opened.and_then(|_| if is_new { std::fs::remove_file(path) } else { Ok(()) });
            checked.map_err(|error| format!("{}: {error}", path.display()))?;
        }
        Ok(())
    }

    /// Writes the files that are asked for, and prints the table.
    pub fn write(&self, comparison: &Comparison, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
        // First what everything else can be made from again.
        if let Some(path) = &self.out {
            write_rows(path, |file| comparison.write(file))?;
        }
        if let Some(path) = &self.csv {
            write_csv(path, |csv| csv_table(comparison, csv))?;
        }
        if let Some(path) = &self.csv_rows {
            write_csv(path, |csv| csv_rows(comparison, csv))?;
        }
        if let Some(path) = &self.html {
            std::fs::write(path, page::html(comparison)).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        if self.json {
            writeln!(out, "{}", json!({"version": 1, "setup": comparison.setup(), "table": comparison.table()}))?;
        } else {
            table::print(comparison, out)?;
        }
        Ok(())
    }
}

type Csv = csv::Writer<std::fs::File>;

fn write_csv(path: &Path, write: impl FnOnce(&mut Csv) -> csv::Result<()>) -> Result<(), String> {
    let written = csv::Writer::from_path(path).and_then(|mut csv| {
        write(&mut csv)?;
        Ok(csv.flush()?)
    });
    written.map_err(|error| format!("{}: {error}", path.display()))
}

fn csv_table(comparison: &Comparison, csv: &mut Csv) -> csv::Result<()> {
    let setup = comparison.setup();
    let mut head = vec!["chain", "draws", "agreement", "agreement_error", "tv"];
    head.extend(["kl", "kl_infinite", "reverse_kl", "reverse_kl_infinite"]);
    head.extend(["kept_median", "kept_mean", "entropy_bits", "distinct_1", "distinct_2", "distinct_3"]);
    head.extend(setup.timed.then_some("time_ns"));
    csv.write_record(head)?;
    for line in comparison.table() {
        let Summary { name, agreement, agreement_error, tv, kl, reverse_kl, kept_median, .. } = line;
        let Summary { kept_mean, entropy, distinct, nanos, .. } = line;
        let divergence = |Divergence { mean, infinite }| [maybe(mean), infinite.to_string()];
        let mut record = vec![name, comparison.cells().len().to_string(), agreement.to_string()];
        record.extend([maybe(agreement_error), tv.to_string()]);
        record.extend(divergence(kl));
        record.extend(divergence(reverse_kl));
        record.extend([kept_median, kept_mean, entropy].map(|value| value.to_string()));
        record.extend(distinct.map(maybe));
        record.extend(setup.timed.then(|| maybe(nanos)));
        csv.write_record(record)?;
    }
    Ok(())
}

fn csv_rows(comparison: &Comparison, csv: &mut Csv) -> csv::Result<()> {
    let setup = comparison.setup();
    let mut head = vec!["seed", "row", "chain", "token", "kept", "entropy_bits", "tv", "kl", "reverse_kl"];
    head.extend(setup.timed.then_some("time_ns"));
    csv.write_record(head)?;
    for cell in comparison.cells() {
        for (chain, result) in setup.chains.iter().zip(&cell.chains) {
            let mut record = vec![cell.seed.to_string(), cell.row.to_string(), chain.name.clone()];
            record.extend([result.token.to_string(), result.kept.to_string()]);
            record.extend([result.entropy, result.tv, result.kl, result.reverse_kl].map(|value| value.to_string()));
            record.extend(setup.timed.then(|| result.nanos.map_or(String::new(), |nanos| nanos.to_string())));
            csv.write_record(record)?;
        }
    }
    Ok(())
}

/// A number, or an empty field.
fn maybe(value: Option<f64>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}
