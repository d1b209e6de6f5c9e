//! Presets of other programs: a chain with a report, or a refusal. The first two bytes choose the format and the options, the rest
//! is the text.

use std::path::Path;

use sampler_chain::import::{Absent, Backend, ImportError, Options, Source, import};

use crate::chain::check_file;
use crate::named;

/// Names of files, by which formats are seen.
const NAMES: [&str; 8] = [
    "fuzzed.json",
    "fuzzed.yaml",
    "fuzzed.ini",
    "fuzzed.args",
    "Modelfile",
    "generation_config.json",
    "fuzzed",
    "fuzzed.txt",
];

pub fn entry(data: &[u8]) {
    let Some((&[format, options], text)) = data.split_first_chunk() else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    let source = Source::ALL.get(format as usize % (Source::ALL.len() + NAMES.len())).copied();
    let name = NAMES[format as usize % NAMES.len()];
    let options = Options {
        source,
        backend: (source == Some(Source::SillyTavern)).then(|| Backend::ALL[options as usize % 4]),
        n_ctx: (options & 4 == 0).then_some(2048),
        preset: (source == Some(Source::LlamaCppIni) && options & 8 == 0).then(|| "a".into()),
        absent: (source == Some(Source::HuggingFace)).then(|| Absent::ALL[options as usize % 3]),
    };
    let detected = Source::detect(text, Path::new(name));
    match import(text, Path::new(name), &options) {
        Ok(imported) => {
            assert_eq!(Some(imported.source), source.or(detected));
            imported.report.notes.iter().for_each(|note| assert!(note.to_string().len() > 3, "{note:?}"));
            check_file(&imported.chain);
        }
        Err(error @ ImportError::Unused { .. }) => named(&error, "--"),
        Err(error) => named(&error, name),
    }
}
