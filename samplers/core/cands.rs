//! The candidates of one draw: llama.cpp's `llama_token_data_array`.
//!
//! The verbs stand in rooms of their own: `trim` (what leaves), `spare` (what comes back), `leave` (that one stays), `order` (sorting,
//! llama.cpp's ties included), `walk` (from the best down), `weigh` (softmax and sums), `change` (logits), `pick` (the token). Each
//! has its plain form, over the array, and many a quick one, over the caller's row: `deferred` says how the two belong together,
//! `view`, `survey` and `head` read a row, `terms`, `tally`, `signed` and `parts` sum over it, `listed` puts tokens in order.

mod change;
mod changes;
mod deferred;
mod head;
mod leave;
mod listed;
mod order;
mod parts;
mod pick;
mod row;
mod signed;
mod spare;
mod survey;
mod tally;
mod terms;
mod trim;
#[cfg(any(test, feature = "twin"))]
pub mod twin;
mod view;
mod walk;
mod weigh;

use changes::Changes;
pub use changes::Penalty;
use deferred::{Form, Known};
use row::RowBuf;
use rustc_hash::FxHashMap;
use view::View;

/// Up to this many the head of a set is taken by `std::partial_sort`; more by buckets.
const HEAP_MAX: usize = 128;

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
    lookup: FxHashMap<u32, usize>,
    listed: listed::Listed,
    spare: spare::Spare,
    row: RowBuf,
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
    form: Form,
    known: Known,
    /// Where the candidates begin in the buffer: XTC moves it.
    start: usize,
    len: usize,
    sorted: bool,
    /// Whether every id still equals its place, so that an id can be found without looking.
    in_place: bool,
    selected: Option<usize>,
    is_sound: bool,
}

impl<'a> CandSet<'a> {
    /// The candidates of a row of logits, one a token, unsorted, none selected. Reads the row once.
    pub fn new(logits: &'a [f32], buf: &'a mut CandBuf) -> Self {
        buf.row.clear();
        let len = logits.len();
        let mut set = Self { form: Form::Row, ..Self::array_of(logits, buf, len) };
        set.is_sound = set.survey();
        set
    }

    /// Given candidates in the given order, for tests and for engines that cut the vocabulary themselves. `sorted` says
    /// that their logits fall.
    pub fn from_cands(cands: &[Cand], sorted: bool, buf: &'a mut CandBuf) -> Self {
        buf.cands.clear();
        buf.cands.extend_from_slice(cands);
        let in_place = cands.iter().enumerate().all(|(i, c)| c.id as usize == i);
        Self { sorted, in_place, ..Self::array_of(&[], buf, cands.len()) }
    }

    fn array_of(logits: &'a [f32], buf: &'a mut CandBuf, len: usize) -> Self {
        Self {
            logits,
            buf,
            form: Form::Array,
            known: Known::default(),
            start: 0,
            len,
            sorted: false,
            in_place: true,
            selected: None,
            is_sound: true,
        }
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

    /// Whether the row that this set began with had neither NaN nor +infinity, and something above -infinity.
    pub fn began_sound(&self) -> bool {
        self.is_sound
    }

    /// The place of the selected candidate.
    pub fn selected(&self) -> Option<usize> {
        self.selected
    }

    /// The token of the selected candidate.
    pub fn selected_id(&self) -> Option<u32> {
        let place = self.selected?;
        Some(if self.form == Form::Row { place as u32 } else { self.buf.cands[self.start + place].id })
    }

    /// The candidates in their order, all of them written out. [`first`](Self::first) and [`position`](Self::position) cost less
    /// where a few of a sorted set will do.
    pub fn as_slice(&mut self) -> &[Cand] {
        self.array()
    }

    /// The first `n` candidates, or all. Of a sorted set no more than these need be known.
    pub fn first(&mut self, n: usize) -> &[Cand] {
        let n = n.min(self.len);
        &self.at_least(n)[..n]
    }

    /// The logits in the candidates' order.
    pub fn logits(&mut self) -> impl Iterator<Item = f32> + '_ {
        let nothing = View { logits: &[], changes: Changes::none(), maps: &[], maxima: &[] };
        let is_row = self.form == Form::Row;
        if !is_row {
            self.settle();
        }
        let (view, cands): (View<'_>, &[Cand]) = if is_row { (self.view(), &[]) } else { (nothing, self.cands()) };
        view.iter().chain(cands.iter().map(|c| c.logit))
    }

    /// The candidate at a place.
    pub fn get(&mut self, i: usize) -> Option<Cand> {
        if i >= self.len {
            return None;
        }
        if self.is_row_without_p() {
            return Some(Cand { id: i as u32, logit: self.view().get(i), p: 0.0 });
        }
        Some(self.at_least(i + 1)[i])
    }

    /// At least the first `n` candidates.
    fn at_least(&mut self, n: usize) -> &[Cand] {
        if self.form != Form::Sorted || self.known.p_is_hidden || !self.extend(n) {
            self.settle();
            return self.cands();
        }
        &self.buf.cands[self.start..]
    }

    /// The candidates of a set that is an array already.
    fn cands(&self) -> &[Cand] {
        &self.buf.cands[self.start..self.start + self.len]
    }

    /// The candidates to change, as an array.
    fn array(&mut self) -> &mut [Cand] {
        self.settle();
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
