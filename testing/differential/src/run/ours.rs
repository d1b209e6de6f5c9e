//! This crate's side: a chain step by step, its candidates written out after each, and a whole one as users run it.

use libllama::Candidates;
use sampler_chain::{Cand, CandBuf, CandSet, Chain, Ctx, NonFinite, Sampler, SamplerStep, Snapshot};

use super::compare;
use crate::case::{Case, End, Row};
use crate::step::{Build, Oracle, Step, chain};

fn context(oracle: &Oracle, case: &Case, seed: u32) -> Ctx {
    let ctx = Ctx::new(seed);
    let ctx = match case.vocab {
        Some(vocab) => ctx.with_vocab(oracle.here(vocab).clone()),
        None => ctx,
    };
    case.told.into_iter().fold(ctx, Ctx::with_n_vocab)
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

/// A chain and its context, without a sampler around them; where the steps have seeds of their own, one of each for every step.
#[derive(Clone)]
pub struct Stepwise {
    parts: Vec<(Chain, Ctx)>,
    memory: CandBuf,
}

impl Stepwise {
    pub fn new(oracle: &Oracle, case: &Case, build: &Build) -> Result<Self, String> {
        let part = |steps: &[Step], seed: u32| {
            let (mut chain, ctx) = (chain(steps, build), context(oracle, case, seed));
            chain.prepare_steps(&ctx).map_err(|error| error.to_string())?;
            Ok::<_, String>((chain, ctx))
        };
        let parts = match &case.seeds {
            None => vec![part(&case.steps, case.seed)?],
            Some(seeds) => {
                let steps = case.steps.iter().zip(seeds);
                steps.map(|(step, &seed)| part(std::slice::from_ref(step), seed)).collect::<Result<_, _>>()?
            }
        };
        Ok(Self { parts, memory: CandBuf::default() })
    }

    /// Applies the chain. After each step, those of chains inside included, `seen` is told which one it was and shown
    /// the candidates.
    pub fn apply(&mut self, case: &Case, row: &Row, mut seen: impl FnMut(usize, &mut CandSet<'_>)) {
        let (mut cands, mut i) = (begin(case, row, &mut self.memory), 0);
        for (chain, ctx) in &mut self.parts {
            chain.apply_each(&mut cands, ctx, |_, _, cands| {
                seen(i, cands);
                i += 1;
            });
        }
    }

    /// The same as a whole: chains inside are one step.
    fn apply_whole<'m>(
        &'m mut self,
        case: &Case,
        row: &'m Row,
        mut seen: impl FnMut(usize, &mut CandSet<'_>),
    ) -> CandSet<'m> {
        let Self { parts, memory } = self;
        let (mut cands, mut i) = (begin(case, row, memory), 0);
        for (chain, ctx) in parts {
            chain.apply_seen(&mut cands, ctx, |_, _, cands| {
                seen(i, cands);
                i += 1;
            });
        }
        cands
    }

    pub fn accept(&mut self, token: u32, is_prompt: bool) {
        for (chain, ctx) in &mut self.parts {
            let history = ctx.history_mut();
            if is_prompt {
                history.push_prompt(token)
            } else {
                history.push(token)
            }
            chain.accept(token, ctx);
        }
    }

    pub fn reset(&mut self) {
        for (chain, ctx) in &mut self.parts {
            ctx.history_mut().clear();
            chain.reset(ctx);
        }
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
        if !case.fits_a_sampler() {
            return Stepwise::new(oracle, case, build).map(|chain| Self::Chain(Box::new(chain)));
        }
        let sampler = Sampler::from_chain(chain(&case.steps, build), context(oracle, case, case.seed));
        let sampler = sampler.map_err(|error| error.to_string())?.with_non_finite(case.policy);
        Ok(Self::Sampler(Box::new(sampler)))
    }

    /// Draws, and compares with what libllama has left, and with what is expected of `selected`; `seen` gives what there was
    /// after a step that is looked at.
    pub fn draw<'t>(
        &mut self,
        case: &Case,
        row: &Row,
        (theirs, selected): (&Candidates, i64),
        seen: impl Fn(usize) -> Option<&'t Candidates>,
    ) -> Result<(), Stop> {
        let mut stop = None;
        let mut look = |step: usize, cands: &mut CandSet<'_>| {
            if let (None, Some(theirs)) = (&stop, seen(step)) {
                let place = format!("the whole chain, looked at after step {}", step + 1);
                stop = compare::set(cands, theirs, theirs.selected).map(|what| Stop::Differs(place, what));
            }
        };
        let end = match self {
            Self::Chain(whole) => {
                let mut cands = whole.apply_whole(case, row, look);
                end_of_chain(&mut cands, case.end, theirs, selected)
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

    /// Applies a bare chain, and compares the candidates and whether they are sorted.
    pub fn draw_unselected(&mut self, case: &Case, row: &Row, theirs: &Candidates) -> Result<(), Stop> {
        let Self::Chain(whole) = self else { return Ok(()) };
        let mut cands = whole.apply_whole(case, row, |_, _| {});
        let sorted = cands.is_sorted();
        let what = compare::sets(cands.as_slice(), theirs.as_slice())
            .or_else(|| compare::flags(sorted, None, theirs.sorted, -1));
        what.map_or(Ok(()), |what| Err(Stop::Differs("the clone".into(), what)))
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

    /// Saves a sampler as text and goes on as a new one that was brought to that state. A chain alone has no snapshots: false.
    pub fn go_on_from_snapshot(&mut self, oracle: &Oracle, case: &Case, build: &Build) -> Result<bool, String> {
        let Self::Sampler(sampler) = self else { return Ok(false) };
        let text = serde_json::to_string(&sampler.snapshot()).map_err(|error| error.to_string())?;
        let snapshot: Snapshot = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        let Self::Sampler(mut other) = Self::new(oracle, case, build)? else { return Ok(false) };
        other.restore(&snapshot).map_err(|error| error.to_string())?;
        *sampler = other;
        Ok(true)
    }

    pub fn seed(&self) -> u32 {
        match self {
            Self::Sampler(sampler) => sampler.seed(),
            Self::Chain(whole) => whole.parts.first().map_or(sampler_chain::DEFAULT_SEED, |(_, ctx)| ctx.seed()),
        }
    }
}

fn end_of_chain(cands: &mut CandSet<'_>, end: End, theirs: &Candidates, selected: i64) -> Option<String> {
    if end == End::All {
        return compare::set(cands, theirs, selected);
    }
    if cands.len() != theirs.as_slice().len() {
        return Some(format!("{} candidates here, {} in libllama", cands.len(), theirs.as_slice().len()));
    }
    compare::flags(cands.is_sorted(), cands.selected(), theirs.sorted, selected)
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
    what.or_else(|| compare::flags(draw.is_sorted(), Some(draw.selected_index()), theirs.sorted, theirs.selected))
}

/// Whether a row or the candidate that libllama selects is one that this crate refuses unless it is told otherwise.
fn is_odd(row: &Row, theirs: &Candidates) -> bool {
    let is_wild = |logit: &f32| logit.is_nan() || *logit == f32::INFINITY;
    let is_masked = |logit: &f32| *logit == f32::NEG_INFINITY;
    let row_is_odd = row.logits.iter().any(is_wild) || row.logits.iter().all(is_masked);
    row_is_odd || theirs.selected().is_none_or(|c| c.p.is_nan() || c.logit.is_nan() || is_masked(&c.logit))
}
