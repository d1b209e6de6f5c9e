//! The other Rust crates, for the chains that they have. Their tokens are their own: nothing is compared.

use llm_samplers::prelude::*;
use rand::SeedableRng;
use rand::rngs::StdRng;
use sampler_chain::Params;

use crate::Failure;
use crate::engines::Engine;
use crate::rows::Rows;

/// llm-samplers 0.0.7.
pub struct LlmSamplers {
    chain: SamplerChain,
    resources: SimpleSamplerResources,
}

impl LlmSamplers {
    /// None: it has no such chain.
    pub fn new(p: &Params, rows: &Rows) -> Option<Self> {
        if p.dry_multiplier > 0.0 || p.top_n_sigma > 0.0 || p.xtc_probability > 0.0 || p.dynatemp_range > 0.0 {
            return None;
        }
        let mut chain = SamplerChain::new();
        let temperature = SampleTemperature::new(p.temperature);
        match p.mirostat {
            0 => {
                // What is off is left out: this crate would sort for a top-k of everything.
                if p.repeat_penalty != 1.0 {
                    chain += SampleRepetition::new(p.repeat_penalty, p.repeat_last_n as usize);
                }
                if p.top_k > 0 {
                    chain += SampleTopK::new(p.top_k as usize, 1);
                }
                if p.typical_p < 1.0 {
                    chain += SampleLocallyTypical::new(p.typical_p, 1);
                }
                if p.top_p < 1.0 {
                    chain += SampleTopP::new(p.top_p, 1);
                }
                if p.min_p > 0.0 {
                    chain += SampleMinP::new(p.min_p, 1);
                }
                chain = chain + temperature + SampleRandDistrib::new();
            }
            1 => chain = chain + temperature + SampleMirostat1::new(rows.n_vocab, p.mirostat_tau, p.mirostat_eta),
            _ => chain = chain + temperature + SampleMirostat2::new(p.mirostat_tau, p.mirostat_eta),
        }
        let rng = StdRng::seed_from_u64(u64::from(p.seed));
        let resources = SimpleSamplerResources::new(Some(Box::new(rng)), Some(rows.prompt.clone()));
        Some(Self { chain, resources })
    }
}

impl Engine for LlmSamplers {
    fn name(&self) -> &'static str {
        "llm-samplers"
    }

    fn draw(&mut self, _: usize, row: &[f32]) -> Result<Option<u32>, Failure> {
        let mut logits = Logits::try_from_iter(row.iter().copied())?;
        let token = self.chain.sample_token(&mut self.resources, &mut logits)?;
        let token = token.ok_or("llm-samplers drew nothing")?;
        self.resources.with_last_tokens_mut(&mut |tokens| tokens.push(token))?;
        Ok(Some(token))
    }
}

#[cfg(feature = "candle")]
pub use candle::Candle;

#[cfg(feature = "candle")]
mod candle {
    use candle_core::{Device, Tensor};
    use candle_transformers::generation::{LogitsProcessor, Sampling};

    use super::*;

    /// candle-transformers' LogitsProcessor. Its rows are tensors before the clock starts, as a model in candle leaves them.
    pub struct Candle {
        processor: LogitsProcessor,
        rows: Vec<Tensor>,
        name: &'static str,
    }

    impl Candle {
        /// None: it has no such chain.
        pub fn new(p: &Params, rows: &Rows) -> Result<Option<Self>, Failure> {
            let other = p.repeat_penalty != 1.0
                || p.dry_multiplier > 0.0
                || p.top_n_sigma > 0.0
                || p.typical_p < 1.0
                || p.xtc_probability > 0.0
                || p.dynatemp_range > 0.0
                || p.mirostat != 0;
            let (k, temperature) = (p.top_k as usize, f64::from(p.temperature));
            let sampling = match (p.top_k > 0, p.top_p < 1.0) {
                _ if other => return Ok(None),
                (true, true) => Sampling::TopKThenTopP { k, p: f64::from(p.top_p), temperature },
                (true, false) => Sampling::TopK { k, temperature },
                (false, true) => Sampling::TopP { p: f64::from(p.top_p), temperature },
                (false, false) if p.min_p > 0.0 => return Ok(None),
                (false, false) => Sampling::All { temperature },
            };
            // Behind another cut, min-p looks at few candidates: its absence changes the token, hardly the time.
            let name = if p.min_p > 0.0 { "candle-no-min-p" } else { "candle" };
            let tensor = |row: &Vec<f32>| Tensor::from_slice(row, rows.n_vocab, &Device::Cpu);
            let tensors = rows.rows.iter().map(tensor).collect::<Result<_, _>>()?;
            let processor = LogitsProcessor::from_sampling(u64::from(p.seed), sampling);
            Ok(Some(Self { processor, rows: tensors, name }))
        }
    }

    impl Engine for Candle {
        fn name(&self) -> &'static str {
            self.name
        }

        fn draw(&mut self, i: usize, _: &[f32]) -> Result<Option<u32>, Failure> {
            Ok(Some(self.processor.sample(&self.rows[i])?))
        }
    }
}
