//! cargo run --release --example server_chain
//!
//! The chain that llama-server builds from a request, with a report of what became of every field, and its draws.

use std::path::Path;
use std::sync::Arc;

use sampler_chain::{LogitsFile, Params, Sampler, Vocab, VocabFile, llama_server_chain};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("testing/data");
    let vocab: Arc<dyn Vocab> = Arc::new(VocabFile::read(&data.join("smollm2-vocab.bin.gz"))?);
    let logits = LogitsFile::open(&data.join("smollm2.safetensors"), Some("logits"))?;

    // As a client sends it: a limit overstepped, an old name, a misspelt step, a field that nothing uses here.
    let request = serde_json::json!({
        "seed": 42,
        "temperature": 0.7,
        "top_p": 1.5,
        "typ_p": 0.9,
        "dry_multiplier": 0.8,
        "samplers": ["penalties", "typ_p", "top_p", "min-p", "temprature", "temperature"],
        "repeat_penalty": 1.1,
    });
    let base = Params { vocab: Some(vocab.clone()), ..Params::default() };
    let (params, report) = Params::from_request(&request, &base, None)?;
    println!("what became of the request:");
    for note in &report.notes {
        println!("  {note}");
    }
    assert!(!report.is_quiet(), "three of these fields do not do what their sender may think");

    println!("\nthe chain:");
    let chain = llama_server_chain(&params)?;
    for step in chain.steps() {
        println!("  {}{}", serde_json::to_string(step)?, if step.is_off() { "  (off)" } else { "" });
    }
    assert_eq!(chain.steps().last().map(|step| step.typetag_name()), Some("dist"));

    let mut sampler = Sampler::new(params)?;
    let (mut row, mut text) = (Vec::new(), Vec::new());
    println!("\nthe draws:");
    for i in 0..12 {
        logits.row(i, &mut row).ok_or("a row")?;
        let mut draw = sampler.draw(&row)?;
        let (drawn, left) = (draw.selected(), draw.candidates().len());
        println!("  {:>8} of {left:>5} candidates  p {:.3}", String::from_utf8_lossy(vocab.piece(drawn.id)), drawn.p);
        text.extend_from_slice(vocab.piece(drawn.id));
        sampler.accept(drawn.id)?;
    }
    println!("\nthe text: {:?}", String::from_utf8_lossy(&text));
    Ok(())
}
