//! Counts the calls of each exported function, so that whoever preloads this library can see that it is in use.
//!
//! `SAMPLER_CHAIN_DROPIN_LOG=FILE` has the counts written to a file, as JSON, when the process ends.

use std::ffi::OsString;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Where the counts go.
const LOG: &str = "SAMPLER_CHAIN_DROPIN_LOG";

macro_rules! calls {
    ($($call:ident $name:literal)*) => {
        /// An exported function.
        #[derive(Debug, Clone, Copy)]
        pub enum Call { $($call),* }

        const NAMES: &[&str] = &[$($name),*];
    };
}

calls! {
    Init "llama_sampler_init"
    Name "llama_sampler_name"
    Accept "llama_sampler_accept"
    Apply "llama_sampler_apply"
    Reset "llama_sampler_reset"
    Clone "llama_sampler_clone"
    Copy "llama_sampler_copy"
    Free "llama_sampler_free"
    ChainDefaultParams "llama_sampler_chain_default_params"
    ChainInit "llama_sampler_chain_init"
    ChainAdd "llama_sampler_chain_add"
    ChainGet "llama_sampler_chain_get"
    ChainN "llama_sampler_chain_n"
    ChainRemove "llama_sampler_chain_remove"
    Greedy "llama_sampler_init_greedy"
    Dist "llama_sampler_init_dist"
    TopK "llama_sampler_init_top_k"
    TopP "llama_sampler_init_top_p"
    MinP "llama_sampler_init_min_p"
    Typical "llama_sampler_init_typical"
    Temp "llama_sampler_init_temp"
    TempExt "llama_sampler_init_temp_ext"
    Xtc "llama_sampler_init_xtc"
    TopNSigma "llama_sampler_init_top_n_sigma"
    Mirostat "llama_sampler_init_mirostat"
    MirostatV2 "llama_sampler_init_mirostat_v2"
    Penalties "llama_sampler_init_penalties"
    Dry "llama_sampler_init_dry"
    DryTesting "llama_sampler_init_dry_testing"
    AdaptiveP "llama_sampler_init_adaptive_p"
    LogitBias "llama_sampler_init_logit_bias"
    Infill "llama_sampler_init_infill"
    GetSeed "llama_sampler_get_seed"
    Sample "llama_sampler_sample"
    Perf "llama_perf_sampler"
    PerfPrint "llama_perf_sampler_print"
    PerfReset "llama_perf_sampler_reset"
}

static COUNTS: [AtomicU64; NAMES.len()] = [const { AtomicU64::new(0) }; NAMES.len()];

/// Counts a call.
pub fn count(call: Call) {
    static FILE: OnceLock<Option<OsString>> = OnceLock::new();
    let file = FILE.get_or_init(|| {
        let file = std::env::var_os(LOG).filter(|file| !file.is_empty());
        if file.is_some() {
            // SAFETY: `write` is a plain function that stays where it is: this library is never unloaded before the process
            // ends, or the C library runs it then.
            unsafe { libc::atexit(write) };
        }
        file
    });
    if file.is_some() {
        COUNTS[call as usize].fetch_add(1, Ordering::Relaxed);
    }
}

extern "C" fn write() {
    let Some(file) = std::env::var_os(LOG) else { return };
    let called = NAMES.iter().zip(&COUNTS).map(|(name, count)| (name, count.load(Ordering::Relaxed)));
    let lines: Vec<String> =
        called.filter(|(_, count)| *count > 0).map(|(name, count)| format!("  \"{name}\": {count}")).collect();
    if let Err(error) = std::fs::write(&file, format!("{{\n{}\n}}\n", lines.join(",\n"))) {
        eprintln!("sampler-chain-dropin: {}: {error}", file.display());
    }
}
