//! A snapshot written to JSON and read in another process goes on as the original does, for every step.

#[path = "snapshots/chains.rs"]
mod chains;

use std::path::Path;
use std::process::Command;

use chains::{N_TOKENS, chains, go_on};
use sampler_chain::{ChainFile, Ctx, Format, Sampler, Snapshot};

/// Where the other process finds its work: a file of lines, a chain and a snapshot in each.
const WORK: &str = "SAMPLER_CHAIN_SNAPSHOTS";

fn sampler(chain: &str) -> Sampler {
    let file = ChainFile::parse(chain, Format::Json, Path::new("chain")).unwrap();
    file.into_sampler(|seed| Ctx::new(seed).with_n_vocab(N_TOKENS as usize)).unwrap()
}

#[test]
fn a_snapshot_goes_on_in_another_process() {
    let (mut work, mut expected) = (String::new(), String::new());
    for chain in chains() {
        let mut original = sampler(&chain);
        original.accept_prompt_all(&[3, 1, 4]).unwrap();
        go_on(&mut original, 9);
        let snapshot = serde_json::to_string(&original.snapshot()).unwrap();
        work += &format!("{chain}\t{snapshot}\n");
        expected += &format!("drawn {:?}\n", go_on(&mut original, 25));
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("work");
    std::fs::write(&path, work).unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "the_other_process", "--nocapture"])
        .env(WORK, &path)
        .output()
        .unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    // The test runner's own words may stand on the same line.
    let drawn: Vec<&str> = printed.lines().filter_map(|line| line.find("drawn [").map(|at| &line[at..])).collect();
    assert_eq!(drawn, expected.lines().collect::<Vec<_>>(), "{printed}");
    assert!(output.status.success() && drawn.len() >= 15);
}

/// What runs over there. Without work, when all tests run, there is nothing to go on with.
#[test]
fn the_other_process() {
    let Ok(path) = std::env::var(WORK) else { return };
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let (chain, snapshot) = line.split_once('\t').unwrap();
        let snapshot: Snapshot = serde_json::from_str(snapshot).unwrap();
        let mut sampler = sampler(chain);
        sampler.restore(&snapshot).unwrap();
        println!("drawn {:?}", go_on(&mut sampler, 25));
    }
}
