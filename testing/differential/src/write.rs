//! A case as an oracle case: what libllama does with it, for `sampler-chain verify` to replay.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use libllama::{Candidates, TokenData};
use sampler_chain::Ctx;
use sampler_chain::oracle::{array_digest, digest};
use sampler_chain::steps::{Chain, float};
use sampler_chain::{Cand, EncodeError, Vocab};
use serde_json::{Value, json};

use crate::case::{Case, Event};
use crate::left_out;
use crate::run::Theirs;
use crate::step::{Build, Oracle, Step, chain, leaves};

/// Why a case cannot be an oracle case.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Inexpressible {
    /// libllama cannot be asked.
    #[error("libllama is not asked about its first draw: {0:?}")]
    LeftOut(left_out::Reason),
    /// A step of somebody's own whose parameters do not serialise.
    #[error("the chain: {0}")]
    Chain(#[from] serde_json::Error),
}

/// The candidates after a step or a draw.
struct Set {
    size: usize,
    sorted: bool,
    selected: Value,
    has_nan: bool,
    /// Of ids and logits, and with p: with NaN as it stands, and with every NaN as the same.
    digests: [[String; 2]; 2],
}

impl Set {
    fn of(candidates: &Candidates, selected: Value) -> Self {
        let cand = |&TokenData { id, logit, p }: &TokenData| Cand { id: id as u32, logit, p };
        let cands: Vec<Cand> = candidates.as_slice().iter().map(cand).collect();
        let both = |digest: fn(&[Cand], bool) -> String| [false, true].map(|with_p| digest(&cands, with_p));
        Self {
            size: cands.len(),
            sorted: candidates.sorted,
            selected,
            has_nan: cands.iter().any(|cand| cand.logit.is_nan() || cand.p.is_nan()),
            digests: [both(digest), both(array_digest)],
        }
    }

    fn step(&self, name: &str) -> Value {
        json!({"step": name, "size": self.size, "sorted": self.sorted, "digest": self.digests[0][0]})
    }

    fn array_step(&self, name: &str) -> Value {
        let mut step = self.end(true);
        step["step"] = name.into();
        step
    }

    fn end(&self, as_array: bool) -> Value {
        let digest = &self.digests[usize::from(as_array)][1];
        json!({"size": self.size, "sorted": self.sorted, "selected": self.selected, "digest": digest})
    }
}

/// What libllama does in one draw and after it.
struct Drawn {
    steps: Vec<(String, Set)>,
    end: Set,
    token: i32,
    after: Vec<Value>,
}

/// Runs a case in libllama, as far as it can be asked.
fn run(oracle: &Oracle, case: &Case) -> (Vec<Drawn>, Option<left_out::Reason>) {
    let flat = leaves(&case.steps);
    let (mut theirs, mut all) = (Theirs::new(oracle, case), Vec::new());
    case.prompt.iter().for_each(|&token| theirs.accept(token));
    for (draw, events) in case.draws.iter().enumerate() {
        let row = case.row(draw);
        theirs.begin(row);
        let mut steps = Vec::new();
        for (i, step) in flat.iter().enumerate() {
            if let Some(reason) = left_out::candidates(&theirs.candidates) {
                return (all, Some(reason));
            }
            theirs.apply(i, step);
            if let Some(name) = theirs.ended(i) {
                steps.push((name, Set::of(&theirs.candidates, selection(&theirs))));
            }
        }
        theirs.apply_whole();
        let token = theirs.candidates.selected().map_or(-1, |candidate| candidate.id);
        let end = Set::of(&theirs.candidates, selection(&theirs));
        let mut after = Vec::new();
        for event in events {
            after.extend(event_after(&mut theirs, case, draw, event));
        }
        all.push(Drawn { steps, end, token, after });
    }
    (all, None)
}

/// What is selected, in the words of a case.
fn selection(theirs: &Theirs<'_>) -> Value {
    match theirs.was {
        Some(was) if !theirs.is_live => json!({"was": was}),
        _ => theirs.candidates.selected.into(),
    }
}

/// Lets an event happen, and says it in the words of a case.
fn event_after(theirs: &mut Theirs<'_>, case: &Case, draw: usize, event: &Event) -> Option<Value> {
    let accepted = match *event {
        Event::AcceptDrawn => theirs.drawn().map(|token| token as u32)?,
        Event::Accept(token) => token,
        Event::Reset => {
            theirs.reset();
            return Some(json!("reset"));
        }
        Event::Clone => {
            theirs.go_on_as_clone();
            return Some(json!("clone"));
        }
        Event::CloneAside => {
            let left = theirs.clone_aside(case.row(draw));
            let selected = if case.ends_with_its_selector() { left.selected.into() } else { Value::Null };
            return Some(json!({"aside": Set::of(&left, selected).end(true)}));
        }
        // A bare chain has none.
        Event::Snapshot => return is_sampler(case).then(|| json!("snapshot")),
    };
    theirs.accept(accepted);
    Some(json!({"accept": accepted}))
}

/// Whether a sampler replays it. Those refuse NaN as a parameter.
fn is_sampler(case: &Case) -> bool {
    let has_nan = |step: &&Step| Step::clone(step).floats().iter().any(|x| x.is_nan());
    case.fits_a_sampler() && !leaves(&case.steps).iter().any(has_nan)
}

/// The case as one line of an oracle case file. The steps' names are those of `build`; what is expected is what libllama
/// does, up to a draw that is left out.
///
/// # Errors
/// A case of which libllama cannot be asked anything.
pub fn oracle_case(oracle: &Oracle, case: &Case, build: &Build, name: &str) -> Result<Value, Inexpressible> {
    let (drawn, left_out) = run(oracle, case);
    if let (true, Some(reason)) = (drawn.is_empty(), left_out) {
        return Err(Inexpressible::LeftOut(reason));
    }
    let steps = float::with_nan(|| serde_json::to_value(chain(&case.steps, build)))?["steps"].take();
    let values: Vec<Vec<Value>> =
        (0..drawn.len()).map(|draw| case.row(draw).logits.iter().map(|&logit| number(logit)).collect()).collect();
    let mut written = json!({
        "name": name,
        "source": "libllama b11192",
        "logits": {"values": values},
        "prompt": case.prompt,
        "chain": {"seed": case.seed, "steps": steps},
    });
    if let Some(vocab) = case.vocab {
        written["vocab"] = json!({"file": oracle.vocab_path(vocab)});
        written["encode"] = encodings(oracle, case, build, vocab);
    }
    if is_plain(case, &drawn) {
        written["expect"] = plain(&drawn);
        return Ok(written);
    }
    if let Some(told) = case.told {
        written["n_vocab"] = told.into();
    }
    if !is_sampler(case) {
        let sets = (0..drawn.len()).map(|draw| start(case, draw));
        written["sets"] = sets.collect();
        if let Some(seeds) = &case.seeds {
            written["seeds"] = json!(seeds);
        }
    }
    written["after"] = drawn.iter().map(|drawn| Value::from(drawn.after.clone())).collect();
    let arrays: Value = drawn.iter().map(|drawn| drawn.end.end(true)).collect();
    written["expect"] = json!({"arrays": arrays, "array_steps": all_steps(&drawn, Set::array_step)});
    Ok(written)
}

/// Whether the keys of the recorders in Python have words for it.
fn is_plain(case: &Case, drawn: &[Drawn]) -> bool {
    let sets = drawn.iter().flat_map(|drawn| drawn.steps.iter().map(|step| &step.1).chain([&drawn.end]));
    let has_nan = sets.into_iter().any(|set| set.has_nan)
        || case.rows.iter().flat_map(|row| &row.logits).any(|logit| logit.is_nan());
    let is_accepted = |events: &Vec<Event>| *events == [Event::AcceptDrawn];
    let Some((last, before)) = case.draws.split_last() else { return false };
    let follows = before.iter().all(is_accepted) && (last.is_empty() || is_accepted(last));
    is_sampler(case) && case.told == Some(case.n_vocab) && follows && !has_nan
}

fn plain(drawn: &[Drawn]) -> Value {
    let tokens: Value = drawn.iter().map(|drawn| Value::from(drawn.token)).collect();
    let finals: Value = drawn.iter().map(|drawn| drawn.end.end(false)).collect();
    json!({"tokens": tokens, "final": finals, "steps": all_steps(drawn, Set::step)})
}

fn all_steps(drawn: &[Drawn], step: fn(&Set, &str) -> Value) -> Value {
    let of_draw = |drawn: &Drawn| drawn.steps.iter().map(|(name, set)| step(set, name)).collect::<Value>();
    drawn.iter().map(of_draw).collect()
}

/// What libllama does with a chain of which every drawn token is accepted, as the key `expect` of a case has it: tokens, final
/// sets and steps. The steps must be such as `left_out` lets through.
pub fn recorded(oracle: &Oracle, case: &Case) -> Value {
    plain(&run(oracle, case).0)
}

/// The candidates that a draw begins with.
fn start(case: &Case, draw: usize) -> Value {
    let Some(start) = &case.start else { return json!({}) };
    let (ids, sorted) = start.ordered(case.row(draw));
    json!({"ids": ids, "sorted": sorted, "selected": start.selected, "p": number(start.p)})
}

/// A vocabulary that notes what is encoded.
#[derive(Debug)]
struct Noted {
    vocab: Arc<dyn Vocab>,
    texts: Mutex<BTreeMap<String, Vec<u32>>>,
}

impl Vocab for Noted {
    fn n_tokens(&self) -> usize {
        self.vocab.n_tokens()
    }

    fn piece(&self, id: u32) -> &[u8] {
        self.vocab.piece(id)
    }

    fn lone_piece(&self, id: u32) -> std::borrow::Cow<'_, [u8]> {
        self.vocab.lone_piece(id)
    }

    fn is_control(&self, id: u32) -> bool {
        self.vocab.is_control(id)
    }

    fn is_eog(&self, id: u32) -> bool {
        self.vocab.is_eog(id)
    }

    fn eot(&self) -> Option<u32> {
        self.vocab.eot()
    }

    fn eos(&self) -> Option<u32> {
        self.vocab.eos()
    }

    fn encode(&self, text: &[u8]) -> Result<Vec<u32>, EncodeError> {
        let tokens = self.vocab.encode(text)?;
        let hex = text.iter().map(|byte| format!("{byte:02x}")).collect();
        if let Ok(mut texts) = self.texts.lock() {
            texts.insert(hex, tokens.clone());
        }
        Ok(tokens)
    }
}

/// The tokens of the texts that this crate asks for when it prepares the chain.
fn encodings(oracle: &Oracle, case: &Case, build: &Build, vocab: usize) -> Value {
    let noted = Arc::new(Noted { vocab: oracle.here(vocab).clone(), texts: Mutex::default() });
    let mut chain: Chain = chain(&case.steps, build);
    // What is refused here is refused by the replay, too.
    let _ = chain.prepare_steps(&Ctx::new(case.seed).with_vocab(noted.clone()));
    noted
        .texts
        .lock()
        .map(|texts| texts.iter().map(|(text, tokens)| json!([text, tokens])).collect())
        .unwrap_or_default()
}

/// Writes an oracle case file of one case.
///
/// # Errors
/// The system's.
pub fn write(case: &Value, path: &Path) -> std::io::Result<()> {
    std::fs::write(path, format!("{case}\n"))
}

/// A float as case files have it.
fn number(x: f32) -> Value {
    if x.is_nan() {
        return json!("nan");
    }
    if x.is_infinite() {
        return json!(if x > 0.0 { "inf" } else { "-inf" });
    }
    // The shortest decimal of the f32, where it reads back through f64.
    let shortest: f64 = x.to_string().parse().unwrap_or(f64::from(x));
    json!(if shortest as f32 == x { shortest } else { f64::from(x) })
}
