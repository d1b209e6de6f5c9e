use std::sync::Arc;

use super::*;
use crate::core::StateReader;
use crate::testing::{Words, apply, refusal, round_trip, run};
use crate::{Dist, Dry, Greedy, LogitBias, Temperature, TopK, TopP, Xtc};

const NONE: f32 = f32::NEG_INFINITY;
const ROW: [f32; 4] = [2.0, 5.0, 4.5, 1.0];

fn chain(step: impl SamplerStep + 'static) -> Chain {
    Chain::new().with(step)
}

/// What people ask for: the newline is likely, and XTC leaves it.
#[test]
fn xtc_drops_others_and_not_these() {
    let xtc = || chain(Xtc::new(1.0, 0.1, 0));
    assert_eq!(run(&mut xtc(), &ROW, &[]).ids(), [2, 0, 3]);
    let left = run(&mut Protect::new([1], xtc()), &ROW, &[]);
    assert_eq!((left.ids(), left.logits(), left.sorted), (vec![2, 0, 3, 1], vec![4.5, 2.0, 1.0, 5.0], false));
}

#[test]
fn what_was_gone_or_masked_before_stays_so() {
    let mut chain = Chain::new().with(TopK { k: 3 }).with(Protect::new([3, 0], chain(TopK { k: 1 })));
    assert_eq!(run(&mut chain, &ROW, &[]).ids(), [1, 0]);
    let mut step = Protect::new([0, 1], Chain::new().with(TopK { k: 1 }));
    assert_eq!(run(&mut step, &[NONE, 1.0, 2.0], &[]).ids(), [2, 1]);
}

#[test]
fn each_step_sees_what_came_back() {
    let steps = Chain::new().with(TopK { k: 1 }).with(Temperature { temp: 0.5, ..Temperature::default() });
    let left = run(&mut Protect::new([3], steps), &ROW, &[]);
    assert_eq!((left.ids(), left.logits()), (vec![1, 3], vec![10.0, 2.0]));
}

#[test]
fn a_mask_is_undone_in_place_and_nothing_else() {
    let bans = LogitBias::new([(1, NONE), (2, NONE), (0, 1.0)]);
    let left = run(&mut Protect::new([1, 0], chain(bans)), &ROW, &[]);
    assert_eq!((left.ids(), left.logits()), (vec![0, 1, 2, 3], vec![3.0, 5.0, NONE, 1.0]));
}

#[test]
fn where_nothing_is_listed_or_left_nothing_panics() {
    assert_eq!(run(&mut Protect::new([], chain(TopK { k: 2 })), &ROW, &[]).ids(), [1, 2]);
    assert_eq!(run(&mut Protect::new([0], chain(TopK { k: 1 })), &[1.0], &[]).ids(), [0]);
    assert!(run(&mut Protect::new([0], chain(TopK { k: 1 })), &[], &[]).cands.is_empty());
    assert_eq!(run(&mut Protect::new([0], chain(TopK { k: 1 })), &[NONE, NONE], &[]).cands.len(), 1);
    let mut off = Protect::new([0], Chain::new().with(TopK { k: 0 }));
    assert!(off.is_off() && run(&mut off, &ROW, &[]).logits() == ROW);
}

#[test]
fn the_vocabulary_lists_ends_and_pieces() {
    let words = ["a", "</s>", "\n", "b", "\n"].map(String::from).to_vec();
    let mut ctx = Ctx::new(1).with_vocab(Arc::new(Words(words)));
    let mut step = Protect::new([3], chain(TopK { k: 1 })).with_eog().with_pieces(["\n"]);
    step.prepare(&ctx).unwrap();
    assert_eq!(apply(&mut step, &[9.0, 1.0, 2.0, 3.0, 4.0], &mut ctx).ids(), [0, 1, 2, 3, 4]);
    step.pieces.push("\t".into());
    let error = step.prepare(&ctx).unwrap_err().to_string();
    assert_eq!(error, "pieces: \"\\t\" is refused: no token is this text");
}

#[test]
fn generators_are_those_of_the_steps() {
    let mut step = Protect::new([1], chain(Xtc::new(0.5, 0.1, 0)));
    let mut ctx = Ctx::new(7);
    step.prepare(&ctx).unwrap();
    let mut draws = |step: &mut Protect| (0..9).map(|_| apply(step, &ROW, &mut ctx)).collect::<Vec<_>>();
    let first = draws(&mut step);
    let mut state = Vec::new();
    step.save(&mut state);
    let second = draws(&mut step);
    assert_ne!(first, second);
    step.load(&mut StateReader::new(&state), &Ctx::new(7)).unwrap();
    assert_eq!(draws(&mut step), second);
    step.reset(&Ctx::new(7));
    assert_eq!(draws(&mut step), first);
}

#[test]
fn steps_inside_are_found() {
    let mut found = 0;
    let mut outer = chain(Protect::new([1], chain(Chain::new().with(Dry::default()))));
    outer.visit_mut(&mut |_: &mut Dry| found += 1);
    outer.visit(&mut |_: &Dry| found += 1);
    assert_eq!(found, 2);
}

#[test]
fn file() {
    let step = Protect::new([13], chain(TopK { k: 2 })).with_eog().with_pieces(["\n"]);
    let json = r#"{"type":"protect","tokens":[13],"eog":true,"pieces":["\n"],"steps":[{"type":"top_k","k":2}]}"#;
    round_trip(Box::new(step.clone()), json);
    assert_eq!(refusal(step), "eog: needs a vocabulary, and there is none: tokens takes their ids");
    assert_eq!(refusal(Protect::new([100], Chain::new())), "tokens: token 100 is beyond the vocabulary of 100 tokens");
    for selects in [chain(Greedy {}), chain(Chain::new().with(Dist::default()))] {
        let error = refusal(Protect::new([], selects));
        assert!(error.ends_with("is refused: what selects the token stands behind"), "{error}");
    }
    let error = refusal(Protect::new([], chain(TopP { p: f32::NAN, min_keep: 0 })));
    assert_eq!(error, "steps: step 1 (top_p): p: NaN is refused: a number is wanted");
    let needs = refusal(Protect::new([], chain(Dry::new(0.8, 1.75, 2, 64).with_breakers(["x"]))));
    assert_eq!(needs, "breakers: needs a vocabulary, and there is none: breaker_tokens takes them as tokens");
}
