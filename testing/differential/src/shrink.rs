//! Makes a failing case smaller while it still fails.

mod smaller;

use crate::case::Case;
use crate::left_out;

/// So many smaller cases are tried at most.
const MOST_TRIES: usize = 20_000;

/// The smallest case that was found for which `fails` holds. Nothing is tried that `left_out` names.
pub fn shrink(case: &Case, fails: impl Fn(&Case) -> bool) -> Case {
    let mut tries = 0;
    let mut still_fails = |case: &Case| {
        tries += 1;
        let is_compared = !case.rows.is_empty() && !case.draws.is_empty() && case.n_vocab > 0;
        tries <= MOST_TRIES
            && is_compared
            && case.steps.iter().all(|s| left_out::parameters(s).is_none())
            && fails(case)
    };
    let mut best = case.clone();
    loop {
        let mut is_smaller = false;
        for simplify in smaller::ALL {
            is_smaller |= simplify(&mut best, &mut still_fails);
        }
        if !is_smaller {
            return best;
        }
    }
}
