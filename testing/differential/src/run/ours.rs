//! This crate's side: a chain step by step, its candidates written out after each, and a whole one as users run it.

use libllama::Candidates;
use sampler_chain::{Cand, CandBuf, CandSet, Chain, Ctx, NonFinite, Sampler, SamplerStep, Snapshot};

use super::compare;
use crate::case::{Case, End, Row};
use crate::step::{Build, Oracle, chain};

fn context(oracle: &Oracle, case: &Case) -> Ctx {
    let ctx = Ctx::new(case.seed);
    let is_of_vocab = case.n_vocab == oracle.here.n_tokens();
    if is_of_vocab { ctx.with_vocab(oracle.here.clone()) } else { ctx.with_n_vocab(case.n_vocab) }
}

/// The candidates of a draw.
fn begin<'m>(case: &Case, row: &'m Row, memory: &'m mut CandBuf) -> CandSet<'m> {
    let Some(start) = &case.start else { return CandSet::new(&row.logits, memory) };
    let (ids, sorted) = start.ordered(row);
    let cands: Vec<Cand> = ids.iter().map(|&id| Cand { id, logit: row.logits[id as usize], p: start.p }).collect();
    let mut set = CandSet::from_cands(&cands, sorted, memory);
    start.selected.into_iter().for_each(|at| set.select(at));
    set
}

/// A chain and its context, without a sampler around them.
#[derive(Clone)]
pub struct Stepwise {
    chain: Chain,
    ctx: Ctx,
    memory: CandBuf,
}

impl Stepwise {
    pub fn new(oracle: &Oracle, case: &Case, build: &Build) -> Result<Self, String> {
        let (mut chain, ctx) = (chain(&case.steps, build), context(oracle, case));
        chain.prepare_steps(&ctx).map_err(|error| error.to_string())?;
        Ok(Self { chain, ctx, memory: CandBuf::default() })
    }

    /// Applies the chain. After each step, those of chains inside included, `seen` is told which one it was and shown
    /// the candidates.
    pub fn apply(&mut self, case: &Case, row: &Row, mut seen: impl FnMut(usize, &mut CandSet<'_>)) {
        let (mut cands, mut i) = (begin(case, row, &mut self.memory), 0);
        self.chain.apply_each(&mut cands, &mut self.ctx, |_, _, cands| {
            seen(i, cands);
            i += 1;
        });
    }

    pub fn accept(&mut self, token: u32, is_prompt: bool) {
        let history = self.ctx.history_mut();
        if is_prompt {
            history.push_prompt(token)
        } else {
            history.push(token)
        }
        self.chain.accept(token, &self.ctx);
    }

    pub fn reset(&mut self) {
        self.ctx.history_mut().clear();
        self.chain.reset(&self.ctx);
    }
}

/// The whole chain: a `Sampler` where it begins with a row and ends with its one selecting step, else the chain alone.
#[derive(Clone)]
pub enum Whole {
    Sampler(Box<Sampler>),
    Chain(Box<Stepwise>),
}

/// Why a draw was not the same.
pub enum Stop {
    /// Something differs: where, and what.
    Differs(String, String),
    /// The sampler has refused what is not finite.
    Refused,
}

impl Whole {
    pub fn new(oracle: &Oracle, case: &Case, build: &Build) -> Result<Self, String> {
        if case.start.is_some() || !case.ends_with_its_selector() {
            return Stepwise::new(oracle, case, build).map(|chain| Self::Chain(Box::new(chain)));
        }
        let sampler = Sampler::from_chain(chain(&case.steps, build), context(oracle, case));
        let sampler = sampler.map_err(|error| error.to_string())?.with_non_finite(case.policy);
        Ok(Self::Sampler(Box::new(sampler)))
    }

    /// Draws, and compares with what libllama's whole chain has left; `seen` gives what it had after a step that is
    /// looked at.
    pub fn draw<'t>(
        &mut self,
        case: &Case,
        row: &Row,
        theirs: &Candidates,
        seen: impl Fn(usize) -> Option<&'t Candidates>,
    ) -> Result<(), Stop> {
        let mut stop = None;
        let mut look = |step: usize, cands: &mut CandSet<'_>| {
            if let (None, Some(theirs)) = (&stop, seen(step)) {
                let place = format!("the whole chain, looked at after step {}", step + 1);
                stop = compare::set(cands, theirs).map(|what| Stop::Differs(place, what));
            }
        };
        let end = match self {
            Self::Chain(whole) => {
                let mut cands = begin(case, row, &mut whole.memory);
                whole.chain.apply_seen(&mut cands, &mut whole.ctx, |step, _, cands| look(step, cands));
                end_of_chain(&mut cands, case.end, theirs)
            }
            Self::Sampler(sampler) => match sampler.draw_seen(&row.logits, |step, _, cands| look(step, cands)) {
                Ok(mut draw) => end_of_draw(&mut draw, case.end, theirs),
                Err(_) if case.policy == NonFinite::Refuse && is_odd(row, theirs) => return Err(Stop::Refused),
                Err(error) => Some(format!("refused: {error}")),
            },
        };
        let end = end.map(|what| Stop::Differs("the whole chain".into(), what));
        stop.or(end).map_or(Ok(()), Err)
    }

    pub fn accept(&mut self, token: u32, is_prompt: bool) -> Result<(), String> {
        match self {
            Self::Sampler(sampler) if is_prompt => sampler.accept_prompt(token).map_err(|error| error.to_string()),
            Self::Sampler(sampler) => sampler.accept(token).map_err(|error| error.to_string()),
            Self::Chain(whole) => {
                whole.accept(token, is_prompt);
                Ok(())
            }
        }
    }

    pub fn reset(&mut self) {
        match self {
            Self::Sampler(sampler) => sampler.reset(),
            Self::Chain(whole) => whole.reset(),
        }
    }

    /// Saves a sampler as text and goes on as a new one that was brought to that state. A chain alone has no snapshots.
    pub fn go_on_from_snapshot(&mut self, oracle: &Oracle, case: &Case, build: &Build) -> Result<(), String> {
        let Self::Sampler(sampler) = self else { return Ok(()) };
        let text = serde_json::to_string(&sampler.snapshot()).map_err(|error| error.to_string())?;
        let snapshot: Snapshot = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        let Self::Sampler(mut other) = Self::new(oracle, case, build)? else { return Ok(()) };
        other.restore(&snapshot).map_err(|error| error.to_string())?;
        *sampler = other;
        Ok(())
    }

    pub fn seed(&self) -> u32 {
        match self {
            Self::Sampler(sampler) => sampler.seed(),
            Self::Chain(whole) => whole.ctx.seed(),
        }
    }
}

fn end_of_chain(cands: &mut CandSet<'_>, end: End, theirs: &Candidates) -> Option<String> {
    if end == End::All {
        return compare::set(cands, theirs);
    }
    if cands.len() != theirs.as_slice().len() {
        return Some(format!("{} candidates here, {} in libllama", cands.len(), theirs.as_slice().len()));
    }
    compare::flags(cands.is_sorted(), cands.selected(), theirs)
}

fn end_of_draw(draw: &mut sampler_chain::Draw<'_>, end: End, theirs: &Candidates) -> Option<String> {
    let wanted = theirs.selected().map(|selected| i64::from(selected.id));
    if wanted != Some(draw.token().into()) {
        return Some(format!("token {} here, {wanted:?} in libllama", draw.token()));
    }
    let what = match end {
        End::All => compare::sets(draw.candidates(), theirs.as_slice()),
        End::Selected => theirs.selected().and_then(|theirs| compare::one(draw.selected(), *theirs)),
        End::Token => None,
    };
    what.or_else(|| compare::flags(draw.is_sorted(), Some(draw.selected_index()), theirs))
}

/// Whether a row or the candidate that libllama selects is one that this crate refuses unless it is told otherwise.
fn is_odd(row: &Row, theirs: &Candidates) -> bool {
    let is_wild = |logit: &f32| logit.is_nan() || *logit == f32::INFINITY;
    let is_masked = |logit: &f32| *logit == f32::NEG_INFINITY;
    let row_is_odd = row.logits.iter().any(is_wild) || row.logits.iter().all(is_masked);
    row_is_odd || theirs.selected().is_none_or(|c| c.p.is_nan() || c.logit.is_nan() || is_masked(&c.logit))
}
