//! `llama_sampler_copy` between samplers of one type that were made with other parameters: what stays, and what is taken over.
//! `compare_functions.py` asks the same of libllama.
//!
//! In the unsafe blocks samplers are alive and each test's own, as llama.h wants them.

mod common;

use common::{Owned, Row, dry};
use sampler_chain_dropin::abi::{LogitBias, Sampler};
use sampler_chain_dropin::chain::*;
use sampler_chain_dropin::init::*;
use sampler_chain_dropin::sampler::*;

fn logits() -> Vec<f32> {
    (0..64).map(|i| (i as f32 * 0.7).sin() * 4.0).collect()
}

/// Copies the state of one sampler to another.
fn copy(from: &Owned, to: &Owned) {
    unsafe { llama_sampler_copy(from.0, to.0) };
}

/// The bits of what it leaves of the row.
fn left(sampler: &Owned) -> Vec<(u32, u32)> {
    let mut row = Row::new(&logits());
    sampler.apply(&mut row);
    row.left().iter().map(|cand| (cand.id, cand.logit.to_bits())).collect()
}

fn draws(sampler: &Owned) -> Vec<u32> {
    (0..20).map(|_| sampler.draw(&logits())).collect()
}

#[test]
fn parameters_stay() {
    let bias = |bias| unsafe { llama_sampler_init_logit_bias(64, 1, &LogitBias { token: 5, bias }) };
    let pairs: [(*mut Sampler, *mut Sampler); 6] = [
        (llama_sampler_init_top_k(5), llama_sampler_init_top_k(9)),
        (llama_sampler_init_top_p(0.5, 0), llama_sampler_init_top_p(0.9, 0)),
        (llama_sampler_init_min_p(0.5, 0), llama_sampler_init_min_p(0.1, 0)),
        (llama_sampler_init_temp(0.5), llama_sampler_init_temp(2.0)),
        (llama_sampler_init_temp_ext(1.0, 0.5, 1.0), llama_sampler_init_temp_ext(1.0, 0.9, 2.0)),
        (bias(1.0), bias(-1.0)),
    ];
    for (from, to) in pairs.map(|(from, to)| (Owned(from), Owned(to))) {
        let (before, other) = (left(&to), left(&from));
        copy(&from, &to);
        assert_eq!(left(&to), before, "{}", to.name());
        assert_ne!(before, other, "{}", to.name());
    }
}

#[test]
fn a_generator_is_copied_and_the_seed_stays() {
    let [from, to, one, two] = [1, 2, 1, 2].map(|seed| Owned(llama_sampler_init_dist(seed)));
    draws(&from);
    copy(&from, &to);
    let seed = |sampler: &Owned| unsafe { llama_sampler_get_seed(sampler.0) };
    assert_eq!(seed(&to), 1);
    draws(&one);
    assert_eq!(draws(&to), draws(&one), "they draw on from where the first was");
    to.reset();
    assert_eq!((seed(&to), draws(&to)), (2, draws(&two)));
}

#[test]
fn others_are_taken_over_with_their_parameters() {
    let make: [fn(bool) -> *mut Sampler; 7] = [
        |b| llama_sampler_init_typical(if b { 0.3 } else { 0.9 }, 0),
        |b| llama_sampler_init_top_n_sigma(if b { 0.5 } else { 2.0 }),
        |b| llama_sampler_init_xtc(1.0, if b { 0.05 } else { 0.3 }, 0, b.into()),
        |b| llama_sampler_init_mirostat(64, b.into(), if b { 2.0 } else { 5.0 }, 0.1, 100),
        |b| llama_sampler_init_mirostat_v2(b.into(), if b { 2.0 } else { 5.0 }, 0.1),
        |b| llama_sampler_init_adaptive_p(if b { 0.3 } else { 0.6 }, 0.9, b.into()),
        |b| dry(if b { 0.8 } else { 2.0 }, 1.75, 1, 64, &[]),
    ];
    for make in make {
        let [from, same, to] = [true, true, false].map(|which| Owned(make(which)));
        let history = [1, 2, 3, 1, 2, 3, 1];
        for sampler in [&from, &same] {
            sampler.accept(&history);
        }
        copy(&from, &to);
        for again in [false, true] {
            let rows = (0..5).map(|_| (left(&to), left(&same)));
            rows.enumerate().for_each(|(i, (a, b))| assert_eq!(a, b, "{}, {i}, again {again}", to.name()));
            [&to, &same].into_iter().for_each(Owned::reset);
        }
    }
}

#[test]
fn penalties_take_over_the_tokens_alone() {
    let tokens = [1, 2, 2, 3, 4, 4, 4, 5];
    let strong = |last_n| Owned(llama_sampler_init_penalties(64, last_n, 2.0, 0.5, 0.25));
    let weak = |last_n| Owned(llama_sampler_init_penalties(64, last_n, 1.1, 0.0, 0.1));
    // The window is the same: the strength stays.
    let (from, to, expected) = (strong(4), weak(4), weak(4));
    to.accept(&[9, 9, 9]);
    for sampler in [&from, &expected] {
        sampler.accept(&tokens);
    }
    copy(&from, &to);
    assert_eq!(left(&to), left(&expected));
    for sampler in [&to, &expected] {
        sampler.accept(&[7, 1, 7]);
    }
    assert_eq!(left(&to), left(&expected), "it goes on");
    [&to, &expected].into_iter().for_each(Owned::reset);
    assert_eq!(left(&to), left(&expected), "nothing is left after a reset");
}

/// How often each of ten tokens counts: what it loses of a logit of 0 where each time costs 1.
fn counts(sampler: &Owned) -> Vec<f32> {
    let mut row = Row::new(&[0.0; 10]);
    sampler.apply(&mut row);
    row.left().iter().map(|cand| 0.0 - cand.logit).collect()
}

/// b11192's ring keeps the room that it had: what leaves the count is not what leaves the ring. The numbers are libllama's.
#[test]
fn another_window_leaves_another_room() {
    let make = |last_n| Owned(llama_sampler_init_penalties(10, last_n, 1.0, 1.0, 0.0));
    // A window of 2 with room for 4: token 1 is taken off once for each that comes, until it leaves the ring.
    let (from, to) = (make(4), make(2));
    from.accept(&[1, 2, 3]);
    copy(&from, &to);
    assert_eq!(counts(&to)[..6], [0.0, 1.0, 1.0, 1.0, 0.0, 0.0]);
    to.accept(&[4]);
    assert_eq!(counts(&to)[..6], [0.0, 0.0, 1.0, 1.0, 1.0, 0.0]);
    to.accept(&[5]);
    assert_eq!(counts(&to)[..6], [0.0, -1.0, 1.0, 1.0, 1.0, 1.0]);
    // A window of 4 with room for 2: nothing is taken off, after a reset neither.
    let (from, to) = (make(2), make(4));
    from.accept(&[1, 2, 3]);
    copy(&from, &to);
    assert_eq!(counts(&to)[..6], [0.0, 0.0, 1.0, 1.0, 0.0, 0.0]);
    let clone = to.copy();
    clone.reset();
    for sampler in [to, clone] {
        let before = counts(&sampler);
        sampler.accept(&[5; 9]);
        assert_eq!(counts(&sampler)[5], before[5] + 9.0);
        // The window's own room comes back with the tokens of one that has it.
        let same = make(4);
        same.accept(&[6; 9]);
        copy(&same, &sampler);
        sampler.accept(&[7]);
        assert_eq!(counts(&sampler)[5..8], [0.0, 3.0, 1.0]);
    }
}

/// Whatever it is that is switched off, it is one type, and takes the other's name.
#[test]
fn switched_off_samplers_are_one_type() {
    let (from, to) = (Owned(llama_sampler_init_top_k(0)), Owned(llama_sampler_init_min_p(0.0, 0)));
    copy(&from, &to);
    assert_eq!((from.name().as_str(), to.name().as_str()), ("?top-k", "?top-k"));
}

/// In chains each sampler goes to the one in its place, and whether time is taken goes with the chain.
#[test]
fn chains_copy_place_by_place() {
    let make = |k, seed| Owned::chain().add(llama_sampler_init_top_k(k)).add(llama_sampler_init_dist(seed));
    let (from, to, expected) = (make(5, 1), make(9, 2), make(9, 1));
    draws(&from);
    draws(&expected);
    copy(&from, &to);
    assert_eq!(left(&to).len(), 9);
    draws(&expected);
    to.reset();
    assert_eq!(draws(&to), draws(&make(9, 2)));
}
