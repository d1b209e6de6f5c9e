//! Replaying one case, and saying what differs first.

use std::path::Path;
use std::sync::Arc;

use sampler_steps::{Cand, Ctx, SamplerStep, Vocab};
use serde_json::Value;

use super::case::{Case, CaseLogits, Probs};
use super::{Failure, FinalSet, Replayer, StepSet, digest};
use crate::chain_file::{ChainFile, Format};
use crate::params::Params;
use crate::probs::{TokenProb, post_sampling_probs, token_probs};
use crate::sampler::{Draw, NonFinite, Sampler};
use crate::vocab_file::VocabFile;

/// The rows of a case.
struct Rows(Vec<Vec<f32>>);

impl Replayer {
    /// Replays one case. `dir` is where the files that it names lie.
    ///
    /// # Errors
    /// The first thing that differs: which row, which step, which candidate, with bits.
    pub fn replay(&mut self, case: &Case, dir: &Path) -> Result<(), Failure> {
        let vocab = self.case_vocab(case, dir)?;
        let mut params = None;
        if let Some(request) = &case.request {
            match check_request(case, request, vocab.clone())? {
                Some(read) => params = Some(read),
                None => return Ok(()),
            }
        }
        let Some(logits) = &case.logits else {
            let checked = case.expect.settings.is_some();
            return if checked { Ok(()) } else { Err("nothing to compare: no logits, settings or error".into()) };
        };
        let rows = self.rows(logits, dir)?;
        let n_vocab = rows.0.first().map_or(0, Vec::len);
        let sampler = match (params, &case.chain) {
            (Some(params), None) => Sampler::new(params).map_err(|error| error.to_string()),
            (None, Some(chain)) => chain_sampler(chain, vocab.clone(), n_vocab),
            _ => Err("a case has either a request or a chain".to_string()),
        }?;
        let mut replay = Replay { case, vocab, text: Vec::new(), n_drawn: 0 };
        replay.run(sampler, &rows)
    }

    fn case_vocab(&mut self, case: &Case, dir: &Path) -> Result<Option<Arc<dyn Vocab>>, Failure> {
        let encodings = || case.encode.clone();
        Ok(match (&case.vocab, case.n_vocab) {
            (Some(vocab), _) => {
                let vocab = self.vocab(dir.join(&vocab.file))?;
                Some(if case.encode.is_empty() {
                    vocab
                } else {
                    Arc::new(VocabFile::clone(&vocab).with_encodings(encodings()))
                })
            }
            (None, Some(n_vocab)) => Some(Arc::new(VocabFile::blank(n_vocab).with_encodings(encodings()))),
            (None, None) => None,
        })
    }

    fn rows(&mut self, logits: &CaseLogits, dir: &Path) -> Result<Rows, Failure> {
        Ok(Rows(match logits {
            CaseLogits::Synthetic { synthetic } => (0..synthetic.rows).map(|i| synthetic.row(i)).collect(),
            CaseLogits::Values { values } => {
                values.iter().map(|row| row.iter().map(|logit| logit.0).collect()).collect()
            }
            CaseLogits::File(rows) => {
                let file = self.logits(dir.join(&rows.file), &rows.tensor)?;
                let ids = match (&rows.rows, &rows.row_ids) {
                    (Some([from, to]), None) => (*from..*to).collect(),
                    (None, Some(ids)) => ids.clone(),
                    _ => return Err("logits of a file have either rows or row_ids".into()),
                };
                ids.iter()
                    .map(|&i| {
                        let mut row = Vec::new();
                        file.row(i, &mut row).map(|()| row)
                    })
                    .collect::<Option<_>>()
                    .ok_or_else(|| format!("{} has no such rows", rows.file))?
            }
        }))
    }
}

/// Reads the request and compares its settings or its refusal. None where it was to be refused, and was.
fn check_request(case: &Case, request: &Value, vocab: Option<Arc<dyn Vocab>>) -> Result<Option<Params>, Failure> {
    let base = Params { vocab, dry_breakers: case.dry_breakers.clone(), ..Params::default() };
    let read = Params::from_request(request, &base, None)
        .map_err(|error| error.to_string())
        .and_then(|(params, _)| crate::llama_server_chain(&params).map(|_| params).map_err(|error| error.to_string()));
    match (read, &case.expect.error) {
        (Ok(mut params), None) => {
            if case.dry_breakers.is_some() {
                params.dry_breakers.clone_from(&case.dry_breakers);
            }
            check_settings(case, &params)?;
            Ok(Some(params))
        }
        (Err(error), Some(expected)) if error == *expected => Ok(None),
        (Err(error), Some(expected)) => Err(format!("refused with \"{error}\", expected \"{expected}\"")),
        (Err(error), None) => Err(format!("refused: {error}")),
        (Ok(_), Some(expected)) => Err(format!("accepted, expected the refusal \"{expected}\"")),
    }
}

fn check_settings(case: &Case, params: &Params) -> Result<(), Failure> {
    let Some(Value::Object(expected)) = &case.expect.settings else { return Ok(()) };
    let found = params.to_request();
    for (key, expected) in expected {
        let found = found.get(key).unwrap_or(&Value::Null);
        if !same(found, expected) {
            return Err(format!("settings: {key} is {found}, expected {expected}"));
        }
    }
    Ok(())
}

/// Whether two values are the same, numbers by their f64 and the rest exactly.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64().map(f64::to_bits) == b.as_f64().map(f64::to_bits),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        _ => a == b,
    }
}

fn chain_sampler(chain: &Value, vocab: Option<Arc<dyn Vocab>>, n_vocab: usize) -> Result<Sampler, Failure> {
    let mut content = chain.clone();
    if let Value::Object(content) = &mut content {
        content.entry("version").or_insert(1.into());
    }
    let file =
        ChainFile::parse(&content.to_string(), Format::Json, Path::new("chain")).map_err(|error| error.to_string())?;
    file.into_sampler(|seed| {
        let ctx = Ctx::new(seed).with_n_vocab(n_vocab);
        match vocab {
            Some(vocab) => ctx.with_vocab(vocab),
            None => ctx,
        }
    })
    .map_err(|error| error.to_string())
}

/// The comparison of one case, row by row.
struct Replay<'c> {
    case: &'c Case,
    vocab: Option<Arc<dyn Vocab>>,
    text: Vec<u8>,
    n_drawn: usize,
}

impl Replay<'_> {
    fn run(&mut self, sampler: Sampler, rows: &Rows) -> Result<(), Failure> {
        let expect = &self.case.expect;
        // llama.cpp runs its chain whatever the row holds.
        let mut sampler = sampler.with_non_finite(NonFinite::LikeLlamaCpp);
        for &token in &self.case.prompt {
            sampler.accept_prompt(token).map_err(|error| format!("prompt: {error}"))?;
        }
        let tokens = expect.tokens.as_ref().ok_or("nothing to compare: expect has no tokens")?;
        let recorded = [
            Some(tokens.len()),
            expect.final_sets.as_ref().map(Vec::len),
            expect.steps.as_ref().map(Vec::len),
            expect.logprobs.as_ref().map(Vec::len),
            expect.post_sampling_probs.as_ref().map(Vec::len),
        ];
        if let Some(other) = recorded.into_iter().flatten().find(|&n| n != rows.0.len()) {
            return Err(format!("{other} results for {} rows", rows.0.len()));
        }
        for (i, row) in rows.0.iter().enumerate() {
            let token = self.row(&mut sampler, i, row, tokens[i]).map_err(|what| format!("row {i}: {what}"))?;
            sampler.accept(token).map_err(|error| format!("row {i}: {error}"))?;
            self.n_drawn += 1;
            if let Some(vocab) = self.vocab.as_ref().filter(|vocab| !vocab.is_eog(token)) {
                self.text.extend_from_slice(vocab.piece(token));
            }
        }
        self.check_text()
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

fn run_time_name(step: &dyn SamplerStep) -> String {
    let name = match step.typetag_name() {
        "typ_p" => "typical".to_string(),
        "temperature" => "temp".to_string(),
        other => other.replace('_', "-"),
    };
    if step.is_off() && name != "chain" { format!("?{name}") } else { name }
}

fn differs(found: &StepSet, expected: &StepSet, cands: &[Cand]) -> Option<String> {
    let same_name = found.step == expected.step || expected.step.strip_suffix("-ext") == Some(&found.step);
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
