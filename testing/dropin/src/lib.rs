//! The sampler functions of `llama.h` (llama.cpp b11192) over the steps of `sampler-steps`: a shared library that takes
//! llama.cpp's own place, where it comes first in the link order or in `LD_PRELOAD`.
//!
//! Every exported function has the name, the types and the behaviour of its counterpart; README.md lists what differs.
//! What is here:
//!
//! - [`abi`] has the structs of `llama.h`;
//! - [`sampler`] has `llama_sampler_init`, `_name`, `_accept`, `_apply`, `_reset`, `_clone`, `_copy`, `_free`, whoever made the
//!   sampler;
//! - [`init`] has `llama_sampler_init_*`, one a step; [`dry`] has that of DRY, which wants breakers;
//! - [`chain`] has `llama_sampler_chain_*`, `llama_perf_sampler*` and `llama_sampler_get_seed`;
//! - [`sample`] has `llama_sampler_sample`.
//!
//! Behind them: [`step`] is a step as a sampler, without any `unsafe`, [`window`] the tokens that one has of another; `run` applies
//! steps to the caller's array; `real` calls the real llama.cpp in the same process; `calls` counts; `guard` keeps panics on this side.
//!
//! # Unsafe
//! A C interface is pointers. All of them are taken to be what `llama.h` says: NULL where it allows that, else alive, of the right
//! type, and not in use by another thread. Blocks say what they rely on beyond that. A panic ends the process with a message, as
//! llama.cpp's assertions do. Functions that call samplers of others are `extern "C-unwind"`, because C++ exceptions come through
//! them (a grammar throws in `accept`).

pub mod abi;
mod calls;
pub mod chain;
pub mod dry;
mod guard;
pub mod init;
mod real;
mod run;
pub mod sample;
pub mod sampler;
pub mod step;
mod vocab;
pub mod window;
