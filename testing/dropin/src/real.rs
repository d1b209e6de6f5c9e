//! The real llama.cpp in the same process: what a sampler asks of a vocabulary or of a context, and its log.
//!
//! Functions are looked up when they are first wanted: behind this library in the order in which it was loaded, else anywhere. So
//! nothing of llama.cpp is needed to build this library, or to run what does not ask for it.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::OnceLock;

use crate::abi::{Context, Token, Vocab};
use crate::guard::die;

/// The address of a function of the real llama.cpp; none where it is not loaded.
fn find(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: dlsym takes a name, and only looks. RTLD_DEFAULT finds what this library does not export itself.
    let find = |scope| Some(unsafe { libc::dlsym(scope, name.as_ptr()) }).filter(|address| !address.is_null());
    find(libc::RTLD_NEXT).or_else(|| find(libc::RTLD_DEFAULT))
}

macro_rules! functions {
    ($($(#[$meta:meta])* fn $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*) => {
        $(
            $(#[$meta])*
            ///
            /// # Safety
            /// What llama.h says of the function.
            pub unsafe fn $name($($argument: $type),*) $(-> $result)? {
                type Function = unsafe extern "C-unwind" fn($($type),*) $(-> $result)?;
                static FOUND: OnceLock<Function> = OnceLock::new();
                let function = FOUND.get_or_init(|| {
                    let name = CString::new(stringify!($name)).unwrap_or_default();
                    match find(&name) {
                        // SAFETY: a function of that name in libllama has these types, by llama.h of b11192.
                        Some(address) => unsafe { std::mem::transmute::<*mut c_void, Function>(address) },
                        None => die(concat!(stringify!($name), " is wanted, and libllama is not loaded")),
                    }
                });
                // SAFETY: what the caller promises.
                unsafe { function($($argument),*) }
            }
        )*
    };
}

functions! {
    /// How many tokens a vocabulary has.
    fn llama_vocab_n_tokens(vocab: *const Vocab) -> i32;
    /// Whether a token ends generation.
    fn llama_vocab_is_eog(vocab: *const Vocab, token: Token) -> bool;
    /// The end-of-turn token.
    fn llama_vocab_eot(vocab: *const Vocab) -> Token;
    /// The end-of-sequence token.
    fn llama_vocab_eos(vocab: *const Vocab) -> Token;
    /// The bytes of a token inside a text.
    fn llama_token_to_piece(
        vocab: *const Vocab, token: Token, buf: *mut c_char, length: i32, lstrip: i32, special: bool
    ) -> i32;
    /// The bytes of tokens that are a text.
    fn llama_detokenize(
        vocab: *const Vocab, tokens: *const Token, n_tokens: i32, text: *mut c_char, text_len_max: i32,
        remove_special: bool, unparse_special: bool
    ) -> i32;
    /// The tokens of a text.
    fn llama_tokenize(
        vocab: *const Vocab, text: *const c_char, text_len: i32, tokens: *mut Token, n_tokens_max: i32,
        add_special: bool, parse_special: bool
    ) -> i32;
    /// The model of a context.
    fn llama_get_model(ctx: *const Context) -> *const c_void;
    /// The vocabulary of a model.
    fn llama_model_get_vocab(model: *const c_void) -> *const Vocab;
    /// The logits of an output.
    fn llama_get_logits_ith(ctx: *mut Context, i: i32) -> *mut f32;
    /// The token that was sampled in the compute graph.
    fn llama_get_sampled_token_ith(ctx: *mut Context, i: i32) -> Token;
    /// Probabilities from the compute graph.
    fn llama_get_sampled_probs_ith(ctx: *mut Context, i: i32) -> *mut f32;
    /// How many.
    fn llama_get_sampled_probs_count_ith(ctx: *mut Context, i: i32) -> u32;
    /// Logits from the compute graph.
    fn llama_get_sampled_logits_ith(ctx: *mut Context, i: i32) -> *mut f32;
    /// How many.
    fn llama_get_sampled_logits_count_ith(ctx: *mut Context, i: i32) -> u32;
    /// The tokens that these belong to.
    fn llama_get_sampled_candidates_ith(ctx: *mut Context, i: i32) -> *mut Token;
}

/// `ggml_log_level`.
#[derive(Debug, Clone, Copy)]
pub enum Level {
    /// `GGML_LOG_LEVEL_INFO`.
    Info = 2,
    /// `GGML_LOG_LEVEL_WARN`.
    Warn = 3,
}

type Callback = unsafe extern "C-unwind" fn(c_int, *const c_char, *mut c_void);

/// Writes a line to llama.cpp's log, wherever the program has it go, or to stderr without llama.cpp.
pub fn log(level: Level, line: &str) {
    type LogGet = unsafe extern "C-unwind" fn(*mut Option<Callback>, *mut *mut c_void);
    let (mut callback, mut user_data) = (None, std::ptr::null_mut());
    if let Some(address) = find(c"llama_log_get") {
        // SAFETY: llama.h of b11192: it writes the two that it is given the places of.
        unsafe { std::mem::transmute::<*mut c_void, LogGet>(address)(&mut callback, &mut user_data) };
    }
    match (callback, CString::new(line)) {
        // SAFETY: the callback and what belongs to it, as llama.cpp calls it.
        (Some(callback), Ok(line)) => unsafe { callback(level as c_int, line.as_ptr(), user_data) },
        _ => eprint!("{line}"),
    }
}
