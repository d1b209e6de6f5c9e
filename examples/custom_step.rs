//! cargo run --example custom_step
//!
//! A chain file with a step of another crate. The crate must be used in the code, or the linker leaves its steps out.

use std::path::Path;

use biggest_gap as _;
use sampler_chain::{ChainFile, Ctx};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/chains/biggest-gap.toml");
    let mut sampler = ChainFile::read(&path)?.into_sampler(|seed| Ctx::new(seed).with_n_vocab(6))?;
    let logits = [2.0, 7.5, 1.0, 7.0, 6.5, 0.5];
    let mut draw = sampler.draw(&logits)?;
    let kept: Vec<u32> = draw.candidates().iter().map(|cand| cand.id).collect();
    println!("biggest_gap kept {kept:?} of 6 candidates; token {} is drawn", draw.token());
    assert_eq!(kept, [1, 3, 4]);
    Ok(())
}
