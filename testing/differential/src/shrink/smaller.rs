//! Ways to make a case smaller. Each changes the best case to a smaller one that still fails, and tells whether it did.

use sampler_chain::NonFinite;

use crate::case::{Case, End, Event};
use crate::step::Step;

type Fails<'f> = dyn FnMut(&Case) -> bool + 'f;

/// All of them, those that win most first.
pub const ALL: [fn(&mut Case, &mut Fails<'_>) -> bool; 8] =
    [settings, draws, steps, candidates, history, lists, parameters, logits];

/// Takes the changed case for the best one if it still fails.
fn attempt(best: &mut Case, fails: &mut Fails<'_>, change: impl FnOnce(&mut Case)) -> bool {
    let mut other = best.clone();
    change(&mut other);
    if other == *best || !fails(&other) {
        return false;
    }
    *best = other;
    true
}

/// Removes pieces of a list, large ones first. `remove` takes a range out of the case's list.
fn pieces(
    best: &mut Case,
    fails: &mut Fails<'_>,
    len: impl Fn(&Case) -> usize,
    remove: impl Fn(&mut Case, std::ops::Range<usize>),
) -> bool {
    let mut did = false;
    let mut size = len(best);
    while size > 0 {
        let mut at = 0;
        while at < len(best) {
            let end = (at + size).min(len(best));
            if attempt(best, fails, |case| remove(case, at..end)) {
                did = true;
            } else {
                at += size;
            }
        }
        size /= 2;
    }
    did
}

/// What belongs to the run and not to the chain.
fn settings(best: &mut Case, fails: &mut Fails<'_>) -> bool {
    let mut did = attempt(best, fails, |case| case.start = None);
    if let Some(start) = best.start.clone() {
        did |= attempt(best, fails, |case| case.start = Some(crate::case::Start { selected: None, p: 0.0, ..start }));
    }
    did |= attempt(best, fails, |case| case.looks = 0);
    did |= attempt(best, fails, |case| case.seeds = None);
    did |= attempt(best, fails, |case| case.told = Some(case.n_vocab));
    if !best.steps.iter().any(Step::wants_vocab) {
        did |= attempt(best, fails, |case| case.vocab = None);
    }
    did |= attempt(best, fails, |case| case.end = End::All);
    did |= attempt(best, fails, |case| case.policy = NonFinite::LikeLlamaCpp);
    did | attempt(best, fails, |case| case.seed = 1)
}

/// Fewer draws, rows and events.
fn draws(best: &mut Case, fails: &mut Fails<'_>) -> bool {
    let mut did = pieces(best, fails, |case| case.draws.len(), |case, range| drop(case.draws.drain(range)));
    for at in 0..best.draws.len() {
        let plain = vec![Event::AcceptDrawn];
        if best.draws[at] == plain {
            continue;
        }
        // The simplest: such a case can be written.
        if attempt(best, fails, |case| case.draws[at] = plain) {
            did = true;
            continue;
        }
        let pop = |case: &mut Case| {
            case.draws[at].pop();
        };
        while !best.draws[at].is_empty() && attempt(best, fails, pop) {
            did = true;
        }
    }
    did | pieces(best, fails, |case| case.rows.len(), |case, range| drop(case.rows.drain(range)))
}

/// Fewer steps. A chain inside gives way to its steps.
fn steps(best: &mut Case, fails: &mut Fails<'_>) -> bool {
    let mut did = pieces(best, fails, |case| case.steps.len(), remove_steps);
    for at in (0..best.steps.len()).rev() {
        if let Step::Chain { steps } = best.steps[at].clone() {
            did |= attempt(best, fails, |case| {
                let n = steps.len();
                drop(case.steps.splice(at..=at, steps));
                if let Some(seeds) = &mut case.seeds {
                    let seed = seeds[at];
                    drop(seeds.splice(at..=at, vec![seed; n]));
                }
            });
        }
    }
    // The recorders' cases have a token.
    if !best.ends_with_its_selector() {
        did |= attempt(best, fails, |case| {
            case.steps.push(Step::Greedy);
            case.seeds.iter_mut().for_each(|seeds| seeds.push(1));
        });
    }
    did
}

fn remove_steps(case: &mut Case, range: std::ops::Range<usize>) {
    drop(case.steps.drain(range.clone()));
    case.seeds.iter_mut().for_each(|seeds| drop(seeds.drain(range.clone())));
}

/// Fewer candidates. A vocabulary says how many there are.
fn candidates(best: &mut Case, fails: &mut Fails<'_>) -> bool {
    let mut did = false;
    if best.start.is_some() {
        let len = |case: &Case| case.start.as_ref().map_or(0, |start| start.ids.len());
        did = pieces(best, fails, len, |case, range| {
            let Some(start) = &mut case.start else { return };
            if range.len() < start.ids.len() {
                start.ids.drain(range);
                start.selected = start.selected.filter(|&at| at < start.ids.len());
            }
        });
    }
    if best.vocab.is_some() {
        return did;
    }
    did | pieces(best, fails, |case| case.n_vocab, remove_tokens)
}

/// Takes tokens out of the vocabulary; those behind them get lower ids.
fn remove_tokens(case: &mut Case, range: std::ops::Range<usize>) {
    if range.len() >= case.n_vocab {
        return;
    }
    let n_before = case.n_vocab;
    let moved = |id: u32| match id as usize {
        at if at < range.start => Some(id),
        at if at < range.end => None,
        at if at >= n_before => Some(id),
        _ => Some(id - range.len() as u32),
    };
    if case.told == Some(case.n_vocab) {
        case.told = Some(case.n_vocab - range.len());
    }
    case.n_vocab -= range.len();
    case.rows.iter_mut().for_each(|row| drop(row.logits.drain(range.clone())));
    case.prompt = case.prompt.iter().filter_map(|&id| moved(id)).collect();
    for event in case.draws.iter_mut().flatten() {
        if let Event::Accept(token) = event {
            *token = moved(*token).unwrap_or(0);
        }
    }
    if let Some(start) = &mut case.start {
        start.ids = start.ids.iter().filter_map(|&id| moved(id)).collect();
        start.selected = start.selected.filter(|&at| at < start.ids.len());
    }
    for step in &mut case.steps {
        visit(step, &mut |step| match step {
            Step::LogitBias { bias } => {
                *bias = bias.iter().filter_map(|&(id, bias)| Some((moved(id)?, bias))).collect();
            }
            Step::Dry { breakers, .. } => {
                let kept = |breaker: &Vec<u32>| breaker.iter().map(|&id| moved(id)).collect::<Option<Vec<u32>>>();
                *breakers = breakers.iter().filter_map(kept).collect();
            }
            _ => {}
        });
    }
}

fn visit(step: &mut Step, see: &mut impl FnMut(&mut Step)) {
    match step {
        Step::Chain { steps } => steps.iter_mut().for_each(|step| visit(step, see)),
        step => see(step),
    }
}

fn history(best: &mut Case, fails: &mut Fails<'_>) -> bool {
    pieces(best, fails, |case| case.prompt.len(), |case, range| drop(case.prompt.drain(range)))
}

/// Fewer biases and breakers.
fn lists(best: &mut Case, fails: &mut Fails<'_>) -> bool {
    let mut did = false;
    for at in 0..best.steps.len() {
        let len = |case: &Case| match &case.steps[at] {
            Step::LogitBias { bias } => bias.len(),
            Step::Dry { breakers, .. } => breakers.len(),
            Step::DryTexts { texts, .. } => texts.len(),
            _ => 0,
        };
        did |= pieces(best, fails, len, |case, range| match &mut case.steps[at] {
            Step::LogitBias { bias } => drop(bias.drain(range)),
            Step::Dry { breakers, .. } => drop(breakers.drain(range)),
            Step::DryTexts { texts, .. } => drop(texts.drain(range)),
            _ => {}
        });
    }
    did
}

/// Simpler parameters.
fn parameters(best: &mut Case, fails: &mut Fails<'_>) -> bool {
    let mut did = false;
    for at in 0..best.steps.len() {
        for which in 0..best.steps[at].floats().len() {
            let value = *best.steps[at].floats()[which];
            did |= first_simpler(&simpler(value), value, |x| {
                attempt(best, fails, |case| *case.steps[at].floats()[which] = x)
            });
        }
        for which in 0..best.steps[at].counts().len() {
            let value = *best.steps[at].counts()[which];
            let simpler = [0, 1, 2, 5, value / 2, value.saturating_sub(value.signum())];
            did |= simpler
                .into_iter()
                .filter(|x| x.unsigned_abs() < value.unsigned_abs())
                .any(|x| attempt(best, fails, |case| *case.steps[at].counts()[which] = x));
        }
        did |= attempt(best, fails, |case| case.steps[at].min_keep().into_iter().for_each(|keep| *keep = 0));
    }
    did
}

/// Simpler logits, where there are not many.
fn logits(best: &mut Case, fails: &mut Fails<'_>) -> bool {
    if best.n_vocab > 64 {
        return false;
    }
    let mut did = false;
    for row in 0..best.rows.len() {
        for at in 0..best.n_vocab {
            let value = best.rows[row].logits[at];
            did |=
                first_simpler(&simpler(value), value, |x| attempt(best, fails, |case| case.rows[row].logits[at] = x));
        }
    }
    did
}

/// Simpler floats than this one, the simplest first.
fn simpler(x: f32) -> [f32; 7] {
    let rounded = |digits: f32| (x * digits).round() / digits;
    [0.0, 1.0, 0.5, 2.0, rounded(1.0), rounded(10.0), rounded(1000.0)]
}

/// Tries simpler values until one does, none of them less simple than the value is.
fn first_simpler(simpler: &[f32], value: f32, attempt: impl FnMut(f32) -> bool) -> bool {
    let known = simpler.iter().position(|x| x.to_bits() == value.to_bits()).unwrap_or(simpler.len());
    simpler[..known].iter().copied().any(attempt)
}
