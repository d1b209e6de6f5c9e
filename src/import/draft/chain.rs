//! The chain of what was read.

use std::any::Any;

use sampler_steps::community::RepPenSlope;
use sampler_steps::{Chain, Dry, Greedy, Penalties, SamplerStep, Temperature, Window};

use super::Draft;
use crate::llama_server::{BuildError, StepName, llama_server_chain};
use crate::params::Params;

impl Draft<'_> {
    /// llama-server's chain for llama.cpp's presets; of others', the steps that do something, with those in their places that
    /// llama-server has not.
    pub(super) fn chain(&self, params: &Params) -> Result<Chain, BuildError> {
        let whole = self.listed(params)?;
        let mut chain = Chain::new();
        let mut first = self.first_temperature.map(Temperature::new).filter(|step| !step.is_off());
        // Before the listed steps biases may stand, and behind them what draws.
        let n_listed = params.samplers.iter().filter(|name| **name != StepName::AdaptiveP).count();
        let n_before = whole.len().saturating_sub(n_listed + 1);
        for (place, step) in whole.iter().enumerate() {
            if (params.mirostat == 0 || self.lists_before_mirostat) && place >= n_before {
                for (extra, step) in self.extras_before(place - n_before) {
                    if !extra.is_before_temperature()
                        && let Some(temperature) = first.take()
                    {
                        chain.push(Box::new(temperature));
                    }
                    chain.push(step.clone());
                }
            }
            let penalises = ["logit_bias", "penalties", "dry"].contains(&step.typetag_name());
            if self.greedy && !penalises || !self.as_llama_server && step.is_off() {
                continue;
            }
            if !penalises && let Some(temperature) = first.take() {
                chain.push(Box::new(temperature));
            }
            let as_any: &dyn Any = step.as_ref();
            match (as_any.downcast_ref::<Penalties>(), self.slope) {
                (Some(penalties), _) if self.counts_generated => {
                    split(penalties).into_iter().for_each(|part| chain.push(Box::new(part)));
                }
                (Some(penalties), Some(slope)) => {
                    sloping(penalties, slope).into_iter().for_each(|part| chain.push(part));
                }
                _ => chain.push(step.clone()),
            }
        }
        if self.greedy {
            chain.push(Box::new(Greedy::default()));
        }
        // Texts, which whoever runs the chain has the vocabulary for; without DRY there is nothing to look for.
        chain.visit_mut(&mut |dry: &mut Dry| {
            dry.breaker_tokens = None;
            dry.breakers = (!dry.is_off()).then(|| params.dry_sequence_breakers.clone());
        });
        Ok(chain)
    }

    /// llama-server's steps; where the listed ones run in front of mirostat, those and it.
    fn listed(&self, params: &Params) -> Result<Vec<Box<dyn SamplerStep>>, BuildError> {
        let whole = llama_server_chain(params)?.steps().to_vec();
        let Some(before) = self.before_mirostat(params) else { return Ok(whole) };
        let mut steps = llama_server_chain(&before)?.steps().to_vec();
        // Mirostat draws in place of dist.
        steps.pop();
        steps.extend(whole.last().cloned());
        Ok(steps)
    }

    /// The settings of the steps in front of mirostat, where there are any: its temperature is never dynamic.
    pub(super) fn before_mirostat(&self, params: &Params) -> Option<Params> {
        let runs = self.lists_before_mirostat && params.mirostat != 0;
        runs.then(|| Params { mirostat: 0, dynatemp_range: 0.0, ..params.clone() })
    }
}

/// KoboldCpp's penalty, and behind it the one on how often a token came, which KoboldCpp has not, if there is one.
fn sloping(penalties: &Penalties, slope: f32) -> Vec<Box<dyn SamplerStep>> {
    let Penalties { last_n, repeat, freq, present, .. } = *penalties;
    let mut steps: Vec<Box<dyn SamplerStep>> =
        vec![Box::new(RepPenSlope { range: last_n, penalty: repeat, slope, presence: present })];
    if freq != 0.0 {
        steps.push(Box::new(Penalties::new(last_n.min(i32::MAX as u32) as i32, 1.0, freq, 0.0)));
    }
    steps
}

/// The penalty on the whole context, and those on what was drawn, as far as they are on.
fn split(penalties: &Penalties) -> Vec<Penalties> {
    let Penalties { last_n, repeat, freq, present, .. } = *penalties;
    let last_n = last_n.min(i32::MAX as u32) as i32;
    let of_all = Penalties::new(last_n, repeat, 0.0, 0.0);
    let of_drawn = Penalties::new(i32::MAX, 1.0, freq, present).with_window(Window::Generated);
    [of_all, of_drawn].into_iter().filter(|part| !part.is_off()).collect()
}
