//! llama.cpp's sampling flags: one table for INI files and command lines. The program's own flags are held to it by a test.

/// A sampling flag of llama.cpp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flag {
    /// Its names with their dashes, the canonical one first.
    pub names: &'static [&'static str],
    /// The environment variable, which an INI file may use as a key; empty where there is none.
    pub env: &'static str,
    /// The field of a request that says the same.
    pub field: &'static str,
    /// How its value is read.
    pub kind: FlagKind,
}

/// How a flag's value is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FlagKind {
    /// A whole number, as `std::stoi` reads it.
    Int,
    /// A number, as `std::stof` reads it.
    Float,
    /// A window in tokens; 0 is off.
    Window,
    /// Step names with `;` between.
    Names,
    /// Step names of a letter each.
    Letters,
    /// A token and what is added to its logit, `15043+1`; may be given several times.
    Bias,
    /// A text that ends a repetition; may be given several times; `none` forgets those before it.
    Breaker,
    /// The size of the context, which windows over all of it ask for.
    Context,
    /// It constrains the draw in a way that a chain cannot.
    Lost,
}

const fn flag(names: &'static [&'static str], env: &'static str, field: &'static str, kind: FlagKind) -> Flag {
    Flag { names, env, field, kind }
}

/// llama.cpp's sampling flags (`common/arg.cpp` of b11192), and the two that concern them.
pub fn llama_cpp_flags() -> &'static [Flag] {
    FLAGS
}

use FlagKind::{Bias, Breaker, Context, Float, Int, Letters, Lost, Names, Window};

static FLAGS: &[Flag] = &[
    flag(&["--samplers"], "", "samplers", Names),
    flag(&["--sampler-seq", "--sampling-seq"], "", "samplers", Letters),
    flag(&["--seed", "-s"], "", "seed", Int),
    flag(&["--temp", "--temperature"], "LLAMA_ARG_TEMPERATURE", "temperature", Float),
    flag(&["--top-k"], "LLAMA_ARG_TOP_K", "top_k", Int),
    flag(&["--top-p"], "LLAMA_ARG_TOP_P", "top_p", Float),
    flag(&["--min-p"], "LLAMA_ARG_MIN_P", "min_p", Float),
    flag(&["--top-n-sigma", "--top-nsigma"], "", "top_n_sigma", Float),
    flag(&["--xtc-probability"], "", "xtc_probability", Float),
    flag(&["--xtc-threshold"], "", "xtc_threshold", Float),
    flag(&["--typical", "--typical-p"], "", "typical_p", Float),
    flag(&["--repeat-last-n"], "", "repeat_last_n", Window),
    flag(&["--repeat-penalty"], "LLAMA_ARG_REPEAT_PENALTY", "repeat_penalty", Float),
    flag(&["--presence-penalty"], "LLAMA_ARG_PRESENCE_PENALTY", "presence_penalty", Float),
    flag(&["--frequency-penalty"], "LLAMA_ARG_FREQUENCY_PENALTY", "frequency_penalty", Float),
    flag(&["--dry-multiplier"], "", "dry_multiplier", Float),
    flag(&["--dry-base"], "", "dry_base", Float),
    flag(&["--dry-allowed-length"], "", "dry_allowed_length", Int),
    flag(&["--dry-penalty-last-n"], "", "dry_penalty_last_n", Window),
    flag(&["--dry-sequence-breaker"], "", "dry_sequence_breakers", Breaker),
    flag(&["--adaptive-target"], "", "adaptive_target", Float),
    flag(&["--adaptive-decay"], "", "adaptive_decay", Float),
    flag(&["--dynatemp-range"], "", "dynatemp_range", Float),
    flag(&["--dynatemp-exp"], "", "dynatemp_exponent", Float),
    flag(&["--mirostat"], "", "mirostat", Int),
    flag(&["--mirostat-lr"], "", "mirostat_eta", Float),
    flag(&["--mirostat-ent"], "", "mirostat_tau", Float),
    flag(&["--logit-bias", "-l"], "", "logit_bias", Bias),
    flag(&["--ignore-eos"], "", "ignore_eos", Lost),
    flag(&["--grammar"], "", "grammar", Lost),
    flag(&["--grammar-file"], "", "grammar_file", Lost),
    flag(&["--json-schema", "-j"], "", "json_schema", Lost),
    flag(&["--json-schema-file", "-jf"], "", "json_schema_file", Lost),
    flag(&["--backend-sampling", "-bs"], "LLAMA_ARG_BACKEND_SAMPLING", "backend_sampling", Lost),
    flag(&["--ctx-size", "-c"], "LLAMA_ARG_CTX_SIZE", "n_ctx", Context),
];

impl Flag {
    /// Whether it stands alone on a command line.
    pub(super) fn is_switch(&self) -> bool {
        self.kind == Lost && (self.field == "ignore_eos" || self.field == "backend_sampling")
    }

    /// The flag of a command line's word: of the long ones, `_` is as good as `-`.
    pub(super) fn of_word(word: &str) -> Option<&'static Self> {
        let name = dashed(word);
        FLAGS.iter().find(|flag| flag.names.contains(&name.as_str()))
    }

    /// The flag of an INI file's key: a name without its dashes, or an environment variable.
    pub(super) fn of_key(key: &str) -> Option<&'static Self> {
        FLAGS.iter().find(|flag| {
            flag.names.iter().any(|name| name.trim_start_matches('-') == key) || !key.is_empty() && flag.env == key
        })
    }
}

/// A word with `-` for `_`, if it is a long flag.
pub fn dashed(word: &str) -> String {
    if word.starts_with("--") { word.replace('_', "-") } else { word.to_string() }
}
