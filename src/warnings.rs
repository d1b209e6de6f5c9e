//! Chains that run, and in which a step is meaningless where it stands.

mod walk;

use std::fmt;

use sampler_steps::{Chain, SamplerStep};

use walk::Walk;

/// A step in a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StepPlace {
    /// Where it stands: 1 is the first; `2.1` is the first step of the chain that is the second.
    pub index: String,
    /// Its type.
    pub step: &'static str,
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
    /// It removes what an earlier one has removed: a `top_k` with no smaller `k`, a `min_p` with no larger `p`.
    NothingToRemove {
        /// The earlier step.
        by: StepPlace,
    },
    /// It makes tokens more or less likely of which some are gone: a penalty or a bias behind a truncation.
    TooLate {
        /// The first step that removes.
        by: StepPlace,
    },
    /// It forces a token, which an earlier step may have removed: then nothing is left that can be drawn.
    ForcedIsGone {
        /// The first step that removes.
        by: StepPlace,
    },
    /// It changes logits and leaves the set marked as sorted, as llama.cpp does, and a later step goes by that.
    BreaksOrder {
        /// The step that sorted.
        sorted_by: StepPlace,
        /// The later step that takes the first candidate for the best.
        used_by: StepPlace,
    },
    /// It goes by an entropy, which is NaN where a candidate has a probability of 0; then it cuts by the sorted order.
    NoEntropy {
        /// The step that masks candidates.
        by: StepPlace,
    },
    /// It forces nothing: it has no tokens to force, or no start to wait for.
    NothingToForce,
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
            Meaningless::ForcedIsGone { by } => write!(f, "{at} may force a token that {by} has removed"),
            Meaningless::BreaksOrder { sorted_by, used_by } => {
                write!(f, "{at} changes the order that {sorted_by} sorted, and {used_by} takes it for sorted")
            }
            Meaningless::NoEntropy { by } => {
                write!(f, "{at} cannot tell what is typical: a candidate that {by} masks makes the entropy NaN")
            }
            Meaningless::NothingToForce => write!(f, "{at} does nothing: it has no start, or nothing to force"),
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

fn wanting_vocab(steps: &[Box<dyn SamplerStep>], outer: &str, found: &mut Vec<Warning>) {
    for (i, step) in steps.iter().enumerate() {
        let index = format!("{outer}{}", i + 1);
        let before = found.len();
        wanting_vocab(step.inner(), &format!("{index}."), found);
        if found.len() == before && step.facts().needs_vocab && !step.is_off() {
            let at = StepPlace { index, step: step.typetag_name() };
            found.push(Warning { at, why: Meaningless::NoVocab });
        }
    }
}
