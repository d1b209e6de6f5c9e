//! One recorded case, key by key. Unknown keys are refused: what a case expects is checked or the case fails.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

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
    pub encode: BTreeMap<String, Vec<u32>>,
    /// The size of the vocabulary, where there is no file of it.
    pub n_vocab: Option<usize>,
    /// What the program did.
    pub expect: Expect,
}

/// A vocabulary file beside the case file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VocabRef {
    /// Its name.
    pub file: String,
}

/// Where a case's rows come from.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum CaseLogits {
    /// A safetensors file beside the case file.
    File(FileRows),
    /// A generator.
    Synthetic {
        /// Its parameters.
        synthetic: Synthetic,
    },
    /// The rows themselves.
    Values {
        /// A list a row; `"inf"` and `"-inf"` for infinities.
        values: Vec<Vec<Logit>>,
    },
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
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct Logit(#[serde(with = "sampler_steps::float")] pub f32);

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
