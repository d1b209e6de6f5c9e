//! The oracle's gate: every recorded case of `testing/data` replayed, and proof that the replay can fail.

use std::path::{Path, PathBuf};

use sampler_chain::oracle::{Case, Replayer};

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testing/data")
}

/// Replays files, and returns how many cases passed.
fn replay(names: impl Fn(&str) -> bool) -> usize {
    let mut files: Vec<PathBuf> = std::fs::read_dir(data()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let (mut replayer, mut passed, mut failures) = (Replayer::default(), 0, Vec::new());
    for file in files {
        let name = file.file_name().unwrap().to_str().unwrap();
        if !name.ends_with(".jsonl") || name == "sort.jsonl" || !names(name) {
            continue;
        }
        replayer
            .replay_file(&file, |outcome| match outcome.failure {
                None => passed += 1,
                Some(failure) => failures.push(format!("{name}: {}: {failure}", outcome.name)),
            })
            .unwrap();
    }
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), passed + failures.len(), failures.join("\n"));
    passed
}

#[test]
fn every_step_alone_and_in_chains() {
    assert!(replay(|name| name.starts_with("steps-")) >= 400);
}

#[test]
fn every_sampling_field_over_a_small_vocabulary() {
    assert!(replay(|name| name == "small.jsonl") >= 60);
}

#[test]
fn whole_requests_over_smollm2() {
    assert!(replay(|name| name == "smollm2.jsonl") >= 6);
}

#[test]
fn no_file_of_cases_is_left_out() {
    let covered = |name: &str| name.starts_with("steps-") || ["small.jsonl", "smollm2.jsonl"].contains(&name);
    for entry in std::fs::read_dir(data()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(!name.ends_with(".jsonl") || name == "sort.jsonl" || covered(&name), "{name} is replayed by no test");
    }
}

/// A good case: five draws over 64 candidates.
fn good_case() -> serde_json::Value {
    let text = std::fs::read_to_string(data().join("steps-chains.jsonl")).unwrap();
    let line = text.lines().find(|line| line.contains("chains/stock/peaked-64")).unwrap();
    serde_json::from_str(line).unwrap()
}

fn failure(case: serde_json::Value) -> String {
    let case: Case = serde_json::from_value(case).unwrap();
    Replayer::default().replay(&case, &data()).expect_err("the replay must notice")
}

/// The replay notices a change of anything that a case expects, and says where.
#[test]
fn a_wrong_case_fails_and_says_where() {
    type Spoil = fn(&mut serde_json::Value);
    let spoils: [(Spoil, &str); 10] = [
        (|case| case["expect"]["tokens"][2] = 0.into(), "row 2: drew token "),
        (|case| case["expect"]["steps"][1][5]["digest"] = "0".into(), "row 1: step 6: found top-p of "),
        (
            |case| case["expect"]["steps"][1][3]["sorted"] = false.into(),
            "row 1: step 4: found top-k of 40 candidates, sorted true",
        ),
        (|case| case["expect"]["steps"][0][0]["step"] = "?penalties".into(), "row 0: step 1: found penalties of "),
        (|case| case["expect"]["final"][3]["digest"] = "0".into(), "row 3: after the chain: found FinalSet"),
        (|case| case["expect"]["final"][0]["selected"] = 40.into(), "row 0: after the chain: found FinalSet"),
        (|case| case["chain"]["seed"] = 1.into(), "row 0: "),
        (|case| case["prompt"][0] = 64.into(), "prompt: token 64 is beyond the vocabulary of 64 tokens"),
        (|case| case["chain"]["steps"][3]["k"] = 39.into(), "row 0: step 4: found top-k of 39 candidates"),
        (|case| drop(case["expect"]["tokens"].as_array_mut().unwrap().pop()), "5 results for 6 rows"),
    ];
    for (spoil, expected) in spoils {
        let mut case = good_case();
        spoil(&mut case);
        let failure = failure(case);
        assert!(failure.starts_with(expected), "{failure}");
    }
}

#[test]
fn a_candidate_that_differs_is_shown_with_bits() {
    let mut case = good_case();
    case["expect"]["tokens"][0] = 63.into();
    let failure = failure(case);
    assert!(
        failure.contains("(logit ") && failure.contains(" 0x") && failure.contains("expected token 63"),
        "{failure}"
    );
}

/// What a case expects and nobody checks fails; nothing is skipped.
#[test]
fn unknown_expectations_fail() {
    let mut case = good_case();
    case["expect"]["entropy"] = 1.into();
    let error = serde_json::from_value::<Case>(case).unwrap_err().to_string();
    assert!(error.contains("unknown field `entropy`"), "{error}");
    let mut case = good_case();
    case["expect"].as_object_mut().unwrap().remove("tokens");
    assert_eq!(failure(case), "nothing to compare: expect has no tokens");
}

/// Logprobs, probabilities after the chain, text and settings of a real request are compared, too.
#[test]
fn what_llama_server_answers_beside_the_tokens_is_compared() {
    let text = std::fs::read_to_string(data().join("smollm2.jsonl")).unwrap();
    let good: serde_json::Value = serde_json::from_str(text.lines().nth(1).unwrap()).unwrap();
    type Spoil = fn(&mut serde_json::Value);
    let spoils: [(Spoil, &str); 4] = [
        (|expect| expect["logprobs"][1]["top"][3][1] = (-2.0).into(), "row 1: logprobs: place 4 is "),
        (|expect| expect["post_sampling_probs"][0]["prob"] = 0.5.into(), "row 0: post_sampling_probs: the token is "),
        (|expect| expect["text"] = "no".into(), "the text is "),
        (|expect| expect["settings"]["top_k"] = 1.into(), "settings: top_k is "),
    ];
    for (spoil, expected) in spoils {
        let mut case = good.clone();
        spoil(&mut case["expect"]);
        let failure = failure(case);
        assert!(failure.starts_with(expected), "{failure}");
    }
}
