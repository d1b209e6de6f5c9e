//! A step as a sampler of its own, with the context that it would have in no chain: seed, history, vocabulary.

use std::ffi::CStr;
use std::sync::Arc;

use sampler_steps::{CandSet, Ctx, Mt19937, Penalties, SamplerStep, Vocab};

use crate::abi::DEFAULT_SEED;
use crate::window::{CopiedWindow, Strength};

/// What llama.cpp treats in its own way.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// Needs nothing but the candidates.
    Plain,
    /// The same, and a copy of its state is nothing: its parameters stay.
    Fixed,
    /// Compares the texts of the candidates.
    Infill,
    /// Selects the first of the largest. A copy of its state is nothing.
    Greedy,
    /// Selects by the logits. A copy of its state is its generator.
    Dist,
    /// Draws, and moves the start of the array.
    Xtc,
    /// Mirostat, 1 or 2: selects, and shows its seed.
    Mirostat,
    /// Selects, and takes note of the token.
    AdaptiveP,
    /// DRY: takes note of so many of the last tokens.
    Window(usize),
    /// Takes note of the last tokens. A copy of its state is these: window and strength stay.
    Penalties(Strength),
}

/// A step with its context: what `ctx` of a `llama_sampler` of ours points to.
#[derive(Debug, Clone)]
pub struct Step {
    name: &'static CStr,
    kind: Kind,
    /// None: switched off by its parameters, llama.cpp's "empty sampler".
    step: Option<Box<dyn SamplerStep>>,
    ctx: Ctx,
    /// The seed that was given; [`DEFAULT_SEED`] asks for a random one, at each reset.
    seed: u32,
    /// Of penalties that have their tokens from a sampler with another window: these, in place of the history.
    copied: Option<CopiedWindow>,
}

// A sampler's const functions may be called by several threads at once.
const _: () = {
    const fn is_sync<T: Sync>() {}
    is_sync::<Step>();
};

impl Step {
    /// A step that draws nothing. Where its parameters switch it off it is llama.cpp's empty sampler, whose name is `off`.
    pub fn new(kind: Kind, name: &'static CStr, off: &'static CStr, step: impl SamplerStep + 'static) -> Self {
        let is_off = step.is_off();
        let name = if is_off { off } else { name };
        let step = (!is_off).then(|| Box::new(step) as _);
        Self { name, kind, step, ctx: Ctx::new(0), seed: DEFAULT_SEED, copied: None }
    }

    /// Penalties, as [`new`](Self::new).
    pub fn penalties(name: &'static CStr, off: &'static CStr, step: Penalties) -> Self {
        Self::new(Kind::Penalties(Strength::of(&step)), name, off, step)
    }

    /// The same for a step that draws.
    pub fn random(
        kind: Kind,
        name: &'static CStr,
        off: &'static CStr,
        step: impl SamplerStep + 'static,
        seed: u32,
    ) -> Self {
        let mut step = Self { seed, ..Self::new(kind, name, off, step) };
        step.reset();
        step
    }

    /// The same with the size of the vocabulary.
    pub fn with_n_vocab(mut self, n_vocab: usize) -> Self {
        self.ctx = self.ctx.with_n_vocab(n_vocab);
        self
    }

    /// The same with a vocabulary.
    pub fn with_vocab(mut self, vocab: Arc<dyn Vocab>) -> Self {
        self.ctx = self.ctx.with_vocab(vocab);
        self
    }

    /// llama.cpp's name of it.
    pub fn name(&self) -> &'static CStr {
        self.name
    }

    /// What it is.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Whether its parameters switch it off.
    pub fn is_off(&self) -> bool {
        self.step.is_none()
    }

    /// The seed in use, for those that show it: `llama_sampler_get_seed`.
    pub fn shown_seed(&self) -> u32 {
        if matches!(self.kind, Kind::Dist | Kind::Mirostat) { self.ctx.seed() } else { DEFAULT_SEED }
    }

    /// Works on the candidates. `selected` is the caller's field of that name, which only a step that selects writes.
    pub fn apply(&mut self, cands: &mut CandSet<'_>, selected: &mut i64) {
        let Some(step) = &mut self.step else { return };
        match (&mut self.copied, self.kind) {
            (Some(window), Kind::Penalties(strength)) => window.penalise(cands, strength),
            // b11192 asserts here, and a step adds no candidate to the caller's array.
            (_, Kind::Infill) if cands.is_empty() => {}
            _ => step.apply(cands, &mut self.ctx),
        }
        match self.kind {
            Kind::Greedy | Kind::Dist | Kind::Mirostat | Kind::AdaptiveP => match cands.selected() {
                Some(place) => *selected = place as i64,
                // Of an empty set.
                None if self.kind == Kind::Greedy => *selected = 0,
                None if self.kind == Kind::Dist => *selected = -1,
                None => {}
            },
            _ => {}
        }
    }

    /// Takes note of a token.
    pub fn accept(&mut self, token: i32) {
        let Some(step) = &mut self.step else { return };
        let token = token as u32;
        match (self.kind, &mut self.copied) {
            (Kind::Penalties(strength), Some(window)) => window.accept(token, strength.last_n),
            (Kind::Window(last_n) | Kind::Penalties(Strength { last_n, .. }), _) => {
                self.ctx.history_mut().push(token);
                step.accept(token, &self.ctx);
                self.forget(last_n);
            }
            (Kind::AdaptiveP, _) => step.accept(token, &self.ctx),
            _ => {}
        }
    }

    /// Drops what no window reaches any more, once that is as much as what one does.
    fn forget(&mut self, last_n: usize) {
        const FEWEST: usize = 1024;
        let history = self.ctx.history_mut();
        if history.len() < last_n.max(FEWEST).saturating_mul(2) {
            return;
        }
        let last = history.last(last_n).to_vec();
        self.remember(&last);
    }

    /// Has this history in place of its own.
    fn remember(&mut self, tokens: &[u32]) {
        let history = self.ctx.history_mut();
        history.clear();
        tokens.iter().for_each(|&token| history.push(token));
        if let Some(step) = &mut self.step {
            step.reset(&self.ctx);
        }
    }

    /// Starts again, with another seed if a random one was asked for.
    pub fn reset(&mut self) {
        self.ctx.history_mut().clear();
        self.ctx.set_seed(effective_seed(self.seed));
        if let Some(step) = &mut self.step {
            step.reset(&self.ctx);
        }
        if let Some(window) = &mut self.copied {
            window.clear();
        }
    }

    /// A copy as `llama_sampler_clone` makes it: all of it, but adaptive-p's generator begins again.
    pub fn copy(&self) -> Self {
        let mut copy = self.clone();
        if self.kind == Kind::AdaptiveP {
            copy.ctx.set_seed(effective_seed(self.seed));
            if let Some(generator) = copy.step.as_mut().and_then(|step| step.generator()) {
                *generator = Mt19937::new(copy.ctx.seed());
            }
        }
        copy
    }

    /// Whether `llama_sampler_copy` takes both for one type. All that are switched off are of one.
    pub fn is_like(&self, other: &Self) -> bool {
        if self.is_off() { other.is_off() } else { self.name == other.name }
    }

    /// Takes over the state of one that [`is_like`](Self::is_like) it, as `llama_sampler_copy` does: of some types that is their state
    /// alone (`copy_state` of b11192's), and of all others everything, parameters and seed, too.
    pub fn copy_state(&mut self, from: &Self) {
        if self.is_off() {
            *self = from.copy();
            return;
        }
        match (self.kind, from.kind) {
            (Kind::Fixed | Kind::Greedy, _) => {}
            (Kind::Dist, _) => {
                self.ctx.set_seed(from.ctx.seed());
                // The step is nothing but its generator.
                self.step = from.step.clone();
            }
            (Kind::Penalties(own), Kind::Penalties(theirs)) => {
                self.copied = from.copied.clone();
                if own.last_n != theirs.last_n && self.copied.is_none() {
                    self.copied = Some(CopiedWindow::new(theirs.last_n, from.ctx.history().last(theirs.last_n)));
                }
                let window = if self.copied.is_some() { &[] } else { from.ctx.history().last(own.last_n) };
                self.remember(window);
            }
            _ => *self = from.copy(),
        }
    }
}

/// The seed to use for one that may ask for a random one.
fn effective_seed(seed: u32) -> u32 {
    if seed == DEFAULT_SEED { getrandom::u32().unwrap_or(0) } else { seed }
}
