//! Presets that llama.cpp itself would be handed become the chains that it builds of them.

use std::path::Path;

use sampler_chain::import::{Options, import, import_file};
use sampler_chain::{Chain, ChainFile, Format, Params, llama_server_chain};
use serde_json::{Value, json};

use crate::fixtures::{root, vocab};

/// A chain as JSON. Breakers that nothing looks for are left out: the two ways to say nothing are the same.
pub fn shown(chain: Chain) -> Value {
    let text = ChainFile { seed: None, chain }.to_text(Format::Json).unwrap();
    let mut value: Value = serde_json::from_str(&text).unwrap();
    for step in value["steps"].as_array_mut().unwrap() {
        let is_off = step["multiplier"] == 0.0 || step["last_n"] == 0;
        if step["type"] == "dry" && is_off {
            step.as_object_mut().unwrap().retain(|key, _| !key.starts_with("breaker"));
        }
    }
    value
}

/// What llama-server builds of a body, over its defaults.
pub fn built(body: &Value) -> (Value, u32) {
    let base = Params { vocab: Some(vocab()), ..Params::default() };
    let params = Params::from_request(body, &base, None).unwrap().0;
    (shown(llama_server_chain(&params).unwrap()), params.seed)
}

fn check(file: &str, options: Options, body: Value) {
    let imported = import_file(&root().join("tests/import").join(file), &options).unwrap().chain;
    let (chain, seed) = built(&body);
    assert_eq!(shown(imported.chain), chain, "{file}");
    assert_eq!(imported.seed.unwrap_or(u32::MAX), seed, "{file}");
}

/// The body that SillyTavern sends to llama-server, by its names, with everything off that its preset does not have.
fn neutral(fields: Value) -> Value {
    let mut body = json!({"temperature": 1, "top_k": 0, "top_p": 1, "min_p": 0});
    body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    body
}

#[test]
fn sillytavern_for_llama_cpp_is_the_request_that_it_sends() {
    let samplers = json!(["penalties", "dry", "top_n_sigma", "top_k", "typ_p", "xtc", "top_p", "min_p", "temperature"]);
    let body = json!({
        "temperature": 1.5, "min_p": 0.1, "repeat_last_n": 0, "dry_penalty_last_n": 0, "top_n_sigma": 0, "samplers": samplers
    });
    check("sillytavern/creative-min-p.json", Options::default(), neutral(body));
    let body = json!({
        "temperature": 0.9, "min_p": 0.02, "repeat_penalty": 1.05, "repeat_last_n": 8192, "dry_multiplier": 0.8,
        "dry_allowed_length": 3, "dry_penalty_last_n": 2048, "dry_sequence_breakers": ["\n", ":", "User"],
        "xtc_threshold": 0.15, "xtc_probability": 0.5, "samplers": ["penalties", "dry", "min_p", "temperature", "xtc"],
        "seed": 7
    });
    check("sillytavern/dry-xtc.json", Options { n_ctx: Some(8192), ..Options::default() }, neutral(body));
    let body = json!({
        "temperature": 1.25, "dynatemp_range": 0.75, "dynatemp_exponent": 1.2, "top_k": 30, "samplers": ["top_k", "temp"]
    });
    check("sillytavern/penalty-never-runs.json", Options::default(), neutral(body));
    let body = json!({"temperature": 0.7, "mirostat": 2, "mirostat_tau": 4, "mirostat_eta": 0.2});
    check("sillytavern/mirostat.json", Options::default(), neutral(body));
}

#[test]
fn llama_cpps_own_presets_lie_over_its_defaults() {
    check("llama.cpp-args/short.args", Options::default(), json!({"top_k": 20, "temperature": 0.7}));
    let body = json!({
        "logit_bias": [[15043, 1.5], [13, false], [198, -2]], "dry_multiplier": 0.8, "dry_penalty_last_n": 1024,
        "dry_sequence_breakers": [":", "###"], "temperature": 1.1
    });
    check("llama.cpp-args/lists.args", Options::default(), body);
    let body =
        json!({"samplers": "akt", "adaptive_target": 0.55, "adaptive_decay": 0.95, "temperature": 1, "top_k": 100});
    check("llama.cpp-args/adaptive.args", Options::default(), body);
    let body = json!({"temperature": 0.6, "top_k": 20, "top_p": 0.95, "min_p": 0});
    check("llama.cpp-ini/one.ini", Options::default(), body);
    let large = Options { preset: Some("large".into()), ..Options::default() };
    let body = json!({"temperature": 0.5, "top_k": 0, "repeat_penalty": 1.1, "repeat_last_n": 4096, "seed": 42});
    check("llama.cpp-ini/global.ini", large, body);
    let small = Options { preset: Some("small".into()), ..Options::default() };
    let body = json!({"temperature": 1, "top_k": 10, "repeat_penalty": 1.1, "min_p": 0.1});
    check("llama.cpp-ini/global.ini", small, body);
    let body = json!({"temperature": 1, "top_p": 0.9, "min_p": 0});
    check("ollama/Modelfile", Options::default(), body);
}

/// What llama-server reports of a request becomes the chain that it built for the request.
#[test]
fn settings_go_round() {
    for body in [
        json!({}),
        json!({"temperature": 0.7, "top_k": 5, "min_p": 0.123, "seed": 9, "samplers": "kmt"}),
        json!({"repeat_penalty": 1.3, "frequency_penalty": 0.1, "repeat_last_n": 17, "logit_bias": [[3, 0.5], [4, false]]}),
        json!({"dry_multiplier": 0.7, "dry_base": 2, "dry_sequence_breakers": [":"], "top_n_sigma": 1.5}),
        json!({"mirostat": 1, "mirostat_tau": 3.3}),
        json!({"adaptive_target": 0.4, "samplers": ["adaptive_p", "xtc", "top_p"], "xtc_probability": 0.4}),
    ] {
        let (params, _) = Params::from_request(&body, &Params::default(), None).unwrap();
        let props = json!({"default_generation_settings": {"n_ctx": 512, "params": params.to_request()}}).to_string();
        let imported = import(&props, Path::new("props.json"), &Options::default()).unwrap();
        let (chain, seed) = built(&body);
        assert_eq!(shown(imported.chain.chain), chain, "{body}");
        assert_eq!(imported.chain.seed, Some(seed), "{body}");
        assert_eq!(imported.report.losses().count(), 0, "{body}");
    }
}

/// A command line and a request round a text to the same f32: the first once, the second by way of an f64.
#[test]
fn numbers_of_a_command_line_are_rounded_once() {
    // Half-way between two f32, but for its last digit, which an f64 does not hold.
    let text = "1.000000059604644775390625000001";
    let imported = import(&format!("--temp {text}"), Path::new("x.args"), &Options::default()).unwrap();
    let temperature =
        |chain: &Value| chain["steps"].as_array().unwrap().iter().find(|step| step["type"] == "temperature").cloned();
    let read = temperature(&shown(imported.chain.chain)).unwrap()["temp"].as_f64().unwrap() as f32;
    assert_eq!(read.to_bits(), text.parse::<f32>().unwrap().to_bits());
    assert_eq!(read.to_bits(), 1.0f32.to_bits() + 1);
    assert_eq!(imported.report.to_string(), "--temp: used as temperature\n");
}
