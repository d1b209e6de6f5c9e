//! The functions and structs of llama.h that are used, and nothing else of it.

use std::ffi::{c_char, c_int, c_void};
use std::path::Path;

use libloading::Library;

/// One candidate: `llama_token_data`.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C)]
pub struct TokenData {
    /// The token's id.
    pub id: i32,
    /// Its logit.
    pub logit: f32,
    /// Its probability: 0 until a sampler computes it.
    pub p: f32,
}

/// `llama_token_data_array`
#[repr(C)]
pub struct TokenDataArray {
    pub data: *mut TokenData,
    pub size: usize,
    pub selected: i64,
    pub sorted: bool,
}

/// `llama_logit_bias`
#[repr(C)]
pub struct LogitBias {
    pub token: i32,
    pub bias: f32,
}

/// `llama_sampler_chain_params`
#[repr(C)]
pub struct ChainParams {
    pub no_perf: bool,
}

/// `llama_model_params`
#[repr(C)]
pub struct ModelParams {
    devices: *mut c_void,
    tensor_buft_overrides: *const c_void,
    n_gpu_layers: i32,
    split_mode: c_int,
    load_mode: c_int,
    lazy_mode: c_int,
    main_gpu: i32,
    tensor_split: *const f32,
    progress_callback: *mut c_void,
    progress_callback_user_data: *mut c_void,
    kv_overrides: *const c_void,
    pub vocab_only: bool,
    check_tensors: bool,
    use_extra_bufts: bool,
    no_host: bool,
    no_alloc: bool,
    load_mtp: bool,
}

/// A `std::vector` of libstdc++, whose memory somebody else owns: a C++ function that only reads it cannot tell.
#[repr(C)]
pub struct StdVector {
    begin: *const c_void,
    end: *const c_void,
    capacity: *const c_void,
}

impl StdVector {
    /// A view of a slice, which must outlive it.
    pub fn over<T>(slice: &[T]) -> Self {
        let range = slice.as_ptr_range();
        Self { begin: range.start.cast(), end: range.end.cast(), capacity: range.end.cast() }
    }
}

/// `struct llama_sampler *`
pub type Raw = *mut c_void;

/// Declares the functions once, and looks all of them up when the library is opened. Where a C++ function's name is
/// mangled, the symbol stands beside the name.
macro_rules! api {
    ($($name:ident $(as $symbol:literal)?: fn($($argument:ty),*) $(-> $result:ty)?;)*) => {
        pub struct Api {
            $(pub $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
            /// Closing it would leave the functions dangling, so it lives as long as they do.
            _library: Library,
        }

        impl Api {
            fn new(library: Library) -> Result<Self, libloading::Error> {
                // SAFETY: each symbol is a function of llama.h (or, mangled, of llama-sampler.h) with the signature
                // that stands in the list below, and is kept beside the library that it belongs to.
                unsafe { Ok(Self { $($name: *library.get(api!(@symbol $name $($symbol)?))?,)* _library: library }) }
            }

            /// Where each function lies in memory.
            pub fn addresses(&self) -> Vec<(&'static str, *const c_void)> {
                vec![$((stringify!($name), self.$name as *const c_void),)*]
            }
        }
    };
    (@symbol $name:ident $symbol:literal) => { $symbol.as_bytes() };
    (@symbol $name:ident) => { stringify!($name).as_bytes() };
}

api! {
    llama_log_set: fn(extern "C" fn(c_int, *const c_char, *mut c_void), *mut c_void);
    llama_sampler_chain_init: fn(ChainParams) -> Raw;
    llama_sampler_chain_add: fn(Raw, Raw);
    llama_sampler_accept: fn(Raw, i32);
    llama_sampler_apply: fn(Raw, *mut TokenDataArray);
    llama_sampler_reset: fn(Raw);
    llama_sampler_clone: fn(Raw) -> Raw;
    llama_sampler_name: fn(Raw) -> *const c_char;
    llama_sampler_get_seed: fn(Raw) -> u32;
    llama_sampler_free: fn(Raw);
    llama_sampler_init_penalties: fn(i32, i32, f32, f32, f32) -> Raw;
    llama_sampler_init_dry: fn(*const c_void, f32, f32, i32, i32, *const *const c_char, usize) -> Raw;
    llama_sampler_init_dry_testing as "_Z30llama_sampler_init_dry_testingffiiRKSt6vectorIS_IiSaIiEESaIS1_EE":
        fn(f32, f32, i32, i32, *const StdVector) -> Raw;
    llama_sampler_init_top_n_sigma: fn(f32) -> Raw;
    llama_sampler_init_top_k: fn(i32) -> Raw;
    llama_sampler_init_typical: fn(f32, usize) -> Raw;
    llama_sampler_init_top_p: fn(f32, usize) -> Raw;
    llama_sampler_init_min_p: fn(f32, usize) -> Raw;
    llama_sampler_init_xtc: fn(f32, f32, usize, u32) -> Raw;
    llama_sampler_init_temp: fn(f32) -> Raw;
    llama_sampler_init_temp_ext: fn(f32, f32, f32) -> Raw;
    llama_sampler_init_logit_bias: fn(i32, i32, *const LogitBias) -> Raw;
    llama_sampler_init_dist: fn(u32) -> Raw;
    llama_sampler_init_greedy: fn() -> Raw;
    llama_sampler_init_mirostat: fn(i32, u32, f32, f32, i32) -> Raw;
    llama_sampler_init_mirostat_v2: fn(u32, f32, f32) -> Raw;
    llama_sampler_init_adaptive_p: fn(f32, f32, u32) -> Raw;
    llama_sampler_init_infill: fn(*const c_void) -> Raw;
    llama_backend_init: fn();
    llama_model_default_params: fn() -> ModelParams;
    llama_model_load_from_file: fn(*const c_char, ModelParams) -> *mut c_void;
    llama_model_get_vocab: fn(*mut c_void) -> *const c_void;
    llama_vocab_n_tokens: fn(*const c_void) -> i32;
    llama_tokenize: fn(*const c_void, *const c_char, i32, *mut i32, i32, bool, bool) -> i32;
    llama_model_free: fn(*mut c_void);
}

/// `ggml_set_abort_callback`, which lies in libggml-base.
type SetAbortCallback = unsafe extern "C" fn(Option<extern "C" fn(*const c_char)>) -> *mut c_void;

impl Api {
    pub fn open(path: &Path) -> Result<Self, libloading::Error> {
        // SAFETY: loading runs the library's initialisers; libllama's set up tables and need nothing from us.
        Self::new(unsafe { Library::new(path) }?)
    }

    pub fn log_to(&self, callback: extern "C" fn(c_int, *const c_char, *mut c_void)) {
        // SAFETY: the callback has llama_log_set's type and lives for ever; no data goes with it.
        unsafe { (self.llama_log_set)(callback, std::ptr::null_mut()) };
    }

    pub fn on_abort(&self, callback: extern "C" fn(*const c_char)) {
        // SAFETY: the symbol is ggml's function of that signature, found through libllama, which needs its library; the
        // callback lives for ever.
        unsafe {
            if let Ok(set) = self._library.get::<SetAbortCallback>(b"ggml_set_abort_callback") {
                set(Some(callback));
            }
        }
    }
}
