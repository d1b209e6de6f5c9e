//! A model's vocabulary, as `llama_vocab::impl::load` reads it.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};
use std::fmt;
use std::ops::BitOr;
use std::sync::Arc;

use sampler_steps::{EncodeError, Vocab};

use super::Problem;
use super::pieces::{Style, lone_piece, piece};
use super::read::Metadata;
use super::special::{Special, find};

/// Pre-tokenizers of byte-level vocabularies whose texts keep their spaces before punctuation.
const KEEP_SPACES: &[&str] = &[
    "afmoe",
    "bailingmoe",
    "bailingmoe2",
    "chameleon",
    "cohere2moe",
    "command-r",
    "deepseek-coder",
    "deepseek-llm",
    "deepseek-r1-qwen",
    "deepseek-v3",
    "f2llmv2",
    "gpt-4o",
    "granite-docling",
    "granite-embed-multi-97m",
    "grok-2",
    "hunyuan",
    "hunyuan-dense",
    "hy_v4",
    "joyai-llm",
    "kanana2",
    "kimi-k2",
    "kormo",
    "laguna",
    "llada-moe",
    "llama4",
    "minimax-m2",
    "poro-chat",
    "qwen2",
    "qwen35",
    "sarvam-moe",
    "seed-coder",
    "smollm",
    "solar-open",
    "spark2_5",
    "superbpe",
    "talkie",
    "tekken",
    "tiny_aya",
    "trillion",
    "ufakzeka",
    "viking",
    "youtu",
];
/// Those whose texts lose them. Others are not known, and whether they do cannot be told.
const CLEAN_SPACES: &[&str] = &[
    "",
    "a.x-4.0",
    "bloom",
    "chatglm-bpe",
    "codeshell",
    "dbrx",
    "default",
    "exaone",
    "exaone-moe",
    "exaone4",
    "falcon",
    "falcon-h1",
    "falcon3",
    "gemma4",
    "gigachat",
    "glm4",
    "gpt-2",
    "gpt3-finnish",
    "granite-embed-multi-311m",
    "jais",
    "jais-2",
    "jina-de",
    "jina-es",
    "jina-v1-en",
    "jina-v2-code",
    "jina-v2-de",
    "jina-v2-es",
    "jina-v5-nano",
    "lfm2",
    "llama-bpe",
    "llama-v3",
    "llama3",
    "megrez",
    "mellum",
    "mellum2",
    "midm-2.0",
    "minerva-7b",
    "minicpm5",
    "modern-bert",
    "mpt",
    "olmo",
    "phi-2",
    "pixtral",
    "refact",
    "roberta-bpe",
    "smaug-bpe",
    "stablelm2",
    "starcoder",
    "whitespace",
];
/// Pre-tokenizers of byte-level vocabularies whose tokens are written with SentencePiece's spaces.
const UNDERLINED: &[&str] = &["gemma4", "granite-embed-multi-311m", "sarvam-moe"];

/// The kind of a vocabulary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `gpt2`: letters that stand for bytes.
    ByteLevel,
    /// `llama` and `t5`: spaces as underlines, bytes as `<0x0A>`.
    SentencePiece,
    /// `bert`
    WordPiece,
}

/// The attributes of a token: `llama_token_attr`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attr(u8);

impl Attr {
    pub const NONE: Self = Self(0);
    pub const UNKNOWN: Self = Self(1);
    pub const UNUSED: Self = Self(2);
    pub const NORMAL: Self = Self(4);
    pub const CONTROL: Self = Self(8);
    pub const USER_DEFINED: Self = Self(16);
    pub const BYTE: Self = Self(32);

    /// Whether it has any of these.
    pub fn any(self, of: Self) -> bool {
        self.0 & of.0 != 0
    }

    /// The attribute of a type in `tokenizer.ggml.token_type`.
    fn of_type(kind: i32) -> Self {
        match kind {
            1 => Self::NORMAL,
            2 => Self::UNKNOWN,
            3 => Self::CONTROL,
            4 => Self::USER_DEFINED,
            5 => Self::UNUSED,
            6 => Self::BYTE,
            _ => Self::NONE,
        }
    }
}

impl BitOr for Attr {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// A token as the file has it.
#[derive(Debug, Clone)]
pub struct Token {
    pub text: Vec<u8>,
    pub attr: Attr,
}

/// What a tokenizer has where the file says nothing.
#[derive(Debug, Clone, Copy)]
pub struct Defaults {
    pub eos: Option<u32>,
}

type Encoder = Arc<dyn Fn(&[u8]) -> Result<Vec<u32>, EncodeError> + Send + Sync>;

/// A model's vocabulary: pieces as llama.cpp renders them, and the tokens that end a text. It has no tokenizer:
/// [`with_encoder`](Self::with_encoder) takes yours, for breakers of several characters and texts in biases.
#[derive(Clone)]
pub struct GgufVocab {
    pieces: Vec<Vec<u8>>,
    control: Vec<bool>,
    style: Style,
    special: Ends,
    encoder: Option<Encoder>,
}

/// What the trait is asked for.
#[derive(Debug, Clone)]
struct Ends {
    eog: BTreeSet<u32>,
    eot: Option<u32>,
    eos: Option<u32>,
    suppressed: Vec<u32>,
}

impl fmt::Debug for GgufVocab {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GgufVocab").field("n_tokens", &self.pieces.len()).field("special", &self.special).finish()
    }
}

impl GgufVocab {
    /// The same with a tokenizer for texts, which may begin inside a character: no special tokens at the ends.
    pub fn with_encoder(
        mut self,
        encode: impl Fn(&[u8]) -> Result<Vec<u32>, EncodeError> + Send + Sync + 'static,
    ) -> Self {
        self.encoder = Some(Arc::new(encode));
        self
    }

    pub(super) fn empty() -> Self {
        let style = Style { kind: Kind::SentencePiece, underlined: false, space_prefix: false, clean_spaces: false };
        let special = Ends { eog: BTreeSet::new(), eot: None, eos: None, suppressed: Vec::new() };
        Self { pieces: Vec::new(), control: Vec::new(), style, special, encoder: None }
    }

    pub(super) fn read(metadata: &Metadata) -> Result<Self, Problem> {
        let (style, defaults) = style(metadata)?;
        let mut tokens = tokens(metadata, style)?;
        let Special { eog, eot, eos } = find(metadata, &mut tokens, defaults);
        const SUPPRESS: &str = "tokenizer.ggml.suppress_tokens";
        let suppressed = metadata.ints(SUPPRESS);
        if metadata.has(SUPPRESS) && suppressed.is_none() {
            return Err(Problem::key(SUPPRESS, "is no list of 32-bit integers"));
        }
        let suppressed = suppressed.unwrap_or_default();
        let suppressed = suppressed.into_iter().filter_map(|id| u32::try_from(id).ok());
        let suppressed = suppressed.filter(|&id| (id as usize) < tokens.len()).collect();
        Ok(Self {
            pieces: tokens.iter().map(|token| piece(token, style)).collect(),
            control: tokens.iter().map(|token| token.attr.any(Attr::CONTROL | Attr::UNKNOWN)).collect(),
            style,
            special: Ends { eog, eot, eos, suppressed },
            encoder: None,
        })
    }
}

fn style(metadata: &Metadata) -> Result<(Style, Defaults), Problem> {
    const MODEL: &str = "tokenizer.ggml.model";
    let model = metadata.text(MODEL).ok_or_else(|| Problem::key(MODEL, "is missing: the file has no vocabulary"))?;
    let (kind, eos) = match model {
        "llama" => (Kind::SentencePiece, Some(2)),
        "t5" => (Kind::SentencePiece, Some(1)),
        "bert" => (Kind::WordPiece, None),
        "gpt2" | "whitespace" => (Kind::ByteLevel, Some(11)),
        "gemma4" => (Kind::ByteLevel, None),
        other => {
            let known = "llama, t5, bert, gpt2, whitespace and gemma4 are read";
            return Err(Problem::key(MODEL, format!("the tokenizer {other} is not known; {known}")));
        }
    };
    let pre = if model == "gemma4" { "gemma4" } else { metadata.text("tokenizer.ggml.pre").unwrap_or_default() };
    let byte_level = kind == Kind::ByteLevel;
    if byte_level && !KEEP_SPACES.contains(&pre) && !CLEAN_SPACES.contains(&pre) {
        return Err(Problem::key("tokenizer.ggml.pre", format!("the pre-tokenizer {pre} is not known to b11192")));
    }
    const SPACE_PREFIX: &str = "tokenizer.ggml.add_space_prefix";
    let space_prefix = metadata.flag(SPACE_PREFIX).unwrap_or(model == "llama");
    if metadata.has(SPACE_PREFIX) && metadata.flag(SPACE_PREFIX).is_none() {
        return Err(Problem::key(SPACE_PREFIX, "is no flag"));
    }
    let clean_spaces = kind == Kind::WordPiece || (byte_level && !KEEP_SPACES.contains(&pre));
    let underlined = byte_level && UNDERLINED.contains(&pre);
    Ok((Style { kind, underlined, space_prefix, clean_spaces }, Defaults { eos }))
}

fn tokens(metadata: &Metadata, style: Style) -> Result<Vec<Token>, Problem> {
    const TOKENS: &str = "tokenizer.ggml.tokens";
    const TYPES: &str = "tokenizer.ggml.token_type";
    let texts = metadata.texts(TOKENS).ok_or_else(|| Problem::key(TOKENS, "is missing, or no list of texts"))?;
    if u32::try_from(texts.len()).is_err() {
        return Err(Problem::key(TOKENS, format!("{} tokens are too many", texts.len())));
    }
    let types = metadata.ints(TYPES);
    if metadata.has(TYPES) && types.is_none() {
        return Err(Problem::key(TYPES, "is no list of 32-bit integers"));
    }
    if let Some(types) = types.as_ref().filter(|types| types.len() < texts.len()) {
        return Err(Problem::key(TYPES, format!("has {} types for {} tokens", types.len(), texts.len())));
    }
    let mut seen = HashSet::new();
    let mut tokens = Vec::with_capacity(texts.len());
    for (i, text) in texts.enumerate() {
        let text = if text.is_empty() { format!("[EMPTY_{i}]").into_bytes() } else { text.to_vec() };
        if !seen.insert(text.clone()) {
            return Err(Problem::key(TOKENS, format!("token {i}, \"{}\", is there twice", text.escape_ascii())));
        }
        let attr = types.as_ref().map_or(Attr::NORMAL, |types| Attr::of_type(types[i]));
        if attr == Attr::BYTE && (style.kind == Kind::WordPiece || text.len() < 3) {
            return Err(Problem::key(TYPES, format!("token {i}, \"{}\", is no byte token", text.escape_ascii())));
        }
        tokens.push(Token { text, attr });
    }
    Ok(tokens)
}

impl Vocab for GgufVocab {
    fn n_tokens(&self) -> usize {
        self.pieces.len()
    }

    fn piece(&self, id: u32) -> &[u8] {
        self.pieces.get(id as usize).map_or(&[], Vec::as_slice)
    }

    fn lone_piece(&self, id: u32) -> Cow<'_, [u8]> {
        lone_piece(self.piece(id), self.style)
    }

    fn is_control(&self, id: u32) -> bool {
        self.control.get(id as usize).copied().unwrap_or(false)
    }

    fn is_eog(&self, id: u32) -> bool {
        self.special.eog.contains(&id)
    }

    fn eot(&self) -> Option<u32> {
        self.special.eot
    }

    fn eos(&self) -> Option<u32> {
        self.special.eos
    }

    fn suppressed(&self) -> &[u32] {
        &self.special.suppressed
    }

    fn encode(&self, text: &[u8]) -> Result<Vec<u32>, EncodeError> {
        match &self.encoder {
            _ if text.is_empty() => Ok(Vec::new()),
            Some(encode) => encode(text),
            None => Err(EncodeError {
                text: text.escape_ascii().to_string(),
                why: "a GGUF file's vocabulary has no tokenizer; GgufVocab::with_encoder takes one".into(),
            }),
        }
    }
}
