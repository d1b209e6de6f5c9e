//! `std::mt19937` and the two `std::uniform_real_distribution`s that llama.cpp draws through.

use std::fmt;

const N: usize = 624;
const M: usize = 397;
const UPPER: u32 = 0x8000_0000;
const LOWER: u32 = 0x7fff_ffff;

/// `std::mt19937`: the 32-bit Mersenne Twister of the C++ standard.
///
/// Every random step of a chain has one of its own, seeded with the chain's seed, as in llama.cpp.
#[derive(Clone, PartialEq, Eq)]
pub struct Mt19937 {
    state: Box<[u32; N]>,
    next: usize,
    /// How often the state was refilled: with `next` it tells how many outputs were taken.
    n_refills: u64,
}

impl Mt19937 {
    /// The generator as `std::mt19937(seed)` starts it.
    pub fn new(seed: u32) -> Self {
        let mut state = Box::new([0; N]);
        state[0] = seed;
        for i in 1..N {
            let before = state[i - 1];
            state[i] = 1_812_433_253u32.wrapping_mul(before ^ (before >> 30)).wrapping_add(i as u32);
        }
        Self { state, next: N, n_refills: 0 }
    }

    /// The generator as `std::mt19937(seed)` is after `taken` outputs. Takes time in proportion to `taken`, about 2 ns each.
    pub fn at(seed: u32, taken: u64) -> Self {
        let mut rng = Self::new(seed);
        if let Some(last) = taken.checked_sub(1) {
            for _ in 0..=last / N as u64 {
                rng.refill();
            }
            rng.next = (last % N as u64) as usize + 1;
        }
        rng
    }

    /// How many outputs were taken since the seed: what [`at`](Self::at) needs to come back here.
    pub fn taken(&self) -> u64 {
        (self.n_refills * N as u64 + self.next as u64) - N as u64
    }

    /// The next output, uniform over all of `u32`.
    pub fn next_u32(&mut self) -> u32 {
        if self.next == N {
            self.refill();
        }
        let mut y = self.state[self.next];
        self.next += 1;
        y ^= y >> 11;
        y ^= (y << 7) & 0x9d2c_5680;
        y ^= (y << 15) & 0xefc6_0000;
        y ^ (y >> 18)
    }

    /// A double in `[0, 1)`: `std::uniform_real_distribution<double>(0, 1)`. Takes two outputs, the low word first.
    pub fn uniform(&mut self) -> f64 {
        let low = f64::from(self.next_u32());
        let high = f64::from(self.next_u32());
        let x = (low + high * 4_294_967_296.0) / 18_446_744_073_709_551_616.0;
        if x < 1.0 { x } else { 1.0f64.next_down() }
    }

    /// A float in `[0, 1)`: `std::uniform_real_distribution<float>(0, 1)`. Takes one output.
    pub fn uniform_f32(&mut self) -> f32 {
        let x = self.next_u32() as f32 / 4_294_967_296.0f32;
        if x < 1.0 { x } else { 1.0f32.next_down() }
    }

    fn refill(&mut self) {
        for i in 0..N {
            let y = (self.state[i] & UPPER) | (self.state[(i + 1) % N] & LOWER);
            let twist = if y & 1 == 0 { 0 } else { 0x9908_b0df };
            self.state[i] = self.state[(i + M) % N] ^ (y >> 1) ^ twist;
        }
        self.next = 0;
        self.n_refills += 1;
    }
}

impl Default for Mt19937 {
    /// The standard's default seed, 5489.
    fn default() -> Self {
        Self::new(5489)
    }
}

impl fmt::Debug for Mt19937 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut ahead = self.clone();
        write!(f, "Mt19937 {{ next output: {} }}", ahead.next_u32())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_standards_ten_thousandth_output() {
        let mut rng = Mt19937::default();
        for _ in 0..9_999 {
            rng.next_u32();
        }
        assert_eq!(rng.next_u32(), 4_123_659_995);
    }

    #[test]
    fn first_outputs_of_seed_42() {
        let mut rng = Mt19937::new(42);
        let first: Vec<u32> = (0..4).map(|_| rng.next_u32()).collect();
        assert_eq!(first, [1_608_637_542, 3_421_126_067, 4_083_286_876, 787_846_414]);
    }

    #[test]
    fn a_double_takes_two_outputs_low_word_first() {
        let mut rng = Mt19937::new(42);
        let x = rng.uniform();
        let bits = (3_421_126_067u64 << 32) + 1_608_637_542;
        assert_eq!(x, bits as f64 / 2f64.powi(64));
        assert_eq!(rng.next_u32(), 4_083_286_876);
    }

    #[test]
    fn a_float_takes_one_output() {
        let mut rng = Mt19937::new(42);
        assert_eq!(rng.uniform_f32().to_bits(), (1_608_637_542u32 as f32 / 4_294_967_296.0).to_bits());
        assert_eq!(rng.next_u32(), 3_421_126_067);
    }

    #[test]
    fn comes_back_to_any_place() {
        let mut rng = Mt19937::new(7);
        for taken in 0..2000 {
            assert_eq!(rng.taken(), taken);
            if taken % 89 == 0 || taken % 624 < 2 || taken % 624 == 623 {
                assert_eq!(Mt19937::at(7, taken), rng, "{taken}");
            }
            rng.next_u32();
        }
    }

    #[test]
    fn neither_draw_reaches_one() {
        // The state word whose tempered output is u32::MAX, found by undoing the tempering's four steps.
        let all_ones = |words: usize| {
            let mut rng = Mt19937::new(1);
            let mut y = u32::MAX;
            y ^= y >> 18;
            y ^= (y << 15) & 0xefc6_0000;
            let mut x = y;
            for _ in 0..4 {
                x = y ^ ((x << 7) & 0x9d2c_5680);
            }
            let mut z = x;
            for _ in 0..2 {
                z = x ^ (z >> 11);
            }
            rng.state[..words].fill(z);
            rng.next = 0;
            rng
        };
        assert_eq!(all_ones(1).next_u32(), u32::MAX);
        assert_eq!(all_ones(1).uniform_f32(), 1.0f32.next_down());
        assert_eq!(all_ones(2).uniform(), 1.0f64.next_down());
    }
}
