//! Other programs' presets as chains, with a report of what became of each field.
//!
//! ```
//! use std::path::Path;
//! use sampler_chain::import::{Options, import};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let preset = "min_p: 0.02\ntop_a: 0.2\nguidance_scale: 1.5\n";
//! let imported = import(preset, Path::new("Creative.yaml"), &Options::default())?;
//! assert_eq!(imported.source.name(), "text-generation-webui");
//! assert_eq!(imported.chain.chain.steps()[0].typetag_name(), "top_a");
//! assert_eq!(imported.report.losses().count(), 1); // guidance_scale has no counterpart
//! # Ok(())
//! # }
//! ```
//!
//! Meanings are translated, not copied: docs/importing.md has the table of traps. What a chain cannot know, as how long the
//! whole context is, is asked for: [`ImportError::Asks`] names the field and the option.
//!
//! Each program's fields and order are in a room of their own; `draft` makes a chain of them, through the crate's own reader of
//! requests, with the steps of `community`, which no request has, in their places; `lost` has what the chain does not do, and
//! `elsewhere` what is not about the draw.

mod community;
mod detect;
mod draft;
mod elsewhere;
mod huggingface;
mod koboldcpp;
mod llama_cpp;
mod lost;
mod ollama;
mod order;
mod props;
mod report;
mod sillytavern;
mod tabbyapi;
mod text;
mod webui;
mod yaml;

use std::fmt;
use std::path::{Path, PathBuf};

use crate::chain_file::ChainFile;
use crate::document::{self, Node, SyntaxError};
use crate::error::{FileError, FileProblem, Position};
use crate::llama_server::BuildError;
use crate::names::suggestion;
use draft::Draft;
pub use llama_cpp::{Flag, FlagKind, llama_cpp_flags};
pub use report::{Fate, Note, Report};

/// A program whose presets are read, in one of its formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Source {
    /// SillyTavern's text-completion presets, JSON.
    SillyTavern,
    /// KoboldCpp's settings and SillyTavern's Kobold presets, JSON.
    KoboldCpp,
    /// text-generation-webui's presets, YAML.
    TextGenerationWebui,
    /// tabbyAPI's sampler overrides, YAML.
    TabbyApi,
    /// llama.cpp's presets, INI.
    LlamaCppIni,
    /// A command line of llama.cpp.
    LlamaCppArgs,
    /// The `PARAMETER` lines of Ollama's Modelfile.
    Ollama,
    /// Hugging Face's `generation_config.json`.
    HuggingFace,
    /// llama-server's `/props`, or the `generation_settings` of its answers, JSON.
    LlamaServer,
}

impl Source {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::SillyTavern,
        Self::KoboldCpp,
        Self::TextGenerationWebui,
        Self::TabbyApi,
        Self::LlamaCppIni,
        Self::LlamaCppArgs,
        Self::Ollama,
        Self::HuggingFace,
        Self::LlamaServer,
    ];

    /// The name that `--from` takes: `sillytavern`, `koboldcpp`, `text-generation-webui`, `tabbyapi`, `llama.cpp-ini`,
    /// `llama.cpp-args`, `ollama`, `huggingface`, `llama-server`.
    pub fn name(self) -> &'static str {
        match self {
            Self::SillyTavern => "sillytavern",
            Self::KoboldCpp => "koboldcpp",
            Self::TextGenerationWebui => "text-generation-webui",
            Self::TabbyApi => "tabbyapi",
            Self::LlamaCppIni => "llama.cpp-ini",
            Self::LlamaCppArgs => "llama.cpp-args",
            Self::Ollama => "ollama",
            Self::HuggingFace => "huggingface",
            Self::LlamaServer => "llama-server",
        }
    }

    /// The format of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|source| source.name() == name)
    }

    /// The format of a text, by what is in it and the name of its file.
    pub fn detect(text: &str, path: &Path) -> Option<Self> {
        detect::detect(text, path)
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The program that a SillyTavern preset is sent to: it decides which of the preset's four order lists counts, and what
/// the values mean.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Backend {
    /// llama-server: `samplers`.
    #[default]
    LlamaCpp,
    /// text-generation-webui: `sampler_priority`.
    TextGenerationWebui,
    /// KoboldCpp: `sampler_order`.
    KoboldCpp,
    /// Aphrodite: `samplers_priorities`.
    Aphrodite,
}

impl Backend {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::LlamaCpp, Self::TextGenerationWebui, Self::KoboldCpp, Self::Aphrodite];

    /// The name that `--backend` takes: `llama.cpp`, `text-generation-webui`, `koboldcpp`, `aphrodite`.
    pub fn name(self) -> &'static str {
        match self {
            Self::LlamaCpp => "llama.cpp",
            Self::TextGenerationWebui => "text-generation-webui",
            Self::KoboldCpp => "koboldcpp",
            Self::Aphrodite => "aphrodite",
        }
    }
}

/// What an absent field of `generation_config.json` stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Absent {
    /// transformers' default: greedy without `do_sample`; temperature 1, `top_k` 50, all else off.
    Transformers,
    /// llama.cpp's default: temperature 0.8, `top_k` 40, `top_p` 0.95, `min_p` 0.05, in llama.cpp's order.
    LlamaCpp,
    /// Off, as in vLLM: temperature 1, nothing truncates.
    Off,
}

impl Absent {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Transformers, Self::LlamaCpp, Self::Off];

    /// The name that `--absent` takes: `transformers`, `llama.cpp`, `off`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Transformers => "transformers",
            Self::LlamaCpp => "llama.cpp",
            Self::Off => "off",
        }
    }
}

/// What the preset's text does not say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// The format; none: it is seen from the text and the file's name.
    pub source: Option<Source>,
    /// The program that a SillyTavern preset is for; none: llama.cpp.
    pub backend: Option<Backend>,
    /// How many tokens the whole context has, for windows over all of it. A preset's own context size is used without it.
    pub n_ctx: Option<u32>,
    /// The section of an INI file.
    pub preset: Option<String>,
    /// What is meant by a field that `generation_config.json` does not have.
    pub absent: Option<Absent>,
}

/// A preset as a chain.
#[derive(Debug, Clone)]
pub struct Imported {
    /// What the preset was read as.
    pub source: Source,
    /// The chain, with the preset's seed.
    pub chain: ChainFile,
    /// What became of each field.
    pub report: Report,
}

/// A preset of which no chain was made.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The file cannot be read, or what stands in it is wrong: all problems with their places.
    #[error(transparent)]
    File(#[from] FileError),
    /// Nothing tells the format.
    #[error("{}: its format is not seen from it: say it with --from ({})", path.display(), names(Source::ALL.map(Source::name)))]
    Format {
        /// The file.
        path: PathBuf,
    },
    /// The preset leaves something open that the chain must say.
    #[error("{}", .questions.iter().map(|asked| format!("{}: {asked}", path.display())).collect::<Vec<_>>().join("\n"))]
    Asks {
        /// The file.
        path: PathBuf,
        /// What is asked, at least one.
        questions: Vec<Question>,
    },
    /// An INI file has no such section, or several to choose from.
    #[error("{}: {what}: say it with --preset ({}){}", path.display(), sections.join(", "), suggestion(nearest.as_deref()))]
    Section {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
        /// The sections that there are.
        sections: Vec<String>,
        /// The one that was most likely meant.
        nearest: Option<String>,
    },
    /// An option that says nothing about this format.
    #[error("--{flag} says nothing about a preset of {from}: it is for {wanted}")]
    Unused {
        /// The option.
        flag: &'static str,
        /// The preset's format.
        from: Source,
        /// Whose presets it is for.
        wanted: &'static str,
    },
    /// The values are read, and no chain can be built of them.
    #[error("{}: {source}", path.display())]
    Chain {
        /// The file.
        path: PathBuf,
        /// Why.
        source: Box<BuildError>,
    },
}

/// Something that a preset leaves open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The preset's field.
    pub field: String,
    /// Why it must be known.
    pub why: String,
    /// The option that answers it: `n-ctx` or `absent`.
    pub flag: &'static str,
    /// What the option takes.
    pub values: String,
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: say it with --{} {}", self.field, self.why, self.flag, self.values)
    }
}

/// Reads a preset. `path` stands for it in errors, and its ending helps to see the format.
///
/// # Errors
/// A text that is not of its format, values of a wrong type or refused, a format that is not seen, or something that the
/// preset leaves open.
pub fn import(text: &str, path: &Path, options: &Options) -> Result<Imported, ImportError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let source = options.source.or_else(|| Source::detect(text, path));
    let source = source.ok_or_else(|| ImportError::Format { path: path.into() })?;
    let unused = [
        ("backend", options.backend.is_some() && source != Source::SillyTavern, "sillytavern"),
        ("preset", options.preset.is_some() && source != Source::LlamaCppIni, "llama.cpp-ini"),
        ("absent", options.absent.is_some() && source != Source::HuggingFace, "huggingface"),
    ];
    if let Some(&(flag, _, wanted)) = unused.iter().find(|(_, is_unused, _)| *is_unused) {
        return Err(ImportError::Unused { flag, from: source, wanted });
    }
    let mut draft = Draft::new(text, path, options);
    match source {
        Source::SillyTavern => sillytavern::read(draft.json()?, &mut draft),
        Source::KoboldCpp => koboldcpp::read(draft.json()?, &mut draft),
        Source::TextGenerationWebui => webui::read(draft.yaml()?, &mut draft),
        Source::TabbyApi => tabbyapi::read(draft.yaml()?, &mut draft),
        Source::LlamaCppIni => llama_cpp::read_ini(text, &mut draft)?,
        Source::LlamaCppArgs => llama_cpp::read_args(text, &mut draft),
        Source::Ollama => ollama::read(text, &mut draft),
        Source::HuggingFace => huggingface::read(draft.json()?, &mut draft),
        Source::LlamaServer => props::read(draft.json()?, &mut draft),
    }
    let (chain, report) = draft.finish()?;
    Ok(Imported { source, chain, report })
}

/// Reads a preset's file.
///
/// # Errors
/// As [`import`], and a file that cannot be read.
pub fn import_file(path: &Path, options: &Options) -> Result<Imported, ImportError> {
    import(&document::read_text(path)?, path, options)
}

/// `a, b or c`
fn names<const N: usize>(names: [&str; N]) -> String {
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => names.concat(),
    }
}

impl Draft<'_> {
    fn json(&self) -> Result<Node, FileError> {
        document::parse_json(self.text).map_err(|error| self.syntax(error))
    }

    fn yaml(&self) -> Result<Node, FileError> {
        yaml::parse(self.text).map_err(|error| self.syntax(error))
    }

    fn syntax(&self, error: SyntaxError) -> FileError {
        let problem = FileProblem::new(Some(Position::of(self.text, error.at)), error.what);
        FileError { path: self.path.into(), problems: vec![problem] }
    }
}
