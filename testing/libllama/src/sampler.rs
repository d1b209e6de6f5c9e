//! Samplers, and the candidates that they work on.

use std::ffi::{CStr, CString, c_void};
use std::ptr::null;
use std::sync::Arc;

use crate::Libllama;
use crate::api::{ChainParams, LogitBias, Raw, StdVector, TokenData, TokenDataArray};
use crate::vocab::{Model, Vocab};

/// A `llama_sampler`, freed when it is dropped. A clone is `llama_sampler_clone`.
pub struct Sampler {
    library: Libllama,
    raw: Raw,
    /// What it reads a vocabulary out of.
    models: Vec<Arc<Model>>,
}

impl Libllama {
    fn sampler(&self, raw: Raw) -> Sampler {
        assert!(!raw.is_null(), "libllama made no sampler");
        Sampler { library: self.clone(), raw, models: Vec::new() }
    }

    /// An empty chain, which does not time itself.
    pub fn chain(&self) -> Sampler {
        // SAFETY: the struct is passed by value as llama.h has it.
        self.sampler(unsafe { (self.api.llama_sampler_chain_init)(ChainParams { no_perf: true }) })
    }

    /// `llama_sampler_init_penalties`. It keeps memory for `last_n` tokens.
    pub fn penalties(&self, n_vocab: i32, last_n: i32, repeat: f32, freq: f32, present: f32) -> Sampler {
        // SAFETY: plain numbers.
        self.sampler(unsafe { (self.api.llama_sampler_init_penalties)(n_vocab, last_n, repeat, freq, present) })
    }

    /// `llama_sampler_init_dry` without breakers, and `llama_sampler_init_dry_testing` with: those are token ids, head first. It
    /// keeps memory for `last_n` tokens.
    pub fn dry(
        &self,
        multiplier: f32,
        base: f32,
        allowed_length: i32,
        last_n: i32,
        breakers: &[impl AsRef<[i32]>],
    ) -> Sampler {
        // The testing function writes into a DRY sampler's state even where an empty sampler stands in its place.
        let is_off = multiplier == 0.0 || base < 1.0 || base.is_nan() || last_n <= 0;
        if is_off || breakers.is_empty() {
            // SAFETY: the vocabulary is only read to look for breakers, and there are none: a null list of length 0.
            return self.sampler(unsafe {
                (self.api.llama_sampler_init_dry)(null(), multiplier, base, allowed_length, last_n, null(), 0)
            });
        }
        let vectors: Vec<StdVector> = breakers.iter().map(|breaker| StdVector::over(breaker.as_ref())).collect();
        let list = StdVector::over(&vectors);
        // SAFETY: a `const std::vector<std::vector<int>> &` of libstdc++ is a pointer to three pointers; the function
        // copies what it needs, and everything outlives the call.
        self.sampler(unsafe {
            (self.api.llama_sampler_init_dry_testing)(multiplier, base, allowed_length, last_n, &list)
        })
    }

    /// `llama_sampler_init_dry` with texts as breakers.
    pub fn dry_by_texts(
        &self,
        vocab: &Vocab,
        (multiplier, base): (f32, f32),
        (allowed_length, last_n): (i32, i32),
        texts: &[CString],
    ) -> Sampler {
        let pointers: Vec<_> = texts.iter().map(|text| text.as_ptr()).collect();
        let (first, n) = (pointers.as_ptr(), pointers.len());
        // SAFETY: the vocabulary is alive and is read during the call alone; the list has `n` C strings, which outlive it.
        self.sampler(unsafe {
            (self.api.llama_sampler_init_dry)(vocab.raw(), multiplier, base, allowed_length, last_n, first, n)
        })
    }

    /// `llama_sampler_init_top_n_sigma`
    pub fn top_n_sigma(&self, n: f32) -> Sampler {
        // SAFETY: plain numbers, here and below.
        self.sampler(unsafe { (self.api.llama_sampler_init_top_n_sigma)(n) })
    }

    /// `llama_sampler_init_top_k`
    pub fn top_k(&self, k: i32) -> Sampler {
        // SAFETY: see top_n_sigma.
        self.sampler(unsafe { (self.api.llama_sampler_init_top_k)(k) })
    }

    /// `llama_sampler_init_typical`
    pub fn typical(&self, p: f32, min_keep: usize) -> Sampler {
        // SAFETY: see top_n_sigma.
        self.sampler(unsafe { (self.api.llama_sampler_init_typical)(p, min_keep) })
    }

    /// `llama_sampler_init_top_p`
    pub fn top_p(&self, p: f32, min_keep: usize) -> Sampler {
        // SAFETY: see top_n_sigma.
        self.sampler(unsafe { (self.api.llama_sampler_init_top_p)(p, min_keep) })
    }

    /// `llama_sampler_init_min_p`
    pub fn min_p(&self, p: f32, min_keep: usize) -> Sampler {
        // SAFETY: see top_n_sigma.
        self.sampler(unsafe { (self.api.llama_sampler_init_min_p)(p, min_keep) })
    }

    /// `llama_sampler_init_xtc`
    pub fn xtc(&self, probability: f32, threshold: f32, min_keep: usize, seed: u32) -> Sampler {
        // SAFETY: see top_n_sigma.
        self.sampler(unsafe { (self.api.llama_sampler_init_xtc)(probability, threshold, min_keep, seed) })
    }

    /// `llama_sampler_init_temp`
    pub fn temp(&self, temp: f32) -> Sampler {
        // SAFETY: see top_n_sigma.
        self.sampler(unsafe { (self.api.llama_sampler_init_temp)(temp) })
    }

    /// `llama_sampler_init_temp_ext`
    pub fn temp_ext(&self, temp: f32, delta: f32, exponent: f32) -> Sampler {
        // SAFETY: see top_n_sigma.
        self.sampler(unsafe { (self.api.llama_sampler_init_temp_ext)(temp, delta, exponent) })
    }

    /// `llama_sampler_init_logit_bias`
    pub fn logit_bias(&self, n_vocab: i32, biases: &[(i32, f32)]) -> Sampler {
        let biases: Vec<LogitBias> = biases.iter().map(|&(token, bias)| LogitBias { token, bias }).collect();
        let n = i32::try_from(biases.len()).expect("fewer than 2^31 biases");
        // SAFETY: the pointer is to `n` biases, which are copied.
        self.sampler(unsafe { (self.api.llama_sampler_init_logit_bias)(n_vocab, n, biases.as_ptr()) })
    }

    /// `llama_sampler_init_dist`
    pub fn dist(&self, seed: u32) -> Sampler {
        // SAFETY: see top_n_sigma.
        self.sampler(unsafe { (self.api.llama_sampler_init_dist)(seed) })
    }

    /// `llama_sampler_init_greedy`
    pub fn greedy(&self) -> Sampler {
        // SAFETY: it takes nothing.
        self.sampler(unsafe { (self.api.llama_sampler_init_greedy)() })
    }

    /// `llama_sampler_init_mirostat`
    pub fn mirostat(&self, n_vocab: i32, seed: u32, tau: f32, eta: f32, m: i32) -> Sampler {
        // SAFETY: see top_n_sigma.
        self.sampler(unsafe { (self.api.llama_sampler_init_mirostat)(n_vocab, seed, tau, eta, m) })
    }

    /// `llama_sampler_init_mirostat_v2`
    pub fn mirostat_v2(&self, seed: u32, tau: f32, eta: f32) -> Sampler {
        // SAFETY: see top_n_sigma.
        self.sampler(unsafe { (self.api.llama_sampler_init_mirostat_v2)(seed, tau, eta) })
    }

    /// `llama_sampler_init_adaptive_p`
    pub fn adaptive_p(&self, target: f32, decay: f32, seed: u32) -> Sampler {
        // SAFETY: see top_n_sigma.
        self.sampler(unsafe { (self.api.llama_sampler_init_adaptive_p)(target, decay, seed) })
    }

    /// `llama_sampler_init_infill`
    pub fn infill(&self, vocab: &Vocab) -> Sampler {
        // SAFETY: the vocabulary is its model's, which the sampler keeps alive.
        let mut sampler = self.sampler(unsafe { (self.api.llama_sampler_init_infill)(vocab.raw()) });
        sampler.models.push(vocab.model());
        sampler
    }
}

impl Sampler {
    /// Adds a sampler at the end of this chain, which owns it from here on: `llama_sampler_chain_add`.
    pub fn push(&mut self, mut sampler: Self) {
        self.models.append(&mut sampler.models);
        // SAFETY: both are alive; the chain frees the sampler, so it is forgotten here.
        unsafe { (self.library.api.llama_sampler_chain_add)(self.raw, sampler.raw) };
        sampler.raw = std::ptr::null_mut();
    }

    /// The same chain with one more sampler.
    pub fn with(mut self, sampler: Self) -> Self {
        self.push(sampler);
        self
    }

    /// `llama_sampler_apply`
    ///
    /// # Safety
    /// The sampler's C++ must be defined for these candidates. No sampler is for an empty set; `testing/differential`
    /// lists what else is known.
    pub unsafe fn apply(&mut self, candidates: &mut Candidates) {
        let mut array = candidates.as_array();
        // SAFETY: the array points to `size` candidates in memory that nobody else touches during the call; the rest is
        // the caller's promise.
        unsafe { (self.library.api.llama_sampler_apply)(self.raw, &mut array) };
        candidates.take(&array);
    }

    /// `llama_sampler_accept`
    pub fn accept(&mut self, token: i32) {
        // SAFETY: the sampler is alive; any token may be accepted.
        unsafe { (self.library.api.llama_sampler_accept)(self.raw, token) };
    }

    /// `llama_sampler_reset`
    pub fn reset(&mut self) {
        // SAFETY: the sampler is alive.
        unsafe { (self.library.api.llama_sampler_reset)(self.raw) };
    }

    /// `llama_sampler_name`
    pub fn name(&self) -> String {
        // SAFETY: a sampler's name is a C string that lives as long as the sampler.
        unsafe { CStr::from_ptr((self.library.api.llama_sampler_name)(self.raw)) }.to_string_lossy().into_owned()
    }

    /// `llama_sampler_get_seed`
    pub fn seed(&self) -> u32 {
        // SAFETY: the sampler is alive and is not changed.
        unsafe { (self.library.api.llama_sampler_get_seed)(self.raw) }
    }
}

impl Clone for Sampler {
    fn clone(&self) -> Self {
        // SAFETY: the sampler is alive and is not changed.
        let raw = unsafe { (self.library.api.llama_sampler_clone)(self.raw) };
        let mut clone = self.library.sampler(raw);
        clone.models.clone_from(&self.models);
        clone
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        // SAFETY: made by libllama and freed once; null, which is passed over, where a chain has taken it.
        unsafe { (self.library.api.llama_sampler_free)(self.raw) };
    }
}

impl std::fmt::Debug for Sampler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Sampler").field(&self.name()).finish()
    }
}

/// A `llama_token_data_array` and its memory, which is kept from draw to draw.
#[derive(Debug, Clone)]
pub struct Candidates {
    memory: Vec<TokenData>,
    /// Where the candidates begin in the memory: XTC moves it.
    start: usize,
    size: usize,
    /// llama.cpp's `selected`: an index, or -1.
    pub selected: i64,
    /// llama.cpp's `sorted`.
    pub sorted: bool,
}

impl Default for Candidates {
    fn default() -> Self {
        Self { memory: Vec::new(), start: 0, size: 0, selected: -1, sorted: false }
    }
}

impl Candidates {
    /// Begins anew with these candidates: unsorted, none selected.
    pub fn fill(&mut self, candidates: impl IntoIterator<Item = TokenData>) {
        self.memory.clear();
        self.memory.extend(candidates);
        (self.start, self.size, self.selected, self.sorted) = (0, self.memory.len(), -1, false);
    }

    /// The same with all tokens of a row of logits.
    pub fn fill_with_row(&mut self, row: &[f32]) {
        self.fill(row.iter().zip(0..).map(|(&logit, id)| TokenData { id, logit, p: 0.0 }));
    }

    /// The candidates in their order.
    pub fn as_slice(&self) -> &[TokenData] {
        &self.memory[self.start..self.start + self.size]
    }

    /// The selected candidate.
    pub fn selected(&self) -> Option<&TokenData> {
        usize::try_from(self.selected).ok().and_then(|i| self.as_slice().get(i))
    }

    fn as_array(&mut self) -> TokenDataArray {
        let data = self.memory[self.start..].as_mut_ptr();
        TokenDataArray { data, size: self.size, selected: self.selected, sorted: self.sorted }
    }

    /// Takes over what a call has left. It stays inside the memory, or this is not b11192.
    fn take(&mut self, array: &TokenDataArray) {
        let offset = (array.data as usize).wrapping_sub(self.memory.as_ptr() as usize);
        self.start = offset / size_of::<TokenData>();
        let end = self.start.checked_add(array.size);
        assert!(end.is_some_and(|end| end <= self.memory.len()), "libllama left its memory");
        (self.size, self.selected, self.sorted) = (array.size, array.selected, array.sorted);
    }
}

const _: () = assert!(size_of::<*const c_void>() == 8, "the layouts are those of 64 bits");
