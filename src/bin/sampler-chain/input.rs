//! What the command line draws from: rows of logits, a prompt, a vocabulary, and the chain that runs over them.

use std::error::Error;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sampler_chain::{
    ChainFile, Ctx, FileError, Format, GgufFile, LogitsFile, Params, Report, Sampler, Vocab, VocabFile,
};

use crate::flags::Flags;
use crate::request;

/// The rows and what belongs to them.
#[derive(clap::Args)]
pub struct RowArgs {
    /// The logits: a safetensors file with an F32 tensor of shape [rows, vocabulary].
    #[arg(long, value_name = "FILE")]
    logits: PathBuf,
    /// The tensor's name; needed where the file has several and none is called logits.
    #[arg(long, value_name = "NAME")]
    tensor: Option<String>,
    /// The rows to draw from: the first, and the one behind the last. Without it, all.
    #[arg(long, value_name = "A..B", value_parser = parse_rows)]
    rows: Option<(usize, usize)>,
    /// The prompt's tokens, which penalties, DRY and the like see: ids with commas or spaces between, or a file of them.
    #[arg(long, value_name = "IDS-OR-FILE")]
    prompt: Option<String>,
    /// The vocabulary: a JSON file with pieces_hex, eog, eot and eos (testing/README.md). Without it, the model file's.
    #[arg(long, value_name = "FILE")]
    vocab: Option<PathBuf>,
    /// A model file, whose general.sampling.* values and vocabulary are used.
    #[arg(long, value_name = "MODEL")]
    gguf: Option<PathBuf>,
}

/// The chain: a file's, or the one that llama-server builds from the model's values, the flags and a request.
#[derive(clap::Args)]
pub struct ChainArgs {
    /// A chain file, TOML or JSON.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["request", "Flags"])]
    chain: Option<PathBuf>,
    /// A llama-server request body: a file, or the JSON itself.
    #[arg(long, value_name = "FILE-OR-JSON")]
    request: Option<String>,
    #[command(flatten)]
    flags: Flags,
}

/// The rows, opened.
pub struct Input {
    pub logits: LogitsFile,
    /// The rows that were asked for; at least one.
    pub rows: Range<usize>,
    pub prompt: Vec<u32>,
    pub vocab: Option<Arc<dyn Vocab>>,
    model: Option<GgufFile>,
}

impl RowArgs {
    /// Opens the files and checks that they belong together.
    pub fn open(&self) -> Result<Input, Box<dyn Error>> {
        let logits = LogitsFile::open(&self.logits, self.tensor.as_deref())?;
        let (from, to) = self.rows.unwrap_or((0, logits.n_rows()));
        if to > logits.n_rows() || from == to {
            return Err(format!("{}: rows {from}..{to} of {}", self.logits.display(), logits.n_rows()).into());
        }
        let model = self.gguf.as_deref().map(GgufFile::open).transpose()?;
        let vocab = self.vocab(model.as_ref(), logits.n_vocab())?;
        Ok(Input { logits, rows: from..to, prompt: parse_prompt(self.prompt.as_deref())?, vocab, model })
    }

    /// The vocabulary of its own file, or of the model's.
    fn vocab(&self, model: Option<&GgufFile>, n_vocab: usize) -> Result<Option<Arc<dyn Vocab>>, Box<dyn Error>> {
        let (path, vocab): (&Path, Arc<dyn Vocab>) = match (&self.vocab, &self.gguf, model) {
            (Some(path), _, _) => (path, Arc::new(VocabFile::read(path)?)),
            (None, Some(path), Some(model)) if model.has_vocab() => (path, Arc::new(model.vocab()?)),
            _ => return Ok(None),
        };
        if vocab.n_tokens() != n_vocab {
            let (path, logits) = (path.display(), self.logits.display());
            let n_tokens = vocab.n_tokens();
            return Err(format!("{path} has {n_tokens} tokens, and the rows of {logits} are {n_vocab} wide").into());
        }
        Ok(Some(vocab))
    }
}

impl ChainArgs {
    /// A sampler of the chain, which has seen the prompt.
    pub fn sampler(&self, input: &Input) -> Result<Sampler, Box<dyn Error>> {
        let sampler = match &self.chain {
            Some(path) => input.of_chain_file(path)?,
            None => input.of_params(&self.flags, self.request.as_deref())?,
        };
        input.prompted(sampler)
    }
}

impl Input {
    /// Reads a row.
    pub fn row(&self, i: usize, row: &mut Vec<f32>) -> Result<(), String> {
        self.logits.row(i, row).ok_or_else(|| format!("row {i} is not there"))
    }

    /// The sampler of a chain file.
    pub fn of_chain_file(&self, path: &Path) -> Result<Sampler, Box<dyn Error>> {
        self.of_chain(ChainFile::read(path), path)
    }

    fn of_chain(&self, file: Result<ChainFile, FileError>, path: &Path) -> Result<Sampler, Box<dyn Error>> {
        let ctx = |seed| match &self.vocab {
            Some(vocab) => Ctx::new(seed).with_vocab(vocab.clone()),
            None => Ctx::new(seed).with_n_vocab(self.logits.n_vocab()),
        };
        Ok(file?.into_sampler(ctx).map_err(|error| format!("{}: {error}", path.display()))?)
    }

    /// The sampler that llama-server builds: defaults, the model's values, the flags, the request. What became of odd fields
    /// is told on stderr.
    pub fn of_params(&self, flags: &Flags, request: Option<&str>) -> Result<Sampler, Box<dyn Error>> {
        let (mut params, report) = flags.over(&self.base())?;
        tell("", &report);
        if let Some(given) = request {
            let (over, report) = request::read(given, &params)?;
            params = over;
            tell("", &report);
        }
        Ok(Sampler::new(params)?)
    }

    /// llama-server's defaults with the model's values over them.
    fn base(&self) -> Params {
        let base = Params { vocab: self.vocab.clone(), n_vocab: Some(self.logits.n_vocab()), ..Params::default() };
        match &self.model {
            Some(model) => model.params(&base),
            None => base,
        }
    }

    /// The sampler of a chain or of a request, whichever `spec` is: a file's name, or the JSON itself. A chain has `steps`; JSON
    /// without them is a request body, and lies over the model's values.
    pub fn of_spec(&self, spec: &str) -> Result<Sampler, Box<dyn Error>> {
        let is_inline = spec.trim_start().starts_with(['{', '[']);
        let (name, text) = if is_inline {
            (beginning(spec), spec.to_string())
        } else {
            (spec.to_string(), std::fs::read_to_string(spec).map_err(|error| format!("{spec}: {error}"))?)
        };
        let text = text.trim_start_matches('\u{feff}');
        if !is_request(text) {
            let path = Path::new(&name);
            return self.of_chain(ChainFile::parse(text, Format::guess(path, text), path), path);
        }
        let (params, report) = request::parse(text, &name, &self.base())?;
        tell(&format!("{name}: "), &report);
        Ok(Sampler::new(params).map_err(|error| format!("{name}: {error}"))?)
    }

    /// The sampler after the prompt.
    pub fn prompted(&self, mut sampler: Sampler) -> Result<Sampler, Box<dyn Error>> {
        sampler.accept_prompt_all(&self.prompt).map_err(|error| format!("--prompt: {error}"))?;
        Ok(sampler)
    }
}

fn tell(of: &str, report: &Report) {
    report.surprises().for_each(|note| eprintln!("note: {of}{note}"));
}

/// Whether a text is JSON without `steps`, or was meant to be.
fn is_request(text: &str) -> bool {
    match serde_json::from_str::<serde_json::Value>(text) {
        Ok(read) => read.get("steps").is_none(),
        Err(_) => text.trim_start().starts_with(['{', '[']) && !text.contains("\"steps\""),
    }
}

/// As much of a text as an error has room for.
fn beginning(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or(text)),
        None => text.to_string(),
    }
}

fn parse_rows(text: &str) -> Result<(usize, usize), String> {
    let wrong = || format!("\"{text}\" is no range of rows; 0..16 is");
    let (from, to) = text.split_once("..").ok_or_else(wrong)?;
    let (from, to): (usize, usize) = (from.parse().map_err(|_| wrong())?, to.parse().map_err(|_| wrong())?);
    if from < to { Ok((from, to)) } else { Err(format!("the rows {text} are none")) }
}

fn parse_prompt(given: Option<&str>) -> Result<Vec<u32>, Box<dyn Error>> {
    given.map_or(Ok(Vec::new()), |given| parse_ids("--prompt", given))
}

/// Reads token ids with commas or spaces between, or a file of them. `flag` is where they were given.
pub fn parse_ids(flag: &str, given: &str) -> Result<Vec<u32>, Box<dyn Error>> {
    let is_list = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || b" ,\t\r\n[]-".contains(&byte));
    let text = if is_list(given) {
        given.to_string()
    } else {
        std::fs::read_to_string(given).map_err(|error| format!("{flag}: {given}: {error}"))?
    };
    let separators = |c: char| c.is_whitespace() || matches!(c, ',' | '[' | ']');
    text.split(separators)
        .filter(|id| !id.is_empty())
        .map(|id| id.parse().map_err(|_| format!("{flag}: \"{id}\" is no token id").into()))
        .collect()
}
