//! The candidates of one draw: llama.cpp's `llama_token_data_array`.
//!
//! The verbs stand in rooms of their own: `trim` (what leaves), `order` (sorting, llama.cpp's ties included), `weigh`
//! (softmax and sums), `change` (logits), `pick` (the token).

mod change;
mod order;
mod pick;
mod trim;
#[cfg(test)]
mod twin;
mod view;
mod weigh;

use view::View;

/// One candidate: `llama_token_data`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(C)]
pub struct Cand {
    /// The token's id.
    pub id: u32,
    /// Its logit, as far as the steps have changed it.
    pub logit: f32,
    /// Its probability: 0 until a step computes it, and then what it was through steps that do not.
    pub p: f32,
}

/// The memory that a [`CandSet`] works in. Kept from draw to draw, it saves its allocations.
#[derive(Debug, Clone, Default)]
pub struct CandBuf {
    cands: Vec<Cand>,
    scratch: order::Scratch,
    sums: Vec<f64>,
    elsewhere: Vec<(u32, f32)>,
    /// The changed logits of a view, by rising id.
    patches: Vec<(u32, f32)>,
}

/// The candidates of one draw, in an order, with llama.cpp's two flags: whether they are known to be `sorted`, and which one
/// is `selected`.
///
/// It starts as a view of the caller's logits, in which a candidate's id is its place, and becomes an array only when a verb
/// needs one. A step says what it wants; this type knows how, and keeps the flags as llama.cpp keeps them.
#[derive(Debug)]
pub struct CandSet<'a> {
    logits: &'a [f32],
    buf: &'a mut CandBuf,
    is_view: bool,
    /// Where the candidates begin in the buffer: XTC moves it.
    start: usize,
    len: usize,
    sorted: bool,
    /// Whether every id still equals its place, so that an id can be found without looking.
    in_place: bool,
    selected: Option<usize>,
}

impl<'a> CandSet<'a> {
    /// The candidates of a row of logits, one a token, unsorted, none selected.
    pub fn new(logits: &'a [f32], buf: &'a mut CandBuf) -> Self {
        buf.patches.clear();
        Self { logits, buf, is_view: true, start: 0, len: logits.len(), sorted: false, in_place: true, selected: None }
    }

    /// Given candidates in the given order, for tests and for engines that cut the vocabulary themselves. `sorted` says
    /// that their logits fall.
    pub fn from_cands(cands: &[Cand], sorted: bool, buf: &'a mut CandBuf) -> Self {
        buf.cands.clear();
        buf.cands.extend_from_slice(cands);
        let in_place = cands.iter().enumerate().all(|(i, c)| c.id as usize == i);
        Self { logits: &[], buf, is_view: false, start: 0, len: cands.len(), sorted, in_place, selected: None }
    }

    /// How many candidates are left.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no candidate is left.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// llama.cpp's `sorted`: a step sorted the candidates by falling logit and none has said otherwise since.
    pub fn is_sorted(&self) -> bool {
        self.sorted
    }

    /// The place of the selected candidate.
    pub fn selected(&self) -> Option<usize> {
        self.selected
    }

    /// The candidates in their order. Makes an array of a view.
    pub fn as_slice(&mut self) -> &[Cand] {
        self.array()
    }

    /// The logits in the candidates' order, without making an array of a view.
    pub fn logits(&self) -> impl Iterator<Item = f32> + Clone + '_ {
        let nothing = View { logits: &[], patches: &[] };
        let (view, cands): (View<'_>, &[Cand]) =
            if self.is_view { (self.view(), &[]) } else { (nothing, self.cands()) };
        view.iter().chain(cands.iter().map(|c| c.logit))
    }

    /// The candidate at a place.
    pub fn get(&self, i: usize) -> Option<Cand> {
        if i >= self.len {
            None
        } else if self.is_view {
            Some(Cand { id: i as u32, logit: self.view().get(i), p: 0.0 })
        } else {
            Some(self.cands()[i])
        }
    }

    /// The candidates of a set that is no array yet.
    fn view(&self) -> View<'_> {
        let patches = &self.buf.patches;
        let n = patches.partition_point(|(id, _)| (*id as usize) < self.len);
        View { logits: &self.logits[..self.len], patches: &patches[..n] }
    }

    /// The candidates of a set that is an array already.
    fn cands(&self) -> &[Cand] {
        &self.buf.cands[self.start..self.start + self.len]
    }

    /// The candidates to change, as an array.
    fn array(&mut self) -> &mut [Cand] {
        if self.is_view {
            let view = &self.logits[..self.len];
            let CandBuf { cands, patches, .. } = &mut *self.buf;
            cands.clear();
            cands.extend(view.iter().zip(0..).map(|(&logit, id)| Cand { id, logit, p: 0.0 }));
            for &(id, logit) in patches.iter() {
                if let Some(cand) = cands.get_mut(id as usize) {
                    cand.logit = logit;
                }
            }
            self.is_view = false;
        }
        &mut self.buf.cands[self.start..self.start + self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_reads_like_its_array() {
        let (logits, mut buf) = ([1.0, -2.0, 0.5], CandBuf::default());
        let mut cands = CandSet::new(&logits, &mut buf);
        assert_eq!((cands.len(), cands.is_sorted(), cands.selected()), (3, false, None));
        assert!(cands.logits().eq(logits));
        let seen: Vec<Cand> = (0..3).filter_map(|i| cands.get(i)).collect();
        assert_eq!(cands.as_slice(), seen);
        assert_eq!(cands.get(3), None);
        assert!(cands.logits().eq(logits));
    }

    #[test]
    fn the_layout_is_that_of_llama_token_data() {
        assert_eq!((size_of::<Cand>(), std::mem::offset_of!(Cand, logit), std::mem::offset_of!(Cand, p)), (12, 4, 8));
    }
}
