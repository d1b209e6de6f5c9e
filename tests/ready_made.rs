//! Every ready-made chain runs over real rows of SmolLM2, and keeps what it says it keeps.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use biggest_gap as _;
use sampler_chain::{ChainFile, Ctx, LogitsFile, SamplerStep, Vocab, VocabFile};
use serde_json::Value;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn ready_made() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join("examples/chains")).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()).collect();
    paths.sort();
    assert!(paths.len() >= 13, "{}", paths.len());
    paths
}

fn name(path: &Path) -> String {
    path.file_stem().unwrap().to_string_lossy().into_owned()
}

fn rows() -> Vec<Vec<f32>> {
    let file = LogitsFile::open(&root().join("testing/data/smollm2.safetensors"), Some("logits")).unwrap();
    let mut rows = vec![Vec::new(); 8];
    for (i, row) in rows.iter_mut().enumerate() {
        file.row(i, row).unwrap();
    }
    rows
}

/// What a draw left: the token and the candidates.
struct Drawn {
    token: u32,
    kept: BTreeSet<u32>,
}

/// Draws a token from each row, with the vocabulary and a prompt.
fn draw(path: &Path, rows: &[Vec<f32>], vocab: &Arc<dyn Vocab>, seed: u32) -> Vec<Drawn> {
    let file = ChainFile { seed: Some(seed), ..ChainFile::read(path).unwrap() };
    let mut sampler = file.into_sampler(|seed| Ctx::new(seed).with_vocab(vocab.clone())).unwrap();
    sampler.accept_prompt_all(&[5965, 20790, 5454, 9356, 2893, 260, 1573]).unwrap();
    let one = |row: &Vec<f32>| {
        let mut drawn = sampler.draw(row).unwrap();
        let (token, at) = (drawn.token(), drawn.selected_index());
        assert_eq!(drawn.candidates()[at].id, token, "{}", path.display());
        let kept: BTreeSet<u32> = drawn.candidates().iter().map(|cand| cand.id).collect();
        assert_eq!(kept.len(), drawn.candidates().len(), "{}: a candidate is there twice", path.display());
        sampler.accept(token).unwrap();
        Drawn { token, kept }
    };
    rows.iter().map(one).collect()
}

/// What truncations and temperatures keep of a row, computed anew in doubles. None where the chain has other steps.
fn reference(steps: &[Box<dyn SamplerStep>], row: &[f32]) -> Option<BTreeSet<u32>> {
    let mut cands: Vec<(u32, f64)> = (0..).zip(row.iter().map(|&logit| f64::from(logit))).collect();
    cands.sort_by(|a, b| b.1.total_cmp(&a.1));
    for step in steps {
        let step = serde_json::to_value(step).unwrap();
        let number = |field: &str| step[field].as_f64().unwrap();
        match step["type"].as_str().unwrap() {
            "temperature" if step.get("delta").is_none() => {
                cands.iter_mut().for_each(|cand| cand.1 /= number("temp"));
            }
            "top_k" => cands.truncate(number("k") as usize),
            "min_p" => {
                let least = cands[0].1 + number("p").ln();
                cands.retain(|cand| cand.1 >= least);
            }
            "top_p" => {
                let sum: f64 = cands.iter().map(|cand| (cand.1 - cands[0].1).exp()).sum();
                let mut reached = 0.0;
                let best = cands[0].1;
                let crossing = cands.iter().position(|cand| {
                    reached += (cand.1 - best).exp() / sum;
                    reached >= number("p")
                });
                cands.truncate(crossing.map_or(cands.len(), |at| at + 1));
            }
            "dist" | "greedy" => {}
            _ => return None,
        }
    }
    Some(cands.into_iter().map(|cand| cand.0).collect())
}

#[test]
fn every_ready_made_chain_draws_from_real_rows() {
    let vocab: Arc<dyn Vocab> = Arc::new(VocabFile::read(&root().join("testing/data/smollm2-vocab.bin.gz")).unwrap());
    let rows = rows();
    let (mut n_checked, mut n_moved) = (0, 0);
    for path in ready_made() {
        let chain = ChainFile::read(&path).unwrap().chain;
        let drawn = draw(&path, &rows, &vocab, 42);
        for (i, (row, Drawn { token, kept })) in rows.iter().zip(&drawn).enumerate() {
            let place = format!("{}, row {i}", name(&path));
            assert!((*token as usize) < row.len(), "{place}");
            for step in chain.steps() {
                let step: Value = serde_json::to_value(step).unwrap();
                if let Some(k) = step["k"].as_u64() {
                    assert!(kept.len() as u64 <= k, "{place}: {} are kept", kept.len());
                }
            }
            if let Some(expected) = reference(chain.steps(), row) {
                assert_eq!(*kept, expected, "{place}");
                n_checked += 1;
            }
            if name(&path) == "greedy" {
                let best = (0..row.len()).max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap();
                assert_eq!(*token as usize, best, "{place}");
            }
        }
        let tokens = |drawn: &[Drawn]| drawn.iter().map(|drawn| drawn.token).collect::<Vec<_>>();
        assert_eq!(tokens(&draw(&path, &rows, &vocab, 42)), tokens(&drawn), "{}: the same seed", name(&path));
        n_moved += usize::from(tokens(&draw(&path, &rows, &vocab, 43)) != tokens(&drawn));
    }
    assert!(n_checked >= 9 * rows.len() && n_moved >= 9, "{n_checked} draws checked, {n_moved} chains moved");
}

/// Every file says where its settings come from.
#[test]
fn every_ready_made_chain_names_its_source() {
    for path in ready_made() {
        let text = std::fs::read_to_string(&path).unwrap();
        let comment: String = text.lines().map_while(|line| line.strip_prefix("# ")).collect();
        assert!(comment.len() >= 60, "{}: {comment}", name(&path));
        assert!(!text.contains("://"), "{}: a source is named in words", name(&path));
    }
}
