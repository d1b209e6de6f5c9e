//! Records: as they are, and with the checksums put right that no fuzzer guesses. What is read is replayed, and its frames agree
//! with each other.

use sampler_chain::record::Frame;
use sampler_chain::{LogitsFile, Record};

use crate::file::with_file;
use crate::named;

const NAME: &str = "fuzzed.record";

pub fn entry(data: &[u8]) {
    check(data);
    check(&resealed(data));
}

fn check(data: &[u8]) {
    let record = match Record::from_bytes(data.to_vec()) {
        Ok(record) => record,
        Err(error) => return named(&error, "record"),
    };
    check_frames(&record, data.len());
    match record.sampler(None) {
        Ok(sampler) if !is_slow(&record) => {
            for replayed in record.replay(sampler) {
                match replayed {
                    Ok(draw) => assert!(draw.draw < record.n_draws() && record.draw(draw.draw).is_some()),
                    Err(error) => named(&error, "frame"),
                }
            }
        }
        Ok(_) => crate::too_large(),
        Err(error) => named(&error, "record"),
    }
    with_file(NAME, data, |path| {
        let file = LogitsFile::open(path, None).expect("it was a record in memory");
        assert_eq!((file.n_rows(), Some(file.n_vocab())), (record.n_draws(), record.n_vocab().or(Some(0))));
        let cut = sampler_chain::record::mend(path).expect("a record can be mended");
        assert_eq!(cut, record.cut());
        let mended = Record::open(path).expect("a mended record can be read");
        assert!(!mended.is_cut() && mended.n_draws() == record.n_draws());
    });
}

fn check_frames(record: &Record, n_bytes: usize) {
    let n_tokens = record.n_vocab().unwrap_or(usize::MAX);
    let mut n_draws = 0;
    for frame in record.frames() {
        match frame {
            Frame::Draw(draw) => {
                n_draws += 1;
                assert!((draw.token as usize) < n_tokens && draw.row().len() == n_tokens);
                assert!(draw.mask().is_none_or(|mask| !mask.allows(u32::MAX)));
            }
            Frame::Prompt(tokens) | Frame::Accept(tokens) => {
                assert!(tokens.len() <= n_bytes / 4);
            }
            _ => {}
        }
    }
    assert_eq!(n_draws, record.n_draws());
    assert_eq!(record.prompt(), record.history(0).tokens());
    let mut row = Vec::new();
    for draw in [0, n_draws.saturating_sub(1), n_draws, usize::MAX] {
        let history = record.history(draw);
        assert!(history.n_prompt() <= history.tokens().len());
        assert_eq!(record.row(draw, &mut row).is_some(), draw < n_draws);
        let (parameters, _) = (record.parameters_at(draw), record.seed_at(draw));
        assert!(parameters.changes(parameters).is_empty());
        let _ = record.accepted(draw);
    }
}

/// Whether a saved generator is so far on that going there takes seconds; `tests/limits.rs` has that.
fn is_slow(record: &Record) -> bool {
    record.frames().any(|frame| match frame {
        Frame::State(state) => {
            let state = serde_json::to_value(state).expect("a snapshot is JSON");
            let numbers = state["state"].as_array().into_iter().flatten().filter_map(serde_json::Value::as_u64);
            numbers.into_iter().any(|number| (1 << 20..=1 << 31).contains(&number))
        }
        _ => false,
    })
}

/// The same with a header padded to whole words, and with every frame's checksum right.
fn resealed(data: &[u8]) -> Vec<u8> {
    let Some(newline) = data.iter().position(|&byte| byte == b'\n') else { return data.to_vec() };
    let mut bytes = data[..newline].to_vec();
    while !(bytes.len() + 1).is_multiple_of(4) {
        bytes.push(b' ');
    }
    bytes.push(b'\n');
    let mut at = bytes.len();
    bytes.extend_from_slice(&data[newline + 1..]);
    while let Some(length) = bytes.get(at + 4..at + 8).and_then(|four| four.try_into().ok()).map(u32::from_le_bytes) {
        let end = at + 8 + length as usize * 4;
        let Some(frame) = bytes.get(at..end) else { break };
        let crc = crc32fast::hash(frame).to_le_bytes();
        if let Some(four) = bytes.get_mut(end..end + 4) {
            four.copy_from_slice(&crc);
        }
        at = end + 4;
    }
    bytes
}
