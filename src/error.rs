//! What can be wrong with a draw, and with a file.

use std::fmt;
use std::path::PathBuf;

use crate::names::suggestion;

/// A row of logits that gives no token, or a token that cannot be accepted.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SampleError {
    /// The row is empty.
    #[error("the row of logits is empty")]
    EmptyRow,
    /// The row is not as wide as the vocabulary, or as the rows before it.
    #[error("the row has {found} logits, and the vocabulary {n_vocab} tokens")]
    RowWidth {
        /// How many logits came.
        found: usize,
        /// How many tokens there are.
        n_vocab: usize,
    },
    /// A logit is NaN or +infinity.
    #[error("logit {index} is {kind}: the model's output is broken, or the row is not one of logits")]
    NonFinite {
        /// The first such logit's token.
        index: usize,
        /// `NaN` or `+infinity`.
        kind: &'static str,
    },
    /// Every logit is -infinity.
    #[error("every logit is -infinity: no token can be drawn")]
    AllMasked,
    /// A token id that the vocabulary does not have.
    #[error("token {token} is beyond the vocabulary of {n_vocab} tokens")]
    TokenBeyondVocab {
        /// The token.
        token: u32,
        /// How many tokens there are.
        n_vocab: usize,
    },
    /// A draft has fewer rows than one a token and one more.
    #[error("a draft wants {wanted} rows, and there are {found}")]
    TooFewRows {
        /// How many are wanted at most.
        wanted: usize,
        /// How many came.
        found: usize,
    },
    /// The steps left no candidate.
    #[error("the chain left no candidate")]
    NothingLeft,
    /// The steps left candidates and selected none.
    #[error("the chain selected none of its {left} candidates")]
    NothingSelected {
        /// How many were left.
        left: usize,
    },
    /// The selected candidate's logit is -infinity: the chain left nothing that can be drawn.
    #[error("the chain selected token {token}, whose logit is -infinity: it left nothing that can be drawn")]
    Masked {
        /// The token.
        token: u32,
    },
    /// The selected candidate's logit or probability is NaN: a step met a sum of nothing, as when a bias of +infinity or a
    /// mask of everything came before it.
    #[error("the probability of the selected token {token} is not a number: the chain made {logit} of its logit")]
    NotANumber {
        /// The token.
        token: u32,
        /// Its logit after the chain.
        logit: f32,
    },
}

/// A line and a column, both from 1; the column counts characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl Position {
    /// Where a byte of a text stands.
    pub(crate) fn of(text: &str, byte: usize) -> Self {
        let before = text.get(..byte).unwrap_or(text);
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self { line: before.matches('\n').count() + 1, column: before[start..].chars().count() + 1 }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Everything that is wrong with a file.
#[derive(Debug, Clone, PartialEq)]
pub struct FileError {
    /// The file, or what stands for it.
    pub path: PathBuf,
    /// What is wrong, in the file's order. At least one.
    pub problems: Vec<FileProblem>,
}

impl std::error::Error for FileError {}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.problems.iter().enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            write!(f, "{}{problem}", self.path.display())?;
        }
        Ok(())
    }
}

/// One thing that is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileProblem {
    /// Where, if it has a place.
    pub at: Option<Position>,
    /// The step it belongs to, as `step 2 (top_k)`.
    pub step: Option<String>,
    /// The field it belongs to.
    pub field: Option<String>,
    /// What is wrong.
    pub what: String,
    /// The known name that was most likely meant.
    pub nearest: Option<String>,
    /// What else may help.
    pub help: Option<String>,
}

impl FileProblem {
    pub(crate) fn new(at: Option<Position>, what: impl Into<String>) -> Self {
        Self { at, step: None, field: None, what: what.into(), nearest: None, help: None }
    }
}

impl fmt::Display for FileProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(at) = self.at {
            write!(f, ":{at}")?;
        }
        for part in [&self.step, &self.field].into_iter().flatten() {
            write!(f, ": {part}")?;
        }
        write!(f, ": {}{}", self.what, suggestion(self.nearest.as_deref()))?;
        match &self.help {
            Some(help) => write!(f, "; {help}"),
            None => Ok(()),
        }
    }
}
