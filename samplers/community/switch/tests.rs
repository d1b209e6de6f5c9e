use super::*;
use crate::core::StateReader;
use crate::testing::{apply, refusal, round_trip};
use crate::{Dist, Dry, Greedy, LogitBias, Penalties, Temperature, TopK, TopP, Xtc};

/// The first chain draws 0, the second 1.
fn zeros_and_ones(after: &[u32]) -> Switch {
    let ones = Chain::new().with(LogitBias::new([(1, 9.0)])).with(Greedy {});
    Switch::new(after, Chain::new().with(Greedy {}), ones)
}

fn with_back(step: Switch, back: &[u32]) -> Switch {
    Switch { back: vec![back.to_vec()], ..step }
}

fn shared(step: Switch) -> Switch {
    Switch { generators: Generators::Shared, ..step }
}

fn push(step: &mut dyn SamplerStep, ctx: &mut Ctx, token: u32, is_prompt: bool) {
    if is_prompt {
        ctx.history_mut().push_prompt(token)
    } else {
        ctx.history_mut().push(token)
    }
    step.accept(token, ctx);
}

/// Draws and accepts tokens.
fn draws(step: &mut dyn SamplerStep, ctx: &mut Ctx, row: &[f32], n: usize) -> Vec<u32> {
    let one = |_| {
        let left = apply(step, row, ctx);
        let token = left.cands[left.selected.unwrap()].id;
        push(step, ctx, token, false);
        token
    };
    (0..n).map(one).collect()
}

fn prepared(mut step: Switch) -> (Switch, Ctx) {
    let ctx = Ctx::new(42);
    step.prepare(&ctx).unwrap();
    (step, ctx)
}

const ROW: [f32; 4] = [2.0, 1.0, 0.5, 0.0];

#[test]
fn there_and_back_and_there_again() {
    let (mut step, mut ctx) = prepared(with_back(zeros_and_ones(&[0, 0]), &[1, 1, 1]));
    assert_eq!(draws(&mut step, &mut ctx, &ROW, 12), [0, 0, 1, 1, 1, 0, 0, 1, 1, 1, 0, 0]);
    step.reset(&Ctx::new(42));
    assert!(!step.is_second());
}

/// A sequence begins behind the last switch: what led there does not lead back at once.
#[test]
fn sequences_do_not_overlap() {
    let (mut step, mut ctx) = prepared(with_back(zeros_and_ones(&[0, 0]), &[0, 0]));
    let mut runs = |token| {
        push(&mut step, &mut ctx, token, false);
        step.is_second()
    };
    assert_eq!([0, 0, 0, 5, 0, 0, 0, 0].map(&mut runs), [false, true, true, true, true, false, false, true]);
}

#[test]
fn the_prompt_switches_where_it_is_to() {
    for (sees_prompt, expected) in [(false, [false; 4]), (true, [false, true, true, false])] {
        let step = Switch { sees_prompt, ..with_back(zeros_and_ones(&[7, 8]), &[9]) };
        let (mut step, mut ctx) = prepared(step);
        let runs = [7, 8, 3, 9].map(|token| {
            push(&mut step, &mut ctx, token, true);
            step.is_second()
        });
        assert_eq!(runs, expected, "{sees_prompt}");
    }
    let (mut step, mut ctx) = prepared(zeros_and_ones(&[7, 8]));
    for (token, is_prompt) in [(7, true), (8, false), (7, false), (1, true), (8, false)] {
        push(&mut step, &mut ctx, token, is_prompt);
        assert!(!step.is_second(), "a sequence that is half a prompt's");
    }
    push(&mut step, &mut ctx, 7, false);
    push(&mut step, &mut ctx, 8, false);
    assert!(step.is_second());
}

#[test]
fn both_chains_are_told_every_token() {
    let penalised = || Chain::new().with(Penalties::new(64, 1.0, 2.0, 0.0)).with(Greedy {});
    let (mut step, mut ctx) = prepared(with_back(Switch::new([1], penalised(), penalised()), &[2]));
    let (mut plain, mut plain_ctx) = (penalised(), Ctx::new(42));
    plain.prepare(&plain_ctx).unwrap();
    assert_eq!(draws(&mut step, &mut ctx, &ROW, 20), draws(&mut plain, &mut plain_ctx, &ROW, 20));
}

fn drawing() -> Chain {
    Chain::new().with(Xtc::new(0.5, 0.2, 0)).with(Chain::new().with(Dist::default()))
}

/// Two equal chains that share their generators are one chain.
#[test]
fn equal_chains_with_shared_generators_draw_as_one() {
    let (mut step, mut ctx) = prepared(shared(with_back(Switch::new([1], drawing(), drawing()), &[0])));
    let (mut plain, mut plain_ctx) = (drawing(), Ctx::new(42));
    plain.prepare(&plain_ctx).unwrap();
    let drawn = draws(&mut step, &mut ctx, &ROW, 200);
    assert_eq!(drawn, draws(&mut plain, &mut plain_ctx, &ROW, 200));
    assert!(drawn.contains(&0) && drawn.contains(&1));
}

/// What the answer draws does not depend on how long the thinking was.
#[test]
fn separate_generators_begin_with_the_seed() {
    let after = |n: usize| {
        let (mut step, mut ctx) = prepared(Switch::new([9], drawing(), drawing()));
        draws(&mut step, &mut ctx, &ROW, n);
        push(&mut step, &mut ctx, 9, false);
        assert!(step.is_second());
        draws(&mut step, &mut ctx, &ROW, 30)
    };
    assert_eq!(after(3), after(17));
    let (mut plain, mut ctx) = (drawing(), Ctx::new(42));
    plain.prepare(&ctx).unwrap();
    assert_eq!(after(5), draws(&mut plain, &mut ctx, &ROW, 30));
}

#[test]
fn a_saved_state_goes_on() {
    for generators in [Generators::Separate, Generators::Shared] {
        let step = Switch { generators, ..with_back(Switch::new([1], drawing(), drawing()), &[0]) };
        let (mut step, mut ctx) = prepared(step);
        for _ in 0..12 {
            draws(&mut step, &mut ctx, &ROW, 1);
            let (mut state, mut copy, at) = (Vec::new(), step.clone(), ctx.clone());
            step.save(&mut state);
            let (mut other, _) = prepared(step.clone());
            let mut reader = StateReader::new(&state);
            other.load(&mut reader, &at).unwrap();
            assert!(reader.is_done());
            let expected = draws(&mut copy, &mut at.clone(), &ROW, 20);
            assert_eq!(draws(&mut other, &mut at.clone(), &ROW, 20), expected);
        }
    }
    let (mut step, ctx) = prepared(zeros_and_ones(&[1]));
    let error = step.load(&mut StateReader::new(&[1, 2]), &ctx).unwrap_err().to_string();
    assert_eq!(error, "state: a search among 2 tokens is of more than the 0 there are");
}

#[test]
fn chains_that_only_change_do_not_select() {
    let temperature = |temp| Chain::new().with(Temperature { temp, ..Temperature::default() });
    let (mut step, mut ctx) = prepared(Switch::new([3], temperature(0.5), temperature(1.0)));
    assert!(!step.selects() && !step.is_off());
    assert_eq!(apply(&mut step, &ROW, &mut ctx).logits(), [4.0, 2.0, 1.0, 0.0]);
    push(&mut step, &mut ctx, 3, false);
    assert_eq!(apply(&mut step, &ROW, &mut ctx).logits(), ROW);
    assert!(Switch::default().is_off() && Switch::new([1], temperature(1.0), Chain::new()).is_off());
    assert!(apply(&mut step, &[], &mut ctx).cands.is_empty());
}

/// A vocabulary's breakers, and whoever talks to a running step, reach both chains.
#[test]
fn steps_of_both_chains_are_found() {
    let dry = || Chain::new().with(Dry::default());
    let mut found = 0;
    Chain::new().with(Switch::new([1], dry(), dry())).visit_mut(&mut |_: &mut Dry| found += 1);
    assert_eq!(found, 2);
}

#[test]
fn file_and_refusals() {
    let chain = |step: Box<dyn SamplerStep>| Chain::from(vec![step]);
    let (greedy, top_k) = (|| chain(Box::new(Greedy {})), || chain(Box::new(TopK { k: 2 })));
    round_trip(
        Box::new(Switch::new([10, 11], greedy(), greedy())),
        r#"{"type":"switch","after":[[10,11]],"back":[],"generators":"separate","sees_prompt":false,"first":[{"type":"greedy"}],"second":[{"type":"greedy"}]}"#,
    );
    let step = shared(with_back(Switch::new([1], greedy(), greedy()), &[2]));
    round_trip(
        Box::new(Switch { sees_prompt: true, ..step }),
        r#"{"type":"switch","after":[[1]],"back":[[2]],"generators":"shared","sees_prompt":true,"first":[{"type":"greedy"}],"second":[{"type":"greedy"}]}"#,
    );
    for (step, expected) in [
        (Switch::new([100], greedy(), greedy()), "after: token 100 is beyond the vocabulary of 100 tokens"),
        (
            with_back(Switch::new([1], greedy(), greedy()), &[]),
            "back: [] is refused: a sequence has at least one token",
        ),
        (
            Switch::new([1], greedy(), top_k()),
            "second: is refused beside first: one of them selects the token, and the other does not",
        ),
        (
            Switch::new([1], greedy(), greedy().with(TopK { k: 2 })),
            "second: step 2 (top_k) follows step 1 (greedy), which selects the token and must be the last",
        ),
        (
            Switch::new([1], Chain::new().with(TopP { p: f32::NAN, min_keep: 0 }), top_k()),
            "first: step 1 (top_p): p: NaN is refused: a number is wanted",
        ),
        (
            Switch::new([1], Chain::new().with(Dry::new(0.8, 1.75, 2, 64).with_breakers(["x"])), top_k()),
            "breakers: needs a vocabulary, and there is none: breaker_tokens takes them as tokens",
        ),
    ] {
        assert_eq!(refusal(step), expected);
    }
}

mod nested;
