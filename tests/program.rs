//! The program as its user meets it: what it prints, what it refuses, its exit status.
#![cfg(feature = "cli")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn run(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_sampler-chain")).current_dir(root()).args(args).output().unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// A file in a folder that is gone with the guard.
fn file(name: &str, text: &str) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    std::fs::write(&path, text).unwrap();
    (dir, path)
}

const LOGITS: [&str; 4] = ["--logits", "testing/data/smollm2.safetensors", "--rows", "0..12"];

/// The prompt and the text of the first recorded request.
fn first_request() -> (String, String, String) {
    let text = std::fs::read_to_string(root().join("testing/data/smollm2.jsonl")).unwrap();
    let case: serde_json::Value = serde_json::from_str(text.lines().nth(1).unwrap()).unwrap();
    let text = case["expect"]["text"].as_str().unwrap().to_string();
    (case["prompt"].to_string(), case["request"].to_string(), text)
}

#[test]
fn sample_draws_what_llama_server_drew() {
    let (prompt, request, text) = first_request();
    let vocab = "testing/data/smollm2-vocab.bin.gz";
    let args = ["sample", "--request", &request, "--prompt", &prompt, "--vocab", vocab];
    let output = run(&[&args[..], &LOGITS].concat());
    assert!(output.status.success(), "{}", err(&output));
    let printed = out(&output);
    assert!(printed.ends_with(&format!("{text}\n")), "{printed}");
    assert!(printed.starts_with("seed "));

    let json = out(&run(&[&args[..], &LOGITS, &["--json"]].concat()));
    let rows: Vec<serde_json::Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let pieces: String = rows.iter().map(|row| row["text"].as_str().unwrap()).collect();
    assert_eq!((rows.len(), pieces), (12, text));
    assert!(rows[0]["p"].as_f64().unwrap() > 0.0);
}

#[test]
fn sample_takes_a_chain_file_and_a_prompt_file() {
    let (prompt, _, _) = first_request();
    let (_dir, path) = file("prompt.txt", &prompt);
    let chain = ["sample", "--chain", "examples/chains/llama-server.toml", "--prompt", path.to_str().unwrap()];
    let output = run(&[&chain[..], &LOGITS].concat());
    assert!(output.status.success(), "{}", err(&output));
    assert_eq!(out(&output).lines().count(), 13);
}

#[test]
fn sample_says_what_became_of_a_request() {
    let request = r#"{"top_p": 7, "dry_multiplier": 0.8, "samplers": ["top_k", "tempp"], "seed": 1}"#;
    let output = run(&[&["sample", "--request", request][..], &LOGITS].concat());
    let notes = err(&output);
    for note in [
        "note: top_p: 7 is out of range, 1 is used",
        "note: dry_multiplier: has no effect: dry is not in samplers",
        "note: samplers: tempp is dropped (did you mean temperature?)",
    ] {
        assert!(notes.contains(note), "{notes}");
    }
}

#[test]
fn sample_refuses_with_a_reason() {
    let chain = ["sample", "--chain", "examples/chains/llama-server.toml"];
    let with = |more: &[&str]| {
        let output = run(&[&chain[..], more].concat());
        assert!(!output.status.success());
        err(&output)
    };
    let logits = "testing/data/smollm2.safetensors";
    assert!(with(&["--logits", logits, "--rows", "70..80"]).ends_with("rows 70..80 of 72\n"));
    assert!(with(&["--logits", logits, "--rows", "5..5"]).contains("the rows 5..5 are none"));
    assert!(with(&["--logits", logits, "--rows", "5"]).contains("\"5\" is no range of rows; 0..16 is"));
    assert!(
        with(&["--logits", logits, "--prompt", "1,49152"])
            .ends_with("error: --prompt: token 49152 is beyond the vocabulary of 49152 tokens\n")
    );
    assert!(with(&["--logits", logits, "--prompt", "1,-5"]).ends_with("error: --prompt: \"-5\" is no token id\n"));
    assert!(with(&["--logits", "none.safetensors"]).contains("none.safetensors: No such file"));
    assert!(with(&["--logits", "README.md"]).contains("README.md: not a safetensors file, or cut short"));
    let small = "testing/data/small-vocab.json";
    assert!(with(&["--logits", logits, "--vocab", small]).contains("has 2048 tokens, and the rows of"));
    let output = run(&["sample", "--request", "{\"top_k\": \"x\"}", "--logits", logits]);
    let refusal =
        "error: --request: Field 'top_k': [json.exception.type_error.302] type must be number, but is string\n";
    assert_eq!(err(&output), refusal);
    assert!(err(&run(&["sample", "--request", "{", "--logits", logits])).starts_with("error: --request: EOF"));
    let not_an_object = "error: --request: a request body is a JSON object, and this is array\n";
    assert_eq!(err(&run(&["sample", "--request", "[]", "--logits", logits])), not_an_object);
}

/// The flags of llama.cpp lie over a model's values and under a request.
#[test]
fn sample_takes_a_model_and_flags() {
    let dir = tempfile::tempdir().unwrap();
    let logits = dir.path().join("rows.safetensors");
    let row: Vec<u8> = (0..4).flat_map(|i| (i as f32).to_le_bytes()).collect();
    let view = safetensors::tensor::TensorView::new(safetensors::Dtype::F32, vec![1, 4], &row).unwrap();
    std::fs::write(&logits, safetensors::serialize([("logits", view)], None).unwrap()).unwrap();
    let model = "testing/data/gguf/bpe-empty-token.gguf";
    let sample = |more: &[&str]| {
        let args = ["sample", "--logits", logits.to_str().unwrap(), "--json"];
        let output = run(&[&args[..], more].concat());
        let printed = out(&output);
        (serde_json::from_str::<serde_json::Value>(&printed).unwrap_or_default(), err(&output))
    };
    let (drawn, _) = sample(&["--gguf", model, "--top-k", "1", "--seed", "7"]);
    assert_eq!((&drawn["token"], &drawn["text"], &drawn["seed"]), (&3.into(), &" ".into(), &7.into()));
    let (drawn, _) = sample(&["--gguf", model, "--temp", "0", "-l", "3-9", "--request", r#"{"seed": 8}"#]);
    assert_eq!((&drawn["token"], &drawn["seed"]), (&2.into(), &8.into()));
    let (_, notes) = sample(&["--seed", "1", "--samplers", "top_k;nope", "--min-p", "0.1"]);
    assert!(notes.contains("note: samplers: nope is dropped") && notes.contains("min_p is not in samplers"), "{notes}");
    let (_, refused) = sample(&["--gguf", "README.md"]);
    assert_eq!(refused, "error: README.md: byte 0: this is no GGUF file: it does not begin with GGUF\n");
    let (_, refused) = sample(&["--gguf", "testing/data/gguf/bpe-alphabet.gguf"]);
    assert!(refused.contains("bpe-alphabet.gguf has 259 tokens, and the rows of"), "{refused}");
    let (_, refused) = sample(&["--chain", "examples/chains/min-p.toml", "--temp", "1"]);
    assert_eq!(refused, "error: --chain: a chain file has its own parameters, so temperature has no place in it\n");
    // The seed has one: over the file's 42.
    let (drawn, _) = sample(&["--chain", "examples/chains/llama-server.toml", "--seed", "7"]);
    assert_eq!(drawn["seed"], 7);
    let (drawn, _) = sample(&["--chain", "examples/chains/llama-server.toml"]);
    assert_eq!(drawn["seed"], 42);
    let (_, refused) = sample(&["-l", "5"]);
    assert!(refused.contains("\"5\" is no bias; 15043+1 and 15043-1 are"), "{refused}");
}

#[test]
fn check_tells_what_becomes_of_a_request() {
    let output =
        run(&["check", "--request", r#"{"top_k": 7, "top_p": 2, "logprobs": 3, "typ_p": 1, "mirostat_tau": 4}"#]);
    assert!(output.status.success());
    let printed = out(&output);
    let notes = "top_k: used\ntop_p: 2 is out of range, 1 is used\nmirostat_tau: has no effect: mirostat is 0\n\
                 logprobs: read as n_probs\ntyp_p: unknown (did you mean typical_p?)\nseed: random\n";
    assert!(printed.starts_with(notes), "{printed}");
    assert!(printed.contains("   4  top_k  k = 7\n"), "{printed}");
    let refused = run(&["check", "--request", r#"{"repeat_last_n": -1}"#]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(err(&refused).contains("Field 'repeat_last_n': Value must be between 0 <= value"));
}

/// Whoever stops reading gets no panic.
#[test]
fn a_closed_pipe_is_no_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_sampler-chain"))
        .current_dir(root())
        .args(["sample", "--chain", "examples/chains/min-p.toml", "--logits", "testing/data/small.safetensors"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), err(&output)), (Some(0), String::new()));
}

#[test]
fn check_prints_the_chain_as_it_will_run() {
    let output = run(&["check", "examples/chains/llama-server.toml"]);
    assert!(output.status.success());
    let printed = out(&output);
    assert!(printed.starts_with("seed: 42\n"), "{printed}");
    assert!(printed.contains("   2  dry  multiplier = 0.0, base = 1.75"), "{printed}");
    assert!(printed.contains("last_n = 64   (off: its parameters change nothing)"), "{printed}");
    assert!(printed.ends_with("  10  dist   (selects the token)\n"), "{printed}");
}

#[test]
fn check_prints_every_error() {
    let (_dir, path) =
        file("bad.toml", "version = 1\n[[steps]]\ntype = \"topk\"\n[[steps]]\ntype = \"min_p\"\nq = 1\n");
    let output = run(&["check", path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    let printed = err(&output);
    assert!(printed.contains("bad.toml:3:8: step 1 (topk): type: there is no step topk"), "{printed}");
    assert!(
        printed.contains("bad.toml:6:1: step 2 (min_p): q: there is no such field; there are p, min_keep"),
        "{printed}"
    );
    assert!(printed.ends_with("2 errors\n"), "{printed}");
}

#[test]
fn verify_counts_and_names() {
    let output = run(&["verify", "testing/data/steps-greedy.jsonl"]);
    assert!(output.status.success());
    assert_eq!(out(&output), "10 passed, 0 failed\n");

    let good = std::fs::read_to_string(root().join("testing/data/steps-greedy.jsonl")).unwrap();
    let spoiled = good.replacen("\"sorted\":false", "\"sorted\":true", 1) + "{\"name\": 5}\n";
    let (_dir, path) = file("spoiled.jsonl", &spoiled);
    let output = run(&["verify", path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    let printed = out(&output);
    assert!(printed.contains(": row 0: "), "{printed}");
    assert!(printed.contains(": line 12: not a case: "), "{printed}");
    assert!(printed.ends_with("9 passed, 2 failed\n"), "{printed}");
    assert_eq!(out(&run(&["verify", "--quiet", path.to_str().unwrap()])), "9 passed, 2 failed\n");

    let (_dir, empty) = file("empty.jsonl", "");
    assert_eq!(run(&["verify", empty.to_str().unwrap()]).status.code(), Some(1), "nothing proves nothing");
    let output = run(&["verify", "none.jsonl", "testing/data/steps-greedy.jsonl"]);
    assert_eq!(output.status.code(), Some(2), "as of every file that cannot be read");
    assert_eq!(out(&output), "10 passed, 0 failed\n", "the other file is replayed");
    assert_eq!(err(&output), "error: none.jsonl: No such file or directory (os error 2)\n");
    let output = run(&["verify", "--quiet", path.to_str().unwrap(), "none.jsonl"]);
    assert_eq!(output.status.code(), Some(2), "whatever failed besides");
    assert_eq!(out(&output), "9 passed, 2 failed\n");
    assert_eq!(err(&output), "error: none.jsonl: No such file or directory (os error 2)\n");
}

#[test]
fn verify_unpacks() {
    let output = run(&["verify", "testing/data/steps-reasoning_budget.jsonl.gz"]);
    assert_eq!(out(&output), "52 passed, 0 failed\n");

    let good = std::fs::read(root().join("testing/data/steps-reasoning_budget.jsonl.gz")).unwrap();
    let mut other = good.clone();
    other[5000] ^= 1;
    let packed = |content: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    };
    for (content, wanted) in [
        (b"{\"name\": 5}\n".to_vec(), "it is not packed with gzip"),
        (good[..good.len() / 2].to_vec(), "it is cut short"),
        (other, "it is broken: corrupt "),
        (packed(&vec![b' '; (1 << 26) + 1]), "it unpacks to more than 64 MB"),
        (packed(b"\xff"), "what is packed in it is no text: invalid utf-8 sequence of 1 bytes from index 0"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("cases.jsonl.gz");
        std::fs::write(&path, content).unwrap();
        let output = run(&["verify", path.to_str().unwrap()]);
        assert_eq!((output.status.code(), out(&output).as_str()), (Some(2), "0 passed, 0 failed\n"));
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(error.starts_with(&format!("error: {}: {wanted}", path.display())), "{error}");
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cases.jsonl.gz");
    std::fs::write(&path, packed(b"{\"name\": 5}\n")).unwrap();
    let output = run(&["verify", path.to_str().unwrap()]);
    let wanted = format!("{}: line 1: not a case: invalid type: integer `5`, expected a string", path.display());
    assert!(output.status.code() == Some(1) && out(&output).starts_with(&wanted), "{}", out(&output));
    assert!(out(&run(&["verify", "--help"])).contains("one whose name ends in .gz is unpacked"));
}

#[test]
fn help_explains_itself() {
    let output = run(&["--help"]);
    assert!(output.status.success());
    let printed = out(&output);
    for word in ["sample", "check", "verify", "A chain is a list of steps"] {
        assert!(printed.contains(word), "{printed}");
    }
    assert!(out(&run(&["sample", "--help"])).contains("--request <FILE-OR-JSON>"));
}
