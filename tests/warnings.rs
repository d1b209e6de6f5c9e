//! Warnings of meaningless chains: who gets which, who gets none, and that they are true.

use std::path::Path;

use biggest_gap as _;
use sampler_chain::{ChainFile, Ctx, Format, Mt19937, Sampler, chain_warnings, vocab_warnings};
use serde_json::{Value, json};

fn chain(steps: &str) -> ChainFile {
    let text = format!("{{\"version\": 1, \"seed\": 5, \"steps\": [{steps}]}}");
    ChainFile::parse(&text, Format::Json, Path::new("chain.json")).unwrap_or_else(|error| panic!("{error}"))
}

fn warnings(steps: &str) -> Vec<String> {
    chain_warnings(&chain(steps).chain).iter().map(ToString::to_string).collect()
}

/// A chain with its warnings, and one without any that is much like it.
type Pair = (&'static str, &'static [&'static str], &'static str);

#[rustfmt::skip]
const CHAINS: [Pair; 31] = [
    // What comes when one candidate is left.
    (r#"{"type":"top_k","k":1},{"type":"top_p"},{"type":"dist"}"#,
     &["step 2 (top_p) cannot change the token: step 1 (top_k) leaves one candidate to draw"],
     r#"{"type":"top_k","k":2},{"type":"top_p"},{"type":"dist"}"#),
    (r#"{"type":"temperature","temp":0},{"type":"min_p"},{"type":"dist"}"#,
     &["step 2 (min_p) cannot change the token: step 1 (temperature) leaves one candidate to draw"],
     r#"{"type":"min_p"},{"type":"temperature","temp":0},{"type":"dist"}"#),
    (r#"{"type":"temperature","temp":0},{"type":"typ_p","p":0.5},{"type":"xtc","probability":1},{"type":"dist"}"#,
     &["step 2 (typ_p) cannot change the token: step 1 (temperature) leaves one candidate to draw",
       "step 3 (xtc) cannot change the token: step 1 (temperature) leaves one candidate to draw"],
     r#"{"type":"temperature","temp":0},{"type":"xtc","probability":1,"threshold":0},{"type":"dist"}"#),
    (r#"{"type":"top_p","p":0},{"type":"temperature"},{"type":"dist"}"#,
     &["step 2 (temperature) cannot change the token: step 1 (top_p) leaves one candidate to draw"],
     r#"{"type":"top_p","p":0,"min_keep":2},{"type":"temperature"},{"type":"dist"}"#),
    (r#"{"type":"temperature","temp":-1},{"type":"penalties","repeat":1.5},{"type":"logit_bias","bias":[[0,9]]},{"type":"dist"}"#,
     &["step 2 (penalties) cannot change the token: step 1 (temperature) leaves one candidate to draw",
       "step 3 (logit_bias) cannot change the token: step 1 (temperature) leaves one candidate to draw"],
     r#"{"type":"temperature","temp":0.1},{"type":"penalties","repeat":1.5},{"type":"logit_bias","bias":[[0,9]]},{"type":"dist"}"#),
    // A ban may leave nothing, which matters.
    (r#"{"type":"temperature","temp":0},{"type":"top_n_sigma","n":1},{"type":"logit_bias","bias":[[0,"-inf"]]},{"type":"dist"}"#,
     &["step 2 (top_n_sigma) cannot change the token: step 1 (temperature) leaves one candidate to draw"],
     r#"{"type":"temperature","temp":0},{"type":"logit_bias","bias":[[0,"-inf"]]},{"type":"dist"}"#),
    (r#"{"type":"top_k","k":1},{"type":"mirostat_v2"}"#,
     &["step 2 (mirostat_v2) cannot change the token: step 1 (top_k) leaves one candidate to draw"],
     r#"{"type":"top_k","k":1},{"type":"dist"}"#),
    (r#"{"type":"temperature","temp":0},{"type":"adaptive_p","target":0.5}"#,
     &["step 2 (adaptive_p) cannot change the token: step 1 (temperature) leaves one candidate to draw"],
     r#"{"type":"temperature","temp":0.5},{"type":"adaptive_p","target":0.5}"#),
    (r#"{"type":"top_k","k":1},{"type":"biggest_gap"},{"type":"dist"}"#,
     &["step 2 (biggest_gap) cannot change the token: step 1 (top_k) leaves one candidate to draw"],
     r#"{"type":"biggest_gap"},{"type":"top_k","k":1},{"type":"dist"}"#),
    // Chains in chains.
    (r#"{"type":"chain","steps":[{"type":"top_k","k":1}]},{"type":"chain","steps":[{"type":"min_p"},{"type":"dist"}]}"#,
     &["step 2.1 (min_p) cannot change the token: step 1.1 (top_k) leaves one candidate to draw"],
     r#"{"type":"chain","steps":[{"type":"top_k","k":9}]},{"type":"chain","steps":[{"type":"min_p"},{"type":"dist"}]}"#),
    // What greedy does not see.
    (r#"{"type":"top_k"},{"type":"temperature"},{"type":"greedy"}"#,
     &["step 1 (top_k) cannot change the token, ties aside: it keeps the most likely one, which step 3 (greedy) selects",
       "step 2 (temperature) cannot change the token, ties aside: it keeps the most likely one, which step 3 (greedy) selects"],
     r#"{"type":"top_k"},{"type":"typ_p","p":0.5},{"type":"greedy"}"#),
    (r#"{"type":"top_k"},{"type":"xtc","probability":0.5},{"type":"min_p"},{"type":"greedy"}"#,
     &["step 3 (min_p) cannot change the token, ties aside: it keeps the most likely one, which step 4 (greedy) selects"],
     r#"{"type":"penalties","repeat":1.1},{"type":"xtc","probability":0.5},{"type":"greedy"}"#),
    (r#"{"type":"top_k","k":1},{"type":"typ_p","p":0.5},{"type":"greedy"}"#,
     &["step 2 (typ_p) cannot change the token: step 1 (top_k) leaves one candidate to draw"],
     r#"{"type":"typ_p","p":0.5},{"type":"greedy"}"#),
    // What is removed already.
    (r#"{"type":"top_k","k":40},{"type":"top_k","k":50},{"type":"dist"}"#,
     &["step 2 (top_k) removes nothing: step 1 (top_k) has removed as much"],
     r#"{"type":"top_k","k":50},{"type":"top_k","k":40},{"type":"dist"}"#),
    (r#"{"type":"top_k","k":40},{"type":"temperature"},{"type":"min_p"},{"type":"top_k","k":40},{"type":"dist"}"#,
     &["step 4 (top_k) removes nothing: step 1 (top_k) has removed as much"],
     r#"{"type":"top_k","k":40},{"type":"temperature"},{"type":"min_p"},{"type":"top_k","k":0},{"type":"dist"}"#),
    (r#"{"type":"min_p","p":0.1},{"type":"xtc","probability":0.5},{"type":"min_p","p":0.05},{"type":"dist"}"#,
     &["step 3 (min_p) removes nothing: step 1 (min_p) has removed as much"],
     r#"{"type":"min_p","p":0.1},{"type":"temperature"},{"type":"min_p","p":0.05},{"type":"dist"}"#),
    (r#"{"type":"min_p","p":0.1},{"type":"min_p","p":0.1},{"type":"dist"}"#,
     &["step 2 (min_p) removes nothing: step 1 (min_p) has removed as much"],
     r#"{"type":"min_p","p":0.1,"min_keep":5},{"type":"min_p","p":0.1},{"type":"dist"}"#),
    (r#"{"type":"top_p","p":0.9},{"type":"top_k","k":9},{"type":"top_k","k":9},{"type":"dist"}"#,
     &["step 3 (top_k) removes nothing: step 2 (top_k) has removed as much"],
     r#"{"type":"top_p","p":0.9},{"type":"top_p","p":0.95},{"type":"dist"}"#),
    // What comes too late.
    (r#"{"type":"top_k"},{"type":"penalties","repeat":1.1},{"type":"dist"}"#,
     &["step 2 (penalties) comes too late for the candidates that step 1 (top_k) removes"],
     r#"{"type":"penalties","repeat":1.1},{"type":"top_k"},{"type":"dist"}"#),
    (r#"{"type":"temperature"},{"type":"min_p"},{"type":"top_p"},{"type":"dry","multiplier":0.8},{"type":"dist"}"#,
     &["step 4 (dry) comes too late for the candidates that step 2 (min_p) removes"],
     r#"{"type":"temperature"},{"type":"dry","multiplier":0.8},{"type":"min_p"},{"type":"top_p"},{"type":"dist"}"#),
    (r#"{"type":"top_n_sigma","n":1},{"type":"logit_bias","bias":[[0,1]]},{"type":"dist"}"#,
     &["step 2 (logit_bias) comes too late for the candidates that step 1 (top_n_sigma) removes"],
     r#"{"type":"top_k","k":0},{"type":"logit_bias","bias":[[0,1]]},{"type":"dist"}"#),
    (r#"{"type":"biggest_gap"},{"type":"penalties","freq":0.5},{"type":"dist"}"#,
     &["step 2 (penalties) comes too late for the candidates that step 1 (biggest_gap) removes"],
     r#"{"type":"biggest_gap"},{"type":"penalties"},{"type":"dist"}"#),
    (r#"{"type":"chain","steps":[{"type":"top_k"}]},{"type":"penalties","present":0.5},{"type":"dist"}"#,
     &["step 2 (penalties) comes too late for the candidates that step 1.1 (top_k) removes"],
     r#"{"type":"chain","steps":[{"type":"top_k","k":2147483647}]},{"type":"penalties","present":0.5},{"type":"dist"}"#),
    (r#"{"type":"top_k"},{"type":"reasoning_budget","start":[[1]],"end":[[2]],"forced":[2],"budget":4},{"type":"dist"}"#,
     &["step 2 (reasoning_budget) may force a token that step 1 (top_k) has removed"],
     r#"{"type":"reasoning_budget","start":[[1]],"end":[[2]],"forced":[2],"budget":4},{"type":"top_k"},{"type":"dist"}"#),
    // What is taken for sorted, and is not.
    (r#"{"type":"top_k"},{"type":"logit_bias","bias":[[0,1]]},{"type":"min_p"},{"type":"dist"}"#,
     &["step 2 (logit_bias) comes too late for the candidates that step 1 (top_k) removes",
       "step 2 (logit_bias) changes the order that step 1 (top_k) sorted, and step 3 (min_p) takes it for sorted"],
     r#"{"type":"logit_bias","bias":[[0,1]]},{"type":"top_k"},{"type":"min_p"},{"type":"dist"}"#),
    (r#"{"type":"top_k","k":2147483647},{"type":"logit_bias","bias":[[0,1]]},{"type":"temperature"},{"type":"top_p"},{"type":"dist"}"#,
     &["step 2 (logit_bias) changes the order that step 1 (top_k) sorted, and step 4 (top_p) takes it for sorted"],
     r#"{"type":"top_k","k":2147483647},{"type":"logit_bias","bias":[[0,1]]},{"type":"penalties","freq":1},{"type":"dist"}"#),
    (r#"{"type":"top_k","k":2147483647},{"type":"logit_bias","bias":[[0,1]]},{"type":"tfs","z":0.9},{"type":"greedy"}"#,
     &["step 2 (logit_bias) changes the order that step 1 (top_k) sorted, and step 3 (tfs) takes it for sorted"],
     r#"{"type":"logit_bias","bias":[[0,1]]},{"type":"tfs","z":0.9},{"type":"dist"}"#),
    // What has no entropy.
    (r#"{"type":"top_n_sigma","n":1},{"type":"top_k"},{"type":"typ_p","p":0.9},{"type":"dist"}"#,
     &["step 3 (typ_p) cannot tell what is typical: a candidate that step 1 (top_n_sigma) masks makes the entropy NaN"],
     r#"{"type":"top_n_sigma","n":1},{"type":"min_p"},{"type":"typ_p","p":0.9},{"type":"dist"}"#),
    (r#"{"type":"logit_bias","bias":[[3,"-inf"]]},{"type":"typ_p","p":0.9},{"type":"dist"}"#,
     &["step 2 (typ_p) cannot tell what is typical: a candidate that step 1 (logit_bias) masks makes the entropy NaN"],
     r#"{"type":"logit_bias","bias":[[3,"-inf"]]},{"type":"top_k"},{"type":"typ_p","p":0.9},{"type":"dist"}"#),
    // What has nothing to do.
    (r#"{"type":"reasoning_budget","start":[[1]],"end":[[2]],"budget":4},{"type":"dist"}"#,
     &["step 1 (reasoning_budget) does nothing: it has no start, or nothing to force"],
     r#"{"type":"reasoning_budget","state":"forcing","forced":[2]},{"type":"dist"}"#),
    (r#"{"type":"reasoning_budget","forced":[1]},{"type":"greedy"}"#,
     &["step 1 (reasoning_budget) does nothing: it has no start, or nothing to force"],
     r#"{"type":"reasoning_budget","start":[[1]],"forced":[1]},{"type":"greedy"}"#),
];

#[test]
fn meaningless_steps_get_a_warning_and_others_none() {
    for (bad, expected, good) in CHAINS {
        assert_eq!(warnings(bad), expected, "{bad}");
        assert_eq!(warnings(good), [""; 0], "{good}");
    }
}

/// The tokens that a chain draws from some rows; none where it leaves nothing.
fn tokens(steps: &[Value]) -> Vec<Option<u32>> {
    let text = serde_json::to_string(&steps).unwrap();
    let file = chain(text.strip_prefix('[').unwrap().strip_suffix(']').unwrap());
    let mut sampler: Sampler = file.into_sampler(|seed| Ctx::new(seed).with_n_vocab(300)).unwrap();
    sampler.accept_prompt_all(&[1, 2, 0, 1, 2, 0, 3]).unwrap();
    let mut random = Mt19937::new(9);
    (0..200)
        .map(|_| {
            let row: Vec<f32> = (0..300).map(|_| (random.uniform_f32() - 0.5) * 20.0).collect();
            let token = sampler.sample(&row).ok();
            sampler.accept(token.unwrap_or(1)).unwrap();
            token
        })
        .collect()
}

/// A step that cannot change the token, or that removes nothing, can be left out.
#[test]
fn a_step_that_is_said_to_do_nothing_does_nothing() {
    let (mut n_left_out, mut n_mattering) = (0, 0);
    for (bad, expected, good) in CHAINS {
        let read = |text: &str| -> Vec<Value> { serde_json::from_str(&format!("[{text}]")).unwrap() };
        let steps = read(bad);
        for warning in expected.iter().filter(|_| !bad.contains("\"chain\"")) {
            let says_so = ["cannot change the token", "removes nothing", "does nothing"];
            if !says_so.iter().any(|what| warning.contains(what)) {
                continue;
            }
            let place: usize = warning.split(' ').nth(1).unwrap().parse().unwrap();
            let mut others = steps.clone();
            if others.remove(place - 1)["type"]
                .as_str()
                .is_some_and(|step| step == "mirostat_v2" || step == "adaptive_p")
            {
                others.push(json!({"type": "dist"}));
            }
            assert_eq!(tokens(&others), tokens(&steps), "{warning}: {bad}");
            n_left_out += 1;
        }
        // The rows are such that a step that does something shows.
        let steps = read(good);
        let without = |place: usize| [&steps[..place], &steps[place + 1..]].concat();
        n_mattering += (0..steps.len() - 1).filter(|place| tokens(&without(*place)) != tokens(&steps)).count();
    }
    assert!(n_left_out >= 22 && n_mattering >= 20, "{n_left_out} left out, {n_mattering} matter");
}

/// The order that a bias breaks: the next truncation drops a candidate that is likelier than one that it keeps.
#[test]
fn a_bias_behind_a_sort_misleads_a_truncation() {
    let mut row = vec![-9.0f32; 300];
    row[..4].copy_from_slice(&[3.0, 2.0, 1.0, 0.0]);
    let kept = |steps: &str| {
        let mut sampler = chain(steps).into_sampler(|seed| Ctx::new(seed).with_n_vocab(300)).unwrap();
        let mut draw = sampler.draw(&row).unwrap();
        let kept: Vec<u32> = draw.candidates().iter().map(|cand| cand.id).collect();
        kept
    };
    let (sort, bias, cut) =
        (r#"{"type":"top_k","k":4}"#, r#"{"type":"logit_bias","bias":[[3,5]]}"#, r#"{"type":"top_k","k":2}"#);
    let dist = r#"{"type":"dist"}"#;
    assert_eq!(kept(&[bias, sort, cut, dist].join(",")), [3, 0]);
    assert_eq!(kept(&[sort, bias, cut, dist].join(",")), [0, 1], "3 is the best by then");
}

#[test]
fn ready_made_chains_get_none() {
    let (mut folders, mut n) = (vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/chains")], 0);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let file = ChainFile::read(&path).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(chain_warnings(&file.chain), [], "{}", path.display());
            n += 1;
        }
    }
    assert!(n >= 13, "{n}");
}

#[test]
fn steps_that_want_a_vocabulary_are_named() {
    let wanting =
        |steps: &str| -> Vec<String> { vocab_warnings(&chain(steps).chain).iter().map(ToString::to_string).collect() };
    let bad = r#"{"type":"dry","multiplier":1},{"type":"chain","steps":[{"type":"top_k"},{"type":"infill"}]},{"type":"dist"}"#;
    let expected = [
        "step 1 (dry) wants a vocabulary, and there is none",
        "step 2.2 (infill) wants a vocabulary, and there is none",
    ];
    assert_eq!(wanting(bad), expected);
    assert_eq!(wanting(r#"{"type":"dry","multiplier":1,"breakers":[]},{"type":"dist"}"#), [""; 0]);
    assert_eq!(wanting(r#"{"type":"dry"},{"type":"dist"}"#), [""; 0]);
    assert_eq!(warnings(r#"{"type":"dry","multiplier":1},{"type":"dist"}"#), [""; 0], "it may be known later");
}

#[cfg(feature = "cli")]
mod program {
    use std::process::{Command, Output};

    fn check(args: &[&str]) -> (Output, String) {
        let output = Command::new(env!("CARGO_BIN_EXE_sampler-chain")).arg("check").args(args).output().unwrap();
        let warnings = String::from_utf8(output.stderr.clone()).unwrap();
        (output, warnings)
    }

    #[test]
    fn check_warns_and_goes_on() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("late.toml");
        let steps =
            "[[steps]]\ntype = \"top_k\"\n[[steps]]\ntype = \"dry\"\nmultiplier = 0.8\n[[steps]]\ntype = \"dist\"\n";
        std::fs::write(&path, format!("version = 1\n{steps}")).unwrap();
        let path = path.to_str().unwrap();
        let late = "warning: step 2 (dry) comes too late for the candidates that step 1 (top_k) removes\n";
        let (output, warnings) = check(&[path]);
        assert_eq!((output.status.code(), warnings.as_str()), (Some(0), late));
        assert!(String::from_utf8(output.stdout).unwrap().ends_with("   3  dist   (selects the token)\n"));
        let (output, warnings) = check(&[path, "--strict", "--no-vocab"]);
        let both = format!("{late}warning: step 2 (dry) wants a vocabulary, and there is none\n");
        assert_eq!((output.status.code(), warnings), (Some(1), both));
        let (output, warnings) = check(&["examples/chains/min-p.toml", "--strict", "--no-vocab"]);
        assert_eq!((output.status.code(), warnings.as_str()), (Some(0), ""));
    }

    /// The page shows what is printed.
    #[test]
    fn the_page_shows_these_warnings() {
        let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/chain-files.md")).unwrap();
        let shown = page.split("$ sampler-chain check late.toml\n").nth(1).unwrap().split("```").next().unwrap();
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("late.toml");
        let steps = [
            "type = \"top_k\"",
            "type = \"penalties\"\nrepeat = 1.1",
            "type = \"temperature\"\ntemp = 0",
            "type = \"min_p\"",
            "type = \"dist\"",
        ];
        std::fs::write(&path, format!("version = 1\n[[steps]]\n{}\n", steps.join("\n[[steps]]\n"))).unwrap();
        let (output, warnings) = check(&[path.to_str().unwrap()]);
        assert_eq!(String::from_utf8(output.stdout).unwrap() + &warnings, shown);
    }

    #[test]
    fn check_warns_of_a_requests_chain() {
        let (output, warnings) =
            check(&["--request", r#"{"samplers": ["top_k", "penalties"], "repeat_penalty": 1.1}"#]);
        let late = "warning: step 2 (penalties) comes too late for the candidates that step 1 (top_k) removes\n";
        assert_eq!((output.status.code(), warnings.as_str()), (Some(0), late));
        let (output, warnings) = check(&["--strict", "--request", r#"{"temperature": 0, "repeat_penalty": 1.1}"#]);
        assert_eq!((output.status.code(), warnings.as_str()), (Some(0), ""));
    }
}
