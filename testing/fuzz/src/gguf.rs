//! GGUF files: parameters and vocabulary, or a refusal that names the file.

use sampler_chain::{Ctx, DEFAULT_SEED, GgufFile, GgufVocab, Params, Sampler, Vocab, dry_breakers};

use crate::draws::draw_some;
use crate::file::with_file;
use crate::named;

const NAME: &str = "fuzzed.gguf";

pub fn entry(data: &[u8]) {
    with_file(NAME, data, |path| {
        let file = match GgufFile::open(path) {
            Ok(file) => file,
            Err(error) => return named(&error, NAME),
        };
        let mut params = file.params(&Params::default());
        if params.seed == DEFAULT_SEED {
            params.seed = 1;
        }
        match Sampler::new(params.clone()) {
            Ok(sampler) => draw_some(sampler, 2),
            Err(error) => assert!(error.to_string().len() > 8, "{error:?}"),
        }
        match file.vocab() {
            Ok(vocab) => check_vocab(vocab, data.len(), params),
            Err(error) => named(&error, NAME),
        }
    });
}

fn check_vocab(vocab: GgufVocab, n_bytes: usize, params: Params) {
    let n_tokens = vocab.n_tokens();
    assert!(n_tokens <= n_bytes / 8, "{n_tokens} tokens in {n_bytes} bytes");
    let ids = 0..n_tokens as u32;
    let n_shown: usize = ids.clone().map(|id| vocab.piece(id).len() + vocab.lone_piece(id).len()).sum();
    assert!(n_shown <= 16 * n_bytes, "{n_shown} bytes of pieces in {n_bytes}");
    let special = vocab.eot().into_iter().chain(vocab.eos()).chain(vocab.suppressed().iter().copied());
    let eog: Vec<u32> = ids.clone().filter(|&id| vocab.is_eog(id)).collect();
    assert!(special.chain(eog).all(|id| ids.contains(&id)), "a special token is beyond {n_tokens}");
    assert!(vocab.piece(n_tokens as u32).is_empty() && !vocab.is_eog(u32::MAX) && !vocab.is_control(u32::MAX));
    named(&vocab.encode(b"abc").expect_err("it has no encoder"), "abc");

    let vocab: std::sync::Arc<dyn Vocab> = std::sync::Arc::new(vocab.with_encoder(|text| Ok(vec![text.len() as u32])));
    let breakers = dry_breakers(&vocab, &params.dry_sequence_breakers).expect("the encoder knows everything");
    assert!(breakers.pairs().all(|(head, _)| ids.contains(&head)));
    let json = r#"{"version": 1, "seed": 3, "steps": [{"type": "infill"}, {"type": "dist"}]}"#;
    let infill =
        sampler_chain::ChainFile::parse(json, sampler_chain::Format::Json, "infill".as_ref()).expect("it is a chain");
    for sampler in [
        infill.into_sampler(|seed| Ctx::new(seed).with_vocab(vocab.clone())).map_err(|error| error.to_string()),
        Sampler::new(Params { vocab: Some(vocab), dry_multiplier: 0.5, ..params }).map_err(|error| error.to_string()),
    ] {
        match sampler {
            Ok(sampler) if n_tokens > 0 => draw_some(sampler, 2),
            Ok(_) => {}
            Err(error) => assert!(error.len() > 8, "{error}"),
        }
    }
}
