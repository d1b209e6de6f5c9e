//! The set that is not written out: a row of logits, and a list of what was asked of it.
//!
//! A verb that has a quick form finds what its caller wants to know from the row, and notes what it has done. As soon as
//! anything else is asked, the array is written out and the list is gone through with the plain verbs, in their order. So the plain
//! form decides what a set is, and a quick one that fails only costs its time.

use super::changes::Changes;
use super::head::{LARGEST_SHARE, Of};
use super::survey::survey;
use super::view::{Map, View};
use super::weigh::exp_below;
use super::{Cand, CandBuf, CandSet};

/// Where the candidates are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Written out in the buffer.
    Array,
    /// In the caller's row, in the order of ids.
    Row,
    /// In the caller's row, sorted by falling logit: the best are written out in the buffer, down to some logit.
    Sorted,
}

/// What was asked of a set that is not written out.
#[derive(Debug, Clone, Copy)]
pub(super) enum Asked {
    Temperature(f32),
    MaskBelow(f32),
    Sort,
    TopK(usize),
    Softmax,
    SoftmaxF64,
    DropFront(usize),
    Select(usize),
    SelectByLogits(f64),
}

/// What every p of a set that is not written out is `expf(logit - max_logit) / sum` of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Softmax {
    pub max_logit: f32,
    pub sum: f32,
}

/// What is known of a set that is not written out.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Known {
    /// None: every p is 0.
    pub softmax: Option<Softmax>,
    /// Whether the p's are others, and nobody has computed them.
    pub p_is_hidden: bool,
    /// What a sorted set was divided by.
    pub temp: Option<f32>,
    /// What the logits that are not written out were below when it was sorted.
    pub cut: f32,
    /// Whether only those of [`others`](CandSet::others) are left besides those that are written out.
    pub is_cut: bool,
    /// Whether p's that were computed now would be others: of fewer candidates, or summed in another order.
    pub softmax_is_stale: bool,
}

/// Smaller rows are written out at once: nothing is won there.
const SMALLEST_ROW: usize = 512;
/// Of a row with a larger logit, quick forms could overflow.
pub(super) const LARGEST_LOGIT: f32 = 1e8;
/// Of a row divided by less, too; and by more, its logits could come down to where floats are coarse.
const TEMPS: std::ops::RangeInclusive<f32> = 1e-3..=1e3;
/// So many maps are deferred: what two quotients are off by is accounted for.
const MOST_MAPS: usize = 2;
/// Fewer are written out where a sorted set is cut.
const FEWEST_CUT: usize = 1024;
/// So many of the best are written out at first, and so many times more each time.
const FIRST: usize = 128;
const MORE: usize = 8;

impl CandSet<'_> {
    /// Looks at a row, which stays in place where the quick forms are made for it. Whether there is neither NaN nor +infinity in
    /// it, and not -infinity alone.
    pub(super) fn survey(&mut self) -> bool {
        let largest = survey(self.logits, &mut self.buf.row.maxima).filter(|&largest| largest > f32::NEG_INFINITY);
        if largest.is_none_or(|largest| largest > LARGEST_LOGIT) || self.len < SMALLEST_ROW {
            self.settle();
        }
        largest.is_some()
    }

    /// The candidates of a set that is not written out, in the order of their ids: of a sorted set as they were when it was
    /// sorted.
    pub(super) fn view(&self) -> View<'_> {
        self.buf.row.view(self.logits, self.known.temp.is_some())
    }

    /// Writes the candidates out, if they are not: whatever was asked is done now.
    pub(super) fn settle(&mut self) {
        if self.form == Form::Array {
            return;
        }
        let CandBuf { cands, row, .. } = &mut *self.buf;
        cands.clear();
        let mut changes = row.changes();
        cands.extend(self.logits.iter().zip(0..).map(|(&logit, id)| Cand {
            id,
            logit: changes.next(id, logit),
            p: 0.0,
        }));
        let asked = std::mem::take(&mut row.asked);
        self.written(0, self.logits.len());
        self.in_place = true;
        self.sorted = false;
        self.selected = None;
        for asked in &asked {
            match *asked {
                Asked::Temperature(temp) => self.temperature(temp),
                Asked::MaskBelow(logit) => self.mask_below(logit),
                Asked::Sort => self.sort(),
                Asked::TopK(k) => self.top_k(k),
                Asked::Softmax => self.softmax(false),
                Asked::SoftmaxF64 => self.softmax_f64(),
                Asked::DropFront(n) => self.drop_front(n),
                Asked::Select(i) => self.select(i),
                Asked::SelectByLogits(u) => self.select_by_logits(u),
            }
        }
        self.buf.row.asked = asked;
        self.buf.row.asked.clear();
    }

    /// Notes what was asked.
    pub(super) fn ask(&mut self, asked: Asked) {
        self.buf.row.asked.push(asked);
    }

    /// Whether nothing has happened to a row but changes of some logits.
    pub(super) fn is_fresh_row(&self) -> bool {
        self.form == Form::Row && self.buf.row.asked.is_empty()
    }

    /// Does something to every logit of a row, later. Whether that is possible.
    pub(super) fn defer_map(&mut self, map: Map) -> bool {
        let fits = match map {
            Map::Divide(temp) => TEMPS.contains(&temp),
            // After a division a nearly known quotient could fall on the wrong side.
            Map::Mask(logit) => self.buf.row.maps.is_empty() && logit <= self.view().max(),
        };
        if !self.is_row_without_p() || !fits || self.buf.row.maps.len() == MOST_MAPS {
            return false;
        }
        self.buf.row.maps.push(map);
        self.ask(match map {
            Map::Divide(temp) => Asked::Temperature(temp),
            Map::Mask(logit) => Asked::MaskBelow(logit),
        });
        true
    }

    /// Divides a sorted set by a temperature, later. Whether that is possible.
    pub(super) fn defer_temperature(&mut self, temp: f32) -> bool {
        if self.form == Form::Row {
            return self.defer_map(Map::Divide(temp));
        }
        let is_full = self.buf.row.maps.len() == MOST_MAPS;
        if self.form != Form::Sorted || self.known.temp.is_some() || is_full || !TEMPS.contains(&temp) {
            return false;
        }
        self.known.temp = Some(temp);
        self.buf.row.maps.push(Map::Divide(temp));
        self.buf.cands.iter_mut().for_each(|cand| cand.logit /= temp);
        self.ask(Asked::Temperature(temp));
        true
    }

    /// Sorts a row, of which only the best are written out, at least `n`. Whether that is possible.
    pub(super) fn defer_sort(&mut self, n: usize) -> bool {
        if self.form != Form::Row || !self.write_head(n.max(FIRST)) {
            return false;
        }
        self.form = Form::Sorted;
        self.known.softmax_is_stale = self.known.softmax.is_some();
        self.start = 0;
        self.ask(Asked::Sort);
        self.reordered(true);
        true
    }

    /// Takes a row's sort back, which was the last that was asked of it.
    pub(super) fn undo_sort(&mut self) {
        self.form = Form::Row;
        self.sorted = false;
        self.in_place = true;
        self.buf.row.asked.pop();
    }

    /// Writes the first `n` of a sorted set out, and perhaps more. Whether that could be done without all others; if
    /// not, all are.
    pub(super) fn extend(&mut self, n: usize) -> bool {
        let n = self.start + n;
        let have = self.buf.cands.len();
        if self.form != Form::Sorted {
            return false;
        }
        if have >= n || self.write_head(n.max((have * MORE).min(self.logits.len() / LARGEST_SHARE))) {
            return true;
        }
        self.settle();
        false
    }

    /// The same for some more than there are. False, too, where all are written out already.
    pub(super) fn extend_much(&mut self) -> bool {
        let have = self.buf.cands.len() - self.start;
        have < self.len && self.extend(have + 1)
    }

    /// Writes the best of a row out, sorted, with their p, and divided as the set was.
    fn write_head(&mut self, n: usize) -> bool {
        let end = self.start + self.len;
        let Self { logits, buf, known, .. } = self;
        let CandBuf { cands, scratch, row, .. } = &mut **buf;
        if !row.view(logits, known.temp.is_some()).head(n, Of::Full, cands, scratch) {
            return false;
        }
        if known.is_cut {
            cands.truncate(end);
        }
        known.cut = cands.last().map_or(f32::INFINITY, |cand| cand.logit);
        known.write(cands);
        true
    }

    /// Writes the `n` best of a row that was sorted last down, as llama.cpp's partial sort leaves them, with their p. Whether that could
    /// be done without all others.
    pub(super) fn best_of_row(&mut self, n: usize, best: &mut Vec<Cand>) -> bool {
        let CandBuf { scratch, row, .. } = &mut *self.buf;
        let is_known = row.view(self.logits, false).head(n, Of::Partial, best, scratch);
        if is_known {
            // Each buffer goes back to its place, so that its size settles.
            std::mem::swap(best, &mut scratch.sorted);
            best.clone_from(&scratch.sorted);
            self.known.write(best);
        }
        is_known
    }

    /// Leaves the `n` best of a row or a sorted set, written out, as an array. Whether that could be done without all others.
    pub(super) fn keep_best(&mut self, n: usize) -> bool {
        match self.form {
            Form::Sorted => {
                if self.known.p_is_hidden || !self.extend(n) {
                    return false;
                }
                self.written(self.start, n);
                self.selected = self.selected.filter(|&i| i < n);
                true
            }
            Form::Row if n < self.len && !self.known.p_is_hidden => {
                let Self { logits, buf, known, .. } = self;
                let CandBuf { cands, scratch, row, .. } = &mut **buf;
                if !row.view(logits, false).head(n, Of::Partial, cands, scratch) {
                    return false;
                }
                known.write(cands);
                self.written(0, n);
                self.reordered(true);
                true
            }
            _ => false,
        }
    }

    /// Whether nothing was done to all of a row's logits.
    pub(super) fn is_row_as_it_came(&self) -> bool {
        self.form == Form::Row && self.buf.row.maps.is_empty()
    }

    /// Whether no p of a row was computed.
    pub(super) fn is_row_without_p(&self) -> bool {
        self.form == Form::Row && self.known.softmax.is_none() && !self.known.p_is_hidden
    }

    /// Whether nothing has happened to a sorted set, but that its p's were computed.
    pub(super) fn is_as_sorted(&self) -> bool {
        self.known.temp.is_none() && !self.known.p_is_hidden && self.start == 0
    }

    /// The candidates of a sorted set that are not written out, and others that are not below [`Known::cut`]: what sums and
    /// weights are taken of.
    pub(super) fn others(&self) -> View<'_> {
        let Self { known, buf, .. } = self;
        let view = self.view();
        if !known.is_cut {
            return view;
        }
        View { logits: &buf.row.others.logits, maxima: &buf.row.others.maxima, changes: Changes::none(), ..view }
    }

    /// The same with what the set was divided by since it was sorted.
    pub(super) fn divided_others(&self) -> View<'_> {
        View { maps: &self.buf.row.maps, ..self.others() }
    }

    /// Keeps the `k` best of a sorted set, more than are written out, without sorting them. Whether that is possible.
    pub(super) fn cut_others(&mut self, k: usize) -> bool {
        let is_long = k >= FEWEST_CUT && k > self.buf.cands.len();
        if self.form != Form::Sorted || !self.is_as_sorted() || self.known.is_cut || !is_long {
            return false;
        }
        let mut others = std::mem::take(&mut self.buf.row.others);
        let mut sample = std::mem::take(&mut self.buf.scratch.sample);
        let view = self.view();
        view.cut_to(k, self.known.cut, &mut others, &mut sample);
        self.buf.row.others = others;
        self.buf.scratch.sample = sample;
        self.len = k;
        self.known.is_cut = true;
        self.known.softmax_is_stale = self.known.softmax.is_some();
        self.selected = self.selected.filter(|&i| i < k);
        self.ask(Asked::TopK(k));
        true
    }

    /// Takes note that the candidates stand in the buffer.
    pub(super) fn written(&mut self, start: usize, len: usize) {
        self.form = Form::Array;
        self.known = Known::default();
        (self.start, self.len) = (start, len);
        let row = &mut self.buf.row;
        row.maps.clear();
        row.asked.clear();
    }
}

impl Known {
    /// Completes candidates that have only their logit.
    pub fn write(&self, cands: &mut [Cand]) {
        if let Some(Softmax { max_logit, sum }) = self.softmax {
            exp_below(max_logit, cands);
            cands.iter_mut().for_each(|cand| cand.p /= sum);
        }
        if let Some(temp) = self.temp {
            cands.iter_mut().for_each(|cand| cand.logit /= temp);
        }
    }
}
