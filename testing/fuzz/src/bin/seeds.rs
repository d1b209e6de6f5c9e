//! Writes the seeds, regressions and packed corpus of every target to `corpus/TARGET/`, where cargo-fuzz looks for them:
//! `cargo run --bin seeds`.

use std::path::Path;

use sampler_chain_fuzz::{TARGETS, corpora, seeds};

fn main() -> std::io::Result<()> {
    for (target, _) in TARGETS {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
        std::fs::create_dir_all(&dir)?;
        let seeds = seeds::seeds(target);
        let kept = seeds::regressions(target).into_iter().map(|(_, bytes)| bytes);
        let mut n_seeds = 0;
        for (i, seed) in seeds.into_iter().chain(kept).chain(corpora::read(target)).enumerate() {
            std::fs::write(dir.join(format!("seed-{i:04}")), seed)?;
            n_seeds += 1;
        }
        println!("{target}: {n_seeds} seeds");
    }
    Ok(())
}
