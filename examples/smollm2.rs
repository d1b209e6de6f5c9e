//! cargo run --release --example smollm2
//!
//! Draws tokens from real SmolLM2 logits that the repository carries, and compares each with the token that llama-server
//! b11192 drew for the same request. Exit status 0 only if all are the same.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use sampler_chain::oracle::{Case, CaseLogits};
use sampler_chain::{LogitsFile, Params, Sampler, Vocab, VocabFile};

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("testing/data");
    let vocab: Arc<dyn Vocab> = Arc::new(VocabFile::read(&data.join("smollm2-vocab.bin.gz"))?);
    let logits = LogitsFile::open(&data.join("smollm2.safetensors"), Some("logits"))?;
    println!(
        "SmolLM2-135M-Instruct, {} tokens in the vocabulary, {} rows of logits",
        logits.n_vocab(),
        logits.n_rows()
    );

    let (mut same, mut all) = (0, 0);
    let recorded = std::fs::read_to_string(data.join("smollm2.jsonl"))?;
    for line in recorded.lines().skip(1) {
        let case: Case = serde_json::from_str(line)?;
        let request = case.request.ok_or("a request")?;
        let expected = case.expect.tokens.ok_or("tokens")?;
        let Some(CaseLogits::File(rows)) = case.logits else { return Err("rows of a file".into()) };
        let rows = match (rows.rows, rows.row_ids) {
            (Some([from, to]), _) => (from..to).collect(),
            (None, ids) => ids.unwrap_or_default(),
        };

        let base = Params { vocab: Some(vocab.clone()), ..Params::default() };
        let (params, _) = Params::from_request(&request, &base, None)?;
        let mut sampler = Sampler::new(params)?;
        for &token in &case.prompt {
            sampler.accept_prompt(token)?;
        }
        let (mut row, mut text, mut matching) = (Vec::new(), Vec::new(), 0);
        for (&i, &theirs) in rows.iter().zip(&expected) {
            logits.row(i, &mut row).ok_or("a row")?;
            let ours = sampler.sample(&row)?;
            sampler.accept(ours)?;
            text.extend_from_slice(vocab.piece(ours));
            matching += usize::from(ours == theirs);
        }
        println!("\nrequest {request}");
        println!("  drawn         {:?}", String::from_utf8_lossy(&text));
        println!("  llama-server  {:?}", case.expect.text.unwrap_or_default());
        println!("  {matching} of {} tokens are the same", expected.len());
        same += matching;
        all += expected.len();
    }
    println!("\n{same} of {all} tokens are those that llama-server b11192 drew");
    Ok(if same == all && all > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
