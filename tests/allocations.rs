//! After warm-up a draw allocates nothing: its memory is kept from draw to draw.

use std::sync::Arc;

use biggest_gap as _;
use sampler_chain::{
    Chain, Ctx, Params, Sampler, SamplerStep, StepInfo, Synthetic, SyntheticKind, Vocab, VocabFile, registered_steps,
};
use serde_json::{Value, json};

/// Every stock chain as a request.
fn chains() -> Vec<(&'static str, Value)> {
    let off = |field: &str, value: Value| {
        let mut request = json!({"top_k": 0, "top_p": 1, "min_p": 0});
        request[field] = value;
        request
    };
    vec![
        ("default", json!({})),
        ("penalties", json!({"repeat_penalty": 1.1, "presence_penalty": 0.2})),
        ("dry", json!({"dry_multiplier": 0.8})),
        ("logit_bias", json!({"logit_bias": [[5, 1], [70, false]]})),
        ("top-k 200", json!({"top_k": 200})),
        ("top-p", off("top_p", json!(0.95))),
        ("min-p", off("min_p", json!(0.05))),
        ("temperature", off("temperature", json!(0.8))),
        ("typical-p", off("typical_p", json!(0.9))),
        ("top-n-sigma", off("top_n_sigma", json!(1))),
        ("xtc", off("xtc_probability", json!(1))),
        ("dynatemp", off("dynatemp_range", json!(0.5))),
        ("mirostat 1", json!({"mirostat": 1})),
        ("mirostat 2", json!({"mirostat": 2})),
        ("adaptive-p", json!({"samplers": ["top_k", "adaptive_p"], "adaptive_target": 0.3})),
        ("greedy", json!({"temperature": 0})),
    ]
}

#[test]
fn a_warm_draw_allocates_nothing() {
    const N_VOCAB: usize = 20_000;
    let rows = Synthetic { kind: SyntheticKind::Peaked, seed: 3, n_vocab: N_VOCAB, rows: 24 };
    let rows: Vec<Vec<f32>> = (0..24).map(|i| rows.row(i)).collect();
    let mut wrong = Vec::new();
    for (name, request) in chains() {
        let base = Params { n_vocab: Some(N_VOCAB), ..Params::default() };
        let (mut params, _) = Params::from_request(&request, &base, None).unwrap();
        params.seed = 7;
        let mut sampler = Sampler::new(params).unwrap();
        sampler.accept_prompt_all(&(0..100).map(|i| i * i % 37).collect::<Vec<u32>>()).unwrap();
        let mut count = 0;
        // Mirostat 1 keeps more candidates from draw to draw until it keeps all, and is warm then.
        let n_cold = if name == "mirostat 1" { 12 } else { 1 };
        let cold = rows.iter().cycle().take(n_cold * rows.len());
        for (row, is_warm) in cold.map(|row| (row, false)).chain(rows.iter().map(|row| (row, true))) {
            let mut token = 0;
            let draw = allocation_counter::measure(|| token = sampler.sample(row).unwrap());
            sampler.accept(token).unwrap();
            if is_warm {
                count += draw.count_total;
            }
        }
        if count > 0 {
            wrong.push(format!("{name}: {count} allocations in {} draws", rows.len()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Parameters with which a step has more to do than with those of its docs' example.
fn busy() -> Vec<Value> {
    let many: Vec<u32> = (0..300u32).map(|i| i.wrapping_mul(2_654_435_761) % 2_000).collect();
    vec![
        json!({"type": "no_repeat_ngram", "n": 1, "whitelist": many}),
        json!({"type": "no_repeat_ngram", "n": 2}),
        json!({"type": "suppress_tokens", "tokens": many}),
        json!({"type": "min_new_tokens", "n": 9999}),
        json!({"type": "min_new_tokens", "n": 9999, "tokens": many}),
        json!({"type": "exponential_decay_length", "start": 0, "factor": 1.01, "tokens": many}),
        json!({"type": "exponential_decay_length", "start": 0, "factor": 1.01}),
        json!({"type": "rep_pen_slope", "range": 90, "penalty": 1.2, "slope": 0.5}),
        json!({"type": "rep_pen_slope", "range": 4_000_000_000u32, "penalty": 0.8}),
        json!({"type": "repetition_penalty_hf", "penalty": 1.3, "prompt_ignore_length": 3}),
        json!({"type": "repetition_penalty_hf", "penalty": 0.7, "sees_prompt": false}),
        json!({"type": "encoder_repetition_penalty", "penalty": 0.7}),
        json!({"type": "sequence_bias", "bias": [[[5], 1.5], [[30, 12], -4.0], [[9], "-inf"]]}),
        json!({"type": "top_p_decay", "p": 0.99, "decay": 0.99, "min": 0.9, "reset_ids": [3, 4]}),
        json!({"type": "tfs", "z": 0.9, "variant": "kobold"}),
        json!({"type": "p_less", "normalised": true}),
        json!({"type": "min_k", "tau": 9}),
        json!({"type": "protect", "tokens": many, "eog": true, "steps": [{"type": "top_k", "k": 40}]}),
        json!({"type": "protect", "tokens": [1, 2], "steps": [{"type": "suppress_tokens", "tokens": [2, 3, 4]}]}),
    ]
}

/// The same with the tokens of its lists inside the vocabulary.
fn within(n_vocab: u64, value: &Value) -> Value {
    match value {
        Value::Array(items) => {
            let of = |item: &Value| item.as_u64().map_or_else(|| within(n_vocab, item), |token| json!(token % n_vocab));
            items.iter().map(of).collect()
        }
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(name, value)| (name.clone(), within(n_vocab, value))).collect())
        }
        other => other.clone(),
    }
}

/// The list is of all steps that there are, so that a new one is in it: with the parameters of its docs' example and with busy ones,
/// on a whole row and behind a truncation.
#[test]
fn a_warm_draw_of_each_step_allocates_nothing() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let vocab: Arc<dyn Vocab> = Arc::new(VocabFile::read(&root.join("testing/data/small-vocab.json")).unwrap());
    let rows = Synthetic { kind: SyntheticKind::Peaked, seed: 3, n_vocab: vocab.n_tokens(), rows: 8 };
    let rows: Vec<Vec<f32>> = (0..8).map(|i| rows.row(i)).collect();
    let example =
        |name: &String| StepInfo::of(name).unwrap().example.unwrap_or_else(|| panic!("{name} has no example"));
    let steps: Vec<Value> = registered_steps().iter().map(example).chain(busy()).collect();
    assert!(steps.len() >= 38 + busy().len(), "{} steps", steps.len());
    let mut wrong = Vec::new();
    for (step, is_cut) in steps.iter().flat_map(|step| [(step, false), (step, true)]) {
        let mut chain: Chain = serde_json::from_value(json!({"steps": [within(2048, step)]})).unwrap();
        if is_cut {
            chain = Chain::new().with(sampler_chain::steps::TopK { k: 200 }).with(chain);
        }
        if !chain.selects() {
            chain = chain.with(sampler_chain::steps::Dist::default());
        }
        let mut sampler = Sampler::from_chain(chain, Ctx::new(7).with_vocab(vocab.clone())).unwrap();
        sampler.accept_prompt_all(&(0..140).map(|i| i * i % 37).collect::<Vec<u32>>()).unwrap();
        // Mirostat 1 and adaptive-p keep other numbers of candidates from draw to draw: they are warm when they keep all.
        let n_cold = if ["mirostat", "adaptive_p"].contains(&step["type"].as_str().unwrap()) { 96 } else { 16 };
        let (mut count, n_draws) = (0, n_cold + rows.len());
        for (i, row) in rows.iter().cycle().take(n_draws).enumerate() {
            let mut token = 0;
            let draw = allocation_counter::measure(|| token = sampler.sample(row).unwrap());
            sampler.accept(token).unwrap();
            count += if i < n_cold { 0 } else { draw.count_total };
        }
        if count > 0 {
            let step: String = step.to_string().chars().take(120).collect();
            wrong.push(format!("{step}, is_cut {is_cut}: {count} allocations in {} draws", rows.len()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The bytes that a sampler holds after some draws, for each candidate of the vocabulary: its own memory, not the caller's row.
#[test]
fn a_sampler_holds_little() {
    const N_VOCAB: usize = 151_669;
    let rows = Synthetic { kind: SyntheticKind::Peaked, seed: 3, n_vocab: N_VOCAB, rows: 8 };
    let rows: Vec<Vec<f32>> = (0..8).map(|i| rows.row(i)).collect();
    let mut wrong = Vec::new();
    for (name, request) in chains() {
        let base = Params { n_vocab: Some(N_VOCAB), seed: 7, ..Params::default() };
        let (params, _) = Params::from_request(&request, &base, None).unwrap();
        let mut sampler = None;
        let held = allocation_counter::measure(|| {
            let mut made = Sampler::new(params).unwrap();
            for row in rows.iter().cycle().take(if cfg!(debug_assertions) { 4 } else { 32 }) {
                let token = made.sample(row).unwrap();
                made.accept(token).unwrap();
            }
            sampler = Some(made);
        });
        let bytes = held.bytes_current as f64 / N_VOCAB as f64;
        println!("{name}: {bytes:.2} bytes a candidate");
        let cuts_first = ["default", "penalties", "dry", "logit_bias", "top-k 200", "min-p", "greedy"].contains(&name);
        // Typical-p sorts the set whole where equals are typical, as they are in these rows: the aim is 16 there, too.
        let bound = match name {
            _ if cuts_first => 4.0,
            "typical-p" => 40.0,
            _ => 16.0,
        };
        if bytes > bound {
            wrong.push(format!("{name}: {bytes}"));
        }
        drop(sampler);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
