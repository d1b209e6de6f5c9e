//! A chain around each step that keeps a state, and rows that are told by their place alone.

use sampler_chain::{Sampler, registered_steps};

/// How many tokens the rows of `go_on` have.
pub const N_TOKENS: u32 = 40;

/// A chain around each step, with parameters that make it act. Infill wants a vocabulary and keeps no state.
pub fn chains() -> Vec<String> {
    let step = |name: &str| match name {
        "chain" => r#"{"type":"chain","steps":[{"type":"xtc","probability":0.5,"threshold":0.02}]}"#.to_string(),
        "penalties" => r#"{"type":"penalties","repeat":1.3,"last_n":5}"#.to_string(),
        "dry" => r#"{"type":"dry","multiplier":0.8,"allowed_length":1}"#.to_string(),
        "xtc" => r#"{"type":"xtc","probability":0.5,"threshold":0.02}"#.to_string(),
        "temperature" => r#"{"type":"temperature","temp":1.3,"delta":0.4}"#.to_string(),
        "adaptive_p" => r#"{"type":"adaptive_p","target":0.2}"#.to_string(),
        "logit_bias" => r#"{"type":"logit_bias","bias":[[3,2.5]]}"#.to_string(),
        "top_n_sigma" => r#"{"type":"top_n_sigma","n":1.5}"#.to_string(),
        "typ_p" => r#"{"type":"typ_p","p":0.8}"#.to_string(),
        "min_new_tokens" => r#"{"type":"min_new_tokens","n":9,"tokens":[3]}"#.to_string(),
        "sequence_bias" => r#"{"type":"sequence_bias","bias":[[[3],2.5],[[5,3],"-inf"]]}"#.to_string(),
        "suppress_tokens" => r#"{"type":"suppress_tokens","tokens":[3]}"#.to_string(),
        "protect" => {
            let xtc = r#"{"type":"xtc","probability":0.5,"threshold":0.02}"#;
            format!(r#"{{"type":"protect","tokens":[3],"steps":[{xtc}]}}"#)
        }
        "switch" => {
            let xtc = r#"{"type":"xtc","probability":0.5,"threshold":0.02}"#;
            let sequences = r#""after":[[3],[5],[7]],"back":[[4],[6],[8]],"generators":"shared""#;
            format!(r#"{{"type":"switch",{sequences},"first":[{xtc}],"second":[{{"type":"top_k","k":5}},{xtc}]}}"#)
        }
        "reasoning_budget" => {
            r#"{"type":"reasoning_budget","start":[[3]],"end":[[4]],"forced":[7,4],"budget":6}"#.to_string()
        }
        "encoder_repetition_penalty" => r#"{"type":"encoder_repetition_penalty","penalty":1.4}"#.to_string(),
        "exponential_decay_length" => {
            r#"{"type":"exponential_decay_length","start":12,"factor":1.1,"tokens":[5]}"#.to_string()
        }
        "no_repeat_ngram" => r#"{"type":"no_repeat_ngram","n":1,"window":30}"#.to_string(),
        "rep_pen_slope" => r#"{"type":"rep_pen_slope","range":7,"penalty":1.3,"slope":0.5}"#.to_string(),
        "repetition_penalty_hf" => r#"{"type":"repetition_penalty_hf","penalty":1.3,"sees_prompt":false}"#.to_string(),
        other => format!(r#"{{"type":"{other}"}}"#),
    };
    let selects = ["dist", "greedy", "mirostat", "mirostat_v2", "adaptive_p", "gumbel"];
    registered_steps()
        .iter()
        .filter(|name| *name != "infill")
        .map(|name| {
            let end = if selects.contains(&name.as_str()) { String::new() } else { r#",{"type":"dist"}"#.to_string() };
            format!(r#"{{"version":1,"seed":11,"steps":[{}{end}]}}"#, step(name))
        })
        .collect()
}

/// Draws and accepts `n` tokens.
pub fn go_on(sampler: &mut Sampler, n: usize) -> Vec<u32> {
    (0..n)
        .map(|_| {
            let t = sampler.ctx().history().len() as u32;
            let row: Vec<f32> = (0..N_TOKENS).map(|i| ((i * 31 + t * 17) % 41) as f32 / 6.0).collect();
            let token = sampler.sample(&row).unwrap();
            sampler.accept(token).unwrap();
            token
        })
        .collect()
}
