//! Two records of a generation: the first draw where they part, and what is to blame.

use sampler_chain::diff::{Cause, Difference};
use sampler_chain::steps::{Dist, MirostatV2, Penalties, Temperature, TopK};
use sampler_chain::{
    Chain, Constraint, Ctx, Diff, NonFinite, Record, Recorded, Recorder, Sampler, Synthetic, SyntheticKind,
};

const ROWS: Synthetic = Synthetic { kind: SyntheticKind::Uniform, seed: 3, n_vocab: 50, rows: 16 };
const N_DRAWS: usize = 12;

fn chain(k: i32) -> Chain {
    Chain::new()
        .with(Penalties::new(64, 1.1, 0.0, 0.0))
        .with(TopK { k })
        .with(Temperature::new(1.5))
        .with(Dist::default())
}

fn rows() -> Vec<Vec<f32>> {
    (0..N_DRAWS).map(|i| ROWS.row(i)).collect()
}

fn sampler(k: i32, seed: u32) -> Sampler {
    Sampler::from_chain(chain(k), Ctx::new(seed)).unwrap()
}

fn recorded(sampler: Sampler, prompt: &[u32]) -> Recorded<Vec<u8>> {
    let mut recorded = Recorded::new(Recorder::new(Vec::new(), &sampler).unwrap(), sampler);
    recorded.accept_prompt_all(prompt).unwrap();
    recorded
}

fn draw(sampler: &mut Recorded<Vec<u8>>, rows: &[Vec<f32>]) {
    for row in rows {
        let token = sampler.sample(row).unwrap();
        sampler.accept(token).unwrap();
    }
}

fn finish(sampler: Recorded<Vec<u8>>) -> Record {
    Record::from_bytes(sampler.into_parts().1.into_inner()).unwrap()
}

fn record(sampler: Sampler, prompt: &[u32], rows: &[Vec<f32>]) -> Record {
    let mut sampler = recorded(sampler, prompt);
    draw(&mut sampler, rows);
    finish(sampler)
}

fn plain() -> Record {
    record(sampler(20, 42), &[1, 2, 3], &rows())
}

fn between(a: &Record, b: &Record) -> Diff {
    Diff::between(a, b, None).unwrap()
}

/// The draw and cause of a parting, with both tokens right for this crate or not.
fn parting(diff: &Diff) -> (usize, Cause, [bool; 2]) {
    let parting = diff.parting.as_ref().unwrap();
    assert_eq!(diff.n_same, parting.draw);
    let is_right = [&parting.a, &parting.b].map(|token| token.as_ref().is_some_and(|t| t.drawn == Some(t.token)));
    (parting.draw, parting.cause, is_right)
}

fn tokens(record: &Record) -> Vec<u32> {
    (0..record.n_draws()).map(|i| record.draw(i).unwrap().token).collect()
}

#[test]
fn the_same_is_the_same() {
    let (a, b) = (plain(), plain());
    let diff = between(&a, &b);
    assert!(diff.is_same());
    assert_eq!((diff.n_same, diff.a.replay.n_draws, diff.a.replay.n_same), (N_DRAWS, N_DRAWS, N_DRAWS));
    assert_eq!(diff.a.replay.first_other, None);
    assert_eq!(serde_json::to_value(&diff).unwrap()["parting"], serde_json::Value::Null);
}

/// The first logit that is changed by one unit in the last place is seen; so is the draw where it changes a token.
#[test]
fn logits_one_ulp_off() {
    let a = plain();
    let mut other = rows();
    other[3][17] = other[3][17].next_up();
    let b = record(sampler(20, 42), &[1, 2, 3], &other);
    assert_eq!(tokens(&a), tokens(&b));
    let diff = between(&a, &b);
    assert!(!diff.is_same() && diff.parting.is_none());
    assert_eq!((diff.earlier.len(), diff.earlier[0].draw, diff.earlier[0].n_draws), (1, 3, 1));
    let Difference::Logits(logits) = &diff.earlier[0].difference else { panic!("{diff:?}") };
    assert_eq!((logits.n_differ, logits.first.token, logits.max_ulp), (1, 17, Some(1)));

    // The drawn token is made unlikely at draw 5.
    let token = tokens(&a)[5] as usize;
    other[5][token] -= 30.0;
    let b = record(sampler(20, 42), &[1, 2, 3], &other);
    let diff = between(&a, &b);
    assert_eq!(parting(&diff), (5, Cause::Logits, [true, true]));
    assert_eq!(diff.parting.as_ref().unwrap().differences.len(), 1);
    assert_eq!((diff.earlier.len(), diff.earlier[0].draw), (1, 3));
    let json = serde_json::to_value(&diff).unwrap();
    assert_eq!(json["parting"]["cause"], "logits");
    assert_eq!(json["parting"]["differences"][0]["what"], "logits");
    assert_eq!(json["parting"]["differences"][0]["first"]["token"], token);
}

/// The user's story: a change of 1e-6 at step 3 is one of the logits, and not of the sampler.
#[test]
fn a_millionth_at_step_three() {
    let greedy = || Sampler::from_chain(Chain::new().with(TopK { k: 1 }).with(Dist::default()), Ctx::new(42)).unwrap();
    let mut rows = vec![vec![0.25_f32, 0.5, 1.0, -1.0]; 5];
    rows[3] = vec![0.25, 0.5, 0.5, -1.0];
    let a = record(greedy(), &[], &rows);
    rows[3][2] += 1e-6;
    let b = record(greedy(), &[], &rows);
    assert_eq!(parting(&between(&a, &b)), (3, Cause::Logits, [true, true]));
}

#[test]
fn another_seed() {
    let (a, b) = (plain(), record(sampler(20, 43), &[1, 2, 3], &rows()));
    let diff = between(&a, &b);
    let (_, cause, right) = parting(&diff);
    assert_eq!((cause, right), (Cause::Seed, [true, true]));
    assert_eq!(diff.parting.unwrap().differences, [Difference::Seed { a: 42, b: 43 }]);
}

#[test]
fn another_parameter() {
    let (a, b) = (plain(), record(sampler(2, 42), &[1, 2, 3], &rows()));
    let diff = between(&a, &b);
    let (_, cause, right) = parting(&diff);
    assert_eq!((cause, right), (Cause::Parameters, [true, true]));
    let Difference::Parameters { changes } = &diff.parting.unwrap().differences[0] else { panic!() };
    assert_eq!(changes.len(), 1);
    assert_eq!(changes[0].describe("A", "B"), "step 2 (top_k): k is 20 in A and 2 in B");
}

/// A knob that was turned in one of the runs.
#[test]
fn a_parameter_that_changes_on_the_way() {
    let mut b = recorded(sampler(20, 42), &[1, 2, 3]);
    draw(&mut b, &rows()[..4]);
    b.visit_mut(|temperature: &mut Temperature| temperature.temp = 0.01).unwrap();
    draw(&mut b, &rows()[4..]);
    let diff = between(&plain(), &finish(b));
    let (at, cause, right) = parting(&diff);
    assert!(at >= 4);
    assert_eq!((cause, right), (Cause::Parameters, [true, true]));
    assert_eq!(diff.b.replay.n_same, N_DRAWS);
}

#[test]
fn another_prompt() {
    let a = plain();
    let Some(b) =
        (0..50).map(|token| record(sampler(20, 42), &[1, token, 3], &rows())).find(|b| tokens(b) != tokens(&a))
    else {
        panic!("a penalty changes something");
    };
    let diff = between(&a, &b);
    let (_, cause, right) = parting(&diff);
    assert_eq!((cause, right), (Cause::History, [true, true]));
    let Difference::History(history) = &diff.parting.unwrap().differences[0] else { panic!() };
    assert_eq!((history.index, history.a, history.a_prompt), (Some(1), Some(2), 3));
}

/// The prompt ends elsewhere, or is longer.
#[test]
fn a_history_of_another_shape() {
    let mut b = recorded(sampler(20, 42), &[1, 2]);
    b.accept(3).unwrap();
    draw(&mut b, &rows());
    let diff = between(&plain(), &finish(b));
    assert!(diff.parting.is_none() && !diff.is_same());
    let Difference::History(history) = &diff.earlier[0].difference else { panic!() };
    assert_eq!((history.index, history.a_prompt, history.b_prompt), (None, 3, 2));
    assert_eq!(diff.earlier[0].n_draws, N_DRAWS);
    // In two parts it is the same prompt.
    let mut b = recorded(sampler(20, 42), &[1]);
    b.accept_prompt_all(&[2, 3]).unwrap();
    draw(&mut b, &rows());
    assert!(between(&plain(), &finish(b)).is_same());

    let diff = between(&record(sampler(20, 42), &[1, 2], &[]), &record(sampler(20, 42), &[1, 2, 3], &[]));
    let Difference::History(history) = &diff.earlier[0].difference else { panic!() };
    assert_eq!((history.index, history.a, history.b), (Some(2), None, Some(3)), "records without a draw differ, too");
    assert_eq!((diff.earlier[0].draw, diff.earlier[0].n_draws), (0, 0));
}

/// A record of another engine, whose sampler does not do what its chain says.
#[test]
fn a_forged_token_is_the_samplers() {
    let a = plain();
    let forged = |at: usize| {
        let mut recorder = Recorder::new(Vec::new(), &sampler(20, 42)).unwrap();
        recorder.prompt(&[1, 2, 3]).unwrap();
        for (i, row) in rows().iter().enumerate() {
            let token = if i == at { (tokens(&a)[i] + 1) % 50 } else { tokens(&a)[i] };
            recorder.draw(row, token).unwrap();
            recorder.accept(token).unwrap();
        }
        Record::from_bytes(recorder.into_inner()).unwrap()
    };
    let diff = between(&a, &forged(7));
    assert_eq!(parting(&diff), (7, Cause::Sampler, [true, false]));
    let parting_at = diff.parting.as_ref().unwrap();
    assert!(parting_at.differences.is_empty());
    let other = diff.b.replay.first_other.clone().unwrap();
    assert_eq!((other.draw, other.drawn), (7, Some(tokens(&a)[7])));
    let diff = between(&forged(2), &a);
    assert_eq!(parting(&diff), (2, Cause::Sampler, [false, true]));
}

/// Mirostat remembers how surprising tokens were: logits that differ and change no token can change a later one.
#[test]
fn what_the_steps_remember() {
    let mirostat = || {
        let chain = Chain::new().with(MirostatV2::new(3.0, 0.9));
        Sampler::from_chain(chain, Ctx::new(1).with_n_vocab(50)).unwrap()
    };
    let a = record(mirostat(), &[], &rows());
    let found = (0..50).find_map(|token| {
        let mut other = rows();
        other[2][token] += 1.0;
        let diff = between(&a, &record(mirostat(), &[], &other));
        diff.parting.as_ref().is_some_and(|parting| parting.draw > 2).then_some(diff)
    });
    let diff = found.expect("one of 50 changes a later token");
    let (at, cause, right) = parting(&diff);
    assert!(at > 2);
    assert_eq!((cause, right), (Cause::State, [true, true]));
    assert_eq!(diff.parting.unwrap().differences[0], Difference::State { seen: true });
    assert_eq!((diff.earlier[0].draw, diff.earlier[0].difference.cause()), (2, Cause::Logits));
}

/// What cannot be replayed is compared all the same, and nothing is claimed.
#[test]
fn a_chain_that_this_program_does_not_know() {
    let forge = |row: &[f32], token| {
        let mut header = sampler_chain::record::Header::of(&sampler(20, 42)).unwrap();
        header.parameters.chain["steps"][1]["type"] = "unheard_of".into();
        let mut recorder = Recorder::with_header(Vec::new(), &header).unwrap();
        recorder.draw(row, 1).unwrap();
        recorder.draw(&ROWS.row(1), token).unwrap();
        Record::from_bytes(recorder.into_inner()).unwrap()
    };
    let (row, mut other) = (ROWS.row(0), ROWS.row(0));
    let diff = between(&forge(&row, 5), &forge(&row, 6));
    assert_eq!(diff.parting.as_ref().unwrap().cause, Cause::Sampler);
    assert_eq!(diff.parting.as_ref().unwrap().a.as_ref().unwrap().drawn, None);
    let stopped = diff.a.replay.stopped.unwrap();
    assert!(stopped.starts_with("the chain: chain:1:") && stopped.contains("there is no step unheard_of"), "{stopped}");
    other[0] += 1.0;
    let diff = between(&forge(&row, 5), &forge(&other, 6));
    assert_eq!(diff.parting.as_ref().unwrap().cause, Cause::State, "the earlier row may be the reason");
    assert_eq!(diff.parting.unwrap().differences, [Difference::State { seen: false }]);
}

#[test]
fn the_engine_takes_another_token() {
    let a = plain();
    let mut b = recorded(sampler(20, 42), &[1, 2, 3]);
    draw(&mut b, &rows()[..6]);
    b.sample(&rows()[6]).unwrap();
    b.accept(49).unwrap();
    draw(&mut b, &rows()[7..]);
    let diff = between(&a, &finish(b));
    assert_eq!(parting(&diff), (6, Cause::Accepted, [true, true]));
    let token = tokens(&a)[6];
    let parting = diff.parting.unwrap();
    let [Difference::Accepted { a, b, after: Some(after) }] = parting.differences.as_slice() else {
        panic!("{parting:?}")
    };
    assert_eq!((a.as_slice(), b.as_slice(), after.index), (&[token][..], &[49][..], Some(9)));
}

#[test]
fn one_ends_before_the_other() {
    let (a, b) = (plain(), record(sampler(20, 42), &[1, 2, 3], &rows()[..9]));
    let diff = between(&a, &b);
    assert_eq!(parting(&diff), (9, Cause::Length, [true, false]));
    assert_eq!(diff.parting.as_ref().unwrap().b, None);
    assert_eq!((diff.a.n_draws, diff.b.n_draws), (12, 9));
    // Cut before the last token was accepted.
    let mut cut = recorded(sampler(20, 42), &[1, 2, 3]);
    draw(&mut cut, &rows()[..8]);
    cut.sample(&rows()[8]).unwrap();
    let diff = between(&finish(cut), &a);
    assert_eq!(parting(&diff), (9, Cause::Length, [false, true]));
}

/// Allows tokens from a number on.
struct From(u32);

impl Constraint for From {
    fn allows(&mut self, token: u32) -> bool {
        token >= self.0
    }
}

#[test]
fn another_grammar() {
    let under = |from: u32| {
        let mut sampler = recorded(sampler(20, 42), &[]);
        let token = sampler.sample_grammar_first(&ROWS.row(0), &mut From(from)).unwrap();
        sampler.accept(token).unwrap();
        (token, finish(sampler))
    };
    let (a_token, a) = under(0);
    let (b_token, b) = under(a_token + 1);
    assert_ne!(a_token, b_token);
    assert_eq!(parting(&between(&a, &b)), (0, Cause::Constraint, [true, true]));
}

/// Tokens are taken back in both, or in one.
#[test]
fn tokens_taken_back() {
    let again = |n: usize| {
        let mut sampler = recorded(sampler(20, 42), &[1, 2, 3]);
        draw(&mut sampler, &rows()[..6]);
        sampler.rewind(n).unwrap();
        draw(&mut sampler, &rows()[6..]);
        finish(sampler)
    };
    assert!(between(&again(2), &again(2)).is_same());
    let diff = between(&again(2), &again(3));
    assert_eq!(parting(&diff), (5, Cause::Accepted, [true, true]));
    let Difference::Accepted { a, b, after: Some(after) } = &diff.parting.unwrap().differences[0] else { panic!() };
    assert_eq!((a, after.index, after.a_len, after.b_len), (b, Some(6), 7, 6));
}

/// The same, written down frame by frame or as a state.
#[test]
fn a_state_is_what_led_to_it() {
    let by_state = |is_state: bool, token: u32| {
        let mut sampler = recorded(sampler(20, 42), &[1, 2, 3]);
        draw(&mut sampler, &rows()[..4]);
        if is_state {
            sampler.change(|sampler| sampler.accept(token).unwrap()).unwrap();
        } else {
            sampler.accept(token).unwrap();
        }
        draw(&mut sampler, &rows()[4..]);
        finish(sampler)
    };
    assert!(between(&by_state(true, 7), &by_state(false, 7)).is_same());
    let diff = between(&by_state(true, 8), &by_state(false, 7));
    assert_eq!(parting(&diff), (3, Cause::Accepted, [true, true]));
    let token = diff.parting.as_ref().unwrap().a.as_ref().unwrap().token;
    let Difference::Accepted { a, b, .. } = &diff.parting.unwrap().differences[0] else { panic!() };
    assert_eq!((a.as_slice(), b.as_slice()), (&[token, 8][..], &[token, 7][..]));
}

#[test]
fn another_treatment_of_odd_rows() {
    let diff =
        between(&plain(), &record(sampler(20, 42).with_non_finite(NonFinite::LikeLlamaCpp), &[1, 2, 3], &rows()));
    assert!(diff.parting.is_none());
    assert_eq!(diff.earlier[0].difference.cause(), Cause::Parameters);
}

#[test]
fn records_of_two_models_are_not_compared() {
    let other = Record::from_bytes({
        let mut recorder = Recorder::new(Vec::new(), &sampler(20, 42)).unwrap();
        recorder.draw(&[0.0; 51], 0).unwrap();
        recorder.into_inner()
    });
    let error = Diff::between(&plain(), &other.unwrap(), None).unwrap_err().to_string();
    assert_eq!(error, "record is of a vocabulary of 50 tokens, and record of 51: no records of the same generation");
}
