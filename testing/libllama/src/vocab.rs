//! A vocabulary, for the samplers that look into one.

use std::ffi::{CString, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Arc, Once};

use crate::{Libllama, LlamaError};

/// A `llama_model` of which only the vocabulary is loaded.
pub struct Model {
    library: Libllama,
    raw: *mut c_void,
}

// SAFETY: a model is not changed after it is loaded; llama.h lets any thread read its vocabulary.
unsafe impl Send for Model {}
// SAFETY: as above.
unsafe impl Sync for Model {}

impl Drop for Model {
    fn drop(&mut self) {
        // SAFETY: loaded by libllama and freed once, after everything that reads it.
        unsafe { (self.library.api.llama_model_free)(self.raw) };
    }
}

/// A `llama_vocab`. Clones are the same one.
#[derive(Clone)]
pub struct Vocab(Arc<Model>);

impl Vocab {
    /// Loads the vocabulary of a GGUF file, which may hold no more than its metadata.
    ///
    /// # Errors
    /// A file that libllama does not load.
    pub fn open(library: &Libllama, path: &Path) -> Result<Self, LlamaError> {
        static BACKEND: Once = Once::new();
        let api = &library.api;
        let failed = || LlamaError::Model { path: path.into() };
        let name = CString::new(path.as_os_str().as_bytes()).map_err(|_| failed())?;
        // SAFETY: it takes nothing, and is called once.
        BACKEND.call_once(|| unsafe { (api.llama_backend_init)() });
        // SAFETY: the struct comes back by value and goes in by value as llama.h has it; the name outlives the call.
        let raw = unsafe {
            let mut params = (api.llama_model_default_params)();
            params.vocab_only = true;
            (api.llama_model_load_from_file)(name.as_ptr(), params)
        };
        if raw.is_null() { Err(failed()) } else { Ok(Self(Arc::new(Model { library: library.clone(), raw }))) }
    }

    /// How many tokens it has.
    pub fn n_tokens(&self) -> usize {
        // SAFETY: the vocabulary is alive as long as its model.
        let n = unsafe { (self.0.library.api.llama_vocab_n_tokens)(self.raw()) };
        usize::try_from(n).unwrap_or_default()
    }

    /// The tokens of a text, without special ones: `llama_tokenize`.
    pub fn tokenize(&self, text: &[u8]) -> Vec<i32> {
        let ask = |tokens: &mut [i32]| {
            let (n, most) = (text.len().try_into().unwrap_or(i32::MAX), tokens.len().try_into().unwrap_or(i32::MAX));
            let tokenize = self.0.library.api.llama_tokenize;
            // SAFETY: the vocabulary is alive; the text has `n` bytes and the tokens room for `most`.
            unsafe { tokenize(self.raw(), text.as_ptr().cast(), n, tokens.as_mut_ptr(), most, false, false) }
        };
        // A text has no more tokens than bytes, but for a space that some vocabularies put before it.
        let mut tokens = vec![0; text.len() + 8];
        let n = ask(&mut tokens);
        tokens.truncate(usize::try_from(n).unwrap_or_default());
        tokens
    }

    pub(crate) fn raw(&self) -> *const c_void {
        // SAFETY: the model is alive.
        unsafe { (self.0.library.api.llama_model_get_vocab)(self.0.raw) }
    }

    pub(crate) fn model(&self) -> Arc<Model> {
        self.0.clone()
    }
}

impl std::fmt::Debug for Vocab {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Vocab").field("n_tokens", &self.n_tokens()).finish()
    }
}
