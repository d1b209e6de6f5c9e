//! `sampler-chain trace` as its user meets it.
#![cfg(feature = "cli")]

use std::path::Path;
use std::process::{Command, Output};

use sampler_chain::Trace;
use unicode_width::UnicodeWidthStr;

fn run(args: &[&str]) -> Output {
    let root = env!("CARGO_MANIFEST_DIR");
    Command::new(env!("CARGO_BIN_EXE_sampler-chain")).current_dir(root).arg("trace").args(args).output().unwrap()
}

/// The traces that it prints, a line each.
fn traces(args: &[&str]) -> Vec<(u64, Trace)> {
    let output = run(&[args, &["--json"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let row = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["row"].as_u64().unwrap();
    text.lines().map(|line| (row(line), serde_json::from_str(line).unwrap())).collect()
}

/// What it prints; every line fits on a terminal.
fn printed(args: &[&str]) -> String {
    let output = run(args);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for line in text.lines() {
        assert!(line.width() <= 80, "{} columns: {line}", line.width());
        assert!(!line.chars().any(char::is_control), "{line:?}");
    }
    text
}

fn refused(args: &[&str]) -> String {
    let output = run(args);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
    String::from_utf8(output.stderr).unwrap()
}

const SMOLLM2: [&str; 8] = [
    "--logits",
    "testing/data/smollm2.safetensors",
    "--vocab",
    "testing/data/smollm2-vocab.bin.gz",
    "--prompt",
    "5965,20790,5454,9356,2893,260,1573,5692,20526,28,284,897,4018,1041",
    "--chain",
    "examples/chains/llama-server.toml",
];

fn smollm2<'a>(more: &[&'a str]) -> Vec<&'a str> {
    SMOLLM2.iter().chain(more).copied().collect()
}

/// The lines without their times, which no two runs share.
fn untimed(text: &str) -> Vec<String> {
    let units = [" ns", " µs", " ms", " s"];
    let line = |line: &str| match units.iter().find_map(|unit| line.strip_suffix(unit)) {
        Some(line) => line.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.').trim_end().to_string(),
        None => line.to_string(),
    };
    text.lines().map(line).collect()
}

#[test]
fn the_table_has_a_line_a_step_and_bars_of_those_that_did_something() {
    let lines = untimed(&printed(&smollm2(&["--rows", "0..1", "--top", "3"])));
    let expected = "\
row 0: drew 6737 'd, 37.03%                          seed 42, 14 accepted before

   #  step                left sorted entropy     top  removed shifted     time
      logits             49152     no   3.364  43.05%        -       -
   1  penalties            off
   2  dry                  off
   3  top_n_sigma          off
   4  top_k                 40    yes   2.592  46.26%    6.93%   6.93%
   5  typ_p                off
   6  top_p                 19    yes   2.218  48.57%    4.75%   4.75%
   7  min_p                  3    yes   1.151  57.90%   16.13%  16.13%
   8  xtc                  off
   9  temperature            3    yes   1.066  61.22%        -   3.32%
  10  dist                   3    yes   1.066  61.22%        -       -
                                                        the whole draw

logits
   43.05%          ███████████████████▊             736  ␠would
>  28.80%          █████████████▏                  6737  'd
    2.50%          █▏                              2837  ␠built

4 top_k  k = 40
  49112 removed, 39 moved; gone: ␠harvested 0.13%  'll 0.13%  ␠began 0.12%
   46.26%   +3.20  █████████████████████▏           736  ␠would
>  30.94%   +2.14  ██████████████▏                 6737  'd
    2.69%   +0.19  █▎                              2837  ␠built
";
    for (found, expected) in lines.iter().zip(expected.lines()) {
        assert_eq!(found, expected);
    }
    let titles: Vec<&String> = lines.iter().filter(|line| line.starts_with(|c: char| c.is_ascii_digit())).collect();
    assert_eq!(titles, ["4 top_k  k = 40", "6 top_p  p = 0.95", "7 min_p  p = 0.05", "9 temperature  temp = 0.8"]);
    let table_alone = untimed(&printed(&smollm2(&["--rows", "0..1", "--top", "0"])));
    assert_eq!(table_alone[..], lines[..table_alone.len()]);
    assert_eq!(table_alone.len(), 15);
}

/// One draw a row, each accepted: the tokens are those of `sample`.
#[test]
fn the_tokens_are_those_of_sample() {
    let traces = traces(&smollm2(&["--rows", "3..9"]));
    let root = env!("CARGO_MANIFEST_DIR");
    let args = smollm2(&["--rows", "3..9", "--json"]);
    let drawn = Command::new(env!("CARGO_BIN_EXE_sampler-chain")).current_dir(root).arg("sample").args(args).output();
    let drawn = String::from_utf8(drawn.unwrap().stdout).unwrap();
    assert_eq!(traces.len(), 6);
    for (n, ((row, trace), drawn)) in traces.iter().zip(drawn.lines()).enumerate() {
        let drawn: serde_json::Value = serde_json::from_str(drawn).unwrap();
        assert_eq!(drawn["token"], trace.token);
        assert_eq!(drawn["text"], String::from_utf8_lossy(trace.piece.as_ref().unwrap().bytes()).as_ref());
        assert_eq!((*row, trace.seed), (n as u64 + 3, 42));
        assert_eq!((trace.n_accepted, trace.n_prompt, trace.logits.top.len()), (14 + n, 14, 10));
    }
}

#[test]
fn why_tells_the_story_of_a_token() {
    let story = printed(&smollm2(&["--rows", "0..1", "--why", " might", "--why", "6737", "--why", "␠built"]));
    let expected = "\
row 0: drew 6737 'd, 37.03%                          seed 42, 14 accepted before

token 1124 ␠might
   #  step                rank of candidates     prob      logit
      logits               126 of      49152    0.02%    17.0085  ██████████████
   4  top_k            removed
removed by step 4 (top_k  k = 40) at rank 126, 0.02%

token 6737 'd
   #  step                rank of candidates     prob      logit
      logits                 2 of      49152   28.80%    24.3280  ██████████▍
   4  top_k                  2 of         40   30.94%    24.3280  ███████████▏
   6  top_p                  2 of         19   32.48%    24.3280  ███████████▊
   7  min_p                  2 of          3   38.73%    24.3280  ██████████████
   9  temperature            2 of          3   37.03%    30.4100  █████████████▍
  10  dist                   2 of          3   37.03%    30.4100  █████████████▍
drawn, at 37.03%

token 2837 ␠built
";
    assert!(story.starts_with(expected), "{story}");
    assert!(story.ends_with("\nleft at 1.75%, and not drawn\n"), "{story}");
    let sigma = ["--top-n-sigma", "1", "--samplers", "top_n_sigma", "--seed", "1", "--rows", "0..1", "--why", "1124"];
    let masked = printed(&[&SMOLLM2[..6], &sigma].concat());
    assert!(masked.contains("masked by step 1 (top_n_sigma  n = 1.0) at rank "), "{masked}");
    let traces = traces(&smollm2(&["--rows", "0..1", "--why", "\"7\""]));
    assert_eq!(traces[0].1.stories[0].piece.as_ref().unwrap().to_string(), "7", "a number in quotes is a text");
}

/// Steps inside a chain are told one by one, below it; however deep they are, lines are no longer.
#[test]
fn nested_chains_are_shown_step_by_step() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("nested.json");
    let chain = r#"{"version": 1, "seed": 5, "steps": [{"type": "chain", "steps": [{"type": "top_k", "k": 9},
        {"type": "chain", "steps": [{"type": "chain", "steps": [{"type": "chain", "steps": [{"type": "temperature"}]}]}]}]},
        {"type": "dist"}]}"#;
    std::fs::write(&path, chain).unwrap();
    let logits = ["--logits", "testing/data/smollm2.safetensors", "--rows", "0..2", "--top", "0"];
    let text = printed(&[&logits[..], &["--chain", path.to_str().unwrap()]].concat());
    let name = |line: &str| line.chars().take(22).collect::<String>().trim_end().to_string();
    let names: Vec<String> = text.lines().skip(4).take(7).map(name).collect();
    let expected = [
        "   1  chain",
        " 1.1    top_k",
        " 1.2    chain",
        "1.2.1      chain",
        "1.2.1.1        chain",
        "1.2.1.1.1          te…",
        "   2  dist",
    ];
    assert_eq!(names, expected);
    assert_eq!(text.matches("row ").count(), 2);
}

/// Pieces of every kind keep to the columns; without a vocabulary there are ids.
#[test]
fn wide_and_broken_pieces_keep_to_the_columns() {
    let dir = tempfile::tempdir().unwrap();
    let word = "日本語のとても長いトークン".repeat(4);
    let pieces: [&[u8]; 6] =
        [word.as_bytes(), b"\xe6\x97", b"\x1b[31m\n\t ", "e\u{301}👩‍👩‍👧".as_bytes(), &[0xff; 90], b""];
    let hex: Vec<String> =
        pieces.iter().map(|piece| piece.iter().map(|byte| format!("{byte:02x}")).collect()).collect();
    let vocab = dir.path().join("vocab.json");
    let text = serde_json::json!({"pieces_hex": hex, "eog": [], "eot": null, "eos": null}).to_string();
    std::fs::write(&vocab, text).unwrap();
    let rows = rows(dir.path(), &[1.0, 1.5, 0.5, 1.2, 1.1, 0.2], 6);
    let bias: String = (0..6).map(|id| format!("[{id},0.125],")).collect();
    let request = format!(r#"{{"seed": 1, "min_p": 0.5, "logit_bias": [{}]}}"#, bias.trim_end_matches(','));
    let args = ["--logits", &rows, "--request", &request];
    let with = printed(&[&args[..], &["--vocab", vocab.to_str().unwrap()]].concat());
    for piece in ["日本", "\\xE6\\x97", "␛[31m␊␉␠", "\\xFF\\xFF"] {
        assert!(with.contains(piece), "{piece}: {with}");
    }
    printed(&[&args[..], &["--vocab", vocab.to_str().unwrap(), "--why", "0", "--why", "4", "--why", "5"]].concat());
    assert!(printed(&args).contains("gone: "));
}

/// Of several tokens with one piece the first is taken, and the others are named.
#[test]
fn why_says_which_of_equal_pieces_it_takes() {
    let dir = tempfile::tempdir().unwrap();
    let vocab = dir.path().join("vocab.json");
    let why = |pieces: &[&[u8]], token: &str| {
        let hex: Vec<String> =
            pieces.iter().map(|piece| piece.iter().map(|byte| format!("{byte:02x}")).collect()).collect();
        let text = serde_json::json!({"pieces_hex": hex, "eog": [], "eot": null, "eos": null}).to_string();
        std::fs::write(&vocab, text).unwrap();
        let rows = rows(dir.path(), &vec![1.0; pieces.len()], 1);
        let output = run(&["--logits", &rows, "--vocab", vocab.to_str().unwrap(), "--why", token]);
        assert!(output.status.success());
        let id = printed_id(&String::from_utf8(output.stdout).unwrap());
        (id, String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(why(&[b"a", b"b", b"c"], "b"), (1, String::new()));
    let note = "note: --why: 2 tokens are \"b\": 1 is taken, and not 3; an id says which\n";
    assert_eq!(why(&[b"a", b"b", b"c", b"b"], "b"), (1, note.to_string()));
    assert_eq!(why(&[b"a", b"b", b"c", b"b"], "3"), (3, String::new()));
    // One is shown as the other is.
    let note = "note: --why: 2 tokens are \"\\xFF\": 0 is taken, and not 1; an id says which\n";
    assert_eq!(why(&[b"\xff", b"\\xFF"], "\\xFF"), (0, note.to_string()));
    let note =
        "note: --why: 11 tokens are \"\"7\"\": 0 is taken, and not 1, 2, 3, 4, 5, 6, 7, 8, …; an id says which\n";
    assert_eq!(why(&[b"7".as_slice(); 11], "\"7\""), (0, note.to_string()));
}

/// The id of the token whose story is printed.
fn printed_id(story: &str) -> u32 {
    let line = story.lines().find_map(|line| line.strip_prefix("token ")).unwrap();
    line.split(' ').next().unwrap().parse().unwrap()
}

/// A logits file of equal rows.
fn rows(dir: &Path, row: &[f32], n: usize) -> String {
    let bytes: Vec<u8> = (0..n).flat_map(|_| row.iter().flat_map(|logit| logit.to_le_bytes())).collect();
    let view = safetensors::tensor::TensorView::new(safetensors::Dtype::F32, vec![n, row.len()], &bytes).unwrap();
    let path = dir.join("rows.safetensors");
    std::fs::write(&path, safetensors::serialize([("logits", view)], None).unwrap()).unwrap();
    path.to_str().unwrap().to_string()
}

#[test]
fn what_is_wrong_is_refused_with_a_reason() {
    let why = |token: &str| refused(&smollm2(&["--rows", "0..1", "--why", token]));
    assert_eq!(why("49152"), "error: --why: token 49152 is beyond the vocabulary of 49152 tokens\n");
    assert_eq!(why(" mightx"), "error: --why: no token is \" mightx\" (did you mean ␠might, token 1124?)\n");
    assert_eq!(why("§§§§§§§"), "error: --why: no token is \"§§§§§§§\"\n");
    let logits = ["--logits", "testing/data/smollm2.safetensors", "--rows", "0..1"];
    let no_vocab = refused(&[&logits[..], &["--why", "might"]].concat());
    let reason = "error: --why: \"might\" is no token id, and without a vocabulary (--vocab) there are no pieces\n";
    assert_eq!(no_vocab, reason);
    let page = refused(&[&logits[..], &["--html", "no/such/page.html"]].concat());
    assert_eq!(page, "error: no/such/page.html: there is no folder no/such\n");
    assert!(refused(&[&logits[..], &["--html", "x.html", "--json"]].concat()).contains("cannot be used with"));
    let dir = tempfile::tempdir().unwrap();
    let masked = rows(dir.path(), &[1.0, 2.0], 1);
    let request = r#"{"seed": 1, "logit_bias": [[0, false], [1, false]], "samplers": ["top_k"]}"#;
    let masked = refused(&["--logits", &masked, "--request", request]);
    let step = "; nothing can be drawn since step 1 (logit_bias)\n";
    assert!(masked.starts_with("error: row 0: the ") && masked.ends_with(step), "{masked}");
    let broken = rows(dir.path(), &[1.0, f32::NAN, 2.0], 1);
    let broken = refused(&["--logits", &broken, "--seed", "1"]);
    assert_eq!(broken, "error: row 0: logit 1 is NaN: the model's output is broken, or the row is not one of logits\n");
}

#[test]
fn help_explains_the_columns() {
    let help = String::from_utf8(run(&["--help"]).stdout).unwrap();
    for word in ["--why <TOKEN>", "--html <FILE>", "--top <N>", "entropy in bits", "total variation"] {
        assert!(help.contains(word), "{word}: {help}");
    }
}
