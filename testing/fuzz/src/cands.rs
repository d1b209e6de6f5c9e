//! The candidates' verbs: a row in its quick form beside its array, through the driver of the crate's own twin test. The first
//! byte chooses the row (the generator's or the bytes' own), the rest the verbs.

use std::cell::RefCell;

use sampler_chain::{CandBuf, Mt19937};
use sampler_steps::twin::{agree, row};

thread_local! {
    static BUFS: RefCell<[CandBuf; 2]> = RefCell::default();
}

pub fn entry(data: &[u8]) {
    let Some((&kind, rest)) = data.split_first() else { return };
    let (choices, logits) = if kind % 2 == 0 {
        let Some((seed, rest)) = rest.split_first_chunk() else { return };
        (rest, row(&mut Mt19937::new(u32::from_le_bytes(*seed))))
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
    BUFS.with_borrow_mut(|bufs| agree(&logits, &mut choose, bufs));
}
