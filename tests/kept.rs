//! Chain files and snapshots that earlier versions wrote load for ever, and draw what they drew then.
//!
//! `testing/kept/VERSION.jsonl.gz` holds, one JSON object a line, what a version has written: its example chains as they were,
//! and a snapshot of every step in the middle of a text, each with the tokens that came next. A released version's file is never changed.
//! Before a release, its file is written, or added to: `cargo test --test kept -- --ignored write_what_this_version_keeps`.

#[path = "snapshots/chains.rs"]
mod chains;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chains::{N_TOKENS, chains, go_on};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use sampler_chain::{ChainFile, Ctx, Format, Sampler, Snapshot, Vocab, VocabFile, registered_steps};
use serde::{Deserialize, Serialize};

/// What a line holds.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Kept {
    /// A chain file, how it is written as JSON, and what it draws over the vocabulary of `small-vocab.json`.
    ChainFile { name: String, text: String, canonical: serde_json::Value, drawn: Vec<u32> },
    /// A sampler in the middle of a text, and what it drew next.
    Snapshot { chain: String, snapshot: String, drawn: Vec<u32> },
    /// The same over the vocabulary of `small-vocab.json`, with [`ENCODINGS`]: steps that look into texts.
    VocabSnapshot { chain: String, snapshot: String, drawn: Vec<u32> },
}

/// The tokens of what is left of a breaker behind the end of a piece.
const ENCODINGS: [(&str, &[u32]); 3] = [(" \"", &[476]), ("\"", &[18]), ("x", &[90])];

/// Chains of steps that act otherwise where there is a vocabulary.
const VOCAB_CHAINS: [&str; 5] = [
    r#"{"version":1,"seed":11,"steps":[{"type":"logit_bias","bias":[[252,60],[502,60],[260,60],[216,60],[282,60],[284,60]]},{"type":"temperature","temp":10},{"type":"top_k","k":5},{"type":"infill"},{"type":"dist"}]}"#,
    r#"{"version":1,"seed":11,"steps":[{"type":"logit_bias","bias":[[198,30],[42,30],[476,30],[18,30],[260,30],[596,30]]},{"type":"dry","multiplier":0.8,"allowed_length":1},{"type":"dist"}]}"#,
    r#"{"version":1,"seed":11,"steps":[{"type":"logit_bias","bias":[[198,30],[42,30],[476,30],[18,30],[260,30],[596,30]]},{"type":"dry","multiplier":0.8,"allowed_length":1,"breakers":["\n",": \"","ex"]},{"type":"dist"}]}"#,
    r#"{"version":1,"seed":11,"steps":[{"type":"logit_bias","bias":[[198,30],[42,30],[476,30],[18,30],[260,30],[596,30]]},{"type":"dry","multiplier":0.8,"allowed_length":1,"breaker_tokens":[[42,476],[18]]},{"type":"dist"}]}"#,
    r#"{"version":1,"seed":11,"steps":[{"type":"logit_bias","bias":[[198,30],[42,30],[476,30],[18,30],[260,30],[596,30]]},{"type":"reasoning_budget","start":[[198]],"end":[[42]],"forced":[476,42],"budget":3},{"type":"dist"}]}"#,
];

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

/// A sampler that can look into texts.
fn vocab_sampler_of(chain: &str) -> Sampler {
    let vocab = VocabFile::read(&root().join("testing/data/small-vocab.json")).unwrap();
    let vocab: Arc<dyn Vocab> =
        Arc::new(vocab.with_encodings(ENCODINGS.map(|(text, tokens)| (text.as_bytes().to_vec(), tokens.to_vec()))));
    let file = ChainFile::parse(chain, Format::Json, Path::new("kept")).unwrap();
    file.into_sampler(|seed| Ctx::new(seed).with_vocab(vocab.clone())).unwrap()
}

/// Draws and accepts `n` tokens of a vocabulary. The rows come again every seven draws, so that texts repeat themselves.
fn go_on_in_texts(sampler: &mut Sampler, n: usize) -> Vec<u32> {
    let n_tokens = sampler.ctx().n_vocab().unwrap() as u32;
    (0..n)
        .map(|_| {
            let t = sampler.ctx().history().len() as u32 % 7;
            let row: Vec<f32> = (0..n_tokens).map(|i| ((i * 31 + t * 170) % 4001) as f32 / 300.0).collect();
            let token = sampler.sample(&row).unwrap();
            sampler.accept(token).unwrap();
            token
        })
        .collect()
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
        Kept::VocabSnapshot { chain, snapshot, drawn } => {
            let snapshot: Snapshot = serde_json::from_str(snapshot).map_err(|error| format!("{chain}: {error}"))?;
            let mut sampler = vocab_sampler_of(chain);
            sampler.restore(&snapshot).map_err(|error| format!("{chain}: {error}"))?;
            (chain, drawn, go_on_in_texts(&mut sampler, drawn.len()))
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
        assert!(of(|line| matches!(line, Kept::VocabSnapshot { .. })) >= 5, "{}", path.display());
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

    // Breakers that are turned into other tokens than they were have another digest.
    let mut with_breakers = kept.into_iter().filter_map(|line| match line {
        Kept::VocabSnapshot { chain, snapshot, drawn } => {
            let digest = snapshot.split_once("\"dry_breakers\":[")?.1.split_once(']')?.0.to_string();
            digest.parse::<u64>().is_ok_and(|digest| digest > 0).then_some((chain, snapshot, drawn, digest))
        }
        _ => None,
    });
    let (chain, snapshot, drawn, digest) = with_breakers.next().unwrap();
    let other = snapshot.replace(&digest, "1");
    let error = holds(&Kept::VocabSnapshot { chain, snapshot: other, drawn }, &vocab).unwrap_err();
    assert!(error.ends_with("DRY breakers"), "{error}");
    assert_eq!(with_breakers.count(), 2);
}

/// What this version keeps, a line each. New kinds come at the end, so that a file that has no release yet can be added to.
fn what_this_version_keeps() -> Vec<Kept> {
    let mut kept = Vec::new();
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
        kept.push(Kept::ChainFile { name, text, canonical, drawn });
    }
    for chain in chains() {
        let mut sampler = sampler_of(&chain);
        sampler.accept_prompt_all(&[3, 1, 4]).unwrap();
        go_on(&mut sampler, 9);
        let snapshot = serde_json::to_string(&sampler.snapshot()).unwrap();
        let drawn = go_on(&mut sampler, 25);
        kept.push(Kept::Snapshot { chain, snapshot, drawn });
    }
    for chain in VOCAB_CHAINS.map(String::from) {
        let mut sampler = vocab_sampler_of(&chain);
        sampler.accept_prompt_all(&[198, 596, 2040, 42, 596, 2040]).unwrap();
        go_on_in_texts(&mut sampler, 9);
        let snapshot = serde_json::to_string(&sampler.snapshot()).unwrap();
        let drawn = go_on_in_texts(&mut sampler, 25);
        kept.push(Kept::VocabSnapshot { chain, snapshot, drawn });
    }
    kept
}

/// Every step stands in a snapshot, and in a chain that draws otherwise without it where it looks into texts.
#[test]
fn no_step_is_left_out() {
    let mut chains: BTreeSet<String> = chains().into_iter().collect();
    chains.extend(VOCAB_CHAINS.map(String::from));
    assert_eq!(chains.len(), registered_steps().len() - 1 + VOCAB_CHAINS.len(), "a chain is there twice");
    for step in registered_steps() {
        let tag = format!("{{\"type\":\"{step}\"");
        assert!(chains.iter().any(|chain| chain.contains(&tag)), "{step} is in no snapshot");
    }
    let drawn = |chain: &str| {
        let mut sampler = vocab_sampler_of(chain);
        sampler.accept_prompt_all(&[198, 596, 2040, 42, 596, 2040]).unwrap();
        go_on_in_texts(&mut sampler, 34)
    };
    for chain in VOCAB_CHAINS {
        let mut without: serde_json::Value = serde_json::from_str(chain).unwrap();
        let steps = without["steps"].as_array_mut().unwrap();
        steps.retain(|step| ["logit_bias", "temperature", "top_k", "dist"].contains(&step["type"].as_str().unwrap()));
        assert_ne!(drawn(chain), drawn(&without.to_string()), "{chain}");
    }
    let by_breakers: BTreeSet<Vec<u32>> = VOCAB_CHAINS[1..4].iter().map(|chain| drawn(chain)).collect();
    assert_eq!(by_breakers.len(), 3, "the breakers change nothing");
}

/// Passes where the file holds just that already. Until the version is released, lines may be added at its end.
#[test]
#[ignore = "writes the file of this version, before its release"]
fn write_what_this_version_keeps() {
    let path = folder().join(concat!(env!("CARGO_PKG_VERSION"), ".jsonl.gz"));
    let lines = what_this_version_keeps().into_iter().map(|line| serde_json::to_string(&line).unwrap() + "\n");
    let text: String = lines.collect();
    let mut there = String::new();
    if let Ok(file) = File::open(&path) {
        GzDecoder::new(file).read_to_string(&mut there).unwrap();
    }
    if there == text {
        return;
    }
    let is_added_to = text.starts_with(&there);
    assert!(is_added_to, "{} has lines that this version does not write, and is never changed", path.display());
    let mut out = GzEncoder::new(File::create(&path).unwrap(), Compression::best());
    out.write_all(text.as_bytes()).unwrap();
    out.finish().unwrap();
}
