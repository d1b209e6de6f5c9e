//! A step in a crate of its own: found by its type, read from a chain file, and gated by recorded cases like any other.

use std::path::Path;

use biggest_gap as _;
use sampler_chain::oracle::Replayer;
use sampler_chain::{ChainFile, Format, registered_steps, step_fields};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn is_registered_with_its_fields() {
    assert!(registered_steps().contains(&"biggest_gap".to_string()));
    assert_eq!(step_fields("biggest_gap").unwrap(), ["within"]);
}

#[test]
fn its_recorded_cases_pass() {
    let mut passed = 0;
    let tell = |outcome: sampler_chain::oracle::Outcome| {
        assert_eq!(outcome.failure, None, "{}", outcome.name);
        passed += 1;
    };
    Replayer::default().replay_file(&root().join("examples/biggest_gap/cases.jsonl"), tell).unwrap();
    assert_eq!(passed, 7);
}

#[test]
fn its_parameters_are_checked_like_any_other() {
    let error = |step: &str| {
        let text = format!("version = 1\nsteps = [{{type = \"biggest_gap\", {step}}}, {{type = \"dist\"}}]");
        ChainFile::parse(&text, Format::Toml, Path::new("x.toml")).unwrap_err().to_string()
    };
    assert_eq!(
        error("within = 1"),
        "x.toml:2:42: step 1 (biggest_gap): within: 1 is refused: a gap is between two candidates or more"
    );
    assert_eq!(
        error("withn = 5"),
        "x.toml:2:33: step 1 (biggest_gap): withn: there is no such field (did you mean within?); there is only within"
    );
}

#[test]
fn the_ready_made_chain_loads() {
    ChainFile::read(&root().join("examples/chains/biggest-gap.toml")).unwrap();
}

/// The step's logic, the body of `apply`, is at most 15 lines.
#[test]
fn its_logic_is_short() {
    let text = std::fs::read_to_string(root().join("examples/biggest_gap/lib.rs")).unwrap();
    let body = text.split("fn apply").nth(1).unwrap().split("\n    }\n").next().unwrap();
    let lines = body.lines().count() - 1;
    assert!((5..=15).contains(&lines), "{lines} lines");
}
