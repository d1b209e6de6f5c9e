//! Bits against bits.

use libllama::{Candidates, TokenData};
use sampler_chain::{Cand, CandSet};

/// Where the two sides differ, and in what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Which draw, from 0.
    pub draw: usize,
    /// After which step, or what else.
    pub place: String,
    /// Both sides' values.
    pub what: String,
}

impl Difference {
    pub(super) fn at_start(what: String) -> Self {
        Self { draw: 0, place: "the case".into(), what }
    }
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "draw {}, {}: {}", self.draw, self.place, self.what)
    }
}

/// Equal bits. Of NaN neither C++ nor Rust says which one an operation gives: any is like any.
fn same(a: f32, b: f32) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

/// Something with an id, a logit and a p.
pub trait Candidate: Copy {
    fn parts(self) -> (i64, f32, f32);
}

impl Candidate for Cand {
    fn parts(self) -> (i64, f32, f32) {
        (self.id.into(), self.logit, self.p)
    }
}

impl Candidate for TokenData {
    fn parts(self) -> (i64, f32, f32) {
        (self.id.into(), self.logit, self.p)
    }
}

/// What differs between two lists of candidates.
pub fn sets<C: Candidate>(ours: &[C], theirs: &[TokenData]) -> Option<String> {
    if ours.len() != theirs.len() {
        return Some(format!("{} candidates here, {} in libllama", ours.len(), theirs.len()));
    }
    let at = ours.iter().zip(theirs).position(|(a, b)| {
        let (a, b) = (a.parts(), b.parts());
        a.0 != b.0 || !same(a.1, b.1) || !same(a.2, b.2)
    })?;
    let n = ours.len();
    Some(format!("candidate {at} of {n} is {} here, {} in libllama", words(ours[at]), words(theirs[at])))
}

/// What differs between one candidate and libllama's.
pub fn one(ours: Cand, theirs: TokenData) -> Option<String> {
    sets(&[ours], &[theirs]).map(|what| format!("of the selected one: {what}"))
}

/// What differs between two sets, flags included.
pub fn set(ours: &mut CandSet<'_>, theirs: &Candidates, selected: i64) -> Option<String> {
    sets(ours.as_slice(), theirs.as_slice())
        .or_else(|| flags(ours.is_sorted(), ours.selected(), theirs.sorted, selected))
}

/// What differs between the flags.
pub fn flags(sorted: bool, selected: Option<usize>, sorted_there: bool, expected: i64) -> Option<String> {
    let selected = selected.map_or(-1, |at| at as i64);
    if sorted != sorted_there {
        return Some(format!("sorted is {sorted} here, {sorted_there} in libllama"));
    }
    (selected != expected).then(|| format!("selected is {selected} here, {expected} in libllama"))
}

fn words(candidate: impl Candidate) -> String {
    let (id, logit, p) = candidate.parts();
    format!("token {id}, logit {logit:e} ({:#010x}), p {p:e} ({:#010x})", logit.to_bits(), p.to_bits())
}
