//! What came behind a sequence wherever it stood in a text.

/// The search for it, in linear time and in memory that is kept (Knuth, Morris and Pratt's).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Followers {
    /// Of each beginning of the sequence, the length of the longest shorter beginning that it ends with.
    borders: Vec<usize>,
    found: Vec<u32>,
}

impl Followers {
    /// The tokens that follow a copy of `sequence` in `text`, in the text's order, one for each copy; of an empty sequence all.
    pub fn of(&mut self, sequence: &[u32], text: &[u32]) -> &[u32] {
        let Self { borders, found } = self;
        borders.clear();
        found.clear();
        borders.push(0);
        for token in sequence.iter().skip(1) {
            let before = borders[borders.len() - 1];
            borders.push(longer(before, token, sequence, borders));
        }
        let mut n_matched = 0;
        for token in text {
            if n_matched == sequence.len() {
                found.push(*token);
            }
            n_matched = longer(n_matched, token, sequence, borders);
        }
        found
    }
}

/// The longest beginning of the sequence that the text ends with, one token on: `borders` are those of all that may be asked for.
fn longer(mut n_matched: usize, token: &u32, sequence: &[u32], borders: &[usize]) -> usize {
    while n_matched > 0 && sequence.get(n_matched) != Some(token) {
        n_matched = borders[n_matched - 1];
    }
    n_matched + usize::from(sequence.get(n_matched) == Some(token))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The search skips what it knows; this does not.
    #[test]
    fn finds_what_a_plain_search_finds() {
        let (mut rng, mut followers) = (crate::Mt19937::new(6), Followers::default());
        for case in 0..3000 {
            let n_kinds = 2 + case % 3;
            let mut tokens = |n: u32| (0..n).map(|_| rng.next_u32() % n_kinds).collect::<Vec<u32>>();
            let (sequence, text) = (tokens(case % 8), tokens(case % 90));
            let copies = text.windows(sequence.len() + 1).filter(|window| window.starts_with(&sequence));
            let expected: Vec<u32> = copies.map(|window| window[sequence.len()]).collect();
            assert_eq!(followers.of(&sequence, &text), expected, "{sequence:?} {text:?}");
        }
    }
}
