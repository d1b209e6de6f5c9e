//! After warm-up a draw allocates nothing: its memory is kept from draw to draw.

use sampler_chain::{Params, Sampler, Synthetic, SyntheticKind};
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
