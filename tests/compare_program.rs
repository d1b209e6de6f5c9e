//! `compare` and `merge` as their user meets them.
#![cfg(feature = "cli")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};

fn run(args: &[&str]) -> Output {
    let root = env!("CARGO_MANIFEST_DIR");
    Command::new(env!("CARGO_BIN_EXE_sampler-chain")).current_dir(root).args(args).output().unwrap()
}

/// What it prints; it must have succeeded.
fn out(args: &[&str]) -> String {
    let output = run(args);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// What it says on stderr; it must have failed.
fn refusal(args: &[&str]) -> String {
    let output = run(args);
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(2), b"".as_slice()));
    String::from_utf8(output.stderr).unwrap()
}

/// Rows of a logits file of one's own.
fn logits(dir: &Path, rows: &[&[f32]]) -> PathBuf {
    let bytes: Vec<u8> = rows.concat().iter().flat_map(|logit| logit.to_le_bytes()).collect();
    let shape = vec![rows.len(), rows.first().map_or(0, |row| row.len())];
    let view = safetensors::tensor::TensorView::new(safetensors::Dtype::F32, shape, &bytes).unwrap();
    let path = dir.join("rows.safetensors");
    std::fs::write(&path, safetensors::serialize([("logits", view)], None).unwrap()).unwrap();
    path
}

const CHAINS: [&str; 6] = [
    "compare",
    "examples/chains/llama-server.toml",
    "examples/chains/min-p.toml",
    "examples/chains/mirostat.toml",
    "repeating={\"repeat_penalty\": 1.3, \"dry_multiplier\": 0.8, \"dry_allowed_length\": 1}",
    "{\"temperature\": 0}",
];
const ROWS: [&str; 6] =
    ["--logits", "testing/data/smollm2.safetensors", "--rows", "0..6", "--vocab", "testing/data/smollm2-vocab.bin.gz"];

/// Must hold: merged shards give the table of one run, byte for byte, whatever the number of threads.
#[test]
fn merged_shards_print_and_write_what_one_run_does() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_string();
    let files = |name: &str| ["csv", "rows.csv", "html"].map(|kind| path(&format!("{name}.{kind}")));
    let [csv, rows, html] = files("whole");
    let common = [&CHAINS[..], &ROWS, &["--seeds", "2", "--seed", "7", "--no-time", "--prompt", "736,457"]].concat();
    let kept = path("whole.jsonl");
    let write = ["--csv", &csv, "--csv-rows", &rows, "--html", &html, "--out", &kept];
    let whole = out(&[&common[..], &write, &["--threads", "1"]].concat());
    assert!(whole.starts_with("rows 0..6, 49152 logits each, 2 seeds from 7: 12 draws a chain\n"), "{whole}");
    assert!(whole.lines().all(|line| line.chars().count() <= 80), "{whole}");

    for threads in ["2", "3", "7"] {
        assert_eq!(out(&[&common[..], &["--threads", threads]].concat()), whole, "{threads} threads");
    }

    let shard = |number: &str| {
        let file = path(&number.replace('/', "-"));
        let printed = out(&[&common[..], &["--shard", number, "--out", &file]].concat());
        assert_eq!(printed, format!("shard {number}: 4 rows of every chain, in {file}\n"));
        file
    };
    let shards = ["2/3", "1/3", "3/3"].map(shard);
    let shards = shards.each_ref().map(String::as_str);
    let [csv2, rows2, html2] = files("merged");
    let kept2 = path("merged.jsonl");
    let write = ["--csv", &csv2, "--csv-rows", &rows2, "--html", &html2, "--out", &kept2];
    assert_eq!(out(&[&["merge"], &shards[..], &write].concat()), whole);
    for (a, b) in [(csv, csv2), (rows, rows2), (html, html2), (kept.clone(), kept2)] {
        assert_eq!(std::fs::read(&a).unwrap(), std::fs::read(&b).unwrap(), "{a} {b}");
    }
    // What --out kept is shown again.
    assert_eq!(out(&["merge", &kept]), whole);
    let json = |args: &[&str]| serde_json::from_str::<Value>(&out(args)).unwrap();
    let one = json(&[&common[..], &["--json"]].concat());
    assert_eq!(one, json(&["merge", &kept, "--json"]));
    let names: Vec<&Value> = one["table"].as_array().unwrap().iter().map(|line| &line["name"]).collect();
    assert_eq!(names, ["llama-server", "min-p", "mirostat", "repeating", "request"]);
    assert_eq!(one["setup"]["seeds"], json!([7, 8]));
    assert_eq!((&one["table"][0]["agreement"], &one["table"][0]["kl"]["mean"]), (&json!(1.0), &json!(0.0)));
    assert_eq!(one["table"][4]["entropy"], json!(0.0));

    let missing = refusal(&["merge", shards[0], shards[2]]);
    assert_eq!(missing, "error: of 3 shards 1 is missing: 1\n");
    assert_eq!(
        refusal(&["merge", shards[0], shards[1], shards[0]]),
        format!("error: shard 2/3 comes twice: {0} and {0}\n", shards[0])
    );
    let others = path("others");
    out(&[&CHAINS[..4], &ROWS, &["--no-time", "--shard", "1/3", "--out", &others]].concat());
    let foreign = refusal(&["merge", shards[0], &others]);
    let names = ["llama-server, min-p, mirostat", "llama-server, min-p, mirostat, repeating, request"];
    let what = format!("its chains are {}, not {}", names[0], names[1]);
    assert_eq!(foreign, format!("error: {others} is of another comparison than {}: {what}\n", shards[0]));
}

#[test]
fn the_table_in_full() {
    let dir = tempfile::tempdir().unwrap();
    let (big, small) = (f32::NEG_INFINITY, 0.0);
    let logits = logits(dir.path(), &[&[small, small, big, big], &[big, small, small, big]]);
    let logits = logits.to_str().unwrap();
    let csv = dir.path().join("t,able.csv");
    let plain = r#"all, of them={"version": 1, "steps": [{"type": "dist"}]}"#;
    let best = r#"the one that is called best={"version": 1, "steps": [{"type": "greedy"}]}"#;
    let args = ["compare", plain, best, "--logits", logits, "--no-time", "--csv", csv.to_str().unwrap()];
    let printed = out(&args);
    let lines: Vec<&str> = printed.lines().take(7).collect();
    // With seed 42 it draws token 1 from both rows.
    assert_eq!(
        lines[..6],
        [
            "rows 0..2, 4 logits each, seed 42: 2 draws a chain",
            "told after each row: the baseline's token",
            "",
            "chain            same     TV      KL   inf   kept    mean  bits  d-1   -2",
            "all, of them   1.0000 0.0000  0.0000    0%      2       2  1.00 0.50 1.00",
            "the one that is called best",
        ]
    );
    assert!(lines[6].ends_with("0.5000 0.5000     inf  100%      1       1  0.00 1.00 1.00"), "{}", lines[6]);
    let table = std::fs::read_to_string(&csv).unwrap();
    let lines: Vec<&str> = table.lines().collect();
    let head = "chain,draws,agreement,agreement_error,tv,kl,kl_infinite,reverse_kl,reverse_kl_infinite,kept_median,kept_mean,\
                entropy_bits,distinct_1,distinct_2,distinct_3";
    assert_eq!(lines[..2], [head, "\"all, of them\",2,1,,0,0,0,0,0,2,2,1,0.5,1,"]);
    assert!(lines[2].ends_with(",,0.5,,1,0.6931471805599453,0,1,1,0,1,1,"), "{}", lines[2]);

    // With times there is a column more.
    let timed = out(&args[..5]);
    assert!(timed.contains("d-1   -2     µs\n") && timed.contains("\n  µs      drawing and accepting"), "{timed}");
}

/// The three ways to go along the rows.
#[test]
fn histories_are_told() {
    let dir = tempfile::tempdir().unwrap();
    let logits = logits(dir.path(), &[&[2.0, 1.9, 0.0][..]; 4]);
    let greedy = r#"{"steps": [{"type": "greedy"}], "version": 1}"#;
    let once = r#"once={"steps": [{"type": "penalties", "present": 0.5}, {"type": "greedy"}], "version": 1}"#;
    let args = ["compare", greedy, once, "--logits", logits.to_str().unwrap(), "--json"];
    let agreement = |more: &[&str]| {
        let printed: Value = serde_json::from_str(&out(&[&args[..], more].concat())).unwrap();
        (printed["table"][1]["agreement"].as_f64().unwrap(), printed["setup"]["follow"].clone())
    };
    assert_eq!(agreement(&[]), (0.25, json!("baseline")));
    assert_eq!(agreement(&["--own-history"]), (0.75, json!("own")));
    assert_eq!(agreement(&["--tokens", "1,2,2,2"]), (1.0, json!({"tokens": [1, 2, 2, 2]})));
    let too_few = refusal(&[&args[..], &["--tokens", "[1, 2]"]].concat());
    assert_eq!(too_few, "error: 2 tokens to follow for 4 rows; one a row is wanted\n");
    let beyond = refusal(&[&args[..], &["--tokens", "0 0 3 0"]].concat());
    let why = "token 3 is beyond the vocabulary of 3 tokens";
    assert_eq!(beyond, format!("error: chain request: the token after row 2: {why}\n"));
    assert!(refusal(&[&args[..], &["--tokens", "x.txt"]].concat()).starts_with("error: --tokens: x.txt: No such file"));
}

#[test]
fn what_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let logits = logits(dir.path(), &[&[1.0, 2.0], &[f32::NAN, 1.0]]);
    let logits = logits.to_str().unwrap();
    let with = |chains: &[&str], more: &[&str]| refusal(&[&["compare"], chains, &["--logits", logits], more].concat());
    let greedy = "best={\"temperature\": 0}";
    let nan = with(&[greedy, "{}"], &["--seed", "5"]);
    let why = "logit 0 is NaN: the model's output is broken, or the row is not one of logits";
    assert_eq!(nan, format!("error: chain best: row 1, seed 5: {why}\n"));
    // With many seeds and threads it is the first one that is told.
    let many = ["--seeds", "20", "--threads", "8"];
    assert_eq!(with(&[greedy, "{}"], &many), format!("error: chain best: row 1, seed 42: {why}\n"));
    let row = ["--rows", "0..1"];
    assert_eq!(with(&[greedy, "{}"], &["--rows", "1..3"]), format!("error: {logits}: rows 1..3 of 2\n"));
    assert!(with(&[greedy], &row).contains("<OTHER>"));
    assert!(with(&[greedy, "none.toml"], &row).starts_with("error: none.toml: No such file"));
    let chain = r#"bad={"version": 1, "steps": [{"type": "topk"}]}"#;
    let bad = with(&[greedy, chain], &row);
    assert!(bad.contains(": step 1 (topk): type: there is no step topk"), "{bad}");
    assert!(bad.contains("did you mean top_k?"), "{bad}");
    let broken = with(&[greedy, r#"{"steps": [}"#], &row);
    assert!(broken.starts_with(r#"error: {"steps": [}:1:12: "#), "{broken}");
    let request = with(&[greedy, r#"{"top_k": "x"}"#], &row);
    let why = "Field 'top_k': [json.exception.type_error.302] type must be number, but is string";
    assert_eq!(request, format!("error: {{\"top_k\": \"x\"}}: {why}\n"));
    assert!(with(&[greedy, "[1]"], &row).contains("a request body is a JSON object, and this is array"));
    let seeds = with(&[greedy, "{}"], &["--seed", "4294967290", "--seeds", "6"]);
    assert_eq!(seeds, "error: --seed 4294967290 --seeds 6: seeds end at 4294967294\n");
    assert!(with(&[greedy, "{}"], &["--shard", "4/3", "--out", "x"]).contains("\"4/3\" is no part of a whole; 1/3,"));
    assert!(with(&[greedy, "{}"], &["--shard", "1/3"]).contains("--out <FILE>"));
    assert!(with(&[greedy, "{}"], &["--seeds", "0"]).contains("0 is not in 1..=1000000"));
    let nowhere = with(&[greedy, "{}"], &["--rows", "0..1", "--out", "/nowhere/x.jsonl"]);
    assert!(nowhere.starts_with("error: /nowhere/x.jsonl: No such file"), "{nowhere}");
    assert!(refusal(&["merge", "README.md"]).starts_with("error: README.md:1: this is no shard of a comparison"));

    // What became of a request is told with its beginning.
    let output = run(&["compare", greedy, "hot={\"top_p\": 7}", "--logits", logits, "--rows", "0..1"]);
    let notes = String::from_utf8(output.stderr).unwrap();
    assert_eq!(notes, "note: {\"top_p\": 7}: top_p: 7 is out of range, 1 is used\n");
}
