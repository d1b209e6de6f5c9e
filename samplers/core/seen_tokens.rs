//! Which tokens occur in a part of the text, kept from draw to draw.

use std::ops::Range;

/// Each token that occurs in a part of the text once, by rising id, with a count of 1, as [`CandSet::penalise`] takes them.
///
/// [`CandSet::penalise`]: super::CandSet::penalise
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SeenTokens {
    tokens: Vec<(u32, u32)>,
    seen: Range<usize>,
}

/// So many tokens are put at their places one by one; more are sorted.
const FEW: usize = 16;

impl SeenTokens {
    /// The tokens of `text[part]`, cut to the text. What was seen is not read again where the part begins at the same place and has
    /// only grown.
    pub fn of(&mut self, text: &[u32], part: Range<usize>) -> &[(u32, u32)] {
        let end = part.end.min(text.len());
        let start = part.start.min(end);
        if self.seen.start != start || self.seen.end > end {
            self.forget();
            self.seen = start..start;
        }
        let new = &text[self.seen.end..end];
        self.seen.end = end;
        if new.len() > FEW {
            self.tokens.extend(new.iter().map(|&token| (token, 1)));
            self.tokens.sort_unstable();
            self.tokens.dedup();
        } else {
            for &token in new {
                if let Err(at) = self.tokens.binary_search(&(token, 1)) {
                    self.tokens.insert(at, (token, 1));
                }
            }
        }
        &self.tokens
    }

    /// Nothing was seen: for a text that may have become another one.
    pub fn forget(&mut self) {
        self.tokens.clear();
        self.seen = 0..0;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Texts that grow by few and by many, and parts that move.
    #[test]
    fn what_is_kept_is_what_a_set_has() {
        let (mut seen, mut rng, mut text) = (SeenTokens::default(), crate::Mt19937::new(4), Vec::new());
        for _ in 0..600 {
            let n = if rng.next_u32() % 5 == 0 { 40 } else { 2 };
            text.extend((0..n).map(|_| rng.next_u32() % 300));
            let start = if rng.next_u32() % 7 == 0 { rng.next_u32() as usize % (2 * text.len()) } else { 5 };
            let expected: BTreeSet<(u32, u32)> = text.iter().skip(start).map(|&token| (token, 1)).collect();
            assert!(seen.of(&text, start..usize::MAX).iter().eq(&expected), "{start}");
            if rng.next_u32() % 9 == 0 {
                text.truncate(text.len() / 2);
                seen.forget();
            }
        }
        assert_eq!(seen.of(&[3, 1, 3, 2], 1..3), [(1, 1), (3, 1)]);
        assert_eq!(seen.of(&[3, 1, 3, 2], 1..2), [(1, 1)], "a part that has become shorter");
        assert_eq!(seen.of(&[], 1..2), []);
    }
}
