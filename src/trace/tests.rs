use sampler_steps::{Chain, Ctx, Dist, Greedy, LogitBias, Penalties, SamplerStep, Temperature, TopK, TopNSigma, TopP};

use sampler_steps::typetag;

use super::*;
use crate::sampler::NonFinite;

/// Probabilities 0.50, 0.30, 0.15, 0.05 for the tokens 0 to 3, as logits.
fn p4() -> Vec<f32> {
    [0.50f32, 0.30, 0.15, 0.05].map(f32::ln).to_vec()
}

fn sampler(chain: Chain) -> Sampler {
    Sampler::from_chain(chain, Ctx::new(42)).unwrap()
}

fn untimed() -> TraceOptions {
    TraceOptions { timed_draws: 0, ..TraceOptions::default() }
}

/// Equal but for what f32 logits of these probabilities cannot hold.
fn near(found: Option<f64>, expected: f64) -> bool {
    found.is_some_and(|found| (found - expected).abs() < 1e-7)
}

#[test]
fn each_step_is_told() {
    let chain = Chain::new()
        .with(TopK { k: 0 })
        .with(TopK { k: 3 })
        .with(Temperature { temp: 0.5, ..Temperature::default() })
        .with(Greedy {});
    let trace = sampler(chain).trace(&p4(), &untimed()).unwrap();
    assert_eq!((trace.token, trace.version, trace.seed, trace.n_accepted), (0, 1, 42, 0));
    let names: Vec<(String, &str, bool)> =
        trace.steps.iter().map(|step| (step.place_text(), step.step.as_str(), step.off)).collect();
    let expected = [("1", "top_k", true), ("2", "top_k", false), ("3", "temperature", false), ("4", "greedy", false)];
    assert!(names.iter().map(|(place, step, off)| (place.as_str(), *step, *off)).eq(expected), "{names:?}");
    assert_eq!(trace.steps[1].params, *serde_json::json!({"k": 3}).as_object().unwrap());

    let Set { len, sorted, selected, entropy, top } = &trace.logits;
    assert_eq!((*len, *sorted, *selected, top.len()), (4, false, None, 4));
    assert!(near(
        *entropy,
        0.5 + 0.3 * 0.3f64.log2().abs() + 0.15 * 0.15f64.log2().abs() + 0.05 * 0.05f64.log2().abs()
    ));

    let idle = &trace.steps[0];
    assert!(idle.is_idle() && idle.after.entropy == *entropy);
    assert_eq!(idle.mass.map(|mass| (mass.removed, mass.lost, mass.gained)), Some((0.0, 0.0, 0.0)));

    let cut = &trace.steps[1];
    assert_eq!((cut.before, cut.after.len, cut.after.sorted, cut.removed), (4, 3, true, 1));
    assert_eq!((cut.moved, cut.changed, cut.masked, cut.is_idle()), (0, 0, 0, false));
    let mass = cut.mass.unwrap();
    assert!(near(Some(mass.removed), 0.05) && near(Some(mass.kept), 0.95) && near(Some(mass.gained), 0.05), "{mass:?}");
    assert_eq!(mass.lost, 0.0);
    assert_eq!((cut.out.len(), cut.out[0].id), (1, 3));
    assert!(near(cut.out[0].prob, 0.05) && near(cut.after.top[0].prob, 0.5 / 0.95) && near(cut.after.top[0].was, 0.5));

    // Squared: 0.25, 0.09, 0.0225 of 0.3625.
    let cold = &trace.steps[2];
    assert_eq!((cold.removed, cold.changed, cold.moved), (0, 3, 0));
    assert!(near(cold.after.top[2].prob, 0.0225 / 0.3625));
    assert!(near(cold.mass.map(|mass| mass.gained), 0.25 / 0.3625 - 0.5 / 0.95));
    assert_eq!(trace.last().selected, Some(0));
    assert!(near(trace.prob, 0.25 / 0.3625));
}

#[test]
fn what_a_step_moves_changes_and_masks_is_counted() {
    let bias = LogitBias::new([(3, 4.0)]);
    let chain = Chain::new().with(bias).with(TopK { k: 4 }).with(TopNSigma { n: 0.5 }).with(Greedy {});
    let trace = sampler(chain).trace(&p4(), &untimed()).unwrap();
    let counts: Vec<_> = trace.steps.iter().map(|step| (step.removed, step.moved, step.changed, step.masked)).collect();
    assert_eq!(counts, [(0, 0, 1, 0), (0, 4, 0, 0), (0, 0, 3, 3), (0, 0, 0, 0)]);
    let masked = &trace.steps[2];
    assert!((masked.mass.unwrap().lost - masked.mass.unwrap().gained).abs() < 1e-15);
    assert_eq!((masked.after.len, masked.after.entropy, trace.token, trace.prob), (4, Some(0.0), 3, Some(1.0)));
}

#[test]
fn a_story_tells_rank_and_end() {
    let chain = Chain::new().with(TopK { k: 3 }).with(TopP { p: 0.6, min_keep: 0 }).with(Greedy {});
    let options = TraceOptions { follow: vec![2, 3, 2], ..untimed() };
    let trace = sampler(chain).trace(&p4(), &options).unwrap();
    let ids: Vec<u32> = trace.stories.iter().map(|story| story.id).collect();
    assert_eq!(ids, [2, 3, 0], "each once, and the drawn one");
    let ranks = |id| {
        let story: &Story = trace.story(id).unwrap();
        let ranks: Vec<_> = story.points.iter().map(|point| point.map(|point| point.rank)).collect();
        (ranks, story.removed_by)
    };
    assert_eq!(ranks(2), (vec![Some(3), Some(3), None, None], Some(1)));
    assert_eq!(ranks(3), (vec![Some(4), None, None, None], Some(0)));
    assert_eq!(ranks(0), (vec![Some(1); 4], None));
    assert!(near(trace.story(2).unwrap().points[1].unwrap().prob, 0.15 / 0.95));
}

#[test]
fn equals_share_a_rank() {
    let options = TraceOptions { follow: vec![0, 1, 2], top: 2, ..untimed() };
    let trace = sampler(Chain::new().with(Greedy {})).trace(&[1.0, 2.0, 2.0, 0.5], &options).unwrap();
    let ranks: Vec<_> = trace.stories.iter().filter_map(|story| Some(story.points[0]?.rank)).collect();
    assert_eq!(ranks, [3, 1, 1]);
    let top: Vec<u32> = trace.logits.top.iter().map(|cand| cand.id).collect();
    assert_eq!(top, [1, 2]);
}

#[test]
fn nested_steps_are_told_one_by_one() {
    let inner = Chain::new().with(TopK { k: 2 }).with(Dist::default());
    let mut nested = sampler(Chain::new().with(TopK { k: 3 }).with(inner));
    let mut flat = sampler(Chain::new().with(TopK { k: 3 }).with(TopK { k: 2 }).with(Dist::default()));
    let (nested, flat) = (nested.trace(&p4(), &untimed()).unwrap(), flat.trace(&p4(), &untimed()).unwrap());
    let places: Vec<String> = nested.steps.iter().map(Step::place_text).collect();
    assert_eq!(places, ["1", "2.1", "2.2"]);
    let without_places = |trace: &Trace| -> Vec<Step> {
        trace.steps.iter().map(|step| Step { place: Vec::new(), ..step.clone() }).collect()
    };
    assert_eq!(without_places(&nested), without_places(&flat));
    assert_eq!(nested.token, flat.token);
}

/// A trace moves what a draw moves: generators, averages; not the history.
#[test]
fn a_trace_is_a_draw() {
    let chain = || {
        let temperature = Temperature { temp: 1.5, ..Temperature::default() };
        Chain::new().with(Penalties::new(8, 1.3, 0.1, 0.0)).with(temperature).with(Dist::default())
    };
    let (mut traced, mut drawn) = (sampler(chain()), sampler(chain()));
    for n in 0..50 {
        let options = TraceOptions { timed_draws: n % 3, follow: vec![1], ..TraceOptions::default() };
        let token = traced.trace(&p4(), &options).unwrap().token;
        assert_eq!(Ok(token), drawn.sample(&p4()));
        assert_eq!(traced.snapshot(), drawn.snapshot());
        traced.accept(token).unwrap();
        drawn.accept(token).unwrap();
    }
    assert_eq!(traced.trace(&p4(), &untimed()).unwrap().n_accepted, 50);
}

#[test]
fn the_time_is_that_of_a_draw_and_of_its_steps() {
    let mut sampler = sampler(Chain::new().with(TopK { k: 3 }).with(Dist::default()));
    let trace = sampler.trace(&p4(), &TraceOptions::default()).unwrap();
    let time = trace.time.unwrap();
    let of_steps: u64 = trace.steps.iter().map(|step| step.ns.unwrap()).sum();
    assert_eq!(time.draws, 3);
    assert!(time.draw_ns > 0 && time.read_ns + of_steps <= time.draw_ns, "{time:?} {of_steps}");
    let trace = sampler.trace(&p4(), &untimed()).unwrap();
    assert_eq!((trace.time, trace.steps[0].ns), (None, None));
}

#[test]
fn a_trace_is_saved_and_read_again() {
    let options = TraceOptions { follow: vec![3], ..TraceOptions::default() };
    let mut sampler = sampler(Chain::new().with(TopK { k: 3 }).with(TopNSigma { n: 0.1 }).with(Dist::default()));
    let trace = sampler.trace(&p4(), &options).unwrap();
    let text = serde_json::to_string(&trace).unwrap();
    assert!(text.starts_with("{\"version\":1,\"seed\":42,") && text.contains("\"logit\":\"-inf\""), "{text}");
    assert_eq!(serde_json::from_str::<Trace>(&text).unwrap(), trace);
    let error = serde_json::from_str::<Trace>(&text.replacen("\"version\":1", "\"version\":2", 1)).unwrap_err();
    assert!(error.to_string().starts_with("a trace of version 2; 1 can be read"), "{error}");
}

#[test]
fn rows_that_are_no_distribution_have_no_shares() {
    let chain = Chain::new().with(TopK { k: 2 }).with(Dist::default());
    let refused = sampler(chain.clone()).trace(&[1.0, f32::NAN, 2.0], &untimed());
    assert_eq!(refused, Err(SampleError::NonFinite { index: 1, kind: "NaN" }));
    let mut like_llama_cpp = sampler(chain.clone()).with_non_finite(NonFinite::LikeLlamaCpp);
    let trace = like_llama_cpp.trace(&[1.0, f32::NAN, 2.0], &untimed()).unwrap();
    assert_eq!((trace.logits.entropy, trace.logits.top[0].prob, trace.steps[0].mass), (None, None, None));
    assert_eq!(trace.logits.top.iter().map(|cand| cand.id).collect::<Vec<_>>(), [2, 0, 1], "NaN is last");
    let trace = like_llama_cpp.trace(&[1.0, f32::NAN, 2.0], &TraceOptions { follow: vec![1], ..untimed() }).unwrap();
    assert_eq!(trace.story(1).unwrap().points[0].map(|point| point.rank), Some(3));
    let text = serde_json::to_string(&trace).unwrap();
    let back: Trace = serde_json::from_str(&text).unwrap();
    assert!(back.logits.top[2].logit.is_nan());
    let mut argmax = sampler(chain).with_non_finite(NonFinite::FiniteArgmax);
    let trace = argmax.trace(&[1.0, f32::NAN, 2.0], &TraceOptions::default()).unwrap();
    assert_eq!((trace.token, trace.steps.len(), trace.last().len), (2, 0, 3));
}

#[test]
fn what_cannot_be_traced_moves_nothing() {
    let mut sampler = sampler(Chain::new().with(Dist::default()));
    let before = sampler.snapshot();
    let options = TraceOptions { follow: vec![0, 4], ..untimed() };
    let beyond = SampleError::TokenBeyondVocab { token: 4, n_vocab: 4 };
    assert_eq!(sampler.trace(&p4(), &options), Err(beyond));
    assert_eq!(sampler.trace(&[], &options), Err(SampleError::EmptyRow));
    assert_eq!(sampler.snapshot(), before);
}

/// A step that lets nothing through.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[typetag::serde(name = "test_nothing")]
impl SamplerStep for Nothing {
    fn apply(&mut self, cands: &mut sampler_steps::CandSet<'_>, _: &mut Ctx) {
        cands.retain(|_| false);
    }
}

#[test]
fn a_chain_that_leaves_nothing_is_the_error_of_a_draw() {
    let mut sampler = sampler(Chain::new().with(Nothing {}).with(Dist::default()));
    assert_eq!(sampler.trace(&p4(), &TraceOptions::default()), Err(SampleError::NothingLeft));
    let mut seen = Vec::new();
    let error = sampler.trace_seen(&p4(), &untimed(), |step| seen.push((step.step.clone(), step.after.len)));
    assert_eq!(error, Err(SampleError::NothingLeft));
    assert_eq!(seen, [("test_nothing".to_string(), 0), ("dist".to_string(), 0)]);
}
