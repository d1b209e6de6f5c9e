//! Bad input gives a typed error and loses nothing; nothing panics, aborts or hangs. Each error's text is asserted here or,
//! for chain files and requests, beside their readers.

use std::path::Path;
use std::sync::Arc;

use safetensors::tensor::{Dtype, TensorView, serialize};
use sampler_chain::steps::{
    AdaptiveP, Dist, Dry, Greedy, LogitBias, MinP, Mirostat, MirostatV2, Penalties, TopK, TopP, TypP,
};
use sampler_chain::{Chain, ChainFile, Ctx, LogitsFile, Params, SampleError, Sampler, VocabFile};

fn write(dir: &Path, name: &str, bytes: &[u8]) -> std::path::PathBuf {
    let path = dir.join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

fn tensor(dtype: Dtype, shape: Vec<usize>, bytes: &[u8]) -> Vec<u8> {
    serialize([("logits", TensorView::new(dtype, shape, bytes).unwrap())], None).unwrap()
}

/// The error of opening these bytes, without the folder.
fn open_error(bytes: &[u8]) -> String {
    let dir = tempfile::tempdir().unwrap();
    let path = write(dir.path(), "rows.safetensors", bytes);
    let error = LogitsFile::open(&path, None).unwrap_err().to_string();
    error.replace(&format!("{}/", dir.path().display()), "")
}

#[test]
fn a_logits_file_that_is_cut() {
    let whole = tensor(Dtype::F32, vec![2, 4], &[0; 32]);
    for cut in [0, 1, 7, 8, 20, whole.len() - 1] {
        let error = open_error(&whole[..cut]);
        assert!(error.starts_with("rows.safetensors: not a safetensors file, or cut short: "), "{error}");
        assert!(error.ends_with(&format!("({cut} bytes)")), "{error}");
    }
}

#[test]
fn a_logits_file_of_another_type_or_shape() {
    let wanted = "and F32 of shape [rows, n_vocab] is wanted";
    assert_eq!(
        open_error(&tensor(Dtype::F16, vec![2, 4], &[0; 16])),
        format!("rows.safetensors: tensor logits is F16 of shape [2, 4], {wanted}")
    );
    assert_eq!(
        open_error(&tensor(Dtype::F32, vec![8], &[0; 32])),
        format!("rows.safetensors: tensor logits is F32 of shape [8], {wanted}")
    );
    assert_eq!(
        open_error(&tensor(Dtype::F32, vec![2, 0], &[])),
        format!("rows.safetensors: tensor logits is F32 of shape [2, 0], {wanted}")
    );
    let error = open_error(b"{\"version\": 1}");
    assert!(error.starts_with("rows.safetensors: not a safetensors file, or cut short: "), "{error}");
}

#[test]
fn tensors_and_rows_that_are_not_there() {
    let dir = tempfile::tempdir().unwrap();
    let path = write(dir.path(), "rows.safetensors", &tensor(Dtype::F32, vec![2, 4], &[0; 32]));
    let error = LogitsFile::open(&path, Some("probs")).unwrap_err().to_string();
    assert!(error.ends_with("rows.safetensors: no tensor probs; there is logits"), "{error}");
    let file = LogitsFile::open(&path, None).unwrap();
    let mut row = Vec::new();
    assert_eq!((file.row(1, &mut row), row.len(), file.row(2, &mut row)), (Some(()), 4, None));
    let error = LogitsFile::open(&dir.path().join("none"), None).unwrap_err().to_string();
    assert!(error.ends_with("none: No such file or directory (os error 2)"), "{error}");
}

#[test]
fn rows_of_another_width() {
    let mut sampler = Sampler::from_chain(Chain::new().with(Greedy {}), Ctx::new(1).with_n_vocab(4)).unwrap();
    let error = sampler.sample(&[1.0; 3]).unwrap_err();
    assert_eq!(error.to_string(), "the row has 3 logits, and the vocabulary 4 tokens");
    let mut sampler = Sampler::from_chain(Chain::new().with(Greedy {}), Ctx::new(1)).unwrap();
    sampler.sample(&[1.0; 3]).unwrap();
    assert_eq!(sampler.sample(&[1.0; 4]), Err(SampleError::RowWidth { found: 4, n_vocab: 3 }));
}

#[test]
fn ids_beyond_the_vocabulary() {
    let refused = |chain: Chain| Sampler::from_chain(chain, Ctx::new(1).with_n_vocab(4)).unwrap_err().to_string();
    let bias = Chain::new().with(LogitBias::new([(4, 1.0)])).with(Dist::default());
    assert_eq!(refused(bias), "step 1 (logit_bias): bias: token 4 is beyond the vocabulary of 4 tokens");
    let dry = Dry::new(0.8, 1.75, 2, 64).with_breaker_tokens([vec![0, 9]]);
    let nested = Chain::new().with(Chain::new().with(dry)).with(Dist::default());
    assert_eq!(refused(nested), "step 1.1 (dry): breaker_tokens: token 9 is beyond the vocabulary of 4 tokens");

    let mut sampler = Sampler::from_chain(Chain::new().with(Dist::default()), Ctx::new(1).with_n_vocab(4)).unwrap();
    assert_eq!(sampler.accept_prompt(4), Err(SampleError::TokenBeyondVocab { token: 4, n_vocab: 4 }));
    // Where the size shows only with the first row, that is when the prompt is checked.
    let mut sampler = Sampler::from_chain(Chain::new().with(Dist::default()), Ctx::new(1)).unwrap();
    sampler.accept_prompt(u32::MAX).unwrap();
    let error = sampler.sample(&[1.0; 4]).unwrap_err().to_string();
    assert_eq!(error, "token 4294967295 is beyond the vocabulary of 4 tokens");
}

/// A bias of +infinity makes a sum of infinities: the error says so, and no token is made up.
#[test]
fn a_chain_that_ends_in_nan() {
    let chain = Chain::new().with(LogitBias::new([(1, f32::INFINITY)])).with(Dist::default());
    let mut sampler = Sampler::from_chain(chain, Ctx::new(1)).unwrap();
    let error = sampler.sample(&[1.0, 2.0, 3.0]).unwrap_err().to_string();
    assert_eq!(error, "the probability of the selected token 2 is not a number: the chain made 3 of its logit");
    let banned =
        Chain::new().with(LogitBias::new([(0, f32::NEG_INFINITY), (1, f32::NEG_INFINITY)])).with(Dist::default());
    let error = Sampler::from_chain(banned, Ctx::new(1)).unwrap().sample(&[1.0, 2.0]).unwrap_err().to_string();
    assert_eq!(error, "the probability of the selected token 1 is not a number: the chain made -inf of its logit");
    let all = LogitBias::new([(0, f32::NEG_INFINITY), (1, f32::NEG_INFINITY)]);
    let mut greedy = Sampler::from_chain(Chain::new().with(all).with(Greedy {}), Ctx::new(1)).unwrap();
    let error = greedy.sample(&[1.0, 2.0]).unwrap_err().to_string();
    assert_eq!(error, "the chain selected token 0, whose logit is -infinity: it left nothing that can be drawn");
}

/// A request's ids beyond the vocabulary are passed over as in llama-server, and reported, with a vocabulary or its size.
#[test]
fn ids_of_a_request_beyond_the_vocabulary() {
    let base = Params { n_vocab: Some(4), ..Params::default() };
    let body = serde_json::json!({"logit_bias": [[3, 1], [4, 1]]});
    let (params, report) = Params::from_request(&body, &base, None).unwrap();
    assert_eq!(params.logit_bias, [(3, 1.0)]);
    let notes: Vec<String> = report.surprises().map(|note| note.to_string()).collect();
    assert_eq!(notes, ["logit_bias: [4,1] is dropped"]);
}

/// Steps that select nothing or drop everything are found by the sampler around them.
#[test]
fn a_step_that_breaks_the_rules() {
    use sampler_chain::steps::typetag;
    use sampler_chain::{CandSet, SamplerStep};

    #[derive(Debug, Clone, Default, serde::Serialize, serde::Deserialize)]
    struct Broken {
        drops: bool,
    }

    #[typetag::serde(name = "test_broken")]
    impl SamplerStep for Broken {
        fn apply(&mut self, cands: &mut CandSet<'_>, _: &mut Ctx) {
            if self.drops {
                cands.truncate(0);
            }
        }

        fn selects(&self) -> bool {
            true
        }
    }

    let draw = |drops| {
        let chain = Chain::new().with(Broken { drops });
        Sampler::from_chain(chain, Ctx::new(1)).unwrap().sample(&[1.0, 2.0]).unwrap_err().to_string()
    };
    assert_eq!(draw(true), "the chain left no candidate");
    assert_eq!(draw(false), "the chain selected none of its 2 candidates");
}

#[test]
fn windows_of_two_billion_take_what_they_use() {
    let dry = Dry::new(0.8, 1.75, 2, i32::MAX).with_breaker_tokens([]);
    let chain = Chain::new().with(Penalties::new(i32::MAX, 1.1, 0.1, 0.1)).with(dry).with(Greedy {});
    let mut sampler = Sampler::from_chain(chain, Ctx::new(1)).unwrap();
    for token in (0..1000).map(|i| i % 3) {
        sampler.accept_prompt(token).unwrap();
    }
    sampler.sample(&[1.0; 4]).unwrap();
    let file =
        "version = 1\n[[steps]]\ntype = \"penalties\"\nlast_n = 2147483647\nrepeat = 1.1\n[[steps]]\ntype = \"dist\"\n";
    ChainFile::parse(file, sampler_chain::Format::Toml, Path::new("x")).unwrap();
}

/// Every selecting step with every truncation before it runs on one candidate, on equal ones and on nearly all masked.
#[test]
fn odd_rows_give_a_token_everywhere() {
    let inf = f32::NEG_INFINITY;
    let rows: [Vec<f32>; 5] = [
        vec![0.5],
        vec![2.0; 300],
        vec![inf, inf, 1.0, inf],
        vec![3.0e38, -3.0e38, 0.0],
        vec![1e-45, -1e-45, 0.0, -0.0],
    ];
    type Make = fn() -> Chain;
    let truncations: [Make; 6] = [
        Chain::new,
        || Chain::new().with(TopK { k: 1000 }),
        || Chain::new().with(TopP { p: 0.0, min_keep: 0 }),
        || Chain::new().with(TopP { p: 0.9, min_keep: 4_000_000_000 }),
        || Chain::new().with(MinP { p: f32::INFINITY, min_keep: 3 }),
        || Chain::new().with(TypP { p: -1.0, min_keep: 0 }),
    ];
    let selectors: [fn(Chain) -> Chain; 5] = [
        |chain| chain.with(Dist::default()),
        |chain| chain.with(Greedy {}),
        |chain| chain.with(Mirostat::new(3.0, 0.1, i32::MIN)),
        |chain| chain.with(MirostatV2::new(-1e30, 1e30)),
        |chain| chain.with(AdaptiveP::new(0.5, 9.0)),
    ];
    for row in &rows {
        for truncation in truncations {
            for selector in selectors {
                let mut sampler = Sampler::from_chain(selector(truncation()), Ctx::new(3)).unwrap();
                for _ in 0..3 {
                    match sampler.sample(row) {
                        Ok(token) => sampler.accept(token).unwrap(),
                        Err(error) => assert!(matches!(error, SampleError::NotANumber { .. }), "{error}"),
                    }
                }
            }
        }
    }
}

#[test]
fn vocabulary_files_that_are_wrong() {
    let dir = tempfile::tempdir().unwrap();
    let error = |text: &str| {
        let path = write(dir.path(), "vocab.json", text.as_bytes());
        VocabFile::read(&path).unwrap_err().to_string().replace(&format!("{}/", dir.path().display()), "")
    };
    assert_eq!(
        error(r#"{"pieces_hex": ["zz"]}"#),
        "vocab.json: pieces_hex: token 0: Invalid character 'z' at position 0"
    );
    assert_eq!(
        error(r#"{"pieces_hex": ["00"], "eog": [1]}"#),
        "vocab.json: token 1 is beyond the vocabulary of 1 tokens"
    );
    assert_eq!(error("{}"), "vocab.json: missing field `pieces_hex` at line 1 column 2");
    let wanted = "expected an object with pieces_hex, eog, eot, eos and encode at line 1 column 1";
    assert_eq!(error("5"), format!("vocab.json: invalid type: integer `5`, {wanted}"));
    assert!(
        error(r#"{"pieces_hex": [], "eogs": []}"#).starts_with("vocab.json: unknown field `eogs`, expected one of")
    );
    let path = write(dir.path(), "vocab.bin.gz", b"no gzip");
    let error = VocabFile::read(&path).unwrap_err().to_string();
    assert_eq!(error, format!("{}: it is not packed with gzip", path.display()));
}

/// A breaker that a vocabulary cannot encode is an error that names the step and the text.
#[test]
fn breakers_that_cannot_be_encoded() {
    let dir = tempfile::tempdir().unwrap();
    let path = write(dir.path(), "vocab.json", br#"{"pieces_hex": ["6162", "0a"], "eog": [], "encode": {"d": [1]}}"#);
    let vocab = Arc::new(VocabFile::read(&path).unwrap());
    let params = |breaker: &str| Params {
        dry_multiplier: 0.8,
        dry_sequence_breakers: vec![breaker.to_string()],
        vocab: Some(vocab.clone()),
        seed: 1,
        ..Params::default()
    };
    Sampler::new(params("bd")).unwrap();
    assert_eq!(
        Sampler::new(params("bc")).unwrap_err().to_string(),
        "step 2 (dry): breakers: the vocabulary cannot encode \"c\": a vocabulary file only knows the texts under its key encode"
    );
}
