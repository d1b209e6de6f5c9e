//! User case 26. Every field of a request does something, or the report says why not: raising it changes a drawn token or a candidate on
//! recorded rows, or the field is in the report as without effect.

use std::path::Path;
use std::sync::Arc;

use sampler_chain::{LogitsFile, Params, Sampler, Vocab, VocabFile};
use serde_json::{Value, json};

/// Rows of the small model, and its vocabulary.
fn recorded() -> (Vec<Vec<f32>>, Arc<dyn Vocab>) {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("testing/data");
    let file = LogitsFile::open(&data.join("small.safetensors"), None).unwrap();
    let rows = (0..12)
        .map(|i| {
            let mut row = Vec::new();
            file.row(i, &mut row).unwrap();
            row
        })
        .collect();
    (rows, Arc::new(VocabFile::read(&data.join("small-vocab.json")).unwrap()))
}

/// The candidates after each of twelve draws, with bits, and whether the report has something to say.
fn draws(request: &Value, rows: &[Vec<f32>], vocab: &Arc<dyn Vocab>) -> (Vec<String>, bool) {
    let base = Params { vocab: Some(vocab.clone()), ..Params::default() };
    let (params, report) = Params::from_request(request, &base, None).unwrap();
    let mut sampler = Sampler::new(params).unwrap();
    // The row's own context repeats 588 and 1165, so that windows and DRY have something to see.
    sampler.accept_prompt_all(&[588, 1165, 338, 588, 1165, 338, 585, 346, 588, 1165, 338]).unwrap();
    let seen = rows
        .iter()
        .map(|row| {
            let mut draw = sampler.draw(row).unwrap();
            let token = draw.token();
            let cands: Vec<_> = draw.candidates().iter().map(|c| (c.id, c.logit.to_bits(), c.p.to_bits())).collect();
            sampler.accept(token).unwrap();
            format!("{token} {cands:?}")
        })
        .collect();
    (seen, report.is_quiet())
}

/// Each field with a request in which it acts, and the value it is raised to.
fn raised() -> Vec<(&'static str, Value, Value)> {
    let list = |steps: &[&str]| json!(steps);
    vec![
        ("top_k", json!({"top_p": 1, "min_p": 0}), json!(60)),
        ("top_p", json!({"top_p": 0.5}), json!(0.7)),
        ("min_p", json!({}), json!(0.2)),
        ("top_n_sigma", json!({"top_n_sigma": 0.5, "top_k": 0, "top_p": 1, "min_p": 0}), json!(1.5)),
        ("xtc_probability", json!({"xtc_threshold": 0.05}), json!(0.9)),
        ("xtc_threshold", json!({"xtc_probability": 1, "xtc_threshold": 0.05}), json!(0.2)),
        ("typical_p", json!({"typical_p": 0.3}), json!(0.8)),
        ("temperature", json!({}), json!(1.3)),
        ("dynatemp_range", json!({}), json!(0.5)),
        ("dynatemp_exponent", json!({"dynatemp_range": 0.5}), json!(3)),
        ("repeat_last_n", json!({"repeat_penalty": 2, "repeat_last_n": 1}), json!(20)),
        ("repeat_penalty", json!({}), json!(2)),
        ("frequency_penalty", json!({}), json!(1.5)),
        ("presence_penalty", json!({}), json!(1.5)),
        ("dry_multiplier", json!({}), json!(5)),
        ("dry_base", json!({"dry_multiplier": 1, "top_k": 0, "top_p": 1, "min_p": 0}), json!(4)),
        (
            "dry_allowed_length",
            json!({"dry_multiplier": 5, "dry_allowed_length": 1, "top_k": 0, "top_p": 1, "min_p": 0}),
            json!(3),
        ),
        ("dry_penalty_last_n", json!({"dry_multiplier": 5, "dry_penalty_last_n": 3}), json!(60)),
        ("dry_sequence_breakers", json!({"dry_multiplier": 5}), json!(["e", "t"])),
        ("mirostat", json!({}), json!(1)),
        ("mirostat", json!({"mirostat": 1}), json!(2)),
        ("mirostat_tau", json!({"mirostat": 2, "mirostat_tau": 2}), json!(4)),
        ("mirostat_eta", json!({"mirostat": 2, "mirostat_tau": 2}), json!(0.9)),
        ("adaptive_target", json!({"samplers": list(&["top_k", "adaptive_p"])}), json!(0.5)),
        (
            "adaptive_decay",
            json!({"samplers": list(&["adaptive_p"]), "adaptive_target": 0.5, "adaptive_decay": 0.1}),
            json!(0.9),
        ),
        ("seed", json!({"seed": 1}), json!(2)),
        ("min_keep", json!({"top_p": 0.1}), json!(9)),
        ("samplers", json!({}), list(&["temperature"])),
        ("logit_bias", json!({}), json!([[588, 9]])),
        ("ignore_eos", json!({"logit_bias": [[2, 30]]}), json!(true)),
        ("ignore_eos", json!({"top_k": 0, "min_p": 0, "top_p": 1}), json!(true)),
    ]
}

#[test]
fn case_26_raising_a_field_changes_something() {
    let (rows, vocab) = recorded();
    let mut wrong = Vec::new();
    for (field, base, value) in raised() {
        let mut before = base.clone();
        before.as_object_mut().unwrap().entry("seed").or_insert(json!(7));
        let mut after = before.clone();
        after[field] = value;
        let ((before, _), (after_draws, quiet)) = (draws(&before, &rows, &vocab), draws(&after, &rows, &vocab));
        if before == after_draws {
            wrong.push(format!("{field} in {after} changes nothing"));
        }
        if !quiet {
            wrong.push(format!("{field} in {after} acts, and the report has something to say"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The fields that are answered beside the token change no token.
const BESIDE: [&str; 2] = ["n_probs", "post_sampling_probs"];

#[test]
fn every_field_is_tried() {
    let all = Params::default().to_request();
    let tried = raised();
    for field in all.as_object().unwrap().keys().filter(|field| !BESIDE.contains(&field.as_str())) {
        assert!(tried.iter().any(|(tried, ..)| tried == field), "{field} is not raised");
    }
}

/// The other side: a field whose step does not run changes nothing, and the report says so.
#[test]
fn a_field_without_its_step_is_reported() {
    let (rows, vocab) = recorded();
    for (field, base, value) in raised() {
        let idle = match field {
            "temperature" | "seed" | "mirostat" | "samplers" | "logit_bias" | "ignore_eos" => continue,
            "mirostat_tau" | "mirostat_eta" => json!({"seed": 7}),
            _ => json!({"seed": 7, "samplers": []}),
        };
        let mut set = idle.clone();
        set[field] = value;
        let ((before, _), (after, quiet)) = (draws(&idle, &rows, &vocab), draws(&set, &rows, &vocab));
        assert_eq!(before, after, "{field} acts without its step ({base})");
        assert!(!quiet, "{field} does nothing in {set}, and the report is quiet");
    }
}

/// And a field that a neighbour's value switches off, in a step that is listed.
#[test]
fn a_field_with_an_idle_neighbour_is_reported() {
    let (rows, vocab) = recorded();
    for (field, neighbours) in [
        ("dry_base", json!({})),
        ("dry_allowed_length", json!({})),
        ("dry_sequence_breakers", json!({})),
        ("dry_penalty_last_n", json!({})),
        ("dry_multiplier", json!({"dry_penalty_last_n": 0})),
        ("xtc_threshold", json!({})),
        ("xtc_probability", json!({"xtc_threshold": 0.6})),
        ("dynatemp_exponent", json!({})),
        ("repeat_last_n", json!({})),
        ("repeat_penalty", json!({"repeat_last_n": 0})),
        ("frequency_penalty", json!({"repeat_last_n": 0})),
        ("presence_penalty", json!({"repeat_last_n": 0})),
        ("adaptive_decay", json!({"samplers": ["top_k", "adaptive_p"]})),
        ("min_keep", json!({"top_p": 1, "min_p": 0})),
    ] {
        let (_, _, value) = raised().into_iter().find(|(raised, ..)| *raised == field).unwrap();
        let mut idle = neighbours.clone();
        idle["seed"] = json!(7);
        let mut set = idle.clone();
        set[field] = value;
        let ((before, _), (after, quiet)) = (draws(&idle, &rows, &vocab), draws(&set, &rows, &vocab));
        assert_eq!(before, after, "{field} acts in {set}");
        assert!(!quiet, "{field} does nothing in {set}, and the report is quiet");
    }
}
