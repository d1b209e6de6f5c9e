//! What is summed over a row: a term for each logit, exactly, and nearly and quickly.

use fearless_simd::{ExtractToken, Select, Simd, SimdBase, f32x16};

use super::deferred::Softmax;
use super::survey::BLOCK;
use super::view::View;
use crate::libm::{OFF, expf, expf_near, logf};

/// What is summed: a term for each logit.
pub(super) trait Terms: Copy {
    /// How far [`near`](Self::near) may be from the term, relative to it. None: they are exact.
    fn off(&self, view: &View<'_>) -> Option<f32>;
    /// Whether the terms are to be added up as f64.
    const WIDE: bool = false;

    /// The terms of logits that are not yet mapped, but for a relative error of up to `off`, and an absolute one of less than 1e-15.
    fn near<S: Simd>(&self, view: &View<'_>, logits: f32x16<S>) -> f32x16<S>;

    /// The term as a loop would have it.
    fn exact(&self, logit: f32) -> f32;

    /// The logit below which a term is less than 1e-17.
    fn negligible(&self) -> f32 {
        f32::NEG_INFINITY
    }

    /// What the loop over a block's logits makes of a sum.
    #[inline(always)]
    fn add(&self, sum: f32, logits: &[f32]) -> f32 {
        let mut exact = [0.0; BLOCK];
        let exact = &mut exact[..logits.len()];
        exact.iter_mut().zip(logits).for_each(|(term, &logit)| *term = self.exact(logit));
        exact.iter().fold(sum, |sum, term| sum + term)
    }
}

/// `expf` of how far a logit is below the maximum.
#[derive(Debug, Clone, Copy)]
pub(super) struct Weights {
    pub max_logit: f32,
}

impl Terms for Weights {
    fn off(&self, view: &View<'_>) -> Option<f32> {
        // One or two quotients are rounded otherwise than divisions round them.
        let quotient = if view.maps.is_empty() { 0.0 } else { (self.max_logit.abs() + 40.0) / 2_097_152.0 };
        Some(OFF + quotient)
    }

    #[inline(always)]
    fn near<S: Simd>(&self, view: &View<'_>, logits: f32x16<S>) -> f32x16<S> {
        expf_near(view.map_near_less(logits, self.max_logit))
    }

    #[inline(always)]
    fn exact(&self, logit: f32) -> f32 {
        expf(logit - self.max_logit)
    }

    fn negligible(&self) -> f32 {
        self.max_logit - 40.0
    }
}

/// Terms that are known from the start, where nearly is not enough: of logits that are not yet mapped.
#[derive(Debug, Clone, Copy)]
pub(super) struct Exactly<T>(pub T);

impl<T: Terms> Terms for Exactly<T> {
    const WIDE: bool = true;

    fn off(&self, _: &View<'_>) -> Option<f32> {
        None
    }

    #[inline(always)]
    fn near<S: Simd>(&self, view: &View<'_>, logits: f32x16<S>) -> f32x16<S> {
        let mut terms = logits.to_array();
        terms.iter_mut().for_each(|term| *term = self.0.exact(view.map(*term)));
        f32x16::load_array(logits.token(), terms)
    }

    #[inline(always)]
    fn exact(&self, logit: f32) -> f32 {
        self.0.exact(logit)
    }

    fn negligible(&self) -> f32 {
        self.0.negligible()
    }
}

/// The entropy's terms: `-(p * logf(p))`, for p of less than a half.
#[derive(Debug, Clone, Copy)]
pub(super) struct Surprises {
    pub softmax: Softmax,
    /// The logarithm of its sum, and its inverse.
    pub ln_sum: f32,
    pub inverse: f32,
    /// Whether a p of 0 counts, and makes the sum NaN.
    pub zero_counts: bool,
}

impl Terms for Surprises {
    // That of the weight, which moves the logarithm of p, of at least ln 2, too; and some roundings.
    fn off(&self, view: &View<'_>) -> Option<f32> {
        Weights { max_logit: self.softmax.max_logit }.off(view).map(|off| 4.0 * off)
    }

    #[inline(always)]
    fn near<S: Simd>(&self, view: &View<'_>, logits: f32x16<S>) -> f32x16<S> {
        let below = view.map_near_less(logits, self.softmax.max_logit);
        let known = below.max(-40.0);
        let terms = expf_near(known) * self.inverse * (-known + self.ln_sum);
        // From -85 on p might be 0.
        if self.zero_counts {
            return below.simd_lt(-85.0).select(f32x16::splat(below.token(), f32::NAN), terms);
        }
        terms
    }

    #[inline(always)]
    fn exact(&self, logit: f32) -> f32 {
        let p = expf(logit - self.softmax.max_logit) / self.softmax.sum;
        if p > 0.0 || self.zero_counts { -(p * logf(p)) } else { 0.0 }
    }
}

/// The squares of how far the logits of a row that was not mapped are from their mean, those of -infinity left out. A loop
/// adds each in f64 to a sum that is an f32.
#[derive(Debug, Clone, Copy)]
pub(super) struct Squares {
    pub mean: f32,
}

impl Terms for Squares {
    fn off(&self, _: &View<'_>) -> Option<f32> {
        // A product is rounded to f32; what a loop rounds twice is off by much less.
        Some(1.0 / 8_388_608.0)
    }

    #[inline(always)]
    fn near<S: Simd>(&self, _: &View<'_>, logits: f32x16<S>) -> f32x16<S> {
        let off = logits - self.mean;
        let zero = f32x16::splat(logits.token(), 0.0);
        logits.simd_gt(f32::NEG_INFINITY).select(off * off, zero)
    }

    #[inline(always)]
    fn exact(&self, logit: f32) -> f32 {
        let off = f64::from(logit - self.mean);
        if logit > f32::NEG_INFINITY { (off * off) as f32 } else { 0.0 }
    }

    #[inline(always)]
    fn add(&self, sum: f32, logits: &[f32]) -> f32 {
        logits.iter().filter(|&&logit| logit > f32::NEG_INFINITY).fold(sum, |sum, logit| {
            let off = f64::from(logit - self.mean);
            (f64::from(sum) + off * off) as f32
        })
    }
}
