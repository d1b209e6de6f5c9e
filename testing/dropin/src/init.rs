//! `llama_sampler_init_*`, one a step. None fails: what a step would refuse, llama.cpp computes with, and so does it here.

use std::sync::Arc;

use sampler_steps::{
    AdaptiveP, Dist, Greedy, Infill, LogitBias as Biases, MinP, Mirostat, MirostatV2, Penalties, Temperature, TopK,
    TopNSigma, TopP, TypP, Xtc,
};

use crate::abi::{LogitBias, Sampler, Vocab};
use crate::calls::{Call, count};
use crate::guard::guard;
use crate::sampler::of_step;
use crate::step::{Kind, Step};
use crate::vocab::RealVocab;

/// A `min_keep` of `size_t`. No more candidates can be kept than a u32 counts.
fn kept(min_keep: usize) -> u32 {
    u32::try_from(min_keep).unwrap_or(u32::MAX)
}

/// `llama_sampler_init_greedy`.
#[unsafe(no_mangle)]
pub extern "C" fn llama_sampler_init_greedy() -> *mut Sampler {
    count(Call::Greedy);
    guard(|| of_step(Step::new(Kind::Greedy, c"greedy", c"?greedy", Greedy {})))
}

/// `llama_sampler_init_dist`. A seed of 4294967295 asks for a random one.
#[unsafe(no_mangle)]
pub extern "C" fn llama_sampler_init_dist(seed: u32) -> *mut Sampler {
    count(Call::Dist);
    guard(|| of_step(Step::random(Kind::Dist, c"dist", c"?dist", Dist::default(), seed)))
}

/// `llama_sampler_init_top_k`. Off for a `k` of 0 and below.
#[unsafe(no_mangle)]
pub extern "C" fn llama_sampler_init_top_k(k: i32) -> *mut Sampler {
    count(Call::TopK);
    guard(|| of_step(Step::new(Kind::Fixed, c"top-k", c"?top-k", TopK { k })))
}

/// `llama_sampler_init_top_p`. Off for a `p` of 1 and above.
#[unsafe(no_mangle)]
pub extern "C" fn llama_sampler_init_top_p(p: f32, min_keep: usize) -> *mut Sampler {
    count(Call::TopP);
    guard(|| of_step(Step::new(Kind::Fixed, c"top-p", c"?top-p", TopP { p, min_keep: kept(min_keep) })))
}

/// `llama_sampler_init_min_p`. Off for a `p` of 0 and below.
#[unsafe(no_mangle)]
pub extern "C" fn llama_sampler_init_min_p(p: f32, min_keep: usize) -> *mut Sampler {
    count(Call::MinP);
    guard(|| of_step(Step::new(Kind::Fixed, c"min-p", c"?min-p", MinP { p, min_keep: kept(min_keep) })))
}

/// `llama_sampler_init_typical`. Off for a `p` of 1 and above.
#[unsafe(no_mangle)]
pub extern "C" fn llama_sampler_init_typical(p: f32, min_keep: usize) -> *mut Sampler {
    count(Call::Typical);
    guard(|| of_step(Step::new(Kind::Plain, c"typical", c"?typical", TypP { p, min_keep: kept(min_keep) })))
}

/// `llama_sampler_init_temp`. Off for a temperature of 1.
#[unsafe(no_mangle)]
pub extern "C" fn llama_sampler_init_temp(t: f32) -> *mut Sampler {
    count(Call::Temp);
    guard(|| of_step(Step::new(Kind::Fixed, c"temp", c"?temp", Temperature::new(t))))
}

/// `llama_sampler_init_temp_ext`. Off for a temperature of 1 and a `delta` of 0 or below.
#[unsafe(no_mangle)]
pub extern "C" fn llama_sampler_init_temp_ext(t: f32, delta: f32, exponent: f32) -> *mut Sampler {
    count(Call::TempExt);
    let step = Temperature { temp: t, delta, exponent };
    guard(|| of_step(Step::new(Kind::Fixed, c"temp-ext", c"?temp-ext", step)))
}

/// `llama_sampler_init_xtc`. Off for a probability of 0 or below, or a threshold above 0.5.
#[unsafe(no_mangle)]
pub extern "C" fn llama_sampler_init_xtc(p: f32, t: f32, min_keep: usize, seed: u32) -> *mut Sampler {
    count(Call::Xtc);
    guard(|| of_step(Step::random(Kind::Xtc, c"xtc", c"?xtc", Xtc::new(p, t, kept(min_keep)), seed)))
}

/// `llama_sampler_init_top_n_sigma`. Off for an `n` of 0 and below.
#[unsafe(no_mangle)]
pub extern "C" fn llama_sampler_init_top_n_sigma(n: f32) -> *mut Sampler {
    count(Call::TopNSigma);
    guard(|| of_step(Step::new(Kind::Plain, c"top-n-sigma", c"?top-n-sigma", TopNSigma { n })))
}

/// `llama_sampler_init_mirostat`. A negative `n_vocab` counts as 0.
#[unsafe(no_mangle)]
pub extern "C" fn llama_sampler_init_mirostat(n_vocab: i32, seed: u32, tau: f32, eta: f32, m: i32) -> *mut Sampler {
    count(Call::Mirostat);
    let step = || Step::random(Kind::Mirostat, c"mirostat", c"?mirostat", Mirostat::new(tau, eta, m), seed);
    guard(|| of_step(step().with_n_vocab(n_vocab.max(0) as usize)))
}

/// `llama_sampler_init_mirostat_v2`.
#[unsafe(no_mangle)]
pub extern "C" fn llama_sampler_init_mirostat_v2(seed: u32, tau: f32, eta: f32) -> *mut Sampler {
    count(Call::MirostatV2);
    let step = || Step::random(Kind::Mirostat, c"mirostat-v2", c"?mirostat-v2", MirostatV2::new(tau, eta), seed);
    guard(|| of_step(step()))
}

/// `llama_sampler_init_penalties`. Off for a window of 0 and below, or penalties that change nothing.
#[unsafe(no_mangle)]
pub extern "C" fn llama_sampler_init_penalties(
    _n_vocab: i32,
    penalty_last_n: i32,
    penalty_repeat: f32,
    penalty_freq: f32,
    penalty_present: f32,
) -> *mut Sampler {
    count(Call::Penalties);
    guard(|| {
        let step = Penalties::new(penalty_last_n, penalty_repeat, penalty_freq, penalty_present);
        of_step(Step::penalties(c"penalties", c"?penalties", step))
    })
}

/// `llama_sampler_init_adaptive_p`.
#[unsafe(no_mangle)]
pub extern "C" fn llama_sampler_init_adaptive_p(target: f32, decay: f32, seed: u32) -> *mut Sampler {
    count(Call::AdaptiveP);
    let step = || Step::random(Kind::AdaptiveP, c"adaptive-p", c"?adaptive-p", AdaptiveP::new(target, decay), seed);
    guard(|| of_step(step()))
}

/// `llama_sampler_init_logit_bias`. Off for no biases.
///
/// # Safety
/// `logit_bias` has `n_logit_bias` biases.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn llama_sampler_init_logit_bias(
    _n_vocab: i32,
    n_logit_bias: i32,
    logit_bias: *const LogitBias,
) -> *mut Sampler {
    count(Call::LogitBias);
    let biases = if n_logit_bias <= 0 || logit_bias.is_null() {
        &[]
    } else {
        // SAFETY: the caller promises that many; they are copied.
        unsafe { std::slice::from_raw_parts(logit_bias, n_logit_bias as usize) }
    };
    guard(|| {
        // A negative token is none: as a u32 it is beyond every vocabulary.
        let step = Biases::new(biases.iter().map(|bias| (bias.token as u32, bias.bias)));
        of_step(Step::new(Kind::Fixed, c"logit-bias", c"?logit-bias", step))
    })
}

/// `llama_sampler_init_infill`. Reads the vocabulary once, through llama.cpp. With NULL, for which llama.cpp crashes when it is applied,
/// it changes nothing.
///
/// # Safety
/// NULL, or a vocabulary of the real llama.cpp in this process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn llama_sampler_init_infill(vocab: *const Vocab) -> *mut Sampler {
    count(Call::Infill);
    let step = Step::new(Kind::Infill, c"infill", c"?infill", Infill::default());
    // SAFETY: what the caller promises. The vocabulary is read here, and not kept.
    let vocab = (!vocab.is_null()).then(|| unsafe { RealVocab::read(vocab) });
    guard(|| {
        of_step(match vocab {
            Some(vocab) => step.with_vocab(Arc::new(vocab)),
            None => step,
        })
    })
}
