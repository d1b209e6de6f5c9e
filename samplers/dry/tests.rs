use super::*;
use crate::testing::{after_sort, refusal, round_trip, run};

/// The step over token breakers.
fn dry(multiplier: f32, base: f32, allowed_length: i32, last_n: i32, breakers: &[&[u32]]) -> Dry {
    let tokens: Vec<Vec<u32>> = breakers.iter().map(|breaker| breaker.to_vec()).collect();
    Dry::new(multiplier, base, allowed_length, last_n).with_breaker_tokens(tokens)
}

/// What each of ten tokens loses.
fn losses(mut step: Dry, history: &[u32]) -> Vec<f32> {
    run(&mut step, &[0.0; 10], history).logits().iter().map(|logit| 0.0 - logit).collect()
}

#[test]
fn the_token_after_an_earlier_copy_is_penalised() {
    // The window ends with 1 2 3, which stood before 3 (as 1 2 3 3) and, in parts, elsewhere.
    let lost = losses(dry(1.0, 2.0, 2, 64, &[]), &[1, 2, 3, 3, 2, 3, 9, 1, 2, 3]);
    assert_eq!(lost[3], 2.0, "1 2 3 was followed by 3: a repetition of 3, one beyond the allowed length");
    assert_eq!(lost[9], 1.0, "2 3 was followed by 9: a repetition of 2");
    assert_eq!(lost.iter().filter(|loss| **loss != 0.0).count(), 2);
}

#[test]
fn a_breaker_ends_the_repetition() {
    let history = [1, 2, 3, 4, 1, 2, 3];
    assert_eq!(losses(dry(1.0, 2.0, 2, 64, &[]), &history)[4], 2.0);
    assert_eq!(losses(dry(1.0, 2.0, 2, 64, &[&[1]]), &history)[4], 1.0);
    assert_eq!(losses(dry(1.0, 2.0, 2, 64, &[&[2]]), &history)[4], 0.0);
    // A breaker of two tokens counts from its end; 1 alone is none.
    assert_eq!(losses(dry(1.0, 2.0, 1, 64, &[&[1, 2]]), &history)[4], 1.0);
    assert_eq!(losses(dry(1.0, 2.0, 2, 64, &[&[1, 9]]), &history)[4], 2.0);
}

#[test]
fn a_breaker_of_one_token_is_never_penalised() {
    let history = [1, 2, 3, 4, 1, 2, 3];
    assert_eq!(losses(dry(1.0, 2.0, 2, 64, &[&[4]]), &history), [0.0; 10]);
    assert_eq!(losses(dry(1.0, 2.0, 2, 64, &[&[4, 5]]), &history)[4], 2.0);
}

#[test]
fn the_window_is_the_last_n() {
    let history = [1, 2, 3, 4, 1, 2, 3];
    assert_eq!(losses(dry(1.0, 2.0, 2, 6, &[]), &history)[4], 1.0);
    assert_eq!(losses(dry(1.0, 2.0, 2, 4, &[]), &history)[4], 0.0);
}

/// The exponent is held below the logarithm of the largest f32. At a base of 2 that is one too many, in llama.cpp, too:
/// the oracle's case user_cases/dry/base-2 shows it.
#[test]
fn the_exponent_is_limited() {
    let lost = |base| losses(dry(1.0, base, 2, i32::MAX, &[]), &[5; 1000])[5];
    assert_eq!(lost(3.0), 3f64.powi(80) as f32);
    assert_eq!(lost(2.0), f32::INFINITY);
    // At a base of 1 nothing grows, and there is no limit.
    assert_eq!(lost(1.0), 1.0);
    assert_eq!(88.722_84f32, 88.722_839_1f64 as f32, "llama.cpp's constant");
}

/// A naive twin: for each distance, compare token by token.
#[test]
fn repeats_are_those_of_the_naive_twin_where_nothing_is_cut() {
    let mut seed = 7u32;
    let mut repeats = Vec::new();
    for n in 0..60usize {
        for alphabet in 1..4 {
            let window: Vec<u32> = (0..n)
                .map(|_| {
                    seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    (seed >> 16) % alphabet
                })
                .collect();
            suffix_repeats(&window, i32::MAX, &mut repeats);
            let reversed: Vec<u32> = window.iter().rev().copied().collect();
            for k in 1..n {
                let naive = (0..n - k).take_while(|&i| reversed[i] == reversed[i + k]).count();
                assert_eq!(repeats[k] as usize, naive, "{window:?} at {k}");
            }
        }
    }
}

/// A million identical tokens take linear time.
#[test]
fn a_long_run_of_one_token_is_linear() {
    let (window, mut repeats) = (vec![5u32; 1_000_000], Vec::new());
    let start = std::time::Instant::now();
    suffix_repeats(&window, i32::MAX, &mut repeats);
    // It takes milliseconds. A search that is quadratic compares 5 * 10^11 tokens: minutes, on any machine.
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}

/// User case 20: 0 is off, and so are a multiplier of 0 and a base below 1; `sorted` stays then.
#[test]
fn case_20_what_is_off() {
    for step in [dry(0.0, 1.75, 2, 64, &[]), dry(0.8, 0.99, 2, 64, &[]), dry(0.8, 1.75, 2, 0, &[])] {
        assert!(step.is_off());
        assert!(run(&mut after_sort(step), &[0.0; 10], &[5; 9]).sorted);
    }
}

#[test]
fn clears_sorted_once_the_history_is_long_enough() {
    let step = || after_sort(dry(0.8, 1.75, 2, 64, &[]));
    assert!(run(&mut step(), &[0.0; 10], &[1, 2]).sorted);
    assert!(!run(&mut step(), &[0.0; 10], &[1, 2, 3]).sorted);
    assert!(run(&mut after_sort(dry(0.8, 1.75, 2, 64, &[&[3]])), &[0.0; 10], &[1, 2, 3]).sorted);
}

#[test]
fn file() {
    round_trip(
        Box::new(Dry::new(0.8, 1.75, 2, 64).with_breakers(["\n"])),
        r#"{"type":"dry","multiplier":0.8,"base":1.75,"allowed_length":2,"last_n":64,"breakers":["\n"]}"#,
    );
    round_trip(
        Box::new(dry(0.8, 1.75, 2, 64, &[&[1, 2]])),
        r#"{"type":"dry","multiplier":0.8,"base":1.75,"allowed_length":2,"last_n":64,"breaker_tokens":[[1,2]]}"#,
    );
}

#[test]
fn refusals() {
    assert_eq!(
        refusal(dry(0.8, 1.75, 2, 64, &[&[1, 100]])),
        "breaker_tokens: token 100 is beyond the vocabulary of 100 tokens"
    );
    let texts = Dry::new(0.8, 1.75, 2, 64).with_breakers(["\n"]);
    assert_eq!(
        refusal(texts.clone()),
        "breakers: needs a vocabulary, and there is none: breaker_tokens takes them as tokens"
    );
    assert_eq!(
        refusal(texts.with_breaker_tokens([])),
        "breaker_tokens: is refused beside breakers: they say the same in two ways"
    );
    assert_eq!(refusal(Dry::new(f32::NAN, 1.75, 2, 64)), "multiplier: NaN is refused: a number is wanted");
}
