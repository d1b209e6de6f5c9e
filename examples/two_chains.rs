//! cargo run --release --example two_chains
//!
//! A model that thinks before it answers, with a chain for each: warm while it thinks, careful in the answer. The engine holds two
//! samplers, draws from the one whose turn it is, and tells both of every token, so that penalties and DRY of the second have
//! seen the thoughts. A token (`</think>`) switches; SmolLM2 has none, so here it is the first full stop. (The rows were recorded
//! with other texts, so these make little sense.)

use std::path::Path;
use std::sync::Arc;

use sampler_chain::steps::{Dist, Greedy, MinP, Penalties, Temperature, Window};
use sampler_chain::{Chain, Ctx, LogitsFile, Sampler, Vocab, VocabFile};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("testing/data");
    let vocab: Arc<dyn Vocab> = Arc::new(VocabFile::read(&data.join("smollm2-vocab.bin.gz"))?);
    let logits = LogitsFile::open(&data.join("smollm2.safetensors"), Some("logits"))?;
    let switch = (0..vocab.n_tokens() as u32).find(|&id| vocab.piece(id) == b".").ok_or("a full stop")?;

    let warm = Chain::new().with(Temperature::new(1.0)).with(MinP { p: 0.05, min_keep: 1 }).with(Dist::default());
    // The thoughts are drawn tokens, too: what they said the answer need not say again.
    let penalties = Penalties::new(256, 1.3, 0.0, 0.0).with_window(Window::Generated);
    let careful = Chain::new().with(penalties).with(Greedy {});

    let ctx = Ctx::new(7).with_vocab(vocab.clone());
    let mut thinker = Sampler::from_chain(warm, ctx.clone())?;
    let mut answerer = Sampler::from_chain(careful, ctx)?;
    for sampler in [&mut thinker, &mut answerer] {
        sampler.accept_prompt_all(&[504, 2342, 26064])?;
    }

    let (mut row, mut thoughts, mut answer) = (Vec::new(), Vec::new(), Vec::new());
    let mut is_thinking = true;
    for i in 0..48 {
        logits.row(i, &mut row).ok_or("a row")?;
        let turn = if is_thinking { &mut thinker } else { &mut answerer };
        let token = turn.sample(&row)?;
        thinker.accept(token)?;
        answerer.accept(token)?;
        let text = if is_thinking { &mut thoughts } else { &mut answer };
        text.extend_from_slice(vocab.piece(token));
        is_thinking &= token != switch;
    }
    println!("thoughts: {:?}", String::from_utf8_lossy(&thoughts));
    println!("answer:   {:?}", String::from_utf8_lossy(&answer));
    assert!(!is_thinking && !answer.is_empty());
    assert_eq!(thinker.ctx().history(), answerer.ctx().history());
    println!("both samplers have seen the same {} tokens", answerer.ctx().history().len());
    Ok(())
}
