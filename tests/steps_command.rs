//! `sampler-chain steps` as its user meets it.
#![cfg(feature = "cli")]

use std::process::{Command, Output};

use sampler_chain::{StepInfo, chain_schema};

fn steps(args: &[&str]) -> (Output, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_sampler-chain")).arg("steps").args(args).output().unwrap();
    let printed = String::from_utf8(output.stdout.clone()).unwrap();
    (output, printed)
}

#[test]
fn the_list_has_every_step_with_its_parameters() {
    let (output, printed) = steps(&[]);
    assert!(output.status.success());
    for step in StepInfo::all() {
        assert!(printed.lines().any(|line| line.split("   (").next() == Some(&step.name)), "{}", step.name);
    }
    let top_p = "top_p\n  Nucleus sampling: keeps the most likely candidates until their probabilities\n  add up to `p`\n    \
                 p         number, default 0.95\n    min_keep  integer from 0, default 0\n\n";
    assert!(printed.contains(top_p), "{printed}");
    assert!(printed.contains("\ndist   (selects the token)\n"));
    assert!(printed.lines().all(|line| line.chars().count() <= 80));
}

#[test]
fn one_step_is_told_in_full() {
    let (output, printed) = steps(&["mirostat"]);
    assert!(output.status.success());
    assert_eq!(
        printed,
        r#"mirostat   (selects the token)

Mirostat 1.0: cuts to a k that it estimates so that the surprise of the drawn
tokens stays near `tau`, and draws: `llama_sampler_init_mirostat`.

Parameters
  tau   number, default 5.0
      The surprise to aim at, in bits.
  eta   number, default 0.1
      The learning rate.
  m   integer, default 100
      How many of the most likely candidates the estimate looks at.

Order and flags
  Sorts, cuts, computes p and selects.

Draws
  One double a draw from its own generator; none where one candidate is left.

In a chain file

[[steps]]
type = "mirostat"
tau = 5.0
eta = 0.1
m = 100
"#
    );
    for step in StepInfo::all() {
        let (output, printed) = steps(&[&step.name]);
        assert!(output.status.success());
        assert!(printed.lines().all(|line| line.chars().count() <= 80), "{printed}");
        // What it shows can be pasted.
        let (_, pasted) = printed.split_once("\nIn a chain file\n").unwrap();
        let pasted: toml::Value = toml::from_str(pasted).unwrap();
        assert_eq!(serde_json::to_value(&pasted["steps"][0]).unwrap(), step.example.unwrap());
    }
}

/// A step that llama.cpp does not have says where it comes from; its own have no such part.
#[test]
fn origins_are_told() {
    let mut n_origins = 0;
    for step in StepInfo::all() {
        let (_, printed) = steps(&[&step.name]);
        let told =
            printed.split_once("\nOrigin\n").map(|(_, rest)| rest.split("\n\nOrder and flags\n").next().unwrap());
        // A line may end within a word, at a hyphen.
        let letters = |text: &str| text.split_whitespace().collect::<String>();
        assert_eq!(told.map(letters), step.origin.as_deref().map(letters), "{}", step.name);
        // llama.cpp's own name its function.
        assert_ne!(step.origin.is_some(), step.counterpart.is_some(), "{}", step.name);
        n_origins += usize::from(step.origin.is_some());
    }
    assert!(n_origins >= 20, "{n_origins}");
    let (_, printed) = steps(&["top_a"]);
    assert!(printed.contains("\n\nOrigin\n  Bo Peng's RWKV-LM"), "{printed}");
    let (_, printed) = steps(&["top_a", "--json"]);
    let top_a: serde_json::Value = serde_json::from_str(&printed).unwrap();
    assert!(top_a["origin"].as_str().unwrap().starts_with("Bo Peng's RWKV-LM"), "{top_a}");
    let (_, printed) = steps(&["top_k", "--json"]);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&printed).unwrap()["origin"], serde_json::Value::Null);
}

#[test]
fn json_and_schema_are_the_librarys() {
    let (_, printed) = steps(&["--json"]);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&printed).unwrap(), serde_json::json!(StepInfo::all()));
    let (_, printed) = steps(&["xtc", "--json"]);
    let xtc: serde_json::Value = serde_json::from_str(&printed).unwrap();
    assert_eq!((&xtc["type"], &xtc["parameters"][1]["default"]), (&"xtc".into(), &0.1.into()));
    let (_, printed) = steps(&["--schema"]);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&printed).unwrap(), chain_schema());
}

#[test]
fn a_step_that_is_not_there_is_refused() {
    let (output, printed) = steps(&["topk"]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), printed.as_str()), (Some(2), ""));
    assert!(error.starts_with("error: there is no step topk (did you mean top_k?); there are adaptive_p, "), "{error}");
    let (output, _) = steps(&["top_k", "--schema"]);
    assert!(String::from_utf8(output.stderr).unwrap().contains("cannot be used with"));
}
