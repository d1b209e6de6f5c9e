//! A step of this crate.

use sampler_chain::SamplerStep;
use sampler_chain::steps::{
    AdaptiveP, Chain, Dist, Dry, Greedy, Infill, LogitBias, MinP, Mirostat, MirostatV2, Penalties, Temperature, TopK,
    TopNSigma, TopP, TypP, Xtc,
};

use super::Step;

/// How a step of this crate is made. The tests of the comparison put wrong ones in its place.
pub type Build = dyn Fn(&Step) -> Box<dyn SamplerStep> + Sync;

/// The step of this crate.
pub fn build(step: &Step) -> Box<dyn SamplerStep> {
    match step.clone() {
        Step::Penalties { last_n, repeat, freq, present } => Box::new(Penalties::new(last_n, repeat, freq, present)),
        Step::Dry { multiplier, base, allowed_length, last_n, breakers } => {
            Box::new(Dry::new(multiplier, base, allowed_length, last_n).with_breaker_tokens(breakers))
        }
        Step::DryTexts { multiplier, base, allowed_length, last_n, texts } => {
            Box::new(Dry::new(multiplier, base, allowed_length, last_n).with_breakers(texts))
        }
        Step::TopNSigma { n } => Box::new(TopNSigma { n }),
        Step::TopK { k } => Box::new(TopK { k }),
        Step::TypP { p, min_keep } => Box::new(TypP { p, min_keep }),
        Step::TopP { p, min_keep } => Box::new(TopP { p, min_keep }),
        Step::MinP { p, min_keep } => Box::new(MinP { p, min_keep }),
        Step::Xtc { probability, threshold, min_keep } => Box::new(Xtc::new(probability, threshold, min_keep)),
        Step::Temp { temp } => Box::new(Temperature::new(temp)),
        Step::TempExt { temp, delta, exponent } => Box::new(Temperature { temp, delta, exponent }),
        Step::LogitBias { bias } => Box::new(LogitBias::new(bias)),
        Step::Dist => Box::new(Dist::default()),
        Step::Greedy => Box::new(Greedy {}),
        Step::Mirostat { tau, eta, m } => Box::new(Mirostat::new(tau, eta, m)),
        Step::MirostatV2 { tau, eta } => Box::new(MirostatV2::new(tau, eta)),
        Step::AdaptiveP { target, decay } => Box::new(AdaptiveP::new(target, decay)),
        Step::Infill => Box::new(Infill::default()),
        Step::Chain { .. } => Box::new(Chain::new()),
    }
}

/// The steps as a chain of this crate; chains inside are made here, everything else by `build`.
pub fn chain(steps: &[Step], build: &Build) -> Chain {
    let made = steps.iter().map(|step| match step {
        Step::Chain { steps } => Box::new(chain(steps, build)),
        step => build(step),
    });
    Chain::from(made.collect::<Vec<Box<dyn SamplerStep>>>())
}
