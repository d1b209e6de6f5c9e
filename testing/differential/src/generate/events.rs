//! Histories, candidates to begin with, and what happens between draws.

use rand::Rng;
use rand::seq::{IndexedRandom, SliceRandom};
use rand_chacha::ChaCha8Rng;

use crate::case::{Event, Order, Start};
use crate::left_out::{self, Reason};
use crate::step::Step;

/// A token, more often one of the first few, so that histories, biases and breakers meet.
pub fn token(rng: &mut ChaCha8Rng, n_vocab: usize) -> u32 {
    let n = if rng.random_ratio(3, 4) { n_vocab.min(6) } else { n_vocab };
    rng.random_range(0..n) as u32
}

/// A prompt: none, a few tokens, or many; some that repeat themselves.
pub fn prompt(rng: &mut ChaCha8Rng, n_vocab: usize) -> Vec<u32> {
    let n = match rng.random_range(0..20) {
        0..=5 => 0,
        6..=12 => rng.random_range(1..12),
        13..=18 => rng.random_range(1..90),
        // Long enough now and then to fill a long window.
        _ if rng.random_ratio(1, 4) => rng.random_range(700..6000),
        _ => rng.random_range(1..700),
    };
    let period = if rng.random_ratio(1, 3) { rng.random_range(1..9) } else { n.max(1) };
    let unit: Vec<u32> = (0..period).map(|_| token(rng, n_vocab)).collect();
    unit.into_iter().cycle().take(n).collect()
}

/// Some of the tokens in some order, some of them perhaps twice, with flags.
pub fn start(rng: &mut ChaCha8Rng, n_vocab: usize) -> Start {
    let mut ids: Vec<u32> = (0..n_vocab as u32).collect();
    if rng.random_ratio(2, 3) {
        ids.shuffle(rng);
        ids.truncate(rng.random_range(1..=n_vocab));
    }
    // An engine may give a token twice.
    if rng.random_ratio(1, 6) {
        let again: Vec<u32> = (0..rng.random_range(1..4)).filter_map(|_| ids.choose(rng).copied()).collect();
        again.into_iter().for_each(|id| ids.insert(rng.random_range(0..=ids.len()), id));
    }
    let order = match rng.random_range(0..10) {
        0..=3 => Order::Given,
        4..=8 => Order::Sorted,
        _ => Order::SaidSorted,
    };
    let selected = if rng.random_ratio(1, 5) { Some(rng.random_range(0..ids.len())) } else { None };
    Start { ids, order, selected, p: *[0.0, 0.0, 0.25, f32::NAN].choose(rng).unwrap_or(&0.0) }
}

/// What happens after each draw: the drawn token is accepted, and now and then something else happens, too.
pub fn draws(rng: &mut ChaCha8Rng, n_vocab: usize, n: usize, steps: &[Step], out: &mut Vec<Reason>) -> Vec<Vec<Event>> {
    let is_eventful = rng.random_ratio(1, 2);
    let mut draws = Vec::with_capacity(n);
    for _ in 0..n {
        let mut events = Vec::new();
        // A redraw, as under a grammar: nothing is accepted.
        if !(is_eventful && rng.random_ratio(1, 12)) {
            events.push(Event::AcceptDrawn);
        }
        while is_eventful && rng.random_ratio(1, 6) {
            events.push(match rng.random_range(0..7) {
                0 => Event::Reset,
                1 => Event::Clone,
                2 => Event::CloneAside,
                3 => Event::Snapshot,
                _ => Event::Accept(token(rng, n_vocab)),
            });
        }
        let mut has_drawn = true;
        events.retain(|event| {
            let reason = match event {
                Event::Reset => {
                    has_drawn = false;
                    None
                }
                Event::Clone | Event::CloneAside => left_out::clone(steps, has_drawn),
                _ => None,
            };
            out.extend(reason);
            reason.is_none()
        });
        draws.push(events);
    }
    draws
}
