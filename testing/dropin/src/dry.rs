//! `llama_sampler_init_dry` and the C++ function that llama.cpp's tests make DRY with.

use std::ffi::{CStr, c_char};
use std::sync::Arc;

use sampler_steps::{Dry, DryBreakers, SamplerStep, Vocab as _, dry_breakers_unbounded};

use crate::abi::{Sampler, StdVector, Token, Vocab};
use crate::calls::{Call, count};
use crate::guard::{die, guard};
use crate::real::{Level, log};
use crate::sampler::of_step;
use crate::step::{Kind, Step};
use crate::vocab::RealVocab;

/// A breaker is cut to so many bytes.
const MAX_BYTES: usize = 40;

fn step(mut dry: Dry, breakers: Option<Arc<DryBreakers>>) -> *mut Sampler {
    if let Some(breakers) = breakers {
        dry.set_breakers(breakers);
    }
    let window = dry.last_n as usize;
    of_step(Step::new(Kind::Window(window), c"dry", c"?dry", dry))
}

/// `llama_sampler_init_dry`. Off for a multiplier of 0, a base below 1 or a window of 0 and below. Looks for the breakers in all
/// pieces of the vocabulary, through llama.cpp, however many there are.
///
/// # Safety
/// `vocab` is NULL (then there are no breakers) or a vocabulary of the real llama.cpp in this process; `seq_breakers` is NULL or
/// has `num_breakers` strings, some of which may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn llama_sampler_init_dry(
    vocab: *const Vocab,
    dry_multiplier: f32,
    dry_base: f32,
    dry_allowed_length: i32,
    dry_penalty_last_n: i32,
    seq_breakers: *const *const c_char,
    num_breakers: usize,
) -> *mut Sampler {
    count(Call::Dry);
    let dry = Dry::new(dry_multiplier, dry_base, dry_allowed_length, dry_penalty_last_n);
    if dry.is_off() || vocab.is_null() || seq_breakers.is_null() {
        return guard(|| step(dry, None));
    }
    let mut texts: Vec<&[u8]> = Vec::new();
    for i in 0..num_breakers {
        // SAFETY: the caller promises that many pointers, each NULL or a string, which are read before this function ends.
        let text = unsafe {
            let text = *seq_breakers.add(i);
            if text.is_null() { &[] } else { CStr::from_ptr(text).to_bytes() }
        };
        if text.is_empty() {
            log(Level::Warn, &format!("skipping null or empty DRY sequence breaker at index {i}\n"));
            continue;
        }
        if text.len() > MAX_BYTES {
            log(Level::Warn, &format!("truncating DRY sequence breaker to {MAX_BYTES} characters\n"));
        }
        texts.push(&text[..text.len().min(MAX_BYTES)]);
    }
    if texts.is_empty() {
        return guard(|| step(dry, None));
    }
    // SAFETY: a vocabulary, by the caller's promise.
    let vocab = unsafe { RealVocab::read_for_dry(vocab, &texts) };
    guard(|| {
        let n_tokens = vocab.n_tokens();
        let vocab: Arc<dyn sampler_steps::Vocab> = Arc::new(vocab);
        match dry_breakers_unbounded(&vocab, &texts) {
            Ok(breakers) => step(dry, Some(breakers)),
            Err(error) => die(&format!("llama_sampler_init_dry: {error}, of {n_tokens} tokens")),
        }
    })
}

/// `llama_sampler_init_dry_testing`: breakers as tokens, each with its head first. A C++ function of libllama that no header for users
/// shows; its name is that which g++ gives it. Where DRY is off it is an empty sampler, into which b11192 writes.
///
/// # Safety
/// A `std::vector<std::vector<llama_token>>` of libstdc++.
#[unsafe(export_name = "_Z30llama_sampler_init_dry_testingffiiRKSt6vectorIS_IiSaIiEESaIS1_EE")]
pub unsafe extern "C-unwind" fn llama_sampler_init_dry_testing(
    dry_multiplier: f32,
    dry_base: f32,
    dry_allowed_length: i32,
    dry_penalty_last_n: i32,
    seq_breakers: *const StdVector<StdVector<Token>>,
) -> *mut Sampler {
    count(Call::DryTesting);
    // SAFETY: the caller promises vectors, whose elements are copied.
    let breakers: Vec<Vec<u32>> = unsafe {
        let breakers = elements(&*seq_breakers).iter();
        breakers.map(|breaker| elements(breaker).iter().map(|&token| token as u32).collect()).collect()
    };
    if breakers.is_empty() {
        log(Level::Warn, "empty DRY sequence breakers list in llama_sampler_init_dry_testing\n");
    }
    guard(|| {
        let dry = Dry::new(dry_multiplier, dry_base, dry_allowed_length, dry_penalty_last_n);
        step(dry, Some(Arc::new(DryBreakers::from_tokens(&breakers))))
    })
}

/// The elements of a vector.
///
/// # Safety
/// A vector that lives and is not changed while they are used.
unsafe fn elements<T>(vector: &StdVector<T>) -> &[T] {
    if vector.begin.is_null() {
        return &[];
    }
    // SAFETY: libstdc++: elements lie from `begin` to `end`.
    unsafe { std::slice::from_raw_parts(vector.begin, vector.end.offset_from_unsigned(vector.begin)) }
}
