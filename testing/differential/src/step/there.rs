//! A step of libllama.

use std::path::Path;
use std::sync::Arc;

use libllama::{Libllama, LlamaError, Sampler, Vocab};
use sampler_chain::{GgufError, GgufFile, Vocab as OurVocab};

use super::Step;

/// libllama, and a vocabulary that both sides have read out of one file.
#[derive(Debug, Clone)]
pub struct Oracle {
    library: Libllama,
    vocab: Vocab,
    /// The same as this crate reads it.
    pub here: Arc<dyn OurVocab>,
}

/// Why there is no oracle.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OracleError {
    /// The library, or the vocabulary through it.
    #[error(transparent)]
    Llama(#[from] LlamaError),
    /// The vocabulary through this crate.
    #[error(transparent)]
    Gguf(#[from] GgufError),
    /// `LLAMA_LIB` is not set.
    #[error(
        "LLAMA_LIB is not set: it names the libllama.so of llama.cpp b11192 (testing/README.md says how to get it)"
    )]
    NotSet,
}

impl Oracle {
    /// The library that `LLAMA_LIB` names.
    ///
    /// # Errors
    /// None named, or one that does not load.
    pub fn from_env() -> Result<Self, OracleError> {
        let library = Libllama::from_env()?.ok_or(OracleError::NotSet)?;
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../data/gguf/bpe-smollm2-300.gguf");
        let vocab = Vocab::open(&library, &path)?;
        let here = Arc::new(GgufFile::open(&path)?.vocab()?);
        Ok(Self { library, vocab, here })
    }

    /// The library.
    pub fn library(&self) -> &Libllama {
        &self.library
    }

    /// The sampler of one step.
    pub fn sampler(&self, step: &Step, seed: u32, n_vocab: usize) -> Sampler {
        let (library, n_vocab_i32) = (&self.library, i32::try_from(n_vocab).unwrap_or(i32::MAX));
        match step {
            Step::Penalties { last_n, repeat, freq, present } => {
                library.penalties(n_vocab_i32, *last_n, *repeat, *freq, *present)
            }
            Step::Dry { multiplier, base, allowed_length, last_n, breakers } => {
                let signed = |breaker: &Vec<u32>| breaker.iter().map(|&id| id as i32).collect();
                let breakers: Vec<Vec<i32>> = breakers.iter().map(signed).collect();
                library.dry(*multiplier, *base, *allowed_length, *last_n, &breakers)
            }
            Step::TopNSigma { n } => library.top_n_sigma(*n),
            Step::TopK { k } => library.top_k(*k),
            Step::TypP { p, min_keep } => library.typical(*p, *min_keep as usize),
            Step::TopP { p, min_keep } => library.top_p(*p, *min_keep as usize),
            Step::MinP { p, min_keep } => library.min_p(*p, *min_keep as usize),
            Step::Xtc { probability, threshold, min_keep } => {
                library.xtc(*probability, *threshold, *min_keep as usize, seed)
            }
            Step::Temp { temp } => library.temp(*temp),
            Step::TempExt { temp, delta, exponent } => library.temp_ext(*temp, *delta, *exponent),
            Step::LogitBias { bias } => {
                let biases: Vec<(i32, f32)> = bias.iter().map(|&(id, bias)| (id as i32, bias)).collect();
                library.logit_bias(n_vocab_i32, &biases)
            }
            Step::Dist => library.dist(seed),
            Step::Greedy => library.greedy(),
            Step::Mirostat { tau, eta, m } => library.mirostat(n_vocab_i32, seed, *tau, *eta, *m),
            Step::MirostatV2 { tau, eta } => library.mirostat_v2(seed, *tau, *eta),
            Step::AdaptiveP { target, decay } => library.adaptive_p(*target, *decay, seed),
            Step::Infill => library.infill(&self.vocab),
            Step::Chain { steps } => self.chain(steps, seed, n_vocab),
        }
    }

    /// The chain of these steps.
    pub fn chain(&self, steps: &[Step], seed: u32, n_vocab: usize) -> Sampler {
        let mut chain = self.library.chain();
        steps.iter().for_each(|step| chain.push(self.sampler(step, seed, n_vocab)));
        chain
    }
}
