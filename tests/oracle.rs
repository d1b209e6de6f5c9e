//! The oracle's gate: every recorded case of `testing/data` replayed, and proof that the replay can fail.

use std::path::{Path, PathBuf};

use sampler_chain::oracle::{Case, Replayer, read_cases};

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testing/data")
}

/// Whether a file's name is one of cases of draws: those of tests/sort.rs and tests/import.rs are others.
fn has_cases(name: &str) -> bool {
    let is_elsewhere = ["sort.jsonl.gz", "presets.jsonl"].contains(&name);
    !is_elsewhere && (name.ends_with(".jsonl") || name.ends_with(".jsonl.gz"))
}

/// Replays files, and returns how many cases passed.
fn replay(names: impl Fn(&str) -> bool) -> usize {
    let mut files: Vec<PathBuf> = std::fs::read_dir(data()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let (mut replayer, mut passed, mut failures) = (Replayer::default(), 0, Vec::new());
    for file in files {
        let name = file.file_name().unwrap().to_str().unwrap();
        if !has_cases(name) || !names(name) {
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

/// Each file of cases has its test here, with at least so many cases.
macro_rules! gates {
    ($($name:ident: $file:literal, $at_least:literal;)*) => {
        $(
            #[test]
            fn $name() {
                let passed = replay(|name| name.starts_with($file));
                assert!(passed >= $at_least, "{passed} cases");
            }
        )*

        const GATED: &[&str] = &[$($file),*];
    };
}

gates! {
    every_step_alone_and_in_chains: "steps-", 1_440;
    every_sampling_field_over_a_small_vocabulary: "small.jsonl", 60;
    whole_requests_over_smollm2: "smollm2.jsonl", 6;
    request_bodies: "requests.jsonl", 180;
    redraws_under_a_grammar: "redraws.jsonl", 25;
    drafts: "drafts.jsonl", 20;
    dry_breakers_over_two_vocabularies: "dry_breakers.jsonl", 28;
    gguf_files: "gguf.jsonl", 50;
    found_beside_libllama: "found.jsonl", 9;
}

#[test]
fn no_file_of_cases_is_left_out() {
    for entry in std::fs::read_dir(data()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let is_gated = GATED.iter().any(|file| name.starts_with(file));
        assert!(!has_cases(&name) || is_gated, "{name} is replayed by no test");
    }
}

/// A good case: five draws over 64 candidates.
fn good_case() -> serde_json::Value {
    let text = read_cases(&data().join("steps-chains.jsonl.gz")).unwrap();
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

/// A key that the way of replaying does not look at fails, too, wherever it stands.
#[test]
fn expectations_of_another_kind_fail() {
    let not_compared = |key: &str| format!("nothing here compares the key {key} of expect");
    for (key, value) in [
        ("error", serde_json::json!("x")),
        ("settings", serde_json::json!({})),
        ("redrawn", serde_json::json!([true])),
        ("pairs", serde_json::json!(1)),
    ] {
        let mut case = good_case();
        case["expect"][key] = value;
        assert_eq!(failure(case), not_compared(key));
    }
    let request = |request: serde_json::Value, expect: serde_json::Value| {
        failure(serde_json::json!({"name": "x", "source": "x", "request": request, "expect": expect}))
    };
    let refused = serde_json::json!({"top_k": "x"});
    let error = "Field 'top_k': [json.exception.type_error.302] type must be number, but is string";
    assert_eq!(request(refused.clone(), serde_json::json!({"error": error, "tokens": [7]})), not_compared("tokens"));
    assert_eq!(
        request(serde_json::json!({}), serde_json::json!({"settings": {"top_k": 40}, "tokens": [7]})),
        not_compared("tokens")
    );
    assert!(request(refused, serde_json::json!({"error": "other"})).starts_with("refused with \"Field 'top_k'"));
    assert!(request(serde_json::json!({}), serde_json::json!({"error": "other"})).starts_with("accepted, expected"));
    let mut case = good_case();
    case["dry_breakers"] = serde_json::json!([[1]]);
    assert_eq!(failure(case), "dry_breakers go with a request");
}

/// Sizes that no machine has are a failure, not an abort.
#[test]
fn sizes_out_of_bounds_fail() {
    for (logits, n_tokens, expected) in [
        (
            r#"{"synthetic":{"kind":"ties","seed":1,"n_vocab":1000000000000000,"rows":1}}"#,
            1,
            "1 rows of 1000000000000000 logits are too many",
        ),
        (
            r#"{"synthetic":{"kind":"ties","seed":1,"n_vocab":9223372036854775808,"rows":9}}"#,
            9,
            "9 rows of 9223372036854775808 logits are too many",
        ),
        (
            r#"{"synthetic":{"kind":"ties","seed":1,"n_vocab":0,"rows":1000000000000000000}}"#,
            1,
            "1 results for 1000000000000000000 rows",
        ),
        (
            r#"{"file":"small.safetensors","tensor":"logits","rows":[0,1000000000000000000]}"#,
            1,
            "1 results for 1000000000000000000 rows",
        ),
        (
            r#"{"file":"small.safetensors","tensor":"logits","rows":[660,666]}"#,
            6,
            "small.safetensors has 665 rows, and others are asked for",
        ),
        (r#"{"file":"small.safetensors","tensor":"logits","rows":[5,2]}"#, 0, "the case has no rows"),
        (r#"{"values":[]}"#, 0, "the case has no rows"),
    ] {
        let mut case = good_case();
        case["logits"] = serde_json::from_str(logits).unwrap();
        case["expect"] = serde_json::json!({"tokens": vec![0; n_tokens]});
        assert_eq!(failure(case), expected);
    }
    let mut case = good_case();
    case["logits"] = serde_json::json!({"values": [[1.0]], "kind": "ties"});
    assert!(serde_json::from_value::<Case>(case).is_err());
    let big = serde_json::json!({"name": "x", "source": "x", "n_vocab": 3_000_000_000u64, "request": {}, "expect": {"settings": {"top_k": 40}}});
    Replayer::default().replay(&serde_json::from_value(big).unwrap(), &data()).unwrap();
}

/// A redraw, a draft, breakers and a GGUF file are compared, each with its own expectations.
#[test]
fn the_other_kinds_of_cases_can_fail() {
    type Spoil = fn(&mut serde_json::Value);
    let spoils: [(&str, Spoil, &str); 8] = [
        (
            "redraws.jsonl",
            |case| case["expect"]["redrawn"][3] = false.into(),
            "row 3: drawn twice: Some(true), expected Some(false)",
        ),
        ("redraws.jsonl", |case| case["expect"]["tokens"][0] = 511.into(), "row 0: drew token "),
        ("drafts.jsonl", |case| case["expect"]["tokens"][0] = 1.into(), "the draft gave ["),
        ("drafts.jsonl", |case| case["expect"]["next"][3] = 1.into(), "row 3 after the draft: drew token "),
        ("dry_breakers.jsonl", |case| case["expect"]["digest"] = "0".into(), "found (Some("),
        ("dry_breakers.jsonl", |case| case["expect"]["some"][0][0] = 0.into(), "the breaker (0, []) is missing"),
        (
            "gguf.jsonl",
            |case| case["expect"]["vocab"]["pieces_hex"][1] = "ff".into(),
            "vocab: token 1 is 01, expected ff",
        ),
        ("gguf.jsonl", |case| case["expect"]["vocab"]["eot"] = 3.into(), "vocab: "),
    ];
    for (file, spoil, expected) in spoils {
        let text = std::fs::read_to_string(data().join(file)).unwrap();
        let mut case: serde_json::Value = serde_json::from_str(text.lines().nth(1).unwrap()).unwrap();
        if file == "redraws.jsonl" {
            let line = text.lines().skip(1).find(|line| line.contains("\"redrawn\":[false,false,false,true")).unwrap();
            case = serde_json::from_str(line).unwrap();
        }
        spoil(&mut case);
        let failure = failure(case);
        assert!(failure.starts_with(expected), "{failure}");
    }
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

/// What `testing/differential` writes: candidates to begin with, seeds, events and NaN are replayed, and each can fail.
#[test]
fn arrays_and_events_can_fail() {
    let text = std::fs::read_to_string(data().join("found.jsonl")).unwrap();
    let good = |name: &str| -> serde_json::Value {
        serde_json::from_str(text.lines().find(|line| line.contains(&format!("\"name\":\"{name}\""))).unwrap()).unwrap()
    };
    type Spoil = fn(&mut serde_json::Value);
    let spoils: [(&str, Spoil, &str); 14] = [
        ("written/sampler", |case| case["expect"]["arrays"][3]["digest"] = "0".into(), "row 3: found ArraySet"),
        ("written/sampler", |case| case["expect"]["arrays"][0]["selected"] = (-1).into(), "row 0: found ArraySet"),
        (
            "written/sampler",
            |case| case["expect"]["array_steps"][4][0]["digest"] = "0".into(),
            "row 4: step 1: found ArrayStep",
        ),
        ("written/sampler", |case| case["after"][0][1]["aside"]["size"] = 1.into(), "row 0: Aside("),
        ("written/sampler", |case| case["after"][0][0]["accept"] = 5.into(), "row 0: Aside("),
        ("written/sampler", |case| case["after"][0][0]["accept"] = 6.into(), "row 0: Accept(6): token 6 is beyond"),
        (
            "written/sampler",
            |case| case["after"][2] = serde_json::json!([{"accept": 1}]),
            "row 3: step 1: found ArrayStep",
        ),
        ("written/sampler", |case| drop(case["after"].as_array_mut().unwrap().pop()), "4 results for 5 rows"),
        ("written/chain-alone", |case| case["seeds"][2] = 1.into(), "row "),
        ("written/chain-alone", |case| drop(case["seeds"].as_array_mut().unwrap().pop()), "2 seeds for 3 steps"),
        ("written/chain-alone", |case| case["sets"][0]["ids"][0] = 6.into(), "row 0: token 6 is beyond the row"),
        (
            "written/chain-alone",
            |case| case["sets"][1]["selected"] = 6.into(),
            "row 1: place 6 of 6 candidates is selected",
        ),
        (
            "found/xtc/threshold-nan",
            |case| case["chain"]["steps"][0]["threshold"] = 0.1.into(),
            "row 0: step 1: found ArrayStep",
        ),
        (
            "found/infill/selected-before",
            |case| case["expect"]["arrays"][0]["selected"] = 0.into(),
            "row 0: found ArraySet",
        ),
    ];
    for (name, spoil, expected) in spoils {
        let mut case = good(name);
        spoil(&mut case);
        let failure = failure(case);
        assert!(failure.starts_with(expected), "{name}: {failure}");
    }
    let mut case = good_case();
    case["after"] = serde_json::json!([[], [], [], [], [], []]);
    assert_eq!(failure(case), "sets, after and seeds go with arrays");
    let mut case = good("found/xtc/threshold-nan");
    case.as_object_mut().unwrap().remove("sets");
    let refused = failure(case);
    assert!(refused.contains("threshold") && refused.contains("nan"), "{refused}");
}
