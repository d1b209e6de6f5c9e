//! Files of oracle cases, beside the recorded files that they may name: each case passes, or says what differs; what is no case says
//! so; a case's sampler draws.

use std::cell::RefCell;
use std::path::Path;

use sampler_chain::oracle::{Case, Outcome, Replayer};
use serde_json::Value;
use tempfile::TempDir;

use crate::draws::draw_some;
use crate::{named, too_large};

/// The rows of a case have so many logits together at most, others are cut off; `tests/limits.rs` has more.
const MAX_LOGITS: usize = 1 << 15;
/// As many as a row of SmolLM2 has.
const WIDEST_ROW: usize = 49_152;
/// Breakers over larger vocabularies than SmolLM2's take seconds.
const MAX_VOCAB_BYTES: u64 = 250_000;
const NAME: &str = "fuzzed.jsonl";

thread_local! {
    static DIR: TempDir = folder().expect("the recorded files can be linked");
    /// The vocabularies and rows that cases name are read once.
    static REPLAYER: RefCell<Replayer> = RefCell::default();
}

/// A folder in which the recorded files lie.
fn folder() -> std::io::Result<TempDir> {
    let dir = tempfile::tempdir()?;
    for entry in Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../data")).canonicalize()?.read_dir()? {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "jsonl") {
            std::os::unix::fs::symlink(&path, dir.path().join(path.file_name().unwrap_or_default()))?;
        }
    }
    Ok(dir)
}

pub fn entry(data: &[u8]) {
    outcomes(data);
}

/// What became of each case of a file, of which some rows were cut off.
pub fn outcomes(data: &[u8]) -> Vec<Outcome> {
    DIR.with(|dir| REPLAYER.with_borrow_mut(|replayer| replay(data, dir.path(), replayer)))
}

fn replay(data: &[u8], dir: &Path, replayer: &mut Replayer) -> Vec<Outcome> {
    let path = dir.join(NAME);
    let mut outcomes = Vec::new();
    let Ok(text) = std::str::from_utf8(data) else {
        std::fs::write(&path, data).expect("a temporary file can be written");
        let refused = replayer.replay_file(&path, |outcome| outcomes.push(outcome)).expect_err("it is no text");
        named(&refused, NAME);
        assert!(outcomes.is_empty());
        return outcomes;
    };
    // A byte order mark is passed over, and belongs to no line.
    let (mark, text) = text.split_at(if text.starts_with('\u{feff}') { 3 } else { 0 });
    let lines: Vec<String> = text.lines().filter_map(|line| cut(line, dir)).collect();
    std::fs::write(&path, mark.to_string() + &lines.join("\n")).expect("a temporary file can be written");
    let replayed = replayer.replay_file(&path, |outcome| outcomes.push(outcome));
    replayed.unwrap_or_else(|error| panic!("{error}"));
    let (n_lines, is_blank) = (lines.len(), |line: &&String| line.trim().is_empty());
    let n_heads = lines.iter().filter(|line| is_head(line)).count();
    assert_eq!(outcomes.len(), n_lines - lines.iter().filter(is_blank).count() - n_heads);
    for Outcome { name, failure } in &outcomes {
        match failure.as_deref().map(|failure| (failure, failure.strip_prefix("not a case: "))) {
            Some((_, Some(error))) => {
                assert!(name.starts_with("line ") && error.len() > 20 && error.contains(" column "), "{name}: {error}")
            }
            Some((failure, None)) => assert!(failure.len() > 8, "{name}: {failure:?}"),
            None => {}
        }
    }
    for case in lines.iter().filter_map(|line| serde_json::from_str::<Case>(line).ok()) {
        match replayer.draws_of(&case, dir) {
            Ok((sampler, rows)) => {
                assert!(!rows.is_empty());
                draw_some(sampler, 2);
            }
            Err(failure) => assert!(failure.len() > 8, "{failure:?}"),
        }
    }
    outcomes
}

/// Whether a line is a head and nothing else.
fn is_head(line: &str) -> bool {
    let value = serde_json::from_str::<Value>(line);
    let head = value.ok().and_then(|value| Some((value.as_object()?.len(), value.get("head")?.as_object()?.clone())));
    head.is_some_and(|(n, head)| n == 1 && head.values().all(|value| value.is_string() || value.is_null()))
}

/// The line with as many rows as are replayed quickly, and with their results alone; nothing where even one row is too much. What is no
/// case stays as it is.
fn cut(line: &str, dir: &Path) -> Option<String> {
    let Ok(mut case) = serde_json::from_str::<Value>(line) else { return Some(line.to_string()) };
    let name = |case: &Value, at: &str| case.pointer(at).and_then(Value::as_str).unwrap_or_default().to_string();
    let names = [name(&case, "/vocab/file"), name(&case, "/gguf/file"), name(&case, "/logits/file")];
    let n_bytes = dir.join(&names[0]).metadata().map_or(0, |file| file.len());
    // A name may lead to a device, which has no end.
    let leads_out = |name: &String| name.starts_with('/') || name.contains("..");
    if n_bytes > MAX_VOCAB_BYTES || names.iter().any(leads_out) {
        too_large();
        return None;
    }
    let synthetic = case.pointer("/logits/synthetic/n_vocab").and_then(Value::as_u64);
    let width = match synthetic {
        Some(n_vocab) => usize::try_from(n_vocab).unwrap_or(usize::MAX),
        None => match names[2].as_str() {
            "" => return Some(line.to_string()),
            "drafts.safetensors" | "redraws.safetensors" => 512,
            "small.safetensors" => 2048,
            _ => WIDEST_ROW,
        },
    };
    let most = (MAX_LOGITS / width.max(1)).max(1);
    let n_named = n_rows(&case);
    if synthetic.is_some() && width > WIDEST_ROW && n_named > 0 {
        too_large();
        return None;
    }
    if n_named as usize <= most || case.get("draft").is_some() {
        return Some(line.to_string());
    }
    cut_to(&mut case, most);
    Some(case.to_string())
}

fn n_rows(case: &Value) -> u64 {
    let number = |at: &str| case.pointer(at).and_then(Value::as_u64).unwrap_or_default();
    let ids = case.pointer("/logits/row_ids").and_then(Value::as_array).map_or(0, |ids| ids.len() as u64);
    ids.max(number("/logits/synthetic/rows")).max(number("/logits/rows/1").saturating_sub(number("/logits/rows/0")))
}

fn cut_to(case: &mut Value, n: usize) {
    let start = case.pointer("/logits/rows/0").and_then(Value::as_u64).unwrap_or_default();
    for (at, end) in [("/logits/rows/1", start.saturating_add(n as u64)), ("/logits/synthetic/rows", n as u64)] {
        if let Some(rows) = case.pointer_mut(at) {
            *rows = end.into();
        }
    }
    let results = ["tokens", "final", "steps", "logprobs", "post_sampling_probs", "redrawn"];
    let results = results.map(|key| format!("/expect/{key}"));
    for at in results.iter().map(String::as_str).chain(["/masks", "/logits/row_ids"]) {
        if let Some(list) = case.pointer_mut(at).and_then(Value::as_array_mut) {
            // What was too short stays too short.
            list.truncate(n);
        }
    }
    if let Some(expect) = case.get_mut("expect").and_then(Value::as_object_mut) {
        expect.remove("text");
    }
}
