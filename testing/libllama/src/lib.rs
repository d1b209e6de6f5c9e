//! libllama b11192 through its C API: its samplers, their candidates, and a vocabulary for those that look into one.
//!
//! `LLAMA_LIB` names the library; `testing/README.md` says how to get it. The layouts and signatures in `api` are those of that
//! build's `llama.h`; another build may have others, and then nothing here is sound. What `unsafe` there is stands in
//! `api`,
//! `sampler` and `vocab`.

mod api;
mod identity;
mod sampler;
mod vocab;

use std::ffi::{OsStr, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use api::Api;
pub use api::TokenData;
pub use sampler::{Candidates, Sampler};
pub use vocab::Vocab;

/// Why a library or a model is not there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LlamaError {
    /// The library does not load, or lacks a function.
    #[error("LLAMA_LIB={}: {source}", path.display())]
    Open {
        /// What `LLAMA_LIB` says.
        path: PathBuf,
        /// The loader's words.
        source: libloading::Error,
    },
    /// The library's file cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's words.
        source: std::io::Error,
    },
    /// A function lies in another file than the library's.
    #[error("{function} lies in {found}, not in {}", library.display())]
    Elsewhere {
        /// The function.
        function: &'static str,
        /// The file it lies in.
        found: String,
        /// The library's file.
        library: PathBuf,
    },
    /// libllama does not load the model.
    #[error("{}: libllama does not load it", path.display())]
    Model {
        /// The GGUF file.
        path: PathBuf,
    },
}

/// The library, loaded. Clones are the same library; it may be used from any thread.
#[derive(Clone)]
pub struct Libllama {
    api: Arc<Api>,
    path: PathBuf,
}

impl std::fmt::Debug for Libllama {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Libllama").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Libllama {
    /// The one that `LLAMA_LIB` names; none where it names nothing.
    ///
    /// # Errors
    /// A library that does not load.
    pub fn from_env() -> Result<Option<Self>, LlamaError> {
        std::env::var_os("LLAMA_LIB").map(|path| Self::open(&path)).transpose()
    }

    /// Loads a library, and keeps it from writing to the terminal.
    ///
    /// # Errors
    /// A library that does not load, or lacks a function.
    pub fn open(path: impl AsRef<OsStr>) -> Result<Self, LlamaError> {
        let path = PathBuf::from(path.as_ref());
        let api = Api::open(&path).map_err(|source| LlamaError::Open { path: path.clone(), source })?;
        api.log_to(quiet);
        Ok(Self { api: Arc::new(api), path })
    }

    /// What `LLAMA_LIB` said.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Has a function called when ggml is about to end the process (`GGML_ASSERT`), so that somebody says which case it
    /// was.
    pub fn on_abort(&self, callback: extern "C" fn(*const c_char)) {
        self.api.on_abort(callback);
    }
}

extern "C" fn quiet(_: c_int, _: *const c_char, _: *mut c_void) {}
