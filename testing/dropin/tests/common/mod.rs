//! The library as a C program uses it: samplers as pointers, candidates as an array.
#![allow(dead_code)]

use sampler_chain_dropin::abi::{ChainParams, LogitBias, Sampler, StdVector, TokenData, TokenDataArray};
use sampler_chain_dropin::chain::*;
use sampler_chain_dropin::dry::*;
use sampler_chain_dropin::init::*;
use sampler_chain_dropin::sampler::*;
use serde_json::Value;

/// A sampler that frees itself.
pub struct Owned(pub *mut Sampler);

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: made by the library, and owned by nobody else.
        unsafe { llama_sampler_free(self.0) };
    }
}

impl Owned {
    /// An empty chain.
    pub fn chain() -> Self {
        Self(llama_sampler_chain_init(ChainParams { no_perf: true }))
    }

    /// The sampler for somebody else to own.
    pub fn give(self) -> *mut Sampler {
        std::mem::ManuallyDrop::new(self).0
    }

    /// Adds a sampler to a chain.
    pub fn add(self, sampler: *mut Sampler) -> Self {
        // SAFETY: a chain, and a sampler that nobody owns.
        unsafe { llama_sampler_chain_add(self.0, sampler) };
        self
    }

    pub fn name(&self) -> String {
        // SAFETY: the sampler is alive, and a name is a constant.
        unsafe { std::ffi::CStr::from_ptr(llama_sampler_name(self.0)) }.to_string_lossy().into_owned()
    }

    pub fn apply(&self, row: &mut Row) {
        // SAFETY: the sampler is alive; the array is the row's.
        unsafe { llama_sampler_apply(self.0, &mut row.array) };
    }

    pub fn accept(&self, tokens: &[u32]) {
        // SAFETY: the sampler is alive.
        tokens.iter().for_each(|&token| unsafe { llama_sampler_accept(self.0, token as i32) });
    }

    pub fn reset(&self) {
        // SAFETY: the sampler is alive.
        unsafe { llama_sampler_reset(self.0) };
    }

    pub fn copy(&self) -> Self {
        // SAFETY: the sampler is alive.
        Self(unsafe { llama_sampler_clone(self.0) })
    }

    /// A draw from a row of logits, which is not accepted.
    pub fn draw(&self, logits: &[f32]) -> u32 {
        let mut row = Row::new(logits);
        self.apply(&mut row);
        row.selected()
    }
}

/// Candidates with the array that shows them.
pub struct Row {
    pub memory: Vec<TokenData>,
    pub array: TokenDataArray,
}

impl Row {
    /// As llama.cpp makes them of a row of logits.
    pub fn new(logits: &[f32]) -> Self {
        Self::of((0..).zip(logits).map(|(id, &logit)| TokenData { id, logit, p: 0.0 }).collect())
    }

    pub fn of(mut memory: Vec<TokenData>) -> Self {
        let array = TokenDataArray { data: memory.as_mut_ptr(), size: memory.len(), selected: -1, sorted: false };
        Self { memory, array }
    }

    /// What is left.
    pub fn left(&self) -> &[TokenData] {
        // SAFETY: the array points into the memory, and has so many.
        unsafe { std::slice::from_raw_parts(self.array.data, self.array.size) }
    }

    pub fn ids(&self) -> Vec<u32> {
        self.left().iter().map(|cand| cand.id).collect()
    }

    pub fn selected(&self) -> u32 {
        self.left()[usize::try_from(self.array.selected).expect("something is selected")].id
    }
}

/// The sampler of a step of a chain file; none for steps that llama.cpp's library does not have.
pub fn sampler(step: &Value, seed: u32, n_vocab: usize) -> Option<*mut Sampler> {
    let float = |field: &str, default: f32| match &step[field] {
        Value::Null => default,
        Value::String(text) => text.parse().unwrap(),
        number => number.as_f64().unwrap() as f32,
    };
    let int = |field: &str, default: i64| step[field].as_i64().unwrap_or(default);
    let (whole, keep) = (|field, default| int(field, default) as i32, int("min_keep", 0) as usize);
    let n_vocab = n_vocab as i32;
    Some(match step["type"].as_str().unwrap() {
        "greedy" => llama_sampler_init_greedy(),
        "dist" => llama_sampler_init_dist(seed),
        "top_k" => llama_sampler_init_top_k(whole("k", 40)),
        "top_p" => llama_sampler_init_top_p(float("p", 0.95), keep),
        "min_p" => llama_sampler_init_min_p(float("p", 0.05), keep),
        "typ_p" => llama_sampler_init_typical(float("p", 1.0), keep),
        "top_n_sigma" => llama_sampler_init_top_n_sigma(float("n", -1.0)),
        "temperature" => llama_sampler_init_temp_ext(float("temp", 0.8), float("delta", 0.0), float("exponent", 1.0)),
        "xtc" => llama_sampler_init_xtc(float("probability", 0.0), float("threshold", 0.1), keep, seed),
        "mirostat" => llama_sampler_init_mirostat(n_vocab, seed, float("tau", 5.0), float("eta", 0.1), whole("m", 100)),
        "mirostat_v2" => llama_sampler_init_mirostat_v2(seed, float("tau", 5.0), float("eta", 0.1)),
        "adaptive_p" => llama_sampler_init_adaptive_p(float("target", -1.0), float("decay", 0.9), seed),
        "penalties" => llama_sampler_init_penalties(
            n_vocab,
            whole("last_n", 64),
            float("repeat", 1.0),
            float("freq", 0.0),
            float("present", 0.0),
        ),
        "logit_bias" => {
            let pairs = step["bias"].as_array().map_or(&[][..], Vec::as_slice);
            let bias = |pair: &Value| match &pair[1] {
                Value::String(text) => text.parse().unwrap(),
                number => number.as_f64().unwrap() as f32,
            };
            let biases: Vec<LogitBias> =
                pairs.iter().map(|p| LogitBias { token: p[0].as_i64().unwrap() as i32, bias: bias(p) }).collect();
            // SAFETY: so many biases.
            unsafe { llama_sampler_init_logit_bias(n_vocab, biases.len() as i32, biases.as_ptr()) }
        }
        "dry" => {
            let (multiplier, base) = (float("multiplier", 0.0), float("base", 1.75));
            dry(multiplier, base, whole("allowed_length", 2), whole("last_n", 64), &breakers(step))
        }
        "chain" => {
            let chain = Owned::chain();
            let steps = step["steps"].as_array().unwrap();
            for step in steps {
                // SAFETY: a chain, and a sampler that nobody owns.
                unsafe { llama_sampler_chain_add(chain.0, sampler(step, seed, n_vocab as usize)?) };
            }
            chain.give()
        }
        _ => return None,
    })
}

fn breakers(step: &Value) -> Vec<Vec<i32>> {
    let breakers = step["breaker_tokens"].as_array().map_or(&[][..], Vec::as_slice);
    let ids = |breaker: &Value| breaker.as_array().unwrap().iter().map(|id| id.as_i64().unwrap() as i32).collect();
    breakers.iter().map(ids).collect()
}

/// DRY as llama.cpp's tests make it: the vectors are laid out as libstdc++ does.
pub fn dry(multiplier: f32, base: f32, allowed: i32, last_n: i32, breakers: &[Vec<i32>]) -> *mut Sampler {
    fn vector<T>(of: &[T]) -> StdVector<T> {
        let std::ops::Range { start, end } = of.as_ptr_range();
        StdVector { begin: start, end, capacity: end }
    }
    let vectors: Vec<StdVector<i32>> = breakers.iter().map(|breaker| vector(breaker)).collect();
    // SAFETY: vectors of vectors, which live until the end of the call.
    unsafe { llama_sampler_init_dry_testing(multiplier, base, allowed, last_n, &vector(&vectors)) }
}
