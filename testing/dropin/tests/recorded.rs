//! The recorded cases of libllama, replayed through the exported functions: every step and every chain, bit for bit.

mod common;

use std::path::Path;

use common::{Owned, Row, sampler};
use sampler_chain::oracle::{Case, FinalSet, Replayer, StepSet, digest, read_cases};
use serde_json::Value;

/// The files that libllama's own samplers were recorded in, without infill, which wants a model.
const FILES: [&str; 17] = [
    "adaptive_p",
    "chains",
    "dist",
    "dry",
    "greedy",
    "logit_bias",
    "min_p",
    "mirostat",
    "mirostat_v2",
    "penalties",
    "temperature",
    "top_k",
    "top_n_sigma",
    "top_p",
    "typ_p",
    "user_cases",
    "xtc",
];

fn left(row: &Row) -> FinalSet {
    let size = row.array.size;
    FinalSet {
        size,
        sorted: row.array.sorted,
        selected: usize::try_from(row.array.selected).unwrap_or(usize::MAX),
        digest: digest(row.left(), true),
    }
}

fn same(found: &FinalSet, expected: &FinalSet) -> Result<(), String> {
    let parts = |set: &FinalSet| (set.size, set.sorted, set.selected, set.digest.clone());
    let (found, expected) = (parts(found), parts(expected));
    if found == expected { Ok(()) } else { Err(format!("{found:?}, expected {expected:?}")) }
}

/// The samplers of a case one by one, as they were recorded.
fn one_by_one(case: &Case, samplers: &[Owned], rows: &[Vec<f32>]) -> Result<(), String> {
    samplers.iter().for_each(|sampler| sampler.accept(&case.prompt));
    let (tokens, finals) = (case.expect.tokens.as_ref().unwrap(), case.expect.final_sets.as_ref().unwrap());
    for (i, logits) in rows.iter().enumerate() {
        let mut row = Row::new(logits);
        for (j, sampler) in samplers.iter().enumerate() {
            sampler.apply(&mut row);
            let StepSet { step, size, sorted, digest: bits } = &case.expect.steps.as_ref().unwrap()[i][j];
            let found = (sampler.name(), row.array.size, row.array.sorted, digest(row.left(), false));
            if found != (step.clone(), *size, *sorted, bits.clone()) {
                return Err(format!("draw {i}, step {j}: {found:?}, expected {step} {size} {sorted} {bits}"));
            }
        }
        same(&left(&row), &finals[i]).map_err(|error| format!("draw {i}: {error}"))?;
        samplers.iter().for_each(|sampler| sampler.accept(&tokens[i..=i]));
    }
    Ok(())
}

/// The same in a chain, which a clone of it takes over after half of the draws, and once more after a reset.
fn in_a_chain(case: &Case, mut chain: Owned, rows: &[Vec<f32>], clones: bool) -> Result<(), String> {
    let (tokens, finals) = (case.expect.tokens.as_ref().unwrap(), case.expect.final_sets.as_ref().unwrap());
    for again in [false, true] {
        chain.accept(&case.prompt);
        for (i, logits) in rows.iter().enumerate() {
            if clones && i == rows.len() / 2 {
                chain = chain.copy();
            }
            let mut row = Row::new(logits);
            chain.apply(&mut row);
            same(&left(&row), &finals[i]).map_err(|error| format!("chain, draw {i}, again {again}: {error}"))?;
            chain.accept(&[row.selected()]);
            if row.selected() != tokens[i] {
                return Err(format!("chain, draw {i}: token {}, expected {}", row.selected(), tokens[i]));
            }
        }
        chain.reset();
    }
    Ok(())
}

fn replay(case: &Case, rows: &[Vec<f32>]) -> Result<(), String> {
    let chain = case.chain.as_ref().unwrap();
    let (seed, steps) = (chain["seed"].as_u64().unwrap() as u32, chain["steps"].as_array().unwrap());
    let make = || steps.iter().map(|step| sampler(step, seed, rows[0].len()).unwrap());
    one_by_one(case, &make().map(Owned).collect::<Vec<_>>(), rows)?;
    // b11192's clone of adaptive-p, which this library makes, too, does not draw on.
    let clones = !chain.to_string().contains("adaptive_p");
    in_a_chain(case, make().fold(Owned::chain(), Owned::add), rows, clones)
}

#[test]
fn every_recorded_case_of_libllama() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../data");
    let (mut replayer, mut passed, mut failures) = (Replayer::default(), 0, Vec::new());
    for file in FILES {
        let packed = if file == "chains" { ".gz" } else { "" };
        let text = read_cases(&data.join(format!("steps-{file}.jsonl{packed}"))).unwrap();
        for line in text.lines().skip(1) {
            let case: Case = serde_json::from_str(line).unwrap();
            let (_, rows) = replayer.draws_of(&case, &data).unwrap();
            match replay(&case, &rows) {
                Ok(()) => passed += 1,
                Err(error) => failures.push(format!("{}: {error}", case.name)),
            }
        }
    }
    assert!(failures.is_empty(), "{} cases fail, the first:\n{}", failures.len(), failures[0]);
    assert_eq!(passed, 783);
}

/// A spoiled expectation is seen in every place that is compared.
#[test]
fn the_replay_can_fail() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../data");
    let text = std::fs::read_to_string(data.join("steps-top_k.jsonl")).unwrap();
    let good: Value = serde_json::from_str(text.lines().nth(1).unwrap()).unwrap();
    let run = |case: &Value| {
        let case: Case = serde_json::from_value(case.clone()).unwrap();
        let (_, rows) = Replayer::default().draws_of(&case, &data).unwrap();
        replay(&case, &rows)
    };
    assert_eq!(run(&good), Ok(()));
    for (place, wrong) in [
        ("/expect/final/0/size", 7.into()),
        ("/expect/final/0/digest", "0123456789abcdef".into()),
        ("/expect/final/0/selected", 3.into()),
        ("/expect/steps/0/0/step", "top_k".into()),
        ("/expect/steps/0/0/digest", "0123456789abcdef".into()),
        ("/expect/tokens/0", 9999.into()),
    ] {
        let mut bad = good.clone();
        let spoiled: &mut Value = bad.pointer_mut(place).unwrap_or_else(|| panic!("{place} is not there"));
        *spoiled = wrong;
        assert!(run(&bad).is_err(), "{place}");
    }
}
