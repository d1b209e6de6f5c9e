//! The candidates' verbs, beside a naive model ([`model`]) or a row beside its array, through the driver of the crate's own twin test.
//! The first byte chooses which, and the row (the generator's or the bytes' own), the rest the verbs.

mod model;
mod verbs;

use std::cell::RefCell;

use model::Model;
use sampler_chain::{Cand, CandBuf, CandSet, Mt19937};
use sampler_steps::twin;
use verbs::{Verb, bits, state, to_model, to_set};

thread_local! {
    static BUFS: RefCell<[CandBuf; 2]> = RefCell::default();
}

pub fn entry(data: &[u8]) {
    let Some((&kind, rest)) = data.split_first() else { return };
    let (choices, logits) = if kind % 2 == 0 {
        let Some((seed, rest)) = rest.split_first_chunk() else { return };
        (rest, twin::row(&mut Mt19937::new(u32::from_le_bytes(*seed))))
    } else {
        let (logits, rest) = rest.split_at(rest.len() * 3 / 4);
        let logits: Vec<f32> = logits.as_chunks().0.iter().map(|four| f32::from_le_bytes(*four)).collect();
        // One byte a logit gives longer rows, with ties.
        let bytes = || logits.iter().flat_map(|logit| logit.to_le_bytes()).map(|byte| f32::from(byte as i8) / 8.0);
        (rest, if kind & 2 == 0 { logits.clone() } else { bytes().collect() })
    };
    if logits.is_empty() {
        return;
    }
    let mut words = choices.as_chunks().0.iter();
    let mut more = Mt19937::new(u32::from(kind));
    let mut choose = || words.next().map_or_else(|| more.next_u32(), |four| u32::from_le_bytes(*four));
    BUFS.with_borrow_mut(|bufs| match kind >> 2 & 3 {
        0 => twin::agree(&logits, &mut choose, bufs),
        form => agree(&logits, form, &mut choose, &mut bufs[0]),
    });
}

/// Takes candidates through 1 to 6 verbs, and a model beside them. After each verb all candidates are compared: in a set that goes
/// the whole way anew, since looking at them would write a row out that is otherwise only asked.
fn agree(logits: &[f32], form: u8, choose: &mut impl FnMut() -> u32, buf: &mut CandBuf) {
    let mut cands: Vec<Cand> = logits.iter().zip(0..).map(|(&logit, id)| Cand { id, logit, p: 0.0 }).collect();
    let mut sorted = false;
    if form == 3 {
        // What an engine may give: cut and in an order of its own.
        let by = choose() as usize % cands.len();
        cands.rotate_left(by);
        cands.truncate(1 + choose() as usize % cands.len());
        sorted = cands.is_sorted_by(|a, b| a.logit >= b.logit);
    }
    let mut model = Model::new(&cands, sorted);
    let (mut verbs, mut answers) = (Vec::new(), Vec::new());
    for _ in 0..1 + choose() % 6 {
        let verb = Verb::choose(&mut *choose, &model);
        answers.push(to_model(&verb, &mut model));
        verbs.push(verb);
        let mut set = if form == 1 { CandSet::new(logits, buf) } else { CandSet::from_cands(&cands, sorted, buf) };
        assert_eq!(set.began_sound(), form != 1 || is_sound(logits));
        for (i, (verb, expected)) in verbs.iter().zip(&answers).enumerate() {
            let answer = to_set(verb, &mut set);
            let at = answer.iter().zip(expected).position(|(answer, expected)| answer != expected);
            let both = at.map(|at| (at, answer[at], expected[at]));
            assert!(answer == *expected, "{} logits, verb {i} of {verbs:?} answers otherwise: {both:x?}", logits.len());
        }
        let (found, expected) = (state(set.as_slice()), state(model.as_slice()));
        let differs = found.iter().zip(&expected).position(|(found, expected)| found != expected);
        let both = differs.map(|i| (i, found[i], expected[i]));
        assert!(found == expected, "{} logits, {verbs:?}: {both:x?}", logits.len());
    }
}

fn is_sound(logits: &[f32]) -> bool {
    let is_sound = |&logit: &f32| bits(logit) != bits(f32::NAN) && logit < f32::INFINITY;
    logits.iter().all(is_sound) && logits.iter().any(|&logit| logit > f32::NEG_INFINITY)
}
