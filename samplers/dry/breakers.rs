//! The sequences that end a repetition: a head token with the tails that complete it.

use std::ops::Range;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::core::{EncodeError, Vocab};

/// A breaker is cut to so many bytes.
const MAX_BYTES: usize = 40;
/// A tail is cut to so many tokens.
const MAX_TAIL: usize = 20;

/// The tokens after a head; none for a breaker of one token.
pub(super) type Tail = SmallVec<[u32; 4]>;

/// Up to so many tails of a head are compared one by one.
const FEW: usize = 8;

/// Breakers as tokens, ready to be searched for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DryBreakers {
    /// Heads and tails in order, each pair once.
    pairs: Vec<(u32, Tail)>,
    /// Where the pairs of a head are.
    heads: FxHashMap<u32, Range<usize>>,
    digest: u64,
}

/// Of pairs in any order, as often as they come: all at once, so that very many take no square of time.
impl FromIterator<(u32, Tail)> for DryBreakers {
    fn from_iter<I: IntoIterator<Item = (u32, Tail)>>(pairs: I) -> Self {
        let mut pairs: Vec<(u32, Tail)> = pairs.into_iter().collect();
        pairs.sort_unstable();
        pairs.dedup();
        let (mut heads, mut start) = (FxHashMap::default(), 0);
        for same in pairs.chunk_by(|a, b| a.0 == b.0) {
            heads.insert(same[0].0, start..start + same.len());
            start += same.len();
        }
        let digest = pairs.iter().fold(0u64, |sum, (head, tail)| sum.wrapping_add(digest(*head, tail)));
        Self { pairs, heads, digest }
    }
}

impl DryBreakers {
    /// Breakers given as tokens, each with its head first; empty ones are left out: `llama_sampler_init_dry_testing`.
    pub fn from_tokens(breakers: &[Vec<u32>]) -> Self {
        let pairs = breakers.iter().filter_map(|breaker| breaker.split_first());
        pairs.map(|(&head, tail)| (head, tail.into())).collect()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// How many pairs of a head and a tail there are.
    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Whether the token is a breaker by itself.
    pub fn is_single(&self, token: u32) -> bool {
        self.tails(token).first().is_some_and(|(_, tail)| tail.is_empty())
    }

    /// How far back from its end a repetition in `window` may reach: to the last breaker, whose longest form counts.
    pub fn reach(&self, window: &[u32]) -> usize {
        if self.is_empty() {
            return window.len();
        }
        let last = window.iter().enumerate().rev().find_map(|(at, &head)| {
            let after = &window[at + 1..];
            Some(after.len() - longest(self.tails(head), after)?)
        });
        last.unwrap_or(window.len())
    }

    /// Every head with its tails, in no order.
    pub fn pairs(&self) -> impl Iterator<Item = (u32, &[u32])> {
        self.pairs.iter().map(|(head, tail)| (*head, tail.as_slice()))
    }

    /// A number that is the same for the same breakers everywhere, in whatever order they came, and another one for others.
    pub fn digest(&self) -> u64 {
        self.digest
    }

    /// The pairs, to make another table of.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, Tail)> + '_ {
        self.pairs.iter().cloned()
    }

    /// The pairs of a head, in the order of their tails.
    fn tails(&self, head: u32) -> &[(u32, Tail)] {
        self.heads.get(&head).map_or(&[], |range| &self.pairs[range.clone()])
    }
}

/// The length of the longest tail with which these tokens begin.
fn longest(mut tails: &[(u32, Tail)], after: &[u32]) -> Option<usize> {
    let mut longest = None;
    // In order, the tails that begin alike stand together, the shortest of them first.
    for (i, token) in after.iter().enumerate() {
        if tails.len() <= FEW {
            break;
        }
        if tails[0].1.len() == i {
            longest = Some(i);
            tails = &tails[1..];
        }
        let from = tails.partition_point(|(_, tail)| tail[i] < *token);
        let to = from + tails[from..].partition_point(|(_, tail)| tail[i] == *token);
        tails = &tails[from..to];
    }
    let few = tails.iter().filter(|(_, tail)| after.starts_with(tail)).map(|(_, tail)| tail.len()).max();
    few.max(longest)
}

/// FNV-1a over a head and its tail.
fn digest(head: u32, tail: &[u32]) -> u64 {
    let bytes = std::iter::once(head).chain(tail.iter().copied()).flat_map(u32::to_le_bytes);
    bytes.fold(0xcbf2_9ce4_8422_2325, |digest, byte| (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// A breaker's text as llama.cpp takes it: up to a byte of 0, and 40 bytes at most.
pub(super) fn cut(text: &[u8]) -> &[u8] {
    let text = text.split(|&byte| byte == 0).next().unwrap_or(text);
    &text[..text.len().min(MAX_BYTES)]
}

/// The tokens of a vocabulary by the bytes in their pieces, so that a text is only looked for where its first byte is.
#[derive(Debug)]
pub(super) struct ByByte(Vec<Vec<u32>>);

impl ByByte {
    pub fn new(vocab: &dyn Vocab) -> Self {
        let mut tokens = vec![Vec::new(); 256];
        for id in 0..vocab.n_tokens() as u32 {
            for &byte in vocab.lone_piece(id).iter() {
                let tokens: &mut Vec<u32> = &mut tokens[byte as usize];
                if tokens.last() != Some(&id) {
                    tokens.push(id);
                }
            }
        }
        Self(tokens)
    }

    /// The tokens that hold the first byte of a text.
    pub fn with_first_of(&self, text: &[u8]) -> &[u32] {
        text.first().map_or(&[], |&first| &self.0[first as usize])
    }
}

/// The breakers of one text over a vocabulary, already cut.
pub(super) fn find(vocab: &dyn Vocab, by_byte: &ByByte, text: &[u8]) -> Result<DryBreakers, EncodeError> {
    let mut pairs = Vec::new();
    // The rest after each overlap is encoded once.
    let mut rests: Vec<Option<Tail>> = vec![None; text.len()];
    for &id in by_byte.with_first_of(text) {
        let piece = vocab.lone_piece(id);
        if memchr::memmem::find(&piece, text).is_some() {
            pairs.push((id, Tail::new()));
            continue;
        }
        let longest = piece.len().min(text.len() - 1);
        for overlap in (1..=longest).rev().filter(|&n| piece.ends_with(&text[..n])) {
            let rest = match &mut rests[overlap] {
                Some(rest) => rest.clone(),
                unknown => {
                    let mut rest = vocab.encode(&text[overlap..])?;
                    rest.truncate(MAX_TAIL);
                    unknown.insert(rest.into()).clone()
                }
            };
            pairs.push((id, rest));
        }
    }
    Ok(pairs.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Five pieces; a text is encoded a byte a token: the byte's value.
    #[derive(Debug)]
    struct Toy;

    const PIECES: [&str; 5] = ["x\ny", "ab", "aab", "q", ""];

    impl Vocab for Toy {
        fn n_tokens(&self) -> usize {
            PIECES.len()
        }

        fn piece(&self, id: u32) -> &[u8] {
            PIECES[id as usize].as_bytes()
        }

        fn is_eog(&self, _: u32) -> bool {
            false
        }

        fn eot(&self) -> Option<u32> {
            None
        }

        fn eos(&self) -> Option<u32> {
            None
        }

        fn encode(&self, text: &[u8]) -> Result<Vec<u32>, EncodeError> {
            if text.contains(&b'!') {
                return Err(EncodeError { text: "!".into(), why: "no such piece".into() });
            }
            Ok(text.iter().map(|&byte| byte.into()).collect())
        }
    }

    /// Without the cache: the toy vocabularies of these tests are all equal.
    fn dry_breakers(vocab: &Toy, texts: &[impl AsRef<[u8]>]) -> Result<DryBreakers, EncodeError> {
        let found = |text: &[u8]| find(vocab, &ByByte::new(vocab), cut(text));
        let tables: Vec<DryBreakers> = texts.iter().map(|text| found(text.as_ref())).collect::<Result<_, _>>()?;
        Ok(tables.into_iter().flat_map(|table| table.pairs).collect())
    }

    fn tails(table: &DryBreakers, head: u32) -> Vec<Vec<u32>> {
        table.tails(head).iter().map(|(_, tail)| tail.to_vec()).collect()
    }

    #[test]
    fn a_piece_that_contains_the_text_is_one_by_itself() {
        let table = dry_breakers(&Toy, &["\n"]).unwrap();
        assert!(table.is_single(0) && !table.is_single(1));
        assert_eq!(table.len(), 1);
    }

    #[test]
    fn every_overlap_counts() {
        let table = dry_breakers(&Toy, &["abab!".trim_end_matches('!')]).unwrap();
        assert_eq!(tails(&table, 1), [[97, 98]]);
        assert_eq!(tails(&table, 2), [[97, 98]]);
        let table = dry_breakers(&Toy, &["bab"]).unwrap();
        assert_eq!(tails(&table, 2), [[97, 98]]);
    }

    #[test]
    fn a_piece_inside_the_text_is_no_head() {
        assert!(dry_breakers(&Toy, &["zqz"]).unwrap().is_empty());
        assert!(dry_breakers(&Toy, &[""]).unwrap().is_empty());
    }

    #[test]
    fn texts_and_tails_are_cut() {
        let text = format!("q{}", "z".repeat(60));
        assert_eq!(tails(&dry_breakers(&Toy, &[text]).unwrap(), 3), [vec![122; 20]]);
        assert_eq!(tails(&dry_breakers(&Toy, &["qz\0z"]).unwrap(), 3), [[122]]);
    }

    #[test]
    fn what_cannot_be_encoded_is_an_error() {
        let error = dry_breakers(&Toy, &["b!"]).unwrap_err();
        assert_eq!(error.to_string(), "the vocabulary cannot encode \"!\": no such piece");
    }

    #[test]
    fn the_last_breaker_bounds_the_reach() {
        let table = DryBreakers::from_tokens(&[vec![9], vec![7, 8], vec![7, 8, 6], vec![]]);
        assert_eq!(table.reach(&[1, 2, 3]), 3);
        assert_eq!(table.reach(&[1, 9, 3]), 1);
        assert_eq!(table.reach(&[9, 7, 8]), 0);
        assert_eq!(table.reach(&[7, 8, 6, 5]), 1);
        assert_eq!(table.reach(&[9, 8, 7]), 2);
        assert_eq!(table.reach(&[]), 0);
    }

    /// Many tails of a head are searched in their order, and give what comparing each gives.
    #[test]
    fn many_tails_are_as_few() {
        let mut rng = crate::Mt19937::new(8);
        let mut tokens = |n: u32| -> Vec<u32> { (0..rng.next_u32() % n).map(|_| rng.next_u32() % 3).collect() };
        for _ in 0..500 {
            let breakers: Vec<Vec<u32>> = (0..60).map(|_| [vec![7], tokens(6)].concat()).collect();
            let (table, after) = (DryBreakers::from_tokens(&breakers), tokens(8));
            let tails = table.tails(7);
            assert!(tails.len() > FEW);
            let plain = tails.iter().filter(|(_, tail)| after.starts_with(tail)).map(|(_, tail)| tail.len()).max();
            assert_eq!(longest(tails, &after), plain, "{after:?}: {tails:?}");
        }
    }

    /// Tails of one head, of which each was compared with all before it.
    #[test]
    fn many_breakers_of_one_head_take_no_square_of_time() {
        let breakers: Vec<Vec<u32>> = (0..100_000).map(|i| vec![1, i % 1000, i / 1000]).collect();
        let table = DryBreakers::from_tokens(&breakers);
        assert_eq!((table.len(), table.reach(&[1, 5, 7, 1, 1])), (100_000, 2));
        assert_eq!(table.reach(&[[5; 1000], [1; 1000]].concat()), 0);
    }

    #[test]
    fn a_digest_knows_the_pairs_and_not_their_order() {
        let digest = |breakers: &[Vec<u32>]| DryBreakers::from_tokens(breakers).digest();
        let (one, two) = (vec![9, 5], vec![9]);
        assert_eq!(digest(&[one.clone(), two.clone()]), digest(&[two.clone(), one.clone(), one.clone()]));
        let others = [vec![], vec![one.clone()], vec![two.clone()], vec![vec![5, 9]], vec![one, two]];
        let digests: std::collections::BTreeSet<u64> = others.iter().map(|breakers| digest(breakers)).collect();
        assert_eq!(digests.len(), others.len());
    }
}
