//! The entry points of the fuzzers, one a file that somebody else has written: bytes in, nothing out, a panic where a promise
//! is broken. libFuzzer calls them (`fuzz_targets/`), and `tests/replay.rs` does on the stable toolchain.
//!
//! Each checks more than that nothing panics: what is read is written, read and written again the same; what is refused is
//! told with a text that names it; a chain that loads draws from every kind of row, and copies draw alike.

pub mod cands;
pub mod chain_json;
pub mod chain_toml;
pub mod corpora;
pub mod gguf;
pub mod mutate;
pub mod oracle_case;
pub mod preset;
pub mod record;
pub mod request;
pub mod safetensors;
pub mod seeds;
pub mod shard;
pub mod shrink;
pub mod snapshot;
pub mod sort;
pub mod vocabulary;

mod chain;
mod draws;
mod file;
mod toy_vocab;

use std::cell::Cell;

/// A target: its name, and what it does with bytes.
pub type Target = (&'static str, fn(&[u8]));

/// All of them.
pub const TARGETS: [Target; 13] = [
    ("cands", cands::entry),
    ("chain_json", chain_json::entry),
    ("chain_toml", chain_toml::entry),
    ("gguf", gguf::entry),
    ("oracle_case", oracle_case::entry),
    ("preset", preset::entry),
    ("record", record::entry),
    ("request", request::entry),
    ("safetensors", safetensors::entry),
    ("shard", shard::entry),
    ("snapshot", snapshot::entry),
    ("sort", sort::entry),
    ("vocabulary", vocabulary::entry),
];

thread_local! {
    static N_TOO_LARGE: Cell<u64> = const { Cell::new(0) };
}

/// How often this thread has left something undone, because it would take seconds: a part of an input, or all of it.
pub fn n_too_large() -> u64 {
    N_TOO_LARGE.get()
}

fn too_large() {
    N_TOO_LARGE.set(N_TOO_LARGE.get() + 1);
}

/// Checks that an error says something, and names what it is about.
fn named(error: &dyn std::fmt::Display, what: &str) {
    let text = error.to_string();
    assert!(text.contains(what), "{what} is not in the error: {text}");
    let rest = text.replace(what, "");
    assert!(rest.trim_matches([':', ' ', '\n']).len() > 3, "the error says nothing: {text}");
}
