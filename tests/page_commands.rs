//! The commands in the pages, run by a shell in the order of the page: they print what the page says.
//!
//! `…` alone on a line stands for any lines; times are passed over.
#![cfg(all(feature = "cli", unix))]

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A folder in which the pages' commands run: the repository's data, `sampler-chain`, and `workbench`, which is the example.
fn workplace() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["docs", "examples", "testing", "tests"] {
        symlink(root().join(name), folder.path().join(name)).unwrap();
    }
    let bin = folder.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    symlink(env!("CARGO_BIN_EXE_sampler-chain"), bin.join("sampler-chain")).unwrap();
    let manifest = root().join("Cargo.toml");
    let run = format!("run --quiet --all-features --manifest-path {} --example workbench --", manifest.display());
    let script = bin.join("workbench");
    std::fs::write(&script, format!("#!/bin/sh\nexec {} {run} \"$@\"\n", env!("CARGO"))).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

fn run(command: &str, folder: &Path) -> String {
    let path = format!("{}:{}", folder.join("bin").display(), std::env::var("PATH").unwrap());
    let output = Command::new("sh").args(["-c", command]).current_dir(folder).env("PATH", path).output().unwrap();
    [output.stderr, output.stdout].map(|bytes| String::from_utf8(bytes).unwrap()).concat()
}

/// A line's words, without times.
fn words(line: &str) -> Vec<&str> {
    let mut words: Vec<&str> = Vec::new();
    for word in line.split_whitespace() {
        let is_time = ["ns", "µs", "ms", "s"].contains(&word);
        if is_time && words.last().is_some_and(|last| last.parse::<f64>().is_ok()) {
            words.pop();
        } else {
            words.push(word);
        }
    }
    words
}

/// Whether lines are what a page says.
fn is_told(page: &[&str], printed: &[&str]) -> bool {
    match (page.split_first(), printed.split_first()) {
        (None, None) => true,
        (Some((&"…", page)), _) => (0..=printed.len()).any(|skipped| is_told(page, &printed[skipped..])),
        (Some((said, page)), Some((line, printed))) => words(said) == words(line) && is_told(page, printed),
        _ => false,
    }
}

/// Runs the commands of a page's `text` blocks. How many there are.
fn check(page: &str) -> usize {
    let text = std::fs::read_to_string(root().join(page)).unwrap();
    let blocks = text.split("```text\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let folder = workplace();
    let mut n_commands = 0;
    for block in blocks.filter(|block| block.starts_with("$ ")) {
        for command in format!("\n{block}").split("\n$ ").skip(1) {
            let mut lines: Vec<&str> = command.trim_end().lines().collect();
            let n = lines.iter().position(|line| !line.ends_with('\\')).unwrap() + 1;
            let said = lines.split_off(n);
            let printed = run(&lines.join("\n"), folder.path());
            let printed: Vec<&str> = printed.lines().collect();
            let command = lines.join("\n");
            assert!(is_told(&said, &printed), "{page}: $ {command}\nprints\n{}", printed.join("\n"));
            n_commands += 1;
        }
    }
    n_commands
}

#[test]
fn importing() {
    assert!(check("docs/importing.md") >= 4);
}

#[test]
fn workbench() {
    assert!(check("docs/workbench.md") >= 8);
}

#[test]
fn from_idea_to_gate() {
    assert!(check("docs/from-idea-to-gate.md") >= 7);
}

#[test]
fn other_lines_are_seen() {
    assert!(is_told(&["a 1.5 µs b", "…", "c"], &["a 20 ns b", "x", "y", "c"]));
    for (said, printed) in [("a 1.5", "a 1.6"), ("a 3 b", "a 3 c"), ("a", "a\nb"), ("a\n…\nb", "a\nc")] {
        let [said, printed] = [said, printed].map(|text| text.lines().collect::<Vec<_>>());
        assert!(!is_told(&said, &printed), "{said:?} {printed:?}");
    }
}
