//! What llama-server b11192 itself made of command lines and INI files (testing/record_presets.py), and transformers of
//! generation configs (testing/record_generation_configs.py).

use std::path::Path;

use sampler_chain::import::{Absent, Options, Source, import};
use sampler_chain::{Ctx, LogitsFile};
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

/// The candidates that transformers' own list of processors and warpers keeps, with their probabilities: the fields' places and
/// units are transformers'. Its exp is another one, and the record has six digits.
#[test]
fn transformers_keeps_the_same_candidates() {
    let logits = LogitsFile::open(&root().join("testing/data/smollm2.safetensors"), None).unwrap();
    let text = std::fs::read_to_string(root().join("tests/import/transformers.jsonl")).unwrap();
    let options =
        Options { source: Some(Source::HuggingFace), absent: Some(Absent::Transformers), ..Options::default() };
    let (mut n_rows, mut row) = (0, Vec::new());
    for line in text.lines().skip(1) {
        let case: Value = serde_json::from_str(line).unwrap();
        let config = case["config"].to_string();
        let imported = import(&config, Path::new("generation_config.json"), &options).unwrap();
        assert_eq!(imported.report.losses().count(), 0, "{config}");
        let mut sampler = imported.chain.into_sampler(Ctx::new).unwrap();
        let tokens: Vec<u32> = serde_json::from_value(case["prompt"].clone()).unwrap();
        sampler.accept_prompt_all(&tokens).unwrap();
        for (i, expected) in case["rows"].as_array().unwrap().iter().enumerate() {
            let kept: Vec<(u32, f32)> = serde_json::from_value(expected["kept"].clone()).unwrap();
            logits.row(i, &mut row).unwrap();
            let mut draw = sampler.draw(&row).unwrap();
            let mut cands: Vec<(u32, f32)> = draw
                .candidates()
                .iter()
                .filter(|cand| cand.logit > f32::NEG_INFINITY)
                .map(|cand| (cand.id, cand.p))
                .collect();
            cands.sort_by_key(|cand| cand.0);
            let ids = |cands: &[(u32, f32)]| cands.iter().map(|cand| cand.0).collect::<Vec<_>>();
            assert_eq!(ids(&cands), ids(&kept), "{config}: row {i}");
            for ((id, p), (_, other)) in cands.iter().zip(&kept) {
                assert!((p - other).abs() <= 2e-5 * other, "{config}: row {i}: token {id}: {p}, and there {other}");
            }
            sampler.accept(expected["token"].as_u64().unwrap() as u32).unwrap();
            n_rows += 1;
        }
    }
    assert_eq!(n_rows, 56);
}
