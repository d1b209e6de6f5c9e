//! One recorded case, key by key. Unknown keys are refused: what a case expects is checked or the case fails.

use std::collections::BTreeMap;

use sampler_steps::float;
use serde::Deserialize;
use serde_json::Value;

use super::array::{ArraySet, ArrayStep, CaseEvent, StartSet};
use crate::logits::Synthetic;

/// One recorded case.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// For people.
    pub name: String,
    /// Which program was asked.
    pub source: String,
    /// One row a draw.
    pub logits: Option<CaseLogits>,
    /// Tokens accepted before the first draw.
    #[serde(default)]
    pub prompt: Vec<u32>,
    /// A llama-server request body.
    pub request: Option<Value>,
    /// A chain file's content in place of a request.
    pub chain: Option<Value>,
    /// DRY's breakers as tokens, in place of the request's texts.
    pub dry_breakers: Option<Vec<Vec<u32>>>,
    /// The vocabulary's file.
    pub vocab: Option<VocabRef>,
    /// The model's tokens of the texts that the case needs.
    #[serde(default)]
    pub encode: Encodings,
    /// The size of the vocabulary, where there is no file of it.
    pub n_vocab: Option<usize>,
    /// The grammar, for people.
    pub grammar: Option<String>,
    /// What the grammar allows at each draw: a bitset in hexadecimal, bit i % 8 of byte i / 8 for token i.
    pub masks: Option<Vec<String>>,
    /// Whether the mask comes before the chain, which then runs once.
    #[serde(default)]
    pub grammar_first: bool,
    /// The tokens of a draft.
    pub draft: Option<Vec<u32>>,
    /// One a draw: the candidates that the chain is given in place of a row's. The chain runs alone, without a sampler around
    /// it: it may select in the middle, or nothing.
    pub sets: Option<Vec<StartSet>>,
    /// One a draw: what happens after it, in place of accepting the drawn token.
    pub after: Option<Vec<Vec<CaseEvent>>>,
    /// With `sets`: the seed of each step, those of chains inside one by one, in place of the chain's.
    pub seeds: Option<Vec<u32>>,
    /// Texts that end a repetition for DRY, whose tokens are compared.
    pub breakers: Option<Vec<String>>,
    /// A GGUF file, whose parameters and vocabulary are compared.
    pub gguf: Option<FileRef>,
    /// What the program did.
    pub expect: Expect,
}

impl Case {
    /// Whether each of so many rows has its results: a token, and what else was recorded at each draw.
    pub(super) fn check_n_rows(&self, n_rows: usize) -> Result<(), String> {
        let expect = &self.expect;
        let n_tokens = match (&expect.tokens, &expect.arrays) {
            (Some(tokens), _) => tokens.len(),
            (None, Some(arrays)) => arrays.len(),
            (None, None) => return Err("nothing to compare: expect has no tokens".into()),
        };
        if let Some(draft) = &self.draft {
            let n_next = expect.next.as_ref().map_or(0, Vec::len);
            return if n_rows == draft.len() + 1 + n_next {
                Ok(())
            } else {
                Err(format!("{n_rows} rows for a draft of {} and {n_next} tokens more", draft.len()))
            };
        }
        let recorded = [
            Some(n_tokens),
            expect.final_sets.as_ref().map(Vec::len),
            expect.steps.as_ref().map(Vec::len),
            expect.logprobs.as_ref().map(Vec::len),
            expect.post_sampling_probs.as_ref().map(Vec::len),
            expect.redrawn.as_ref().map(Vec::len),
            self.masks.as_ref().map(Vec::len),
            expect.arrays.as_ref().map(Vec::len),
            expect.array_steps.as_ref().map(Vec::len),
            self.sets.as_ref().map(Vec::len),
            self.after.as_ref().map(Vec::len),
        ];
        match recorded.into_iter().flatten().find(|&n| n != n_rows) {
            Some(other) => Err(format!("{other} results for {n_rows} rows")),
            None => Ok(()),
        }
    }
}

/// A file beside the case file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileRef {
    /// Its name.
    pub file: String,
}

/// A vocabulary file beside the case file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VocabRef {
    /// Its name.
    pub file: String,
    /// The tokens that are no text.
    #[serde(default)]
    pub special: Vec<u32>,
}

/// Texts with their tokens.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Encodings {
    /// By text.
    Texts(BTreeMap<String, Vec<u32>>),
    /// By the bytes in hexadecimal, where they may not be UTF-8.
    Bytes(Vec<(String, Vec<u32>)>),
}

/// The bytes of a text and its tokens.
type Encoding = (Vec<u8>, Vec<u32>);

impl Default for Encodings {
    fn default() -> Self {
        Self::Bytes(Vec::new())
    }
}

impl Encodings {
    /// The bytes with their tokens.
    pub(super) fn pairs(&self) -> Result<Vec<Encoding>, String> {
        match self {
            Self::Texts(texts) => {
                Ok(texts.iter().map(|(text, tokens)| (text.clone().into_bytes(), tokens.clone())).collect())
            }
            Self::Bytes(pairs) => pairs
                .iter()
                .map(|(bytes, tokens)| {
                    let bytes = hex::decode(bytes).map_err(|error| format!("encode: {bytes}: {error}"))?;
                    Ok((bytes, tokens.clone()))
                })
                .collect(),
        }
    }
}

/// Where a case's rows come from.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum CaseLogits {
    /// A safetensors file beside the case file.
    File(FileRows),
    /// A generator.
    Synthetic(SyntheticRows),
    /// The rows themselves.
    Values(ValueRows),
}

impl CaseLogits {
    /// How many rows are named, whether or not they can be had.
    pub(super) fn n_rows(&self) -> usize {
        match self {
            Self::File(FileRows { row_ids: Some(ids), .. }) => ids.len(),
            Self::File(file) => file.rows.map_or(0, |[from, to]| to.saturating_sub(from)),
            Self::Synthetic(rows) => rows.synthetic.rows,
            Self::Values(rows) => rows.values.len(),
        }
    }
}

/// Rows of a generator.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SyntheticRows {
    /// Its parameters.
    pub synthetic: Synthetic,
}

/// Rows written out.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ValueRows {
    /// A list a row; `"inf"` and `"-inf"` for infinities, `"nan"` for NaN.
    pub values: Vec<Vec<Logit>>,
}

/// Rows of a tensor: `rows` from and behind, or `row_ids` one by one.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileRows {
    /// The file's name.
    pub file: String,
    /// The tensor's name.
    pub tensor: String,
    /// The first row, and the one behind the last.
    pub rows: Option<[usize; 2]>,
    /// The rows in their order, where some are used more than once.
    pub row_ids: Option<Vec<usize>>,
}

/// One logit, as it stands in a file.
#[derive(Debug, Clone, Copy)]
pub struct Logit(pub f32);

impl<'de> Deserialize<'de> for Logit {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        float::with_nan(|| float::deserialize(deserializer)).map(Self)
    }
}

/// What the program did.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// The token drawn from each row.
    pub tokens: Option<Vec<u32>>,
    /// The text of the drawn tokens.
    pub text: Option<String>,
    /// The candidates after each draw.
    #[serde(rename = "final")]
    pub final_sets: Option<Vec<FinalSet>>,
    /// With `sets`, `after` or NaN, in place of `tokens` and `final`: the candidates after each draw.
    pub arrays: Option<Vec<ArraySet>>,
    /// With `arrays`, in place of `steps`: the candidates after each step of each draw.
    pub array_steps: Option<Vec<Vec<ArrayStep>>>,
    /// The candidates after each step of each draw.
    pub steps: Option<Vec<Vec<StepSet>>>,
    /// llama-server's `n_probs` on the raw logits.
    pub logprobs: Option<Vec<Probs>>,
    /// llama-server's `n_probs` after the chain.
    pub post_sampling_probs: Option<Vec<Probs>>,
    /// llama-server's `generation_settings`.
    pub settings: Option<Value>,
    /// llama-server's refusal.
    pub error: Option<String>,
    /// Whether each draw had to be done again under the mask.
    pub redrawn: Option<Vec<bool>>,
    /// Tokens drawn one by one after a draft.
    pub next: Option<Vec<u32>>,
    /// How many pairs of a head and a tail there are.
    pub pairs: Option<usize>,
    /// The digest of these pairs.
    pub digest: Option<String>,
    /// Some of these pairs.
    pub some: Option<Vec<(u32, Vec<u32>)>>,
    /// A file's vocabulary.
    pub vocab: Option<ExpectVocab>,
}

/// A file's vocabulary.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectVocab {
    /// The bytes of each token as a text of its own.
    pub pieces_hex: Vec<String>,
    /// The tokens that end generation.
    pub eog: Vec<u32>,
    /// The end of a turn.
    pub eot: Option<u32>,
    /// The end of a sequence.
    pub eos: Option<u32>,
    /// The tokens that are no text.
    pub special: Vec<u32>,
    /// The tokens that are never drawn.
    pub suppress: Vec<u32>,
}

impl Expect {
    /// The keys that are there and that a way of replaying does not look at.
    pub(super) fn unchecked(&self, checked: &[&str]) -> Option<&'static str> {
        let there = [
            ("tokens", self.tokens.is_some()),
            ("text", self.text.is_some()),
            ("final", self.final_sets.is_some()),
            ("arrays", self.arrays.is_some()),
            ("array_steps", self.array_steps.is_some()),
            ("steps", self.steps.is_some()),
            ("logprobs", self.logprobs.is_some()),
            ("post_sampling_probs", self.post_sampling_probs.is_some()),
            ("settings", self.settings.is_some()),
            ("error", self.error.is_some()),
            ("redrawn", self.redrawn.is_some()),
            ("next", self.next.is_some()),
            ("pairs", self.pairs.is_some()),
            ("digest", self.digest.is_some()),
            ("some", self.some.is_some()),
            ("vocab", self.vocab.is_some()),
        ];
        there.into_iter().find(|(key, there)| *there && !checked.contains(key)).map(|(key, _)| key)
    }
}

/// The candidates after a draw.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FinalSet {
    /// How many.
    pub size: usize,
    /// The flag.
    pub sorted: bool,
    /// The selected one's place.
    pub selected: usize,
    /// Of ids, logits and p.
    pub digest: String,
}

/// The candidates after a step.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepSet {
    /// llama.cpp's run-time name; a leading `?` marks a step that its parameters switch off.
    pub step: String,
    /// How many.
    pub size: usize,
    /// The flag.
    pub sorted: bool,
    /// Of ids and logits.
    pub digest: String,
}

/// The probabilities beside one token.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Probs {
    /// The token.
    pub id: u32,
    /// The logarithm of its probability before the chain.
    pub logprob: Option<f64>,
    /// Its probability after the chain.
    pub prob: Option<f64>,
    /// The most likely tokens with the same.
    pub top: Vec<(u32, f64)>,
}
