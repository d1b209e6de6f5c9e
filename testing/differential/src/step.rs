//! A step as both sides know it.

mod here;
mod there;

pub use here::{Build, build, chain};
pub use there::{Oracle, OracleError, Setting, VOCABS};

/// Every stock step of llama.cpp's chain, with the parameters of its `llama_sampler_init_*`.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "the parameters are those of llama.h and of the steps' own pages")]
pub enum Step {
    Penalties { last_n: i32, repeat: f32, freq: f32, present: f32 },
    Dry { multiplier: f32, base: f32, allowed_length: i32, last_n: i32, breakers: Vec<Vec<u32>> },
    DryTexts { multiplier: f32, base: f32, allowed_length: i32, last_n: i32, texts: Vec<String> },
    TopNSigma { n: f32 },
    TopK { k: i32 },
    TypP { p: f32, min_keep: u32 },
    TopP { p: f32, min_keep: u32 },
    MinP { p: f32, min_keep: u32 },
    Xtc { probability: f32, threshold: f32, min_keep: u32 },
    Temp { temp: f32 },
    TempExt { temp: f32, delta: f32, exponent: f32 },
    LogitBias { bias: Vec<(u32, f32)> },
    Dist,
    Greedy,
    Mirostat { tau: f32, eta: f32, m: i32 },
    MirostatV2 { tau: f32, eta: f32 },
    AdaptiveP { target: f32, decay: f32 },
    Infill,
    Chain { steps: Vec<Step> },
}

impl Step {
    /// Its name in tables: the `type` of chain files, with `temp_ext` for the dynamic temperature.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Penalties { .. } => "penalties",
            Self::Dry { .. } => "dry",
            Self::DryTexts { .. } => "dry by texts",
            Self::TopNSigma { .. } => "top_n_sigma",
            Self::TopK { .. } => "top_k",
            Self::TypP { .. } => "typ_p",
            Self::TopP { .. } => "top_p",
            Self::MinP { .. } => "min_p",
            Self::Xtc { .. } => "xtc",
            Self::Temp { .. } => "temp",
            Self::TempExt { .. } => "temp_ext",
            Self::LogitBias { .. } => "logit_bias",
            Self::Dist => "dist",
            Self::Greedy => "greedy",
            Self::Mirostat { .. } => "mirostat",
            Self::MirostatV2 { .. } => "mirostat_v2",
            Self::AdaptiveP { .. } => "adaptive_p",
            Self::Infill => "infill",
            Self::Chain { .. } => "chain",
        }
    }

    /// Whether it picks a token.
    pub fn selects(&self) -> bool {
        match self {
            Self::Chain { steps } => steps.iter().any(Self::selects),
            Self::Dist | Self::Greedy | Self::Mirostat { .. } | Self::MirostatV2 { .. } | Self::AdaptiveP { .. } => {
                true
            }
            _ => false,
        }
    }

    /// Whether it puts the candidates into an order of its own, which may be the one that they had, and leaves no flag behind.
    pub fn has_its_own_order(&self) -> bool {
        matches!(self, Self::TypP { p, .. } if *p < 1.0)
    }

    /// Whether it looks into a vocabulary.
    pub fn wants_vocab(&self) -> bool {
        match self {
            Self::Chain { steps } => steps.iter().any(Self::wants_vocab),
            Self::Infill | Self::DryTexts { .. } => true,
            _ => false,
        }
    }

    /// Its window.
    pub fn window(&self) -> Option<i32> {
        match *self {
            Self::Penalties { last_n, .. } | Self::Dry { last_n, .. } | Self::DryTexts { last_n, .. } => Some(last_n),
            _ => None,
        }
    }

    /// The largest token id among its parameters.
    pub fn largest_id(&self) -> Option<u32> {
        match self {
            Self::Chain { steps } => steps.iter().filter_map(Self::largest_id).max(),
            Self::Dry { breakers, .. } => breakers.iter().flatten().copied().max(),
            Self::LogitBias { bias } => bias.iter().map(|bias| bias.0).max(),
            _ => None,
        }
    }

    /// Its float parameters.
    pub fn floats(&mut self) -> Vec<&mut f32> {
        match self {
            Self::Penalties { repeat, freq, present, .. } => vec![repeat, freq, present],
            Self::Dry { multiplier, base, .. } | Self::DryTexts { multiplier, base, .. } => vec![multiplier, base],
            Self::TopNSigma { n } => vec![n],
            Self::TypP { p, .. } | Self::TopP { p, .. } | Self::MinP { p, .. } => vec![p],
            Self::Xtc { probability, threshold, .. } => vec![probability, threshold],
            Self::Temp { temp } => vec![temp],
            Self::TempExt { temp, delta, exponent } => vec![temp, delta, exponent],
            Self::LogitBias { bias } => bias.iter_mut().map(|(_, bias)| bias).collect(),
            Self::Mirostat { tau, eta, .. } | Self::MirostatV2 { tau, eta } => vec![tau, eta],
            Self::AdaptiveP { target, decay } => vec![target, decay],
            Self::TopK { .. } | Self::Dist | Self::Greedy | Self::Infill | Self::Chain { .. } => Vec::new(),
        }
    }

    /// Its signed parameters: counts and windows.
    pub fn counts(&mut self) -> Vec<&mut i32> {
        match self {
            Self::Penalties { last_n, .. } => vec![last_n],
            Self::Dry { allowed_length, last_n, .. } | Self::DryTexts { allowed_length, last_n, .. } => {
                vec![allowed_length, last_n]
            }
            Self::TopK { k } => vec![k],
            Self::Mirostat { m, .. } => vec![m],
            _ => Vec::new(),
        }
    }

    /// Its `min_keep`.
    pub fn min_keep(&mut self) -> Option<&mut u32> {
        match self {
            Self::TypP { min_keep, .. }
            | Self::TopP { min_keep, .. }
            | Self::MinP { min_keep, .. }
            | Self::Xtc { min_keep, .. } => Some(min_keep),
            _ => None,
        }
    }
}

/// The steps that are applied, those inside chains one by one.
pub fn leaves(steps: &[Step]) -> Vec<&Step> {
    steps
        .iter()
        .flat_map(|step| match step {
            Step::Chain { steps } if !steps.is_empty() => leaves(steps),
            step => vec![step],
        })
        .collect()
}
