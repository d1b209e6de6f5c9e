//! llama-server's sampling parameters, and which layer set each.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use sampler_steps::{ReasoningBudget, Vocab};

use crate::llama_server::StepName;

/// The seed that asks for a random one: llama.cpp's `LLAMA_DEFAULT_SEED`, -1 as an unsigned number.
pub const DEFAULT_SEED: u32 = u32::MAX;

/// llama-server's sampling parameters under llama-server's names, with b11192's defaults: `common_params_sampling`.
#[derive(Debug, Clone)]
pub struct Params {
    /// The seed of every generator; [`DEFAULT_SEED`] (-1) draws a random one. Default -1.
    pub seed: u32,
    /// The temperature; 0 and below is greedy. Default 0.8.
    pub temperature: f32,
    /// The range of the dynamic temperature; 0: off. Default 0.
    pub dynatemp_range: f32,
    /// The exponent of the dynamic temperature. Default 1.
    pub dynatemp_exponent: f32,
    /// How many candidates top-k keeps; 0 and below: all. Default 40.
    pub top_k: i32,
    /// The probability that top-p keeps; 1: all. Default 0.95.
    pub top_p: f32,
    /// The share of the largest probability that min-p asks for; 0: off. Default 0.05.
    pub min_p: f32,
    /// The standard deviations of top-n-sigma; 0 and below: off. Default -1.
    pub top_n_sigma: f32,
    /// The chance of XTC; 0: off. Default 0.
    pub xtc_probability: f32,
    /// The threshold of XTC; above 0.5: off. Default 0.1.
    pub xtc_threshold: f32,
    /// The probability that typical-p keeps; 1: all. Default 1.
    pub typical_p: f32,
    /// The window of the penalties in tokens; 0: off. Default 64.
    pub repeat_last_n: i32,
    /// The repetition penalty; 1: neutral. Default 1.
    pub repeat_penalty: f32,
    /// The penalty for a token that occurs; 0: neutral. Default 0.
    pub presence_penalty: f32,
    /// The penalty for each time that a token occurs; 0: neutral. Default 0.
    pub frequency_penalty: f32,
    /// The multiplier of DRY; 0: off. Default 0.
    pub dry_multiplier: f32,
    /// The base of DRY. Default 1.75.
    pub dry_base: f32,
    /// The length of repetition that DRY lets pass. Default 2.
    pub dry_allowed_length: i32,
    /// The window of DRY in tokens; 0: off. Default 64.
    pub dry_penalty_last_n: i32,
    /// The texts that end a repetition for DRY, turned into tokens by [`vocab`](Self::vocab). Default `\n`, `:`, `"`, `*`.
    pub dry_sequence_breakers: Vec<String>,
    /// DRY's breakers as tokens, head first; they replace the texts.
    pub dry_breakers: Option<Vec<Vec<u32>>>,
    /// 0: off; 1 or 2: mirostat of that version in place of all other steps. Default 0.
    pub mirostat: i32,
    /// Mirostat's target surprise. Default 5.
    pub mirostat_tau: f32,
    /// Mirostat's learning rate. Default 0.1.
    pub mirostat_eta: f32,
    /// The target probability of adaptive-p; below 0: off. Default -1.
    pub adaptive_target: f32,
    /// The decay of adaptive-p. Default 0.9.
    pub adaptive_decay: f32,
    /// Of how many tokens the probabilities are asked for; 0: of none. Default 0.
    pub n_probs: i32,
    /// How many candidates every truncation leaves at least. Default 0.
    pub min_keep: i32,
    /// Whether end-of-generation tokens are banned. Default false.
    pub ignore_eos: bool,
    /// Whether the probabilities are those after the chain. Default false.
    pub post_sampling_probs: bool,
    /// The steps in their order. Default penalties, dry, top_n_sigma, top_k, typ_p, top_p, min_p, xtc, temperature.
    pub samplers: Vec<StepName>,
    /// Tokens and what is added to their logits. Default none.
    pub logit_bias: Vec<(u32, f32)>,
    /// A budget of tokens for reasoning, the chain's first step: an engine knows the tokens that start and end it. Default none.
    pub reasoning_budget: Option<ReasoningBudget>,
    /// The model's vocabulary, for DRY's breakers and texts in biases.
    pub vocab: Option<Arc<dyn Vocab>>,
    /// How many tokens there are, where no vocabulary tells: ids beyond it are passed over, and reported.
    pub n_vocab: Option<usize>,
    /// Which layer set each field.
    pub layers: Layers,
}

/// Which layer set each field, by llama-server's name; what is not in it is a default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Layers(BTreeMap<&'static str, Layer>);

impl Layers {
    /// The layer that set a field (`temperature`, `top_k`, …).
    pub fn of(&self, field: &str) -> Layer {
        self.0.get(field).copied().unwrap_or_default()
    }

    pub(crate) fn set(&mut self, field: &'static str, layer: Layer) {
        self.0.insert(field, layer);
    }
}

/// Where a parameter's value comes from. Later layers lie over earlier ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// llama-server's default.
    #[default]
    Default,
    /// The model file's `general.sampling.*`.
    Gguf,
    /// A preset: what a user of the engine has chosen.
    Preset,
    /// A request.
    Request,
    /// A preset that no request may change.
    Force,
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Default => "default",
            Self::Gguf => "gguf",
            Self::Preset => "preset",
            Self::Request => "request",
            Self::Force => "force",
        })
    }
}

impl Params {
    /// The seed of the n-th of several completions of one request: `seed + n`, stepping over [`DEFAULT_SEED`], which would
    /// be random. A seed that is random stays so.
    pub fn completion_seed(&self, n: u32) -> u32 {
        if self.seed == DEFAULT_SEED {
            return DEFAULT_SEED;
        }
        let seeds = u64::from(DEFAULT_SEED);
        ((u64::from(self.seed) + u64::from(n)) % seeds) as u32
    }
}

impl Default for Params {
    fn default() -> Self {
        Self {
            seed: DEFAULT_SEED,
            temperature: 0.8,
            dynatemp_range: 0.0,
            dynatemp_exponent: 1.0,
            top_k: 40,
            top_p: 0.95,
            min_p: 0.05,
            top_n_sigma: -1.0,
            xtc_probability: 0.0,
            xtc_threshold: 0.1,
            typical_p: 1.0,
            repeat_last_n: 64,
            repeat_penalty: 1.0,
            presence_penalty: 0.0,
            frequency_penalty: 0.0,
            dry_multiplier: 0.0,
            dry_base: 1.75,
            dry_allowed_length: 2,
            dry_penalty_last_n: 64,
            dry_sequence_breakers: ["\n", ":", "\"", "*"].map(String::from).to_vec(),
            dry_breakers: None,
            mirostat: 0,
            mirostat_tau: 5.0,
            mirostat_eta: 0.1,
            adaptive_target: -1.0,
            adaptive_decay: 0.9,
            n_probs: 0,
            min_keep: 0,
            ignore_eos: false,
            post_sampling_probs: false,
            samplers: StepName::DEFAULT_ORDER.to_vec(),
            logit_bias: Vec::new(),
            reasoning_budget: None,
            vocab: None,
            n_vocab: None,
            layers: Layers::default(),
        }
    }
}
