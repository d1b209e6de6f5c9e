//! A step of libllama.

use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use libllama::{Libllama, LlamaError, Sampler, Vocab};
use sampler_chain::{GgufError, GgufFile, Vocab as OurVocab};

use super::Step;

/// libllama, and the vocabularies that both sides have read.
#[derive(Debug, Clone)]
pub struct Oracle {
    library: Libllama,
    vocabs: Vec<Shared>,
}

/// The files of the vocabularies, below `testing/data`: the second is so large that this crate leaves its rows where they are.
pub const VOCABS: [&str; 2] = ["gguf/bpe-smollm2-300.gguf", "smollm2-520.gguf"];

/// A vocabulary that both sides have read out of one file.
#[derive(Debug, Clone)]
struct Shared {
    there: Vocab,
    here: Arc<dyn OurVocab>,
    path: PathBuf,
}

/// What a sampler is made with besides its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// Its seed.
    pub seed: u32,
    /// How many tokens it is told that there are.
    pub n_vocab: usize,
    /// Which vocabulary it looks into, if it does: a place in [`VOCABS`].
    pub vocab: usize,
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
        let open = |file: &str| {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../data").join(file);
            let there = Vocab::open(&library, &path)?;
            let encode = there.clone();
            // The tokenizer is the engine's, which is llama.cpp here.
            let here = GgufFile::open(&path)?.vocab()?.with_encoder(move |text| {
                Ok(encode.tokenize(text).into_iter().filter_map(|id| u32::try_from(id).ok()).collect())
            });
            Ok::<_, OracleError>(Shared { there, here: Arc::new(here), path })
        };
        let vocabs = VOCABS.into_iter().map(open).collect::<Result<_, _>>()?;
        Ok(Self { library, vocabs })
    }

    /// A vocabulary as this crate reads it.
    pub fn here(&self, vocab: usize) -> &Arc<dyn OurVocab> {
        &self.vocabs[vocab].here
    }

    /// A vocabulary's file.
    pub fn vocab_path(&self, vocab: usize) -> &Path {
        &self.vocabs[vocab].path
    }

    /// How many tokens each vocabulary has.
    pub fn sizes(&self) -> Vec<usize> {
        self.vocabs.iter().map(|vocab| vocab.here.n_tokens()).collect()
    }

    /// The library.
    pub fn library(&self) -> &Libllama {
        &self.library
    }

    /// The sampler of one step.
    pub fn sampler(&self, step: &Step, setting: Setting) -> Sampler {
        let (library, seed) = (&self.library, setting.seed);
        let n_vocab_i32 = i32::try_from(setting.n_vocab).unwrap_or(i32::MAX);
        let vocab = &self.vocabs[setting.vocab].there;
        match step {
            Step::Penalties { last_n, repeat, freq, present } => {
                library.penalties(n_vocab_i32, *last_n, *repeat, *freq, *present)
            }
            Step::Dry { multiplier, base, allowed_length, last_n, breakers } => {
                let signed = |breaker: &Vec<u32>| breaker.iter().map(|&id| id as i32).collect();
                let breakers: Vec<Vec<i32>> = breakers.iter().map(signed).collect();
                library.dry(*multiplier, *base, *allowed_length, *last_n, &breakers)
            }
            Step::DryTexts { multiplier, base, allowed_length, last_n, texts } => {
                // A C string ends at its first NUL, which no text here has.
                let texts: Vec<CString> = texts.iter().filter_map(|text| CString::new(text.as_str()).ok()).collect();
                library.dry_by_texts(vocab, (*multiplier, *base), (*allowed_length, *last_n), &texts)
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
            Step::Infill => library.infill(vocab),
            Step::Chain { steps } => self.chain(steps.iter().map(|step| (step, setting))),
        }
    }

    /// The chain of these steps.
    pub fn chain<'s>(&self, steps: impl IntoIterator<Item = (&'s Step, Setting)>) -> Sampler {
        let mut chain = self.library.chain();
        steps.into_iter().for_each(|(step, setting)| chain.push(self.sampler(step, setting)));
        chain
    }
}
