//! libllama's side. Each step has a sampler of its own, and the whole chain one more.

use libllama::{Candidates, Sampler, TokenData};

use crate::case::{Case, Row};
use crate::step::{Oracle, leaves};

pub struct Theirs<'c> {
    case: &'c Case,
    steps: Vec<Sampler>,
    /// After the last applied step.
    pub candidates: Candidates,
    whole: Sampler,
    /// After the whole chain.
    pub whole_candidates: Candidates,
    /// After those steps of the chain at which this crate's whole chain is looked at.
    pub seen: Vec<(usize, Candidates)>,
    /// The step of the chain that each applied step ends, if it ends one.
    ends: Vec<Option<usize>>,
}

impl<'c> Theirs<'c> {
    pub fn new(oracle: &Oracle, case: &'c Case) -> Self {
        let flat = leaves(&case.steps);
        let mut ends = vec![None; flat.len()];
        let mut end = 0;
        for (at, step) in case.steps.iter().enumerate() {
            end += leaves(std::slice::from_ref(step)).len();
            ends[end - 1] = Some(at);
        }
        Self {
            case,
            steps: flat.into_iter().map(|step| oracle.sampler(step, case.seed, case.n_vocab)).collect(),
            candidates: Candidates::default(),
            whole: oracle.chain(&case.steps, case.seed, case.n_vocab),
            whole_candidates: Candidates::default(),
            seen: Vec::new(),
            ends,
        }
    }

    fn fill(case: &Case, row: &Row, candidates: &mut Candidates) {
        let Some(start) = &case.start else { return candidates.fill_with_row(&row.logits) };
        let (ids, sorted) = start.ordered(row);
        let cands = ids.iter().map(|&id| TokenData { id: id as i32, logit: row.logits[id as usize], p: start.p });
        candidates.fill(cands);
        candidates.sorted = sorted;
        candidates.selected = start.selected.map_or(-1, |at| at as i64);
    }

    /// Begins a draw.
    pub fn begin(&mut self, row: &Row) {
        Self::fill(self.case, row, &mut self.candidates);
        Self::fill(self.case, row, &mut self.whole_candidates);
        self.seen.clear();
    }

    /// Applies one step. The caller has asked `left_out` about the candidates.
    #[expect(unsafe_code, reason = "C++ is called, which left_out knows")]
    pub fn apply(&mut self, i: usize) {
        // SAFETY: `left_out` has let the parameters and the candidates through.
        unsafe { self.steps[i].apply(&mut self.candidates) };
    }

    /// Keeps the candidates after a step, where this crate's whole chain is looked at there.
    pub fn keep(&mut self, i: usize) {
        if let Some(at) = self.ends[i].filter(|&at| at < 64 && self.case.looks >> at & 1 == 1) {
            self.seen.push((at, self.candidates.clone()));
        }
    }

    /// Applies the whole chain, after its steps were applied one by one.
    #[expect(unsafe_code, reason = "C++ is called, which left_out knows")]
    pub fn apply_whole(&mut self) {
        // SAFETY: the same steps were applied to the same candidates just now.
        unsafe { self.whole.apply(&mut self.whole_candidates) };
    }

    /// What a clone of the whole chain makes of a row; the chain itself stays as it is.
    #[expect(unsafe_code, reason = "C++ is called, which left_out knows")]
    pub fn clone_aside(&self, row: &Row) -> Candidates {
        let (mut clone, mut candidates) = (self.whole.clone(), Candidates::default());
        Self::fill(self.case, row, &mut candidates);
        // SAFETY: the candidates are not empty, and no step empties a set.
        unsafe { clone.apply(&mut candidates) };
        candidates
    }

    pub fn accept(&mut self, token: u32) {
        self.steps.iter_mut().chain([&mut self.whole]).for_each(|sampler| sampler.accept(token as i32));
    }

    pub fn reset(&mut self) {
        self.steps.iter_mut().chain([&mut self.whole]).for_each(Sampler::reset);
    }

    /// Puts a clone in the place of every sampler, and frees the originals.
    pub fn go_on_as_clone(&mut self) {
        for sampler in self.steps.iter_mut().chain([&mut self.whole]) {
            *sampler = sampler.clone();
        }
    }

    pub fn seed(&self) -> u32 {
        self.whole.seed()
    }
}
