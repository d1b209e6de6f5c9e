//! What a step that holds chains says of them in one line.

/// Says which fields of a step hold chains, inside its `impl SamplerStep`: writes [`chains`](crate::SamplerStep::chains) and
/// [`chains_mut`](crate::SamplerStep::chains_mut), so that they agree. With `one of`, only one of the chains runs at a time, and
/// the field behind them says whether they share their generators ([`alternatives`](crate::SamplerStep::alternatives)).
///
/// What is asked of every step, the chains then answer: they are told every token, reset, saved, loaded, and found by whoever
/// looks for a step. `prepare` checks and prepares them, too; a step with a `prepare` of its own calls
/// [`prepare_chains`](crate::SamplerStep::prepare_chains) in it.
///
/// ```
/// # use sampler_steps::{CandSet, Chain, Ctx, SamplerStep, TopP, describe_step, holds_chains, schemars, steps, typetag};
/// # use serde::{Deserialize, Serialize};
/// /// Runs its steps on every other draw.
/// #[derive(Debug, Clone, Default, Serialize, Deserialize, schemars::JsonSchema)]
/// #[serde(default, deny_unknown_fields)]
/// struct NowAndThen {
///     /// The steps. Default none.
///     #[serde(with = "steps")]
///     steps: Chain,
/// }
///
/// #[typetag::serde(name = "now_and_then")]
/// impl SamplerStep for NowAndThen {
///     holds_chains!(steps);
///
///     fn apply(&mut self, cands: &mut CandSet, ctx: &mut Ctx) {
///         if ctx.history().len() % 2 == 0 {
///             self.steps.apply(cands, ctx);
///         }
///     }
/// }
///
/// let mut step = NowAndThen { steps: Chain::new().with(TopP { p: f32::NAN, min_keep: 0 }) };
/// let error = step.prepare(&Ctx::new(1)).unwrap_err().to_string();
/// assert_eq!(error, "steps: step 1 (top_p): p: NaN is refused: a number is wanted");
/// ```
#[macro_export]
macro_rules! holds_chains {
    (one of $($chain:ident),+; $generators:ident) => {
        $crate::holds_chains!($($chain),+);

        fn alternatives(&self) -> ::std::option::Option<$crate::Generators> {
            ::std::option::Option::Some(self.$generators)
        }
    };
    ($($chain:ident),+) => {
        fn chains(&self) -> ::std::vec::Vec<(&'static str, &$crate::Chain)> {
            ::std::vec![$((::std::stringify!($chain), &self.$chain)),+]
        }

        fn chains_mut(&mut self) -> ::std::vec::Vec<&mut $crate::Chain> {
            ::std::vec![$(&mut self.$chain),+]
        }
    };
}
