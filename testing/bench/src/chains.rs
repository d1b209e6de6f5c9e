//! The chains that are measured, as llama-server requests.

use sampler_chain::{Params, RequestError};
use serde_json::{Value, json};

/// Every generator's seed.
pub const SEED: u32 = 42;

/// One chain.
pub struct Chain {
    pub name: &'static str,
    pub params: Params,
}

pub const NAMES: [&str; 13] = [
    "default",
    "penalties",
    "dry",
    "top-k-200",
    "top-p",
    "min-p",
    "temperature",
    "typical-p",
    "top-n-sigma",
    "xtc",
    "dynatemp",
    "mirostat-1",
    "mirostat-2",
];

/// The chains of these names, or all.
pub fn chosen(names: &[String]) -> Result<Vec<Chain>, RequestError> {
    let wanted = |name: &&str| names.is_empty() || names.iter().any(|n| n == name);
    NAMES.into_iter().filter(wanted).map(|name| Ok(Chain { name, params: params(name)? })).collect()
}

/// What is asked beside the seed. A field that is absent has llama-server's default: temperature 0.8, top-k 40, top-p 0.95,
/// min-p 0.05, everything else off. So a chain "alone" has to switch these off.
fn request(name: &str) -> Value {
    match name {
        "default" => json!({}),
        "penalties" => json!({"repeat_penalty": 1.1, "repeat_last_n": 64}),
        "dry" => json!({"dry_multiplier": 0.8}),
        "top-k-200" => json!({"top_k": 200}),
        "top-p" => json!({"top_k": 0, "top_p": 0.95, "min_p": 0.05}),
        "min-p" => json!({"top_k": 0, "top_p": 1.0, "min_p": 0.05}),
        "temperature" => json!({"top_k": 0, "top_p": 1.0, "min_p": 0.0}),
        "typical-p" => json!({"top_k": 0, "top_p": 1.0, "min_p": 0.0, "typical_p": 0.9}),
        "top-n-sigma" => json!({"top_k": 0, "top_p": 1.0, "min_p": 0.0, "top_n_sigma": 1.0}),
        "xtc" => json!({"top_k": 0, "top_p": 1.0, "min_p": 0.0, "xtc_probability": 0.5, "xtc_threshold": 0.1}),
        "dynatemp" => json!({"top_k": 0, "top_p": 1.0, "min_p": 0.0, "dynatemp_range": 0.5}),
        // Mirostat takes the place of everything but the temperature.
        "mirostat-1" => json!({"mirostat": 1}),
        "mirostat-2" => json!({"mirostat": 2}),
        _ => unreachable!("NAMES has no {name}"),
    }
}

fn params(name: &str) -> Result<Params, RequestError> {
    let base = Params { seed: SEED, ..Params::default() };
    let (mut params, _) = Params::from_request(&request(name), &base, None)?;
    // Neither side has a vocabulary to find the texts of breakers in.
    params.dry_breakers = Some(Vec::new());
    Ok(params)
}

impl Chain {
    /// Which of `n` draws count. XTC only acts in those in which its own generator says so; the others would time
    /// another chain, and a median over both kinds would be that of neither.
    pub fn counting(&self, n: usize) -> Vec<bool> {
        let chance = self.params.xtc_probability;
        if chance == 0.0 {
            return vec![true; n];
        }
        let mut rng = sampler_chain::Mt19937::new(SEED);
        (0..n).map(|_| rng.uniform_f32() <= chance).collect()
    }
}
