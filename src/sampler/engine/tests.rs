use sampler_steps::community::{Protect, Switch};
use sampler_steps::{
    AdaptiveP, Chain, Ctx, Dist, Dry, Generators, Greedy, Mirostat, MirostatV2, Penalties, ReasoningBudget,
    SamplerStep, Temperature, Xtc,
};

use super::*;

/// A row for each place, with a few peaks.
fn row(t: usize) -> Vec<f32> {
    (0..40).map(|i| ((i * 31 + t * 17) % 41) as f32 / 6.0).collect()
}

/// Chains with every step that has a state, each step with an effect.
fn chains() -> Vec<Chain> {
    let mut budget = ReasoningBudget::new([3], [4], 5).with_forced([7, 4]);
    budget.sees_prompt = true;
    let start = || {
        Chain::new()
            .with(budget.clone())
            .with(Penalties::new(6, 1.3, 0.1, 0.0))
            .with(Dry::new(0.7, 1.5, 1, 20).with_breaker_tokens([vec![9]]))
            .with(Xtc::new(0.5, 0.03, 0))
            .with(Temperature::new(1.4))
    };
    let protect = Protect::new([3, 4], Chain::new().with(Xtc::new(0.5, 0.03, 0)));
    let mut switch = Switch::new([3], Chain::new().with(protect).with(Dist::default()), start().with(Dist::default()));
    switch.back = vec![vec![5], vec![11], vec![7, 4]];
    let mut shared = switch.clone();
    shared.generators = Generators::Shared;
    vec![
        Chain::new().with(switch),
        Chain::new().with(start()).with(shared),
        start().with(Dist::default()),
        start().with(Mirostat::new(3.0, 0.3, 100)),
        start().with(MirostatV2::new(3.0, 0.3)),
        start().with(AdaptiveP::new(0.2, 0.8)),
        Chain::new().with(start()).with(Chain::new().with(Dist::default())),
        Chain::new().with(Greedy {}),
    ]
}

fn sampler(chain: Chain) -> Sampler {
    let mut sampler = Sampler::from_chain(chain, Ctx::new(42).with_n_vocab(40)).unwrap();
    [3, 1, 4, 1, 5].into_iter().for_each(|token| sampler.accept_prompt(token).unwrap());
    sampler
}

/// Draws and accepts, from the place of the history.
fn go_on(sampler: &mut Sampler, n: usize) -> Vec<u32> {
    (0..n)
        .map(|_| {
            let token = sampler.sample(&row(sampler.ctx().history().len())).unwrap();
            sampler.accept(token).unwrap();
            token
        })
        .collect()
}

/// `rewind(k)` after k accepted tokens equals the state before.
#[test]
fn rewinding_equals_the_state_before() {
    for chain in chains() {
        for k in [0, 1, 2, 7] {
            let mut sampler = sampler(chain.clone());
            go_on(&mut sampler, 9);
            let before = sampler.snapshot();
            let ahead = go_on(&mut sampler, k);
            sampler.rewind(k).unwrap();
            assert_eq!(sampler.snapshot(), before);
            assert_eq!(go_on(&mut sampler, k), ahead, "{:?}", sampler.chain());
        }
    }
}

#[test]
fn rewinding_reaches_into_the_prompt_and_no_further() {
    let mut sampler = sampler(Chain::new().with(Penalties::new(9, 2.0, 0.0, 0.0)).with(Dist::default()));
    let start = go_on(&mut sampler, 3);
    sampler.rewind(5).unwrap();
    assert_eq!((sampler.ctx().history().tokens(), sampler.ctx().history().n_prompt()), (&[3, 1, 4][..], 3));
    let error = sampler.rewind(4).unwrap_err().to_string();
    assert_eq!(error, "4 tokens cannot be taken back: the states of 3 are kept");
    assert_eq!(sampler.ctx().history().len(), 3);
    [1, 5].into_iter().for_each(|token| sampler.accept_prompt(token).unwrap());
    assert_eq!(go_on(&mut sampler, 3), start);
}

#[test]
fn the_depth_can_be_chosen() {
    let mut sampler = sampler(Chain::new().with(Dist::default())).with_rewind_depth(2);
    go_on(&mut sampler, 10);
    assert_eq!(sampler.rewind(3), Err(EngineError::TooFarBack { asked: 3, kept: 2 }));
    sampler.rewind(2).unwrap();
    assert_eq!(sampler.rewind(1), Err(EngineError::TooFarBack { asked: 1, kept: 0 }));
    let mut none = super::tests::sampler(Chain::new().with(Dist::default())).with_rewind_depth(0);
    go_on(&mut none, 3);
    assert_eq!(none.rewind(1), Err(EngineError::TooFarBack { asked: 1, kept: 0 }));
    none.rewind(0).unwrap();
}

/// A snapshot after k tokens, written to JSON and read by another sampler, draws the same n tokens.
#[test]
fn a_snapshot_goes_on_elsewhere() {
    for chain in chains() {
        for k in [0, 1, 8, 400] {
            let mut original = sampler(chain.clone());
            go_on(&mut original, k);
            // In the middle of a draw, too: drawn and not accepted.
            original.sample(&row(1)).unwrap();
            let json = serde_json::to_string(&original.snapshot()).unwrap();
            let mut other = Sampler::from_chain(chain.clone(), Ctx::new(7).with_n_vocab(40)).unwrap();
            other.restore(&serde_json::from_str(&json).unwrap()).unwrap();
            assert_eq!((other.seed(), other.snapshot()), (42, original.snapshot()));
            assert_eq!(go_on(&mut other, 30), go_on(&mut original, 30), "{:?}", original.chain());
        }
    }
}

/// Every registered step with a state of its own is among the chains above.
#[test]
fn every_step_with_a_state_is_tried() {
    let mut tried: Vec<&str> = Vec::new();
    for chain in chains() {
        let all = chain.steps().iter().flat_map(|step| match step.inner() {
            [] => std::slice::from_ref(step),
            inner => inner,
        });
        tried.extend(all.map(|step| step.typetag_name()));
    }
    for name in sampler_steps::registered_steps() {
        let step: Box<dyn SamplerStep> = serde_json::from_str(&match name.as_str() {
            "chain" => r#"{"type":"chain","steps":[]}"#.to_string(),
            other => format!(r#"{{"type":"{other}"}}"#),
        })
        .unwrap();
        let mut state = Vec::new();
        step.save(&mut state);
        assert!(state.is_empty() || tried.contains(&name.as_str()), "{name} saves a state and is not tried");
    }
}

#[test]
fn snapshots_that_do_not_fit_are_refused_and_change_nothing() {
    let mut here = sampler(Chain::new().with(Dist::default()));
    go_on(&mut here, 3);
    let good = here.snapshot();
    let refused = |sampler: &mut Sampler, snapshot: &Snapshot| {
        let before = sampler.snapshot();
        let error = sampler.restore(snapshot).unwrap_err().to_string();
        assert_eq!(sampler.snapshot(), before);
        error
    };
    let other = sampler(Chain::new().with(Greedy {})).snapshot();
    assert_eq!(
        refused(&mut here, &other),
        "the snapshot is of another chain: {\"steps\":[{\"type\":\"greedy\"}]}; this one is {\"steps\":[{\"type\":\"dist\"}]}"
    );
    assert_eq!(
        refused(&mut here, &Snapshot { version: 2, ..good.clone() }),
        "version 2 of snapshots is not known; this is version 1"
    );
    assert_eq!(
        refused(&mut here, &Snapshot { history: vec![40], ..good.clone() }),
        "the snapshot's history: token 40 is beyond the vocabulary of 40 tokens"
    );
    assert_eq!(
        refused(&mut here, &Snapshot { state: vec![], ..good.clone() }),
        "the snapshot's state: it ends too early"
    );
    // A generator is brought to its place by running: a place that no text reaches is refused, not run to.
    let far = Snapshot { state: vec![u64::MAX], ..good.clone() };
    assert_eq!(
        refused(&mut here, &far),
        "the snapshot's state: a generator is 18446744073709551615 outputs on, and 2147483648 is the most"
    );
    let longer = Snapshot { state: vec![1, 2], ..good };
    assert_eq!(refused(&mut here, &longer), "the snapshot's state: it goes on behind the last step");
}

/// User case 5: a draft gives the same tokens and the same state as drawing one by one, whatever of it is right.
#[test]
fn case_5_a_draft_equals_one_by_one() {
    for chain in chains() {
        for n in 1..=8 {
            for right in 0..=n {
                let mut one_by_one = sampler(chain.clone());
                let place = one_by_one.ctx().history().len();
                let tokens = go_on(&mut one_by_one.clone(), n);
                let mut draft = tokens.clone();
                if right < n {
                    draft[right] = (draft[right] + 1) % 40;
                }
                let rows: Vec<Vec<f32>> = (0..=n).map(|t| row(place + t)).collect();
                let mut drafted = one_by_one.clone();
                let drawn = drafted.sample_and_accept(&draft, rows.iter().map(Vec::as_slice)).unwrap();
                assert_eq!(drawn.len(), right + 1);
                assert_eq!(go_on(&mut one_by_one, right + 1), drawn);
                assert_eq!(one_by_one.snapshot(), drafted.snapshot());
            }
        }
    }
}

#[test]
fn a_draft_that_fails_changes_nothing() {
    let mut sampler = sampler(chains().remove(0));
    let tokens = go_on(&mut sampler.clone(), 3);
    let before = sampler.snapshot();
    let rows: Vec<Vec<f32>> = (0..2).map(|t| row(5 + t)).collect();
    let error = sampler.sample_and_accept(&tokens, rows.iter().map(Vec::as_slice)).unwrap_err();
    assert_eq!(error.to_string(), "a draft wants 4 rows, and there are 2");
    assert_eq!(sampler.snapshot(), before);
    let error = sampler.sample_and_accept(&tokens, [row(5).as_slice(), &[f32::NAN; 40]]).unwrap_err();
    assert!(matches!(error, SampleError::NonFinite { .. }));
    assert_eq!(sampler.snapshot(), before);
    sampler.rewind(5).unwrap();
    assert!(sampler.ctx().history().is_empty());
    assert_eq!(go_on(&mut super::tests::sampler(chains().remove(0)), 3), tokens);
}

/// A draft that fails leaves everything as it was, whatever depth was chosen and however long the draft.
#[test]
fn a_failed_draft_at_any_depth() {
    for depth in [0, 2, 256] {
        for n in [1, 3, 300] {
            let mut sampler = sampler(chains().swap_remove(0)).with_rewind_depth(depth);
            go_on(&mut sampler, 5);
            let (before, kept) = (sampler.snapshot(), sampler.past.len());
            let ahead = go_on(&mut sampler.clone(), n);
            let rows: Vec<Vec<f32>> = (0..n).map(|t| row(10 + t)).collect();
            let error = sampler.sample_and_accept(&ahead, rows.iter().map(Vec::as_slice)).unwrap_err();
            assert_eq!(error, SampleError::TooFewRows { wanted: n + 1, found: n });
            assert_eq!((sampler.snapshot(), sampler.past.len()), (before, kept), "depth {depth}, {n} tokens");
            assert_eq!(go_on(&mut sampler, n), ahead);
            assert!(sampler.past.len() <= depth);
        }
    }
}

/// A grammar's draft equals drawing under the grammar one by one, and it hears of every token.
#[test]
fn a_draft_under_a_grammar() {
    /// Even tokens after odd ones and the other way round.
    #[derive(Clone, Default)]
    struct Turns(Vec<u32>);
    impl Constraint for Turns {
        fn allows(&mut self, token: u32) -> bool {
            self.0.last().is_none_or(|last| (last + token) % 2 == 1)
        }
        fn accept(&mut self, token: u32) {
            self.0.push(token);
        }
    }
    let (mut one, mut grammar) = (sampler(chains().swap_remove(1)), Turns::default());
    let (mut along, mut told) = (one.clone(), grammar.clone());
    let rows: Vec<Vec<f32>> = (0..6).map(row).collect();
    let mut redraws = 0;
    let mut tokens = Vec::new();
    for row in &rows {
        let (token, redrawn) = one.sample_constrained(row, &mut grammar).unwrap();
        one.accept(token).unwrap();
        grammar.accept(token);
        tokens.push(token);
        redraws += usize::from(redrawn);
    }
    assert!(redraws > 0, "the grammar has an effect");
    let drawn = along.sample_and_accept_constrained(&tokens[..5], rows.iter().map(Vec::as_slice), &mut told).unwrap();
    assert_eq!((&drawn, &told.0), (&tokens, &grammar.0));
    assert_eq!(along.snapshot(), one.snapshot());
}

/// Found by fuzzing: it was cut to the history, and saved again as another snapshot.
#[test]
fn a_snapshot_whose_prompt_is_longer_than_its_history_is_refused() {
    let mut sampler = sampler(Chain::new().with(Greedy {}));
    sampler.accept_prompt(3).unwrap();
    let before = sampler.snapshot();
    for n_prompt in [7, 1 << 32] {
        let error = sampler.restore(&Snapshot { n_prompt, ..before.clone() }).unwrap_err();
        let expected = format!("the snapshot's prompt of {n_prompt} tokens is longer than its history of 6");
        assert_eq!((error.to_string(), sampler.snapshot()), (expected, before.clone()));
    }
}

/// Another vocabulary makes other breakers of the same texts, and a snapshot knows.
#[test]
fn a_snapshot_with_other_breakers_is_refused() {
    let with = |token| {
        let mut sampler = sampler(Chain::new().with(Dry::new(0.7, 1.5, 1, 20)).with(Greedy {}));
        sampler.set_dry_breakers(std::sync::Arc::new(sampler_steps::DryBreakers::from_tokens(&[vec![token, 5]])));
        sampler
    };
    let (nine, mut eight) = (with(9), with(8));
    let before = eight.snapshot();
    let error = eight.restore(&nine.snapshot()).unwrap_err();
    assert_eq!(
        (error.to_string().as_str(), eight.snapshot()),
        ("the snapshot is of a sampler with other DRY breakers", before)
    );
    with(9).restore(&nine.snapshot()).unwrap();
}

/// An engine can talk to a running step.
#[test]
fn a_running_budget_can_be_forced() {
    let params = crate::Params {
        reasoning_budget: Some(ReasoningBudget::new([3], [4], 100)),
        temperature: 0.0,
        ..crate::Params::default()
    };
    let mut sampler = Sampler::new(params).unwrap();
    let forced = |sampler: &mut Sampler| {
        let mut forced = false;
        sampler.visit_mut(|budget: &mut ReasoningBudget| forced |= budget.force());
        forced
    };
    assert!(!forced(&mut sampler), "nothing to end");
    sampler.accept(3).unwrap();
    assert_eq!(sampler.sample(&[1.0, 2.0, 0.0, 0.0, 0.0]), Ok(1));
    assert!(forced(&mut sampler));
    assert_eq!(sampler.sample(&[1.0, 2.0, 0.0, 0.0, 0.0]), Ok(4));
}
