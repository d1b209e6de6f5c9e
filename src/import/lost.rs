//! What other programs' samplers do and no step of this crate, and what a step does, in presets of programs that would not run
//! it: one table. The rooms of the programs that do run it read the field, and it is not looked up here.

/// Fields without counterpart.
pub struct Lost {
    /// Its names in all programs, the first one the most usual.
    pub names: &'static [&'static str],
    /// The numbers that switch it off; `false` is 0, `true` is 1. What is empty is off, too.
    pub neutral: &'static [f64],
    /// The field without which it does nothing.
    pub serves: Option<&'static str>,
    /// Why the chain does not do the same.
    pub why: &'static str,
}

const fn lost(names: &'static [&'static str], neutral: &'static [f64], why: &'static str) -> Lost {
    Lost { names, neutral, serves: None, why }
}

/// A field that does nothing where another is off.
const fn serving(
    served: &'static str,
    names: &'static [&'static str],
    neutral: &'static [f64],
    why: &'static str,
) -> Lost {
    Lost { names, neutral, serves: Some(served), why }
}

const QUADRATIC: &str = "its program has no quadratic sampling; a step smoothing does it";
const WINDOW: &str = "penalties here weigh every token of their window alike";
const GUIDANCE: &str = "classifier-free guidance needs a second run of the model";
const GRAMMAR: &str = "a grammar of yours does it, through Sampler::sample_constrained";
const BEAMS: &str = "a chain draws one token after another";
const ENDS: &str = "which tokens end a text is the model's: a step logit_bias with their ids at -inf does it";
const TEXTS: &str = "a text must be made tokens: a step logit_bias takes their ids";

pub const LOST: &[Lost] = &[
    lost(&["top_a"], &[0.0], "its program does not truncate so; a step top_a does"),
    lost(
        &["tfs", "tfs_z"],
        &[1.0],
        "llama.cpp has dropped tail-free sampling, and would not run it; a step tfs does it",
    ),
    lost(&["epsilon_cutoff"], &[0.0], "its program does not truncate so; a step epsilon_cutoff does"),
    lost(&["eta_cutoff"], &[0.0], "its program does not truncate so; a step eta_cutoff does"),
    lost(&["top_h"], &[0.0], "its program does not truncate so; a step top_h does"),
    lost(&["smoothing_factor"], &[0.0], QUADRATIC),
    serving("smoothing_factor", &["smoothing_curve"], &[1.0], QUADRATIC),
    lost(&["skew"], &[0.0], "no step here skews the draw"),
    serving(
        "repeat_penalty",
        &["rep_pen_slope"],
        &[0.0, 1.0],
        "its program has no such slope; a step rep_pen_slope has",
    ),
    serving("repeat_penalty", &["rep_pen_decay", "repetition_decay"], &[0.0], WINDOW),
    lost(&["no_repeat_ngram_size"], &[0.0], "its program does not forbid n-grams; a step no_repeat_ngram does"),
    lost(
        &["encoder_rep_pen", "encoder_repetition_penalty"],
        &[0.0, 1.0],
        "its program has no such penalty; a step encoder_repetition_penalty is one",
    ),
    lost(&["encoder_no_repeat_ngram_size"], &[0.0], "no step here forbids the prompt's n-grams alone"),
    lost(&["penalty_alpha"], &[0.0], "contrastive search needs the model's hidden states"),
    lost(&["guidance_scale", "cfg_scale"], &[0.0, 1.0], GUIDANCE),
    serving("guidance_scale", &["negative_prompt"], &[], GUIDANCE),
    lost(
        &["grammar", "grammar_string", "grammar_file", "json_schema", "json_schema_file", "regex_pattern"],
        &[],
        GRAMMAR,
    ),
    lost(&["num_beams", "num_beam_groups"], &[0.0, 1.0], BEAMS),
    serving("num_beams", &["length_penalty", "early_stopping", "diversity_penalty"], &[], BEAMS),
    lost(&["ban_eos_token", "ban_eos", "ignore_eos", "bypass_eos", "use_default_badwordsids"], &[0.0], ENDS),
    lost(&["rep_pen_size"], &[0.0], WINDOW),
    lost(
        &["min_length", "min_new_tokens", "min_tokens"],
        &[0.0],
        "whether it counts the prompt is its program's; a step min_new_tokens counts what is drawn",
    ),
    lost(&["banned_tokens", "banned_strings", "logit_bias"], &[], TEXTS),
    lost(&["bad_words_ids", "sequence_bias"], &[], "its program has no biases of sequences; a step sequence_bias does"),
    lost(&["force_words_ids", "constraints"], &[], "no step here forces words"),
    lost(&["suppress_tokens"], &[], "its program does not read it; a step suppress_tokens does it"),
    lost(
        &["begin_suppress_tokens", "forced_bos_token_id", "forced_eos_token_id"],
        &[],
        "no step here looks at the place in the text",
    ),
    lost(
        &["exponential_decay_length_penalty"],
        &[],
        "its program has no such penalty; a step exponential_decay_length is one",
    ),
    lost(&["watermarking_config"], &[], "no step here does it"),
    lost(
        &["renormalize_logits", "remove_invalid_values"],
        &[0.0],
        "a draw normalises its row, and refuses what is no number",
    ),
    lost(&["penalize_newline", "penalize_nl"], &[1.0], "llama.cpp's penalties no longer spare the newline"),
    lost(
        &["allowed_tokens", "allowed_token_ids"],
        &[],
        "all other tokens must be banned, which needs the vocabulary's size",
    ),
];
