//! What b11192 does in the situations of `docs/divergences.md`, where it can be shown without undefined behaviour. What
//! this crate does there is tested in the repository's `tests/divergences.rs` and where the page says.

use libllama::{Candidates, Sampler};
use libtest_mimic::Failed;
use sampler_chain_differential::step::Oracle;

use super::{Test, ensure};

pub const TESTS: &[(&str, Test)] = &[
    ("rows_that_are_not_finite_give_the_last_candidate", not_finite),
    ("a_masked_candidate_may_be_selected", masked),
    ("a_clone_of_adaptive_p_forgets_its_generator", adaptive_clone),
    ("a_random_seed_is_one_for_each_sampler_and_reset_draws_another", random_seeds),
    ("selected_stays_the_same_index", stale_selection),
    ("samplers_run_behind_one_that_selects", behind_the_selector),
    ("nan_as_a_parameter_cuts_nothing", nan_parameters),
    ("a_repetition_penalty_of_0_divides_by_0", penalty_of_zero),
    ("an_empty_set_that_is_not_asserted_on", empty_set),
    ("ids_beyond_the_vocabulary_are_passed_over", beyond_the_vocabulary),
    ("one_candidate_counts_as_one_draw_of_dist", one_candidate),
];

/// What a sampler leaves of a row.
fn apply(mut sampler: Sampler, row: &[f32]) -> Candidates {
    apply_to(&mut sampler, row)
}

fn apply_to(sampler: &mut Sampler, row: &[f32]) -> Candidates {
    let mut candidates = Candidates::default();
    candidates.fill_with_row(row);
    // SAFETY: nothing in this file is left out because it is undefined.
    unsafe { sampler.apply(&mut candidates) };
    candidates
}

fn selected(candidates: &Candidates) -> Option<i32> {
    candidates.selected().map(|candidate| candidate.id)
}

fn not_finite(oracle: &Oracle) -> Result<(), Failed> {
    for row in [[f32::NEG_INFINITY; 3], [1.0, f32::NAN, 0.0], [1.0, f32::INFINITY, 0.0]] {
        let left = apply(oracle.library().dist(42), &row);
        ensure(selected(&left) == Some(2), || format!("{row:?}: {left:?}"))?;
    }
    Ok(())
}

fn masked(oracle: &Oracle) -> Result<(), Failed> {
    let left = apply(oracle.library().greedy(), &[f32::NEG_INFINITY; 2]);
    ensure(selected(&left) == Some(0), || format!("{left:?}"))
}

fn adaptive_clone(oracle: &Oracle) -> Result<(), Failed> {
    let row: Vec<f32> = (0..100).map(|i| i as f32 / 50.0).collect();
    let draws = |sampler: &mut Sampler| (0..5).map(|_| selected(&apply_to(sampler, &row))).collect::<Vec<_>>();
    let mut sampler = oracle.library().adaptive_p(-1.0, 0.9, 42);
    let first = draws(&mut sampler);
    let mut clone = sampler.clone();
    let next = draws(&mut sampler);
    ensure(first != next && draws(&mut clone) == first, || format!("{first:?} {next:?}"))
}

fn random_seeds(oracle: &Oracle) -> Result<(), Failed> {
    let random = || oracle.library().dist(u32::MAX);
    let (mut one, other) = (random(), random());
    let before = one.seed();
    one.reset();
    ensure(before != other.seed() && before != one.seed(), || format!("{before} twice"))
}

fn stale_selection(oracle: &Oracle) -> Result<(), Failed> {
    let library = oracle.library();
    let chain = || library.chain().with(library.greedy());
    // The best is 3, at place 3. Afterwards it is at place 0, and place 3 is another's, or nobody's.
    let row = [0.0, 1.0, 2.0, 3.0];
    let all = apply(chain().with(library.top_k(4)), &row);
    ensure((all.selected, selected(&all)) == (3, Some(0)), || format!("{all:?}"))?;
    let one = apply(chain().with(library.top_k(1)), &row);
    ensure((one.selected, selected(&one)) == (3, None), || format!("{one:?}"))
}

fn behind_the_selector(oracle: &Oracle) -> Result<(), Failed> {
    let library = oracle.library();
    let left = apply(library.chain().with(library.greedy()).with(library.temp(2.0)), &[1.0, 4.0]);
    ensure(left.as_slice()[1].logit == 2.0 && left.selected == 1, || format!("{left:?}"))?;
    let none = apply(library.chain().with(library.temp(2.0)), &[1.0, 4.0]);
    ensure(none.selected == -1, || format!("{none:?}"))
}

fn nan_parameters(oracle: &Oracle) -> Result<(), Failed> {
    let library = oracle.library();
    let samplers = [
        library.top_p(f32::NAN, 0),
        library.min_p(f32::NAN, 0),
        library.typical(f32::NAN, 0),
        library.top_n_sigma(f32::NAN),
        library.xtc(1.0, f32::NAN, 0, 1),
    ];
    for sampler in samplers {
        let name = sampler.name();
        let left = apply(sampler, &[3.0, 2.9, 0.0]);
        ensure(left.as_slice().len() == 3, || format!("{name}: {left:?}"))?;
    }
    // XTC's chance is compared the other way round: it always acts.
    let left = apply(library.xtc(f32::NAN, 0.1, 0, 1), &[3.0, 2.9, 0.0]);
    ensure(left.as_slice().len() == 2, || format!("{left:?}"))
}

fn penalty_of_zero(oracle: &Oracle) -> Result<(), Failed> {
    let mut sampler = oracle.library().penalties(2, 64, 0.0, 0.0, 0.0);
    sampler.accept(1);
    let left = apply_to(&mut sampler, &[1.0, 4.0]);
    ensure(left.as_slice()[1].logit == f32::INFINITY, || format!("{left:?}"))
}

fn empty_set(oracle: &Oracle) -> Result<(), Failed> {
    let (dist, greedy) = (apply(oracle.library().dist(1), &[]), apply(oracle.library().greedy(), &[]));
    ensure(dist.selected == -1 && greedy.selected == 0, || format!("{dist:?} {greedy:?}"))
}

fn beyond_the_vocabulary(oracle: &Oracle) -> Result<(), Failed> {
    let left = apply(oracle.library().logit_bias(2, &[(7, 5.0), (-1, 5.0)]), &[1.0, 4.0]);
    ensure(left.as_slice().iter().map(|candidate| candidate.logit).eq([1.0, 4.0]), || format!("{left:?}"))?;
    let mut sampler = oracle.library().penalties(2, 64, 2.0, 0.0, 0.0);
    sampler.accept(7);
    let left = apply_to(&mut sampler, &[1.0, 4.0]);
    ensure(left.as_slice()[1].logit == 4.0, || format!("{left:?}"))
}

fn one_candidate(oracle: &Oracle) -> Result<(), Failed> {
    let row: Vec<f32> = vec![0.0; 1000];
    let (mut one, mut other) = (oracle.library().dist(42), oracle.library().dist(42));
    apply_to(&mut one, &[1.0]);
    apply_to(&mut other, &row);
    let (a, b) = (apply_to(&mut one, &row), apply_to(&mut other, &row));
    ensure(a.selected == b.selected, || format!("{} {}", a.selected, b.selected))
}
