//! The trait of a step, and the register of all steps that this program was linked with.

use std::any::Any;
use std::fmt::Debug;

use dyn_clone::DynClone;
use serde::Deserialize;
use serde::de::value::MapDeserializer;

use super::{CandSet, Chain, Ctx, Facts, Generators, StateReader, StepError, StepState, alternatives};
use crate::libstdcxx::Mt19937;

/// One step of a chain: `struct llama_sampler` with its `llama_sampler_i`.
///
/// A step's parameters are its serialised fields and its state is `#[serde(skip)]`. `#[typetag::serde(name = "…")]` on the
/// `impl` registers it under the `type` that chain files use.
///
/// A step that holds chains shows them ([`holds_chains`](crate::holds_chains)), one that keeps something from draw to draw shows
/// that ([`state`](Self::state)): what is asked of every step, they answer unless it says something else itself.
#[typetag::serde(tag = "type")]
pub trait SamplerStep: Any + DynClone + Debug + Send + Sync {
    /// Checks the parameters against the context, seeds the generator, builds tables. Called once, before the first draw.
    ///
    /// # Errors
    /// A parameter that cannot work, by name.
    fn prepare(&mut self, ctx: &Ctx) -> Result<(), StepError> {
        self.prepare_chains(ctx)
    }

    /// Resets the step and prepares the chains inside it: what [`prepare`](Self::prepare) does, for a step that writes its own.
    ///
    /// # Errors
    /// What is wrong in a chain, with the field that holds it: a step that refuses, or one behind a step that selects. Of
    /// chains of which one runs ([`alternatives`](Self::alternatives)), one that selects beside one that does not; and where
    /// they share their generators, a step inside that keeps those of its own chains apart.
    fn prepare_chains(&mut self, ctx: &Ctx) -> Result<(), StepError> {
        self.reset(ctx);
        alternatives::check(self)?;
        let fields: Vec<&'static str> = self.chains().into_iter().map(|(field, _)| field).collect();
        fields.into_iter().zip(self.chains_mut()).try_for_each(|(field, chain)| chain.prepare_in(field, ctx))
    }

    /// Filters, changes, sorts or selects the candidates: `llama_sampler_apply`.
    fn apply(&mut self, cands: &mut CandSet<'_>, ctx: &mut Ctx);

    /// Takes note of a token that joined the history, of the prompt or drawn: `llama_sampler_accept`. The history in `ctx`
    /// ends with it.
    fn accept(&mut self, token: u32, ctx: &Ctx) {
        self.chains_mut().into_iter().for_each(|chain| chain.accept(token, ctx));
    }

    /// Brings back the state after [`prepare`](Self::prepare): `llama_sampler_reset`. The history in `ctx` is the one to
    /// start from, usually empty.
    fn reset(&mut self, ctx: &Ctx) {
        self.state_mut().into_iter().for_each(|state| state.reset(ctx));
        self.chains_mut().into_iter().for_each(|chain| chain.reset(ctx));
    }

    /// Writes down the part of the state that parameters, seed and history do not tell: how far a generator is, an average.
    /// Always the same number of values. A step whose state comes from the history alone, or that has none, leaves this out.
    fn save(&self, state: &mut Vec<u64>) {
        self.state().into_iter().for_each(|own| own.save(state));
        self.chains().into_iter().for_each(|(_, chain)| chain.save(state));
    }

    /// Brings back a state that [`save`](Self::save) wrote. The history in `ctx` is the one of that moment.
    ///
    /// # Errors
    /// Values that `save` does not write.
    fn load(&mut self, state: &mut StateReader<'_>, ctx: &Ctx) -> Result<(), StepError> {
        self.reset(ctx);
        self.state_mut().into_iter().try_for_each(|own| own.load(state, ctx))?;
        self.chains_mut().into_iter().try_for_each(|chain| chain.load(state, ctx))
    }

    /// What it keeps from draw to draw or token to token: [`reset`](Self::reset), [`save`](Self::save) and [`load`](Self::load) see
    /// to it then, before the chains inside. A generator is such a state.
    fn state(&self) -> Option<&dyn StepState> {
        None
    }

    /// The same, to change it.
    fn state_mut(&mut self) -> Option<&mut dyn StepState> {
        None
    }

    /// Whether this step picks the token. A chain has exactly one that does, and it is the last.
    fn selects(&self) -> bool {
        self.chains().iter().any(|(_, chain)| chain.selects())
    }

    /// Whether its parameters switch this step off, so that `apply` changes nothing, not even `sorted` (llama.cpp's
    /// samplers whose name starts with `?`).
    fn is_off(&self) -> bool {
        let chains = self.chains();
        !chains.is_empty() && chains.iter().all(|(_, chain)| chain.is_off())
    }

    /// What holds of it with its parameters, whatever the logits.
    fn facts(&self) -> Facts {
        Facts::default()
    }

    /// The steps inside this one, for a step that is made of others, all of which run.
    fn inner(&self) -> &[Box<dyn SamplerStep>] {
        match self.chains().as_slice() {
            [(_, only)] => only.steps(),
            _ => &[],
        }
    }

    /// The generator of a step that draws numbers, for whoever lets two of them share one. Without it a step keeps its own.
    fn generator(&mut self) -> Option<&mut Mt19937> {
        None
    }

    /// The chains inside this one, for a step that holds some, each with the name of the field that holds it: whoever looks for
    /// a step finds it there, too ([`Chain::visit`]).
    fn chains(&self) -> Vec<(&'static str, &Chain)> {
        Vec::new()
    }

    /// The same without names, to change their steps.
    fn chains_mut(&mut self) -> Vec<&mut Chain> {
        Vec::new()
    }

    /// Whether the chains inside this one are alternatives, of which one runs at a time, and then whether they share their
    /// generators. None where all run.
    fn alternatives(&self) -> Option<Generators> {
        None
    }
}

dyn_clone::clone_trait_object!(SamplerStep);

/// A name that no step and no field has.
const NOBODY: &str = "\0";

/// The `type` of every step that this program was linked with, sorted: the stock steps and those of crates that are used.
pub fn registered_steps() -> Vec<String> {
    names(&[("type", NOBODY)]).unwrap_or_default()
}

/// The parameters of a step by its `type`, in the order of its struct. None for a type that is not registered, and for a
/// step that does not refuse unknown parameters (`#[serde(deny_unknown_fields)]`).
pub fn step_fields(step: &str) -> Option<Vec<String>> {
    if step == NOBODY { None } else { names(&[("type", step), (NOBODY, "")]).filter(|_| is_registered(step)) }
}

fn is_registered(step: &str) -> bool {
    registered_steps().iter().any(|known| known == step)
}

/// The names that serde tells when it is asked for [`NOBODY`]. typetag hands a step's errors on as text, so they are taken
/// from serde's wording: "unknown field `x`, expected one of `a`, `b`".
fn names(map: &[(&str, &str)]) -> Option<Vec<String>> {
    let map = MapDeserializer::<_, serde::de::value::Error>::new(map.iter().copied());
    let error = Box::<dyn SamplerStep>::deserialize(map).err()?.to_string();
    let (what, expected) = error.split_once(NOBODY)?;
    let is_unknown = what == "unknown field `" || what == "unknown variant `";
    is_unknown.then(|| expected.split('`').skip(2).step_by(2).map(String::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_is_registered_with_its_parameters() {
        let known = registered_steps();
        assert!(known.contains(&"top_k".to_string()) && known.is_sorted());
        let fields = |step| step_fields(step).map(|fields| fields.join(" "));
        assert_eq!(fields("top_k").unwrap(), "k");
        assert_eq!(fields("top_p").unwrap(), "p min_keep");
        assert_eq!(fields("penalties").unwrap(), "last_n repeat freq present window");
        assert_eq!(fields("dist").unwrap(), "");
        assert_eq!(fields("chain").unwrap(), "steps");
        assert_eq!(fields("no_such_step"), None);
    }
}
