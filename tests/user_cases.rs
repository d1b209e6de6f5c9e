//! What users of samplers ran into (`user_cases/<number>` in the oracle's data), each replayed from llama.cpp's own result
//! and, where the report says what must come out, asserted on its own.
//!
//! Cases that are about one step, the request or a file are tests of the same name beside that code: `cargo test case_`
//! runs them all. Cases 24 (explaining a token) and 44 (another chain while a model thinks) belong to a workbench and a step
//! that do not exist yet; 28 (speed at large vocabularies) is what `testing/bench` measures.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sampler_chain::oracle::{Case, Replayer};
use sampler_chain::steps::{Dist, Greedy, MinP, Penalties, Temperature, TopK};
use sampler_chain::{Chain, Ctx, NonFinite, SampleError, Sampler, Vocab, VocabFile};

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testing/data")
}

/// Replays the recorded cases whose name begins so, and returns the tokens that llama.cpp drew.
fn recorded(start: &str) -> Vec<Vec<u32>> {
    let text = std::fs::read_to_string(data().join("steps-user_cases.jsonl")).unwrap();
    let cases = text.lines().skip(1).map(|line| serde_json::from_str::<Case>(line).unwrap());
    let tokens: Vec<Vec<u32>> = cases
        .filter(|case| case.name.strip_prefix("user_cases/").is_some_and(|name| name.starts_with(start)))
        .map(|case| {
            Replayer::default().replay(&case, &data()).unwrap_or_else(|failure| panic!("{}: {failure}", case.name));
            case.expect.tokens.unwrap()
        })
        .collect();
    assert!(!tokens.is_empty(), "no case begins with {start}");
    tokens
}

/// A vocabulary of thirty words, for the steps that want one.
fn thirty_words() -> Arc<dyn Vocab> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("vocab.json");
    let pieces: Vec<String> = (0..30u8).map(|i| format!("{:02x}{:02x}", b'a' + i % 26, b'a' + i / 26)).collect();
    std::fs::write(&path, serde_json::json!({"pieces_hex": pieces, "eog": [29], "eos": 29}).to_string()).unwrap();
    Arc::new(VocabFile::read(&path).unwrap())
}

fn p4() -> Vec<f32> {
    [0.50f32, 0.30, 0.15, 0.05].map(f32::ln).to_vec()
}

fn sampler(chain: Chain, seed: u32) -> Sampler {
    Sampler::from_chain(chain, Ctx::new(seed)).unwrap()
}

#[test]
fn case_2_xtc_draws_from_the_seed() {
    assert_eq!(recorded("2/").len(), 2);
}

#[test]
fn case_3_one_candidate_takes_its_number() {
    assert_eq!(recorded("3/")[0][..2], [0, 0]);
}

#[test]
fn case_4_minus_two_is_a_seed() {
    recorded("4/");
}

#[test]
fn case_11_mirostat() {
    let tokens = recorded("11/mirostat_v2");
    assert!(tokens[0].iter().all(|&token| token < 2), "{tokens:?}");
    recorded("11/mirostat");
}

#[test]
fn case_13_short_and_repeated_chains() {
    assert_eq!(recorded("13/alone").len(), 10);
    recorded("13/nothing-but-the-draw");
    recorded("13/repeated");
}

#[test]
fn case_15_and_20_windows_of_zero() {
    recorded("15/");
    recorded("20/");
}

#[test]
fn case_16_the_prompt_is_in_the_window() {
    recorded("16/");
    let chain = || Chain::new().with(Penalties::new(64, 1.5, 0.0, 0.0)).with(Greedy {});
    let mut sampler = sampler(chain(), 1);
    sampler.accept_prompt(0).unwrap();
    // 3.0 / 1.5 is below 2.5.
    assert_eq!(sampler.sample(&[3.0, 2.5]), Ok(1));
}

#[test]
fn case_18_the_last_n() {
    assert_eq!(recorded("18/").len(), 2);
}

#[test]
fn case_27_k_of_zero_and_below() {
    assert_eq!(recorded("27/").len(), 3);
}

#[test]
fn case_30_min_keep() {
    assert_eq!(recorded("30/").len(), 4);
}

#[test]
fn case_31_xtc_edges() {
    assert_eq!(recorded("31/").len(), 4);
}

#[test]
fn case_32_typical() {
    assert_eq!(recorded("32/").len(), 4);
}

#[test]
fn case_33_temperature_zero_still_draws() {
    recorded("33/");
    let draw = |temp: f32| {
        let mut sampler = sampler(Chain::new().with(Temperature::new(temp)).with(Dist::default()), 42);
        sampler.sample(&[1.0, 3.0, 3.0, 2.0]).unwrap();
        (0..9).map(|_| sampler.sample(&p4()).unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(draw(0.0), [0; 9], "the maximum");
    assert_ne!(draw(1.0), [0; 9]);
}

#[test]
fn case_37_biases() {
    recorded("37/");
}

#[test]
fn a_penalty_after_a_sort_sorts_again() {
    recorded("penalty-after-sort");
}

/// User case 1: the same logits, chain and seed give the same tokens; a logit that moves by 1e-6 at step 3 is seen there.
#[test]
fn case_1_the_same_seed_draws_the_same() {
    let chain = || Chain::new().with(TopK { k: 3 }).with(Temperature::new(0.9)).with(Dist::default());
    let mut rows: Vec<Vec<f32>> =
        (0..5).map(|i| (0..50).map(|j| ((i * 37 + j * 11) % 23) as f32 / 3.0).collect()).collect();
    let draw = |rows: &[Vec<f32>]| {
        let mut sampler = sampler(chain(), 1);
        rows.iter()
            .map(|row| {
                let mut draw = sampler.draw(row).unwrap();
                let bits: Vec<(u32, u32)> = draw.candidates().iter().map(|c| (c.id, c.p.to_bits())).collect();
                (draw.token(), bits)
            })
            .collect::<Vec<_>>()
    };
    let first = draw(&rows);
    assert_eq!(draw(&rows), first);
    let top = first[3].1[0].0 as usize;
    rows[3][top] += 1e-6;
    let parted = draw(&rows).iter().zip(&first).position(|(a, b)| a != b);
    assert_eq!(parted, Some(3));
}

/// User case 6: a clone draws what the original draws, for every step that draws or remembers.
#[test]
fn case_6_a_clone_draws_the_same() {
    let words = thirty_words();
    for step in sampler_chain::registered_steps() {
        let json = match step.as_str() {
            "chain" => r#"{"type":"chain","steps":[{"type":"top_k","k":9}]}"#.to_string(),
            "penalties" => r#"{"type":"penalties","repeat":1.3}"#.to_string(),
            "dry" => r#"{"type":"dry","multiplier":0.8,"allowed_length":1}"#.to_string(),
            "xtc" => r#"{"type":"xtc","probability":0.5,"threshold":0.05}"#.to_string(),
            "adaptive_p" => r#"{"type":"adaptive_p","target":0.3}"#.to_string(),
            other => format!(r#"{{"type":"{other}"}}"#),
        };
        let mut chain = Chain::new();
        chain.push(serde_json::from_str(&json).unwrap());
        if !chain.steps()[0].selects() {
            chain = chain.with(Dist::default());
        }
        let mut original = Sampler::from_chain(chain, Ctx::new(7).with_vocab(words.clone())).unwrap();
        let draw = |sampler: &mut Sampler, n: usize| -> Vec<u32> {
            (0..n)
                .map(|i| {
                    let row: Vec<f32> = (0..30).map(|j| ((i * 13 + j * 7) % 19) as f32 / 2.0).collect();
                    let token = sampler.sample(&row).unwrap();
                    sampler.accept(token).unwrap();
                    token
                })
                .collect()
        };
        let from_start = draw(&mut original, 8);
        // A clone between a draw and its accept, too: adaptive-p remembers what it drew.
        let token = original.sample(&[1.0; 30]).unwrap();
        let mut clone = original.clone();
        for sampler in [&mut original, &mut clone] {
            sampler.accept(token).unwrap();
        }
        assert_eq!(draw(&mut clone, 20), draw(&mut original, 20), "{step}");
        original.reset();
        assert_eq!(draw(&mut original, 8), from_start, "{step} after reset");
    }
}

/// User case 36: rows that are not finite are typed errors, and a policy says what else may be done.
#[test]
fn case_36_rows_that_are_not_finite() {
    let inf = f32::INFINITY;
    let rows: [(&[f32], &str); 6] = [
        (&[f32::NAN, 1.0, 2.0], "logit 0 is NaN: the model's output is broken, or the row is not one of logits"),
        (&[1.0, f32::NAN], "logit 1 is NaN: the model's output is broken, or the row is not one of logits"),
        (&[inf, 0.0], "logit 0 is +infinity: the model's output is broken, or the row is not one of logits"),
        (&[-inf, -inf, -inf], "every logit is -infinity: no token can be drawn"),
        (&[f32::NAN; 300], "logit 0 is NaN: the model's output is broken, or the row is not one of logits"),
        (&[], "the row of logits is empty"),
    ];
    for (row, expected) in rows {
        let chain = Chain::new().with(TopK { k: 40 }).with(MinP { p: 0.05, min_keep: 0 }).with(Dist::default());
        let mut strict = sampler(chain, 42);
        assert_eq!(strict.sample(row).unwrap_err().to_string(), expected);
        // Nothing moved: the next draw is the first one's.
        let logits = vec![1.0; row.len().max(2)];
        assert_eq!(strict.sample(&logits), strict.clone_reset().sample(&logits));
    }
    let draw =
        |policy, row: &[f32]| sampler(Chain::new().with(Dist::default()), 42).with_non_finite(policy).sample(row);
    assert_eq!(draw(NonFinite::LikeLlamaCpp, &[f32::NAN, 1.0, 2.0]), Ok(2), "the last, as a release build");
    assert_eq!(draw(NonFinite::LikeLlamaCpp, &[-inf, -inf]), Ok(1));
    assert_eq!(draw(NonFinite::FiniteArgmax, &[f32::NAN, 1.0, 2.0, inf]), Ok(2));
    assert_eq!(draw(NonFinite::FiniteArgmax, &[f32::NAN, -inf]), Err(SampleError::AllMasked));
    assert_eq!(draw(NonFinite::LikeLlamaCpp, &[]), Err(SampleError::EmptyRow));
}

trait CloneReset {
    fn clone_reset(&self) -> Self;
}

impl CloneReset for Sampler {
    fn clone_reset(&self) -> Self {
        let mut clone = self.clone();
        clone.reset();
        clone
    }
}

/// User case 39: drawing changes no history, and a token that cannot be accepted leaves the state as it was.
#[test]
fn case_39_accept_is_the_only_change() {
    let mut sampler = sampler(Chain::new().with(Penalties::new(64, 1.5, 0.0, 0.0)).with(Greedy {}), 1);
    assert_eq!(sampler.sample(&[3.0, 2.5]), Ok(0));
    assert_eq!(sampler.sample(&[3.0, 2.5]), Ok(0));
    assert!(sampler.ctx().history().is_empty());
    let error = sampler.accept(2).unwrap_err().to_string();
    assert_eq!(error, "token 2 is beyond the vocabulary of 2 tokens");
    assert!(sampler.ctx().history().is_empty());
    assert_eq!(sampler.sample(&[3.0, 2.5]), Ok(0));
}
