//! Warnings of meaningless chains: who gets which, who gets none, and that they are true.

#[expect(dead_code, reason = "what it makes for single steps is not used here")]
#[path = "facts/cases.rs"]
mod cases;
#[path = "warnings/claims.rs"]
mod claims;
#[path = "warnings/community_pairs.rs"]
mod community_pairs;
#[path = "warnings/pool.rs"]
mod pool;
#[path = "warnings/runs.rs"]
mod runs;
#[path = "warnings/stock_pairs.rs"]
mod stock_pairs;
#[path = "warnings/truth.rs"]
mod truth;

use std::path::Path;

use biggest_gap as _;
use claims::Found;
use community_pairs::OF_COMMUNITY;
use runs::Text;
use sampler_chain::{ChainFile, Ctx, Format, chain_warnings, vocab_warnings};
use serde_json::Value;
use stock_pairs::{Pair, STOCK};

fn chain(steps: &str) -> ChainFile {
    let text = format!("{{\"version\": 1, \"seed\": 5, \"steps\": [{steps}]}}");
    ChainFile::parse(&text, Format::Json, Path::new("chain.json")).unwrap_or_else(|error| panic!("{error}"))
}

fn warnings(steps: &str) -> Vec<String> {
    chain_warnings(&chain(steps).chain).iter().map(ToString::to_string).collect()
}

fn all_pairs() -> impl Iterator<Item = &'static Pair> {
    STOCK.iter().chain(OF_COMMUNITY)
}

#[test]
fn meaningless_steps_get_a_warning_and_others_none() {
    for (bad, expected, good) in all_pairs() {
        assert_eq!(warnings(bad), *expected, "{bad}");
        assert_eq!(warnings(good), [""; 0], "{good}");
    }
}

/// What each of these warnings claims is so, and what it says may be can be seen, in rows of forty tokens.
#[test]
fn the_warnings_of_these_chains_are_true() {
    let mut random = cases::Random::new(9);
    let mut texts: Vec<Text> = (0..60).map(|_| Text::random(&mut random, 12)).collect();
    texts.push(Text::repeating(&mut random));
    let mut n_seen = 0;
    for (bad, ..) in all_pairs() {
        // Forty are all that there are.
        let steps: Vec<Value> =
            serde_json::from_str(&format!("[{}]", bad.replace(r#""top_k"}"#, r#""top_k","k":9}"#))).unwrap();
        for warning in claims::warnings(&steps) {
            let mut is_seen = false;
            for text in &texts {
                match claims::judge(&steps, &warning, text) {
                    Found::Shown => is_seen = true,
                    Found::Holds => {}
                    Found::False(why) => panic!("{warning}: {bad}\n{why}"),
                }
                if is_seen && n_seen % 4 > 0 {
                    break;
                }
            }
            assert!(is_seen, "{warning}: {bad}");
            n_seen += 1;
        }
    }
    assert!(n_seen >= 170, "{n_seen}");
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
    let nested = r#"{"type":"switch","after":[[1]],"first":[{"type":"dry","multiplier":1}],"second":[{"type":"chain","steps":
        [{"type":"top_k"},{"type":"min_new_tokens","n":3}]}]},{"type":"protect","eog":true,"steps":[{"type":"infill"}]},
        {"type":"protect","tokens":[1],"steps":[{"type":"infill"}]},{"type":"protect","pieces":["a"],"steps":[{"type":"top_k"}]},
        {"type":"dist"}"#;
    let at = [
        "1.first.1 (dry)",
        "1.second.1.2 (min_new_tokens)",
        "2 (protect)",
        "2.1 (infill)",
        "3.1 (infill)",
        "4 (protect)",
    ];
    assert_eq!(wanting(nested), at.map(|at| format!("step {at} wants a vocabulary, and there is none")));
}

/// What draws without a generator is a selection like any other one.
#[test]
fn a_selection_stands_last_and_alone() {
    let refusal = |steps: &str| {
        let text = format!("{{\"version\": 1, \"steps\": [{steps}]}}");
        let error = ChainFile::parse(&text, Format::Json, Path::new("chain.json")).unwrap_err().to_string();
        error.split_once(": ").unwrap().1.to_string()
    };
    for selection in pool::SELECTIONS {
        let name = pool::read(selection)["type"].as_str().unwrap().to_string();
        let follows = |steps: &str, expected: &str| assert_eq!(refusal(steps), expected, "{steps}");
        let last = format!("({name}), which selects the token and must be the last");
        follows(&format!(r#"{selection},{{"type":"top_k"}}"#), &format!("step 2 (top_k) follows step 1 {last}"));
        follows(&format!(r#"{selection},{{"type":"dist"}}"#), &format!("step 2 (dist) follows step 1 {last}"));
        follows(
            &format!(r#"{{"type":"gumbel"}},{selection}"#),
            &format!("step 2 ({name}) follows step 1 (gumbel), which selects the token and must be the last"),
        );
        let both = format!(r#"{{"type":"switch","after":[[1]],"first":[{selection}],"second":[{{"type":"gumbel"}}]}}"#);
        assert_eq!(warnings(&both), [""; 0]);
        follows(
            &format!(r#"{both},{{"type":"top_k"}}"#),
            "step 2 (top_k) follows step 1 (switch), which selects the token and must be the last",
        );
        let one = format!(r#"{{"type":"switch","after":[[1]],"first":[{selection}],"second":[]}},{{"type":"dist"}}"#);
        follows(
            &one,
            "step 1 (switch): second: is refused beside first: one of them selects the token, and the other does not",
        );
        let early = format!(
            r#"{{"type":"switch","after":[[1]],"first":[{selection},{{"type":"top_k"}}],"second":[{{"type":"gumbel"}}]}}"#
        );
        follows(&early, &format!("step 1 (switch): first: step 2 (top_k) follows step 1 {last}"));
        let inside = format!(r#"{{"type":"protect","tokens":[1],"steps":[{selection}]}},{{"type":"dist"}}"#);
        follows(&inside, &format!("step 1 (protect): steps: {name} is refused: what selects the token stands behind"));
    }
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

    /// The places of warnings are those of the lines above them, and what changes nothing is called off.
    #[test]
    fn check_names_places_inside_others() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("switch.json");
        let steps = r#"{"type":"switch","after":[[5]],
            "first":[{"type":"top_k","k":1},{"type":"top_p_decay","p":1,"decay":1,"min":0},{"type":"top_a"}],
            "second":[{"type":"protect","tokens":[2],"steps":[{"type":"top_h"},{"type":"rep_pen_slope","penalty":2}]}]},
            {"type":"dist"}"#;
        std::fs::write(&path, format!("{{\"version\": 1, \"steps\": [{steps}]}}")).unwrap();
        let (output, warnings) = check(&[path.to_str().unwrap()]);
        let printed = String::from_utf8(output.stdout).unwrap();
        let expected = "warning: step 1.first.3 (top_a) cannot change the token: step 1.first.1 (top_k) leaves one candidate to draw\n\
            warning: step 1.second.1.2 (rep_pen_slope) comes too late for the candidates that step 1.second.1.1 (top_h) removes\n";
        assert_eq!(warnings, expected);
        for place in ["1.first.3  top_a", "1.second.1.1  top_h", "1.second.1.2  rep_pen_slope"] {
            assert!(printed.contains(place), "{printed}");
        }
        let off: Vec<&str> =
            printed.lines().filter(|line| line.ends_with("(off: its parameters change nothing)")).collect();
        assert!(matches!(off.as_slice(), [one] if one.trim().starts_with("1.first.2  top_p_decay")), "{printed}");
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
