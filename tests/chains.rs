//! The ready-made chains load, are saved to the same text, and draw.

use std::path::{Path, PathBuf};

use biggest_gap as _;
use sampler_chain::{ChainFile, Ctx, Format, Params, llama_server_chain};

fn ready_made() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/chains");
    let files = |dir: PathBuf| std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    files(dir.clone()).chain(files(dir.join("community"))).filter(|path| path.is_file()).collect()
}

#[test]
fn every_ready_made_chain_is_saved_to_its_text_and_draws() {
    assert!(ready_made().len() >= 4);
    for path in ready_made() {
        let text = std::fs::read_to_string(&path).unwrap();
        let file = ChainFile::read(&path).unwrap_or_else(|error| panic!("{error}"));
        let without_comments: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        assert!(text.starts_with("# "), "{} says where it comes from", path.display());
        assert_eq!(file.to_text(Format::Toml).unwrap(), without_comments.join("\n") + "\n", "{}", path.display());
        let mut sampler = file.into_sampler(|seed| Ctx::new(seed).with_n_vocab(100)).unwrap();
        let logits: Vec<f32> = (0..100).map(|i| (i % 17) as f32 / 3.0).collect();
        for _ in 0..5 {
            let token = sampler.sample(&logits).unwrap();
            sampler.accept(token).unwrap();
        }
    }
}

#[test]
fn the_ready_made_default_is_what_a_request_builds() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/chains/llama-server.toml");
    let from_file = ChainFile::read(&path).unwrap();
    let built = ChainFile { seed: Some(42), chain: llama_server_chain(&Params::default()).unwrap() };
    // Without a vocabulary the built chain says that there are no breakers; the file leaves them to the vocabulary.
    let built = built.to_text(Format::Toml).unwrap().replace("breaker_tokens = []\n", "");
    assert_eq!(from_file.to_text(Format::Toml).unwrap(), built);
}
