//! Whatever a sampler went through, its record gives the same tokens again.

use std::sync::Arc;

use sampler_chain::record::{Masking, Replayed};
use sampler_chain::steps::{AdaptiveP, Dist, Dry, Greedy, Mirostat, Penalties, Temperature, TopK, Xtc};
use sampler_chain::{
    Chain, Constraint, Ctx, DryBreakers, NonFinite, Record, Recorded, Recorder, SampleError, Sampler, Synthetic,
    SyntheticKind, VocabFile,
};

const ROWS: Synthetic = Synthetic { kind: SyntheticKind::Peaked, seed: 7, n_vocab: 300, rows: 64 };

/// A chain that remembers much.
fn chain() -> Chain {
    Chain::new()
        .with(Penalties::new(16, 1.2, 0.1, 0.0))
        .with(Xtc::new(0.5, 0.05, 0))
        .with(Temperature::new(1.3))
        .with(AdaptiveP::new(0.3, 0.8))
}

fn recorded(sampler: Sampler) -> Recorded<Vec<u8>> {
    Recorded::new(Recorder::new(Vec::new(), &sampler).unwrap(), sampler)
}

fn draw(sampler: &mut Recorded<Vec<u8>>, rows: std::ops::Range<usize>) -> Vec<u32> {
    let draw = |i| {
        let token = sampler.sample(&ROWS.row(i)).unwrap();
        sampler.accept(token).unwrap();
        token
    };
    rows.map(draw).collect()
}

fn finish(sampler: Recorded<Vec<u8>>) -> (Record, Sampler) {
    let (sampler, recorder) = sampler.into_parts();
    (Record::from_bytes(recorder.into_inner()).unwrap(), sampler)
}

/// Replays with the record's own chain; every token and the state at the end must be what they were.
fn check(sampler: Recorded<Vec<u8>>) -> Record {
    let (record, at_the_end) = finish(sampler);
    let mut replay = record.replay(record.sampler(None).unwrap());
    let replayed: Vec<Replayed> = replay.by_ref().map(Result::unwrap).collect();
    assert_eq!(replayed.len(), record.n_draws());
    for (i, draw) in replayed.iter().enumerate() {
        assert_eq!((draw.draw, &draw.drawn), (i, &Ok(draw.recorded)));
    }
    assert_eq!(replay.sampler().snapshot(), at_the_end.snapshot());
    assert_eq!(record.history(record.n_draws()).to_history(), *at_the_end.ctx().history());
    record
}

#[test]
fn a_generation_with_all_that_an_engine_does() {
    let mut sampler = recorded(Sampler::from_chain(chain(), Ctx::new(5)).unwrap());
    sampler.accept_prompt_all(&[1, 2, 3]).unwrap();
    draw(&mut sampler, 0..10);
    // A token is taken back, and a draw that was not accepted.
    sampler.rewind(3).unwrap();
    sampler.sample(&ROWS.row(7)).unwrap();
    sampler.rewind(0).unwrap();
    draw(&mut sampler, 7..12);
    // A second turn.
    sampler.accept_prompt_all(&[9, 9, 8]).unwrap();
    draw(&mut sampler, 12..16);
    // The user turns a knob; what came before can still be taken back.
    sampler.visit_mut(|temperature: &mut Temperature| temperature.temp = 0.6).unwrap();
    sampler.visit_mut(|_: &mut Dry| unreachable!("there is none")).unwrap();
    draw(&mut sampler, 16..20);
    sampler.rewind(6).unwrap();
    draw(&mut sampler, 18..24);
    // Another draws a token that the engine does not take.
    sampler.sample(&ROWS.row(24)).unwrap();
    sampler.accept(17).unwrap();
    // A draft: three right, one wrong.
    let rows: Vec<Vec<f32>> = (25..30).map(|i| ROWS.row(i)).collect();
    let mut ahead = sampler.sampler().clone();
    let mut draft = ahead.sample_and_accept(&[], [rows[0].as_slice()]).unwrap();
    draft.push(299);
    let taken = sampler.sample_and_accept(&draft, rows.iter().map(Vec::as_slice)).unwrap();
    assert_eq!(taken.len(), 2);
    sampler.reset().unwrap();
    draw(&mut sampler, 30..35);
    let saved = sampler.sampler().snapshot();
    draw(&mut sampler, 35..40);
    sampler.change(|sampler| sampler.restore(&saved)).unwrap().unwrap();
    draw(&mut sampler, 36..44);
    let record = check(sampler);
    assert_eq!(record.n_draws(), 10 + 1 + 5 + 4 + 4 + 6 + 1 + 2 + 5 + 5 + 8);
    assert_eq!(record.parameters_at(10).steps()[2]["temp"], 1.3);
    assert_eq!(record.parameters_at(24).steps()[2]["temp"], 0.6);
}

#[test]
fn another_chain_in_the_same_record() {
    let mut sampler = recorded(Sampler::from_chain(chain(), Ctx::new(5)).unwrap());
    draw(&mut sampler, 0..5);
    let mirostat = Chain::new().with(Temperature::new(0.9)).with(Mirostat::new(4.0, 0.1, 100));
    let other = Sampler::from_chain(mirostat, Ctx::new(6).with_n_vocab(300)).unwrap();
    sampler.change(|sampler| *sampler = other.with_non_finite(NonFinite::LikeLlamaCpp)).unwrap();
    draw(&mut sampler, 5..12);
    let record = check(sampler);
    assert_eq!((record.seed_at(4), record.seed_at(5)), (5, 6));
    assert_eq!(record.parameters_at(5).non_finite, NonFinite::LikeLlamaCpp);
}

/// A record that begins in the middle of a generation.
#[test]
fn a_sampler_with_a_past() {
    let mut sampler = Sampler::from_chain(chain(), Ctx::new(5)).unwrap();
    sampler.accept_prompt_all(&[4, 5]).unwrap();
    for i in 0..6 {
        let token = sampler.sample(&ROWS.row(i)).unwrap();
        sampler.accept(token).unwrap();
    }
    let mut sampler = recorded(sampler);
    draw(&mut sampler, 6..9);
    // More than the record has seen.
    sampler.rewind(5).unwrap();
    draw(&mut sampler, 4..12);
    let record = check(sampler);
    assert_eq!((record.prompt().len(), record.history(0).n_prompt()), (8, 2));
}

/// A history that comes with the context stays through a reset.
#[test]
fn a_context_with_a_history() {
    let mut ctx = Ctx::new(5);
    [1, 2].iter().for_each(|&token| ctx.history_mut().push_prompt(token));
    let mut sampler = recorded(Sampler::from_chain(chain(), ctx).unwrap());
    draw(&mut sampler, 0..3);
    sampler.reset().unwrap();
    draw(&mut sampler, 0..3);
    assert_eq!(check(sampler).history(3).tokens(), [1, 2]);
}

/// Allows every third token.
struct Thirds;

impl Constraint for Thirds {
    fn allows(&mut self, token: u32) -> bool {
        token.is_multiple_of(3)
    }
}

#[test]
fn draws_under_a_grammar() {
    let mut sampler = recorded(Sampler::from_chain(chain(), Ctx::new(11)).unwrap());
    let mut n_redrawn = 0;
    for i in 0..20 {
        let (token, redrawn) = sampler.sample_constrained(&ROWS.row(i), &mut Thirds).unwrap();
        n_redrawn += usize::from(redrawn);
        assert!(token.is_multiple_of(3));
        sampler.accept(token).unwrap();
    }
    let token = sampler.sample_grammar_first(&ROWS.row(20), &mut Thirds).unwrap();
    sampler.accept(token).unwrap();
    let record = check(sampler);
    let of = |masking| (0..21).filter(|&i| record.draw(i).unwrap().masking == masking).count();
    assert_eq!((of(Masking::Redraw), of(Masking::None), of(Masking::First)), (n_redrawn, 20 - n_redrawn, 1));
    assert!(n_redrawn > 3 && n_redrawn < 20);
}

/// A draw that fails is none, but what it moved has moved.
#[test]
fn a_row_that_gives_no_token() {
    let mut sampler = recorded(Sampler::from_chain(chain(), Ctx::new(5).with_n_vocab(300)).unwrap());
    draw(&mut sampler, 0..2);
    let mut bad = ROWS.row(2);
    bad[5] = f32::NAN;
    let error = sampler.sample(&bad).unwrap_err();
    assert_eq!(error.to_string(), SampleError::NonFinite { index: 5, kind: "NaN" }.to_string());
    assert!(sampler.sample(&[1.0]).is_err() && sampler.accept(300).is_err());
    assert!(sampler.accept_prompt_all(&[7, 300, 8]).is_err());
    assert!(sampler.rewind(9).is_err());
    draw(&mut sampler, 2..5);
    let record = check(sampler);
    assert_eq!((record.n_draws(), record.accepted(1).last()), (5, Some(&7)));
}

#[test]
fn a_policy_for_odd_rows_is_a_part_of_the_record() {
    let greedy = Sampler::from_chain(Chain::new().with(Greedy {}), Ctx::new(1)).unwrap();
    let mut sampler = recorded(greedy.with_non_finite(NonFinite::FiniteArgmax));
    let mut odd = ROWS.row(0);
    odd[3] = f32::NAN;
    let token = sampler.sample(&odd).unwrap();
    sampler.accept(token).unwrap();
    check(sampler);
}

/// The breakers of DRY depend on the vocabulary, and the record knows whether they are the same.
#[test]
fn breakers_that_only_a_vocabulary_makes() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("testing/data/small-vocab.json");
    let vocab = Arc::new(VocabFile::read(&path).unwrap());
    let dry = Chain::new().with(Dry::new(0.8, 1.75, 2, 64)).with(TopK { k: 5 }).with(Dist::default());
    let sampler = Sampler::from_chain(dry.clone(), Ctx::new(3).with_vocab(vocab.clone())).unwrap();
    let mut sampler = recorded(sampler);
    let rows = Synthetic { n_vocab: 2048, ..ROWS };
    for i in 0..5 {
        let token = sampler.sample(&rows.row(i)).unwrap();
        sampler.accept(token).unwrap();
    }
    let (record, _) = finish(sampler);
    assert!(record.replay(record.sampler(Some(vocab.clone())).unwrap()).all(|draw| draw.unwrap().drawn.is_ok()));
    let told = record.sampler(None).unwrap_err().to_string();
    assert!(told.starts_with("record: the breakers of DRY are others here than when it was recorded"), "{told}");
    let blank = Arc::new(VocabFile::read(&path.with_file_name("tiny-vocab.json")).unwrap());
    let told = record.sampler(Some(blank)).unwrap_err().to_string();
    assert_eq!(told, "record: the record is of a vocabulary of 2048 tokens, and this one has 512");

    // An engine that has a tokenizer of its own gives them, when it records and when it replays.
    let given = || {
        let mut sampler = Sampler::from_chain(dry.clone(), Ctx::new(3).with_n_vocab(2048)).unwrap();
        sampler.set_dry_breakers(Arc::new(DryBreakers::from_tokens(&[vec![5]])));
        sampler
    };
    let mut sampler = recorded(given());
    let token = sampler.sample(&rows.row(0)).unwrap();
    let (record, _) = finish(sampler);
    assert!(record.sampler(None).is_err());
    let replayed: Vec<_> = record.replay(given()).map(|draw| draw.unwrap().drawn).collect();
    assert_eq!(replayed, [Ok(token)]);
}

/// Any chain can be brought to a draw of a record: with its history, and its own generators as far on as they would be.
#[test]
fn a_chain_of_ones_own_is_led_through_a_record() {
    let mut original = recorded(Sampler::from_chain(chain(), Ctx::new(5)).unwrap());
    original.accept_prompt_all(&[1, 2]).unwrap();
    draw(&mut original, 0..6);
    original.rewind(2).unwrap();
    draw(&mut original, 4..9);
    let (record, _) = finish(original);

    let dist = || Sampler::from_chain(Chain::new().with(Dist::default()), Ctx::new(8)).unwrap();
    let mut led = dist();
    record.lead(&mut led, 8).unwrap();
    assert_eq!(led.ctx().history(), &record.history(8).to_history());
    record.follow(&mut led, 8).unwrap();
    assert_eq!(led.ctx().history(), &record.history(9).to_history());
    assert_eq!(led.ctx().history().n_prompt(), 2);

    // The record's own chain comes to where it was.
    let mut own = record.sampler(None).unwrap();
    record.lead(&mut own, 8).unwrap();
    assert_eq!(own.sample(&ROWS.row(6)), Ok(record.draw(8).unwrap().token));

    let narrow = Sampler::from_chain(Chain::new().with(Dist::default()), Ctx::new(8).with_n_vocab(2));
    let told = record.lead(&mut narrow.unwrap(), 1).unwrap_err().to_string();
    assert_eq!(told, "frame 0: token 2 is beyond the vocabulary of 2 tokens");
}
