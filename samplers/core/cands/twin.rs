//! The quick forms beside their plain twins: a set that begins as a view of the logits, and one that is an array from the
//! start, go through the same verbs and must agree in every bit after each.

use rustc_hash::FxHashMap;

use super::{Cand, CandBuf, CandSet};
use crate::libstdcxx::Mt19937;

/// A random row: ties, masked, subnormal, huge, equal and plain logits, of sizes around every block and bucket boundary.
fn row(rng: &mut Mt19937) -> Vec<f32> {
    const SIZES: [usize; 20] =
        [1, 2, 3, 15, 16, 17, 63, 64, 65, 127, 128, 129, 130, 200, 255, 256, 257, 300, 1024, 1100];
    let n = SIZES[rng.next_u32() as usize % SIZES.len()];
    let kind = rng.next_u32() % 10;
    (0..n)
        .map(|_| {
            let x = rng.next_u32();
            let unit = (x >> 8) as f32 / 16_777_216.0;
            match kind {
                0 => (unit - 0.5) * 30.0,
                1 => (x % 5) as f32 - 2.0,
                2 => 1.5,
                3 if x.is_multiple_of(4) => f32::NEG_INFINITY,
                9 if x.is_multiple_of(7) => f32::NAN,
                4 => f32::from_bits(x % 64),
                5 => (unit - 0.5) * f32::MAX,
                6 => unit.powi(8) * 24.0 - 8.0,
                7 => (x % 40) as f32 * 0.156_25 - 3.0,
                _ => -9.0 - unit * 2.0,
            }
        })
        .collect()
}

/// The state of a set, to the bit.
fn state(set: &CandSet<'_>) -> (Vec<(u32, u32, u32)>, bool, Option<usize>) {
    let bits = |cand: Cand| (cand.id, cand.logit.to_bits(), cand.p.to_bits());
    ((0..set.len()).filter_map(|i| set.get(i)).map(bits).collect(), set.is_sorted(), set.selected())
}

/// Does the same random thing to both.
fn change(rng: &mut Mt19937, sets: [&mut CandSet<'_>; 2]) -> String {
    let verb = rng.next_u32() % 14;
    let n = sets[0].len().max(1);
    let (k, x, other) = (rng.next_u32() as usize, rng.next_u32(), rng.next_u32());
    let mut told = String::new();
    for set in sets {
        told = match verb {
            0 => {
                set.top_k(k % 45);
                format!("top_k {}", k % 45)
            }
            1 => {
                let k = [1, 100, 127, 128, 129, 130, 199, 255, n - 1, n, n + 3][k % 11];
                set.top_k(k);
                format!("top_k {k}")
            }
            2 => {
                set.update(x % (n as u32 + 3), |logit| logit * 0.5 - 1.0);
                "update".into()
            }
            3 => {
                let tokens: FxHashMap<u32, f32> =
                    (0..x % 40).map(|i| ((i * 7 + other) % (n as u32 + 5), i as f32 / 4.0)).collect();
                set.update_all(&tokens, |logit, by| logit - by);
                format!("update_all of {}", tokens.len())
            }
            4 => {
                let biases: Vec<(u32, f32)> =
                    (0..x % 6).map(|i| ((other >> i) % (n as u32 + 2), i as f32 - 2.0)).collect();
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
                "drop_front".into()
            }
            8 => {
                set.softmax(x.is_multiple_of(2));
                "softmax".into()
            }
            9 => {
                set.temperature([0.0, 0.7, 1.3][k % 3]);
                "temperature".into()
            }
            10 => {
                let mut sum = 0.0;
                set.softmax(false);
                set.keep_through(|_, cand| {
                    sum += cand.p;
                    sum >= 0.9
                });
                "keep_through".into()
            }
            11 => {
                set.argmax().into_iter().for_each(|i| set.select(i));
                "select".into()
            }
            12 => {
                set.sort();
                "sort".into()
            }
            _ => {
                let (max, _, deviation) = set.spread();
                set.mask_below(max - deviation);
                "mask_below".into()
            }
        };
    }
    told
}

#[test]
fn a_view_and_an_array_agree_after_every_verb() {
    let mut rng = Mt19937::new(11_192);
    let n_cases = if cfg!(debug_assertions) { 20_000 } else { 100_000 };
    let (mut view_buf, mut array_buf) = (CandBuf::default(), CandBuf::default());
    for case in 0..n_cases {
        let logits = row(&mut rng);
        let cands: Vec<Cand> = logits.iter().zip(0..).map(|(&logit, id)| Cand { id, logit, p: 0.0 }).collect();
        let mut view = CandSet::new(&logits, &mut view_buf);
        let mut array = CandSet::from_cands(&cands, false, &mut array_buf);
        let mut told = Vec::new();
        for _ in 0..1 + rng.next_u32() % 5 {
            told.push(change(&mut rng, [&mut view, &mut array]));
            assert!(state(&view) == state(&array), "case {case}: {} logits, {told:?}", logits.len());
            assert_eq!(view.max_logit().to_bits(), array.max_logit().to_bits(), "case {case}: {told:?}");
            assert!(view.logits().map(f32::to_bits).eq(array.logits().map(f32::to_bits)), "case {case}: {told:?}");
        }
        assert!(view.as_slice().iter().map(|c| c.id).eq(array.as_slice().iter().map(|c| c.id)));
    }
}
