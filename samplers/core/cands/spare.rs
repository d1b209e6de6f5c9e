//! What a step must not lose: candidates are looked at before it, and brought back after it.

use super::{Cand, CandSet};

/// The memory of [`CandSet::bring_back`].
#[derive(Debug, Clone, Default)]
pub(super) struct Spare {
    tokens: Vec<u32>,
    now: Vec<Cand>,
    masked: Vec<(u32, f32)>,
    gone: Vec<Cand>,
}

impl CandSet<'_> {
    /// Writes down the candidates of some tokens, which come by rising id, each once.
    pub fn cands_of(&mut self, tokens: &[u32], found: &mut Vec<Cand>) {
        found.clear();
        if tokens.is_empty() {
            return;
        }
        if self.is_row_without_p() {
            let view = self.view();
            let known = tokens.iter().take_while(|id| (**id as usize) < view.logits.len());
            return found.extend(known.map(|&id| Cand { id, logit: view.get(id as usize), p: 0.0 }));
        }
        found.extend(self.as_slice().iter().filter(|cand| tokens.binary_search(&cand.id).is_ok()));
        found.sort_unstable_by_key(|cand| cand.id);
    }

    /// Brings candidates back that were there before, which come by rising id, each once: one that has left stands at the end, as
    /// it was, and one that is at -infinity has its logit again. Marks the set unsorted where it brings one back. A selection
    /// stays with its candidate.
    pub fn bring_back(&mut self, before: &[Cand]) {
        let mut spare = std::mem::take(&mut self.buf.spare);
        let Spare { tokens, now, masked, gone } = &mut spare;
        tokens.clear();
        tokens.extend(before.iter().map(|cand| cand.id));
        self.cands_of(tokens, now);
        masked.clear();
        gone.clear();
        for cand in before {
            match now.binary_search_by_key(&cand.id, |now| now.id) {
                Ok(at) if now[at].logit == f32::NEG_INFINITY => masked.push((cand.id, cand.logit)),
                Ok(_) => {}
                Err(_) => gone.push(*cand),
            }
        }
        if !masked.is_empty() {
            self.update_all(masked, |_, &logit| logit);
        }
        if !gone.is_empty() {
            self.settle();
            self.buf.cands.truncate(self.start + self.len);
            self.buf.cands.extend_from_slice(gone);
            self.len += gone.len();
            self.sorted = false;
            self.in_place = false;
        }
        self.buf.spare = spare;
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Cand, CandBuf, CandSet};

    const NONE: f32 = f32::NEG_INFINITY;

    fn bits(cands: &mut CandSet<'_>) -> Vec<(u32, f32)> {
        cands.as_slice().iter().map(|cand| (cand.id, cand.logit)).collect()
    }

    #[test]
    fn what_left_comes_back_at_the_end() {
        let (mut buf, mut before) = (CandBuf::default(), Vec::new());
        let mut cands = CandSet::new(&[1.0, 4.0, 2.0, 3.0, NONE], &mut buf);
        cands.cands_of(&[0, 1, 2, 9], &mut before);
        assert_eq!(before.iter().map(|cand| cand.id).collect::<Vec<_>>(), [0, 1, 2]);
        cands.top_k(2);
        cands.select(1);
        cands.bring_back(&before);
        assert_eq!(bits(&mut cands), [(1, 4.0), (3, 3.0), (0, 1.0), (2, 2.0)]);
        assert_eq!((cands.is_sorted(), cands.selected_id()), (false, Some(3)));
        cands.sort();
        cands.cands_of(&[3, 4], &mut before);
        assert_eq!(before, [Cand { id: 3, logit: 3.0, p: 0.0 }]);
    }

    #[test]
    fn what_is_masked_has_its_logit_again() {
        let (mut buf, mut before) = (CandBuf::default(), Vec::new());
        let mut cands = CandSet::new(&[1.0, 4.0, 2.0], &mut buf);
        cands.sort();
        cands.cands_of(&[0, 2], &mut before);
        cands.mask_below(2.0);
        assert!(cands.is_sorted());
        cands.bring_back(&before);
        assert_eq!(bits(&mut cands), [(1, 4.0), (2, 2.0), (0, 1.0)]);
        assert!(!cands.is_sorted());
    }

    #[test]
    fn what_stays_is_left_alone() {
        let (mut buf, mut before) = (CandBuf::default(), Vec::new());
        let mut cands = CandSet::new(&[1.0, 4.0, 2.0], &mut buf);
        cands.sort();
        cands.cands_of(&[0, 1, 2], &mut before);
        cands.map_logits_in_order(|logit| logit / 2.0);
        cands.bring_back(&before);
        assert_eq!(bits(&mut cands), [(1, 2.0), (2, 1.0), (0, 0.5)]);
        assert!(cands.is_sorted());
        cands.bring_back(&[]);
        assert!(cands.is_sorted());
    }

    #[test]
    fn an_empty_set_gets_them_all() {
        let (mut buf, mut before) = (CandBuf::default(), Vec::new());
        let mut cands = CandSet::new(&[1.0, 4.0], &mut buf);
        cands.cands_of(&[0, 1], &mut before);
        cands.truncate(0);
        cands.bring_back(&before);
        assert_eq!(bits(&mut cands), [(0, 1.0), (1, 4.0)]);
    }
}
