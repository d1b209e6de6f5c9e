//! Many cases on some threads.

use std::cell::Cell;
use std::ffi::{CStr, c_char};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::case::Case;
use crate::generate::Generator;
use crate::run::{Difference, run_caught};
use crate::step::{Build, Oracle};
use crate::tally::Tally;

/// Cases that a thread takes at a time.
const CHUNK: u64 = 64;

/// Which cases are to run.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// The seed of the cases.
    pub seed: u64,
    /// The number of the first.
    pub from: u64,
    /// How many.
    pub cases: u64,
    /// How many threads.
    pub jobs: usize,
    /// After so many differences no more cases begin.
    pub most: usize,
}

/// A case that differs.
#[derive(Debug, Clone)]
pub struct Found {
    /// Its number.
    pub number: u64,
    /// What it is.
    pub case: Case,
    /// Where the sides part.
    pub difference: Difference,
}

thread_local! {
    /// Seed and number of the case that this thread runs.
    static CURRENT: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

/// Says which case it was when ggml ends the process.
extern "C" fn say_which(text: *const c_char) {
    let (seed, number) = CURRENT.get();
    #[expect(unsafe_code, reason = "a C string comes from ggml")]
    // SAFETY: ggml gives a C string that lives during the call.
    let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
    eprintln!(
        "ggml ends the process in case {number} of seed {seed} (--seed {seed} --from {number} --cases 1): {text}"
    );
}

/// Runs the cases of a plan. `done` is told how many more are done.
pub fn sweep(
    oracle: &Oracle,
    generator: &Generator,
    build: &Build,
    plan: Plan,
    done: impl Fn(u64) + Sync,
) -> (Tally, Vec<Found>) {
    oracle.library().on_abort(say_which);
    let next = AtomicU64::new(plan.from);
    let end = plan.from + plan.cases;
    let all = Mutex::new((Tally::default(), Vec::<Found>::new()));
    let work = || {
        let mut tally = Tally::default();
        loop {
            let from = next.fetch_add(CHUNK, Ordering::Relaxed);
            let enough = all.lock().is_ok_and(|all| all.1.len() >= plan.most);
            if from >= end || enough {
                break;
            }
            let to = (from + CHUNK).min(end);
            for number in from..to {
                CURRENT.set((plan.seed, number));
                let (case, left_out) = generator.case(plan.seed, number);
                let outcome = run_caught(oracle, &case, build);
                tally.add(&case, &left_out, &outcome);
                if let Some(difference) = outcome.difference().cloned()
                    && let Ok(mut all) = all.lock()
                {
                    all.1.push(Found { number, case, difference });
                }
            }
            done(to - from);
        }
        if let Ok(mut all) = all.lock() {
            all.0.merge(tally);
        }
    };
    std::thread::scope(|scope| {
        (0..plan.jobs).for_each(|_| drop(scope.spawn(work)));
    });
    let (tally, mut found) = all.into_inner().unwrap_or_default();
    found.sort_by_key(|found| found.number);
    (tally, found)
}
