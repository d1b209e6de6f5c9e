//! The quick forms beside their plain twins: a set that begins as a row of logits, and one that is an array from the start, go
//! through the same verbs, must answer alike after each, and agree in every bit at the end. Looking at all candidates in
//! between would write the row out, and leave nothing to compare.
//!
//! The test below makes its choices with a generator; `testing/fuzz` makes them of a fuzzer's bytes, through the feature `twin`.

use super::{Cand, CandBuf, CandSet, Penalty};
use crate::libstdcxx::Mt19937;

/// A random row: ties, masked, subnormal, huge, equal, peaked and plain logits, of sizes around every block and bucket boundary.
pub fn row(rng: &mut Mt19937) -> Vec<f32> {
    const SIZES: [usize; 32] = [
        1, 2, 3, 15, 16, 17, 63, 64, 65, 127, 128, 129, 200, 257, 300, 511, 512, 513, 575, 576, 577, 640, 800, 1024,
        1025, 1030, 1100, 1300, 2048, 2049, 3000, 9000,
    ];
    let n = SIZES[rng.next_u32() as usize % SIZES.len()];
    let (kind, lone) = (rng.next_u32() % 17, rng.next_u32() % 8);
    let offset = (rng.next_u32() % 5) as f32 * 6.0 - 14.0;
    (0..n as u32)
        .map(|place| {
            let x = rng.next_u32();
            let unit = (x >> 8) as f32 / 16_777_216.0;
            match kind {
                0 => (unit - 0.5) * 30.0,
                1 => (x % 5) as f32 - 2.0,
                2 => 1.5,
                3 if x.is_multiple_of(4) => f32::NEG_INFINITY,
                4 => f32::from_bits(x % 64),
                5 => (unit - 0.5) * f32::MAX,
                6 => unit.powi(8) * 24.0 - 8.0,
                7 => (x % 40) as f32 * 0.156_25 - 3.0,
                8 => -9.0 - unit * 2.0,
                9 if x.is_multiple_of(7) => f32::NAN,
                10 => normal(rng) * 3.0 + offset,
                // What an engine with 8 bits of mantissa gives.
                11 => f32::from_bits((normal(rng) * 4.0 + offset).to_bits() & 0xffff_0000),
                12 if x.is_multiple_of(1000) => f32::INFINITY,
                16 if place != lone => f32::NEG_INFINITY,
                13 => normal(rng) * 50.0 - 200.0,
                14 => normal(rng) * 1e6,
                _ => normal(rng) + if x.is_multiple_of(97) { 9.0 + 4.0 * unit } else { 0.0 } + offset,
            }
        })
        .collect()
}

fn normal(rng: &mut Mt19937) -> f32 {
    (0..6).map(|_| rng.uniform_f32() - 0.5).sum::<f32>() * 1.414
}

/// The state of a set, to the bit.
fn state(set: &mut CandSet<'_>) -> (Vec<(u32, u32, u32)>, bool, Option<usize>) {
    let (sorted, selected) = (set.is_sorted(), set.selected());
    (set.as_slice().iter().map(bits).collect(), sorted, selected)
}

fn bits(cand: &Cand) -> (u32, u32, u32) {
    (cand.id, cand.logit.to_bits(), cand.p.to_bits())
}

/// Does the same thing to both, as it is chosen. What it was, and what each answered.
fn change(choose: &mut impl FnMut() -> u32, sets: [&mut CandSet<'_>; 2]) -> (String, [Vec<u64>; 2]) {
    let verb = choose() % 29;
    let n = sets[0].len().max(1);
    let (k, x, other) = (choose() as usize, choose(), choose());
    let mut told = String::new();
    let answers = sets.map(|set| {
        let mut answer = Vec::new();
        told = match verb {
            0 => {
                set.top_k(k % 45);
                format!("top_k {}", k % 45)
            }
            1 => {
                let k = [1, 100, 127, 128, 129, 130, 199, 255, n - 1, n, n + 3, n / 2, n / 3, n / 5][k % 14];
                set.top_k(k);
                format!("top_k {k}")
            }
            2 => {
                let (best, by) = (set.argmax().filter(|_| k.is_multiple_of(2)), [1.0, 9.0][k / 2 % 2]);
                let id = best.and_then(|best| set.get(best)).map_or(x % (n as u32 + 3), |cand| cand.id);
                set.update(id, |logit| logit * 0.5 - by);
                format!("update {id}")
            }
            3 => {
                let most = if other.is_multiple_of(4) { n as u32 } else { 40 };
                let mut tokens: Vec<(u32, f32)> = (0..x % most)
                    .map(|i| ((i.wrapping_mul(7).wrapping_add(other)) % (n as u32 + 5), (i % 50) as f32 / 4.0 - 1.0))
                    .collect();
                tokens.sort_unstable_by_key(|token| token.0);
                tokens.dedup_by_key(|token| token.0);
                set.update_all(&tokens, |logit, by| logit - by);
                format!("update_all of {}", tokens.len())
            }
            4 => {
                let biases: Vec<(u32, f32)> = (0..x % 6)
                    .map(|i| {
                        (
                            (other >> i) % (n as u32 + 2),
                            match x % 97 {
                                6 => f32::INFINITY,
                                7..20 => f32::NEG_INFINITY,
                                _ => i as f32 - 2.0,
                            },
                        )
                    })
                    .collect();
                set.add_biases(biases.iter().copied());
                format!("add_biases {biases:?}")
            }
            5 => {
                let bound = set.max_logit() - (x % 20) as f32 / 3.0;
                let kept = set.retain_above(bound, k % 9);
                format!("retain_above {bound} {kept}")
            }
            6 => {
                set.truncate(1 + k % n);
                format!("truncate {}", 1 + k % n)
            }
            7 => {
                set.drop_front(k % 3);
                format!("drop_front {}", k % 3)
            }
            8 | 9 => {
                set.softmax(verb == 8);
                format!("softmax {}", verb == 8)
            }
            10 | 11 => {
                let temp = [0.0, 0.7, 1.3, 0.8, 1e-5, -1.0, 3.7][k % 7];
                set.temperature(temp);
                format!("temperature {temp}")
            }
            12 => {
                let p = [0.1, 0.5, 0.9, 0.95, 0.999][k % 5];
                let mut sum = 0.0;
                if other.is_multiple_of(3) {
                    set.softmax(x.is_multiple_of(3));
                }
                set.keep_through(|_, cand| {
                    sum += cand.p;
                    sum >= p
                });
                format!("keep_through {p}")
            }
            13 => {
                if let Some(best) = set.argmax() {
                    let i = if x.is_multiple_of(3) { k % set.len() } else { best };
                    set.select(i);
                    answer.extend([best as u64, u64::from(set.selected_is_sound())]);
                }
                "select".into()
            }
            14 => {
                set.sort();
                "sort".into()
            }
            15 => {
                let (max, mean, deviation) = set.spread();
                answer.extend([max, mean, deviation].map(|x| u64::from(x.to_bits())));
                set.mask_below(max - deviation * (1 + k % 3) as f32);
                "mask_below".into()
            }
            16 => {
                set.softmax(true);
                answer.push(u64::from(set.entropy().to_bits()));
                "entropy".into()
            }
            17 => {
                set.softmax(true);
                answer.push(u64::from(set.entropy_of_positive().to_bits()));
                "entropy_of_positive".into()
            }
            18 => {
                let (p, mut sum) = ([0.1, 0.5, 0.9, 0.99, 2.0][k % 5], 0.0);
                set.softmax(true);
                let entropy = set.entropy();
                set.keep_typical_through(entropy, |i, cand| {
                    sum += cand.p;
                    sum > p && i + 1 >= x as usize % 5
                });
                format!("keep_typical_through {p}")
            }
            19 => {
                set.softmax(true);
                set.softmax_f64();
                "softmax_f64".into()
            }
            20 | 21 => {
                let u = f64::from(x) / 4_294_967_296.0;
                set.select_by_logits(u);
                answer.extend([set.selected_id().map_or(0, u64::from), u64::from(set.selected_is_sound())]);
                format!("select_by_logits {u}")
            }
            23 => {
                let mut rng = Mt19937::new(x);
                set.softmax(true);
                let drawn = set.select_by_p(&mut rng);
                answer.extend([drawn.map_or(0, |cand| u64::from(cand.p.to_bits())), rng.taken()]);
                "select_by_p".into()
            }
            24 => {
                set.softmax(true);
                set.top_k([n / 2, n / 3, n - 1, n / 5, n / 7, n / 8][k % 6]);
                set.softmax(!x.is_multiple_of(3));
                "top_k of a softmax".into()
            }
            26 | 27 => {
                let most = if other.is_multiple_of(3) { n as u32 } else { 60 };
                let mut counts: Vec<(u32, u32)> = (0..x % most)
                    .map(|i| ((i.wrapping_mul(5).wrapping_add(other)) % (n as u32 + 5), 1 + i % 7))
                    .collect();
                counts.sort_unstable();
                counts.dedup_by_key(|count| count.0);
                let [repeat, freq, present] =
                    [[1.1, 0.0, 0.0], [1.0, 0.1, 0.4], [1.5, 0.0, 2.0], [0.8, 0.0, 0.0], [1.2, 3e38, 0.0]][k % 5];
                let penalty = Penalty { repeat, freq, present };
                set.penalise(&counts, penalty);
                format!("penalise {} by {penalty:?}", counts.len())
            }
            28 => {
                let tokens: Vec<u32> = (0..x % 6).map(|i| i * (n as u32 / 4 + 1) + other % 3).collect();
                let mut found = Vec::new();
                set.cands_of(&tokens, &mut found);
                answer.extend(found.iter().map(|cand| u64::from(cand.id) << 32 | u64::from(cand.logit.to_bits())));
                set.truncate(1 + k % n);
                set.bring_back(&found);
                format!("bring_back of {tokens:?} from {}", 1 + k % n)
            }
            22 => {
                let p = [0.3, 0.1, 0.01, 1e-4][k % 4];
                answer.push(set.position(|cand| cand.p < p).map_or(0, |i| i as u64 + 1));
                format!("position of p < {p}")
            }
            _ => {
                answer.extend(
                    set.first(k % 300).iter().map(|cand| u64::from(cand.id) << 32 | u64::from(cand.p.to_bits())),
                );
                format!("first {}", k % 300)
            }
        };
        answer.extend([set.len() as u64, u64::from(set.is_sorted()), set.selected().map_or(0, |i| i as u64 + 1)]);
        answer
    });
    (told, answers)
}

/// Takes a row through 1 to 6 verbs in both forms. Panics, with what was done, where they differ.
pub fn agree(logits: &[f32], choose: &mut impl FnMut() -> u32, bufs: &mut [CandBuf; 2]) {
    let [row_buf, array_buf] = bufs;
    let cands: Vec<Cand> = logits.iter().zip(0..).map(|(&logit, id)| Cand { id, logit, p: 0.0 }).collect();
    let mut row = CandSet::new(logits, row_buf);
    let mut array = CandSet::from_cands(&cands, false, array_buf);
    let mut told = Vec::new();
    for _ in 0..1 + choose() % 6 {
        let (what, [of_row, of_array]) = change(choose, [&mut row, &mut array]);
        told.push(what);
        assert!(of_row == of_array, "{} logits, {told:?}: {of_row:?}, {of_array:?}", logits.len());
    }
    if choose().is_multiple_of(4) {
        let (of_row, of_array) = (row.max_logit(), array.max_logit());
        assert!(of_row.to_bits() == of_array.to_bits(), "{told:?}: {of_row}, {of_array}");
    }
    let (of_row, of_array) = (state(&mut row), state(&mut array));
    let differs = of_row.0.iter().zip(&of_array.0).position(|(row, array)| row != array);
    let both = differs.map(|i| (i, of_row.0[i], of_array.0[i]));
    assert!(of_row == of_array, "{} logits, {told:?}: {both:x?}", logits.len());
}

#[test]
fn a_row_and_an_array_agree_after_every_verb() {
    let seed = std::env::var("TWIN_SEED").map_or(11_192, |seed| seed.parse().expect("TWIN_SEED is a number"));
    let mut rng = Mt19937::new(seed);
    let n_cases = if cfg!(debug_assertions) { 6_000 } else { 100_000 };
    let mut bufs = [CandBuf::default(), CandBuf::default()];
    for _ in 0..n_cases {
        let logits = row(&mut rng);
        agree(&logits, &mut || rng.next_u32(), &mut bufs);
    }
}
