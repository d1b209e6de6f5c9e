//! Chain files and snapshots that earlier versions wrote load for ever, and draw what they drew then.
//!
//! `testing/kept/VERSION.jsonl.gz` holds, one JSON object a line, what a version has written: its example chains as they were,
//! and a snapshot of every step in the middle of a text, each with the tokens that came next. A file is never changed. Before a
//! release, its file is added: `cargo test --test kept -- --ignored write_what_this_version_keeps`.

#[path = "snapshots/chains.rs"]
mod chains;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chains::{N_TOKENS, chains, go_on};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use sampler_chain::{ChainFile, Ctx, Format, Sampler, Snapshot, Vocab, VocabFile};
use serde::{Deserialize, Serialize};

/// What a line holds.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Kept {
    /// A chain file, how it is written as JSON, and what it draws over the vocabulary of `small-vocab.json`.
    ChainFile { name: String, text: String, canonical: serde_json::Value, drawn: Vec<u32> },
    /// A sampler in the middle of a text, and what it drew next.
    Snapshot { chain: String, snapshot: String, drawn: Vec<u32> },
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn folder() -> PathBuf {
    root().join("testing/kept")
}

fn sorted(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()).collect();
    paths.sort();
    paths
}

fn read(path: &Path) -> Vec<Kept> {
    let lines = BufReader::new(GzDecoder::new(File::open(path).unwrap())).lines();
    lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect()
}

fn vocab() -> Arc<dyn Vocab> {
    Arc::new(VocabFile::read(&root().join("testing/data/small-vocab.json")).unwrap())
}

/// What a chain file draws over a vocabulary, from rows that are told by their place.
fn drawn_by(file: ChainFile, vocab: &Arc<dyn Vocab>) -> Vec<u32> {
    let mut sampler = file.into_sampler(|_| Ctx::new(11).with_vocab(vocab.clone())).unwrap();
    sampler.accept_prompt_all(&[596, 2040, 545, 596, 2040]).unwrap();
    let row = |t: u32| (0..vocab.n_tokens() as u32).map(move |i| ((i * 31 + t * 17) % 4001) as f32 / 300.0).collect();
    (0..8)
        .map(|t| {
            let row: Vec<f32> = row(t);
            let token = sampler.sample(&row).unwrap();
            sampler.accept(token).unwrap();
            token
        })
        .collect()
}

fn format_of(name: &str, text: &str) -> Format {
    Format::guess(Path::new(name), text)
}

fn sampler_of(chain: &str) -> Sampler {
    let file = ChainFile::parse(chain, Format::Json, Path::new("kept")).unwrap();
    file.into_sampler(|seed| Ctx::new(seed).with_n_vocab(N_TOKENS as usize)).unwrap()
}

/// What came of a line today: nothing, or what differs.
fn holds(kept: &Kept, vocab: &Arc<dyn Vocab>) -> Result<(), String> {
    let (name, then, now) = match kept {
        Kept::ChainFile { name, text, canonical, drawn } => {
            let file =
                ChainFile::parse(text, format_of(name, text), Path::new(name)).map_err(|error| error.to_string())?;
            let written = serde_json::to_value(&file).unwrap();
            if written != *canonical {
                return Err(format!("{name}: read as {written}, was {canonical}"));
            }
            (name, drawn, drawn_by(file, vocab))
        }
        Kept::Snapshot { chain, snapshot, drawn } => {
            let snapshot: Snapshot = serde_json::from_str(snapshot).map_err(|error| format!("{chain}: {error}"))?;
            let mut sampler = sampler_of(chain);
            sampler.restore(&snapshot).map_err(|error| format!("{chain}: {error}"))?;
            (chain, drawn, go_on(&mut sampler, drawn.len()))
        }
    };
    if *then == now { Ok(()) } else { Err(format!("{name}: draws {now:?}, drew {then:?}")) }
}

#[test]
fn what_was_written_once_loads_and_draws_the_same() {
    let (vocab, files) = (vocab(), sorted(&folder()));
    assert!(files.iter().any(|path| path.ends_with("0.1.0.jsonl.gz")), "the first version's file is gone");
    for path in files {
        let kept = read(&path);
        let failed: Vec<String> = kept.iter().filter_map(|line| holds(line, &vocab).err()).collect();
        assert!(failed.is_empty(), "{}:\n{}", path.display(), failed.join("\n"));
        let of = |wanted: fn(&Kept) -> bool| kept.iter().filter(|line| wanted(line)).count();
        assert!(of(|line| matches!(line, Kept::ChainFile { .. })) >= 32, "{}", path.display());
        assert!(of(|line| matches!(line, Kept::Snapshot { .. })) >= 36, "{}", path.display());
    }
}

/// The check sees a chain that reads otherwise, a token that differs, and a state that is gone.
#[test]
fn a_change_is_seen() {
    let vocab = vocab();
    let kept = read(&folder().join("0.1.0.jsonl.gz"));
    let chain_file = kept.iter().find(|line| matches!(line, Kept::ChainFile { .. })).unwrap();
    let Kept::ChainFile { name, text, canonical, drawn } = chain_file.clone() else { unreachable!() };
    let mut other = drawn.clone();
    other[7] ^= 1;
    let line = Kept::ChainFile { name, text, canonical, drawn: other };
    assert!(holds(&line, &vocab).unwrap_err().contains("drew"), "{line:?}");

    let snapshot = kept.iter().find(|line| matches!(line, Kept::Snapshot { .. })).unwrap();
    let Kept::Snapshot { chain, snapshot, drawn } = snapshot.clone() else { unreachable!() };
    let gone = snapshot.replace("\"state\":[", "\"states\":[");
    let error = holds(&Kept::Snapshot { chain, snapshot: gone, drawn }, &vocab).unwrap_err();
    assert!(error.contains("unknown field `states`"), "{error}");
}

#[test]
#[ignore = "writes the file of this version, once, before its release"]
fn write_what_this_version_keeps() {
    let path = folder().join(concat!(env!("CARGO_PKG_VERSION"), ".jsonl.gz"));
    let file = File::create_new(&path).expect("a version's file is never changed");
    let mut out = GzEncoder::new(file, Compression::best());
    let vocab = vocab();
    let examples = root().join("examples/chains");
    let foreign = "biggest-gap"; // its step is another crate's
    for path in [sorted(&examples), sorted(&examples.join("community"))].concat() {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.starts_with(foreign) {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let file = ChainFile::parse(&text, format_of(&name, &text), &path).unwrap();
        let canonical = serde_json::to_value(&file).unwrap();
        let drawn = drawn_by(file, &vocab);
        writeln!(out, "{}", serde_json::to_string(&Kept::ChainFile { name, text, canonical, drawn }).unwrap()).unwrap();
    }
    let mut seen = BTreeSet::new();
    for chain in chains() {
        let mut sampler = sampler_of(&chain);
        sampler.accept_prompt_all(&[3, 1, 4]).unwrap();
        go_on(&mut sampler, 9);
        let snapshot = serde_json::to_string(&sampler.snapshot()).unwrap();
        let drawn = go_on(&mut sampler, 25);
        assert!(seen.insert(chain.clone()), "{chain} is there twice");
        writeln!(out, "{}", serde_json::to_string(&Kept::Snapshot { chain, snapshot, drawn }).unwrap()).unwrap();
    }
    out.finish().unwrap();
}
