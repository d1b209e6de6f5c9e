//! What is not compared, with the reason, in one place: where b11192 aborts or is undefined, and what this crate
//! refuses on purpose.
//!
//! The generator draws parameters and events freely and drops what is left out here; a draw that runs into such a set
//! ends its case. `docs/divergences.md` says what this crate does there instead.

use libllama::Candidates;
use serde::Serialize;

use crate::step::Step;

/// Why something is not compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// This crate refuses NaN as a parameter when it is prepared.
    NanParameter,
    /// This crate refuses a repetition penalty that is not above 0, or whose inverse is no number, and penalties that
    /// are not finite.
    PenaltyRefused,
    /// b11192 allocates the whole window of penalties and DRY: 16 GB for a window of 2^31 - 1. Windows of up to
    /// [`MAX_WINDOW`] are compared.
    WindowAllocated,
    /// `repeat_exp` of DRY is an `int` minus an `int`, and overflows: undefined.
    DryLengthOverflows,
    /// `size_t(m - 1)` of mirostat overflows an `int`: undefined.
    MirostatOverflows,
    /// A clone of adaptive-p that has drawn starts its generator anew, and reads behind an empty vector when the drawn
    /// token is accepted.
    AdaptiveClone,
    /// Softmax aborts on an empty set (`GGML_ASSERT`), and other samplers read its first candidate.
    EmptySet,
    /// This crate's `Sampler` has refused a row or a token that is not finite, as it does unless told otherwise:
    /// compared up to here.
    NotFinite,
}

/// The largest window that is given to both sides.
pub const MAX_WINDOW: i32 = 1 << 20;

/// Why a step with these parameters is left out.
pub fn parameters(step: &Step) -> Option<Reason> {
    if step.clone().floats().iter().any(|float| float.is_nan()) {
        return Some(Reason::NanParameter);
    }
    match *step {
        _ if step.window().is_some_and(|window| window > MAX_WINDOW) => Some(Reason::WindowAllocated),
        Step::Penalties { repeat, freq, present, .. } => {
            let is_usable = repeat > 0.0 && repeat.is_finite() && repeat.recip().is_finite();
            (!is_usable || !freq.is_finite() || !present.is_finite()).then_some(Reason::PenaltyRefused)
        }
        Step::Dry { allowed_length, .. } | Step::DryTexts { allowed_length, .. } => {
            (allowed_length < i32::MIN + MAX_WINDOW + 1).then_some(Reason::DryLengthOverflows)
        }
        Step::Mirostat { m: i32::MIN, .. } => Some(Reason::MirostatOverflows),
        Step::Chain { ref steps } => steps.iter().find_map(parameters),
        _ => None,
    }
}

/// Why a clone is left out. `has_drawn`: since the samplers were made or reset.
pub fn clone(steps: &[Step], has_drawn: bool) -> Option<Reason> {
    let is_adaptive = |step: &&Step| matches!(step, Step::AdaptiveP { .. });
    (has_drawn && crate::step::leaves(steps).iter().any(is_adaptive)).then_some(Reason::AdaptiveClone)
}

/// Why a step is not applied to these candidates.
pub fn candidates(candidates: &Candidates) -> Option<Reason> {
    candidates.as_slice().is_empty().then_some(Reason::EmptySet)
}

/// What this crate's `selected` must be after a step that selects nothing and that has cut the candidates or put them into
/// another order. libllama's stays the same index there, which is another candidate's by then, or none's: left out. Here a
/// selection stays with its candidate, or is forgotten, and must be one of the two. `was` is the token that was selected, until
/// it is forgotten.
pub fn selection(was: Option<i32>, ours: Option<usize>, theirs: &Candidates) -> i64 {
    let Some(ours) = ours else { return -1 };
    let is_there = theirs.as_slice().get(ours).is_some_and(|candidate| Some(candidate.id) == was);
    if is_there { ours as i64 } else { -1 }
}
