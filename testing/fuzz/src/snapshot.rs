//! Snapshots: what a sampler restores it saves again to the same bytes, and draws; what it refuses leaves it as it was.

use std::path::Path;

use sampler_chain::{ChainFile, Ctx, Format, Sampler, Snapshot};
use serde_json::{Value, json};

use crate::draws::draw_some;
use crate::named;
use crate::toy_vocab::toy;

/// So many outputs may the generators of a fuzzed snapshot be on; `tests/limits.rs` has more.
const MAX_TAKEN: u64 = 1 << 20;

pub fn entry(data: &[u8]) {
    let mut json = match serde_json::from_slice::<Value>(data) {
        Ok(json) => json,
        Err(_) => {
            let error = serde_json::from_slice::<Snapshot>(data).expect_err("it is not even JSON");
            return assert!(!error.to_string().is_empty());
        }
    };
    let Some(mut sampler) = sampler_of(&json) else { return };
    if is_slow(&json) {
        return crate::too_large();
    }
    let before = text(&sampler);
    // No fuzzer guesses a digest.
    if let (Some(digests), Ok(before)) = (json.get_mut("dry_breakers"), serde_json::from_str::<Value>(&before)) {
        *digests = before["dry_breakers"].clone();
    }
    let snapshot = match serde_json::from_value::<Snapshot>(json) {
        Ok(snapshot) => snapshot,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    match sampler.restore(&snapshot) {
        Ok(()) => {
            let written = serde_json::to_string(&snapshot).expect("a snapshot is JSON");
            assert_eq!(text(&sampler), written, "it is saved another way again");
            draw_some(sampler, 2);
        }
        Err(error) => {
            named(&error, "snapshot");
            assert_eq!(text(&sampler), before, "a refused snapshot changes the sampler");
        }
    }
}

fn text(sampler: &Sampler) -> String {
    serde_json::to_string(&sampler.snapshot()).expect("a snapshot is JSON")
}

/// A sampler of the snapshot's own chain, if that is one.
fn sampler_of(json: &Value) -> Option<Sampler> {
    let file = json!({"version": 1, "seed": 1, "steps": json.get("chain")?.get("steps")?});
    let file = ChainFile::parse(&file.to_string(), Format::Json, Path::new("chain")).ok()?;
    file.into_sampler(|seed| Ctx::new(seed).with_vocab(toy())).ok()
}

fn is_slow(json: &Value) -> bool {
    let state = json.get("state").and_then(Value::as_array);
    state.into_iter().flatten().filter_map(Value::as_u64).any(|number| (MAX_TAKEN..=1 << 31).contains(&number))
}
