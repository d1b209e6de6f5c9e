//! The sampling fields of a request, in the order in which llama-server reads them.

use serde_json::Value;

use super::{Report, Source, custom};
use crate::llama_server::StepName;
use crate::params::Params;

/// A field with its aliases: the first that is present and not null counts.
pub struct Field {
    pub names: &'static [&'static str],
    pub kind: Kind,
    /// The step without which the field has no effect.
    pub serves: Serves,
}

/// What a field's value becomes.
#[derive(Clone, Copy)]
pub enum Kind {
    Int(fn(&mut Params) -> &mut i32, Limits<i32>),
    Float(fn(&mut Params) -> &mut f32, Limits<f32>),
    Bool(fn(&mut Params) -> &mut bool),
    Seed,
    Custom(fn(&Source<'_>, &Value, &mut Params, &mut Report) -> Result<(), String>),
}

/// Inclusive limits; beyond hard ones a value is refused, else it is clamped.
#[derive(Clone, Copy)]
pub struct Limits<T> {
    pub min: T,
    pub max: T,
    pub hard: bool,
}

/// Which part of the chain reads a field.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Serves {
    /// The whole chain, or what is answered beside the token.
    All,
    /// One step of the list.
    Step(StepName),
    /// The truncating steps of the list.
    Truncation,
    /// The list itself, which mirostat replaces.
    List,
    /// Mirostat.
    Mirostat,
}

const fn soft<T: Copy>(min: T, max: T) -> Limits<T> {
    Limits { min, max, hard: false }
}

const fn hard<T: Copy>(min: T, max: T) -> Limits<T> {
    Limits { min, max, hard: true }
}

/// A number without limits of its own is held to what its type holds.
const ANY: Limits<f32> = soft(f32::MIN, f32::MAX);
const ANY_INT: Limits<i32> = soft(i32::MIN, i32::MAX);
const SHARE: Limits<f32> = soft(0.0, 1.0);
const NOT_NEGATIVE: Limits<i32> = hard(0, i32::MAX);

macro_rules! field {
    ($names:expr, $kind:expr, $serves:expr) => {
        Field { names: &$names, kind: $kind, serves: $serves }
    };
}

macro_rules! number {
    ($kind:ident, $field:ident, $limits:expr, $serves:expr) => {
        field!([stringify!($field)], Kind::$kind(|params| &mut params.$field, $limits), $serves)
    };
}

pub const FIELDS: &[Field] = &[
    number!(Int, top_k, soft(0, i32::MAX), Serves::Step(StepName::TopK)),
    number!(Float, top_p, SHARE, Serves::Step(StepName::TopP)),
    number!(Float, min_p, SHARE, Serves::Step(StepName::MinP)),
    number!(Float, top_n_sigma, ANY, Serves::Step(StepName::TopNSigma)),
    number!(Float, xtc_probability, SHARE, Serves::Step(StepName::Xtc)),
    number!(Float, xtc_threshold, SHARE, Serves::Step(StepName::Xtc)),
    number!(Float, typical_p, ANY, Serves::Step(StepName::TypP)),
    // Mirostat takes the temperature, too, but not as a step of the list.
    number!(Float, temperature, soft(0.0, f32::INFINITY), Serves::All),
    number!(Float, dynatemp_range, ANY, Serves::Step(StepName::Temperature)),
    number!(Float, dynatemp_exponent, ANY, Serves::Step(StepName::Temperature)),
    number!(Int, repeat_last_n, NOT_NEGATIVE, Serves::Step(StepName::Penalties)),
    number!(Float, repeat_penalty, ANY, Serves::Step(StepName::Penalties)),
    number!(Float, frequency_penalty, ANY, Serves::Step(StepName::Penalties)),
    number!(Float, presence_penalty, ANY, Serves::Step(StepName::Penalties)),
    number!(Float, dry_multiplier, ANY, Serves::Step(StepName::Dry)),
    field!(["dry_base"], Kind::Custom(custom::dry_base), Serves::Step(StepName::Dry)),
    number!(Int, dry_allowed_length, NOT_NEGATIVE, Serves::Step(StepName::Dry)),
    number!(Int, dry_penalty_last_n, NOT_NEGATIVE, Serves::Step(StepName::Dry)),
    number!(Int, mirostat, soft(0, 2), Serves::All),
    number!(Float, mirostat_tau, ANY, Serves::Mirostat),
    number!(Float, mirostat_eta, ANY, Serves::Mirostat),
    number!(Float, adaptive_target, soft(f32::MIN, 1.0), Serves::Step(StepName::AdaptiveP)),
    number!(Float, adaptive_decay, hard(0.0, 0.99), Serves::Step(StepName::AdaptiveP)),
    field!(["seed"], Kind::Seed, Serves::All),
    field!(["n_probs", "logprobs"], Kind::Int(|params| &mut params.n_probs, ANY_INT), Serves::All),
    number!(Int, min_keep, NOT_NEGATIVE, Serves::Truncation),
    field!(["backend_sampling"], Kind::Custom(custom::backend_sampling), Serves::All),
    field!(["post_sampling_probs"], Kind::Bool(|params| &mut params.post_sampling_probs), Serves::All),
    field!(["dry_sequence_breakers"], Kind::Custom(custom::dry_sequence_breakers), Serves::Step(StepName::Dry)),
    field!(["logit_bias"], Kind::Custom(custom::logit_bias), Serves::All),
    field!(["ignore_eos"], Kind::Custom(custom::ignore_eos), Serves::All),
    field!(["samplers"], Kind::Custom(custom::samplers), Serves::List),
];

/// Fields of a completion request that have nothing to do with sampling.
pub const OTHER_FIELDS: &[&str] = &[
    "add_generation_prompt",
    "cache_prompt",
    "chat_template_kwargs",
    "echo",
    "id_slot",
    "input_extra",
    "input_prefix",
    "input_suffix",
    "lora",
    "max_completion_tokens",
    "max_tokens",
    "messages",
    "model",
    "n",
    "n_cache_reuse",
    "n_cmpl",
    "n_discard",
    "n_indent",
    "n_keep",
    "n_predict",
    "parse_tool_calls",
    "prompt",
    "reasoning_format",
    "response_fields",
    "response_format",
    "return_progress",
    "return_tokens",
    "sse_ping_interval",
    "stop",
    "stream",
    "stream_options",
    "t_max_predict_ms",
    "timings_per_token",
    "tools",
    "tool_choice",
    "user",
    "verbose",
];

/// Fields that steer the draw in llama-server and that somebody else has to act on here, with who.
pub const ELSEWHERE: &[(&str, &str)] = &[
    ("grammar", GRAMMAR),
    ("grammar_lazy", GRAMMAR),
    ("grammar_triggers", GRAMMAR),
    ("grammar_type", GRAMMAR),
    ("json_schema", GRAMMAR),
    ("preserved_tokens", GRAMMAR),
    ("reasoning_budget_end_tag", BUDGET),
    ("reasoning_budget_end_tags", BUDGET),
    ("reasoning_budget_message", BUDGET),
    ("reasoning_budget_start_tag", BUDGET),
    ("reasoning_budget_tokens", BUDGET),
    ("reasoning_control", BUDGET),
    ("chat_format", CHAT),
    ("chat_parser", CHAT),
    ("continue_final_message", CHAT),
    ("generation_prompt", CHAT),
];

const GRAMMAR: &str =
    "constrains the draw in llama-server; here Sampler::sample_constrained does, with a grammar of yours";
const BUDGET: &str = "here a step reasoning_budget does it, with the tags as tokens";
const CHAT: &str = "is about the text of a chat, not about the draw";
