//! A failing case as an oracle case: what libllama does, for `sampler-chain verify` to replay.

use std::path::Path;

use libllama::{Candidates, Sampler, TokenData};
use sampler_chain::Cand;
use sampler_chain::oracle::digest;
use serde_json::{Value, json};

use crate::case::{Case, Event};
use crate::step::{Build, Oracle, Step, chain, leaves};

/// Why a case cannot be an oracle case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Inexpressible {
    /// It begins with other candidates than a row's.
    #[error("it begins with other candidates than a row of logits")]
    Start,
    /// Something but accepting the drawn token happens between draws.
    #[error("between draws something else happens than accepting the drawn token")]
    Events,
    /// Its chain does not end with the only step that selects.
    #[error("its chain does not end with the one step that selects a token")]
    Selector,
    /// A logit is NaN.
    #[error("a logit is NaN, which JSON does not have")]
    Nan,
    /// It looks into a vocabulary.
    #[error("infill looks into a vocabulary, which the case would have to name")]
    Vocabulary,
}

/// The case as one line of an oracle case file. The steps' names are those of `build`; what is expected is what
/// libllama does.
///
/// # Errors
/// What the format has no words for.
pub fn oracle_case(oracle: &Oracle, case: &Case, build: &Build, name: &str) -> Result<Value, Inexpressible> {
    check(case)?;
    let chain = serde_json::to_value(chain(&case.steps, build)).unwrap_or_default();
    let rows: Vec<&[f32]> = (0..case.draws.len()).map(|draw| case.row(draw).logits.as_slice()).collect();
    let values: Vec<Vec<Value>> = rows.iter().map(|row| row.iter().map(|&logit| number(logit)).collect()).collect();
    Ok(json!({
        "name": name,
        "source": "libllama b11192",
        "logits": {"values": values},
        "prompt": case.prompt,
        "chain": {"seed": case.seed, "steps": chain["steps"]},
        "expect": recorded(oracle, &case.steps, case.seed, &case.prompt, &rows),
    }))
}

/// Writes an oracle case file of one case.
///
/// # Errors
/// The system's.
pub fn write(case: &Value, path: &Path) -> std::io::Result<()> {
    std::fs::write(path, format!("{case}\n"))
}

fn check(case: &Case) -> Result<(), Inexpressible> {
    if case.start.is_some() {
        return Err(Inexpressible::Start);
    }
    if !case.ends_with_its_selector() {
        return Err(Inexpressible::Selector);
    }
    if leaves(&case.steps).iter().any(|step| matches!(step, Step::Infill)) {
        return Err(Inexpressible::Vocabulary);
    }
    if case.rows.iter().flat_map(|row| &row.logits).any(|logit| logit.is_nan()) {
        return Err(Inexpressible::Nan);
    }
    let (last, before) = case.draws.split_last().ok_or(Inexpressible::Events)?;
    let is_plain = |events: &Vec<Event>| *events == [Event::AcceptDrawn];
    let ends_plainly = last.is_empty() || is_plain(last);
    if ends_plainly && before.iter().all(is_plain) { Ok(()) } else { Err(Inexpressible::Events) }
}

/// What libllama does with a chain, as the key `expect` of a case has it: tokens, final sets and steps. The steps must
/// be such as
/// `left_out` lets through.
pub fn recorded(oracle: &Oracle, steps: &[Step], seed: u32, prompt: &[u32], rows: &[impl AsRef<[f32]>]) -> Value {
    let n_vocab = rows.first().map_or(0, |row| row.as_ref().len());
    let mut samplers: Vec<Sampler> = steps.iter().map(|step| oracle.sampler(step, seed, n_vocab)).collect();
    let accept = |samplers: &mut Vec<Sampler>, token: i32| {
        samplers.iter_mut().for_each(|sampler| sampler.accept(token));
    };
    prompt.iter().for_each(|&token| accept(&mut samplers, token as i32));
    let (mut tokens, mut finals, mut steps, mut set) = (Vec::new(), Vec::new(), Vec::new(), Candidates::default());
    for row in rows {
        set.fill_with_row(row.as_ref());
        let mut of_row = Vec::new();
        for sampler in &mut samplers {
            #[expect(unsafe_code, reason = "C++ is called, which left_out knows")]
            // SAFETY: `left_out` has let the steps through, and no row is empty.
            unsafe {
                sampler.apply(&mut set);
            }
            let (size, digest) = (set.as_slice().len(), digest(&cands(&set), false));
            of_row.push(json!({"step": sampler.name(), "size": size, "sorted": set.sorted, "digest": digest}));
        }
        let token = set.selected().map_or(-1, |candidate| candidate.id);
        let (size, digest) = (set.as_slice().len(), digest(&cands(&set), true));
        finals.push(json!({"size": size, "sorted": set.sorted, "selected": set.selected, "digest": digest}));
        steps.push(of_row);
        tokens.push(token);
        accept(&mut samplers, token);
    }
    json!({"tokens": tokens, "final": finals, "steps": steps})
}

fn cands(set: &Candidates) -> Vec<Cand> {
    let cand = |&TokenData { id, logit, p }: &TokenData| Cand { id: id as u32, logit, p };
    set.as_slice().iter().map(cand).collect()
}

/// A float as case files have it.
fn number(x: f32) -> Value {
    if x.is_infinite() {
        return json!(if x > 0.0 { "inf" } else { "-inf" });
    }
    // The shortest decimal of the f32, where it reads back through f64.
    let shortest: f64 = x.to_string().parse().unwrap_or(f64::from(x));
    json!(if shortest as f32 == x { shortest } else { f64::from(x) })
}
