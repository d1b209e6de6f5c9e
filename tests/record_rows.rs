//! Records as rows of `trace` and `compare`: the recorded chain, its seed, and the tokens that followed then.
#![cfg(feature = "cli")]

use std::path::Path;
use std::process::Command;

use serde_json::Value;

const SMALL: &str = "testing/data/small.safetensors";
/// Each token changes the rows behind it.
const CHAIN: &str = r#"{"repeat_penalty": 1.8, "repeat_last_n": 64, "presence_penalty": 1.5, "temperature": 1.2}"#;

fn run(args: &[&str]) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new(env!("CARGO_BIN_EXE_sampler-chain")).current_dir(root).args(args).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn tokens(rows: &[Value]) -> Vec<String> {
    rows.iter().map(|row| row["token"].to_string()).collect()
}

/// A record of the small model's rows in a folder, and its tokens.
fn record() -> (tempfile::TempDir, String, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.record").to_str().unwrap().to_string();
    let common = ["--request", CHAIN, "--seed", "5", "--prompt", "1,2,3", "--rows", "0..10", "--json"];
    let drawn = run(&[&["record", "--logits", SMALL, "--out", &path][..], &common].concat());
    (folder, path, tokens(&lines(&drawn)))
}

#[test]
fn a_trace_of_a_record_goes_along_it() {
    let (_folder, path, drawn) = record();
    let traced = lines(&run(&["trace", "--logits", &path, "--json", "--top", "1"]));
    assert_eq!(tokens(&traced), drawn);
    assert_eq!(traced[9]["n_accepted"], 12);
    let one = lines(&run(&["trace", "--logits", &path, "--json", "--top", "1", "--rows", "7..8"]));
    assert_eq!((&one[0]["token"], &one[0]["logits"], &one[0]["steps"][0]["mass"]), {
        (&traced[7]["token"], &traced[7]["logits"], &traced[7]["steps"][0]["mass"])
    });
    // Another seed is the same chain's: with the record's it draws the same.
    let seeded = |seed: &str| lines(&run(&["trace", "--logits", &path, "--json", "--top", "1", "--seed", seed]));
    assert_eq!(tokens(&seeded("5")), drawn);
    assert_ne!(tokens(&seeded("6")), drawn);
    assert_eq!(seeded("6")[9]["steps"][0]["params"], traced[9]["steps"][0]["params"]);
    // Another chain follows the record's tokens, not its own.
    let greedy = lines(&run(&["trace", "--logits", &path, "--json", "--top", "1", "--request", CHAIN, "--temp", "0"]));
    assert_eq!(greedy[9]["n_accepted"], 12);
    assert_eq!(greedy[9]["steps"][0]["mass"], traced[9]["steps"][0]["mass"]);
}

#[test]
fn a_comparison_over_a_record_is_told_its_tokens() {
    let (_folder, path, drawn) = record();
    let compare = |more: &[&str]| {
        run(&[&["compare", CHAIN, r#"{"temperature": 0.7}"#, "--logits", &path, "--no-time", "--seeds", "2"], more]
            .concat())
    };
    let told = compare(&["--tokens", &drawn.join(",")]);
    assert_eq!(compare(&[]), told);
    assert_ne!(compare(&["--own-history"]), told);
}
