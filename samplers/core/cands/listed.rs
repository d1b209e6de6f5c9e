//! Tokens as a step lists them, in any order and more than once, brought into the order of their ids: in linear time, and in memory
//! that is kept.

/// The memory of that.
#[derive(Debug, Clone, Default)]
pub(super) struct Listed {
    /// A bit a token for each of two lists.
    marks: Vec<[u64; 2]>,
    tokens: Vec<(u32, bool)>,
}

/// So many words of marks for each token cost about as much as sorting does.
const MOST_WORDS: usize = 16;

impl Listed {
    /// Every token of two lists, by rising id, each once, and whether the second alone has it.
    pub fn of(&mut self, lists: [&[u32]; 2]) -> &[(u32, bool)] {
        let Self { marks, tokens } = self;
        tokens.clear();
        let n: usize = lists.iter().map(|list| list.len()).sum();
        let last = lists.iter().flat_map(|list| list.iter()).max();
        let n_words = last.map_or(0, |&id| id as usize / 64 + 1);
        let each =
            lists.iter().zip([false, true]).flat_map(|(list, is_second)| list.iter().map(move |&id| (id, is_second)));
        if n_words > n * MOST_WORDS {
            tokens.extend(each);
            tokens.sort_unstable();
            tokens.dedup_by_key(|token| token.0);
            return tokens;
        }
        marks.clear();
        marks.resize(n_words, [0; 2]);
        each.for_each(|(id, is_second)| marks[id as usize / 64][usize::from(is_second)] |= 1 << (id % 64));
        for ([first, second], start) in marks.iter().zip((0..).step_by(64)) {
            let mut left = first | second;
            while left != 0 {
                let bit = left.trailing_zeros();
                left &= left - 1;
                tokens.push((start + bit, first >> bit & 1 == 0));
            }
        }
        tokens
    }

    /// The tokens of one list that another does not have, by rising id, each once.
    pub fn without(&mut self, list: &[u32], spared: &[u32]) -> &[(u32, bool)] {
        self.of([spared, list]);
        self.tokens.retain(|token| token.1);
        &self.tokens
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Few tokens that are far apart are sorted, many are marked: what comes out is what a map has.
    #[test]
    fn each_token_once_in_order() {
        let (mut listed, mut rng) = (Listed::default(), crate::Mt19937::new(9));
        for case in 0..600 {
            let range = [3, 64, 65, 4000, 151_669, u32::MAX][case % 6];
            let mut list = |n: u32| (0..n).map(|_| rng.next_u32() % range).collect::<Vec<u32>>();
            let (first, second) = (list(case as u32 % 7 * 40), list(case as u32 % 5 * 60));
            let mut expected: BTreeMap<u32, bool> = second.iter().map(|&id| (id, true)).collect();
            expected.extend(first.iter().map(|&id| (id, false)));
            assert!(listed.of([&first, &second]).iter().copied().eq(expected.clone()));
            expected.retain(|_, is_second| *is_second);
            assert!(listed.without(&second, &first).iter().copied().eq(expected));
        }
        assert_eq!(listed.of([&[u32::MAX, 0], &[0]]), [(0, false), (u32::MAX, false)]);
    }
}
