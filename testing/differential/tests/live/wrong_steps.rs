//! Steps that are wrong on purpose are found, and made small; the written case fails with them and passes without.

use libtest_mimic::Failed;
use sampler_chain::oracle::Replayer;
use sampler_chain::{CandSet, Ctx, SamplerStep};
use sampler_chain_differential::case::Case;
use sampler_chain_differential::found;
use sampler_chain_differential::generate::Generator;
use sampler_chain_differential::run::{run, run_caught};
use sampler_chain_differential::shrink::shrink;
use sampler_chain_differential::step::{Build, Oracle, Step, build};
use sampler_chain_differential::sweep::{Plan, sweep};
use sampler_chain_differential::write::{oracle_case, write};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Test, ensure};

pub const TESTS: &[(&str, Test)] = &[
    ("a_top_k_that_is_off_by_one_is_found", top_k_off_by_one),
    ("a_top_k_with_ties_in_another_order_is_found", top_k_ties),
    ("a_min_p_that_compares_wrongly_is_found", min_p_compares),
    ("a_draw_too_many_is_found", draws_twice),
    ("nothing_is_found_where_nothing_is_wrong", nothing_wrong),
    ("every_case_is_written_and_replays", every_case_is_written),
    ("no_case_is_written_where_libllama_is_not_asked", not_asked),
];

/// One more than it should keep.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OffByOne {
    k: i32,
}

#[typetag::serde(name = "wrong_top_k_off_by_one")]
impl SamplerStep for OffByOne {
    fn apply(&mut self, cands: &mut CandSet<'_>, _: &mut Ctx) {
        cands.top_k(if self.k > 0 { self.k as usize + 1 } else { 0 });
    }
}

/// Sorts all and cuts, where llama.cpp's partial sort leaves ties in an order of its own.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OtherTies {
    k: i32,
}

#[typetag::serde(name = "wrong_top_k_ties")]
impl SamplerStep for OtherTies {
    fn apply(&mut self, cands: &mut CandSet<'_>, _: &mut Ctx) {
        if self.k > 0 {
            cands.sort();
            cands.truncate(self.k as usize);
        }
    }
}

/// Drops what is exactly at the limit.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Strict {
    p: f32,
}

#[typetag::serde(name = "wrong_min_p_strict")]
impl SamplerStep for Strict {
    fn apply(&mut self, cands: &mut CandSet<'_>, _: &mut Ctx) {
        if self.p > 0.0 {
            let limit = cands.max_logit() + self.p.ln();
            cands.retain(|cand| cand.logit > limit);
        }
    }
}

/// Takes two numbers from its generator for each draw: the first token is right.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct DrawsTwice {
    #[serde(skip)]
    rng: sampler_chain::Mt19937,
}

#[typetag::serde(name = "wrong_dist_draws_twice")]
impl SamplerStep for DrawsTwice {
    fn apply(&mut self, cands: &mut CandSet<'_>, _: &mut Ctx) {
        let u = self.rng.uniform();
        self.rng.uniform();
        cands.select_by_logits(u);
    }

    fn reset(&mut self, ctx: &Ctx) {
        self.rng = sampler_chain::Mt19937::new(ctx.seed());
    }

    fn selects(&self) -> bool {
        true
    }
}

fn top_k_off_by_one(oracle: &Oracle) -> Result<(), Failed> {
    let wrong = |step: &Step| match *step {
        Step::TopK { k } => Box::new(OffByOne { k }) as Box<dyn SamplerStep>,
        _ => build(step),
    };
    let small = found_and_small(oracle, &wrong, "wrong_top_k_off_by_one", "top_k")?;
    ensure(small.n_vocab == 2 && small.draws.len() == 1 && small.prompt.is_empty(), || format!("{small:#?}"))
}

fn top_k_ties(oracle: &Oracle) -> Result<(), Failed> {
    let wrong = |step: &Step| match *step {
        Step::TopK { k } => Box::new(OtherTies { k }) as Box<dyn SamplerStep>,
        _ => build(step),
    };
    let small = found_and_small(oracle, &wrong, "wrong_top_k_ties", "top_k")?;
    ensure(small.n_vocab <= 4, || format!("{small:#?}"))
}

fn min_p_compares(oracle: &Oracle) -> Result<(), Failed> {
    let wrong = |step: &Step| match *step {
        // Where nothing passes the strict comparison there is nothing left, which would be noticed for another reason.
        Step::MinP { p, min_keep: 0 } if p < 1.0 => Box::new(Strict { p }) as Box<dyn SamplerStep>,
        _ => build(step),
    };
    let small = found_and_small(oracle, &wrong, "wrong_min_p_strict", "min_p")?;
    ensure(small.n_vocab <= 3, || format!("{small:#?}"))
}

fn draws_twice(oracle: &Oracle) -> Result<(), Failed> {
    let wrong = |step: &Step| match step {
        Step::Dist => Box::<DrawsTwice>::default() as Box<dyn SamplerStep>,
        _ => build(step),
    };
    let small = found_and_small(oracle, &wrong, "wrong_dist_draws_twice", "dist")?;
    ensure(small.draws.len() == 2 && small.n_vocab == 2, || format!("{small:#?}"))
}

/// Runs cases until some differ, makes the first smaller that can be written, and replays it with the wrong step and
/// the right one.
fn found_and_small(oracle: &Oracle, wrong: &Build, wrong_name: &str, name: &str) -> Result<Case, Failed> {
    let generator = Generator::new(oracle.sizes())?;
    let plan = Plan { seed: 3, from: 0, cases: 4000, jobs: 1, most: 8 };
    let (tally, found) = sweep(oracle, &generator, wrong, plan, |_| {});
    ensure(tally.differences > 0, || format!("{} cases, and nothing was found", tally.cases))?;
    let folder = tempfile::tempdir()?;
    let mut smallest = None;
    for found in &found {
        let small = shrink(&found.case, |case| run_caught(oracle, case, wrong).difference().is_some());
        let difference = run(oracle, &small, wrong).difference().cloned().ok_or("the small case does not differ")?;
        ensure(difference.to_string().contains(name), || difference.to_string())?;
        ensure(run(oracle, &small, &build).end.is_none(), || "it differs without the wrong step, too".into())?;
        // Whatever begins it, and happens in it: the case as it was found is written, and so is the small one.
        for case in [&found.case, &small] {
            fails_in_verify(oracle, case, wrong, (wrong_name, name), folder.path())?;
        }
        smallest.get_or_insert(small);
    }
    smallest.ok_or_else(|| "nothing was found".into())
}

/// The written case fails with the wrong step, and passes with the right one in its place.
fn fails_in_verify(
    oracle: &Oracle,
    case: &Case,
    wrong: &Build,
    (wrong_name, name): (&str, &str),
    folder: &std::path::Path,
) -> Result<(), Failed> {
    let case = oracle_case(oracle, case, wrong, "wrong")?;
    let (path, text) = (folder.join("wrong.jsonl"), case.to_string());
    // The wrong step has a name of its own, which alone would fail.
    let mut results = case;
    let expect = results["expect"].as_object_mut().ok_or("nothing is expected")?;
    let of_draws = expect.iter_mut().find(|(key, _)| key.ends_with("steps")).map(|(_, value)| value);
    let of_draws = of_draws.and_then(Value::as_array_mut).ok_or("no steps are expected")?;
    for step in of_draws.iter_mut().flat_map(|steps| steps.as_array_mut().into_iter().flatten()) {
        if step["step"].as_str().is_some_and(|found| found.trim_start_matches('?') == name.replace('_', "-")) {
            step["step"] = wrong_name.replace('_', "-").into();
        }
    }
    write(&results, &path)?;
    let failure = replayed(&path)?;
    ensure(failure.is_some(), || format!("verify passes with the wrong step: {text}"))?;
    let right = text.replace(wrong_name, name);
    ensure(right != text, || format!("there is no {wrong_name} in {text}"))?;
    std::fs::write(&path, right)?;
    let failure = replayed(&path)?;
    ensure(failure.is_none(), || format!("verify fails with the right step: {failure:?} {text}"))
}

/// What `sampler-chain verify` says of a file of one case.
fn replayed(path: &std::path::Path) -> Result<Option<String>, Failed> {
    let mut outcomes = Vec::new();
    Replayer::default().replay_file(path, |outcome| outcomes.push(outcome))?;
    ensure(outcomes.len() == 1, || format!("{outcomes:?}"))?;
    Ok(outcomes.remove(0).failure)
}

fn nothing_wrong(oracle: &Oracle) -> Result<(), Failed> {
    let generator = Generator::new(oracle.sizes())?;
    let plan = Plan { seed: 4, from: 0, cases: 2000, jobs: 1, most: 1 };
    let (tally, found) = sweep(oracle, &generator, &build, plan, |_| {});
    ensure(found.is_empty() && tally.cases == 2000, || format!("{tally:?} {found:?}"))?;
    let by_step = &tally.by_step;
    ensure(by_step.len() == 19 && by_step.values().all(|&n| n > 30), || format!("some steps hardly ran: {by_step:?}"))
}

/// Whatever a case has, it has words as a recorded case, and this crate passes it.
fn every_case_is_written(oracle: &Oracle) -> Result<(), Failed> {
    let generator = Generator::new(oracle.sizes())?;
    let folder = tempfile::tempdir()?;
    let (path, mut n) = (folder.path().join("case.jsonl"), 0);
    for i in 0..400 {
        let (case, _) = generator.case(5, i);
        if case.n_vocab > 600 {
            continue;
        }
        let (written, failure) = match oracle_case(oracle, &case, &build, "any") {
            Ok(written) => {
                write(&written, &path)?;
                (written, replayed(&path)?)
            }
            Err(why) => return Err(format!("case {i}: {why}").into()),
        };
        ensure(failure.is_none(), || format!("case {i}: {failure:?} {written}"))?;
        n += 1;
    }
    ensure(n > 300, || format!("{n} cases"))
}

/// The one reason why a case cannot be written: its first draw has nothing that libllama may be given.
fn not_asked(oracle: &Oracle) -> Result<(), Failed> {
    let (_, mut case) = found::cases().remove(3);
    case.start.iter_mut().for_each(|start| start.ids.clear());
    let why = oracle_case(oracle, &case, &build, "nothing").err().ok_or("an empty set was written")?.to_string();
    ensure(why == "libllama is not asked about its first draw: EmptySet", || why)
}
