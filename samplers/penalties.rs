use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::core::{CandSet, Ctx, Facts, Penalty, SamplerStep, StepError, float};

/// Makes the tokens of the last `last_n` less likely, each once: `llama_sampler_init_penalties`.
///
/// A logit above 0 is divided by `repeat`, else multiplied; then `count * freq + present` is taken off.
///
/// # Order and flags
/// Changes logits and clears `sorted`, even where nothing changed. With a window of 0, or all three at their neutral
/// values, it does nothing.
///
/// # Draws
/// None.
///
/// # Chain file
/// ```json
/// {"type": "penalties", "last_n": 64, "repeat": 1.1, "freq": 0.0, "present": 0.0}
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Penalties {
    /// How many of the last tokens count, the prompt's included; 0: off. Takes only the memory that the history has.
    /// Default 64.
    pub last_n: u32,
    /// The repetition penalty, above 0, finite, and so is its inverse; 1 is neutral. Default 1.
    #[serde(with = "float")]
    #[schemars(with = "f32", extend("exclusiveMinimum" = 0))]
    pub repeat: f32,
    /// Taken off for each time the token occurs; finite. Default 0.
    #[serde(with = "float")]
    #[schemars(with = "f32")]
    pub freq: f32,
    /// Taken off once for a token that occurs; finite. Default 0.
    #[serde(with = "float")]
    #[schemars(with = "f32")]
    pub present: f32,
    /// Which tokens the window is over. Default `all`, as in llama.cpp.
    #[serde(skip_serializing_if = "Window::is_all")]
    #[schemars(!skip_serializing_if)]
    pub window: Window,
    #[serde(skip)]
    /// By rising token.
    counts: Vec<(u32, u32)>,
}

/// Which tokens a window is over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
#[serde(rename_all = "snake_case")]
pub enum Window {
    /// The prompt's and the drawn ones: llama.cpp's rule.
    #[default]
    All,
    /// The drawn ones alone, as OpenAI's and vLLM's frequency and presence penalties count.
    Generated,
}

impl Window {
    fn is_all(&self) -> bool {
        *self == Self::All
    }

    /// The tokens that count.
    fn tokens<'a>(&self, ctx: &'a Ctx) -> &'a [u32] {
        match self {
            Self::All => ctx.history().tokens(),
            Self::Generated => ctx.history().generated(),
        }
    }
}

impl Default for Penalties {
    fn default() -> Self {
        Self { last_n: 64, repeat: 1.0, freq: 0.0, present: 0.0, window: Window::All, counts: Vec::new() }
    }
}

impl Penalties {
    /// The step with its parameters. A negative window is off, as in `llama_sampler_init_penalties`.
    pub fn new(last_n: i32, repeat: f32, freq: f32, present: f32) -> Self {
        Self { last_n: last_n.max(0) as u32, repeat, freq, present, ..Self::default() }
    }

    /// The same with a window over other tokens.
    pub fn with_window(mut self, window: Window) -> Self {
        self.window = window;
        self
    }
}

crate::describe_step!(Penalties);

#[typetag::serde(name = "penalties")]
impl SamplerStep for Penalties {
    fn prepare(&mut self, ctx: &Ctx) -> Result<(), StepError> {
        let usable = self.repeat.is_finite() && self.repeat > 0.0 && self.repeat.recip().is_finite();
        StepError::refuse_unless(usable, "repeat", self.repeat, "finite and above 0, and so must its inverse be")?;
        StepError::refuse_unless(self.freq.is_finite(), "freq", self.freq, "it must be finite")?;
        StepError::refuse_unless(self.present.is_finite(), "present", self.present, "it must be finite")?;
        self.reset(ctx);
        Ok(())
    }

    fn apply(&mut self, cands: &mut CandSet<'_>, _: &mut Ctx) {
        let Self { repeat, freq, present, .. } = *self;
        if !self.is_off() {
            cands.penalise(&self.counts, Penalty { repeat, freq, present });
        }
    }

    fn accept(&mut self, token: u32, ctx: &Ctx) {
        if self.is_off() {
            return;
        }
        let tokens = self.window.tokens(ctx);
        if tokens.is_empty() {
            // The token was a prompt's, and the window is over drawn ones.
            return self.counts.clear();
        }
        match self.counts.binary_search_by_key(&token, |count| count.0) {
            Ok(at) => self.counts[at].1 += 1,
            Err(at) => self.counts.insert(at, (token, 1)),
        }
        let left = tokens.len().checked_sub(self.last_n as usize + 1).map(|left| tokens[left]);
        let at = left.and_then(|left| self.counts.binary_search_by_key(&left, |count| count.0).ok());
        if let Some(at) = at {
            self.counts[at].1 -= 1;
            if self.counts[at].1 == 0 {
                self.counts.remove(at);
            }
        }
    }

    fn reset(&mut self, ctx: &Ctx) {
        let tokens = self.window.tokens(ctx);
        let mut last = tokens[tokens.len().saturating_sub(self.last_n as usize)..].to_vec();
        last.sort_unstable();
        self.counts = last.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as u32)).collect();
    }

    fn is_off(&self) -> bool {
        self.last_n == 0 || (self.repeat == 1.0 && self.freq == 0.0 && self.present == 0.0)
    }

    fn facts(&self) -> Facts {
        if self.is_off() {
            return Facts::TRUNCATION;
        }
        Facts { needs_history: true, needs_prompt: self.window == Window::Generated, ..Facts::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{after_sort, refusal, round_trip, run};

    const LOGITS: [f32; 8] = [1.0, -1.0, 0.0, 2.0, -2.0, 4.0, 8.0, 3.0];

    #[test]
    fn divides_above_zero_and_multiplies_below() {
        let left = run(&mut Penalties::new(64, 2.0, 0.5, 0.25), &LOGITS, &[5, 4, 5, 2]);
        assert_eq!(left.logits(), [1.0, -1.0, -0.75, 2.0, -4.75, 0.75, 8.0, 3.0]);
    }

    /// User case 16: the prompt counts, unless the window is over generated tokens alone.
    #[test]
    fn case_16_the_window_includes_the_prompt() {
        let mut penalties = Penalties::new(64, 1.5, 0.0, 0.0);
        assert_eq!(run(&mut penalties, &LOGITS, &[7]).logits()[7], 2.0);
        penalties.window = Window::Generated;
        assert_eq!(run(&mut penalties, &LOGITS, &[7]).logits()[7], 3.0);
    }

    #[test]
    fn a_generated_window_starts_after_the_prompt() {
        let mut penalties = Penalties::new(1, 2.0, 0.0, 0.0).with_window(Window::Generated);
        let mut ctx = Ctx::new(1);
        penalties.prepare(&ctx).unwrap();
        for (token, is_prompt) in [(6, true), (7, false), (5, false)] {
            if is_prompt {
                ctx.history_mut().push_prompt(token);
            } else {
                ctx.history_mut().push(token);
            }
            penalties.accept(token, &ctx);
        }
        assert_eq!(penalties.counts, [(5, 1)]);
        ctx.history_mut().push_prompt(3);
        penalties.accept(3, &ctx);
        assert!(penalties.counts.is_empty());
    }

    /// User case 18: the window is the last n, and counts what is in it.
    #[test]
    fn case_18_the_last_n() {
        let mut penalties = Penalties::new(2, 1.0, 1.0, 0.0);
        assert_eq!(run(&mut penalties, &LOGITS, &[5, 6, 7]).logits()[5..], [4.0, 7.0, 2.0]);
        assert_eq!(run(&mut penalties, &LOGITS, &[6, 6, 7]).logits()[5..], [4.0, 7.0, 2.0]);
    }

    /// User case 15: a negative window given to the constructor is off; 0 is a no-op that leaves `sorted` alone.
    #[test]
    fn case_15_windows_of_minus_one_and_zero() {
        for last_n in [-1, 0] {
            let left = run(&mut after_sort(Penalties::new(last_n, 2.0, 1.0, 1.0)), &LOGITS, &[5]);
            assert!(left.sorted && left.logits().contains(&4.0), "last_n = {last_n}");
        }
        let error = serde_json::from_str::<Penalties>(r#"{"last_n":-1}"#).unwrap_err().to_string();
        assert!(error.contains("invalid value: integer `-1`, expected u32"), "{error}");
    }

    #[test]
    fn a_window_of_two_billion_takes_what_it_uses() {
        let mut penalties = Penalties::new(i32::MAX, 2.0, 0.0, 0.0);
        assert_eq!(run(&mut penalties, &LOGITS, &[5; 100]).logits()[5], 2.0);
        assert_eq!(penalties.counts.len(), 1);
    }

    /// A penalty after a sort clears the flag, so that the next step sorts again.
    #[test]
    fn clears_sorted_even_for_nothing() {
        assert!(!run(&mut after_sort(Penalties::new(64, 1.5, 0.0, 0.0)), &LOGITS, &[]).sorted);
    }

    /// User case 19: extreme penalties are typed errors.
    #[test]
    fn case_19_extreme_values() {
        for repeat in [0.0, -1.0, f32::NAN, f32::INFINITY, 1e-39] {
            let expected = format!("repeat: {repeat} is refused: finite and above 0, and so must its inverse be");
            assert_eq!(refusal(Penalties::new(64, repeat, 0.0, 0.0)), expected);
        }
        Penalties::new(64, 1e-38, 0.0, 0.0).prepare(&Ctx::new(1)).unwrap();
        assert_eq!(refusal(Penalties::new(64, 1.0, f32::INFINITY, 0.0)), "freq: inf is refused: it must be finite");
        assert_eq!(refusal(Penalties::new(64, 1.0, 0.0, f32::NAN)), "present: NaN is refused: it must be finite");
    }

    #[test]
    fn reset_rebuilds_from_the_history() {
        let mut penalties = Penalties::new(2, 1.5, 0.0, 0.0);
        run(&mut penalties, &LOGITS, &[5, 6, 7]);
        let mut ctx = Ctx::new(1);
        penalties.reset(&ctx);
        assert!(penalties.counts.is_empty());
        for token in [1, 2, 3] {
            ctx.history_mut().push(token);
        }
        penalties.reset(&ctx);
        assert_eq!(penalties.counts, [(2, 1), (3, 1)]);
    }

    #[test]
    fn file() {
        let text = r#"{"type":"penalties","last_n":64,"repeat":1.0,"freq":0.0,"present":0.0}"#;
        round_trip(Box::new(Penalties::default()), text);
        let generated = Penalties::default().with_window(Window::Generated);
        round_trip(Box::new(generated), &text.replace("}", r#","window":"generated"}"#));
    }
}
