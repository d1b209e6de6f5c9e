//! cargo run --release --example custom_order
//!
//! The same steps in three orders, on a real row of SmolLM2: what each lets through. The order is the list's, and nothing else
//! knows one; llama-server's requests have theirs under "samplers".

use std::path::Path;

use sampler_chain::steps::{Dist, MinP, Temperature, TopK};
use sampler_chain::{Chain, Ctx, LogitsFile, Sampler};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("testing/data/smollm2.safetensors");
    let logits = LogitsFile::open(&data, Some("logits"))?;
    let mut row = Vec::new();
    logits.row(3, &mut row).ok_or("a row")?;

    let (warm, min_p, top_k) = (Temperature::new(1.8), MinP { p: 0.05, min_keep: 1 }, TopK { k: 40 });
    let orders = [
        // What min-p drops no temperature brings back.
        ("min_p, temperature", Chain::new().with(min_p.clone()).with(warm.clone())),
        // Flattened first, more candidates are within a twentieth of the best.
        ("temperature, min_p", Chain::new().with(warm.clone()).with(min_p.clone())),
        // A step may stand twice: cheap at first, and again after the temperature.
        ("top_k, temperature, min_p", Chain::new().with(top_k).with(warm).with(min_p)),
    ];
    let mut kept = Vec::new();
    for (name, order) in orders {
        let mut sampler = Sampler::from_chain(order.with(Dist::default()), Ctx::new(42))?;
        let mut after = Vec::new();
        let mut draw = sampler.draw_seen(&row, |_, step, cands| {
            after.push(format!("{} {}", step.typetag_name(), cands.len()));
        })?;
        kept.push(draw.candidates().len());
        println!("{name:<26} draws token {:>5} of {:>3}   ({})", draw.token(), kept[kept.len() - 1], after.join(" > "));
    }
    assert!(kept[0] < kept[2] && kept[2] < kept[1], "{kept:?}");
    Ok(())
}
