//! `sampler-chain import` as its user meets it.
#![cfg(feature = "cli")]

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn program(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sampler-chain"));
    command.current_dir(root()).args(args);
    command
}

fn run(args: &[&str]) -> Output {
    program(args).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

const KOBOLD: &str = "tests/import/koboldcpp/dynatemp.json";
/// For llama.cpp, with fields of samplers that it does not have.
const LOST: &str = "tests/import/sillytavern/tail-llama-cpp.json";

#[test]
fn the_chain_goes_to_stdout_and_the_report_to_stderr() {
    let output = run(&["import", KOBOLD]);
    assert!(output.status.success());
    let expected = |ending: &str| std::fs::read_to_string(root().join(KOBOLD.replace("json", ending))).unwrap();
    assert_eq!(text(&output.stdout), expected("chain.toml"));
    let (report, printed) = (expected("report.txt"), text(&output.stderr));
    assert_eq!(printed.replace("\n    ", " "), report.split_once('\n').unwrap().1);
    assert!(printed.lines().all(|line| line.chars().count() <= 80), "{printed}");
}

/// What it writes, `check` and `sample` take.
#[test]
fn the_file_runs() {
    let dir = tempfile::tempdir().unwrap();
    for format in ["toml", "json"] {
        let path = dir.path().join(format!("chain.{format}"));
        let path = path.to_str().unwrap();
        let output = run(&["import", KOBOLD, "--format", format, "--out", path]);
        assert!(output.status.success() && output.stdout.is_empty());
        let check = text(&run(&["check", path]).stdout);
        assert!(check.contains("3  temperature  temp = 1.25, delta = 0.75\n"), "{check}");
        let logits = ["--logits", "testing/data/smollm2.safetensors", "--rows", "0..3"];
        let sample = run(&[&["sample", "--chain", path][..], &logits].concat());
        assert!(sample.status.success(), "{}", text(&sample.stderr));
    }
}

#[test]
fn all_as_one_object() {
    let output = run(&["import", KOBOLD, "--json"]);
    assert!(output.status.success() && output.stderr.is_empty());
    let object: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(object["source"], "koboldcpp");
    assert_eq!(object["chain"]["steps"][2]["delta"], 0.75);
    let report = object["report"].as_array().unwrap();
    let slope = report.iter().find(|note| note["field"] == "rep_pen_slope").unwrap();
    assert_eq!((&slope["fate"], &slope["as"]), (&"used".into(), &"rep_pen_slope, in place of penalties".into()));
    let added = report.iter().find(|note| note["fate"] == "added").unwrap();
    assert_eq!((&added["field"], &added["step"]), (&"sampler_order".into(), &"top_k 3000".into()));
    let lost = run(&["import", LOST, "--json"]);
    let object: serde_json::Value = serde_json::from_slice(&lost.stdout).unwrap();
    let report = object["report"].as_array().unwrap();
    let slope = report.iter().find(|note| note["field"] == "rep_pen_slope").unwrap();
    assert_eq!((&slope["fate"], &slope["value"]), (&"no_counterpart".into(), &"0.7".into()));
}

#[test]
fn strict_fails_where_something_is_lost() {
    let lost = run(&["import", LOST, "--strict"]);
    assert_eq!(lost.status.code(), Some(1));
    assert!(text(&lost.stderr).ends_with("--strict: 7 fields have no counterpart, or are not known\n"));
    let one = run(&["import", "tests/import/llama.cpp-ini/star.ini", "--strict"]);
    assert_eq!(one.status.code(), Some(1));
    assert!(text(&one.stderr).ends_with("--strict: 1 field has no counterpart, or is not known\n"));
    let kept = run(&["import", "tests/import/text-generation-webui/Creative.yaml", "--strict"]);
    assert!(kept.status.success());
}

#[test]
fn stdin_is_a_file_without_a_name() {
    let given = |input: &str, args: &[&str]| {
        let mut child = program(&[&["import", "-"][..], args].concat())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    };
    let output = given("--top-k 20 --temp 0.7", &[]);
    let chain = text(&output.stdout);
    assert!(chain.starts_with("# Imported from stdin (llama.cpp-args) by sampler-chain import.\n"), "{chain}");
    let output = given("min_p: 0.1", &["--from", "tabbyapi"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(text(&output.stderr), "error: stdin:1:8: min_p: a table with override is wanted\n");
}

#[test]
fn refusals() {
    let refusal = |args: &[&str]| {
        let output = run(&[&["import"][..], args].concat());
        assert_eq!(output.status.code(), Some(2));
        assert!(output.stdout.is_empty());
        text(&output.stderr)
    };
    assert!(refusal(&["nowhere.json"]).starts_with("error: nowhere.json: No such file"));
    let asks = refusal(&["tests/import/tabbyapi/penalties.yml"]);
    assert!(
        asks.starts_with("error: tests/import/tabbyapi/penalties.yml: penalty_range: -1 is the whole context"),
        "{asks}"
    );
    assert!(refusal(&[KOBOLD, "--from", "kobold"]).contains("a similar value exists: 'koboldcpp'"));
    assert!(refusal(&[KOBOLD, "--n-ctx", "0"]).contains("0 is not in 1.."));
    let unused = "error: --backend says nothing about a preset of koboldcpp: it is for sillytavern\n";
    assert_eq!(refusal(&[KOBOLD, "--backend", "aphrodite"]), unused);
}
