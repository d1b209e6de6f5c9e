//! Vocabulary files, plain and packed.

use std::sync::Arc;

use sampler_chain::{Ctx, Params, Sampler, Vocab, VocabFile, dry_breakers};

use crate::draws::draw_some;
use crate::file::with_file;
use crate::named;

pub fn entry(data: &[u8]) {
    for name in ["fuzzed.json", "fuzzed.bin.gz"] {
        with_file(name, data, |path| match VocabFile::read(path) {
            Ok(vocab) => check(vocab),
            Err(error) => {
                assert_eq!(error.problems.len(), 1);
                named(&error, name);
            }
        });
    }
}

fn check(vocab: VocabFile) {
    let n_tokens = vocab.n_tokens();
    // What a few bytes unpack to may be large.
    if n_tokens > 4096 {
        return crate::too_large();
    }
    let ids = 0..n_tokens as u32;
    let special = vocab.eot().into_iter().chain(vocab.eos());
    assert!(special.chain(ids.clone().filter(|&id| vocab.is_eog(id))).all(|id| ids.contains(&id)));
    assert!(vocab.piece(n_tokens as u32).is_empty() && !vocab.is_eog(u32::MAX) && !vocab.is_control(u32::MAX));
    let vocab: Arc<dyn Vocab> = Arc::new(vocab);
    let texts = ["\n".to_string(), "ab".to_string()];
    match dry_breakers(&vocab, &texts) {
        Ok(breakers) => assert!(breakers.pairs().all(|(head, _)| ids.contains(&head))),
        Err(error) => named(&error, "the vocabulary cannot encode"),
    }
    assert_eq!(Ctx::new(1).with_vocab(vocab.clone()).n_vocab(), Some(n_tokens));
    let params = Params { seed: 5, vocab: Some(vocab), dry_multiplier: 1.0, ..Params::default() };
    match Sampler::new(params) {
        Ok(sampler) if n_tokens > 0 => draw_some(sampler, 2),
        Ok(_) => {}
        Err(error) => assert!(error.to_string().len() > 8, "{error:?}"),
    }
}
