//! What must not get slow: measured only in release, where the bounds mean something.

use std::time::{Duration, Instant};

use sampler_chain::steps::{Dry, Greedy};
use sampler_chain::{Chain, Ctx, Params, Sampler, Synthetic, SyntheticKind};

/// The median of nine runs, and in debug one run without a bound.
fn median(mut run: impl FnMut()) -> Duration {
    let n = if cfg!(debug_assertions) { 1 } else { 9 };
    let mut times: Vec<Duration> = (0..n)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed()
        })
        .collect();
    times.sort();
    times[times.len() / 2]
}

fn assert_within(time: Duration, bound: Duration) {
    assert!(cfg!(debug_assertions) || time < bound, "{time:?}, and the bound is {bound:?}");
}

#[test]
fn the_default_chain_over_151669_candidates() {
    let row = Synthetic { kind: SyntheticKind::Peaked, seed: 1, n_vocab: 151_669, rows: 1 }.row(0);
    let mut sampler = Sampler::new(Params { seed: 1, ..Params::default() }).unwrap();
    let time = median(|| {
        sampler.sample(&row).unwrap();
    });
    assert_within(time, Duration::from_millis(3));
}

#[test]
fn dry_over_100000_identical_tokens_is_linear() {
    let time = |n: usize| {
        let dry = Dry::new(0.8, 1.75, 2, i32::MAX).with_breaker_tokens([vec![1]]);
        let mut sampler = Sampler::from_chain(Chain::new().with(dry).with(Greedy {}), Ctx::new(1)).unwrap();
        (0..n).for_each(|_| sampler.accept_prompt(5).unwrap());
        median(|| {
            sampler.sample(&[1.0; 8]).unwrap();
        })
    };
    let (short, long) = (time(100_000), time(400_000));
    assert_within(short, Duration::from_millis(10));
    assert_within(long, short * 12 + Duration::from_millis(1));
}
