//! Replaying one case: which way it goes, and what it needs for it.
//!
//! Each way says what it compares; a key that it does not look at fails the case, so that nothing is skipped.

use std::path::Path;
use std::sync::Arc;

use sampler_steps::{Ctx, Vocab};
use serde_json::Value;

use super::array;
use super::case::{Case, CaseLogits, FileRows};
use super::draws::Replay;
use super::tables;
use super::{Failure, Replayer};
use crate::chain_file::{ChainFile, Format};
use crate::logits::LogitsFile;
use crate::params::Params;
use crate::sampler::{NonFinite, Sampler};
use crate::vocab_file::VocabFile;

/// Rows of a case hold so many logits at most, together, and no vocabulary is larger.
const MAX_LOGITS: usize = 1 << 26;

/// Refuses rows that would fill the memory: a case of a few bytes can name very many.
fn check_size(n_rows: usize, n_vocab: usize) -> Result<(), Failure> {
    match n_rows.checked_mul(n_vocab.max(1)) {
        Some(n) if n <= MAX_LOGITS => Ok(()),
        _ => Err(format!("{n_rows} rows of {n_vocab} logits are too many")),
    }
}

impl Replayer {
    /// Replays one case. `dir` is where the files that it names lie.
    ///
    /// # Errors
    /// The first thing that differs: which row, which step, which candidate, with bits.
    pub fn replay(&mut self, case: &Case, dir: &Path) -> Result<(), Failure> {
        let only = |checked: &[&str]| match case.expect.unchecked(checked) {
            Some(key) => Err(format!("nothing here compares the key {key} of expect")),
            None => Ok(()),
        };
        if let Some(file) = &case.gguf {
            only(&["settings", "vocab"])?;
            return tables::gguf(case, &dir.join(&file.file));
        }
        let vocab = self.case_vocab(case, dir)?;
        if let Some(breakers) = &case.breakers {
            only(&["pairs", "digest", "some"])?;
            return tables::breakers(case, breakers, vocab.ok_or("breakers want a vocabulary")?);
        }
        let params = match &case.request {
            Some(request) if case.expect.error.is_some() => {
                only(&["error"])?;
                return check_refusal(case, request, vocab);
            }
            Some(request) => Some(read_request(case, request, vocab.clone())?),
            None => None,
        };
        let Some(logits) = &case.logits else {
            only(&["settings"])?;
            let compared = params.is_some() && case.expect.settings.is_some();
            return if compared { Ok(()) } else { Err("nothing to compare: no logits, settings or error".into()) };
        };
        let mut checked = vec!["tokens", "text", "final", "steps", "logprobs", "post_sampling_probs"];
        match (&case.draft, &case.masks) {
            (Some(_), _) => checked = vec!["tokens", "next"],
            (None, Some(_)) => checked = vec!["tokens", "text", if case.grammar_first { "tokens" } else { "redrawn" }],
            (None, None) if case.expect.arrays.is_some() => checked = vec!["arrays", "array_steps"],
            (None, None) => {}
        }
        if params.is_some() {
            checked.push("settings");
        }
        only(&checked)?;

        let rows = self.rows(case, logits, dir)?;
        let n_vocab = rows.first().map_or(0, Vec::len);
        if case.expect.arrays.is_some() {
            return array::replay(case, vocab, &rows);
        }
        if case.sets.is_some() || case.after.is_some() || case.seeds.is_some() {
            return Err("sets, after and seeds go with arrays".into());
        }
        let sampler = case_sampler(case, params, vocab.clone(), n_vocab)?;
        Replay::new(case, vocab).run(sampler, &rows)
    }

    /// What a case draws with and from: the sampler, which has accepted the prompt, and the rows. For whoever looks at the draws
    /// of a case in a way of their own; nothing is compared, and each drawn token is theirs to accept.
    ///
    /// # Errors
    /// A case without draws, or whose files, rows, request or chain are wrong.
    pub fn draws_of(&mut self, case: &Case, dir: &Path) -> Result<(Sampler, Vec<Vec<f32>>), Failure> {
        let vocab = self.case_vocab(case, dir)?;
        let params = case.request.as_ref().map(|request| read_request(case, request, vocab.clone())).transpose()?;
        let rows = self.rows(case, case.logits.as_ref().ok_or("the case has no logits")?, dir)?;
        let n_vocab = rows.first().map_or(0, Vec::len);
        let sampler = case_sampler(case, params, vocab, n_vocab)?;
        let mut sampler = sampler.with_non_finite(NonFinite::LikeLlamaCpp);
        sampler.accept_prompt_all(&case.prompt).map_err(|error| format!("prompt: {error}"))?;
        Ok((sampler, rows))
    }

    fn case_vocab(&mut self, case: &Case, dir: &Path) -> Result<Option<Arc<dyn Vocab>>, Failure> {
        let encodings = case.encode.pairs()?;
        Ok(match (&case.vocab, case.n_vocab) {
            (Some(named), _) if named.file.ends_with(".gguf") && named.special.is_empty() => {
                Some(Self::gguf_vocab(&dir.join(&named.file), encodings)?)
            }
            (Some(named), _) => {
                let vocab = self.vocab(dir.join(&named.file))?;
                Some(if encodings.is_empty() && named.special.is_empty() {
                    vocab
                } else {
                    let more = VocabFile::clone(&vocab).with_encodings(encodings);
                    Arc::new(more.with_control(named.special.iter().copied()))
                })
            }
            // Breakers and draws walk over it; settings do not.
            (None, Some(n_vocab)) if n_vocab > MAX_LOGITS && (case.breakers.is_some() || case.logits.is_some()) => {
                return Err(format!("a vocabulary of {n_vocab} tokens is too large"));
            }
            (None, Some(n_vocab)) => Some(Arc::new(VocabFile::blank(n_vocab).with_encodings(encodings))),
            (None, None) => None,
        })
    }

    /// The rows, made only where they are as many as the results: a case of a few bytes can name millions.
    fn rows(&mut self, case: &Case, logits: &CaseLogits, dir: &Path) -> Result<Vec<Vec<f32>>, Failure> {
        case.check_n_rows(logits.n_rows())?;
        let rows: Vec<Vec<f32>> = match logits {
            CaseLogits::Synthetic(rows) => {
                let synthetic = &rows.synthetic;
                check_size(synthetic.rows, synthetic.n_vocab)?;
                (0..synthetic.rows).map(|i| synthetic.row(i)).collect()
            }
            CaseLogits::Values(rows) => {
                rows.values.iter().map(|row| row.iter().map(|logit| logit.0).collect()).collect()
            }
            CaseLogits::File(rows) => {
                let file = self.logits(dir.join(&rows.file), &rows.tensor)?;
                file_rows(rows, &file)?
            }
        };
        if rows.is_empty() { Err("the case has no rows".into()) } else { Ok(rows) }
    }
}

fn file_rows(rows: &FileRows, file: &LogitsFile) -> Result<Vec<Vec<f32>>, Failure> {
    let beyond = || format!("{} has {} rows, and others are asked for", rows.file, file.n_rows());
    if let Some(ids) = &rows.row_ids {
        check_size(ids.len(), file.n_vocab())?;
    }
    let ids: Vec<usize> = match (&rows.rows, &rows.row_ids) {
        (Some([from, to]), None) if *to <= file.n_rows() => {
            check_size(to.saturating_sub(*from), file.n_vocab())?;
            (*from..*to).collect()
        }
        (Some(_), None) => return Err(beyond()),
        (None, Some(ids)) => ids.clone(),
        _ => return Err("logits of a file have either rows or row_ids".into()),
    };
    let read = |i: usize| {
        let mut row = Vec::new();
        file.row(i, &mut row).map(|()| row)
    };
    ids.into_iter().map(read).collect::<Option<_>>().ok_or_else(beyond)
}

/// Reads a request as llama-server would, up to the chain that it builds.
fn build(case: &Case, request: &Value, vocab: Option<Arc<dyn Vocab>>) -> Result<Params, String> {
    let base = Params { vocab, ..Params::default() };
    let (mut params, _) = Params::from_request(request, &base, None).map_err(|error| error.to_string())?;
    params.dry_breakers.clone_from(&case.dry_breakers);
    crate::llama_server_chain(&params).map_err(|error| error.to_string())?;
    Ok(params)
}

fn check_refusal(case: &Case, request: &Value, vocab: Option<Arc<dyn Vocab>>) -> Result<(), Failure> {
    let expected = case.expect.error.as_deref().unwrap_or_default();
    match build(case, request, vocab) {
        Err(error) if error == expected => Ok(()),
        Err(error) => Err(format!("refused with \"{error}\", expected \"{expected}\"")),
        Ok(_) => Err(format!("accepted, expected the refusal \"{expected}\"")),
    }
}

fn read_request(case: &Case, request: &Value, vocab: Option<Arc<dyn Vocab>>) -> Result<Params, Failure> {
    let params = build(case, request, vocab).map_err(|error| format!("refused: {error}"))?;
    if let Some(expected) = &case.expect.settings {
        check_settings(expected, &params)?;
    }
    Ok(params)
}

/// Compares what llama-server reports as its settings.
pub(super) fn check_settings(expected: &Value, params: &Params) -> Result<(), Failure> {
    let Value::Object(expected) = expected else { return Err("settings is no object".into()) };
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
pub(crate) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64().map(f64::to_bits) == b.as_f64().map(f64::to_bits),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        _ => a == b,
    }
}

fn case_sampler(
    case: &Case,
    params: Option<Params>,
    vocab: Option<Arc<dyn Vocab>>,
    n_vocab: usize,
) -> Result<Sampler, Failure> {
    match (params, &case.chain) {
        (Some(params), None) => Sampler::new(params).map_err(|error| error.to_string()),
        (None, Some(_)) if case.dry_breakers.is_some() => Err("dry_breakers go with a request".to_string()),
        (None, Some(chain)) => chain_sampler(chain, vocab, n_vocab),
        _ => Err("a case has either a request or a chain".to_string()),
    }
}

/// The chain of a case, and its seed.
pub(super) fn chain_file(chain: &Value) -> Result<ChainFile, Failure> {
    let mut content = chain.clone();
    if let Value::Object(content) = &mut content {
        content.entry("version").or_insert(1.into());
    }
    ChainFile::parse(&content.to_string(), Format::Json, Path::new("chain")).map_err(|error| error.to_string())
}

fn chain_sampler(chain: &Value, vocab: Option<Arc<dyn Vocab>>, n_vocab: usize) -> Result<Sampler, Failure> {
    let context = |seed| {
        let ctx = Ctx::new(seed).with_n_vocab(n_vocab);
        match vocab {
            Some(vocab) => ctx.with_vocab(vocab),
            None => ctx,
        }
    };
    chain_file(chain)?.into_sampler(context).map_err(|error| error.to_string())
}
