//! What the command line draws from: rows of logits, a prompt, a vocabulary, and the chain that runs over them.

use std::error::Error;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::{
    ChainFile, Ctx, DEFAULT_SEED, FileError, Format, GgufFile, LogitsFile, Params, Record, Report, Sampler, Vocab,
    VocabFile,
};

use crate::program::flags::Flags;
use crate::program::overwriting::Named;
use crate::program::recorded_rows::RecordedRows;
use crate::program::request;
use crate::sampler::effective_seed;

/// The rows and what belongs to them.
#[derive(clap::Args)]
pub struct RowArgs {
    /// The logits: a safetensors file with an F32 tensor of shape [rows, vocabulary], or a record, whose draws are the rows
    /// and which also tells the prompt, the chain and the seed, where none are given.
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
    /// A chain file, TOML or JSON. Of the flags below, --seed alone goes with it, over the file's.
    #[arg(long, value_name = "FILE", conflicts_with = "request")]
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
    /// What was accepted before the first row: what was given, or what a record says.
    pub prompt: Vec<u32>,
    pub vocab: Option<Arc<dyn Vocab>>,
    model: Option<GgufFile>,
    /// What was accepted after each row, where the rows are a record's.
    recorded: Option<RecordedRows>,
    is_prompt_given: bool,
}

impl RowArgs {
    /// The files that are read.
    pub fn files(&self) -> Vec<Named<'_>> {
        let others = [("--vocab", &self.vocab), ("--gguf", &self.gguf)];
        let others = others.into_iter().filter_map(|(flag, path)| Some((flag, path.as_deref()?)));
        std::iter::once(("--logits", self.logits.as_path())).chain(others).collect()
    }

    /// Opens the files and checks that they belong together.
    pub fn open(&self) -> Result<Input, Box<dyn Error>> {
        let logits = LogitsFile::open(&self.logits, self.tensor.as_deref())?;
        if let Some(cut) = logits.record().and_then(Record::cut) {
            eprintln!("note: {}: its last frame is cut, and passed over ({} bytes)", self.logits.display(), cut.bytes);
        }
        let (from, to) = self.rows.unwrap_or((0, logits.n_rows()));
        if logits.n_rows() == 0 {
            return Err(format!("{}: there is no row in it", self.logits.display()).into());
        }
        if to > logits.n_rows() || from == to {
            return Err(format!("{}: rows {from}..{to} of {}", self.logits.display(), logits.n_rows()).into());
        }
        let model = self.gguf.as_deref().map(GgufFile::open).transpose()?;
        let vocab = self.vocab(model.as_ref(), logits.n_vocab())?;
        let recorded = logits.record().map(RecordedRows::of);
        let is_prompt_given = self.prompt.is_some();
        let prompt = match logits.record().filter(|_| !is_prompt_given) {
            Some(record) => record.history(from).tokens().to_vec(),
            None => parse_prompt(self.prompt.as_deref())?,
        };
        Ok(Input { logits, rows: from..to, prompt, vocab, model, recorded, is_prompt_given })
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
    /// The file that is read.
    pub fn file(&self) -> Option<Named<'_>> {
        Some(("--chain", self.chain.as_deref()?))
    }

    /// A sampler of the chain, which has seen the prompt.
    pub fn sampler(&self, input: &Input) -> Result<Sampler, Box<dyn Error>> {
        input.prompted(self.unprompted(input)?)
    }

    /// A sampler of the chain, which has seen nothing yet.
    pub fn unprompted(&self, input: &Input) -> Result<Sampler, Box<dyn Error>> {
        let mut sampler = match (&self.chain, input.logits.record()) {
            (Some(path), _) => {
                if let Some(flag) = self.flags.first_but_seed() {
                    return Err(
                        format!("--chain: a chain file has its own parameters, so {flag} has no place in it").into()
                    );
                }
                input.of_chain_file(path)?
            }
            (None, Some(record)) if self.request.is_none() && self.flags.first_but_seed().is_none() => {
                record.sampler(input.vocab.clone())?
            }
            (None, _) => return input.of_params(&self.flags, self.request.as_deref()),
        };
        if let Some(seed) = self.flags.seed()? {
            sampler.restart(effective_seed(seed));
        }
        Ok(sampler)
    }

    /// Whether a chain, a request or a flag was given.
    pub fn is_given(&self) -> bool {
        self.chain.is_some() || self.request.is_some() || self.flags.is_given()
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
        let mut file = file?;
        file.seed = file.seed.or(self.recorded_seed());
        Ok(file.into_sampler(ctx).map_err(|error| format!("{}: {error}", path.display()))?)
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

    /// llama-server's defaults with a record's seed and the model's values over them.
    fn base(&self) -> Params {
        let (vocab, n_vocab) = (self.vocab.clone(), Some(self.logits.n_vocab()));
        let seed = self.recorded_seed().unwrap_or(DEFAULT_SEED);
        let base = Params { vocab, n_vocab, seed, ..Params::default() };
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

    /// The seed of a record, for chains that have none.
    fn recorded_seed(&self) -> Option<u32> {
        self.logits.record().map(|record| record.seed_at(self.rows.start))
    }

    /// The sampler after the prompt; of a record, where it would be before the first row: it accepts and draws what comes
    /// before, so that its generators and averages are as far on.
    pub fn prompted(&self, mut sampler: Sampler) -> Result<Sampler, Box<dyn Error>> {
        match self.followed() {
            Some(record) => {
                let lead = record.lead(&mut sampler, self.rows.start);
                lead.map_err(|error| format!("{}: {error}", record.path().display()))?;
            }
            None => sampler.accept_prompt_all(&self.prompt).map_err(|error| format!("--prompt: {error}"))?,
        }
        Ok(sampler)
    }

    /// The record whose history the rows have: not where a prompt was given.
    pub fn followed(&self) -> Option<&Record> {
        self.logits.record().filter(|_| !self.is_prompt_given)
    }

    /// Whether a prompt was given, and not found in a record.
    pub fn is_prompt_given(&self) -> bool {
        self.is_prompt_given
    }

    /// The tokens that were accepted after a row, where the rows are a record's.
    pub fn accepted(&self, row: usize) -> Option<&[u32]> {
        self.recorded.as_ref().map(|rows| rows.accepted(row))
    }

    /// Whether no more than [`accepted`](Self::accepted) happened after a row: nothing was taken back or changed.
    pub fn only_accepted(&self, row: usize) -> bool {
        self.recorded.as_ref().is_none_or(|rows| rows.only_accepted(row))
    }

    /// Accepts the drawn token of a row; of a record's row, does what the record did after it, so that the next row is one of
    /// the sampler's history.
    pub fn accept(&self, row: usize, drawn: u32, sampler: &mut Sampler) -> Result<(), Box<dyn Error>> {
        match self.logits.record() {
            Some(record) => {
                record.follow(sampler, row).map_err(|error| format!("{}: {error}", record.path().display()).into())
            }
            None => Ok(sampler.accept(drawn)?),
        }
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
