//! cargo run --example chain_in_rust
//!
//! A chain built in Rust: an order of one's own, a step twice, the candidates after a draw, and a clone that draws the same.

use sampler_chain::steps::{Dist, MinP, Penalties, Temperature, TopK};
use sampler_chain::{Chain, ChainFile, Ctx, Format, Sampler};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let chain = Chain::new()
        .with(Penalties::new(64, 1.1, 0.0, 0.0))
        .with(TopK { k: 100 })
        .with(Temperature::new(1.3))
        .with(MinP { p: 0.1, min_keep: 1 })
        .with(TopK { k: 5 })
        .with(Dist::default());
    let file = ChainFile { seed: Some(42), chain: chain.clone() };
    println!("as a chain file:\n\n{}", file.to_text(Format::Toml)?);

    // Logits of a model with 1,000 tokens; for the example, a few peaks in another place at each draw.
    let row = |t: usize| -> Vec<f32> {
        (0..1000).map(|i| ((i * 7919 + t * 104_729) % 1009) as f32 / 1009.0).map(|x| 12.0 * x.powi(200)).collect()
    };

    let mut sampler = Sampler::from_chain(chain, Ctx::new(42).with_n_vocab(1000))?;
    sampler.accept_prompt(17)?;
    for t in 0..3 {
        let logits = row(t);
        let mut draw = sampler.draw(&logits)?;
        let token = draw.token();
        println!("draw {t}: token {token} of {} candidates", draw.candidates().len());
        for cand in draw.candidates() {
            println!("    {:>4}  logit {:>6.3}  p {:.3}", cand.id, cand.logit, cand.p);
        }
        sampler.accept(token)?;
    }

    let mut clone = sampler.clone();
    for t in 3..30 {
        let (ours, theirs) = (sampler.sample(&row(t))?, clone.sample(&row(t))?);
        assert_eq!(ours, theirs);
        sampler.accept(ours)?;
        clone.accept(theirs)?;
    }
    println!("a clone drew the same 27 tokens");
    Ok(())
}
