//! cargo run --release --example mirostat
//!
//! Mirostat holds the surprise of a text, in bits a token, near what it is told, whatever the rows are like; a temperature takes it
//! as it comes. Real rows of SmolLM2, over and over.

use std::path::Path;

use sampler_chain::steps::{Dist, MirostatV2, Temperature};
use sampler_chain::{Chain, Ctx, LogitsFile, Sampler};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("testing/data/smollm2.safetensors");
    let logits = LogitsFile::open(&data, Some("logits"))?;
    let mut rows = vec![Vec::new(); logits.n_rows()];
    for (i, row) in rows.iter_mut().enumerate() {
        logits.row(i, row).ok_or("a row")?;
    }

    let chains = [
        ("temperature 0.8", None, Chain::new().with(Temperature::new(0.8)).with(Dist::default())),
        ("temperature 1.5", None, Chain::new().with(Temperature::new(1.5)).with(Dist::default())),
        ("mirostat_v2, tau 1", Some(1.0), Chain::new().with(MirostatV2::new(1.0, 0.1))),
        ("mirostat_v2, tau 2", Some(2.0), Chain::new().with(MirostatV2::new(2.0, 0.1))),
        ("mirostat_v2, tau 2, eta 0.5", Some(2.0), Chain::new().with(MirostatV2::new(2.0, 0.5))),
    ];
    println!("surprise in bits a token, averaged over {} rows at a time; mu at the end\n", rows.len());
    for (name, tau, chain) in chains {
        let mut sampler = Sampler::from_chain(chain, Ctx::new(42))?;
        let mut averages = Vec::new();
        for _ in 0..5 {
            let mut sum = 0.0;
            for row in &rows {
                // The surprise that mirostat sees: of the drawn token among the candidates that are left.
                let drawn = sampler.draw(row)?.selected();
                sum -= f64::from(drawn.p).log2();
                sampler.accept(drawn.id)?;
            }
            averages.push(sum / rows.len() as f64);
        }
        let mut mu = None;
        sampler.visit_mut(|step: &mut MirostatV2| mu = Some(step.mu()));
        let shown: Vec<String> = averages.iter().map(|bits| format!("{bits:5.2}")).collect();
        println!("{name:<28}{}   {}", shown.join(" "), mu.map_or(String::new(), |mu| format!("mu {mu:.2}")));
        if let (Some(tau), Some(last)) = (tau, averages.last()) {
            assert!((last - tau).abs() < 0.25, "{name}: {last}");
        }
    }
    Ok(())
}
