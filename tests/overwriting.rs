//! What a subcommand writes is none of the files that it reads, nor another one that it writes; and other odd command lines.
#![cfg(feature = "cli")]

use std::path::Path;
use std::process::{Command, Output};

const LOGITS: &str = "testing/data/small.safetensors";

fn run(args: &[&str]) -> Output {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    Command::new(env!("CARGO_BIN_EXE_sampler-chain")).current_dir(root).args(args).output().unwrap()
}

fn refusal(args: &[&str]) -> String {
    let output = run(args);
    assert_eq!(output.status.code(), Some(2), "{args:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn inputs_are_not_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let (logits, chain, preset) = (path("rows.safetensors"), path("chain.toml"), path("preset.args"));
    std::fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join(LOGITS), &logits).unwrap();
    std::fs::write(&chain, "version = 1\n[[steps]]\ntype = \"dist\"\n").unwrap();
    std::fs::write(&preset, "--temp 0.5\n").unwrap();
    let contents = || [&logits, &chain, &preset].map(|path| std::fs::read(path).unwrap());
    let before = contents();
    let compare = |more: &[&str]| refusal(&[&["compare", &chain, "{}", "--logits", &logits], more].concat());
    // By another name, too.
    let other = format!("{}/./rows.safetensors", folder.path().display());
    for (refused, flag, named) in [
        (refusal(&["trace", "--logits", &logits, "--html", &other]), "--html", "--logits"),
        (refusal(&["trace", "--logits", &logits, "--chain", &chain, "--html", &chain]), "--html", "--chain"),
        (compare(&["--csv", &chain]), "--csv", "a chain"),
        (compare(&["--out", &logits]), "--out", "--logits"),
        (compare(&["--csv", &path("new"), "--html", &path("new")]), "--html", "--csv"),
        (refusal(&["import", &preset, "--out", &preset]), "--out", "the preset"),
    ] {
        let told =
            refused.starts_with(&format!("error: {flag}: ")) && refused.contains(&format!(" is what {named} names"));
        assert!(told, "{refused}");
    }
    assert!(contents() == before && !Path::new(&path("new")).exists());
}

#[test]
fn numbers_are_finite_and_bans_are_bans() {
    let common = ["sample", "--logits", LOGITS, "--rows", "0..1", "--seed", "1", "--json"];
    let refused = |more: &[&str]| refusal(&[&common[..], more].concat());
    assert!(refused(&["--temp", "inf"]).contains("\"inf\" is no finite number"));
    assert!(refused(&["--top-p", "nan"]).contains("\"nan\" is no finite number"));
    assert!(refused(&["-l", "3+nan"]).contains("is no bias"));
    let drawn = |more: &[&str]| {
        let output = run(&[&common[..], more].concat());
        let row: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        row["token"].as_u64().unwrap()
    };
    let best = drawn(&["--temp", "0"]);
    assert_ne!(drawn(&["--temp", "0", "-l", &format!("{best}-inf")]), best);
    // A negative number is a number to every flag.
    let output = run(&[&common[..], &["--min-p", "-1"]].concat());
    assert!(output.status.success() && String::from_utf8_lossy(&output.stderr).contains("min_p: -1.0 is out of range"));
}

#[test]
fn threads_are_no_more_than_there_is_work_for() {
    let args = ["compare", "{}", "{}", "--logits", LOGITS, "--rows", "0..2", "--no-time", "--threads"];
    assert!(run(&[&args[..], &["1024"]].concat()).status.success());
    assert!(refusal(&[&args[..], &["65535"]].concat()).contains("65535 is not in 1..=1024"));
}

#[test]
fn what_cannot_be_read_is_no_wrong_chain() {
    assert!(refusal(&["check", "no-such-file.toml"]).starts_with("error: no-such-file.toml: "));
    assert_eq!(run(&["check", "examples/chains/biggest-gap.toml"]).status.code(), Some(1));
}
