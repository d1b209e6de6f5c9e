//! Cases that a row after another does not tell: candidates of their own to begin with, events between draws, NaN.

use std::sync::Arc;

use sampler_steps::{Cand, CandBuf, CandSet, Chain, Ctx, SamplerStep, Vocab, float};
use serde::Deserialize;
use serde_json::Value;

use super::case::{Case, Logit};
use super::draws::{run_time_name, same_name};
use super::replay::chain_file;
use super::{Failure, digest};
use crate::chain_file::ChainFile;
use crate::params::DEFAULT_SEED;
use crate::sampler::{NonFinite, Sampler, effective_seed};

/// Candidates to begin with.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StartSet {
    /// The tokens in their order, some perhaps more than once; none: all of the row's.
    pub ids: Option<Vec<u32>>,
    /// The flag.
    #[serde(default)]
    pub sorted: bool,
    /// The selected one's place.
    pub selected: Option<usize>,
    /// The p of every candidate; none: 0.
    pub p: Option<Logit>,
}

/// What happens after a draw.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CaseEvent {
    /// A token is accepted.
    Accept(u32),
    /// `llama_sampler_reset`
    Reset,
    /// `llama_sampler_clone`; the clone goes on.
    Clone,
    /// A clone draws once from the same row, and is dropped.
    Aside(ArraySet),
    /// The sampler is saved, and a new one goes on from there. llama.cpp has no such thing: nothing changes.
    Snapshot,
}

/// What llama.cpp says is selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Selection {
    /// A place; -1 for none.
    Place(i64),
    /// The candidates were cut or ordered anew behind the step that selected, and llama.cpp's index, which stays the same, is
    /// another's by now. Here the selection stays with its token, or is forgotten.
    Moved {
        /// The token that was selected.
        was: u32,
    },
    /// null: not compared. A clone beside a chain that goes on behind its selecting step has that of no step on the way.
    Unsaid,
}

/// The candidates after a draw. In the digest every NaN counts as the same.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArraySet {
    /// How many.
    pub size: usize,
    /// The flag.
    pub sorted: bool,
    /// Which one is selected.
    pub selected: Selection,
    /// Of ids, logits and p.
    pub digest: String,
}

/// The candidates after a step, as [`ArraySet`] has them after a draw.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArrayStep {
    /// llama.cpp's run-time name; a leading `?` marks a step that its parameters switch off.
    pub step: String,
    /// How many.
    pub size: usize,
    /// The flag.
    pub sorted: bool,
    /// Which one is selected.
    pub selected: Selection,
    /// Of ids, logits and p.
    pub digest: String,
}

/// The [`digest`] of candidates among which NaN may be: of NaN neither C++ nor Rust says which one an operation gives.
pub fn array_digest(cands: &[Cand], with_p: bool) -> String {
    let any = |x: f32| if x.is_nan() { f32::NAN } else { x };
    let cands: Vec<Cand> =
        cands.iter().map(|&Cand { id, logit, p }| Cand { id, logit: any(logit), p: any(p) }).collect();
    digest(&cands, with_p)
}

/// Draws from every row and compares. There are as many rows as the case has results.
pub(super) fn replay(case: &Case, vocab: Option<Arc<dyn Vocab>>, rows: &[Vec<f32>]) -> Result<(), Failure> {
    let expected = case.expect.arrays.as_deref().unwrap_or_default();
    let steps = case.expect.array_steps.as_deref();
    let mut engine = Engine::new(case, vocab)?;
    case.prompt.iter().try_for_each(|&token| engine.accept(token, true))?;
    for (i, row) in rows.iter().enumerate() {
        let in_row = |what| format!("row {i}: {what}");
        let start = case.sets.as_ref().map(|sets| &sets[i]);
        engine.draw(row, start, &expected[i], steps.map(|steps| steps[i].as_slice())).map_err(in_row)?;
        for event in case.after.iter().flat_map(|after| &after[i]) {
            engine.after(event, row, start).map_err(|what| format!("row {i}: {event:?}: {what}"))?;
        }
    }
    Ok(())
}

impl Selection {
    /// The found selection in the terms of the expected one.
    fn found(self, place: Option<usize>, token: Option<u32>) -> Self {
        match self {
            Self::Unsaid => self,
            Self::Moved { was } if token.is_none_or(|token| token == was) => self,
            _ => Self::Place(place.map_or(-1, |at| at as i64)),
        }
    }
}

/// What draws.
#[derive(Clone)]
enum Engine {
    /// A sampler, and what it was before its first token.
    Sampler(Box<[Sampler; 2]>),
    /// A chain alone: in one part, or in one for each step that has a seed of its own.
    Chain(Vec<Part>),
}

#[derive(Clone)]
struct Part {
    chain: Chain,
    ctx: Ctx,
}

impl Part {
    /// NaN is a parameter of llama.cpp's samplers, which have nothing to prepare but their generators.
    fn new(mut chain: Chain, ctx: Ctx, has_nan: bool) -> Result<Self, Failure> {
        if has_nan {
            chain.reset(&ctx);
        } else {
            chain.prepare_steps(&ctx).map_err(|error| error.to_string())?;
        }
        Ok(Self { chain, ctx })
    }
}

/// Whether a text in it is `nan`.
fn has_nan(value: &Value) -> bool {
    match value {
        Value::String(text) => text == "nan",
        Value::Array(values) => values.iter().any(has_nan),
        Value::Object(values) => values.values().any(has_nan),
        _ => false,
    }
}

/// A chain that selects anywhere, or nowhere, and may have NaN as a parameter: no chain file says so.
fn bare_chain(content: &Value) -> Result<ChainFile, Failure> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Content {
        seed: Option<u32>,
        steps: Value,
    }
    let content: Content = Content::deserialize(content).map_err(|error| format!("chain: {error}"))?;
    let steps = serde_json::json!({"steps": content.steps});
    let chain: Result<Chain, _> = float::with_nan(|| serde_json::from_value(steps));
    Ok(ChainFile { seed: content.seed, chain: chain.map_err(|error| format!("chain: {error}"))? })
}

impl Engine {
    fn new(case: &Case, vocab: Option<Arc<dyn Vocab>>) -> Result<Self, Failure> {
        let chain = case.chain.as_ref().ok_or("arrays go with a chain")?;
        let file = if case.sets.is_some() { bare_chain(chain)? } else { chain_file(chain)? };
        let context = |seed| {
            let ctx = Ctx::new(seed);
            let ctx = match vocab.clone().filter(|_| case.vocab.is_some()) {
                Some(vocab) => ctx.with_vocab(vocab),
                None => ctx,
            };
            case.n_vocab.into_iter().fold(ctx, Ctx::with_n_vocab)
        };
        let seed = effective_seed(file.seed.unwrap_or(DEFAULT_SEED));
        let has_nan = has_nan(chain);
        match (&case.sets, &case.seeds) {
            (None, None) => {
                let sampler = Sampler::from_chain(file.chain, context(seed)).map_err(|error| error.to_string())?;
                let sampler = sampler.with_non_finite(NonFinite::LikeLlamaCpp);
                Ok(Self::Sampler(Box::new([sampler.clone(), sampler])))
            }
            (None, Some(_)) => Err("seeds go with sets".into()),
            (Some(_), None) => Ok(Self::Chain(vec![Part::new(file.chain, context(seed), has_nan)?])),
            (Some(_), Some(seeds)) if seeds.len() == file.chain.len() => {
                let steps = file.chain.steps().iter().zip(seeds);
                let parts =
                    steps.map(|(step, &seed)| Part::new(Chain::from(vec![step.clone()]), context(seed), has_nan));
                parts.collect::<Result<_, _>>().map(Self::Chain)
            }
            (Some(_), Some(seeds)) => Err(format!("{} seeds for {} steps", seeds.len(), file.chain.len())),
        }
    }

    fn accept(&mut self, token: u32, is_prompt: bool) -> Result<(), Failure> {
        match self {
            Self::Sampler(sampler) if is_prompt => sampler[0].accept_prompt(token),
            Self::Sampler(sampler) => sampler[0].accept(token),
            Self::Chain(parts) => {
                for Part { chain, ctx } in parts {
                    let history = ctx.history_mut();
                    if is_prompt {
                        history.push_prompt(token)
                    } else {
                        history.push(token)
                    }
                    chain.accept(token, ctx);
                }
                Ok(())
            }
        }
        .map_err(|error| error.to_string())
    }

    fn draw(
        &mut self,
        row: &[f32],
        start: Option<&StartSet>,
        expected: &ArraySet,
        steps: Option<&[ArrayStep]>,
    ) -> Result<(), Failure> {
        let (mut n, mut failure) = (0, None);
        let mut look = |step: &dyn SamplerStep, cands: &mut CandSet<'_>| {
            n += 1;
            let Some(expected) = steps.and_then(|steps| steps.get(n - 1)).filter(|_| failure.is_none()) else { return };
            let (step, sorted) = (run_time_name(step), cands.is_sorted());
            let step = if same_name(&step, &expected.step) { expected.step.clone() } else { step };
            let selected = expected.selected.found(cands.selected(), cands.selected_id());
            let size = cands.len();
            let found = ArrayStep { step, size, sorted, selected, digest: array_digest(cands.as_slice(), true) };
            failure = (found != *expected).then(|| format!("step {n}: found {found:?}, expected {expected:?}"));
        };
        // A look writes every candidate out: without steps to compare nothing is looked at on the way.
        let is_seen = steps.is_some();
        let mut buf = CandBuf::default();
        let found = match self {
            Self::Sampler(sampler) => {
                let drawn = sampler[0].draw_seen(row, |_, step, cands| {
                    if is_seen {
                        look(step, cands);
                    }
                });
                let mut draw = drawn.map_err(|error| error.to_string())?;
                let (sorted, at, token) = (draw.is_sorted(), draw.selected_index(), draw.token());
                let selected = expected.selected.found(Some(at), Some(token));
                let size = draw.candidates().len();
                ArraySet { size, sorted, selected, digest: array_digest(draw.candidates(), true) }
            }
            Self::Chain(parts) => {
                let mut cands = begin(row, start, &mut buf)?;
                for Part { chain, ctx } in parts {
                    chain.apply_seen(&mut cands, ctx, |_, step, cands| {
                        if is_seen {
                            look(step, cands);
                        }
                    });
                }
                let sorted = cands.is_sorted();
                let selected = expected.selected.found(cands.selected(), cands.selected_id());
                ArraySet { size: cands.len(), sorted, selected, digest: array_digest(cands.as_slice(), true) }
            }
        };
        if let Some(failure) = failure {
            return Err(failure);
        }
        if let Some(steps) = steps.filter(|steps| steps.len() != n) {
            return Err(format!("the chain has {n} steps, expected {}", steps.len()));
        }
        if found == *expected { Ok(()) } else { Err(format!("found {found:?}, expected {expected:?}")) }
    }

    fn after(&mut self, event: &CaseEvent, row: &[f32], start: Option<&StartSet>) -> Result<(), Failure> {
        match (event, &mut *self) {
            (CaseEvent::Accept(token), _) => self.accept(*token, false),
            (CaseEvent::Reset, Self::Sampler(sampler)) => {
                sampler[0].reset();
                Ok(())
            }
            (CaseEvent::Reset, Self::Chain(parts)) => {
                for Part { chain, ctx } in parts {
                    ctx.history_mut().clear();
                    chain.reset(ctx);
                }
                Ok(())
            }
            (CaseEvent::Clone, _) => {
                *self = self.clone();
                Ok(())
            }
            (CaseEvent::Aside(expected), _) => self.clone().draw(row, start, expected, None),
            (CaseEvent::Snapshot, Self::Sampler(sampler)) => {
                let text = serde_json::to_string(&sampler[0].snapshot()).map_err(|error| error.to_string())?;
                let snapshot = serde_json::from_str(&text).map_err(|error| error.to_string())?;
                let mut other = sampler[1].clone();
                other.restore(&snapshot).map_err(|error| error.to_string())?;
                sampler[0] = other;
                Ok(())
            }
            (CaseEvent::Snapshot, Self::Chain(_)) => Err("a chain alone has no snapshots".into()),
        }
    }
}

/// The candidates of a draw.
fn begin<'m>(row: &'m [f32], start: Option<&StartSet>, buf: &'m mut CandBuf) -> Result<CandSet<'m>, Failure> {
    let Some(StartSet { ids, sorted, selected, p }) = start else { return Ok(CandSet::new(row, buf)) };
    let p = p.map_or(0.0, |p| p.0);
    if let (None, false, None, 0) = (ids, sorted, selected, p.to_bits()) {
        return Ok(CandSet::new(row, buf));
    }
    let all = || (0..row.len() as u32).collect();
    let cand = |id: u32| {
        let logit = row.get(id as usize).ok_or_else(|| format!("token {id} is beyond the row"))?;
        Ok(Cand { id, logit: *logit, p })
    };
    let cands = ids.clone().unwrap_or_else(all).into_iter().map(cand).collect::<Result<Vec<Cand>, Failure>>()?;
    if let Some(at) = selected.filter(|&at| at >= cands.len()) {
        return Err(format!("place {at} of {} candidates is selected", cands.len()));
    }
    let mut set = CandSet::from_cands(&cands, *sorted, buf);
    selected.iter().for_each(|&at| set.select(at));
    Ok(set)
}
