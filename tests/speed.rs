//! What must not get slow: measured only in release, where the bounds mean something.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use sampler_chain::steps::{Dry, Greedy};
use sampler_chain::{Chain, Ctx, Params, Sampler, Synthetic, SyntheticKind};

/// The median of nine runs, and in debug one run without a bound. One at a time, so that tests do not time each other.
fn median(mut run: impl FnMut()) -> Duration {
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
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

/// A text's tokens: few of them often, and thousands now and then.
fn text(n: usize) -> Vec<u32> {
    let mut rng = sampler_chain::Mt19937::new(5);
    (0..n).map(|_| (rng.uniform().powi(6) * 20_000.0) as u32).collect()
}

/// What a draw from a row of 151,669 costs with these parameters after 32,768 tokens.
fn draw_after_a_long_text(params: &Params) -> Duration {
    let row = Synthetic { kind: SyntheticKind::Peaked, seed: 1, n_vocab: 151_669, rows: 1 }.row(0);
    let mut sampler = Sampler::new(Params { seed: 1, ..params.clone() }).unwrap();
    sampler.accept_prompt_all(&text(32_768)).unwrap();
    median(|| {
        let token = sampler.sample(&row).unwrap();
        sampler.accept(token).unwrap();
    })
}

/// The aim is 1.5 times, for 8,000 different tokens, and is met on a core that does nothing else.
#[test]
fn penalties_grow_little_with_the_history() {
    let penalties = Params { repeat_penalty: 1.1, ..Params::default() };
    let short = draw_after_a_long_text(&Params { repeat_last_n: 64, ..penalties.clone() });
    let long = draw_after_a_long_text(&Params { repeat_last_n: 32_768, ..penalties });
    println!("64: {short:?}, 32768: {long:?}");
    assert_within(long, short * 5 / 2);
}

/// `cargo test --release --test speed two_threads -- --ignored --nocapture`
#[test]
#[ignore = "needs two cores that do nothing else"]
fn two_threads_do_the_work_of_two() {
    const N_DRAWS: usize = 20_000;
    let row = Synthetic { kind: SyntheticKind::Peaked, seed: 1, n_vocab: 151_669, rows: 1 }.row(0);
    let work = |row: &[f32]| {
        let row = row.to_vec();
        let mut sampler = Sampler::new(Params { seed: 1, ..Params::default() }).unwrap();
        (0..N_DRAWS).for_each(|_| {
            let token = sampler.sample(&row).unwrap();
            sampler.accept(token).unwrap();
        });
    };
    let time = |n_threads: usize| {
        let start = Instant::now();
        std::thread::scope(|scope| (0..n_threads).for_each(|_| drop(scope.spawn(|| work(&row)))));
        start.elapsed()
    };
    let (one, two) = (time(1), time(2));
    let gain = 2.0 * one.as_secs_f64() / two.as_secs_f64();
    println!("one: {one:?}, two: {two:?}, {gain:.2} times the work");
    assert!(gain >= 1.8, "{gain}");
}

#[test]
fn dry_is_quick_over_32768_tokens() {
    let dry =
        Params { dry_multiplier: 0.8, dry_penalty_last_n: 32_768, dry_breakers: Some(Vec::new()), ..Params::default() };
    let time = draw_after_a_long_text(&dry);
    println!("{time:?}");
    // The aim is 150 µs, and is met on a core that does nothing else.
    assert_within(time, Duration::from_micros(300));
}

/// A vocabulary of 151,669 pieces like a model's: words with and without a space before them.
#[derive(Debug)]
struct ManyPieces(Vec<Vec<u8>>);

impl sampler_chain::Vocab for ManyPieces {
    fn n_tokens(&self) -> usize {
        self.0.len()
    }

    fn piece(&self, id: u32) -> &[u8] {
        &self.0[id as usize]
    }

    fn is_eog(&self, _: u32) -> bool {
        false
    }

    fn eot(&self) -> Option<u32> {
        None
    }

    fn eos(&self) -> Option<u32> {
        None
    }

    fn encode(&self, text: &[u8]) -> Result<Vec<u32>, sampler_chain::EncodeError> {
        Ok(text.iter().map(|&byte| byte.into()).collect())
    }
}

/// User case 22: 40 breakers over 151,669 pieces are prepared once, and shared.
#[test]
fn case_22_breakers_are_prepared_once() {
    let smollm2 = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("testing/data/smollm2-vocab.bin.gz");
    let smollm2 = sampler_chain::VocabFile::read(&smollm2).unwrap();
    let pieces = (0..151_669u32).map(|id| sampler_chain::Vocab::piece(&smollm2, id % 49_152).to_vec()).collect();
    let vocab: std::sync::Arc<dyn sampler_chain::Vocab> = std::sync::Arc::new(ManyPieces(pieces));
    let breakers: Vec<String> = ["\n", ":", "\"", "*", "\n\n", "###", "<|im_end|>", "Assistant:", "jack", "black"]
        .into_iter()
        .map(String::from)
        .chain((0..30).map(|i| format!("Name {i}:")))
        .collect();
    assert_eq!(breakers.len(), 40);
    let time = || {
        let start = Instant::now();
        let table = sampler_chain::dry_breakers(&vocab, &breakers).unwrap();
        (table, start.elapsed())
    };
    let (first, first_time) = time();
    // The shortest of a few, since the machine may be busy.
    let (second, second_time) = (0..5).map(|_| time()).min_by_key(|(_, time)| *time).unwrap();
    assert!(std::sync::Arc::ptr_eq(&first, &second) && !first.is_empty());
    println!("40 breakers over 151,669 pieces: {first_time:?}, then {second_time:?}");
    assert_within(first_time, Duration::from_millis(300));
    assert_within(second_time, Duration::from_millis(1));
}
