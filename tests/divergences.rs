//! docs/divergences.md: every row has its test, and b11192's column names tests that exist; the tests that no other
//! file has.

#[path = "divergences/page.rs"]
mod page;

use std::sync::Arc;

use sampler_chain::steps::{
    AdaptiveP, Dist, Dry, Greedy, Infill, LogitBias, MinP, Mirostat, MirostatV2, Penalties, Temperature, TopK,
    TopNSigma, TopP, TypP, Xtc,
};
use sampler_chain::{CandBuf, CandSet, Chain, Ctx, EncodeError, Params, SamplerStep, Vocab};
use serde_json::{Value, json};

/// Every stock step with parameters that act.
fn steps() -> Vec<Box<dyn SamplerStep>> {
    vec![
        Box::new(Penalties::new(64, 1.5, 0.1, 0.1)),
        Box::new(Dry::new(1.0, 1.75, 0, 64)),
        Box::new(TopNSigma { n: 1.0 }),
        Box::new(TopK { k: 3 }),
        Box::new(TypP { p: 0.5, min_keep: 1 }),
        Box::new(TopP { p: 0.5, min_keep: 1 }),
        Box::new(MinP { p: 0.5, min_keep: 1 }),
        Box::new(Xtc::new(1.0, 0.1, 0)),
        Box::new(Temperature::new(0.5)),
        Box::new(Temperature { temp: 1.0, delta: 0.5, exponent: 1.0 }),
        Box::new(LogitBias::new([(0, 1.0)])),
        Box::new(Dist::default()),
        Box::new(Greedy {}),
        Box::new(Mirostat::default()),
        Box::new(MirostatV2::default()),
        Box::new(AdaptiveP::new(0.5, 0.9)),
        Box::new(Infill::default()),
    ]
}

/// Two tokens, of which the second may end the text.
#[derive(Debug)]
struct Two {
    end: Option<u32>,
}

impl Vocab for Two {
    fn n_tokens(&self) -> usize {
        2
    }

    fn piece(&self, id: u32) -> &[u8] {
        [b"a", b"b"].get(id as usize).map_or(&[], |piece| &piece[..])
    }

    fn is_eog(&self, id: u32) -> bool {
        Some(id) == self.end
    }

    fn eot(&self) -> Option<u32> {
        None
    }

    fn eos(&self) -> Option<u32> {
        self.end
    }

    fn encode(&self, text: &[u8]) -> Result<Vec<u32>, EncodeError> {
        Err(EncodeError { text: text.escape_ascii().to_string(), why: "two tokens have no texts".into() })
    }
}

#[test]
fn steps_leave_an_empty_set_alone() {
    for mut step in steps() {
        let mut ctx = Ctx::new(1).with_vocab(Arc::new(Two { end: Some(1) }));
        step.prepare(&ctx).unwrap();
        for token in [0, 1, 0, 1] {
            ctx.history_mut().push(token);
            step.accept(token, &ctx);
        }
        for sorted in [false, true] {
            let mut buf = CandBuf::default();
            let mut cands = CandSet::from_cands(&[], sorted, &mut buf);
            step.apply(&mut cands, &mut ctx);
            assert!(cands.as_slice().is_empty(), "{step:?}");
            assert_eq!(cands.selected(), None, "{step:?}");
        }
    }
}

/// Which token is selected after another step has run.
fn selected_after(step: impl SamplerStep + 'static) -> Option<u32> {
    let mut chain = Chain::new().with(Greedy {}).with(step);
    let (mut ctx, mut buf) = (Ctx::new(1), CandBuf::default());
    chain.prepare_steps(&ctx).unwrap();
    let mut cands = CandSet::new(&[0.0, 1.0, 2.0, 3.0], &mut buf);
    chain.apply(&mut cands, &mut ctx);
    cands.selected_id()
}

/// The best of four is token 3, at place 3, which is another's once the set is sorted.
#[test]
fn a_selection_is_not_another_candidates() {
    assert_eq!(selected_after(Temperature::new(0.5)), Some(3));
    assert_eq!(selected_after(TopK { k: 4 }), None);
    assert_eq!(selected_after(TopK { k: 1 }), None);
    assert_eq!(selected_after(TypP { p: 0.5, min_keep: 0 }), None);
}

#[test]
fn nan_is_no_parameter() {
    let nan = f32::NAN;
    let steps: [(Box<dyn SamplerStep>, &str); 22] = [
        (Box::new(Penalties::new(64, nan, 0.0, 0.0)), "repeat"),
        (Box::new(Penalties::new(64, 1.0, nan, 0.0)), "freq"),
        (Box::new(Penalties::new(64, 1.0, 0.0, nan)), "present"),
        (Box::new(Dry::new(nan, 1.75, 2, 64)), "multiplier"),
        (Box::new(Dry::new(1.0, nan, 2, 64)), "base"),
        (Box::new(TopNSigma { n: nan }), "n"),
        (Box::new(TypP { p: nan, min_keep: 0 }), "p"),
        (Box::new(TopP { p: nan, min_keep: 0 }), "p"),
        (Box::new(MinP { p: nan, min_keep: 0 }), "p"),
        (Box::new(Xtc::new(nan, 0.1, 0)), "probability"),
        (Box::new(Xtc::new(0.5, nan, 0)), "threshold"),
        (Box::new(Temperature::new(nan)), "temp"),
        (Box::new(Temperature { temp: 1.0, delta: nan, exponent: 1.0 }), "delta"),
        (Box::new(Temperature { temp: 1.0, delta: 0.5, exponent: nan }), "exponent"),
        (Box::new(LogitBias::new([(0, nan)])), "bias"),
        (Box::new(Mirostat::new(nan, 0.1, 100)), "tau"),
        (Box::new(Mirostat::new(5.0, nan, 100)), "eta"),
        (Box::new(MirostatV2::new(nan, 0.1)), "tau"),
        (Box::new(MirostatV2::new(5.0, nan)), "eta"),
        (Box::new(AdaptiveP::new(nan, 0.9)), "target"),
        (Box::new(AdaptiveP::new(0.5, nan)), "decay"),
        (Box::new(Chain::new().with(TopP { p: nan, min_keep: 0 })), "step 1 (top_p): p"),
    ];
    for (mut step, field) in steps {
        let error = step.prepare(&Ctx::new(1)).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{field}: NaN is refused: ")), "{step:?}: {error}");
    }
}

#[test]
fn penalties_that_give_no_number() {
    let refusal = |repeat, freq, present| {
        Penalties::new(64, repeat, freq, present).prepare(&Ctx::new(1)).unwrap_err().to_string()
    };
    let wanted = "finite and above 0, and so must its inverse be";
    for repeat in [0.0, -1.0, f32::INFINITY, 1e-40] {
        let error = refusal(repeat, 0.0, 0.0);
        assert!(error.starts_with("repeat: ") && error.ends_with(wanted), "{error}");
    }
    assert!(refusal(1.0, f32::INFINITY, 0.0).starts_with("freq: inf is refused: "));
    assert!(refusal(1.0, 0.0, f32::NEG_INFINITY).starts_with("present: -inf is refused: "));
}

#[test]
fn the_smallest_numbers_do_not_overflow() {
    let mut ctx = Ctx::new(42);
    let logits = [1.0, 2.0, 3.0];
    let mut dry = Dry::new(1.0, 1.0, i32::MIN, 64);
    dry.prepare(&ctx).unwrap();
    for token in [0, 1, 0] {
        ctx.history_mut().push(token);
    }
    let mut buf = CandBuf::default();
    let mut cands = CandSet::new(&logits, &mut buf);
    dry.apply(&mut cands, &mut ctx);
    // A base of 1 to any exponent is 1, which tokens 0 and 1 lose: they have followed something before.
    assert!(cands.logits().eq([0.0, 1.0, 3.0]));

    let mut drawn = [i32::MIN, 0].map(|m| {
        let mut step = Mirostat::new(2.0, 0.1, m);
        step.prepare(&ctx).unwrap();
        let mut buf = CandBuf::default();
        let mut cands = CandSet::new(&logits, &mut buf);
        step.apply(&mut cands, &mut ctx);
        (cands.as_slice().to_vec(), cands.selected(), step.mu().to_bits())
    });
    assert!(drawn[0].1.is_some());
    let (smallest, all) = drawn.split_at_mut(1);
    assert_eq!(smallest, all);
}

#[test]
fn infill_wants_an_end() {
    let ctx = Ctx::new(1).with_vocab(Arc::new(Two { end: None }));
    let error = Infill::default().prepare(&ctx).unwrap_err().to_string();
    assert_eq!(error, "infill: the vocabulary has neither an end of turn nor an end of sequence");
}

/// What the report of a request without a vocabulary says of fields that were not simply used.
fn surprises(body: Value) -> Vec<String> {
    let (_, report) = Params::from_request(&body, &Params::default(), None).unwrap();
    report.surprises().map(|note| note.to_string()).collect()
}

#[test]
fn texts_without_a_vocabulary_have_no_effect() {
    let (params, report) =
        Params::from_request(&json!({"logit_bias": [["hello", 5], [3, 1]]}), &Params::default(), None).unwrap();
    assert_eq!(params.logit_bias, [(3, 1.0)]);
    let notes: Vec<String> = report.surprises().map(|note| note.to_string()).collect();
    assert!(notes.len() == 1 && notes[0].starts_with("logit_bias: "), "{notes:?}");
    assert_eq!(
        surprises(json!({"ignore_eos": true})),
        ["ignore_eos: has no effect: the end-of-generation tokens are known from a vocabulary, and there is none"]
    );
}

#[test]
fn back_ends_and_grammars_are_told() {
    assert_eq!(
        surprises(json!({"backend_sampling": true})),
        ["backend_sampling: has no effect: there is no other back end than this one"]
    );
    for field in ["grammar", "grammar_lazy", "json_schema"] {
        let notes = surprises(json!({field: if field == "grammar" { json!("root ::= [0-9]") } else { json!(true) }}));
        assert!(notes.len() == 1 && notes[0].starts_with(&format!("{field}: has no effect: ")), "{notes:?}");
    }
}

#[test]
fn fields_of_the_engine_are_not_checked() {
    for body in [json!({"n_predict": "many"}), json!({"stream": 5}), json!({"n_predict": -7, "cache_prompt": []})] {
        let (params, _) = Params::from_request(&body, &Params::default(), None).unwrap();
        assert_eq!(params.to_request(), Params::default().to_request(), "{body}");
    }
}
