use std::path::Path;

use super::*;

/// The bytes of a header with these values: key, type, bytes.
fn header(version: u32, values: &[(&str, u32, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = b"GGUF".to_vec();
    bytes.extend(version.to_le_bytes());
    bytes.extend(0u64.to_le_bytes());
    bytes.extend((values.len() as u64).to_le_bytes());
    for (key, kind, value) in values {
        bytes.extend(text(key));
        bytes.extend(kind.to_le_bytes());
        bytes.extend(value);
    }
    bytes
}

fn text(text: &str) -> Vec<u8> {
    let mut bytes = (text.len() as u64).to_le_bytes().to_vec();
    bytes.extend(text.as_bytes());
    bytes
}

fn array(kind: u32, n: u64, items: &[u8]) -> Vec<u8> {
    [&kind.to_le_bytes()[..], &n.to_le_bytes(), items].concat()
}

fn texts(items: &[&str]) -> Vec<u8> {
    array(8, items.len() as u64, &items.iter().flat_map(|item| text(item)).collect::<Vec<u8>>())
}

fn open(bytes: &[u8]) -> Result<GgufFile, String> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("model.gguf");
    std::fs::write(&path, bytes).unwrap();
    let strip = |error: GgufError| error.to_string().replace(&format!("{}/", dir.path().display()), "");
    GgufFile::open(&path).map_err(strip)
}

#[test]
fn hostile_files_are_refused_with_the_place() {
    let good = header(3, &[("a.key", 4, 7u32.to_le_bytes().to_vec())]);
    open(&good).unwrap();
    for cut in 0..good.len() {
        let error = open(&good[..cut]).unwrap_err();
        assert!(error.starts_with("model.gguf: byte ") || cut < 4, "{cut}: {error}");
    }
    let huge = |at: usize| {
        let mut bytes = good.clone();
        bytes[at..at + 8].copy_from_slice(&u64::MAX.to_le_bytes());
        open(&bytes).unwrap_err()
    };
    assert_eq!(huge(16), format!("model.gguf: byte {}: a key wants 8 bytes, and the file has 0 more", good.len()));
    assert_eq!(huge(24), "model.gguf: byte 32: a key wants 18446744073709551615 bytes, and the file has 13 more");
    for (bytes, expected) in [
        (b"PK\x03\x04 and more".to_vec(), "model.gguf: byte 0: this is no GGUF file: it does not begin with GGUF"),
        (header(1, &[]), "model.gguf: GGUF version 1; 2 and 3 are read"),
        (header(3u32.swap_bytes(), &[]), "model.gguf: a big-endian GGUF file; only little-endian ones are read"),
        (header(3, &[("a", 13, vec![])]), "model.gguf: byte 33: the type of a is 13, and there are the types 0 to 12"),
        (header(3, &[("a", 9, array(9, 1, &[]))]), "model.gguf: byte 37: a is an array of arrays"),
        (header(3, &[("a", 9, array(12, u64::MAX / 4, &[]))]), "model.gguf: byte 37: a has 4611686018427387903 items"),
        (
            header(3, &[("a", 9, array(8, u64::MAX, &[]))]),
            "model.gguf: byte 49: a wants 8 bytes, and the file has 0 more",
        ),
        (header(3, &[("a", 0, vec![1]), ("a", 0, vec![1])]), "model.gguf: byte 38: the key a is given twice"),
        (
            header(2, &[("split.count", 2, vec![4, 0]), ("split.no", 2, vec![1, 0])]),
            "model.gguf: part 2 of 4 of a split model; the first part has what is read",
        ),
    ] {
        assert_eq!(open(&bytes).unwrap_err(), expected);
    }
    open(&header(3, &[("split.count", 2, vec![4, 0]), ("split.no", 2, vec![0, 0])])).unwrap();
    let error = GgufFile::open(Path::new("no/such.gguf")).unwrap_err().to_string();
    assert_eq!(error, "no/such.gguf: No such file or directory (os error 2)");
}

#[test]
fn vocabularies_that_contradict_themselves_are_refused() {
    let vocab = |more: &[(&str, u32, Vec<u8>)]| {
        let mut values = vec![("tokenizer.ggml.model", 8, text("llama"))];
        values.extend(more.iter().cloned());
        let file = open(&header(3, &values)).unwrap();
        let error = file.vocab().unwrap_err().to_string();
        error.rsplit_once("model.gguf: ").unwrap().1.to_string()
    };
    let tokens = ("tokenizer.ggml.tokens", 9, texts(&["a", "b"]));
    assert_eq!(vocab(&[]), "tokenizer.ggml.tokens: is missing, or no list of texts");
    assert_eq!(
        vocab(&[("tokenizer.ggml.tokens", 9, texts(&["a", "a"]))]),
        "tokenizer.ggml.tokens: token 1, \"a\", is there twice"
    );
    let one_type = ("tokenizer.ggml.token_type", 9, array(5, 1, &[1, 0, 0, 0]));
    assert_eq!(vocab(&[tokens.clone(), one_type]), "tokenizer.ggml.token_type: has 1 types for 2 tokens");
    let wrong = ("tokenizer.ggml.token_type", 8, text("x"));
    assert_eq!(vocab(&[tokens.clone(), wrong]), "tokenizer.ggml.token_type: is no list of 32-bit integers");
    let byte = ("tokenizer.ggml.token_type", 9, array(5, 2, &[6, 0, 0, 0, 1, 0, 0, 0]));
    assert_eq!(vocab(&[tokens, byte]), "tokenizer.ggml.token_type: token 0, \"a\", is no byte token");

    let strange = [("tokenizer.ggml.model", 8, text("gpt2")), ("tokenizer.ggml.pre", 8, text("brand-new"))];
    let error = open(&header(3, &strange)).unwrap().vocab().unwrap_err().to_string();
    assert!(error.ends_with("tokenizer.ggml.pre: the pre-tokenizer brand-new is not known to b11192"), "{error}");
    let other = open(&header(3, &[("tokenizer.ggml.model", 8, text("rwkv"))])).unwrap();
    let error = other.vocab().unwrap_err().to_string();
    assert!(error.ends_with(
        "tokenizer.ggml.model: the tokenizer rwkv is not known; llama, t5, bert, gpt2, whitespace and gemma4 are read"
    ));
    let none = open(&header(3, &[])).unwrap();
    assert!(!none.has_vocab());
    let error = none.vocab().unwrap_err().to_string();
    assert!(error.ends_with("tokenizer.ggml.model: is missing: the file has no vocabulary"));
}

#[test]
fn an_encoder_of_ones_own() {
    use sampler_steps::Vocab;

    let values =
        [("tokenizer.ggml.model", 8, text("gpt2")), ("tokenizer.ggml.tokens", 9, texts(&["a", "Ġb", "<|im_end|>"]))];
    let vocab = open(&header(3, &values)).unwrap().vocab().unwrap();
    assert_eq!((vocab.piece(1), vocab.eot(), vocab.is_eog(2), vocab.is_control(2)), (&b" b"[..], Some(2), true, true));
    let error = vocab.encode(b"ab").unwrap_err().to_string();
    assert!(error.ends_with("a GGUF file's vocabulary has no tokenizer; GgufVocab::with_encoder takes one"), "{error}");
    let vocab = vocab.with_encoder(|text| Ok(text.iter().map(|&byte| byte.into()).collect()));
    assert_eq!(vocab.encode(b"ab").unwrap(), [97, 98]);
}

#[test]
fn params_come_with_their_layer() {
    let values =
        [("general.sampling.temp", 6, 0.3f32.to_le_bytes().to_vec()), ("general.sampling.top_k", 8, text("x"))];
    let params = open(&header(3, &values)).unwrap().params(&Params::default());
    assert_eq!((params.temperature, params.layers.of("temperature")), (0.3, crate::Layer::Gguf));
    assert_eq!((params.top_k, params.layers.of("top_k")), (40, crate::Layer::Default));
}
