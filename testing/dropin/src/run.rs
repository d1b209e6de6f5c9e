//! Steps one after another over the caller's array.
//!
//! The steps of a run share one set of candidates, so that what the first leaves need not be written out for the next.

use sampler_steps::{Cand, CandBuf, CandSet};

use crate::abi::{Sampler, TokenDataArray};
use crate::sampler::{step_of, step_of_mut};
use crate::step::Kind;

/// The memory of a run, kept from draw to draw.
#[derive(Debug, Default)]
pub struct Memory {
    buf: CandBuf,
    row: Vec<f32>,
    input: Vec<Cand>,
}

/// Applies steps of ours to an array, and writes back what they leave: the candidates, where they begin, how many, `sorted` and
/// `selected`. The memory behind them stays as it was.
///
/// # Safety
/// Every sampler is one of [`step_of`]'s, in use by nobody else, and none stands twice. The array's `data` has `size` candidates, and is
/// neither read nor written by others meanwhile.
pub unsafe fn run(steps: &[*mut Sampler], array: &mut TokenDataArray, memory: &mut Memory) {
    // SAFETY: the caller promises that these are steps.
    if steps.iter().all(|&step| unsafe { step_of(step) }.is_none_or(|step| step.is_off())) {
        return;
    }
    let given: &mut [Cand] = if array.size == 0 {
        &mut []
    } else {
        // SAFETY: the caller promises `size` candidates, which nobody else has. A Cand has no invalid bits.
        unsafe { std::slice::from_raw_parts_mut(array.data, array.size) }
    };
    let Memory { buf, row, input } = memory;
    let mut cands = if !array.sorted && !given.is_empty() && read_row(given, row) {
        CandSet::new(row, buf)
    } else {
        input.clear();
        input.extend_from_slice(given);
        CandSet::from_cands(input, array.sorted, buf)
    };
    let (mut selected, mut start) = (array.selected, 0);
    for &step in steps {
        // SAFETY: the caller promises that it is a step, and that nobody else has it.
        let Some(step) = (unsafe { step_of_mut(step) }) else { continue };
        let before = cands.len();
        step.apply(&mut cands, &mut selected);
        if step.kind() == Kind::Xtc {
            start += before - cands.len();
        }
    }
    let sorted = cands.is_sorted();
    let left = cands.as_slice();
    // No step adds candidates: what is left fits behind what XTC dropped.
    given[start..start + left.len()].copy_from_slice(left);
    array.data = array.data.wrapping_add(start);
    array.size = left.len();
    array.selected = selected;
    array.sorted = sorted;
}

/// Copies the logits of candidates that are a whole row: each id is its place, and no p was computed. Whether they are.
fn read_row(cands: &[Cand], row: &mut Vec<f32>) -> bool {
    row.clear();
    row.reserve(cands.len());
    let mut is_row = true;
    row.extend(cands.iter().zip(0..).map(|(cand, place)| {
        is_row &= (cand.id == place) & (cand.p.to_bits() == 0);
        cand.logit
    }));
    is_row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_its_ids_in_place_and_no_p() {
        let cands: Vec<Cand> = (0..3).map(|id| Cand { id, logit: id as f32, p: 0.0 }).collect();
        let mut row = Vec::new();
        assert!(read_row(&cands, &mut row));
        assert_eq!(row, [0.0, 1.0, 2.0]);
        let mut moved = cands.clone();
        moved.swap(0, 2);
        assert!(!read_row(&moved, &mut row));
        for p in [0.5, -0.0, f32::NAN] {
            let mut known = cands.clone();
            known[1].p = p;
            assert!(!read_row(&known, &mut row), "{p}");
        }
    }
}
