//! Oracle cases, beside the recorded files that they may name: they pass, or say what differs.

use std::path::Path;
use std::sync::Mutex;

use sampler_chain::oracle::{Case, CaseLogits, Replayer};

use crate::draws::draw_some;

/// A fuzzed case has so many logits at most; `tests/limits.rs` has more.
const MAX_LOGITS: usize = 1 << 14;
/// Larger vocabularies take seconds.
const MAX_VOCAB_BYTES: u64 = 100_000;

pub fn entry(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(case) = serde_json::from_str::<Case>(text) else { return };
    let dir = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../data"));
    if is_large(&case, dir) {
        return;
    }
    // The vocabularies that cases name are read once.
    static REPLAYER: Mutex<Option<Replayer>> = Mutex::new(None);
    let mut guard = REPLAYER.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let replayer = guard.get_or_insert_default();
    if let Err(failure) = replayer.replay(&case, dir) {
        assert!(failure.len() > 3, "{failure:?}");
    }
    match replayer.draws_of(&case, dir) {
        Ok((sampler, rows)) => {
            assert!(!rows.is_empty());
            draw_some(sampler, 2);
        }
        Err(failure) => assert!(failure.len() > 3, "{failure:?}"),
    }
}

fn is_large(case: &Case, dir: &Path) -> bool {
    let n_bytes = case.vocab.as_ref().and_then(|vocab| dir.join(&vocab.file).metadata().ok()).map(|file| file.len());
    if n_bytes.is_some_and(|n| n > MAX_VOCAB_BYTES) {
        return true;
    }
    match &case.logits {
        Some(CaseLogits::Synthetic(rows)) => rows.synthetic.rows.saturating_mul(rows.synthetic.n_vocab) > MAX_LOGITS,
        Some(CaseLogits::File(rows)) => {
            let n_rows = rows.rows.map_or(0, |[from, to]| to.saturating_sub(from));
            n_rows.max(rows.row_ids.as_ref().map_or(0, Vec::len)) > 2
        }
        _ => false,
    }
}
