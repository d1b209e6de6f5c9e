//! Where mutation begins: the repository's own files, found when they are wanted.

use std::path::{Path, PathBuf};

use sampler_chain::compare::{Contestant, Plan};
use sampler_chain::import::{Backend, Source};
use sampler_chain::oracle::{Case, read_cases};
use sampler_chain::record::Masking;
use sampler_chain::{ChainFile, Ctx, Format, Recorder, Sampler, StepInfo};
use serde_json::{Value, json};

/// Longer files teach a fuzzer little.
const MAX_BYTES: usize = 16 << 10;

/// The repository's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The seeds of a target, each once. At least one.
pub fn seeds(target: &str) -> Vec<Vec<u8>> {
    let mut seeds = match target {
        "chain_json" => texts(chains(Format::Json)),
        "chain_toml" => texts(chains(Format::Toml)),
        "request" => texts(requests()),
        "gguf" => files("testing/data/gguf", "gguf"),
        "safetensors" => vec![safetensors(3, 7), safetensors(1, 300)],
        "snapshot" => texts(snapshots()),
        "preset" => presets(),
        "oracle_case" => oracle_files(),
        "record" => records(),
        "vocabulary" => vocabularies(),
        "shard" => shards(),
        _ => words(),
    };
    seeds.retain(|seed| seed.len() <= MAX_BYTES);
    seeds.sort();
    seeds.dedup();
    assert!(!seeds.is_empty(), "{target} has no seeds");
    seeds
}

/// What is kept of what the fuzzers found, and small ones made by hand: `regressions/TARGET/`.
pub fn regressions(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("regressions").join(target);
    below(&dir).into_iter().map(|path| (path.clone(), read(&path))).collect()
}

fn texts(texts: Vec<String>) -> Vec<Vec<u8>> {
    texts.into_iter().map(String::into_bytes).collect()
}

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// All files below a folder; none where it is missing.
fn below(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() { found.extend(below(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

fn files(dir: &str, extension: &str) -> Vec<Vec<u8>> {
    let paths = below(&root().join(dir)).into_iter();
    paths.filter(|path| path.extension().is_some_and(|found| found == extension)).map(|path| read(&path)).collect()
}

/// The lines of all recorded cases below a folder, packed or not, file by file as their names without `.gz` are sorted.
fn lines(dir: &str) -> Vec<String> {
    let plain = |path: &PathBuf| path.to_string_lossy().trim_end_matches(".gz").to_string();
    let mut paths = below(&root().join(dir));
    paths.retain(|path| plain(path).ends_with(".jsonl") && !path.ends_with("sort.jsonl.gz"));
    paths.sort_by_key(plain);
    let texts = paths.iter().map(|path| read_cases(path).unwrap_or_else(|error| panic!("{error}")));
    texts.flat_map(|text| text.lines().map(String::from).collect::<Vec<_>>()).collect()
}

/// There are thousands of cases, and each draws many times: a tenth will do, but half of those with rows in files, which are of kinds that
/// the others are not. Some stand in a file together, with lines that are no case.
fn oracle_files() -> Vec<Vec<u8>> {
    let is_case = |line: &String| serde_json::from_str::<Case>(line).is_ok();
    let (in_files, others): (Vec<String>, Vec<String>) =
        lines("testing/data").into_iter().filter(is_case).partition(|line| line.contains("\"logits\":{\"file\""));
    let others = others.into_iter().step_by(10);
    let mut seeds: Vec<String> = in_files.into_iter().step_by(2).chain(others).collect();
    let short: Vec<String> = seeds.iter().filter(|line| line.len() < 1500).cloned().collect();
    let head = r#"{"head":{"program":"libllama","model":null}}"#;
    seeds.push(format!("{head}\n{}\n\n{}\n", short[0], short[30]));
    seeds.push(format!("{}\r\n  \n{{\"name\":\"cut\nnot a case\n[]\n{}", short[60], short[90]));
    texts(seeds)
}

fn cases() -> Vec<Value> {
    lines("testing/data").iter().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// The chains of `examples/chains`, of every step's description, and of the recorded cases.
fn chains(format: Format) -> Vec<String> {
    let mut chains: Vec<ChainFile> = Vec::new();
    for path in below(&root().join("examples/chains")) {
        // Some are of steps that another crate has.
        chains.extend(ChainFile::read(&path));
    }
    for case in cases() {
        if let Some(chain) = case.get("chain").filter(|chain| chain.to_string().len() < 2000) {
            let mut chain = chain.clone();
            chain["version"] = 1.into();
            chains.extend(ChainFile::parse(&chain.to_string(), Format::Json, Path::new("case")));
        }
    }
    let texts = chains.iter().map(|chain| chain.to_text(format).expect("a chain that was read can be written"));
    let mut texts: Vec<String> = texts.collect();
    texts.sort_by_key(String::len);
    // Many cases differ by a number alone: every eighth of them, and all of the steps' own examples.
    let mut some: Vec<String> = texts.into_iter().step_by(8).collect();
    for example in StepInfo::all().into_iter().filter_map(|info| info.example) {
        let text = format!("{{\"version\": 1, \"seed\": 1, \"steps\": [{example}, {{\"type\": \"dist\"}}]}}");
        let chain = ChainFile::parse(&text, Format::Json, Path::new("example"));
        some.extend(chain.map(|chain| chain.to_text(format).expect("a chain that was read can be written")));
    }
    some
}

fn requests() -> Vec<String> {
    cases().iter().filter_map(|case| case.get("request").map(Value::to_string)).collect()
}

fn safetensors(n_rows: usize, n_vocab: usize) -> Vec<u8> {
    let n_bytes = n_rows * n_vocab * 4;
    let mut header =
        json!({"logits": {"dtype": "F32", "shape": [n_rows, n_vocab], "data_offsets": [0, n_bytes]}}).to_string();
    while !header.len().is_multiple_of(8) {
        header.push(' ');
    }
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(header.as_bytes());
    bytes.extend((0..n_rows * n_vocab).flat_map(|i| (i as f32 / 7.0).to_le_bytes()));
    bytes
}

/// Samplers in the middle of a run: of every chain of the repository, with a few tokens accepted and drawn.
fn running() -> Vec<Sampler> {
    let row: Vec<f32> = (0..264).map(|i| (i * 37 % 101) as f32 / 10.0).collect();
    let run = |text: String| {
        let file = ChainFile::parse(&text, Format::Json, Path::new("chain")).ok()?;
        let ctx = |_| Ctx::new(7).with_vocab(crate::toy_vocab::toy());
        let mut sampler = file.into_sampler(ctx).ok()?;
        sampler.accept_prompt_all(&[1, 2, 3, 2, 3]).ok()?;
        for _ in 0..3 {
            let token = sampler.sample(&row).ok()?;
            sampler.accept(token).ok()?;
        }
        Some(sampler)
    };
    chains(Format::Json).into_iter().filter_map(run).collect()
}

fn snapshots() -> Vec<String> {
    running().iter().map(|sampler| serde_json::to_string(&sampler.snapshot()).expect("a snapshot is JSON")).collect()
}

fn records() -> Vec<Vec<u8>> {
    let mut records = Vec::new();
    for (i, mut sampler) in running().into_iter().step_by(9).enumerate() {
        let row: Vec<f32> = (0..264).map(|i| (i * 41 % 103) as f32 / 9.0).collect();
        let mut recorder = Recorder::new(Vec::new(), &sampler).expect("memory takes what is written");
        let mut act = || -> Result<(), Box<dyn std::error::Error>> {
            recorder.prompt(&[5, 6])?;
            sampler.accept_prompt_all(&[5, 6])?;
            let token = sampler.sample(&row)?;
            match i % 3 {
                0 => recorder.draw(&row, token)?,
                1 => recorder.draw_masked(&row, token, Masking::Redraw, |id| id % 2 == 0)?,
                _ => recorder.draw_masked(&row, token, Masking::First, |id| id > 3)?,
            }
            recorder.accept(token)?;
            sampler.accept(token)?;
            recorder.rewind(1)?;
            sampler.rewind(1)?;
            recorder.state(&sampler)?;
            recorder.reset()?;
            Ok(())
        };
        act().unwrap_or_else(|error| panic!("{error}"));
        records.push(recorder.into_inner());
    }
    records
}

/// The fixtures of the importers, with the two bytes that choose the format.
fn presets() -> Vec<Vec<u8>> {
    let mut presets = Vec::new();
    for (i, source) in Source::ALL.into_iter().enumerate() {
        for path in below(&root().join("tests/import").join(source.name())) {
            let name = path.to_string_lossy().into_owned();
            if name.ends_with(".toml") || name.contains("expected") {
                continue;
            }
            for options in 0..Backend::ALL.len() as u8 {
                let chosen = [i as u8, options + 8];
                presets.push([&chosen[..], &read(&path)].concat());
            }
            presets.push([&[(Source::ALL.len() + i % 8) as u8, 0][..], &read(&path)].concat());
        }
    }
    for line in lines("testing/data").iter().filter(|line| line.contains("\"from\":\"llama.cpp-")) {
        let case: Value = serde_json::from_str(line).expect("a case is JSON");
        let chosen = if line.contains("llama.cpp-ini") { 4u8 } else { 5 };
        presets.push([&[chosen, 8][..], case["text"].as_str().unwrap_or_default().as_bytes()].concat());
    }
    presets
}

fn vocabularies() -> Vec<Vec<u8>> {
    let tiny = read(&root().join("testing/data/tiny-vocab.json"));
    let mut small: Value = serde_json::from_slice(&tiny).expect("it is JSON");
    if let Some(pieces) = small["pieces_hex"].as_array_mut() {
        pieces.truncate(20);
    }
    small["eog"] = json!([2, 3]);
    (small["eos"], small["eot"], small["control"]) = (2.into(), 3.into(), json!([0, 1]));
    small["encode"] = json!({"\n": [4], "ab": [5, 6]});
    let packed = [&[2, 0, 0, 0, 1, 2, b'a', b'b', b'c', 1, 0, 0, 0, 1, 0, 0, 0][..], &[255; 4], &[1, 0, 0, 0]].concat();
    vec![tiny, small.to_string().into_bytes(), gzip_stored(&packed)]
}

/// A gzip file whose content is stored as it is.
fn gzip_stored(content: &[u8]) -> Vec<u8> {
    let n = content.len() as u16;
    let mut bytes = vec![31, 139, 8, 0, 0, 0, 0, 0, 0, 255, 1];
    bytes.extend(n.to_le_bytes().into_iter().chain((!n).to_le_bytes()).chain(content.iter().copied()));
    bytes.extend(crc32fast::hash(content).to_le_bytes().into_iter().chain(u32::from(n).to_le_bytes()));
    bytes
}

fn shards() -> Vec<Vec<u8>> {
    let rows: Vec<Vec<f32>> = (0..2).map(|row| (0..20).map(|i| (i * 7 % 11 + row) as f32 / 3.0).collect()).collect();
    let contestant = |text: &str| {
        let file = ChainFile::parse(text, Format::Json, Path::new("chain")).expect("it is a chain");
        Contestant::new(text.len().to_string(), file.into_sampler(Ctx::new).expect("it can be prepared"))
    };
    let contestants = || {
        vec![
            contestant(r#"{"version": 1, "seed": 1, "steps": [{"type": "min_p", "p": 0.1}, {"type": "dist"}]}"#),
            contestant(r#"{"version": 1, "seed": 1, "steps": [{"type": "greedy"}]}"#),
        ]
    };
    let plan = |seeds: &[u32]| Plan::new(&rows, contestants()).seeds(seeds.to_vec()).prompt(vec![1, 2]);
    let mut shards = Vec::new();
    for plan in [plan(&[1]), plan(&[1, 2]).untimed()] {
        let mut bytes = Vec::new();
        plan.run().expect("it can be compared").write(&mut bytes).expect("memory takes what is written");
        shards.push(bytes);
    }
    shards
}

/// Bytes for targets that read them as choices.
fn words() -> Vec<Vec<u8>> {
    let mut rng = sampler_chain::Mt19937::new(1);
    (0..16u8).map(|kind| (0..400).map(|i| if i == 0 { kind } else { rng.next_u32() as u8 }).collect()).collect()
}
