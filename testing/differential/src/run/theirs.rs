//! libllama's side. Each step has a sampler of its own, and the whole chain one more.

use libllama::{Candidates, Sampler, TokenData};

use crate::case::{Case, Row};
use crate::step::{Oracle, Step, leaves};

pub struct Theirs<'c> {
    case: &'c Case,
    steps: Vec<Sampler>,
    /// After the last applied step, all as libllama leaves it.
    pub candidates: Candidates,
    /// The token that was selected last.
    pub was: Option<i32>,
    /// Whether libllama's index is still that token's, because no step has cut the candidates or ordered them anew since.
    pub is_live: bool,
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
        let (mut ends, mut settings) = (vec![None; flat.len()], Vec::new());
        let mut end = 0;
        for (at, step) in case.steps.iter().enumerate() {
            end += leaves(std::slice::from_ref(step)).len();
            settings.resize(end, case.setting(at));
            ends[end - 1] = Some(at);
        }
        Self {
            case,
            steps: flat.into_iter().zip(settings).map(|(step, setting)| oracle.sampler(step, setting)).collect(),
            candidates: Candidates::default(),
            was: None,
            is_live: false,
            whole: oracle.chain(case.steps.iter().enumerate().map(|(at, step)| (step, case.setting(at)))),
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
        self.was = self.candidates.selected().map(|candidate| candidate.id);
        self.is_live = self.was.is_some();
    }

    /// The candidates' ids and whether they are sorted: all that tells whether they were ordered anew. A sort that found
    /// everything in its place is told by the flag.
    fn order(&self) -> (Vec<i32>, bool) {
        let ids = self.candidates.as_slice().iter().map(|candidate| candidate.id).collect();
        (ids, self.candidates.sorted)
    }

    /// The token that an engine would accept: the selected one; the first, where none is, or where the index is another's.
    pub fn drawn(&self) -> Option<i32> {
        let first = || self.candidates.as_slice().first().map(|candidate| candidate.id);
        self.was.filter(|_| self.is_live).or_else(first)
    }

    /// Applies one step. The caller has asked `left_out` about the candidates.
    #[expect(unsafe_code, reason = "C++ is called, which left_out knows")]
    pub fn apply(&mut self, i: usize, step: &Step) {
        let before = self.is_live.then(|| self.order());
        // SAFETY: `left_out` has let the parameters and the candidates through.
        unsafe { self.steps[i].apply(&mut self.candidates) };
        if step.selects() {
            self.was = self.candidates.selected().map(|candidate| candidate.id);
            self.is_live = self.was.is_some();
        } else {
            self.is_live = !step.has_its_own_order() && before.is_some_and(|before| before == self.order());
        }
    }

    /// Keeps the candidates after a step, with what is expected of this crate's `selected`, where its whole chain is looked at.
    pub fn keep(&mut self, i: usize, selected: i64) {
        if let Some(at) = self.ends[i].filter(|&at| at < 64 && self.case.looks >> at & 1 == 1) {
            let mut candidates = self.candidates.clone();
            candidates.selected = selected;
            self.seen.push((at, candidates));
        }
    }

    /// llama.cpp's name of a step of the chain that an applied step ends, if it ends one.
    pub fn ended(&self, i: usize) -> Option<String> {
        let is_chain = |at: usize| matches!(&self.case.steps[at], Step::Chain { .. });
        self.ends[i].map(|at| if is_chain(at) { "chain".into() } else { self.steps[i].name() })
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
