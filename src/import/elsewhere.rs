//! Fields of presets that are not about the draw, and what they are about.

const LENGTH: &str = "how long the text gets";
const ENDS: &str = "where the text ends";
const PROMPT: &str = "what the prompt is";
const MODEL: &str = "how the model is loaded and run";
const ANSWER: &str = "what is answered beside the token";
const TEXT: &str = "how tokens become text";
const PAGE: &str = "what its program shows";

const FIELDS: &[(&str, &[&str])] = &[
    (
        LENGTH,
        &[
            "genamt",
            "max_length",
            "max_new_tokens",
            "max_tokens",
            "max_tokens_second",
            "n_predict",
            "num_predict",
            "auto_max_new_tokens",
            "t_max_predict_ms",
            "max_time",
        ],
    ),
    (
        ENDS,
        &[
            "stop",
            "stop_strings",
            "stop_sequence",
            "custom_stopping_strings",
            "eos_token_id",
            "ignore_eos_token",
            "ignore_eos_token_aphrodite",
            "single_line",
            "trim_stop",
        ],
    ),
    (
        PROMPT,
        &[
            "add_bos_token",
            "bos_token_id",
            "pad_token_id",
            "decoder_start_token_id",
            "truncation_length",
            "max_context_length",
            "n_keep",
            "num_keep",
            "n_discard",
            "memory",
            "prompt",
            "system",
            "template",
            "message",
            "generate_window",
            "chat_format",
            "generation_prompt",
            "reasoning_format",
            "reasoning_in_content",
            "preserved_tokens",
            "prompt_lookup_num_tokens",
            "thinking_forced_open",
            "parse_tool_calls",
            "enable_thinking",
            "reasoning_effort",
            "chat_template",
        ],
    ),
    (
        MODEL,
        &[
            "from",
            "adapter",
            "num_gpu",
            "num_thread",
            "num_batch",
            "num_gqa",
            "main_gpu",
            "low_vram",
            "f16_kv",
            "use_mmap",
            "use_mlock",
            "vocab_only",
            "numa",
            "use_cache",
            "cache_implementation",
            "cache_config",
            "transformers_version",
            "_from_model_config",
            "speculative_ngram",
            "static_cache",
            "lora",
            "draft_num_predict",
            "requires",
            "capability",
            "trust_remote_code",
            "output_attentions",
            "output_hidden_states",
            "disable_compile",
        ],
    ),
    (
        ANSWER,
        &[
            "n_probs",
            "post_sampling_probs",
            "logprobs",
            "return_tokens",
            "timings_per_token",
            "stream",
            "streaming",
            "streaming_kobold",
            "output_scores",
            "output_logits",
            "return_dict_in_generate",
            "num_return_sequences",
            "n",
            "backend_sampling",
        ],
    ),
    (
        TEXT,
        &[
            "skip_special_tokens",
            "spaces_between_special_tokens",
            "spaces_between_special_tokens_aphrodite",
            "token_healing",
            "render_special",
            "clean_up_tokenization_spaces",
        ],
    ),
    (
        PAGE,
        &[
            "name",
            "preset",
            "description",
            "title",
            "license",
            "extensions",
            "include_reasoning",
            "quiet",
            "genkey",
            "order",
            "type",
            "prompts",
            "bypass_status_check",
        ],
    ),
];

/// What a field is about that has nothing to do with the draw.
pub fn elsewhere(name: &str) -> Option<&'static str> {
    let llama_server =
        name.starts_with("speculative.") || name.starts_with("reasoning_budget") || name.starts_with("grammar_");
    let found = FIELDS.iter().find(|(_, names)| names.contains(&name)).map(|(why, _)| *why);
    found.or(llama_server.then_some("what llama-server does around the chain"))
}
