//! Hostile files, made byte by byte.

use std::path::Path;

use crate::measure::Ready;

pub fn word(word: u32) -> Vec<u8> {
    word.to_le_bytes().to_vec()
}

pub fn bytes(number: u64) -> Vec<u8> {
    number.to_le_bytes().to_vec()
}

pub fn header(n_tensors: u64, n_values: u64) -> Vec<u8> {
    [b"GGUF".to_vec(), word(3), bytes(n_tensors), bytes(n_values)].concat()
}

pub fn key(key: &str) -> Vec<u8> {
    [bytes(key.len() as u64), key.as_bytes().to_vec()].concat()
}

/// A file of one value of a type.
pub fn value(kind: u32, content: &[Vec<u8>]) -> Vec<u8> {
    [header(0, 1), key("k"), word(kind), content.concat()].concat()
}

/// Shows bytes as a file.
pub fn with_file<T>(ready: &mut Ready, name: &str, bytes: Vec<u8>, read: impl FnOnce(&Path) -> T) -> T {
    let dir = tempfile::tempdir().expect("there is a folder for temporary files");
    let path = dir.path().join(name);
    std::fs::write(&path, &bytes).expect("it can be written");
    let n_bytes = bytes.len();
    drop(bytes);
    ready.input(n_bytes);
    read(&path)
}

pub fn record_header(n_vocab: u32, steps: &str) -> Vec<u8> {
    let mut line = format!(
        r#"{{"sampler_chain_record":1,"n_vocab":{n_vocab},"seed":1,"chain":{{"version":1,"steps":[{steps}]}},"program":"x"}}"#
    );
    while !(line.len() + 1).is_multiple_of(4) {
        line.push(' ');
    }
    (line + "\n").into_bytes()
}

pub fn frame(kind: &[u8; 4], words: &[u32]) -> Vec<u8> {
    let content: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut frame = [kind.to_vec(), word(words.len() as u32), content].concat();
    let crc = crc32(&frame);
    frame.extend(crc.to_le_bytes());
    frame
}

/// CRC-32 as in zlib, bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, byte: &u8| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 })
    };
    !bytes.iter().fold(u32::MAX, step)
}

pub fn packed(content: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    writer.write_all(content).expect("memory takes what is written");
    writer.finish().expect("memory takes what is written")
}
