//! What becomes of one token.

use sampler_steps::Cand;
use serde::{Deserialize, Serialize};

use super::{Piece, mass};

/// A token's way through the chain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Story {
    /// The token.
    pub id: u32,
    /// Its bytes, where there is a vocabulary.
    pub piece: Option<Piece>,
    /// Where it stood before the first step, and then after each: one more than there are steps. None where it is no
    /// candidate any more.
    pub points: Vec<Option<Point>>,
    /// The step that removed it, by its index in [`Trace::steps`](super::Trace::steps).
    pub removed_by: Option<usize>,
}

/// Where a token stands among the candidates.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Point {
    /// Its logit. In JSON `"inf"`, `"-inf"` and `"nan"` for what is no number there.
    #[serde(with = "mass::logit")]
    pub logit: f32,
    /// 1 and how many candidates have a higher logit, so that equals share a rank. NaN is lower than every number.
    pub rank: usize,
    /// Its probability.
    pub prob: Option<f64>,
}

impl Story {
    pub(super) fn new(id: u32, piece: Option<Piece>) -> Self {
        Self { id, piece, points: Vec::new(), removed_by: None }
    }

    /// Takes note of the candidates of one moment.
    pub(super) fn see(&mut self, cands: &[Cand], probs: Option<&[f64]>, at: Option<usize>) {
        let point = at.and_then(|at| {
            let logit = cands.get(at)?.logit;
            let is_higher = |cand: &&Cand| cand.logit > logit || (logit.is_nan() && !cand.logit.is_nan());
            let rank = 1 + cands.iter().filter(is_higher).count();
            Some(Point { logit, rank, prob: probs.and_then(|probs| probs.get(at).copied()) })
        });
        if point.is_none() && self.removed_by.is_none() {
            // The first point is that before the steps, where every token is there.
            self.removed_by = self.points.len().checked_sub(1);
        }
        self.points.push(point);
    }
}
