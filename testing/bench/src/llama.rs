//! libllama b11192 as an engine. `testing/libllama` has its C API.

use libllama::{Candidates, Libllama, Sampler};
use sampler_chain::Params;

use crate::Failure;
use crate::engines::Engine;
use crate::rows::Rows;

/// A chain in libllama, with the memory for its candidates, which llama-server keeps from draw to draw, too.
pub struct Llama {
    chain: Sampler,
    candidates: Candidates,
}

impl Llama {
    pub const NAME: &str = "libllama";

    /// The chain that llama-server builds: `common_sampler_init`, without biases and a grammar, which no chain here has.
    pub fn new(library: &Libllama, params: &Params, rows: &Rows) -> Result<Self, Failure> {
        let n_vocab = i32::try_from(rows.n_vocab)?;
        let min_keep = params.min_keep.max(0) as usize;
        let p = params;
        let no_breakers: &[[i32; 0]] = &[];
        let steps = match p.mirostat {
            0 => vec![
                library.penalties(n_vocab, p.repeat_last_n, p.repeat_penalty, p.frequency_penalty, p.presence_penalty),
                library.dry(p.dry_multiplier, p.dry_base, p.dry_allowed_length, p.dry_penalty_last_n, no_breakers),
                library.top_n_sigma(p.top_n_sigma),
                library.top_k(p.top_k),
                library.typical(p.typical_p, min_keep),
                library.top_p(p.top_p, min_keep),
                library.min_p(p.min_p, min_keep),
                library.xtc(p.xtc_probability, p.xtc_threshold, min_keep, p.seed),
                library.temp_ext(p.temperature, p.dynatemp_range, p.dynatemp_exponent),
                library.dist(p.seed),
            ],
            1 => vec![
                library.temp(p.temperature),
                library.mirostat(n_vocab, p.seed, p.mirostat_tau, p.mirostat_eta, 100),
            ],
            _ => vec![library.temp(p.temperature), library.mirostat_v2(p.seed, p.mirostat_tau, p.mirostat_eta)],
        };
        let chain = steps.into_iter().fold(library.chain(), Sampler::with);
        let mut llama = Self { chain, candidates: Candidates::default() };
        for &token in &rows.prompt {
            llama.chain.accept(i32::try_from(token)?);
        }
        Ok(llama)
    }
}

impl Engine for Llama {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn draw(&mut self, _: usize, row: &[f32]) -> Result<Option<u32>, Failure> {
        self.candidates.fill_with_row(row);
        #[expect(unsafe_code, reason = "C++ is called")]
        // SAFETY: a row is not empty, its logits are finite, and the parameters are llama-server's.
        unsafe {
            self.chain.apply(&mut self.candidates);
        }
        let selected = self.candidates.selected().ok_or_else(|| format!("{} selected nothing", self.chain.name()))?;
        let token = selected.id;
        self.chain.accept(token);
        Ok(Some(u32::try_from(token)?))
    }
}
