//! The sequences that end a repetition: a head token with the tails that complete it.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::core::{EncodeError, Vocab};

/// A breaker is cut to so many bytes.
const MAX_BYTES: usize = 40;
/// A tail is cut to so many tokens.
const MAX_TAIL: usize = 20;

/// The tokens after a head; none for a breaker of one token.
type Tail = SmallVec<[u32; 4]>;

/// Breakers as tokens, ready to be searched for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DryBreakers {
    tails: FxHashMap<u32, Vec<Tail>>,
    digest: u64,
}

impl DryBreakers {
    /// Breakers given as tokens, each with its head first; empty ones are left out: `llama_sampler_init_dry_testing`.
    pub fn from_tokens(breakers: &[Vec<u32>]) -> Self {
        let mut table = Self::default();
        for breaker in breakers {
            if let Some((&head, tail)) = breaker.split_first() {
                table.add(head, tail.into());
            }
        }
        table
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.tails.is_empty()
    }

    /// How many pairs of a head and a tail there are.
    pub fn len(&self) -> usize {
        self.tails.values().map(Vec::len).sum()
    }

    /// Whether the token is a breaker by itself.
    pub fn is_single(&self, token: u32) -> bool {
        self.tails.get(&token).is_some_and(|tails| tails.iter().any(|tail| tail.is_empty()))
    }

    /// How far back from its end a repetition in `window` may reach: to the last breaker, whose longest form counts.
    pub fn reach(&self, window: &[u32]) -> usize {
        if self.is_empty() {
            return window.len();
        }
        let last = window.iter().enumerate().rev().find_map(|(at, head)| {
            let after = &window[at + 1..];
            let tails = self.tails.get(head)?;
            let longest = tails.iter().filter(|tail| after.starts_with(tail)).map(|tail| tail.len()).max()?;
            Some(after.len() - longest)
        });
        last.unwrap_or(window.len())
    }

    /// Every head with its tails, in no order.
    pub fn pairs(&self) -> impl Iterator<Item = (u32, &[u32])> {
        self.tails.iter().flat_map(|(&head, tails)| tails.iter().map(move |tail| (head, tail.as_slice())))
    }

    /// A number that is the same for the same breakers everywhere, in whatever order they came, and another one for others.
    pub fn digest(&self) -> u64 {
        self.digest
    }

    /// Adds the breakers of another table.
    pub(super) fn merge(&mut self, other: &Self) {
        for (&head, tails) in &other.tails {
            tails.iter().for_each(|tail| self.add(head, tail.clone()));
        }
    }

    fn add(&mut self, head: u32, tail: Tail) {
        let tails = self.tails.entry(head).or_default();
        if !tails.contains(&tail) {
            self.digest = self.digest.wrapping_add(digest(head, &tail));
            tails.push(tail);
        }
    }
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
}

/// The breakers of one text over a vocabulary, already cut.
pub(super) fn find(vocab: &dyn Vocab, by_byte: &ByByte, text: &[u8]) -> Result<DryBreakers, EncodeError> {
    let mut table = DryBreakers::default();
    let Some((&first, _)) = text.split_first() else { return Ok(table) };
    // The rest after each overlap is encoded once.
    let mut rests: Vec<Option<Tail>> = vec![None; text.len()];
    for &id in &by_byte.0[first as usize] {
        let piece = vocab.lone_piece(id);
        if memchr::memmem::find(&piece, text).is_some() {
            table.add(id, Tail::new());
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
            table.add(id, rest);
        }
    }
    Ok(table)
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
        let mut table = DryBreakers::default();
        for text in texts {
            table.merge(&find(vocab, &ByByte::new(vocab), cut(text.as_ref()))?);
        }
        Ok(table)
    }

    fn tails(table: &DryBreakers, head: u32) -> Vec<Vec<u32>> {
        table.tails.get(&head).into_iter().flatten().map(|tail| tail.to_vec()).collect()
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
