//! cargo run --release --example many_sequences
//!
//! A server's batch: many sequences, each with a sampler of its own, on all cores. A sampler is Send and knows nothing of others;
//! vocabulary and breakers are shared. What is drawn does not depend on the threads.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use sampler_chain::{LogitsFile, Params, SampleError, Sampler, Vocab, VocabFile};

const N_SEQUENCES: u32 = 32;

/// Draws the tokens of one sequence.
fn run(mut sampler: Sampler, rows: &[Vec<f32>]) -> Result<Vec<u32>, SampleError> {
    let one = |row: &Vec<f32>| {
        let token = sampler.sample(row)?;
        sampler.accept(token)?;
        Ok(token)
    };
    rows.iter().map(one).collect()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("testing/data");
    let vocab: Arc<dyn Vocab> = Arc::new(VocabFile::read(&data.join("smollm2-vocab.bin.gz"))?);
    let logits = LogitsFile::open(&data.join("smollm2.safetensors"), Some("logits"))?;
    let mut rows = vec![Vec::new(); 24];
    for (i, row) in rows.iter_mut().enumerate() {
        logits.row(i, row).ok_or("a row")?;
    }

    // A seed for each sequence; the rest is the same. A model would give each its own rows.
    let params = Params { vocab: Some(vocab), dry_multiplier: 0.8, repeat_penalty: 1.1, ..Params::default() };
    let sampler = |seed| Sampler::new(Params { seed, ..params.clone() });
    let samplers: Vec<Sampler> = (0..N_SEQUENCES).map(sampler).collect::<Result<_, _>>()?;

    // A clone draws what the original draws, so the same batch can be run twice.
    let start = Instant::now();
    let alone: Vec<_> = samplers.iter().map(|sampler| run(sampler.clone(), &rows)).collect::<Result<_, _>>()?;
    let on_one = start.elapsed();

    let n_threads = std::thread::available_parallelism()?.get();
    let start = Instant::now();
    let together = std::thread::scope(|scope| {
        let batches = samplers.chunks(samplers.len().div_ceil(n_threads));
        let threads: Vec<_> = batches
            .map(|batch| {
                let rows = &rows;
                scope.spawn(move || {
                    batch.iter().map(|sampler| run(sampler.clone(), rows)).collect::<Result<Vec<_>, _>>()
                })
            })
            .collect();
        let batches =
            threads.into_iter().map(|thread| thread.join().map_err(|_| "a thread has panicked")?.map_err(Into::into));
        batches.collect::<Result<Vec<_>, Box<dyn std::error::Error>>>()
    })?;
    let on_all = start.elapsed();

    let n_tokens = alone.len() * rows.len();
    assert_eq!(alone, together.concat());
    println!("{N_SEQUENCES} sequences drew the same {n_tokens} tokens on one thread and on {n_threads}");
    for (n, time) in [(1, on_one), (n_threads, on_all)] {
        println!("{n:>3} threads: {:>7.0} tokens a second", n_tokens as f64 / time.as_secs_f64());
    }
    let mut texts = alone.clone();
    texts.sort();
    texts.dedup();
    println!("{} of them are different", texts.len());
    assert!(texts.len() > 1);
    Ok(())
}
