//! Every fixture becomes its chain and its report, to the byte, and its chain draws.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sampler_chain::import::{Absent, Backend, Options, Source, import_file};
use sampler_chain::{ChainFile, Ctx, Format, LogitsFile, VocabFile};

pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A preset and what belongs to it.
pub struct Fixture {
    pub preset: PathBuf,
    pub source: Source,
    pub options: Options,
    chain: String,
    report: String,
}

/// All of a format. Whatever lacks its expectation fails here.
pub fn of(source: Source) -> Vec<Fixture> {
    let dir = root().join("tests/import").join(source.name());
    let mut files: Vec<PathBuf> = std::fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_string();
    let (expected, presets): (Vec<_>, Vec<_>) =
        files.into_iter().partition(|path| name(path).ends_with(".chain.toml") || name(path).ends_with(".report.txt"));
    assert_eq!(expected.len(), 2 * presets.len(), "{source}: a chain and a report for each preset, and no others");
    let read = |preset: &PathBuf, ending: &str| {
        let path = dir.join(format!("{}.{ending}", preset.file_stem().unwrap().to_str().unwrap()));
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let fixture = |preset: PathBuf| {
        let (chain, text) = (read(&preset, "chain.toml"), read(&preset, "report.txt"));
        let (command, report) = text.split_once('\n').unwrap();
        let (options, report) = (options(command, &name(&preset)), report.to_string());
        Fixture { preset, source, options, chain, report }
    };
    presets.into_iter().map(fixture).collect()
}

pub fn all() -> Vec<Fixture> {
    Source::ALL.into_iter().flat_map(of).collect()
}

/// `$ sampler-chain import NAME --n-ctx 4096`
fn options(command: &str, name: &str) -> Options {
    let mut words = command.split(' ');
    assert_eq!(
        [words.next(), words.next(), words.next()],
        [Some("$"), Some("sampler-chain"), Some("import")],
        "{name}"
    );
    assert_eq!(words.next(), Some(name));
    let mut options = Options::default();
    while let Some(flag) = words.next() {
        let value = words.next().unwrap();
        match flag {
            "--n-ctx" => options.n_ctx = Some(value.parse().unwrap()),
            "--preset" => options.preset = Some(value.to_string()),
            "--backend" => options.backend = Backend::ALL.into_iter().find(|backend| backend.name() == value),
            "--absent" => options.absent = Absent::ALL.into_iter().find(|rule| rule.name() == value),
            other => panic!("{name}: {other}"),
        }
    }
    options
}

#[test]
fn every_preset_becomes_its_chain_and_its_report() {
    for source in Source::ALL {
        let fixtures = of(source);
        assert!(fixtures.len() >= 4, "{source}: {} presets", fixtures.len());
        for Fixture { preset, options, chain, report, .. } in fixtures {
            let shown = preset.display();
            let imported = import_file(&preset, &options).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(imported.source, source, "{shown}");
            assert_eq!(imported.report.to_string(), report, "{shown}");
            let (comment, text) = chain.split_once('\n').unwrap();
            assert!(comment.starts_with("# Imported from "), "{shown}");
            assert_eq!(imported.chain.to_text(Format::Toml).unwrap(), text, "{shown}");
        }
    }
}

/// Without a name, by what is in them alone.
#[test]
fn every_format_is_seen_in_its_text() {
    for Fixture { preset, source, .. } in all() {
        let text = std::fs::read_to_string(&preset).unwrap();
        assert_eq!(Source::detect(&text, Path::new("stdin")), Some(source), "{}", preset.display());
    }
    assert_eq!(Source::detect("", Path::new("stdin")), None);
}

/// The folders are the formats: none is forgotten.
#[test]
fn every_folder_is_a_format() {
    let entries = std::fs::read_dir(root().join("tests/import")).unwrap().map(|entry| entry.unwrap());
    let folders = entries.filter(|entry| entry.path().is_dir()).map(|entry| entry.file_name().into_string().unwrap());
    let mut n_folders = 0;
    for folder in folders {
        assert_eq!(Source::from_name(&folder).map(Source::name), Some(folder.as_str()));
        n_folders += 1;
    }
    assert_eq!(n_folders, Source::ALL.len());
}

/// Nothing that a preset says is left out of its report.
#[test]
fn every_field_is_in_the_report() {
    let mut n_fields = 0;
    for Fixture { preset, source, options, .. } in all() {
        let text = std::fs::read_to_string(&preset).unwrap();
        let report = import_file(&preset, &options).unwrap().report;
        let fields: Vec<String> = match source {
            Source::SillyTavern | Source::KoboldCpp | Source::HuggingFace => {
                let mut tree: serde_json::Value = serde_json::from_str(&text).unwrap();
                let inner = tree.get_mut("savedsettings").map(serde_json::Value::take);
                inner.unwrap_or(tree).as_object().unwrap().keys().cloned().collect()
            }
            Source::TextGenerationWebui | Source::TabbyApi => {
                let keys = text.lines().filter(|line| !line.starts_with([' ', '#']));
                keys.filter_map(|line| line.split_once(':')).map(|(key, _)| key.to_string()).collect()
            }
            _ => continue,
        };
        assert!(!fields.is_empty());
        for field in fields {
            assert!(report.of(&field).next().is_some(), "{}: {field}", preset.display());
            n_fields += 1;
        }
    }
    assert!(n_fields > 150, "{n_fields}");
}

pub fn vocab() -> Arc<VocabFile> {
    let vocab = VocabFile::read(&root().join("testing/data/smollm2-vocab.bin.gz")).unwrap();
    // Breakers of several characters want a tokenizer.
    let encodings = [("ser", vec![731]), ("er", vec![259]), ("r", vec![98]), ("##", vec![1695]), ("#", vec![19])];
    Arc::new(vocab.with_encodings(encodings.map(|(text, tokens)| (text.as_bytes().to_vec(), tokens))))
}

/// Each chain runs on rows of a real model, the same each time.
#[test]
fn every_chain_draws_from_a_real_model() {
    let logits = LogitsFile::open(&root().join("testing/data/smollm2.safetensors"), None).unwrap();
    let vocab = vocab();
    let mut row = Vec::new();
    for Fixture { preset, chain, .. } in all() {
        let shown = preset.display();
        let draw = |row: &mut Vec<f32>| {
            let mut file = ChainFile::parse(&chain, Format::Toml, &preset).unwrap_or_else(|error| panic!("{error}"));
            file.seed = Some(42);
            let ctx = |seed| Ctx::new(seed).with_vocab(vocab.clone());
            let mut sampler = file.into_sampler(ctx).unwrap_or_else(|error| panic!("{shown}: {error}"));
            sampler.accept_prompt_all(&[504, 2967, 282, 504, 2967]).unwrap();
            let mut drawn = Vec::new();
            for i in 0..4 {
                logits.row(i, row).unwrap();
                let token = sampler.sample(row).unwrap_or_else(|error| panic!("{shown}: row {i}: {error}"));
                sampler.accept(token).unwrap();
                drawn.push(token);
            }
            drawn
        };
        let drawn = draw(&mut row);
        assert_eq!(drawn, draw(&mut row), "{shown}");
        assert!(drawn.iter().all(|&token| (token as usize) < logits.n_vocab()), "{shown}");
    }
}
