//! The chain that llama-server builds, and the names it knows for its steps.

use sampler_steps::{
    AdaptiveP, Chain, ChainError, Dist, Dry, Infill, LogitBias, MinP, Mirostat, MirostatV2, Penalties, Temperature,
    TopK, TopNSigma, TopP, TypP, Xtc,
};

use crate::params::Params;

/// A step that the `samplers` list of a request can name: `common_sampler_type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StepName {
    /// `penalties`, letter `e`
    Penalties,
    /// `dry`, letter `d`
    Dry,
    /// `top_n_sigma`, letter `s`
    TopNSigma,
    /// `top_k`, letter `k`
    TopK,
    /// `typ_p`, letter `y`
    TypP,
    /// `top_p`, letter `p`
    TopP,
    /// `min_p`, letter `m`
    MinP,
    /// `xtc`, letter `x`
    Xtc,
    /// `temperature`, letter `t`
    Temperature,
    /// `infill`, letter `i`
    Infill,
    /// `adaptive_p`, letter `a`
    AdaptiveP,
}

/// Each step's name and letter.
const NAMES: [(StepName, &str, char); 11] = [
    (StepName::Penalties, "penalties", 'e'),
    (StepName::Dry, "dry", 'd'),
    (StepName::TopNSigma, "top_n_sigma", 's'),
    (StepName::TopK, "top_k", 'k'),
    (StepName::TypP, "typ_p", 'y'),
    (StepName::TopP, "top_p", 'p'),
    (StepName::MinP, "min_p", 'm'),
    (StepName::Xtc, "xtc", 'x'),
    (StepName::Temperature, "temperature", 't'),
    (StepName::Infill, "infill", 'i'),
    (StepName::AdaptiveP, "adaptive_p", 'a'),
];

impl StepName {
    /// llama-server's order where a request names none.
    pub const DEFAULT_ORDER: [Self; 9] = [
        Self::Penalties,
        Self::Dry,
        Self::TopNSigma,
        Self::TopK,
        Self::TypP,
        Self::TopP,
        Self::MinP,
        Self::Xtc,
        Self::Temperature,
    ];

    /// The canonical name: `common_sampler_type_to_str`.
    pub fn as_str(self) -> &'static str {
        self.row().1
    }

    /// The letter: `common_sampler_type_to_chr`.
    pub fn letter(self) -> char {
        self.row().2
    }

    /// The step of a name as `common_sampler_types_from_names` matches it: in any case, with `_`, `-` or nothing between the
    /// words, and `nucleus`, `temp` and `typ`.
    pub fn from_name(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        match name.as_str() {
            "nucleus" => return Some(Self::TopP),
            "temp" => return Some(Self::Temperature),
            "typ" => return Some(Self::TypP),
            _ => {}
        }
        let spelled = |canonical: &str| {
            [canonical.to_string(), canonical.replace('_', "-"), canonical.replace('_', "")].contains(&name)
        };
        NAMES.iter().find(|(_, canonical, _)| spelled(canonical)).map(|row| row.0)
    }

    /// The step of a letter: `common_sampler_types_from_chars`.
    pub fn from_letter(letter: char) -> Option<Self> {
        NAMES.iter().find(|row| row.2 == letter).map(|row| row.0)
    }

    /// The canonical names of all steps.
    pub fn all_names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|row| row.1)
    }

    fn row(self) -> &'static (Self, &'static str, char) {
        NAMES.iter().find(|row| row.0 == self).expect("every step has a row")
    }
}

/// Parameters from which llama-server builds no chain. The text is llama-server's.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A penalty that `common_sampler_init` refuses.
    #[error("Failed to initialize samplers: {0}")]
    Penalty(&'static str),
    /// `mirostat` is neither 0, 1 nor 2. (llama-server clamps it; only a caller in Rust gets here.)
    #[error("mirostat {0}: only 0 (off), 1 and 2 exist")]
    Mirostat(i32),
    /// A step refuses its parameters, or the vocabulary contradicts them.
    #[error(transparent)]
    Chain(#[from] ChainError),
}

/// The chain that `common_sampler_init` of b11192 builds: the reasoning budget (if any), biases and the vocabulary's
/// suppressed tokens (if any), the listed steps in their order, and the draw, which is `adaptive_p` wherever the list names it,
/// else `dist`. With `mirostat` 1 or 2: budget, biases, plain temperature, mirostat.
///
/// # Errors
/// A penalty or a mirostat version that llama-server refuses.
pub fn llama_server_chain(params: &Params) -> Result<Chain, BuildError> {
    check_penalties(params)?;
    let mut chain = Chain::new();
    if let Some(budget) = &params.reasoning_budget {
        chain = chain.with(budget.clone());
    }
    let suppressed = params.vocab.iter().flat_map(|vocab| vocab.suppressed());
    let biases: Vec<(u32, f32)> =
        params.logit_bias.iter().copied().chain(suppressed.map(|&token| (token, f32::NEG_INFINITY))).collect();
    if !biases.is_empty() {
        chain = chain.with(LogitBias::new(biases));
    }
    match params.mirostat {
        0 => {}
        1 => {
            return Ok(chain.with(Temperature::new(params.temperature)).with(Mirostat::new(
                params.mirostat_tau,
                params.mirostat_eta,
                100,
            )));
        }
        2 => {
            return Ok(chain
                .with(Temperature::new(params.temperature))
                .with(MirostatV2::new(params.mirostat_tau, params.mirostat_eta)));
        }
        other => return Err(BuildError::Mirostat(other)),
    }
    for &name in &params.samplers {
        chain = with_step(chain, name, params);
    }
    Ok(if params.samplers.contains(&StepName::AdaptiveP) {
        chain.with(AdaptiveP::new(params.adaptive_target, params.adaptive_decay))
    } else {
        chain.with(Dist::default())
    })
}

fn with_step(chain: Chain, name: StepName, params: &Params) -> Chain {
    let min_keep = params.min_keep.max(0) as u32;
    match name {
        StepName::Penalties => chain.with(Penalties::new(
            params.repeat_last_n,
            params.repeat_penalty,
            params.frequency_penalty,
            params.presence_penalty,
        )),
        StepName::Dry => chain.with(dry(params)),
        StepName::TopNSigma => chain.with(TopNSigma { n: params.top_n_sigma }),
        StepName::TopK => chain.with(TopK { k: params.top_k }),
        StepName::TypP => chain.with(TypP { p: params.typical_p, min_keep }),
        StepName::TopP => chain.with(TopP { p: params.top_p, min_keep }),
        StepName::MinP => chain.with(MinP { p: params.min_p, min_keep }),
        StepName::Xtc => chain.with(Xtc::new(params.xtc_probability, params.xtc_threshold, min_keep)),
        StepName::Temperature => chain.with(Temperature {
            temp: params.temperature,
            delta: params.dynatemp_range,
            exponent: params.dynatemp_exponent,
        }),
        StepName::Infill => chain.with(Infill::default()),
        // It stands in dist's place, at the end.
        StepName::AdaptiveP => chain,
    }
}

fn dry(params: &Params) -> Dry {
    let dry = Dry::new(params.dry_multiplier, params.dry_base, params.dry_allowed_length, params.dry_penalty_last_n);
    match (&params.dry_breakers, &params.vocab) {
        (Some(tokens), _) => dry.with_breaker_tokens(tokens.clone()),
        (None, Some(_)) => dry.with_breakers(&params.dry_sequence_breakers),
        // Without a vocabulary there is nothing to make tokens of the texts.
        (None, None) => dry.with_breaker_tokens([]),
    }
}

fn check_penalties(params: &Params) -> Result<(), BuildError> {
    let repeat = params.repeat_penalty;
    if !(repeat.is_finite() && repeat > 0.0 && repeat.recip().is_finite()) {
        return Err(BuildError::Penalty("penalty_repeat must be finite and greater than 0"));
    }
    if !params.frequency_penalty.is_finite() {
        return Err(BuildError::Penalty("penalty_freq must be finite"));
    }
    if !params.presence_penalty.is_finite() {
        return Err(BuildError::Penalty("penalty_present must be finite"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn types(params: &Params) -> Vec<&'static str> {
        llama_server_chain(params).unwrap().steps().iter().map(|step| step.typetag_name()).collect()
    }

    fn order(names: &[&str]) -> Params {
        let samplers = names.iter().filter_map(|name| StepName::from_name(name)).collect();
        Params { samplers, ..Params::default() }
    }

    #[test]
    fn the_default_chain() {
        let mut expected: Vec<&str> = StepName::DEFAULT_ORDER.iter().map(|name| name.as_str()).collect();
        expected.push("dist");
        assert_eq!(types(&Params::default()), expected);
    }

    #[test]
    fn biases_come_first() {
        let params = Params { logit_bias: vec![(1, 2.0)], ..order(&["top_k"]) };
        assert_eq!(types(&params), ["logit_bias", "top_k", "dist"]);
    }

    /// User case 10: adaptive_p is last wherever it is listed, in place of dist.
    #[test]
    fn case_10_adaptive_p_is_last() {
        assert_eq!(types(&order(&["adaptive_p", "top_k"])), ["top_k", "adaptive_p"]);
        assert_eq!(types(&order(&["adaptive_p", "adaptive_p"])), ["adaptive_p"]);
    }

    /// User case 11: mirostat ignores the rest, and takes the plain temperature.
    #[test]
    fn case_11_mirostat_ignores_the_rest() {
        let params = Params { mirostat: 2, dynatemp_range: 0.5, repeat_penalty: 1.5, ..Params::default() };
        assert_eq!(types(&params), ["temperature", "mirostat_v2"]);
        assert_eq!(types(&Params { mirostat: 1, ..params }), ["temperature", "mirostat"]);
        let error = llama_server_chain(&Params { mirostat: 3, ..Params::default() }).unwrap_err();
        assert_eq!(error.to_string(), "mirostat 3: only 0 (off), 1 and 2 exist");
    }

    /// User case 13: an empty list draws from the whole vocabulary; a name twice gives two steps.
    #[test]
    fn case_13_empty_and_repeated_lists() {
        assert_eq!(types(&order(&[])), ["dist"]);
        assert_eq!(types(&order(&["top_k", "temp", "top_k"])), ["top_k", "temperature", "top_k", "dist"]);
    }

    /// User case 9: names in any case, with dashes or without, and three short ones; nothing else.
    #[test]
    fn case_9_names_and_letters() {
        for (name, expected) in [
            ("TOP_K", Some(StepName::TopK)),
            ("top-n-sigma", Some(StepName::TopNSigma)),
            ("topnsigma", Some(StepName::TopNSigma)),
            ("nucleus", Some(StepName::TopP)),
            ("Temp", Some(StepName::Temperature)),
            ("typ", Some(StepName::TypP)),
            ("typ-p", Some(StepName::TypP)),
            ("adaptivep", Some(StepName::AdaptiveP)),
            ("typical_p", None),
            ("tfs_z", None),
            ("dist", None),
            ("mirostat", None),
            ("topn_sigma", None),
            ("", None),
        ] {
            assert_eq!(StepName::from_name(name), expected, "{name}");
        }
        let letters: String = StepName::DEFAULT_ORDER.iter().map(|name| name.letter()).collect();
        assert_eq!(letters, "edskypmxt");
        assert!(NAMES.iter().all(|row| StepName::from_letter(row.2) == Some(row.0)));
        assert_eq!(StepName::from_letter('z'), None);
    }

    #[test]
    fn penalties_that_llama_server_refuses() {
        let error = |params| llama_server_chain(&params).unwrap_err().to_string();
        let start = "Failed to initialize samplers: penalty_";
        for repeat_penalty in [0.0, -1.0, f32::NAN, f32::INFINITY, 1e-39] {
            let params = Params { repeat_penalty, ..Params::default() };
            assert_eq!(error(params), format!("{start}repeat must be finite and greater than 0"));
        }
        let params = Params { frequency_penalty: f32::NAN, ..Params::default() };
        assert_eq!(error(params), format!("{start}freq must be finite"));
        let params = Params { presence_penalty: f32::INFINITY, ..Params::default() };
        assert_eq!(error(params), format!("{start}present must be finite"));
    }
}
