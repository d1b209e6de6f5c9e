use std::sync::Arc;

use super::*;
use crate::testing::{Words, apply, refusal, round_trip};

/// Accepts tokens one by one and tells the state after each.
fn states(step: &mut ReasoningBudget, ctx: &mut Ctx, tokens: &[u32]) -> Vec<BudgetState> {
    tokens
        .iter()
        .map(|&token| {
            ctx.history_mut().push(token);
            step.accept(token, ctx);
            step.current()
        })
        .collect()
}

fn prepared(budget: i32) -> (ReasoningBudget, Ctx) {
    let (mut step, ctx) = (ReasoningBudget::new([1, 2], [8], budget).with_forced([7, 8]), Ctx::new(1));
    step.prepare(&ctx).unwrap();
    (step, ctx)
}

/// The tokens that it lets through of ten.
fn allowed(step: &mut ReasoningBudget, ctx: &mut Ctx) -> Vec<u32> {
    let left = apply(step, &[1.0; 10], ctx);
    left.cands.iter().filter(|cand| cand.logit > f32::NEG_INFINITY).map(|cand| cand.id).collect()
}

use BudgetState::{Counting, Done, Forcing, Idle};

#[test]
fn counts_from_the_start_and_forces_when_spent() {
    let (mut step, mut ctx) = prepared(2);
    assert_eq!(states(&mut step, &mut ctx, &[1, 1, 2, 5]), [Idle, Idle, Counting, Counting]);
    assert_eq!(allowed(&mut step, &mut ctx).len(), 10);
    assert_eq!(states(&mut step, &mut ctx, &[5]), [Forcing]);
    assert_eq!(allowed(&mut step, &mut ctx), [7]);
    assert_eq!(states(&mut step, &mut ctx, &[7]), [Forcing]);
    assert_eq!(allowed(&mut step, &mut ctx), [8]);
    assert_eq!(states(&mut step, &mut ctx, &[8, 5]), [Done, Done]);
    assert_eq!(allowed(&mut step, &mut ctx).len(), 10);
}

/// As in llama-server, an earlier turn's reasoning in the prompt starts nothing, unless the step is told to look.
#[test]
fn the_prompt_starts_nothing() {
    for (sees_prompt, expected) in [(false, Idle), (true, Counting)] {
        let (step, mut ctx) = prepared(5);
        let mut step = ReasoningBudget { sees_prompt, ..step };
        for token in [1, 2] {
            ctx.history_mut().push_prompt(token);
            step.accept(token, &ctx);
        }
        assert_eq!(step.current(), expected);
    }
}

#[test]
fn an_end_of_its_own_is_enough() {
    let (mut step, mut ctx) = prepared(5);
    assert_eq!(states(&mut step, &mut ctx, &[1, 2, 5, 8, 5, 5, 5]), [Idle, Counting, Counting, Done, Done, Done, Done]);
}

#[test]
fn a_new_start_begins_a_new_budget() {
    let (mut step, mut ctx) = prepared(1);
    states(&mut step, &mut ctx, &[1, 2, 8]);
    assert_eq!(states(&mut step, &mut ctx, &[1, 2, 5]), [Done, Counting, Forcing]);
}

#[test]
fn budgets_of_nothing_and_without_limit() {
    let (mut step, mut ctx) = prepared(0);
    assert_eq!(states(&mut step, &mut ctx, &[1, 2]), [Idle, Forcing]);
    let (mut step, mut ctx) = prepared(-1);
    let after = states(&mut step, &mut ctx, &[&[1, 2][..], &[5; 1000]].concat());
    assert!(after[1..].iter().all(|state| *state == Counting));
    assert!(step.force() && !step.force());
    assert_eq!(allowed(&mut step, &mut ctx), [7]);
}

/// Where the budget ends inside a character, the forcing waits; the oracle's cases have vocabularies with such pieces.
#[test]
fn whole_characters_are_told_from_parts() {
    for (piece, whole) in [
        (&b""[..], true),
        (b"a", true),
        (b"\xc3", false),
        (b"\xc3\xa9", true),
        (b"a\xe2\x82", false),
        (b"\xe2\x82\xac", true),
        (b"\xf0\x9f\x98", false),
        (b"\xf0\x9f\x98\x80", true),
        (b"\xa9", false),
        (b"\xa9\xa9\xa9\xa9", false),
    ] {
        assert_eq!(ends_whole(piece), whole, "{piece:?}");
    }
}

#[test]
fn a_whole_character_lets_the_forcing_begin() {
    let words = ["a", "<", ">", "é"].map(String::from).to_vec();
    let mut ctx = Ctx::new(1).with_vocab(Arc::new(Words(words)));
    let mut step = ReasoningBudget::new([1], [2], 1);
    step.prepare(&ctx).unwrap();
    assert_eq!(states(&mut step, &mut ctx, &[1, 3]), [Counting, Forcing]);
}

#[test]
fn it_may_begin_anywhere() {
    for (state, budget, first) in
        [(Counting, 3, Counting), (Counting, 0, Forcing), (Forcing, 3, Forcing), (Done, 3, Done)]
    {
        let mut step = ReasoningBudget { state, ..ReasoningBudget::new([1], [8], budget) };
        step.prepare(&Ctx::new(1)).unwrap();
        assert_eq!(step.current(), first);
    }
}

#[test]
fn a_saved_state_goes_on() {
    let (mut step, mut ctx) = prepared(3);
    states(&mut step, &mut ctx, &[1, 2, 5]);
    let mut state = Vec::new();
    step.save(&mut state);
    let (mut other, _) = prepared(3);
    other.load(&mut StateReader::new(&state), &ctx).unwrap();
    assert_eq!(other, step);
    let error = other.load(&mut StateReader::new(&[9]), &ctx).unwrap_err().to_string();
    assert_eq!(error, "state: 9 is no state");
    for (state, expected) in [
        ([1, u64::MAX, 0, 0], "state: 18446744073709551615 is more than 2147483647"),
        ([1, 5, 9, 0], "state: 9 is more than 2"),
        ([1, 5, 0, 4], "state: a search among 4 tokens is of more than the 3 there are"),
    ] {
        let error = other.load(&mut StateReader::new(&state), &ctx).unwrap_err().to_string();
        assert_eq!(error, expected);
    }
}

#[test]
fn file() {
    round_trip(
        Box::new(ReasoningBudget::new([10, 11], [12], 1000).with_forced([13, 12])),
        r#"{"type":"reasoning_budget","start":[[10,11]],"end":[[12]],"forced":[13,12],"budget":1000}"#,
    );
    assert_eq!(refusal(ReasoningBudget::new([100], [1], 0)), "start: token 100 is beyond the vocabulary of 100 tokens");
    let error = serde_json::from_str::<ReasoningBudget>(r#"{"budget": -2}"#).unwrap_err().to_string();
    assert!(error.starts_with("invalid value: integer `-2`, expected 0 or more tokens, or -1 for no limit"), "{error}");
}
