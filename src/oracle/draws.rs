//! Replaying draws row by row.

use std::sync::Arc;

use sampler_steps::{Cand, SamplerStep, Vocab};

use super::case::{Case, Probs};
use super::{Failure, FinalSet, StepSet, digest};
use crate::probs::{TokenProb, post_sampling_probs, token_probs};
use crate::sampler::{Constraint, Draw, NonFinite, Sampler};

/// The comparison of one case, row by row.
pub struct Replay<'c> {
    case: &'c Case,
    vocab: Option<Arc<dyn Vocab>>,
    text: Vec<u8>,
}

/// What a grammar allows at one draw, in the bitset of a case.
struct Mask(Vec<u8>);

impl Constraint for Mask {
    fn allows(&mut self, token: u32) -> bool {
        self.0.get(token as usize / 8).is_some_and(|byte| byte >> (token % 8) & 1 == 1)
    }
}

impl<'c> Replay<'c> {
    pub fn new(case: &'c Case, vocab: Option<Arc<dyn Vocab>>) -> Self {
        Self { case, vocab, text: Vec::new() }
    }

    /// Draws from every row and compares. There are as many rows as the case has results: [`super::case::Case::check_n_rows`].
    pub fn run(&mut self, sampler: Sampler, rows: &[Vec<f32>]) -> Result<(), Failure> {
        let expect = &self.case.expect;
        // llama.cpp runs its chain whatever the row holds.
        let mut sampler = sampler.with_non_finite(NonFinite::LikeLlamaCpp);
        for &token in &self.case.prompt {
            sampler.accept_prompt(token).map_err(|error| format!("prompt: {error}"))?;
        }
        let tokens = expect.tokens.as_ref().ok_or("nothing to compare: expect has no tokens")?;
        if let Some(draft) = &self.case.draft {
            return self.along(&mut sampler, draft, rows, tokens);
        }
        for (i, row) in rows.iter().enumerate() {
            let in_row = |what| format!("row {i}: {what}");
            let token = match &self.case.masks {
                Some(masks) => self.masked_row(&mut sampler, i, row, tokens[i], &masks[i]).map_err(in_row)?,
                None => self.row(&mut sampler, i, row, tokens[i]).map_err(in_row)?,
            };
            sampler.accept(token).map_err(|error| format!("row {i}: {error}"))?;
            if let Some(vocab) = self.vocab.as_ref().filter(|vocab| !vocab.is_eog(token)) {
                self.text.extend_from_slice(vocab.piece(token));
            }
        }
        self.check_text()
    }

    /// A draw under a grammar: the token, and whether it was drawn twice.
    fn masked_row(&self, sampler: &mut Sampler, i: usize, row: &[f32], token: u32, mask: &str) -> Result<u32, Failure> {
        let mut mask = Mask(hex::decode(mask).map_err(|error| format!("mask: {error}"))?);
        let (drawn, redrawn) = if self.case.grammar_first {
            sampler.sample_grammar_first(row, &mut mask).map(|token| (token, None))
        } else {
            sampler.sample_constrained(row, &mut mask).map(|(token, redrawn)| (token, Some(redrawn)))
        }
        .map_err(|error| error.to_string())?;
        let expected = self.case.expect.redrawn.as_ref().map(|redrawn| redrawn[i]);
        if drawn != token {
            return Err(format!(
                "drew token {drawn} (twice: {redrawn:?}), expected token {token} (twice: {expected:?})"
            ));
        }
        if redrawn != expected {
            return Err(format!("drawn twice: {redrawn:?}, expected {expected:?}"));
        }
        Ok(token)
    }

    /// A draft, and then the tokens after it one by one.
    fn along(&self, sampler: &mut Sampler, draft: &[u32], rows: &[Vec<f32>], tokens: &[u32]) -> Result<(), Failure> {
        let next = self.case.expect.next.as_deref().unwrap_or_default();
        let (ahead, behind) = rows.split_at(draft.len() + 1);
        let drawn =
            sampler.sample_and_accept(draft, ahead.iter().map(Vec::as_slice)).map_err(|error| error.to_string())?;
        if drawn != tokens {
            return Err(format!("the draft gave {drawn:?}, expected {tokens:?}"));
        }
        for (i, (row, &expected)) in behind.iter().zip(next).enumerate() {
            let token = sampler.sample(row).map_err(|error| format!("row {i} after the draft: {error}"))?;
            if token != expected {
                return Err(format!("row {i} after the draft: drew token {token}, expected {expected}"));
            }
            sampler.accept(token).map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    fn row(&self, sampler: &mut Sampler, i: usize, row: &[f32], token: u32) -> Result<u32, Failure> {
        let expect = &self.case.expect;
        let steps = expect.steps.as_ref().map(|steps| steps[i].as_slice());
        if let Some(steps) = steps.filter(|steps| steps.len() != sampler.chain().len()) {
            return Err(format!("the chain has {} steps, expected {}", sampler.chain().len(), steps.len()));
        }
        let mut failure = None;
        let drawn = sampler.draw_seen(row, |s, step, cands| {
            if let (None, Some(expected)) = (&failure, steps.map(|steps| &steps[s])) {
                let found = StepSet {
                    step: run_time_name(step),
                    size: cands.len(),
                    sorted: cands.is_sorted(),
                    digest: digest(cands.as_slice(), false),
                };
                failure = differs(&found, expected, cands.as_slice()).map(|what| format!("step {}: {what}", s + 1));
            }
        });
        let mut draw = drawn.map_err(|error| error.to_string())?;
        if let Some(failure) = failure {
            return Err(failure);
        }
        if draw.token() != token {
            return Err(other_token(&mut draw, token));
        }
        if let Some(expected) = expect.final_sets.as_ref().map(|sets| &sets[i]) {
            check_final(&mut draw, expected)?;
        }
        if let Some(expected) = expect.logprobs.as_ref().map(|probs| &probs[i]) {
            let found = token_probs(row, expected.top.len(), token).ok_or("the token is beyond the row")?;
            check_probs("logprobs", expected, expected.logprob, &found.token, &found.top, |prob| prob.logprob)?;
        }
        if let Some(expected) = expect.post_sampling_probs.as_ref().map(|probs| &probs[i]) {
            let found = post_sampling_probs(&mut draw, N_PROBS);
            check_probs("post_sampling_probs", expected, expected.prob, &found.token, &found.top, |prob| prob.prob)?;
        }
        Ok(token)
    }

    /// llama-server's text leaves out what ends inside a character.
    fn check_text(&self) -> Result<(), Failure> {
        let Some(expected) = &self.case.expect.text else { return Ok(()) };
        if self.vocab.is_none() {
            return Err("a text is expected, and there is no vocabulary".into());
        }
        let whole = match std::str::from_utf8(&self.text) {
            Err(error) if error.error_len().is_none() => &self.text[..error.valid_up_to()],
            _ => &self.text[..],
        };
        if whole == expected.as_bytes() {
            return Ok(());
        }
        Err(format!("the text is \"{}\", expected \"{}\"", whole.escape_ascii(), expected.escape_default()))
    }
}

/// How many probabilities the recorders ask llama-server for.
const N_PROBS: usize = 8;

pub(super) fn run_time_name(step: &dyn SamplerStep) -> String {
    let name = match step.typetag_name() {
        "typ_p" => "typical".to_string(),
        "temperature" => "temp".to_string(),
        other => other.replace('_', "-"),
    };
    if step.is_off() && name != "chain" { format!("?{name}") } else { name }
}

/// Whether a step's name is the expected one: there the dynamic temperature has a name of its own.
pub(super) fn same_name(found: &str, expected: &str) -> bool {
    found == expected || expected.strip_suffix("-ext") == Some(found)
}

fn differs(found: &StepSet, expected: &StepSet, cands: &[Cand]) -> Option<String> {
    let same_name = same_name(&found.step, &expected.step);
    if same_name && (found.size, found.sorted, &found.digest) == (expected.size, expected.sorted, &expected.digest) {
        return None;
    }
    Some(format!(
        "found {} of {} candidates, sorted {}, digest {}; expected {} of {}, sorted {}, digest {}; {}",
        found.step,
        found.size,
        found.sorted,
        found.digest,
        expected.step,
        expected.size,
        expected.sorted,
        expected.digest,
        head(cands)
    ))
}

fn check_final(draw: &mut Draw<'_>, expected: &FinalSet) -> Result<(), Failure> {
    let found = FinalSet {
        size: draw.candidates().len(),
        sorted: draw.is_sorted(),
        selected: draw.selected_index(),
        digest: digest(draw.candidates(), true),
    };
    if found == *expected {
        return Ok(());
    }
    Err(format!("after the chain: found {found:?}, expected {expected:?}; {}", head(draw.candidates())))
}

fn other_token(draw: &mut Draw<'_>, token: u32) -> Failure {
    let drawn = draw.selected();
    let place = draw.selected_index();
    let expected = match draw.candidates().iter().enumerate().find(|(_, cand)| cand.id == token) {
        Some((at, cand)) => format!("{} at place {at}", bits(cand)),
        None => format!("token {token}, which is no candidate any more"),
    };
    format!("drew {} at place {place}, expected {expected}", bits(&drawn))
}

fn check_probs(
    key: &str,
    expected: &Probs,
    of_token: Option<f64>,
    token: &TokenProb,
    top: &[TokenProb],
    value: impl Fn(&TokenProb) -> f32,
) -> Result<(), Failure> {
    let of_token = of_token.ok_or_else(|| format!("{key}: the token's own is missing"))?;
    if top.len() != expected.top.len() {
        return Err(format!("{key}: {} tokens, expected {}", top.len(), expected.top.len()));
    }
    let wanted = std::iter::once((expected.id, of_token)).chain(expected.top.iter().copied());
    for (i, (found, (id, wanted))) in std::iter::once(token).chain(top).zip(wanted).enumerate() {
        let (found_value, wanted) = (value(found), wanted as f32);
        if (found.id, found_value.to_bits()) != (id, wanted.to_bits()) {
            let place = if i == 0 { "the token".to_string() } else { format!("place {i}") };
            return Err(format!(
                "{key}: {place} is {} with {found_value} ({:#010x}), expected {id} with {wanted} ({:#010x})",
                found.id,
                found_value.to_bits(),
                wanted.to_bits()
            ));
        }
    }
    Ok(())
}

/// A candidate with the bits of its floats.
fn bits(cand: &Cand) -> String {
    format!(
        "token {} (logit {} {:#010x}, p {} {:#010x})",
        cand.id,
        cand.logit,
        cand.logit.to_bits(),
        cand.p,
        cand.p.to_bits()
    )
}

fn head(cands: &[Cand]) -> String {
    let shown: Vec<String> = cands.iter().take(3).map(bits).collect();
    format!("its first candidates: {}", shown.join(", "))
}
