//! The candidates at one moment, and what lies between two.

use sampler_steps::Cand;

use super::Mass;
use super::mass::{Sum, entropy, softmax};

/// No place.
const NOWHERE: u32 = u32::MAX;

/// The candidates at one moment, in their order.
pub struct Moment {
    pub cands: Vec<Cand>,
    pub probs: Option<Vec<f64>>,
    pub entropy: Option<f64>,
    /// The place of each token.
    places: Vec<u32>,
}

impl Moment {
    /// Candidates of a vocabulary of so many tokens.
    pub fn new(cands: Vec<Cand>, n_vocab: usize) -> Self {
        let mut places = vec![NOWHERE; n_vocab];
        for (cand, at) in cands.iter().zip(0..) {
            if let Some(place) = places.get_mut(cand.id as usize) {
                *place = at;
            }
        }
        let probs = softmax(&cands);
        let entropy = probs.as_deref().map(entropy);
        Self { cands, probs, entropy, places }
    }

    /// The same vocabulary with these candidates; None where they are the same in every bit but p.
    pub fn next(&self, cands: &[Cand]) -> Option<Self> {
        let key = |cand: &Cand| (cand.id, cand.logit.to_bits());
        let is_same = self.cands.iter().map(key).eq(cands.iter().map(key));
        (!is_same).then(|| Self::new(cands.to_vec(), self.places.len()))
    }

    pub fn place(&self, id: u32) -> Option<usize> {
        self.places.get(id as usize).filter(|&&place| place != NOWHERE).map(|&place| place as usize)
    }

    pub fn prob_at(&self, at: usize) -> Option<f64> {
        self.probs.as_ref()?.get(at).copied()
    }

    pub fn prob(&self, id: u32) -> Option<f64> {
        self.prob_at(self.place(id)?)
    }

    /// The places of the `n` most likely of those that are wanted, best first; of equals, those that stand first.
    pub fn best(&self, n: usize, wanted: impl Fn(&Cand) -> bool) -> Vec<usize> {
        let is_wanted = |(_, cand): &(usize, &Cand)| wanted(cand);
        let mut places: Vec<usize> = self.cands.iter().enumerate().filter(is_wanted).map(|(at, _)| at).collect();
        // NaN stands behind all numbers.
        let key = |at: usize| match self.cands[at].logit {
            logit if logit.is_nan() => f32::NEG_INFINITY,
            // -0 is no lower than 0.
            logit => logit + 0.0,
        };
        let order = |a: &usize, b: &usize| key(*b).total_cmp(&key(*a)).then(a.cmp(b));
        if n < places.len() {
            places.select_nth_unstable_by(n, order);
            places.truncate(n);
        }
        places.sort_unstable_by(order);
        places
    }
}

/// What lies between two moments. The fields are those of [`Step`](super::Step).
#[derive(Default)]
pub struct Change {
    pub removed: usize,
    pub added: usize,
    pub moved: usize,
    pub changed: usize,
    pub masked: usize,
    pub mass: Option<Mass>,
}

impl Change {
    pub fn between(before: &Moment, after: &Moment) -> Self {
        let mut change = Self::default();
        let [mut removed, mut kept, mut lost, mut gained] = [Sum::default(); 4];
        let prob = |moment: &Moment, at| moment.prob_at(at).unwrap_or_default();
        let is_old = |cand: &&Cand| before.place(cand.id).is_some();
        let mut stayed = after.cands.iter().filter(is_old);
        for (at, old) in before.cands.iter().enumerate() {
            let p = prob(before, at);
            let Some(now) = after.place(old.id) else {
                change.removed += 1;
                removed.add(p);
                continue;
            };
            let (new, q) = (after.cands[now], prob(after, now));
            change.moved += usize::from(stayed.next().is_some_and(|here| here.id != old.id));
            change.changed += usize::from(new.logit.to_bits() != old.logit.to_bits());
            change.masked += usize::from(new.logit == f32::NEG_INFINITY && old.logit != new.logit);
            kept.add(p);
            if q > p { gained.add(q - p) } else { lost.add(p - q) }
        }
        for (at, _) in after.cands.iter().enumerate().filter(|(_, cand)| !is_old(cand)) {
            change.added += 1;
            gained.add(prob(after, at));
        }
        if before.probs.is_some() && after.probs.is_some() {
            let [removed, kept, lost, gained] = [removed, kept, lost, gained].map(Sum::get);
            change.mass = Some(Mass { removed, kept, lost, gained });
        }
        change
    }
}
