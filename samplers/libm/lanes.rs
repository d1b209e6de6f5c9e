//! The functions over whole slices, compiled for each vector width, and chosen when the program runs.
//!
//! The same code is compiled three times; no width changes a bit, since every operation rounds by itself and fused ones are
//! written as such. This is the only module of the crate with `unsafe`, and all it does there is to call a function that
//! was compiled for a processor which has just been asked for.
#![allow(unsafe_code)]

use std::sync::OnceLock;

use super::expf::expf;
use super::logf::{log2f, logf};

/// Which code runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lanes {
    /// For any processor. Where it has no fused multiply-add, that is computed in software: slow, and the same bits.
    Portable,
    /// For x86-64 with AVX2 and FMA.
    Avx2,
    /// For x86-64 with AVX-512.
    Avx512,
}

impl Lanes {
    /// The code that runs here: the widest that the processor has, or less where the environment variable
    /// `SAMPLER_CHAIN_LANES` asks for it (`portable`, `avx2`, `avx512`).
    pub fn here() -> Self {
        static HERE: OnceLock<Lanes> = OnceLock::new();
        *HERE.get_or_init(|| {
            let widest = Self::widest();
            match std::env::var("SAMPLER_CHAIN_LANES").as_deref() {
                Ok("portable") => Self::Portable,
                Ok("avx2") if widest != Self::Portable => Self::Avx2,
                _ => widest,
            }
        })
    }

    #[cfg(target_arch = "x86_64")]
    fn widest() -> Self {
        let has_avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
        let has_avx512 = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        match (has_avx2, has_avx512) {
            (true, true) => Self::Avx512,
            (true, false) => Self::Avx2,
            (false, _) => Self::Portable,
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn widest() -> Self {
        Self::Portable
    }
}

macro_rules! each {
    ($(#[$doc:meta])* $name:ident, $function:ident) => {
        $(#[$doc])*
        pub fn $name(xs: &mut [f32]) {
            #[inline(always)]
            fn portable(xs: &mut [f32]) {
                xs.iter_mut().for_each(|x| *x = $function(*x));
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn avx2(xs: &mut [f32]) {
                portable(xs);
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx2,fma")]
            fn avx512(xs: &mut [f32]) {
                portable(xs);
            }

            match Lanes::here() {
                Lanes::Portable => portable(xs),
                // SAFETY: `Lanes::here` has asked the processor for AVX2 and FMA.
                #[cfg(target_arch = "x86_64")]
                Lanes::Avx2 => unsafe { avx2(xs) },
                // SAFETY: `Lanes::here` has asked the processor for AVX-512's F, DQ and VL parts, AVX2 and FMA.
                #[cfg(target_arch = "x86_64")]
                Lanes::Avx512 => unsafe { avx512(xs) },
                #[cfg(not(target_arch = "x86_64"))]
                Lanes::Avx2 | Lanes::Avx512 => portable(xs),
            }
        }
    };
}

each! {
    /// [`expf`](super::expf) of each.
    exp_each, expf
}
each! {
    /// [`logf`](super::logf) of each.
    ln_each, logf
}
each! {
    /// [`log2f`](super::log2f) of each.
    log2_each, log2f
}
