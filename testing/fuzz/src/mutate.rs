//! Spoils files, for the stable toolchain: a few changes at a time, of bytes, of numbers, and of whole parts.

use sampler_chain::Mt19937;

/// What stands in the place of a number of a text.
const NUMBERS: [&str; 22] = [
    "0",
    "-0",
    "1",
    "-1",
    "0.5",
    "1e308",
    "-1e308",
    "1e-46",
    "1e999",
    "NaN",
    "inf",
    "\"inf\"",
    "\"-inf\"",
    "null",
    "true",
    "[]",
    "{}",
    "\"\"",
    "2147483647",
    "-2147483648",
    "4294967296",
    "18446744073709551615",
];

/// What stands in the place of words of a binary file.
const WORDS: [u64; 8] = [0, 1, 255, u32::MAX as u64, u64::MAX, i32::MAX as u64, i64::MAX as u64, 1 << 63];

/// A generator of spoiled inputs.
pub struct Mutator(Mt19937);

impl Mutator {
    pub fn new(seed: u32) -> Self {
        Self(Mt19937::new(seed))
    }

    fn below(&mut self, n: usize) -> usize {
        self.0.next_u32() as usize % n.max(1)
    }

    fn range(&mut self, n: usize) -> std::ops::Range<usize> {
        let start = self.below(n);
        start..start + self.below((n - start).min(64) + 1)
    }

    /// An input: mostly one of the seeds with up to eight changes, else bytes out of nowhere.
    pub fn next_input(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        if self.below(16) == 0 {
            return (0..self.below(200)).map(|_| self.0.next_u32() as u8).collect();
        }
        let mut bytes = seeds[self.below(seeds.len())].clone();
        for _ in 0..1 + self.below(8) {
            self.change(&mut bytes, seeds);
        }
        bytes
    }

    fn change(&mut self, bytes: &mut Vec<u8>, seeds: &[Vec<u8>]) {
        let n = bytes.len();
        match self.below(11) {
            _ if n == 0 => bytes.push(self.0.next_u32() as u8),
            0 => bytes[self.below(n)] ^= 1 << self.below(8),
            1 => {
                let at = self.below(n);
                bytes[at] = self.0.next_u32() as u8;
            }
            2 => drop(bytes.drain(self.range(n))),
            3 => {
                let (part, at) = (bytes[self.range(n)].to_vec(), self.below(n));
                bytes.splice(at..at, part);
            }
            4 => bytes.truncate(self.below(n)),
            5 => {
                let other = &seeds[self.below(seeds.len())];
                let (part, into) = (other[self.range(other.len())].to_vec(), self.range(n));
                bytes.splice(into, part);
            }
            6 => {
                let (word, at, width) =
                    (WORDS[self.below(WORDS.len())].to_le_bytes(), self.below(n), [1, 2, 4, 8][self.below(4)]);
                bytes.iter_mut().skip(at).zip(&word[..width]).for_each(|(byte, new)| *byte = *new);
            }
            7 => {
                let (a, b) = (self.range(n), self.below(n));
                let part = bytes[a.clone()].to_vec();
                bytes.drain(a);
                let b = b.min(bytes.len());
                bytes.splice(b..b, part);
            }
            _ => self.change_number(bytes),
        }
    }

    /// Puts another value in the place of a number.
    fn change_number(&mut self, bytes: &mut Vec<u8>) {
        let start = self.below(bytes.len());
        let is_digit = |byte: &u8| byte.is_ascii_digit() || *byte == b'-' || *byte == b'.';
        let Some(at) = bytes[start..].iter().position(is_digit).map(|i| start + i) else { return };
        let end = bytes[at..].iter().position(|byte| !is_digit(byte)).map_or(bytes.len(), |i| at + i);
        bytes.splice(at..end, NUMBERS[self.below(NUMBERS.len())].bytes());
    }
}
