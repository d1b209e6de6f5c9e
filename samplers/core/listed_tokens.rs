//! Tokens that a step lists: by their ids, and by what a vocabulary says of them.

use super::{Ctx, StepError};

/// The tokens of these ids, with those that end a text where `eog` says so, and every one whose piece is one of `pieces`: by
/// rising id, each once. The names of the fields are those of the step: `tokens`, `eog`, `pieces`.
///
/// # Errors
/// An id beyond the vocabulary; ends or pieces without a vocabulary; a piece that no token has.
pub fn listed_tokens(tokens: &[u32], eog: bool, pieces: &[String], ctx: &Ctx) -> Result<Vec<u32>, StepError> {
    StepError::refuse_beyond("tokens", tokens, ctx)?;
    let mut listed = tokens.to_vec();
    if eog || !pieces.is_empty() {
        let field = if eog { "eog" } else { "pieces" };
        let needed = StepError::NeedsVocab { field, instead: "tokens takes their ids" };
        let vocab = ctx.vocab().ok_or(needed)?;
        let ids = || 0..vocab.n_tokens() as u32;
        listed.extend(ids().filter(|&id| eog && vocab.is_eog(id)));
        for piece in pieces {
            let n_listed = listed.len();
            listed.extend(ids().filter(|&id| vocab.piece(id) == piece.as_bytes()));
            let is_known = listed.len() > n_listed;
            StepError::refuse_unless(is_known, "pieces", format!("{piece:?}"), "no token is this text")?;
        }
    }
    listed.sort_unstable();
    listed.dedup();
    Ok(listed)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::testing::Words;

    #[test]
    fn ids_ends_and_pieces_are_listed_once() {
        let words = ["a", "</s>", "\n", "b", "\n"].map(String::from).to_vec();
        let ctx = Ctx::new(1).with_vocab(Arc::new(Words(words)));
        let listed = |tokens: &[u32], eog, pieces: &[&str]| {
            let pieces: Vec<String> = pieces.iter().map(ToString::to_string).collect();
            listed_tokens(tokens, eog, &pieces, &ctx).map_err(|error| error.to_string())
        };
        assert_eq!(listed(&[3, 2, 3], false, &[]), Ok(vec![2, 3]));
        assert_eq!(listed(&[3, 1], true, &["\n", "b"]), Ok(vec![1, 2, 3, 4]));
        assert_eq!(listed(&[], false, &["\t"]), Err("pieces: \"\\t\" is refused: no token is this text".into()));
        assert_eq!(listed(&[5], false, &[]), Err("tokens: token 5 is beyond the vocabulary of 5 tokens".into()));
    }

    #[test]
    fn only_ids_do_without_a_vocabulary() {
        let without =
            |eog, pieces: &[String]| listed_tokens(&[7], eog, pieces, &Ctx::new(1)).map_err(|error| error.to_string());
        assert_eq!(without(false, &[]), Ok(vec![7]));
        let needs = |field| Err(format!("{field}: needs a vocabulary, and there is none: tokens takes their ids"));
        assert_eq!(without(true, &[]), needs("eog"));
        assert_eq!(without(false, &["a".into()]), needs("pieces"));
    }
}
