//! What llama-server b11192 itself made of command lines and INI files (testing/record_presets.py).

use std::path::Path;

use sampler_chain::import::{Options, Source, import};
use serde_json::Value;

use crate::fixtures::root;
use crate::same::{built, shown};

#[test]
fn llama_server_reads_its_presets_so() {
    let text = std::fs::read_to_string(root().join("testing/data/presets.jsonl")).unwrap();
    let (mut n_read, mut n_refused) = (0, 0);
    for line in text.lines().skip(1) {
        let case: Value = serde_json::from_str(line).unwrap();
        let text = case["text"].as_str().unwrap();
        let source = Source::from_name(case["from"].as_str().unwrap()).unwrap();
        // Of a configuration file the sections [*] and default count.
        let preset = text.contains("[other]").then(|| "default".to_string());
        let imported = import(text, Path::new("case"), &Options { source: Some(source), preset, ..Options::default() });
        let settings = &case["props"]["default_generation_settings"]["params"];
        if settings.is_null() {
            assert!(imported.is_err(), "llama-server refuses {text:?}");
            n_refused += 1;
            continue;
        }
        let imported = imported.unwrap_or_else(|error| panic!("{text:?}: {error}")).chain;
        // The settings do not have the breakers; nothing here changes llama.cpp's four.
        let (chain, seed) = built(settings);
        assert_eq!(shown(imported.chain), chain, "{text:?}");
        assert_eq!(imported.seed.unwrap_or(u32::MAX), seed, "{text:?}");
        n_read += 1;
    }
    assert!(n_read >= 15 && n_refused >= 9, "{n_read} read, {n_refused} refused");
}
