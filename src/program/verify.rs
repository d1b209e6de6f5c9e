use std::error::Error;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::oracle::Replayer;

/// Replay recorded results of the real llama.cpp and compare every bit.
///
/// Each file holds one case a line: logits, a request or a chain, and what llama.cpp did with them. For each case that fails
/// a line tells the first row, step and candidate that differ. The last line counts. The exit status is 0 if every case passed,
/// 1 if one failed or there was none, 2 if a file cannot be read; the others are replayed all the same.
#[derive(clap::Args)]
pub struct Args {
    /// Files of cases (testing/README.md has the format); one whose name ends in .gz is unpacked.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Print the last line alone.
    #[arg(long)]
    quiet: bool,
}

pub fn run(args: &Args, out: &mut impl Write) -> Result<ExitCode, Box<dyn Error>> {
    let mut replayer = Replayer::default();
    let (mut passed, mut failed) = (0u64, 0u64);
    let (mut written, mut is_unread) = (Ok(()), false);
    for file in &args.files {
        let mut fail = |what: String| {
            failed += 1;
            if !args.quiet && written.is_ok() {
                written = writeln!(out, "{what}");
            }
        };
        let read = replayer.replay_file(file, |outcome| match outcome.failure {
            None => passed += 1,
            Some(failure) => fail(format!("{}: {}: {failure}", file.display(), outcome.name)),
        });
        if let Err(error) = read {
            // No case failed; the other files still count.
            eprintln!("error: {error}");
            is_unread = true;
        }
    }
    written?;
    writeln!(out, "{passed} passed, {failed} failed")?;
    if is_unread {
        return Ok(ExitCode::from(2));
    }
    // A file without a case proves nothing.
    Ok(if failed > 0 || passed == 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
