//! Whether a step does what facts promise.

use sampler_chain::{Cand, CandBuf, CandSet, Facts, SamplerStep};

use super::cases::{Case, Past, context};

/// What a step left of a set.
#[derive(Debug, Clone, PartialEq)]
struct Left {
    cands: Vec<Cand>,
    sorted: bool,
    selected: Option<usize>,
}

impl Left {
    fn bits(&self) -> (Vec<[u32; 3]>, bool, Option<usize>) {
        let bits = self.cands.iter().map(|c| [c.id, c.logit.to_bits(), c.p.to_bits()]).collect();
        (bits, self.sorted, self.selected)
    }
}

/// What a step leaves of the case's set, and once more after the past's next token. None where it refuses this vocabulary.
fn run(step: &dyn SamplerStep, case: &Case, past: &Past, has_vocab: bool) -> Option<[Left; 2]> {
    let mut step = dyn_clone::clone_box(step);
    let mut ctx = context(case.seed, case.n_vocab, has_vocab);
    step.prepare(&ctx).ok()?;
    for &token in &past.prompt {
        ctx.history_mut().push_prompt(token);
        step.accept(token, &ctx);
    }
    for &token in &past.drawn {
        ctx.history_mut().push(token);
        step.accept(token, &ctx);
    }
    let logits: Vec<f32> = case.cands.iter().map(|c| c.logit).collect();
    let apply = |step: &mut dyn SamplerStep, ctx: &mut _| {
        let mut buf = CandBuf::default();
        let mut cands = match case.is_row {
            true => CandSet::new(&logits, &mut buf),
            false => CandSet::from_cands(&case.cands, case.sorted, &mut buf),
        };
        step.apply(&mut cands, ctx);
        Left { cands: cands.as_slice().to_vec(), sorted: cands.is_sorted(), selected: cands.selected() }
    };
    let first = apply(step.as_mut(), &mut ctx);
    ctx.history_mut().push(past.next);
    step.accept(past.next, &ctx);
    let second = apply(step.as_mut(), &mut ctx);
    Some([first, second])
}

/// The first of the facts that does not hold of a step in a case. An error where the step refuses the case's vocabulary.
pub fn broken(step: &dyn SamplerStep, facts: Facts, case: &Case) -> Result<Option<String>, ()> {
    let Some(lefts) = run(step, case, &case.past, true) else {
        let refused_alone = run(step, case, &case.past, false).is_some() && !facts.needs_vocab;
        return if refused_alone { Ok(Some("refuses a vocabulary that it does not need".into())) } else { Err(()) };
    };
    let bits = |lefts: &[Left; 2]| [lefts[0].bits(), lefts[1].bits()];
    let same_as = |past: &Past, has_vocab: bool| {
        run(step, case, past, has_vocab).is_some_and(|others| bits(&others) == bits(&lefts))
    };
    for left in &lefts {
        if let Some(what) = broken_of_set(step, facts, case, left) {
            return Ok(Some(what));
        }
    }
    if !facts.needs_history && !same_as(&case.other, true) {
        return Ok(Some(format!("needs_history: {:?} gives another result than {:?}", case.other, case.past)));
    }
    if !facts.needs_prompt && !same_as(&case.split, true) {
        return Ok(Some(format!("needs_prompt: {:?} gives another result than {:?}", case.split, case.past)));
    }
    if !facts.needs_vocab && !same_as(&case.past, false) {
        return Ok(Some("needs_vocab: without a vocabulary the result is another".into()));
    }
    Ok(None)
}

fn broken_of_set(step: &dyn SamplerStep, facts: Facts, case: &Case, left: &Left) -> Option<String> {
    // By token: what it had before, and has now.
    let mut before = vec![None; case.n_vocab];
    case.cands.iter().for_each(|cand| before[cand.id as usize] = Some(cand.logit));
    let mut pairs: Vec<(f32, f32)> = Vec::new();
    for cand in &left.cands {
        match before.get(cand.id as usize).copied().flatten() {
            Some(logit) => pairs.push((logit, cand.logit)),
            None if facts.only_removes || facts.keeps_argmax => {
                return Some(format!("only_removes: token {} was brought in", cand.id));
            }
            None => {}
        }
    }
    if step.is_off() {
        let now: Vec<(u32, u32)> = left.cands.iter().map(|c| (c.id, c.logit.to_bits())).collect();
        let then: Vec<(u32, u32)> = case.cands.iter().map(|c| (c.id, c.logit.to_bits())).collect();
        if now != then || left.sorted != case.sorted || left.selected.is_some() {
            return Some("is_off: something changes".into());
        }
    }
    if facts.only_removes {
        if let Some((was, is)) = pairs.iter().find(|(was, is)| was.to_bits() != is.to_bits()) {
            return Some(format!("only_removes: {was} becomes {is}"));
        }
        let mut ids: Vec<u32> = left.cands.iter().map(|cand| cand.id).collect();
        ids.sort_unstable();
        if ids.windows(2).any(|pair| pair[0] == pair[1]) {
            return Some("only_removes: a candidate is there twice".into());
        }
    }
    if facts.keeps_argmax {
        let largest = case.cands.iter().map(|cand| cand.logit).fold(f32::NEG_INFINITY, f32::max);
        let is_largest = |logit: f32| pairs.iter().all(|(_, other)| *other <= logit);
        if !pairs.iter().any(|(was, is)| *was == largest && is_largest(*is)) {
            return Some(format!("keeps_argmax: the best, {largest}, is the best no more"));
        }
    }
    if facts.keeps_order {
        pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut highest = f32::NEG_INFINITY;
        for equals in pairs.chunk_by(|a, b| a.0 == b.0) {
            if let Some((was, is)) = equals.iter().find(|(_, is)| is.is_nan() || *is < highest) {
                return Some(format!("keeps_order: {was} becomes {is}, and a lower one {highest}"));
            }
            highest = equals.iter().fold(highest, |highest, (_, is)| highest.max(*is));
        }
    }
    None
}

/// Nothing to draw from is no reason to panic.
pub fn survives(step: &dyn SamplerStep, case: &Case) {
    let masked =
        Case { cands: case.cands.iter().map(|c| Cand { logit: f32::NEG_INFINITY, ..*c }).collect(), ..case.clone() };
    let empty = Case { cands: Vec::new(), is_row: false, ..case.clone() };
    for case in [masked, empty] {
        run(step, &case, &case.past, true);
    }
}
