use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::core::{CandSet, Ctx, Facts, SamplerStep, SequenceMatcher, StateReader, StepError};

/// Limits how many tokens a model may spend between a start and an end sequence (`<think>` and `</think>`): when they are
/// spent it forces a sequence, token by token: `common_reasoning_budget_init`.
///
/// It waits for a start, counts, and either sees an end by itself or forces one, but not inside a UTF-8 character, which it
/// knows where there is a vocabulary. A new start begins a new budget. In llama-server it runs before the chain; here it is
/// the chain's first step.
///
/// # Order and flags
/// While it forces, every other token's logit becomes -infinity; candidates and `sorted` stay. Else it does nothing.
///
/// # Draws
/// None.
///
/// # Chain file
/// ```json
/// {"type": "reasoning_budget", "start": [[10, 11]], "end": [[12]], "forced": [13, 12], "budget": 1000}
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ReasoningBudget {
    /// Token sequences that start the counting. Default none.
    pub start: Vec<Vec<u32>>,
    /// Token sequences that end it. Default none.
    pub end: Vec<Vec<u32>>,
    /// What is forced when the budget is spent: usually a message and an end sequence. Default none.
    pub forced: Vec<u32>,
    /// How many tokens there are to spend; 0 forces at once, -1 is unlimited. Default 0.
    #[serde(deserialize_with = "budget")]
    #[schemars(range(min = -1))]
    pub budget: i32,
    /// Whether the prompt's tokens count, too. llama-server looks at drawn tokens alone, so that an earlier turn of a chat starts
    /// nothing; where the prompt ends inside the reasoning, the step begins at `counting`. Default false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(!skip_serializing_if)]
    pub sees_prompt: bool,
    /// Where it begins: at `idle` it waits for a start. Default `idle`.
    #[serde(skip_serializing_if = "BudgetState::is_idle")]
    #[schemars(!skip_serializing_if)]
    pub state: BudgetState,
    #[serde(skip)]
    now: Now,
}

/// What the step is doing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
#[serde(rename_all = "snake_case")]
pub enum BudgetState {
    /// Waits for a start.
    #[default]
    Idle,
    /// Counts the budget down.
    Counting,
    /// Has spent it inside a UTF-8 character, and waits for its end.
    WaitingUtf8,
    /// Forces its sequence.
    Forcing,
    /// Is done, until the next start.
    Done,
}

const STATES: [BudgetState; 5] =
    [BudgetState::Idle, BudgetState::Counting, BudgetState::WaitingUtf8, BudgetState::Forcing, BudgetState::Done];

impl BudgetState {
    fn is_idle(&self) -> bool {
        *self == Self::Idle
    }
}

/// The state that changes with each token.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Now {
    state: BudgetState,
    /// Tokens left of the budget.
    remaining: i64,
    /// The place of the next token to force.
    forced: usize,
    /// The search for a sequence.
    matcher: SequenceMatcher,
}

fn budget<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<i32, D::Error> {
    let budget = i32::deserialize(deserializer)?;
    if budget < -1 {
        let wanted = "0 or more tokens, or -1 for no limit";
        return Err(serde::de::Error::invalid_value(serde::de::Unexpected::Signed(budget.into()), &wanted));
    }
    Ok(budget)
}

impl ReasoningBudget {
    /// The step with one start and one end, which is also what it forces.
    pub fn new(start: impl Into<Vec<u32>>, end: impl Into<Vec<u32>>, budget: i32) -> Self {
        let end = end.into();
        Self { start: vec![start.into()], forced: end.clone(), end: vec![end], budget, ..Self::default() }
    }

    /// The same with another sequence to force.
    pub fn with_forced(mut self, forced: impl Into<Vec<u32>>) -> Self {
        self.forced = forced.into();
        self
    }

    /// What the step is doing now.
    pub fn current(&self) -> BudgetState {
        self.now.state
    }

    /// Ends the reasoning now: `common_reasoning_budget_force`. Only while it counts; whether it did.
    pub fn force(&mut self) -> bool {
        let counting = self.now.state == BudgetState::Counting;
        if counting {
            self.begin_forcing();
        }
        counting
    }

    fn limit(&self) -> i64 {
        if self.budget < 0 { i32::MAX.into() } else { self.budget.into() }
    }

    fn begin_forcing(&mut self) {
        self.now = Now { state: BudgetState::Forcing, forced: 0, matcher: SequenceMatcher::default(), ..self.now };
    }

    fn begin_counting(&mut self) {
        self.now = Now {
            state: BudgetState::Counting,
            remaining: self.limit(),
            matcher: SequenceMatcher::default(),
            ..self.now
        };
        if self.now.remaining <= 0 {
            self.begin_forcing();
        }
    }
}

/// Whether a piece ends with a whole UTF-8 character.
fn ends_whole(piece: &[u8]) -> bool {
    let last = piece.iter().rev().take(4).position(|byte| byte & 0xc0 != 0x80);
    match last {
        None => piece.is_empty(),
        Some(followers) => {
            let length = match piece[piece.len() - 1 - followers] {
                0xf0.. => 4,
                0xe0.. => 3,
                0xc0.. => 2,
                _ => 1,
            };
            followers + 1 >= length
        }
    }
}

crate::describe_step!(ReasoningBudget);

#[typetag::serde(name = "reasoning_budget")]
impl SamplerStep for ReasoningBudget {
    fn prepare(&mut self, ctx: &Ctx) -> Result<(), StepError> {
        let named = [("start", self.start.concat()), ("end", self.end.concat()), ("forced", self.forced.clone())];
        for (field, tokens) in named {
            if let Some(n_vocab) = ctx.n_vocab()
                && let Some(&id) = tokens.iter().find(|id| **id as usize >= n_vocab)
            {
                return Err(StepError::BeyondVocab { field, id, n_vocab });
            }
        }
        StepError::refuse_unless(self.budget >= -1, "budget", self.budget, "0 or more tokens, or -1 for no limit")?;
        self.now = Now { state: self.state, remaining: self.limit(), ..Now::default() };
        if self.state == BudgetState::Counting {
            self.begin_counting();
        }
        Ok(())
    }

    fn apply(&mut self, cands: &mut CandSet<'_>, _: &mut Ctx) {
        if let (BudgetState::Forcing, Some(&forced)) = (self.now.state, self.forced.get(self.now.forced)) {
            cands.mask(|id| id == forced);
        }
    }

    fn accept(&mut self, token: u32, ctx: &Ctx) {
        let is_prompt = ctx.history().n_prompt() == ctx.history().len();
        if is_prompt && !self.sees_prompt {
            return;
        }
        match self.now.state {
            BudgetState::Idle | BudgetState::Done => {
                if self.now.matcher.finds(&self.start, ctx) {
                    self.begin_counting();
                }
            }
            BudgetState::Counting | BudgetState::WaitingUtf8 => {
                if self.now.matcher.finds(&self.end, ctx) {
                    self.now.state = BudgetState::Done;
                    return;
                }
                let is_whole =
                    ctx.vocab().is_none_or(|vocab| vocab.is_control(token) || ends_whole(vocab.piece(token)));
                if self.now.state == BudgetState::Counting {
                    self.now.remaining -= 1;
                    if self.now.remaining > 0 {
                        return;
                    }
                    self.now = Now { state: BudgetState::WaitingUtf8, matcher: SequenceMatcher::default(), ..self.now };
                }
                if is_whole {
                    self.begin_forcing();
                }
            }
            BudgetState::Forcing => {
                self.now.forced += 1;
                if self.now.forced >= self.forced.len() {
                    self.now = Now { state: BudgetState::Done, matcher: SequenceMatcher::default(), ..self.now };
                }
            }
        }
    }

    /// llama.cpp's `reset` goes to waiting for a start, wherever the step began; so does this, where the step began there.
    fn reset(&mut self, ctx: &Ctx) {
        // What prepare refuses it has refused before.
        let _ = self.prepare(ctx);
    }

    fn save(&self, state: &mut Vec<u64>) {
        let Now { state: now, remaining, forced, matcher } = &self.now;
        state.extend([*now as u64, *remaining as u64, *forced as u64]);
        matcher.save(state);
    }

    fn load(&mut self, state: &mut StateReader<'_>, ctx: &Ctx) -> Result<(), StepError> {
        let which = state.number()?;
        let now = *STATES.get(which as usize).ok_or_else(|| StepError::State(format!("{which} is no state")))?;
        let mut up_to = |most: usize| match state.number()? {
            number if number <= most as u64 => Ok(number as usize),
            number => Err(StepError::State(format!("{number} is more than {most}"))),
        };
        let remaining = up_to(i32::MAX as usize)? as i64;
        let forced = up_to(self.forced.len().max(1))?;
        self.now = Now { state: now, remaining, forced, matcher: SequenceMatcher::load(state, ctx)? };
        Ok(())
    }

    fn facts(&self) -> Facts {
        let is_waiting = matches!(self.state, BudgetState::Idle | BudgetState::Done);
        if self.forced.is_empty() || (is_waiting && self.start.iter().all(Vec::is_empty)) {
            return Facts::TRUNCATION;
        }
        let waits_for_whole = self.budget != 0 || self.state == BudgetState::WaitingUtf8;
        Facts { needs_history: true, needs_vocab: waits_for_whole, needs_prompt: !self.sees_prompt, ..Facts::default() }
    }
}

#[cfg(test)]
mod tests;
