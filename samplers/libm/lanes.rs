//! Whole slices at once, compiled for each vector width, and chosen when the program runs.
//!
//! No width changes a bit of what comes out: every operation rounds by itself, fused ones are written as such, and sums are
//! exact or only serve decisions that leave no doubt.

use std::sync::OnceLock;

use fearless_simd::{Level, Simd, dispatch};

use super::expf::expf;
use super::logf::{log2f, logf};

/// Which code runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lanes {
    /// For any processor of the target. Where it has no fused multiply-add, that is computed in software: slow, and the same bits.
    Portable,
    /// For x86-64 with AVX2 and FMA.
    Avx2,
    /// For x86-64 with AVX-512, from Ice Lake on.
    Avx512,
    /// For 64-bit Arm, where it is the portable code, too.
    Neon,
}

impl Lanes {
    /// The code that runs here: the widest that the processor has, or less where the environment variable
    /// `SAMPLER_CHAIN_LANES` asks for it (`portable`, `avx2`, `avx512`).
    pub fn here() -> Self {
        Self::of(level())
    }

    #[inline(always)]
    fn of(level: Level) -> Self {
        match level {
            #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
            Level::Avx512(_) => Self::Avx512,
            #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
            Level::Avx2(_) => Self::Avx2,
            #[cfg(target_arch = "aarch64")]
            Level::Neon(_) => Self::Neon,
            _ => Self::Portable,
        }
    }
}

/// The level that the kernels run with.
fn level() -> Level {
    static LEVEL: OnceLock<Level> = OnceLock::new();
    *LEVEL.get_or_init(|| {
        let widest = Level::new();
        match std::env::var("SAMPLER_CHAIN_LANES").as_deref() {
            Ok("portable") => Level::baseline(),
            #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
            Ok("avx2") => widest.as_avx2().map_or(widest, Level::Avx2),
            _ => widest,
        }
    })
}

/// Work on whole slices.
pub(crate) trait Kernel {
    type Output;

    /// Does it. Marked `#[inline(always)]`, as is all that it calls in its loops: what is not inlined stays portable code.
    fn run<S: Simd>(self, simd: S) -> Self::Output;
}

/// Runs a kernel with the widest vectors that [`Lanes::here`] allows.
pub(crate) fn in_lanes<K: Kernel>(kernel: K) -> K::Output {
    dispatch!(level(), simd => kernel.run(simd))
}

/// A function of each float of a slice.
struct Each<'x, F>(&'x mut [f32], F);

impl<F: Fn(f32) -> f32> Kernel for Each<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        self.0.iter_mut().for_each(|x| *x = (self.1)(*x));
    }
}

/// [`expf`](super::expf) of each.
pub fn exp_each(xs: &mut [f32]) {
    in_lanes(Each(xs, expf));
}

/// [`logf`](super::logf) of each.
pub fn ln_each(xs: &mut [f32]) {
    in_lanes(Each(xs, logf));
}

/// [`log2f`](super::log2f) of each.
pub fn log2_each(xs: &mut [f32]) {
    in_lanes(Each(xs, log2f));
}
