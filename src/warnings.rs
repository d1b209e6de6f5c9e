//! Chains that run, and in which a step is meaningless where it stands.

mod known;
mod steps;
mod walk;

use std::fmt;

use sampler_steps::community::Protect;
use sampler_steps::{Chain, SamplerStep};

use walk::Walk;

/// A step in a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StepPlace {
    /// Where it stands: 1 is the first; `2.1` is the first step of the chain that is the second, and `2.second.1` that of the
    /// second chain of a `switch`.
    pub index: String,
    /// Its type.
    pub step: &'static str,
}

impl StepPlace {
    /// What the places of the steps begin with that stand in a chain inside this step, by the field that holds the chain.
    pub(crate) fn within(&self, field: &str) -> String {
        let index = &self.index;
        if field == "steps" { format!("{index}.") } else { format!("{index}.{field}.") }
    }
}

impl fmt::Display for StepPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "step {} ({})", self.index, self.step)
    }
}

/// A step that does nothing where it stands, or not what it is there for. The chain runs all the same.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Warning {
    /// The step.
    pub at: StepPlace,
    /// Why.
    pub why: Meaningless,
}

/// What makes a step meaningless.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Meaningless {
    /// It stands behind a step that leaves one candidate that can be drawn: `top_k` with 1, a temperature of 0.
    Decided {
        /// That step.
        by: StepPlace,
    },
    /// It keeps the most likely candidate, as all steps between it and `greedy` do.
    BeforeGreedy {
        /// The `greedy` step.
        by: StepPlace,
    },
    /// It removes what an earlier one has removed: a `top_k` with no smaller `k`, a `min_p` with no larger `p`, a ban of what is
    /// banned.
    NothingToRemove {
        /// The earlier step.
        by: StepPlace,
    },
    /// It makes tokens more or less likely of which some are gone: a penalty or a bias behind a truncation.
    TooLate {
        /// The first step that removes.
        by: StepPlace,
    },
    /// It bans tokens, but for the best where it finds no others, and an earlier step may leave no others.
    BanMayFail {
        /// The step that may leave as few as it bans.
        by: StepPlace,
    },
    /// It bans tokens, all that it finds: a `logit_bias` of -infinity. An earlier step may leave no others.
    BansAll {
        /// The step that may leave as few as it bans.
        by: StepPlace,
    },
    /// It forces a token, which an earlier step may have removed: then nothing is left that can be drawn.
    ForcedIsGone {
        /// The first step that removes.
        by: StepPlace,
    },
    /// It changes logits and leaves the set marked as sorted, as llama.cpp does, and a later step goes by that. Where it masks
    /// the first, every probability becomes NaN.
    BreaksOrder {
        /// The step that sorted.
        sorted_by: StepPlace,
        /// The later step that takes the first candidate for the best.
        used_by: StepPlace,
    },
    /// It goes by an entropy, which is NaN where a candidate has a probability of 0. Then it keeps the first whose
    /// probabilities add up: of up to 16 candidates the most likely, of more in whatever order a sort of equals leaves.
    NoEntropy {
        /// The step that masks candidates.
        by: StepPlace,
    },
    /// It estimates how fast the probabilities fall (`mirostat`), which is NaN where one of the first is 0. Then it keeps one
    /// candidate.
    NoEstimate {
        /// The step that masks candidates.
        by: StepPlace,
    },
    /// It forces nothing: it has no tokens to force, or no start to wait for.
    NothingToForce,
    /// It protects no token: it lists none.
    NothingToProtect,
    /// It protects from nothing: none of its steps removes or masks a candidate.
    NothingToProtectFrom,
    /// It protects tokens that are all banned before it, and stay so.
    ProtectsBanned {
        /// The step that bans the first of them.
        by: StepPlace,
    },
    /// It has no sequence after which the second chain would run.
    NeverSwitches,
    /// It wants a vocabulary, and there is none.
    NoVocab,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = &self.at;
        match &self.why {
            Meaningless::Decided { by } => {
                write!(f, "{at} cannot change the token: {by} leaves one candidate to draw")
            }
            Meaningless::BeforeGreedy { by } => {
                write!(f, "{at} cannot change the token, ties aside: it keeps the most likely one, which {by} selects")
            }
            Meaningless::NothingToRemove { by } => write!(f, "{at} removes nothing: {by} has removed as much"),
            Meaningless::TooLate { by } => write!(f, "{at} comes too late for the candidates that {by} removes"),
            Meaningless::BanMayFail { by } => {
                write!(f, "{at} lets a token through that it bans, where {by} leaves no other")
            }
            Meaningless::BansAll { by } => {
                write!(f, "{at} leaves nothing to draw, where {by} leaves only what it bans")
            }
            Meaningless::ForcedIsGone { by } => write!(f, "{at} may force a token that {by} has removed"),
            Meaningless::BreaksOrder { sorted_by, used_by } => {
                write!(f, "{at} changes the order that {sorted_by} sorted, and {used_by} takes it for sorted")
            }
            Meaningless::NoEntropy { by } => {
                write!(f, "{at} cannot tell what is typical: a candidate that {by} masks makes the entropy NaN")
            }
            Meaningless::NoEstimate { by } => {
                write!(f, "{at} keeps one candidate: another one that {by} masks makes its estimate NaN")
            }
            Meaningless::NothingToForce => write!(f, "{at} does nothing: it has no start, or nothing to force"),
            Meaningless::NothingToProtect => write!(f, "{at} protects nothing: it lists no token"),
            Meaningless::NothingToProtectFrom => {
                write!(f, "{at} protects from nothing: none of its steps removes or masks")
            }
            Meaningless::ProtectsBanned { by } => write!(f, "{at} protects nothing: {by} has banned what it lists"),
            Meaningless::NeverSwitches => {
                write!(f, "{at} never runs its second chain: it has no sequence to switch after")
            }
            Meaningless::NoVocab => write!(f, "{at} wants a vocabulary, and there is none"),
        }
    }
}

/// The steps of a chain that are meaningless where they stand, in the chain's order. Steps that are off are no matter.
///
/// It goes by what steps say of themselves ([`Facts`](crate::Facts)) and by what is known of the stock steps; every warning
/// holds, short of logits that overflow, and a chain without one is not proven good.
///
/// ```
/// use sampler_chain::steps::{Chain, Dist, Penalties, TopK};
///
/// let chain = Chain::new().with(TopK { k: 40 }).with(Penalties::new(64, 1.1, 0.0, 0.0)).with(Dist::default());
/// let warnings = sampler_chain::chain_warnings(&chain);
/// let text = "step 2 (penalties) comes too late for the candidates that step 1 (top_k) removes";
/// assert_eq!(warnings[0].to_string(), text);
/// ```
pub fn chain_warnings(chain: &Chain) -> Vec<Warning> {
    let mut walk = Walk::default();
    walk.chain(chain.steps(), "");
    walk.finish()
}

/// The steps of a chain that want a vocabulary, those inside others included, for a run in which there is none. Some are
/// refused then, others do less: `dry` has no breakers, `reasoning_budget` may cut a character.
pub fn vocab_warnings(chain: &Chain) -> Vec<Warning> {
    let mut found = Vec::new();
    wanting_vocab(chain.steps(), "", &mut found);
    found
}

fn wanting_vocab(chain: &[Box<dyn SamplerStep>], outer: &str, found: &mut Vec<Warning>) {
    for (i, step) in chain.iter().enumerate().filter(|(_, step)| !step.is_off()) {
        let at = StepPlace { index: format!("{outer}{}", i + 1), step: step.typetag_name() };
        let lists_by_vocab =
            steps::known::<Protect>(step.as_ref()).is_some_and(|step| step.eog || !step.pieces.is_empty());
        let inner: Vec<_> = step.chains().into_iter().filter(|(_, chain)| chain.facts().needs_vocab).collect();
        if step.facts().needs_vocab && (inner.is_empty() || lists_by_vocab) {
            found.push(Warning { at: at.clone(), why: Meaningless::NoVocab });
        }
        for (field, chain) in inner {
            wanting_vocab(chain.steps(), &at.within(field), found);
        }
    }
}

/// Whether a step changes nothing with its values, off or not.
#[cfg(feature = "cli")]
pub(crate) fn is_idle(step: &dyn SamplerStep) -> bool {
    steps::is_idle(step)
}
