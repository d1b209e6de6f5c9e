//! Cases that compare tables in place of draws: DRY's breakers, and what a GGUF file holds.

use std::path::Path;
use std::sync::Arc;

use sampler_steps::{Vocab, dry_breakers};
use sha2::{Digest, Sha256};

use super::Failure;
use super::case::{Case, ExpectVocab};
use super::replay::check_settings;
use crate::gguf::{GgufFile, GgufVocab};
use crate::params::Params;

/// The pairs of heads and tails that texts make over a vocabulary.
pub fn breakers(case: &Case, texts: &[String], vocab: Arc<dyn Vocab>) -> Result<(), Failure> {
    let expect = &case.expect;
    let table = dry_breakers(&vocab, texts).map_err(|error| error.to_string())?;
    let mut pairs: Vec<(u32, &[u32])> = table.pairs().collect();
    pairs.sort_unstable();
    let mut hash = Sha256::new();
    for (head, tail) in &pairs {
        for number in [*head, tail.len() as u32].iter().chain(*tail) {
            hash.update(number.to_le_bytes());
        }
    }
    if let Some(missing) = expect.some.iter().flatten().find(|(head, tail)| !pairs.contains(&(*head, tail))) {
        return Err(format!("the breaker {missing:?} is missing"));
    }
    let found = (Some(pairs.len()), Some(hex::encode(&hash.finalize()[..8])));
    let expected = (expect.pairs, expect.digest.clone());
    if found == expected { Ok(()) } else { Err(format!("found {found:?} breakers, expected {expected:?}")) }
}

/// The parameters and the vocabulary of a file.
pub fn gguf(case: &Case, path: &Path) -> Result<(), Failure> {
    let file = GgufFile::open(path).map_err(|error| error.to_string())?;
    let expect = &case.expect;
    if expect.settings.is_none() && expect.vocab.is_none() {
        return Err("nothing to compare: neither settings nor a vocabulary".into());
    }
    if let Some(settings) = &expect.settings {
        check_settings(settings, &file.params(&Params::default()))?;
    }
    if let Some(expected) = &expect.vocab {
        check_vocab(&file.vocab().map_err(|error| error.to_string())?, expected)?;
    }
    Ok(())
}

fn check_vocab(vocab: &GgufVocab, expected: &ExpectVocab) -> Result<(), Failure> {
    let ids = || 0..vocab.n_tokens() as u32;
    let found = ExpectVocab {
        pieces_hex: ids().map(|id| hex::encode(vocab.lone_piece(id))).collect(),
        eog: ids().filter(|&id| vocab.is_eog(id)).collect(),
        eot: vocab.eot(),
        eos: vocab.eos(),
        special: ids().filter(|&id| vocab.is_control(id)).collect(),
        suppress: vocab.suppressed().to_vec(),
    };
    if found == *expected {
        return Ok(());
    }
    let pieces = found.pieces_hex.iter().zip(&expected.pieces_hex).enumerate().find(|(_, (a, b))| a != b);
    if let Some((id, (found, expected))) = pieces {
        return Err(format!("vocab: token {id} is {found}, expected {expected}"));
    }
    let short = |vocab: &ExpectVocab| {
        let ExpectVocab { pieces_hex, eog, eot, eos, special, suppress } = vocab;
        let n = pieces_hex.len();
        format!("{n} tokens, eog {eog:?}, eot {eot:?}, eos {eos:?}, special {special:?}, suppress {suppress:?}")
    };
    Err(format!("vocab: {}; expected {}", short(&found), short(expected)))
}
