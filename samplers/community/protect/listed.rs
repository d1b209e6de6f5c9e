//! Which tokens are listed: by their ids, and by what a vocabulary says of them.

use super::Protect;
use crate::core::{Ctx, StepError};

impl Protect {
    /// The same with the vocabulary's end tokens.
    pub fn with_eog(self) -> Self {
        Self { eog: true, ..self }
    }

    /// The same with the tokens of these texts.
    pub fn with_pieces(self, pieces: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { pieces: pieces.into_iter().map(Into::into).collect(), ..self }
    }
}

/// All of them, by rising id.
pub(super) fn listed(tokens: &[u32], eog: bool, pieces: &[String], ctx: &Ctx) -> Result<Vec<u32>, StepError> {
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
