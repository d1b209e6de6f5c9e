//! libllama b11192 through its C API. The only place with `unsafe`.
//!
//! The layouts and signatures are those of that build's `llama.h`; another build may have others, and then nothing here is
//! sound. `testing/README.md` says how to get it.
#![allow(unsafe_code)]

use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::path::PathBuf;
use std::rc::Rc;

use libloading::Library;
use sampler_chain::Params;

use crate::Failure;
use crate::engines::Engine;
use crate::rows::Rows;

/// `llama_token_data`
#[repr(C)]
struct TokenData {
    id: i32,
    logit: f32,
    p: f32,
}

/// `llama_token_data_array`
#[repr(C)]
struct TokenDataArray {
    data: *mut TokenData,
    size: usize,
    selected: i64,
    sorted: bool,
}

/// `llama_sampler_chain_params`
#[repr(C)]
struct ChainParams {
    no_perf: bool,
}

/// `struct llama_sampler *`
type Raw = *mut c_void;

/// Declares the functions once, and looks all of them up when the library is opened.
macro_rules! api {
    ($($name:ident: fn($($argument:ty),*) $(-> $result:ty)?;)*) => {
        struct Api {
            $($name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
            /// Closing it would leave the functions dangling, so it lives as long as they do.
            _library: Library,
        }

        impl Api {
            fn new(library: Library) -> Result<Self, libloading::Error> {
                // SAFETY: each symbol is a function of llama.h with the signature that stands in the list below, and is
                // kept beside the library that it belongs to.
                unsafe { Ok(Self { $($name: *library.get(stringify!($name).as_bytes())?,)* _library: library }) }
            }
        }
    };
}

api! {
    llama_log_set: fn(extern "C" fn(c_int, *const c_char, *mut c_void), *mut c_void);
    llama_sampler_chain_init: fn(ChainParams) -> Raw;
    llama_sampler_chain_add: fn(Raw, Raw);
    llama_sampler_accept: fn(Raw, i32);
    llama_sampler_apply: fn(Raw, *mut TokenDataArray);
    llama_sampler_name: fn(Raw) -> *const c_char;
    llama_sampler_free: fn(Raw);
    llama_sampler_init_penalties: fn(i32, i32, f32, f32, f32) -> Raw;
    llama_sampler_init_dry: fn(*const c_void, f32, f32, i32, i32, *const *const c_char, usize) -> Raw;
    llama_sampler_init_top_n_sigma: fn(f32) -> Raw;
    llama_sampler_init_top_k: fn(i32) -> Raw;
    llama_sampler_init_typical: fn(f32, usize) -> Raw;
    llama_sampler_init_top_p: fn(f32, usize) -> Raw;
    llama_sampler_init_min_p: fn(f32, usize) -> Raw;
    llama_sampler_init_xtc: fn(f32, f32, usize, u32) -> Raw;
    llama_sampler_init_temp_ext: fn(f32, f32, f32) -> Raw;
    llama_sampler_init_temp: fn(f32) -> Raw;
    llama_sampler_init_dist: fn(u32) -> Raw;
    llama_sampler_init_mirostat: fn(i32, u32, f32, f32, i32) -> Raw;
    llama_sampler_init_mirostat_v2: fn(u32, f32, f32) -> Raw;
}

/// The library, loaded.
#[derive(Clone)]
pub struct Libllama(Rc<Api>);

impl Libllama {
    /// The one that `LLAMA_LIB` names, if it does.
    pub fn from_env() -> Result<Option<Self>, Failure> {
        std::env::var_os("LLAMA_LIB").map(|path| Self::open(&path)).transpose()
    }

    fn open(path: &OsStr) -> Result<Self, Failure> {
        let failed = |error: libloading::Error| format!("LLAMA_LIB={}: {error}", PathBuf::from(path).display());
        // SAFETY: loading runs the library's initialisers; libllama's set up tables and need nothing from us.
        let library = unsafe { Library::new(path) }.map_err(failed)?;
        let api = Api::new(library).map_err(failed)?;
        // SAFETY: `quiet` has llama_log_set's callback type and lives for ever; no data goes with it.
        unsafe { (api.llama_log_set)(quiet, std::ptr::null_mut()) };
        Ok(Self(Rc::new(api)))
    }
}

extern "C" fn quiet(_: c_int, _: *const c_char, _: *mut c_void) {}

/// A chain in libllama, with the memory for its candidates, which llama-server keeps from draw to draw, too.
pub struct Llama {
    api: Libllama,
    chain: Raw,
    memory: Vec<TokenData>,
}

impl Llama {
    pub const NAME: &str = "libllama";

    /// The chain that llama-server builds: `common_sampler_init`, without biases and a grammar, which no chain here has.
    pub fn new(api: &Libllama, params: &Params, rows: &Rows) -> Result<Self, Failure> {
        let n_vocab = i32::try_from(rows.n_vocab)?;
        let min_keep = params.min_keep.max(0) as usize;
        let f = &api.0;
        // SAFETY: the struct is passed by value as llama.h has it.
        let chain = unsafe { (f.llama_sampler_chain_init)(ChainParams { no_perf: true }) };
        let mut llama = Self { api: api.clone(), chain, memory: Vec::with_capacity(rows.n_vocab) };
        let p = params;
        // SAFETY: plain numbers. The vocabulary of DRY may be null where there are no breakers to look for in it: it is
        // read for nothing else, and the list of breakers is null with a length of 0.
        let steps = unsafe {
            match p.mirostat {
                0 => vec![
                    (f.llama_sampler_init_penalties)(
                        n_vocab,
                        p.repeat_last_n,
                        p.repeat_penalty,
                        p.frequency_penalty,
                        p.presence_penalty,
                    ),
                    (f.llama_sampler_init_dry)(
                        std::ptr::null(),
                        p.dry_multiplier,
                        p.dry_base,
                        p.dry_allowed_length,
                        p.dry_penalty_last_n,
                        std::ptr::null(),
                        0,
                    ),
                    (f.llama_sampler_init_top_n_sigma)(p.top_n_sigma),
                    (f.llama_sampler_init_top_k)(p.top_k),
                    (f.llama_sampler_init_typical)(p.typical_p, min_keep),
                    (f.llama_sampler_init_top_p)(p.top_p, min_keep),
                    (f.llama_sampler_init_min_p)(p.min_p, min_keep),
                    (f.llama_sampler_init_xtc)(p.xtc_probability, p.xtc_threshold, min_keep, p.seed),
                    (f.llama_sampler_init_temp_ext)(p.temperature, p.dynatemp_range, p.dynatemp_exponent),
                    (f.llama_sampler_init_dist)(p.seed),
                ],
                1 => vec![
                    (f.llama_sampler_init_temp)(p.temperature),
                    (f.llama_sampler_init_mirostat)(n_vocab, p.seed, p.mirostat_tau, p.mirostat_eta, 100),
                ],
                _ => vec![
                    (f.llama_sampler_init_temp)(p.temperature),
                    (f.llama_sampler_init_mirostat_v2)(p.seed, p.mirostat_tau, p.mirostat_eta),
                ],
            }
        };
        for step in steps {
            // SAFETY: both were made above and are not null; the chain owns the step from here on.
            unsafe { (f.llama_sampler_chain_add)(chain, step) };
        }
        for &token in &rows.prompt {
            llama.accept(token)?;
        }
        Ok(llama)
    }

    fn accept(&mut self, token: u32) -> Result<(), Failure> {
        let token = i32::try_from(token)?;
        // SAFETY: the chain is alive until `drop`, and every token is one of the vocabulary.
        unsafe { (self.api.0.llama_sampler_accept)(self.chain, token) };
        Ok(())
    }

    fn chain_name(&self) -> String {
        // SAFETY: a sampler's name is a C string that lives as long as the sampler.
        unsafe { CStr::from_ptr((self.api.0.llama_sampler_name)(self.chain)) }.to_string_lossy().into_owned()
    }
}

impl Engine for Llama {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn draw(&mut self, _: usize, row: &[f32]) -> Result<Option<u32>, Failure> {
        self.memory.clear();
        self.memory.extend(row.iter().zip(0..).map(|(&logit, id)| TokenData { id, logit, p: 0.0 }));
        let mut array = TokenDataArray { data: self.memory.as_mut_ptr(), size: row.len(), selected: -1, sorted: false };
        // SAFETY: the array points to `size` candidates in memory that nobody else touches during the call.
        unsafe { (self.api.0.llama_sampler_apply)(self.chain, &mut array) };
        let selected = usize::try_from(array.selected).ok().filter(|&i| i < array.size);
        let Some(selected) = selected else { return Err(format!("{} selected nothing", self.chain_name()).into()) };
        // SAFETY: libllama leaves `data` and `size` as candidates inside the memory (XTC moves the start); the index was
        // checked just now.
        let id = unsafe { (*array.data.add(selected)).id };
        let token = u32::try_from(id)?;
        self.accept(token)?;
        Ok(Some(token))
    }
}

impl Drop for Llama {
    fn drop(&mut self) {
        // SAFETY: made by llama_sampler_chain_init and freed once; it frees its steps.
        unsafe { (self.api.0.llama_sampler_free)(self.chain) };
    }
}
