//! A chain with its context: logits in, a token out.
//!
//! What an engine needs around that has rooms of its own: `constrained` (grammars), `engine` (drafts, rewinding, snapshots),
//! `breakers` (DRY's, for engines that encode texts themselves).

mod breakers;
mod constrained;
mod engine;
mod past;

pub use constrained::Constraint;
pub use engine::{EngineError, Snapshot};

use sampler_steps::{Cand, CandBuf, CandSet, Chain, ChainError, Ctx, History, SamplerStep};
use serde::{Deserialize, Serialize};

use crate::error::SampleError;
use crate::llama_server::{BuildError, llama_server_chain};
use crate::params::{DEFAULT_SEED, Params};
use past::Past;

/// A sampler: a [`Chain`] with its context and its memory, which it keeps from draw to draw. The counterpart of
/// `common_sampler`.
///
/// A clone draws what the original draws: histories, generators and averages are copied.
#[derive(Debug, Clone)]
pub struct Sampler {
    chain: Chain,
    ctx: Ctx,
    buf: CandBuf,
    non_finite: NonFinite,
    /// States to go back to, one for each of the last accepted tokens.
    past: Past,
    /// The texts of DRY's breakers, where no vocabulary has made tokens of them.
    breaker_texts: Vec<String>,
    /// Where the history began: its length and the end of its prompt.
    start: (usize, usize),
}

/// What a sampler does with a row in which a logit is NaN or +infinity or all are -infinity, and with a chain that ends in
/// NaN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NonFinite {
    /// A typed error, and no generator moves for a bad row.
    #[default]
    Refuse,
    /// Runs the chain as it is. Where no running sum reaches the drawn number, the last candidate is taken, as a release
    /// build of llama.cpp does.
    LikeLlamaCpp,
    /// The first of the largest finite logits, without running the chain; an error where none is finite. A chain that ends
    /// in NaN is refused.
    FiniteArgmax,
}

impl Sampler {
    /// The sampler that llama-server would run with these parameters. A seed of [`DEFAULT_SEED`] draws a random one, which
    /// [`seed`](Self::seed) tells.
    ///
    /// # Errors
    /// Parameters that llama-server refuses, or that the vocabulary contradicts.
    pub fn new(params: Params) -> Result<Self, BuildError> {
        let chain = llama_server_chain(&params)?;
        let mut ctx = Ctx::new(effective_seed(params.seed));
        let encoded = params.vocab.is_some() || params.dry_breakers.is_some();
        if let Some(n_vocab) = params.n_vocab {
            ctx = ctx.with_n_vocab(n_vocab);
        }
        if let Some(vocab) = params.vocab {
            ctx = ctx.with_vocab(vocab);
        }
        let mut sampler = Self::from_chain(chain, ctx)?;
        if !encoded {
            sampler.breaker_texts = params.dry_sequence_breakers;
        }
        Ok(sampler)
    }

    /// A sampler of any chain. Every step is prepared.
    ///
    /// # Errors
    /// A chain in which nothing selects a token or something follows the step that does, or a step that refuses its
    /// parameters, by name.
    pub fn from_chain(mut chain: Chain, ctx: Ctx) -> Result<Self, ChainError> {
        chain.check_selection()?;
        chain.prepare_steps(&ctx)?;
        let start = (ctx.history().len(), ctx.history().n_prompt());
        let mut sampler = Self {
            chain,
            ctx,
            buf: CandBuf::default(),
            non_finite: NonFinite::default(),
            past: Past::default(),
            breaker_texts: Vec::new(),
            start,
        };
        sampler.remember();
        Ok(sampler)
    }

    /// The same with another way of treating rows that are not finite.
    pub fn with_non_finite(mut self, policy: NonFinite) -> Self {
        self.non_finite = policy;
        self
    }

    /// How rows that are not finite are treated.
    pub fn non_finite(&self) -> NonFinite {
        self.non_finite
    }

    /// Draws a token from a row of logits, one a token of the vocabulary. Generators move; the history does not: see
    /// [`accept`](Self::accept).
    ///
    /// # Errors
    /// A row that gives no token; see [`SampleError`].
    pub fn sample(&mut self, logits: &[f32]) -> Result<u32, SampleError> {
        self.draw(logits).map(|draw| draw.token())
    }

    /// Draws a token and keeps the candidates to look at.
    ///
    /// # Errors
    /// As [`sample`](Self::sample).
    pub fn draw<'s>(&'s mut self, logits: &'s [f32]) -> Result<Draw<'s>, SampleError> {
        self.draw_seen(logits, |_, _, _| {})
    }

    /// Draws a token and shows the candidates after every step of the chain: the step's index, the step, the candidates.
    ///
    /// # Errors
    /// As [`sample`](Self::sample).
    pub fn draw_seen<'s>(
        &'s mut self,
        logits: &'s [f32],
        seen: impl FnMut(usize, &dyn SamplerStep, &mut CandSet<'_>),
    ) -> Result<Draw<'s>, SampleError> {
        self.run(logits, |_| Ok(()), |chain, cands, ctx| chain.apply_seen(cands, ctx, seen))
    }

    /// Draws with something done to the candidates before the chain, and a way to apply it.
    pub(crate) fn run<'s>(
        &'s mut self,
        logits: &'s [f32],
        before: impl FnOnce(&mut CandSet<'_>) -> Result<(), SampleError>,
        apply: impl FnOnce(&mut Chain, &mut CandSet<'_>, &mut Ctx),
    ) -> Result<Draw<'s>, SampleError> {
        self.check_width(logits)?;
        let mut cands = CandSet::new(logits, &mut self.buf);
        let sound = if cands.began_sound() { Ok(()) } else { Err(what_is_odd(logits)) };
        match (self.non_finite, sound) {
            (NonFinite::Refuse, Err(error)) => return Err(error),
            (NonFinite::FiniteArgmax, Err(_)) => {
                before(&mut cands)?;
                let best = finite_argmax(cands.logits()).ok_or(SampleError::AllMasked)?;
                cands.select(best);
            }
            _ => {
                before(&mut cands)?;
                apply(&mut self.chain, &mut cands, &mut self.ctx);
            }
        }
        let Some(token) = cands.selected_id() else {
            return Err(match cands.len() {
                0 => SampleError::NothingLeft,
                left => SampleError::NothingSelected { left },
            });
        };
        if self.non_finite != NonFinite::LikeLlamaCpp && !cands.selected_is_sound() {
            let Cand { logit, p, .. } = cands.selected_cand().unwrap_or_default();
            let is_masked = logit == f32::NEG_INFINITY && !p.is_nan();
            return Err(if is_masked {
                SampleError::Masked { token }
            } else {
                SampleError::NotANumber { token, logit }
            });
        }
        Ok(Draw { cands, token })
    }

    /// Adds a drawn token to the history and tells every step: `common_sampler_accept`.
    ///
    /// # Errors
    /// A token beyond the vocabulary; nothing changes then.
    pub fn accept(&mut self, token: u32) -> Result<(), SampleError> {
        self.accept_into(token, History::push)
    }

    /// Adds a token of the prompt to the history and tells every step. llama-server does so with the whole prompt before the
    /// first draw.
    ///
    /// # Errors
    /// A token beyond the vocabulary; nothing changes then.
    pub fn accept_prompt(&mut self, token: u32) -> Result<(), SampleError> {
        self.accept_into(token, History::push_prompt)
    }

    /// Adds all tokens of a prompt.
    ///
    /// # Errors
    /// A token beyond the vocabulary; those before it are accepted.
    pub fn accept_prompt_all(&mut self, tokens: &[u32]) -> Result<(), SampleError> {
        tokens.iter().try_for_each(|&token| self.accept_prompt(token))
    }

    /// Forgets what was accepted and brings every step back to where it was before the first draw: `common_sampler_reset`. A
    /// random seed stays the one that was drawn, and a history that came with the context stays, too.
    pub fn reset(&mut self) {
        let (len, n_prompt) = self.start;
        self.ctx.history_mut().truncate(len, n_prompt);
        self.chain.reset(&self.ctx);
        self.past.clear();
        self.remember();
    }

    /// The same as [`reset`](Self::reset), with another seed for every generator. It is used as it is: -1 is not random here.
    pub fn restart(&mut self, seed: u32) {
        self.ctx.set_seed(seed);
        self.reset();
    }

    /// The seed of every generator: the one that was given, or the one that was drawn in its place.
    pub fn seed(&self) -> u32 {
        self.ctx.seed()
    }

    /// The chain.
    pub fn chain(&self) -> &Chain {
        &self.chain
    }

    /// Shows every running step of a type, to talk to it: `sampler.visit_mut(|budget: &mut ReasoningBudget| { budget.force(); })`.
    /// A parameter that is changed counts from the next draw.
    pub fn visit_mut<T: SamplerStep>(&mut self, mut visit: impl FnMut(&mut T)) {
        self.chain.visit_mut(&mut visit);
    }

    /// The context: vocabulary, history, seed.
    pub fn ctx(&self) -> &Ctx {
        &self.ctx
    }

    fn accept_into(&mut self, token: u32, push: fn(&mut History, u32)) -> Result<(), SampleError> {
        if let Some(n_vocab) = self.ctx.n_vocab().filter(|&n| token as usize >= n) {
            return Err(SampleError::TokenBeyondVocab { token, n_vocab });
        }
        push(self.ctx.history_mut(), token);
        self.chain.accept(token, &self.ctx);
        self.remember();
        Ok(())
    }

    /// Checks a row against the vocabulary; the first row says how large that is, where nothing else did.
    fn check_width(&mut self, logits: &[f32]) -> Result<(), SampleError> {
        let found = logits.len();
        match self.ctx.n_vocab() {
            _ if found == 0 => return Err(SampleError::EmptyRow),
            Some(n_vocab) if found != n_vocab => return Err(SampleError::RowWidth { found, n_vocab }),
            Some(_) => {}
            None => {
                if let Some(&token) = self.ctx.history().tokens().iter().find(|&&token| token as usize >= found) {
                    return Err(SampleError::TokenBeyondVocab { token, n_vocab: found });
                }
                self.ctx.learn_n_vocab(found);
            }
        }
        Ok(())
    }
}

/// What a draw left: the token, and the candidates in their last order.
#[derive(Debug)]
pub struct Draw<'s> {
    cands: CandSet<'s>,
    token: u32,
}

impl Draw<'_> {
    /// The drawn token.
    pub fn token(&self) -> u32 {
        self.token
    }

    /// The drawn candidate. Its `p` is 0 where no step computed it (greedy). Where the token could be drawn without writing all
    /// candidates out, this may do so.
    pub fn selected(&mut self) -> Cand {
        self.cands.selected_cand().unwrap_or_default()
    }

    /// The place of the drawn candidate among [`candidates`](Self::candidates).
    pub fn selected_index(&self) -> usize {
        self.cands.selected().unwrap_or_default()
    }

    /// The candidates that the chain left.
    pub fn candidates(&mut self) -> &[Cand] {
        self.cands.as_slice()
    }

    /// llama.cpp's `sorted` at the end of the chain.
    pub fn is_sorted(&self) -> bool {
        self.cands.is_sorted()
    }
}

/// The seed to use for one that may ask for a random one.
pub(crate) fn effective_seed(seed: u32) -> u32 {
    if seed != DEFAULT_SEED {
        return seed;
    }
    let random = getrandom::u32().unwrap_or_else(|_| {
        // Where the system has no randomness the clock is what is left, as in llama.cpp.
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        now.map_or(0, |since| since.subsec_nanos() ^ since.as_secs() as u32)
    });
    if random == DEFAULT_SEED { 0 } else { random }
}

/// Why a row cannot be drawn from.
fn what_is_odd(logits: &[f32]) -> SampleError {
    let is_odd = |logit: &f32| logit.is_nan() || *logit == f32::INFINITY;
    match logits.iter().position(is_odd) {
        Some(index) => SampleError::NonFinite { index, kind: if logits[index].is_nan() { "NaN" } else { "+infinity" } },
        None => SampleError::AllMasked,
    }
}

fn finite_argmax(logits: impl Iterator<Item = f32>) -> Option<usize> {
    let mut finite = logits.enumerate().filter(|(_, logit)| logit.is_finite());
    let first = finite.next()?;
    Some(finite.fold(first, |best, next| if next.1 > best.1 { next } else { best }).0)
}
