//! `record` and `diff`, and records as rows, as the program's user meets them.
#![cfg(feature = "cli")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use sampler_chain::steps::{Greedy, MirostatV2, TopK};
use sampler_chain::{Chain, Ctx, Record, Recorded, Recorder, Sampler, Synthetic, SyntheticKind};

const SMALL: &str = "testing/data/small.safetensors";
const VOCAB: &str = "testing/data/small-vocab.json";
const MIN_P: &str = "examples/chains/min-p.toml";
const CHAIN: &str = "examples/chains/llama-server.toml";

fn run(args: &[&str]) -> Output {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    Command::new(env!("CARGO_BIN_EXE_sampler-chain")).current_dir(root).args(args).output().unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// A folder for records, whose name does not stand in what is compared.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn name(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_string()
    }

    /// Runs `record` over rows of the small model.
    fn record(&self, name: &str, rows: &str, more: &[&str]) -> Output {
        run(&[&["record", "--logits", SMALL, "--rows", rows, "--out", &self.name(name)][..], more].concat())
    }

    /// What `diff` printed, without the folder, and its exit status.
    fn diff(&self, a: &str, b: &str, more: &[&str]) -> (String, i32) {
        let output = run(&[&["diff", &self.name(a), &self.name(b)][..], more].concat());
        let printed = out(&output) + &err(&output);
        for line in printed.lines() {
            assert!(line.chars().count() <= 80 || line.starts_with("error: ") || line.contains(".record"), "{line}");
        }
        (self.bare(&printed), output.status.code().unwrap())
    }

    fn bare(&self, text: &str) -> String {
        text.replace(&format!("{}/", self.0.path().display()), "")
    }
}

#[test]
fn record_prints_as_sample_does_and_diff_finds_nothing() {
    let folder = Folder::new();
    let args = ["--chain", CHAIN, "--prompt", "5,6,7", "--vocab", VOCAB];
    let first = folder.record("a.record", "0..6", &args);
    assert!(first.status.success(), "{}", err(&first));
    let sampled = out(&run(&[&["sample", "--logits", SMALL, "--rows", "0..6"][..], &args].concat()));
    assert_eq!(folder.bare(&out(&first)), format!("{sampled}6 draws are in a.record\n"));

    let json = out(&folder.record("b.record", "0..6", &[&args[..], &["--json"]].concat()));
    assert_eq!(json.lines().count(), 6);
    assert_eq!(json, out(&run(&[&["sample", "--logits", SMALL, "--rows", "0..6", "--json"][..], &args].concat())));
    let same = "A  a.record: 6 draws, seed 42, sampler-chain 0.1.0\nB  b.record: 6 draws, seed 42, sampler-chain 0.1.0\n\n\
                The same to the bit: every token, row, parameter, seed.\n\nReplayed with the recorded chain:\n  \
                A: all 6 tokens are what the chain draws from A's logits\n  \
                B: all 6 tokens are what the chain draws from B's logits\n";
    assert_eq!(folder.diff("a.record", "b.record", &[]), (same.to_string(), 0));
    let (json, code) = folder.diff("a.record", "b.record", &["--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((code, &json["n_same"], &json["a"]["replay"]["n_same"]), (0, &6.into(), &6.into()));
}

#[test]
fn diff_names_the_step_and_the_field() {
    let folder = Folder::new();
    folder.record("a.record", "0..8", &["--chain", CHAIN]);
    folder.record("b.record", "0..8", &["--seed", "42", "--temp", "2.5", "--top-k", "3"]);
    let (told, code) = folder.diff("a.record", "b.record", &["--vocab", VOCAB]);
    assert_eq!(code, 1);
    for part in [
        "Cause: the parameters differ\n  step 4 (top_k): k is 40 in A and 3 in B\n  step 9 (temperature): temp is 0.8 in A and 2.5 in B\n",
        "  the same there: history, seed, logits (to the bit)\n",
        "They part at draw ",
        "The sampler is not at fault: from what it was given each token is the right one.\n",
    ] {
        assert!(told.contains(part), "{told}");
    }
    let first = told.lines().find(|line| line.starts_with("They part")).unwrap();
    assert_eq!(first.matches('"').count(), 4, "with a vocabulary the texts are shown: {first}");
    let (json, _) = folder.diff("a.record", "b.record", &["--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let changes = &json["parting"]["differences"][0]["changes"];
    assert_eq!(
        (&json["parting"]["cause"], &changes[0]["step"], &changes[0]["field"], &changes[0]["a"], &changes[0]["b"]),
        (&"parameters".into(), &"4 (top_k)".into(), &"k".into(), &40.into(), &3.into())
    );
}

#[test]
fn diff_names_the_seed_and_the_prompt() {
    let folder = Folder::new();
    folder.record("a.record", "0..8", &["--seed", "1", "--prompt", "1,2,3"]);
    folder.record("b.record", "0..8", &["--seed", "2", "--prompt", "1,2,3"]);
    let (told, code) = folder.diff("a.record", "b.record", &[]);
    assert!(told.contains("Cause: the seed differs\n  seed: 1 in A, 2 in B\n") && code == 1, "{told}");
    folder.record("c.record", "0..8", &["--seed", "2", "--prompt", "1,9,3,4"]);
    let (told, _) = folder.diff("a.record", "c.record", &["--vocab", VOCAB]);
    assert!(
        told.contains("Cause: the history differs\n  history: other from position 1 on, in the prompt: 2 \""),
        "{told}"
    );
    let unwrapped: Vec<&str> = told.split_whitespace().collect();
    assert!(unwrapped.join(" ").contains("in B (3 tokens in A, 4 in B)"), "{told}");
}

/// What an engine records: `rows` with greedy, and a token of its own where it says so.
fn engine(path: &Path, rows: &[[f32; 4]], forged: Option<(usize, u32)>) {
    let sampler = Sampler::from_chain(Chain::new().with(TopK { k: 3 }).with(Greedy {}), Ctx::new(1)).unwrap();
    let mut recorder = Recorder::create(path, &sampler).unwrap();
    let mut sampler = sampler;
    for (i, row) in rows.iter().enumerate() {
        let drawn = sampler.sample(row).unwrap();
        let token = forged.filter(|forged| forged.0 == i).map_or(drawn, |forged| forged.1);
        recorder.draw(row, token).unwrap();
        sampler.accept(token).unwrap();
        recorder.accept(token).unwrap();
    }
}

const ROWS: [[f32; 4]; 4] = [[0.0, 1.0, 2.0, 3.0], [4.0, 1.0, 2.0, 3.0], [1.0, 5.0, 5.0, 0.0], [0.0, 0.0, 1.0, 0.0]];

#[test]
fn diff_tells_the_logits_from_the_sampler() {
    let folder = Folder::new();
    engine(&folder.path("a.record"), &ROWS, None);
    let mut rows = ROWS;
    rows[1][2] = rows[1][2].next_up();
    rows[2][1] = rows[2][1].next_up();
    engine(&folder.path("logits.record"), &rows, None);
    let (told, code) = folder.diff("a.record", "logits.record", &[]);
    let expected = "They part at draw 2: A drew 2, B 1.\nCause: the logits differ\n  \
                    logits: 1 of 4 differs, first token 1: 5.0 in A, 5.0000005 in B\n  \
                    apart by at most 4.768e-7 and 1 ulp\n  \
                    most likely in both: 1\n  the same there: history, parameters, seed\n\n\
                    Before that, and without changing a token:\n  at draw 1:\n    \
                    logits: 1 of 4 differs, first token 2: 2.0 in A, 2.0000002 in B\n    \
                    apart by at most 2.384e-7 and 1 ulp\n    \
                    most likely in both: 0\n\nReplayed with the recorded chain:\n  \
                    A: all 4 tokens are what the chain draws from A's logits\n  \
                    B: all 4 tokens are what the chain draws from B's logits\n\n\
                    The sampler is not at fault: from what it was given each token is the right one.\n";
    assert!(told.ends_with(expected) && code == 1, "{told}");

    engine(&folder.path("forged.record"), &ROWS, Some((1, 3)));
    let (told, code) = folder.diff("a.record", "forged.record", &[]);
    let expected = "They part at draw 1: A drew 0, B 3.\nCause: the sampler: nothing that goes into it differs\n  \
                    the same there: history, parameters, seed, logits (to the bit)\n\n\
                    Replayed with the recorded chain:\n  A: all 4 tokens are what the chain draws from A's logits\n  \
                    B: at draw 1 the chain draws 0, and the record says 3\n\n\
                    The sampler of B is at fault: given the same, it drew another token.\n";
    assert!(told.ends_with(expected) && code == 1, "{told}");

    engine(&folder.path("short.record"), &ROWS[..3], None);
    let (told, code) = folder.diff("short.record", "a.record", &[]);
    assert!(told.contains("A ends before draw 3, where B drew 2.\nCause: one record ends, and") && code == 1, "{told}");

    // Bits that read the same are shown as bits.
    let mut rows = ROWS;
    rows[0][0] = -0.0;
    engine(&folder.path("zero.record"), &rows, None);
    let (told, code) = folder.diff("a.record", "zero.record", &[]);
    assert!(told.contains("Every token is the same, and not all that they were drawn from.\n") && code == 1, "{told}");
    assert!(told.contains("first token 0: 0.0 in A, -0.0 in B (bits\n      00000000/80000000)"), "{told}");
}

#[test]
fn a_record_goes_on_where_it_ended() {
    let folder = Folder::new();
    folder.record("whole.record", "0..9", &["--chain", CHAIN, "--prompt", "5,6,7"]);
    folder.record("parts.record", "0..4", &["--chain", CHAIN, "--prompt", "5,6,7"]);
    folder.record("parts.record", "4..7", &[]);
    let last = folder.record("parts.record", "7..9", &["--chain", CHAIN]);
    assert!(last.status.success(), "{}", err(&last));
    let bytes = |name: &str| std::fs::read(folder.path(name)).unwrap();
    assert!(bytes("whole.record") == bytes("parts.record"));

    let refused = |more: &[&str]| {
        let output = folder.record("parts.record", "0..1", more);
        assert_eq!(output.status.code(), Some(2));
        folder.bare(&err(&output))
    };
    let leave = "leave the chain away to go on with the record's\n";
    assert_eq!(
        refused(&["--chain", MIN_P]),
        format!("error: parts.record: step 1 (penalties) is only in the record; {leave}")
    );
    assert_eq!(
        refused(&["--seed", "7"]),
        format!("error: parts.record: the record's seed is 42, and this chain's 7 (without one it draws one); {leave}")
    );
    assert_eq!(
        refused(&["--note", "x"]),
        "error: --note: parts.record is there already, and has the note that it began with\n"
    );
    assert_eq!(refused(&["--prompt", "2048"]), "error: --prompt: token 2048 is beyond the vocabulary of 2048 tokens\n");
    let wide = run(&["record", "--logits", "testing/data/smollm2.safetensors", "--out", &folder.name("parts.record")]);
    assert_eq!(
        folder.bare(&err(&wide)),
        "error: parts.record is of a vocabulary of 2048 tokens, and the rows are 49152 wide\n"
    );
    assert!(bytes("whole.record") == bytes("parts.record"), "nothing was written");

    // A second turn.
    folder.record("parts.record", "9..11", &["--prompt", "8,9"]);
    let record = Record::open(&folder.path("parts.record")).unwrap();
    assert_eq!((record.n_draws(), record.accepted(8)[1..].to_vec()), (11, vec![8, 9]));
}

#[test]
fn a_cut_record_is_mended_when_asked() {
    let folder = Folder::new();
    folder.record("a.record", "0..3", &["--chain", CHAIN]);
    let bytes = std::fs::read(folder.path("a.record")).unwrap();
    std::fs::write(folder.path("a.record"), &bytes[..bytes.len() - 20]).unwrap();
    let refused = folder.record("a.record", "2..3", &[]);
    assert!(folder.bare(&err(&refused)).starts_with("error: a.record: its last frame is cut: "), "{}", err(&refused));
    let note = "a.record: its last frame is cut, and passed over (8212 bytes)\n";
    let sampled = run(&["sample", "--logits", &folder.name("a.record")]);
    assert_eq!(folder.bare(&err(&sampled)), format!("note: {note}"));
    assert_eq!(out(&sampled).lines().count(), 3);
    let mended = folder.record("a.record", "2..3", &["--mend"]);
    assert_eq!(folder.bare(&err(&mended)), "note: a.record: 8212 bytes of a frame that was never whole are cut off\n");
    assert!(std::fs::read(folder.path("a.record")).unwrap() == bytes);
}

/// `--logits` takes a record: its rows, and its prompt, chain and seed where none are given.
#[test]
fn a_record_is_rows_with_all_that_belongs_to_them() {
    let folder = Folder::new();
    let request = r#"{"seed": 9, "temperature": 1.5, "repeat_penalty": 1.3, "xtc_probability": 0.5}"#;
    let made = folder.record("a.record", "0..10", &["--request", request, "--prompt", "5,6,7"]);
    let a = folder.name("a.record");
    let rows =
        |text: &str| -> Vec<String> { text.lines().filter(|line| line.starts_with("  ")).map(String::from).collect() };
    let made = rows(&out(&made));
    assert_eq!(made.len(), 10);
    assert_eq!(rows(&out(&run(&["sample", "--logits", &a]))), made);
    assert_eq!(rows(&out(&run(&["sample", "--logits", &a, "--rows", "6..9"]))), made[6..9]);
    assert_eq!(rows(&out(&run(&["sample", "--logits", &a, "--request", request]))), made);
    // Another chain sees the recorded history, whatever it draws itself.
    let other = out(&run(&["sample", "--logits", &a, "--temp", "0", "--rows", "6..7", "--json"]));
    let all = out(&run(&["sample", "--logits", &a, "--temp", "0", "--json"]));
    let row = |text: &str, i: usize| serde_json::from_str::<serde_json::Value>(text.lines().nth(i).unwrap()).unwrap();
    assert_eq!(row(&other, 0)["token"], row(&all, 6)["token"]);
    // Without a seed it is the record's.
    for chain in [&["--prompt", "1"][..], &["--temp", "0.5"], &["--request", "{}"], &["--chain", MIN_P]] {
        let given = out(&run(&[&["sample", "--logits", &a, "--rows", "0..1"], chain].concat()));
        assert_eq!(given.lines().next(), Some("seed 9"), "{chain:?}");
    }
    let given = out(&run(&["sample", "--logits", &a, "--rows", "0..1", "--seed", "3"]));
    assert_eq!(given.lines().next(), Some("seed 3"));

    // A record of a record is the same generation.
    let b = folder.name("b.record");
    run(&["record", "--logits", &a, "--out", &b]);
    assert_eq!(folder.diff("a.record", "b.record", &[]).1, 0);
    run(&["record", "--logits", &a, "--rows", "4..10", "--out", &folder.name("tail.record")]);
    let tail = Record::open(&folder.path("tail.record")).unwrap();
    assert_eq!((tail.n_draws(), tail.prompt().len()), (6, 7));
    let (a, replayed) = (Record::open(Path::new(&a)).unwrap(), tail.replay(tail.sampler(None).unwrap()));
    for (i, draw) in replayed.enumerate() {
        assert_eq!(draw.unwrap().drawn, Ok(a.draw(i + 4).unwrap().token));
    }
}

/// What was taken back in a record is taken back when it is followed.
#[test]
fn a_record_with_second_thoughts_is_followed() {
    let folder = Folder::new();
    let sampler = Sampler::from_chain(Chain::new().with(Greedy {}), Ctx::new(1)).unwrap();
    let mut recorded = Recorded::create(&folder.path("a.record"), sampler).unwrap();
    recorded.accept_prompt_all(&[2]).unwrap();
    for row in ROWS {
        let token = recorded.sample(&row).unwrap();
        recorded.accept(token).unwrap();
    }
    recorded.rewind(3).unwrap();
    recorded.accept_prompt_all(&[0]).unwrap();
    recorded.sample(&ROWS[1]).unwrap();
    recorded.accept(3).unwrap();
    drop(recorded);
    let made = run(&["record", "--logits", &folder.name("a.record"), "--out", &folder.name("b.record")]);
    assert!(made.status.success(), "{}", err(&made));
    let b = Record::open(&folder.path("b.record")).unwrap();
    assert_eq!(b.history(5).tokens(), [2, 3, 0, 3]);
    assert_eq!(folder.diff("a.record", "b.record", &[]).1, 0, "the same, though written down as states");
}

#[test]
fn what_is_no_record_is_said_so() {
    let folder = Folder::new();
    folder.record("a.record", "0..1", &["--chain", CHAIN]);
    let (told, code) = folder.diff("a.record", "none.record", &[]);
    assert_eq!((told.as_str(), code), ("error: none.record: No such file or directory (os error 2)\n", 2));
    std::fs::write(folder.path("text"), "hello").unwrap();
    let (told, code) = folder.diff("text", "a.record", &[]);
    let is_none = "error: text: this is no record: it does not begin with {\"sampler_chain_record\":\n";
    assert_eq!((told.as_str(), code), (is_none, 2));
    assert_eq!(folder.bare(&err(&folder.record("text", "0..1", &[]))), is_none);
    assert_eq!(std::fs::read(folder.path("text")).unwrap(), b"hello");
    engine(&folder.path("other.record"), &ROWS, None);
    let (told, code) = folder.diff("a.record", "other.record", &[]);
    let models =
        "error: a.record is of a vocabulary of 2048 tokens, and other.record of 4: no records of the same generation\n";
    assert_eq!((told.as_str(), code), (models, 2));
    let (told, code) = folder.diff("a.record", "a.record", &["--vocab", "testing/data/tiny-vocab.json"]);
    assert_eq!(
        (told.as_str(), code),
        ("error: a.record: the record is of a vocabulary of 2048 tokens, and this one has 512\n", 2)
    );
    engine(&folder.path("empty.record"), &[], None);
    let output = run(&["sample", "--logits", &folder.name("empty.record")]);
    assert_eq!(folder.bare(&err(&output)), "error: empty.record: there is no row in it\n");
    // A prompt that cannot be leaves no file.
    folder.record("none.record", "0..1", &["--chain", CHAIN, "--prompt", "9999"]);
    assert!(!folder.path("none.record").exists());
}

/// What the steps remember, a grammar, and what the engine does, in words.
#[test]
fn diff_tells_what_no_draw_shows() {
    let folder = Folder::new();
    let mirostat = |name: &str, changed: Option<usize>| {
        let chain = Chain::new().with(MirostatV2::new(3.0, 0.9));
        let sampler = Sampler::from_chain(chain, Ctx::new(1).with_n_vocab(50)).unwrap();
        let mut recorded = Recorded::create(&folder.path(name), sampler).unwrap();
        for i in 0..12 {
            let mut row = Synthetic { kind: SyntheticKind::Uniform, seed: 3, n_vocab: 50, rows: 12 }.row(i);
            if let Some(token) = changed.filter(|_| i == 2) {
                row[token] += 1.0;
            }
            let token = recorded.sample(&row).unwrap();
            recorded.accept(token).unwrap();
        }
    };
    mirostat("a.record", None);
    // The first change that leaves the token of its own row alone, and not a later one.
    let mut told = (0..50).map(|token| {
        let name = format!("{token}.changed.record");
        mirostat(&name, Some(token));
        folder.diff("a.record", &name, &[]).0
    });
    let told = told.find(|told| told.contains("Cause: the steps remember")).expect("one of 50 does");
    for part in [
        "\n  what the steps remember: not the same before this draw\n  the same there: history, parameters, seed, logits (to the bit)\n",
        "\nBefore that, and without changing a token:\n  at draw 2:\n    logits: 1 of 50 differs, first token ",
        "\nThe sampler is not at fault: what differed before is what its steps remember.\n",
    ] {
        assert!(told.contains(part), "{told}");
    }

    let engine = |name: &str, token: u32, taken_back: usize| {
        let sampler = Sampler::from_chain(Chain::new().with(Greedy {}), Ctx::new(1)).unwrap();
        let mut recorded = Recorded::create(&folder.path(name), sampler).unwrap();
        for row in ROWS {
            recorded.sample(&row).unwrap();
            recorded.accept(token).unwrap();
        }
        recorded.rewind(taken_back).unwrap();
    };
    engine("0.record", 0, 0);
    engine("1.record", 1, 0);
    let (told, code) = folder.diff("0.record", "1.record", &[]);
    let expected = "They part after draw 0: both drew 3.\nCause: the engine: what it accepted, or took back, differs\n  \
                    accepted then: 0 by A, 1 by B\n  \
                    afterwards: history: other from position 0 on, behind the prompt: 0 in A, 1 in\n    \
                    B (1 token each)\n";
    assert!(told.contains(expected) && code == 1, "{told}");
    engine("back.record", 0, 1);
    let (told, _) = folder.diff("0.record", "back.record", &[]);
    assert!(told.contains("They part after draw 3: both drew 2.\n"), "{told}");
}
