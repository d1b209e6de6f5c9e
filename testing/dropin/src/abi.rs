//! The structs of `llama.h`, as it lays them out.

use std::ffi::{c_char, c_void};

use sampler_steps::Cand;

/// `llama_token`.
pub type Token = i32;

/// `LLAMA_TOKEN_NULL`.
pub const TOKEN_NULL: Token = -1;

/// `LLAMA_DEFAULT_SEED`: a random seed is asked for.
pub const DEFAULT_SEED: u32 = 0xffff_ffff;

/// `llama_token_data`. Its id is signed in C; the bits are the same.
pub type TokenData = Cand;

/// `llama_token_data_array`.
#[repr(C)]
#[derive(Debug)]
pub struct TokenDataArray {
    /// The candidates. XTC moves it.
    pub data: *mut TokenData,
    /// How many there are.
    pub size: usize,
    /// The index of the selected one; -1 for none.
    pub selected: i64,
    /// Whether they are known to be sorted by falling logit.
    pub sorted: bool,
}

/// `llama_logit_bias`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct LogitBias {
    /// The token.
    pub token: Token,
    /// What is added to its logit.
    pub bias: f32,
}

/// `llama_sampler_chain_params`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ChainParams {
    /// Whether no time is taken.
    pub no_perf: bool,
}

/// `llama_perf_sampler_data`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PerfData {
    /// The time in samplers, in milliseconds.
    pub t_sample_ms: f64,
    /// How many tokens were accepted.
    pub n_sample: i32,
}

/// A function of `llama_sampler_i` for sampling inside the compute graph, which no sampler of this library has.
pub type Backend = Option<unsafe extern "C-unwind" fn()>;

/// `llama_sampler_i`: what a sampler can do. Any of them may be NULL.
#[repr(C)]
#[derive(Debug)]
pub struct SamplerI {
    /// Its name.
    pub name: Option<unsafe extern "C-unwind" fn(*const Sampler) -> *const c_char>,
    /// Takes note of a token.
    pub accept: Option<unsafe extern "C-unwind" fn(*mut Sampler, Token)>,
    /// Works on the candidates.
    pub apply: Option<unsafe extern "C-unwind" fn(*mut Sampler, *mut TokenDataArray)>,
    /// Starts again.
    pub reset: Option<unsafe extern "C-unwind" fn(*mut Sampler)>,
    /// Makes a copy.
    pub clone: Option<unsafe extern "C-unwind" fn(*const Sampler) -> *mut Sampler>,
    /// Frees `ctx`, not the sampler itself.
    pub free: Option<unsafe extern "C-unwind" fn(*mut Sampler)>,
    /// For the compute graph.
    pub backend_init: Backend,
    /// For the compute graph.
    pub backend_accept: Backend,
    /// For the compute graph.
    pub backend_apply: Backend,
    /// For the compute graph.
    pub backend_set_input: Backend,
    /// For the compute graph.
    pub backend_reset: Backend,
    /// Copies the state of the first to the second.
    pub copy_state: Option<unsafe extern "C-unwind" fn(*const Sampler, *mut Sampler)>,
}

impl SamplerI {
    /// Without any function.
    pub const NOTHING: Self = Self {
        name: None,
        accept: None,
        apply: None,
        reset: None,
        clone: None,
        free: None,
        backend_init: None,
        backend_accept: None,
        backend_apply: None,
        backend_set_input: None,
        backend_reset: None,
        copy_state: None,
    };
}

/// `llama_sampler`.
#[repr(C)]
#[derive(Debug)]
pub struct Sampler {
    /// What it can do. It tells who made it, too.
    pub iface: *const SamplerI,
    /// What `iface` works on.
    pub ctx: *mut c_void,
}

/// `llama_vocab`, of which only pointers are known.
#[repr(C)]
#[derive(Debug)]
pub struct Vocab {
    _private: [u8; 0],
}

/// `llama_context`, of which only pointers are known.
#[repr(C)]
#[derive(Debug)]
pub struct Context {
    _private: [u8; 0],
}

/// A `std::vector` of libstdc++, to be read.
#[repr(C)]
#[derive(Debug)]
pub struct StdVector<T> {
    /// The first element.
    pub begin: *const T,
    /// Behind the last element.
    pub end: *const T,
    /// Behind the memory.
    pub capacity: *const T,
}

// The numbers are those of g++ 12 for llama.h of b11192 on x86-64.
const _: () = {
    use std::mem::{offset_of, size_of};
    assert!(size_of::<TokenData>() == 12 && offset_of!(TokenData, logit) == 4 && offset_of!(TokenData, p) == 8);
    assert!(size_of::<TokenDataArray>() == 32 && offset_of!(TokenDataArray, size) == 8);
    assert!(offset_of!(TokenDataArray, selected) == 16 && offset_of!(TokenDataArray, sorted) == 24);
    assert!(size_of::<LogitBias>() == 8 && size_of::<ChainParams>() == 1 && size_of::<PerfData>() == 16);
    assert!(size_of::<SamplerI>() == 96 && offset_of!(SamplerI, copy_state) == 88);
    assert!(size_of::<Sampler>() == 16 && size_of::<StdVector<i32>>() == 24);
};
