//! A snapshot written to JSON and read in another process goes on as the original does, for every step.

use std::path::Path;
use std::process::Command;

use sampler_chain::{ChainFile, Ctx, Format, Sampler, Snapshot, registered_steps};

/// Where the other process finds its work: a file of lines, a chain and a snapshot in each.
const WORK: &str = "SAMPLER_CHAIN_SNAPSHOTS";
const N_TOKENS: u32 = 40;

/// A chain around each step, with parameters that make it act. Infill wants a vocabulary and keeps no state.
fn chains() -> Vec<String> {
    let step = |name: &str| match name {
        "chain" => r#"{"type":"chain","steps":[{"type":"xtc","probability":0.5,"threshold":0.02}]}"#.to_string(),
        "penalties" => r#"{"type":"penalties","repeat":1.3,"last_n":5}"#.to_string(),
        "dry" => r#"{"type":"dry","multiplier":0.8,"allowed_length":1}"#.to_string(),
        "xtc" => r#"{"type":"xtc","probability":0.5,"threshold":0.02}"#.to_string(),
        "temperature" => r#"{"type":"temperature","temp":1.3,"delta":0.4}"#.to_string(),
        "adaptive_p" => r#"{"type":"adaptive_p","target":0.2}"#.to_string(),
        "logit_bias" => r#"{"type":"logit_bias","bias":[[3,2.5]]}"#.to_string(),
        "top_n_sigma" => r#"{"type":"top_n_sigma","n":1.5}"#.to_string(),
        "typ_p" => r#"{"type":"typ_p","p":0.8}"#.to_string(),
        "min_new_tokens" => r#"{"type":"min_new_tokens","n":9,"tokens":[3]}"#.to_string(),
        "sequence_bias" => r#"{"type":"sequence_bias","bias":[[[3],2.5],[[5,3],"-inf"]]}"#.to_string(),
        "suppress_tokens" => r#"{"type":"suppress_tokens","tokens":[3]}"#.to_string(),
        "protect" => {
            let xtc = r#"{"type":"xtc","probability":0.5,"threshold":0.02}"#;
            format!(r#"{{"type":"protect","tokens":[3],"steps":[{xtc}]}}"#)
        }
        "switch" => {
            let xtc = r#"{"type":"xtc","probability":0.5,"threshold":0.02}"#;
            let sequences = r#""after":[[3],[5],[7]],"back":[[4],[6],[8]],"generators":"shared""#;
            format!(r#"{{"type":"switch",{sequences},"first":[{xtc}],"second":[{{"type":"top_k","k":5}},{xtc}]}}"#)
        }
        "reasoning_budget" => {
            r#"{"type":"reasoning_budget","start":[[3]],"end":[[4]],"forced":[7,4],"budget":6}"#.to_string()
        }
        "encoder_repetition_penalty" => r#"{"type":"encoder_repetition_penalty","penalty":1.4}"#.to_string(),
        "exponential_decay_length" => {
            r#"{"type":"exponential_decay_length","start":12,"factor":1.1,"tokens":[5]}"#.to_string()
        }
        "no_repeat_ngram" => r#"{"type":"no_repeat_ngram","n":1,"window":30}"#.to_string(),
        "rep_pen_slope" => r#"{"type":"rep_pen_slope","range":7,"penalty":1.3,"slope":0.5}"#.to_string(),
        "repetition_penalty_hf" => r#"{"type":"repetition_penalty_hf","penalty":1.3,"sees_prompt":false}"#.to_string(),
        other => format!(r#"{{"type":"{other}"}}"#),
    };
    let selects = ["dist", "greedy", "mirostat", "mirostat_v2", "adaptive_p", "gumbel"];
    registered_steps()
        .iter()
        .filter(|name| *name != "infill")
        .map(|name| {
            let end = if selects.contains(&name.as_str()) { String::new() } else { r#",{"type":"dist"}"#.to_string() };
            format!(r#"{{"version":1,"seed":11,"steps":[{}{end}]}}"#, step(name))
        })
        .collect()
}

fn sampler(chain: &str) -> Sampler {
    let file = ChainFile::parse(chain, Format::Json, Path::new("chain")).unwrap();
    file.into_sampler(|seed| Ctx::new(seed).with_n_vocab(N_TOKENS as usize)).unwrap()
}

fn go_on(sampler: &mut Sampler, n: usize) -> Vec<u32> {
    (0..n)
        .map(|_| {
            let t = sampler.ctx().history().len() as u32;
            let row: Vec<f32> = (0..N_TOKENS).map(|i| ((i * 31 + t * 17) % 41) as f32 / 6.0).collect();
            let token = sampler.sample(&row).unwrap();
            sampler.accept(token).unwrap();
            token
        })
        .collect()
}

#[test]
fn a_snapshot_goes_on_in_another_process() {
    let (mut work, mut expected) = (String::new(), String::new());
    for chain in chains() {
        let mut original = sampler(&chain);
        original.accept_prompt_all(&[3, 1, 4]).unwrap();
        go_on(&mut original, 9);
        let snapshot = serde_json::to_string(&original.snapshot()).unwrap();
        work += &format!("{chain}\t{snapshot}\n");
        expected += &format!("drawn {:?}\n", go_on(&mut original, 25));
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("work");
    std::fs::write(&path, work).unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "the_other_process", "--nocapture"])
        .env(WORK, &path)
        .output()
        .unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    // The test runner's own words may stand on the same line.
    let drawn: Vec<&str> = printed.lines().filter_map(|line| line.find("drawn [").map(|at| &line[at..])).collect();
    assert_eq!(drawn, expected.lines().collect::<Vec<_>>(), "{printed}");
    assert!(output.status.success() && drawn.len() >= 15);
}

/// What runs over there. Without work, when all tests run, there is nothing to go on with.
#[test]
fn the_other_process() {
    let Ok(path) = std::env::var(WORK) else { return };
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let (chain, snapshot) = line.split_once('\t').unwrap();
        let snapshot: Snapshot = serde_json::from_str(snapshot).unwrap();
        let mut sampler = sampler(chain);
        sampler.restore(&snapshot).unwrap();
        println!("drawn {:?}", go_on(&mut sampler, 25));
    }
}
