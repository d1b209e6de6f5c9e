//! What can be tested without libllama.

use std::hash::{DefaultHasher, Hash, Hasher};

use sampler_chain::{Chain, Ctx};
use sampler_chain_differential::case::{Case, Event};
use sampler_chain_differential::generate::{DRAWS, Generator};
use sampler_chain_differential::left_out::{self, Reason};
use sampler_chain_differential::shrink::shrink;
use sampler_chain_differential::step::{Step, build, leaves};
use sampler_chain_differential::tally::traits;

fn generator() -> Generator {
    Generator::new(vec![300, 520]).unwrap()
}

/// FNV-1a over the cases' texts: it stays the same, or the seeds of `docs/fidelity.md` name other cases than they did.
fn digest(cases: &[Case]) -> u64 {
    let fnv = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    cases.iter().flat_map(|case| format!("{case:?}").into_bytes()).fold(0xcbf2_9ce4_8422_2325, fnv)
}

#[test]
fn case_i_of_a_seed_is_always_the_same() {
    let make = |generator: &Generator| (0..200).map(|i| generator.case(7, i).0).collect::<Vec<Case>>();
    let (one, other) = (make(&generator()), make(&generator()));
    assert_eq!(digest(&one), digest(&other));
    assert_eq!(digest(&one), DIGEST);
    let hash = |case: &Case| {
        let mut hasher = DefaultHasher::new();
        format!("{case:?}").hash(&mut hasher);
        hasher.finish()
    };
    let mut hashes: Vec<u64> = one.iter().map(hash).collect();
    hashes.sort_unstable();
    hashes.dedup();
    assert_eq!(hashes.len(), one.len(), "no two cases are the same");
}

const DIGEST: u64 = 1_497_846_712_184_082_612;

/// What is left out is left out because this crate refuses it, or because libllama cannot be asked; all else this crate
/// prepares.
#[test]
fn what_is_not_left_out_is_accepted() {
    let generator = generator();
    for i in 0..3000 {
        let (case, _) = generator.case(8, i);
        for step in leaves(&case.steps) {
            assert_eq!(left_out::parameters(step), None);
            let ctx = case.told.into_iter().fold(Ctx::new(1), Ctx::with_n_vocab);
            let prepared = Chain::from(vec![build(step)]).prepare_steps(&ctx);
            assert!(prepared.is_ok() || step.wants_vocab(), "case {i}: {step:?}: {prepared:?}");
        }
        let size = case.n_vocab;
        assert!(case.rows.iter().all(|row| row.logits.len() == size), "case {i}");
        assert!(
            case.draws.len() == DRAWS || size > 1024 || case.vocab == Some(1),
            "case {i}: {} draws of {size}",
            case.draws.len()
        );
    }
}

#[test]
fn what_is_refused_here_is_left_out() {
    let refused = [
        (Step::TopP { p: f32::NAN, min_keep: 0 }, Reason::NanParameter),
        (Step::LogitBias { bias: vec![(0, f32::NAN)] }, Reason::NanParameter),
        (Step::Mirostat { tau: f32::NAN, eta: 0.1, m: 100 }, Reason::NanParameter),
        (Step::Penalties { last_n: 4, repeat: 0.0, freq: 0.0, present: 0.0 }, Reason::PenaltyRefused),
        (Step::Penalties { last_n: 4, repeat: 1e-45, freq: 0.0, present: 0.0 }, Reason::PenaltyRefused),
        (Step::Penalties { last_n: 4, repeat: 1.0, freq: f32::INFINITY, present: 0.0 }, Reason::PenaltyRefused),
    ];
    for (step, reason) in refused {
        assert_eq!(left_out::parameters(&step), Some(reason), "{step:?}");
        let prepared = Chain::from(vec![build(&step)]).prepare_steps(&Ctx::new(1).with_n_vocab(8));
        assert!(prepared.is_err(), "{step:?}");
    }
    let undefined = [
        (Step::Mirostat { tau: 5.0, eta: 0.1, m: i32::MIN }, Reason::MirostatOverflows),
        (
            Step::Dry { multiplier: 1.0, base: 2.0, allowed_length: i32::MIN, last_n: 8, breakers: Vec::new() },
            Reason::DryLengthOverflows,
        ),
        (Step::Penalties { last_n: i32::MAX, repeat: 2.0, freq: 0.0, present: 0.0 }, Reason::WindowAllocated),
    ];
    for (step, reason) in undefined {
        assert_eq!(left_out::parameters(&Step::Chain { steps: vec![step] }), Some(reason));
    }
    let adaptive = [Step::Chain { steps: vec![Step::AdaptiveP { target: 0.5, decay: 0.9 }] }];
    assert_eq!(left_out::clone(&adaptive, true), Some(Reason::AdaptiveClone));
    assert_eq!(left_out::clone(&adaptive, false), None);
    assert_eq!(left_out::clone(&[Step::Dist], true), None);
}

/// A case fails as long as it has a top-k and two equal logits: nothing else is left of it.
#[test]
fn a_failing_case_becomes_small() {
    let generator = generator();
    let fails = |case: &Case| {
        let mut bits: Vec<u32> = case.rows[0].logits.iter().map(|logit| logit.to_bits()).collect();
        bits.sort_unstable();
        let has_top_k = leaves(&case.steps).iter().any(|step| matches!(step, Step::TopK { .. }));
        has_top_k && bits.windows(2).any(|pair| pair[0] == pair[1])
    };
    let mut n = 0;
    for i in 0..2000 {
        let (case, _) = generator.case(9, i);
        if case.n_vocab > 1024 || case.vocab.is_some() || !fails(&case) {
            continue;
        }
        n += 1;
        let small = shrink(&case, fails);
        assert!(fails(&small), "case {i}");
        assert_eq!((small.n_vocab, small.rows.len(), small.draws.len()), (2, 1, 1), "case {i}: {small:#?}");
        assert_eq!(small.rows[0].logits[0].to_bits(), small.rows[0].logits[1].to_bits(), "case {i}");
        assert_eq!((&small.start, &small.prompt[..], &small.draws[0][..]), (&None, &[][..], &[Event::AcceptDrawn][..]));
        // The top-k, and a step that selects, so that it can be written as an oracle case.
        assert!(small.steps.len() <= 2 && small.steps[0] == Step::TopK { k: 0 }, "case {i}: {:?}", small.steps);
        if n == 20 {
            return;
        }
    }
    panic!("{n} cases have two equal logits");
}

/// What is rare is drawn, all the same: every trait that the counts tell is in some of these cases.
#[test]
fn whatever_is_rare_is_drawn() {
    let generator = generator();
    let mut counts = std::collections::BTreeMap::new();
    for i in 0..20_000 {
        traits::of(&generator.case(10, i).0).for_each(|name| *counts.entry(name).or_insert(0) += 1);
    }
    assert_eq!(counts.len(), traits::N, "{counts:#?}");
    assert!(counts.values().all(|&n| n >= 5), "{counts:#?}");
}
