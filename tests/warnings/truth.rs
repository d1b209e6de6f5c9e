//! Warnings are true of random chains, and where a step gets none it can matter.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use super::cases::Random;
use super::claims::{Found, judge, kind, matters, random_chain, warnings};
use super::pool;
use super::runs::Text;

/// Every kind that `chain_warnings` gives.
const KINDS: [&str; 15] = [
    "BanMayFail",
    "BansAll",
    "BeforeGreedy",
    "BreaksOrder",
    "Decided",
    "ForcedIsGone",
    "NeverSwitches",
    "NoEntropy",
    "NoEstimate",
    "NothingToForce",
    "NothingToProtect",
    "NothingToProtectFrom",
    "NothingToRemove",
    "ProtectsBanned",
    "TooLate",
];

#[test]
fn warnings_of_random_chains_are_true() {
    let mut random = Random::new(11);
    let (mut shown, mut wrong) = (BTreeMap::<String, [usize; 2]>::new(), Vec::new());
    for i in 0..1000 {
        let n = 2 + random.below(4);
        let chain = random_chain(&mut random, n, [0, 2][i % 2]);
        let texts = [Text::random(&mut random, 12), Text::random(&mut random, 12), Text::repeating(&mut random)];
        for warning in warnings(&chain) {
            let count = shown.entry(kind(&warning.why)).or_default();
            count[1] += 1;
            for text in &texts {
                match judge(&chain, &warning, text) {
                    Found::Shown => count[0] += 1,
                    Found::Holds => {}
                    Found::False(why) => {
                        wrong.push(format!(
                            "{warning}\n{}\n{}\n",
                            json!(chain),
                            why.chars().take(300).collect::<String>()
                        ));
                        break;
                    }
                }
            }
        }
    }
    println!("{shown:?}");
    assert!(wrong.is_empty(), "{} of {shown:?} are wrong\n{}", wrong.len(), wrong[..wrong.len().min(25)].join("\n"));
    assert!(shown.keys().eq(KINDS.iter()), "{:?}", shown.keys());
}

/// Whether it is arithmetic alone whether the second step can matter behind the first: of two truncations either may take all
/// that the other does, and what bans or forces may do so to the same tokens.
fn is_undecided([first, second, last]: [&str; 3]) -> bool {
    let is = |step: &str, kinds: &[&str]| kinds.iter().any(|kind| step.contains(&format!("\"type\":\"{kind}\"")));
    let truncates = |step: &str| {
        is(
            step,
            &["top_k", "top_p", "min_p", "typ_p", "top_n_sigma", "xtc", "top_a", "tfs", "top_p_decay", "biggest_gap"],
        ) || is(step, &["epsilon_cutoff", "eta_cutoff", "top_h", "p_less", "min_k"])
    };
    let bans = is(first, &["no_repeat_ngram", "suppress_tokens", "min_new_tokens", "reasoning_budget"])
        || first.contains("-inf");
    let both_truncate = truncates(first) && truncates(second);
    // What is typical of 0.9 has the best in all rows but the flattest.
    let is_wide = is(second, &["typ_p"]) && second.contains("0.9") && last.contains("greedy");
    both_truncate || bans || is_wide || is(first, &["infill"]) || is(second, &["infill"])
}

/// Each step behind each other one: what a warning says may be can be seen, and a step that gets no warning can change a token.
#[test]
fn a_step_behind_another_can_matter_or_is_told() {
    let mut random = Random::new(5);
    let mut texts: Vec<Text> = (0..30).map(|_| Text::random(&mut random, 12)).collect();
    texts.push(Text::repeating(&mut random));
    let pairs: Vec<(&str, &str)> =
        pool::STEPS.iter().flat_map(|first| pool::STEPS.iter().map(move |second| (*first, *second))).collect();
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let judge_pair = |(first, second): (&str, &str)| {
        for last in &pool::SELECTIONS[..2] {
            let chain: Vec<Value> = [first, second, last].map(pool::read).to_vec();
            let found = warnings(&chain);
            for warning in &found {
                if !texts.iter().any(|text| matches!(judge(&chain, warning, text), Found::Shown)) {
                    wrong.lock().unwrap().push(format!("not seen: {warning}: {}", json!(chain)));
                }
            }
            let is_told = found.iter().any(|warning| warning.at.index == "2");
            if !is_told && !is_undecided([first, second, last]) && !texts.iter().any(|text| matters(&chain, "2", text))
            {
                wrong.lock().unwrap().push(format!("of no matter: {first} {second} {last}"));
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(pair) = pairs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    judge_pair(*pair);
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
}

/// A step that changes nothing with its values gets no warning, and no other one does for its sake.
#[test]
fn a_step_that_changes_nothing_is_as_good_as_none() {
    let mut random = Random::new(3);
    let text = Text::random(&mut random, 12);
    for idle in pool::IDLE {
        for other in pool::STEPS {
            for last in pool::SELECTIONS {
                let [idle, other, last] = [idle, other, last].map(|step| pool::read(step));
                let with = vec![idle.clone(), other.clone(), last.clone()];
                let plain = warnings(&[json!({"type": "chain", "steps": []}), other.clone(), last.clone()]);
                assert_eq!(warnings(&with), plain, "{}", json!(with));
                assert!(warnings(&[other, idle.clone(), last]).iter().all(|warning| warning.at.index != "2"), "{idle}");
            }
        }
        let with = [pool::read(idle), pool::read(pool::SELECTIONS[0])];
        assert!(!matters(&with, "1", &text), "{idle}");
    }
}
