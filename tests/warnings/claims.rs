//! What a warning claims, held against what the chain does.

use sampler_chain::{Chain, Meaningless, SamplerStep, Warning, chain_warnings};
use serde_json::{Value, json};

use super::cases::Random;
use super::pool;
use super::runs::{N_VOCAB, Seen, Text, replaced, sampler, watch};

/// The warnings of such steps.
pub fn warnings(steps: &[Value]) -> Vec<Warning> {
    let steps: Vec<Box<dyn SamplerStep>> = serde_json::from_value(json!(steps)).unwrap();
    chain_warnings(&Chain::from(steps))
}

/// The name of a kind of warning.
pub fn kind(why: &Meaningless) -> String {
    let name = format!("{why:?}");
    name.split([' ', '{']).next().unwrap_or_default().to_string()
}

/// Whether a warning's claim holds in a text, and whether the text shows what may be.
pub enum Found {
    /// It holds, and may not be seen.
    Holds,
    /// It is seen.
    Shown,
    /// It does not hold.
    False(String),
}

fn without(steps: &[Value], place: &str) -> Vec<Value> {
    replaced(steps, place, |step| if pool::selects(&step) { vec![json!({"type": "dist"})] } else { vec![] })
}

/// The tokens, and the draws in which two of the best are equal, which `smoothing` makes of two that are next to each other.
fn tokens_and_ties(steps: &[Value], text: &Text) -> (Vec<Option<u32>>, Vec<usize>) {
    fn watched(steps: &[Value]) -> Vec<Value> {
        let mut all = Vec::new();
        for step in steps {
            let mut step = step.clone();
            for field in ["steps", "first", "second"] {
                if let Some(inner) = step.get_mut(field).filter(|inner| inner.is_array()) {
                    *inner = json!(watched(inner.as_array().unwrap()));
                }
            }
            let is = |kind: &str| (step["type"] == kind).then(|| watch(9));
            all.extend([is("greedy"), Some(step.clone()), is("smoothing")].into_iter().flatten());
        }
        all
    }
    let (tokens, seen) = text.watched(&watched(steps));
    let is_tied = |seen: &&Seen| {
        let best = seen.cands.iter().fold(f32::NEG_INFINITY, |best, cand| best.max(cand.1));
        seen.cands.iter().filter(|cand| cand.1 == best).count() > 1
    };
    let ties = seen.iter().filter(is_tied).map(|seen| seen.draw - text.prompt.len()).collect();
    (tokens, ties)
}

fn holds_if(holds: bool, why: impl FnOnce() -> String) -> Found {
    if holds { Found::Shown } else { Found::False(why()) }
}

/// Holds a warning of a chain against what the chain does with a text.
pub fn judge(steps: &[Value], warning: &Warning, text: &Text) -> Found {
    let at = warning.at.index.as_str();
    // Behind `infill` a probability of before may be NaN, and be refused or be computed again.
    let is_lenient = json!(steps).to_string().contains("infill");
    let draws_as = |others: &[Value]| {
        let ((with, ties), (without, other_ties)) = (tokens_and_ties(steps, text), tokens_and_ties(others, text));
        let is_same = |i: usize| {
            let is_refused = is_lenient && (with[i].is_none() || without[i].is_none());
            with[i] == without[i] || is_refused || ties.contains(&i) || other_ties.contains(&i)
        };
        // A refused draw may leave NaN in an average.
        let n = (0..with.len()).position(|i| with[i].is_none() && without[i].is_none());
        holds_if((0..n.unwrap_or(with.len())).all(is_same), || format!("{with:?}\nwithout {without:?}"))
    };
    match &warning.why {
        Meaningless::Decided { .. } | Meaningless::BeforeGreedy { .. } | Meaningless::NothingToForce => {
            draws_as(&without(steps, at))
        }
        Meaningless::NothingToProtect | Meaningless::NothingToProtectFrom | Meaningless::ProtectsBanned { .. } => {
            // One step still, from which another one around it may bring back.
            let alike = |step: Value| vec![json!({"type": "switch", "first": step["steps"]})];
            draws_as(&replaced(steps, at, alike))
        }
        Meaningless::NeverSwitches => draws_as(&replaced(steps, at, |mut step| {
            step["second"] = step["first"].clone();
            vec![step]
        })),
        Meaningless::NothingToRemove { .. } => {
            let watched = replaced(steps, at, |step| vec![watch(1), step, watch(2)]);
            let (_, seen) = text.watched(&watched);
            let same = |[before, after]: [&Seen; 2]| before.ids() == after.ids() && before.alive() == after.alive();
            let same = each(&seen, [1, 2]).all(same);
            holds_if(same, || format!("{seen:?}"))
        }
        Meaningless::TooLate { by } | Meaningless::ForcedIsGone { by } => {
            let watched = replaced(steps, at, |step| vec![watch(3), step]);
            let watched = replaced(&watched, &by.index, |step| vec![watch(1), step, watch(2)]);
            let (_, seen) = text.watched(&watched);
            let mut is_shown = false;
            for [before, after, late] in each(&seen, [1, 2, 3]) {
                let (after, late) = (after.alive(), late.alive());
                let lost: Vec<u32> = before.alive().into_iter().filter(|id| !after.contains(id)).collect();
                if lost.iter().any(|id| late.contains(id)) {
                    return Found::False(format!("{lost:?} are there again: {late:?}"));
                }
                is_shown |= !lost.is_empty();
            }
            if is_shown { Found::Shown } else { Found::Holds }
        }
        Meaningless::BanMayFail { .. } => {
            let mut banning = Value::Null;
            let watched = replaced(steps, at, |step| {
                banning = step.clone();
                vec![watch(1), step, watch(2)]
            });
            let (_, seen) = text.watched(&watched);
            let passes = |[before, after]: [&Seen; 2]| {
                let banned = banned(&banning, text, after.draw);
                let all = !before.alive().is_empty() && before.alive().iter().all(|id| banned.contains(id));
                all && after.alive().len() == 1
            };
            if each(&seen, [1, 2]).any(passes) { Found::Shown } else { Found::Holds }
        }
        Meaningless::BansAll { .. } => {
            let (with, without) = (text.tokens(steps), text.tokens(&without(steps, at)));
            let is_shown = with.iter().zip(without).any(|(with, without)| with.is_none() && without.is_some());
            if is_shown { Found::Shown } else { Found::Holds }
        }
        Meaningless::BreaksOrder { used_by, .. } => {
            let watched = replaced(steps, &used_by.index, |step| vec![watch(1), step]);
            let (_, seen) = text.watched(&watched);
            let is_wrong = |seen: &Seen| seen.sorted && !seen.cands.is_sorted_by(|a, b| a.1 >= b.1);
            if seen.iter().any(is_wrong) { Found::Shown } else { Found::Holds }
        }
        Meaningless::NoEntropy { by } | Meaningless::NoEstimate { by } => {
            let watched = replaced(steps, at, |step| vec![watch(3), step]);
            let watched = replaced(&watched, &by.index, |step| vec![watch(1), step, watch(2)]);
            let (_, seen) = text.watched(&watched);
            let is_masked = |[before, after, late]: [&Seen; 3]| {
                let is = |seen: &Seen, id: u32| seen.cands.iter().any(|c| c.0 == id && c.1 == f32::NEG_INFINITY);
                before.alive().into_iter().any(|id| is(after, id) && is(late, id))
            };
            if !each(&seen, [1, 2, 3]).any(is_masked) {
                return Found::Holds;
            }
            if !matches!(warning.why, Meaningless::NoEstimate { .. }) {
                return Found::Shown;
            }
            // Forty are fewer than the first hundred: the best is what it keeps.
            let tokens = text.tokens(steps);
            let wrong =
                seen.iter().filter(|seen| seen.mark == 3 && seen.alive().len() < seen.cands.len()).find(|seen| {
                    // The first, where the set is called sorted.
                    let others = if seen.sorted { &[] } else { seen.cands.as_slice() };
                    let best =
                        others.iter().fold(seen.cands[0], |best, cand| if cand.1 > best.1 { *cand } else { best });
                    let drawn = tokens[seen.draw - text.prompt.len()];
                    drawn.is_some_and(|drawn| drawn != best.0)
                });
            holds_if(wrong.is_none(), || format!("{wrong:?} {tokens:?}"))
        }
        Meaningless::NoVocab => Found::False("it was not asked for".into()),
        other => Found::False(format!("{other:?}: nobody knows how to judge it")),
    }
}

/// What the watches of these marks saw at each draw at which all of them saw something.
fn each<const N: usize>(seen: &[Seen], marks: [u32; N]) -> impl Iterator<Item = [&Seen; N]> {
    let first = seen.iter().filter(move |seen| seen.mark == marks[N - 1]);
    first.filter_map(move |last| {
        let all = marks.map(|mark| seen.iter().find(|seen| seen.mark == mark && seen.draw == last.draw));
        all.iter().all(Option::is_some).then(|| all.map(|seen| seen.unwrap_or(last)))
    })
}

/// The tokens that a step bans when so many are accepted: a plain twin.
fn banned(step: &Value, text: &Text, n_accepted: usize) -> Vec<u32> {
    let accepted = text.prompt.iter().copied().chain(text.rows.iter().map(|(_, next)| *next));
    let past: Vec<u32> = accepted.take(n_accepted).collect();
    let ids = |value: &Value| -> Option<Vec<u32>> { serde_json::from_value(value.clone()).ok() };
    match step["type"].as_str().unwrap() {
        "suppress_tokens" => ids(&step["tokens"]).unwrap_or_default(),
        "min_new_tokens" if past.len() - text.prompt.len() >= step["n"].as_u64().unwrap() as usize => vec![],
        "min_new_tokens" => {
            ids(&step["tokens"]).unwrap_or_else(|| (0..N_VOCAB as u32).filter(|id| id % 10 == 2).collect())
        }
        "sequence_bias" => {
            let sequences = step["bias"].as_array().unwrap().iter().filter(|pair| pair[1] == "-inf");
            let sequences: Vec<Vec<u32>> = sequences.filter_map(|pair| ids(&pair[0])).collect();
            let matches = sequences.iter().filter(|tokens| past.ends_with(&tokens[..tokens.len() - 1]));
            matches.map(|tokens| tokens[tokens.len() - 1]).collect()
        }
        "no_repeat_ngram" => {
            let n = step["n"].as_u64().unwrap() as usize;
            let Some(at) = (past.len() + 1).checked_sub(n) else { return vec![] };
            let copies = past.windows(n).filter(|gram| gram[..n - 1] == past[at..]);
            copies.map(|gram| gram[n - 1]).collect()
        }
        other => panic!("{other}"),
    }
}

/// Whether a step of a chain changes a token of a text, or whether there is one.
pub fn matters(steps: &[Value], place: &str, text: &Text) -> bool {
    text.tokens(steps) != text.tokens(&without(steps, place))
}

/// A chain that can run.
pub fn random_chain(random: &mut Random, n: usize, depth: usize) -> Vec<Value> {
    loop {
        let chain = pool::chain(random, n, depth);
        if sampler(&chain, 1).is_some() {
            return chain;
        }
    }
}
