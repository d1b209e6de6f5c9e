//! What the fuzzers found, minimised and packed: `corpora/TARGET.gz` holds inputs, each behind its length as four bytes, the lowest first.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

/// A packed corpus has so many bytes at most.
pub const MAX_PACKED: usize = 25_000;

/// Where a target's corpus lies.
pub fn path(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("corpora/{target}.gz"))
}

/// The inputs of a target's corpus; none where it has none.
pub fn read(target: &str) -> Vec<Vec<u8>> {
    let path = path(target);
    match std::fs::read(&path) {
        Ok(packed) => unpack(&packed).unwrap_or_else(|| panic!("{} is broken", path.display())),
        Err(_) => Vec::new(),
    }
}

/// Packs inputs.
pub fn pack(inputs: &[Vec<u8>]) -> std::io::Result<Vec<u8>> {
    let mut out = GzEncoder::new(Vec::new(), Compression::best());
    for input in inputs {
        out.write_all(&(input.len() as u32).to_le_bytes())?;
        out.write_all(input)?;
    }
    out.finish()
}

fn unpack(packed: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut bytes = Vec::new();
    GzDecoder::new(packed).read_to_end(&mut bytes).ok()?;
    let (mut inputs, mut rest) = (Vec::new(), &bytes[..]);
    while let Some((length, more)) = rest.split_first_chunk() {
        let (input, after) = more.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        inputs.push(input.to_vec());
        rest = after;
    }
    rest.is_empty().then_some(inputs)
}

/// The most of the smallest inputs that fit in when packed.
pub fn pack_smallest(mut inputs: Vec<Vec<u8>>) -> std::io::Result<(usize, Vec<u8>)> {
    inputs.sort_by(|a, b| a.len().cmp(&b.len()).then(a.cmp(b)));
    inputs.dedup();
    let (mut fits, mut too_many) = (0, inputs.len() + 1);
    while too_many - fits > 1 {
        let n = fits.midpoint(too_many);
        if pack(&inputs[..n])?.len() <= MAX_PACKED { fits = n } else { too_many = n }
    }
    Ok((fits, pack(&inputs[..fits])?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_is_unpacked() {
        let inputs = vec![Vec::new(), vec![0; 70_000], b"{}".to_vec()];
        let packed = pack(&inputs).expect("memory takes what is written");
        assert_eq!(unpack(&packed), Some(inputs));
        assert_eq!(unpack(&packed[..packed.len() - 1]), None);
        assert_eq!(unpack(&pack(&[]).expect("memory takes what is written")), Some(Vec::new()));
    }

    #[test]
    fn the_smallest_are_kept() {
        let mut rng = sampler_chain::Mt19937::new(3);
        let inputs: Vec<Vec<u8>> = (0..400).map(|n| (0..n).map(|_| rng.next_u32() as u8).collect()).collect();
        let (n, packed) = pack_smallest(inputs.iter().rev().cloned().collect()).expect("memory takes what is written");
        assert!(packed.len() <= MAX_PACKED && (200..230).contains(&n), "{n} in {} bytes", packed.len());
        assert_eq!(unpack(&packed).as_deref(), Some(&inputs[..n]));
    }
}
