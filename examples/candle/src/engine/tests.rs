//! They want the model: `cargo test --release -- --ignored`, after README.md's download.

use sampler_chain::LogitsFile;

use super::*;

fn engine() -> Engine {
    let path = default_model();
    let file = GgufFile::open(&path).unwrap();
    Engine::open(&path, &file).unwrap()
}

/// The cases that llama-server b11192 recorded with this model.
fn cases() -> Vec<serde_json::Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testing/data/smollm2.jsonl");
    let recorded = std::fs::read_to_string(path).unwrap();
    let cases: Vec<_> = recorded.lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(cases.len() >= 6, "{}", cases.len());
    cases
}

fn prompt(case: &serde_json::Value) -> Vec<u32> {
    serde_json::from_value(case["prompt"].clone()).unwrap()
}

/// The prompts as llama.cpp cut them into tokens.
#[test]
#[ignore = "wants the model"]
fn texts_become_llama_cpps_tokens() {
    let engine = engine();
    for case in cases() {
        let prompt = prompt(&case);
        let text: Vec<u8> = prompt.iter().flat_map(|&token| engine.vocab.piece(token).to_vec()).collect();
        let text = String::from_utf8(text).unwrap();
        assert_eq!(engine.encode(&text).unwrap(), prompt, "{text:?}");
    }
    // Every digit is a token of its own.
    let control = engine.encode("<|im_start|>user\nIn 1905 ").unwrap();
    assert_eq!(control, [1, 4093, 198, 788, 216, 33, 41, 32, 37, 216]);
}

/// The rows that llama.cpp b11192 computed for the recorded cases. Both round in other places (the weights have four bits), so
/// the logits are near each other, not equal: sampling is what is exact.
#[test]
#[ignore = "wants the model"]
fn logits_are_near_llama_cpps() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testing/data");
    let rows = LogitsFile::open(&data.join("smollm2.safetensors"), Some("logits")).unwrap();
    let best = |row: &[f32]| (0..row.len()).max_by(|&a, &b| row[a].total_cmp(&row[b]));
    let (mut n_rows, mut n_same, mut theirs) = (0, 0, Vec::new());
    for case in cases() {
        let [first, _] = serde_json::from_value::<[usize; 2]>(case["logits"]["rows"].clone()).unwrap();
        let tokens: Vec<u32> = serde_json::from_value(case["expect"]["tokens"].clone()).unwrap();
        let mut engine = engine();
        let mut ours = engine.read(&prompt(&case)).unwrap();
        for (i, &token) in tokens.iter().enumerate() {
            rows.row(first + i, &mut theirs).unwrap();
            let furthest = ours.iter().zip(&theirs).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(furthest < 2.0, "{}: row {i}: a logit is off by {furthest}", case["name"]);
            n_same += usize::from(best(&ours) == best(&theirs));
            n_rows += 1;
            ours = engine.read(&[token]).unwrap();
        }
    }
    assert!(n_rows >= 72 && n_same >= n_rows - 2, "{n_same} of {n_rows} rows have the same best token");
}

#[test]
#[ignore = "wants the model"]
fn more_than_the_model_reads_is_refused() {
    let error = engine().read(&vec![1; MAX_SEQ_LEN + 1]).unwrap_err().to_string();
    assert_eq!(error, "4097 tokens are too many: the text may be 4096 long");
}
