use std::error::Error;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::compare::{Comparison, Shard};

use crate::program::compare::Outputs;

/// Make one comparison of the shards that compare --shard wrote, in any order.
///
/// The table is that of one run, bit for bit; times are those that the shards' machines took. A shard that is missing, comes
/// twice, or is of other chains, rows, seeds or logits is refused by its name. A file that compare --out wrote without
/// --shard is a whole of one shard, and is shown again.
#[derive(clap::Args)]
pub struct Args {
    /// The shards' files.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    outputs: Outputs,
}

pub fn run(args: &Args, out: &mut impl Write) -> Result<ExitCode, Box<dyn Error>> {
    args.outputs.check(&args.files.iter().map(|path| ("a shard", path.as_path())).collect::<Vec<_>>())?;
    let mut shards = Vec::new();
    for file in &args.files {
        shards.push((file.display().to_string(), Shard::read(file)?));
    }
    args.outputs.write(&Comparison::merge(shards)?, out)?;
    Ok(ExitCode::SUCCESS)
}
