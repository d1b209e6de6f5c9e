//! One generator for all the chains of switches inside switches.

use super::*;
use crate::MirostatV2;
use crate::community::Protect;

/// Eight tokens that are all likely.
const EVEN: [f32; 8] = [0.9, 1.0, 0.8, 0.7, 1.1, 0.6, 0.5, 1.2];

fn leaf() -> Chain {
    Chain::new().with(Xtc::new(0.5, 0.1, 0)).with(Dist::default())
}

/// The same step in other steps.
fn wrapped() -> Chain {
    let xtc = Protect::new([], Chain::new().with(Chain::new().with(Xtc::new(0.5, 0.1, 0))));
    Chain::new().with(Chain::new().with(xtc)).with(Chain::new().with(Dist::default()))
}

fn of(after: u32, back: u32, first: Chain, second: Chain) -> Switch {
    shared(with_back(Switch::new([after], first, second), &[back]))
}

/// Trees whose every chain draws alike. The token 2 leads both on.
fn trees() -> Vec<Switch> {
    let inner = || Chain::new().with(of(2, 3, leaf(), wrapped()));
    let both = || Chain::new().with(Switch { after: vec![vec![2], vec![5]], ..of(2, 3, wrapped(), leaf()) });
    vec![
        of(1, 0, inner(), leaf()),
        of(1, 0, wrapped(), inner()),
        of(2, 0, both(), wrapped()),
        of(2, 0, leaf(), both()),
        of(1, 0, inner(), both()),
        of(1, 2, Chain::new().with(of(4, 5, inner(), leaf())), Chain::new().with(Chain::new().with(both()))),
    ]
}

/// Which switches run their second chain.
fn sides(step: &Switch) -> Vec<bool> {
    let mut found = vec![step.is_second()];
    for (_, chain) in step.chains() {
        chain.visit(&mut |inner: &Switch| found.push(inner.is_second()));
    }
    found
}

#[test]
fn every_tree_draws_as_one_chain() {
    for tree in trees() {
        let (mut plain, mut plain_ctx) = (leaf(), Ctx::new(42));
        plain.prepare(&plain_ctx).unwrap();
        let expected = draws(&mut plain, &mut plain_ctx, &EVEN, 400);
        let (mut step, mut ctx) = prepared(tree);
        let mut changes = std::collections::BTreeSet::new();
        for (i, token) in expected.iter().enumerate() {
            let before = sides(&step);
            if i % 7 == 0 {
                // A copy, and one that was saved and loaded, go on as it does.
                let (mut state, ahead) = (Vec::new(), &expected[i..expected.len().min(i + 30)]);
                step.save(&mut state);
                let (mut loaded, _) = prepared(step.clone());
                loaded.load(&mut StateReader::new(&state), &ctx).unwrap();
                for mut copy in [step.clone(), loaded] {
                    assert_eq!(draws(&mut copy, &mut ctx.clone(), &EVEN, ahead.len()), ahead);
                }
            }
            assert_eq!(draws(&mut step, &mut ctx, &EVEN, 1), [*token], "{i} {before:?} {step:?}");
            if before[0] != step.is_second() {
                changes.insert((before, sides(&step)));
            }
        }
        // The outer one has changed to and fro, the inner ones in every state.
        assert!(changes.iter().any(|(before, _)| before[0]) && changes.iter().any(|(before, _)| !before[0]));
        for inner in 1..sides(&step).len() {
            let states = |second| changes.iter().any(|(before, _)| before[inner] == second);
            assert!(states(true) && states(false), "{changes:?}");
        }
        step.reset(&Ctx::new(42));
        assert_eq!(draws(&mut step, &mut Ctx::new(42), &EVEN, 400), expected);
    }
}

/// A step that not every chain has goes on from its last draw, wherever that was.
#[test]
fn no_number_is_drawn_twice() {
    let dist = || Chain::new().with(Dist::default());
    for is_inner_first in [true, false] {
        let inner = || Chain::new().with(of(2, 3, dist(), leaf()));
        let (first, second) = if is_inner_first { (inner(), leaf()) } else { (leaf(), inner()) };
        let (mut step, mut ctx) = prepared(of(1, 0, first, second));
        let mut n_xtc = 0;
        for n in 1..=300 {
            let sides = sides(&step);
            n_xtc += u64::from(sides[0] == is_inner_first || sides[1]);
            draws(&mut step, &mut ctx, &EVEN, 1);
            let (mut xtc, mut dist) = (0, 0);
            for chain in step.chains_mut() {
                chain.visit_mut(&mut |step: &mut Xtc| xtc = xtc.max(step.generator().unwrap().taken()));
                chain.visit_mut(&mut |step: &mut Dist| dist = dist.max(step.generator().unwrap().taken()));
            }
            assert_eq!((xtc, dist), (n_xtc, 2 * n));
        }
        assert!(n_xtc > 50 && n_xtc < 250, "{n_xtc}");
    }
}

/// A switch that does not share around one that does keeps its chains apart.
#[test]
fn separate_around_shared_is_separate() {
    let inner = || Chain::new().with(of(2, 3, leaf(), leaf()));
    let (mut step, mut ctx) = prepared(Switch::new([1], inner(), inner()));
    draws(&mut step, &mut ctx, &EVEN, 1);
    push(&mut step, &mut ctx, 1, false);
    assert!(step.is_second());
    let (mut plain, mut plain_ctx) = (leaf(), Ctx::new(42));
    plain.prepare(&plain_ctx).unwrap();
    assert_eq!(draws(&mut step, &mut ctx, &EVEN, 50), draws(&mut plain, &mut plain_ctx, &EVEN, 50));
}

/// No generator is one with two that differ.
#[test]
fn separate_inside_shared_is_refused_by_its_place() {
    let apart = |first: Chain, second: Chain| Chain::new().with(Switch::new([1], first, second));
    let around = |inner: Chain| of(1, 0, leaf(), inner);
    let tail =
        "keeps the generators of its chains apart, and the chains around it share theirs: it must share its own, too";
    assert_eq!(refusal(around(apart(leaf(), leaf()))), format!("second: step 1 (switch) {tail}"));
    let mirostat = || Chain::new().with(MirostatV2::default());
    let deep = apart(mirostat(), Chain::new().with(TopK { k: 2 }).with(apart(leaf(), leaf())));
    assert_eq!(refusal(around(deep)), format!("second: step 1.second.2.1 (switch) {tail}"));
    let xtc = || Chain::new().with(Xtc::new(0.5, 0.1, 0));
    let protected = Chain::new().with(Chain::new().with(Protect::new([1], apart(xtc(), xtc())))).with(Dist::default());
    assert_eq!(refusal(around(protected)), format!("second: step 1.1.1 (switch) {tail}"));
    // Where one of its chains alone draws, nothing is kept apart.
    for harmless in
        [apart(xtc(), Chain::new()).with(Dist::default()), apart(mirostat(), Chain::new().with(Dist::default()))]
    {
        around(harmless).prepare(&Ctx::new(1)).unwrap();
    }
}
