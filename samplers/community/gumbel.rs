use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::core::{CandSet, Ctx, Facts, SamplerStep};
use crate::libm::{exp, log};

/// Draws by Gumbel noise that the seed, the place in the text and the token give: the same whatever was drawn before.
///
/// The candidate with the largest `log(p) + noise` is drawn: each with its probability. The noise is `-log(-log(u))`, with `u` from a
/// hash of seed, position and token; all but p is in f64. It serves a draft and its check, a batch in any order, and a text that is
/// taken up in its middle. A truncation in front changes nothing, if it leaves the token that would have been drawn without it.
///
/// # Origin
/// SGLang's sampler for requests with a seed (`multinomial_with_seed`, Apache-2.0). Written from its formula; the hash is MurmurHash3
/// for 32 bits (Austin Appleby, public domain), of four words: the seed's low half and high half, the position, the token. Gate: the
/// formula in numpy, and the hashes that SGLang's own test expects.
///
/// The position is the last token's, the prompt's tokens included, as SGLang counts: how many were accepted, less one. The seed is the
/// chain's, of 32 bits, so that the high half is 0. Where SGLang cuts by top-k or top-p itself, it hashes a candidate's rank in place
/// of its token, and draws others.
///
/// # Order and flags
/// Computes p and selects; of equals the lowest token. Order and `sorted` stay.
///
/// # Draws
/// None from any generator.
///
/// # Errors
/// `prepare` refuses nothing: there is no parameter.
///
/// # Chain file
/// ```json
/// {"type": "gumbel"}
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gumbel {}

/// MurmurHash3, x86, 32 bits, seed 0, of whole words.
fn murmur3(words: [u32; 4]) -> u32 {
    let mut state = 0u32;
    for word in words {
        state ^= word.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
        state = state.rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
    }
    state ^= size_of_val(&words) as u32;
    state = (state ^ state >> 16).wrapping_mul(0x85eb_ca6b);
    state = (state ^ state >> 13).wrapping_mul(0xc2b2_ae35);
    state ^ state >> 16
}

/// The noise of a number in [0, 1]: -709 to 22.
fn noise(u: f64) -> f64 {
    const LARGEST: f64 = -1.0 / 4_294_967_296.0;
    -log(-log(u).clamp(f64::MIN, LARGEST))
}

crate::describe_step!(Gumbel);

#[typetag::serde(name = "gumbel")]
impl SamplerStep for Gumbel {
    fn apply(&mut self, cands: &mut CandSet<'_>, ctx: &mut Ctx) {
        if cands.is_empty() {
            return;
        }
        cands.softmax(false);
        // Before the first token it is -1, as a word.
        let position = (ctx.history().len() as u32).wrapping_sub(1);
        let (mut best, mut best_score, mut reach) = (None, f64::NEG_INFINITY, f64::INFINITY);
        for (place, cand) in cands.as_slice().iter().enumerate() {
            let u = f64::from(murmur3([ctx.seed(), 0, position, cand.id])) / f64::from(u32::MAX);
            // To be better, -log(u) must be below p / exp(best), and it is never below 1 - u: few need a logarithm.
            if 1.0 - u > f64::from(cand.p) * reach {
                continue;
            }
            let score = log(f64::from(cand.p)) + noise(u);
            let is_first_of_equals = score == best_score && best.is_some_and(|(_, id)| cand.id < id);
            if score > best_score || is_first_of_equals {
                (best, best_score, reach) = (Some((place, cand.id)), score, exp(-score) * 1.001);
            }
        }
        // Nothing is above -infinity where no candidate is.
        let place = best.map_or_else(|| cands.argmax().unwrap_or_default(), |(place, _)| place);
        cands.select(place);
    }

    fn selects(&self) -> bool {
        true
    }

    fn facts(&self) -> Facts {
        Facts { needs_history: true, ..Facts::TRUNCATION }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Left, after_sort, apply, p4, round_trip, run};
    use crate::{Chain, Dist, TopK};

    fn drawn(left: &Left) -> u32 {
        left.cands[left.selected.unwrap()].id
    }

    /// What SGLang's test of its kernel expects.
    #[test]
    fn the_hash_is_sglangs() {
        for (seed, position, expected) in [
            (0u64, 0, [2_167_721_464, 10_027_521, 2_423_355_346, 2_203_067_026]),
            (1, 7, [3_755_322_398, 4_196_701_286, 1_002_451_629, 183_234_019]),
            (42, 123, [772_287_619, 548_237_471, 2_740_678_348, 3_656_549_299]),
            (0x1234_5678_9abc_def0, 456, [3_746_406_971, 2_891_010_872, 104_055_988, 3_372_550_890]),
        ] {
            let hash = |token| murmur3([seed as u32, (seed >> 32) as u32, position, token]);
            assert_eq!([0, 1, 2, 17].map(hash), expected);
        }
    }

    #[test]
    fn the_ends_of_the_noise_are_finite() {
        assert_eq!(noise(1.0), -log(1.0 / 4_294_967_296.0));
        assert_eq!(noise(0.0), -log(f64::MAX));
        assert!(noise(0.5) > 0.3665 && noise(0.5) < 0.3666);
    }

    /// The same draw at a place whatever was drawn before it, in whatever order the candidates are, and in a clone.
    #[test]
    fn the_place_decides() {
        let of = |step: &mut dyn SamplerStep, prompt: &[u32]| drawn(&run(step, &p4(), prompt));
        for n in 0..40 {
            let (threes, others) = (vec![3; n], (0..n as u32).map(|i| i % 4).collect::<Vec<_>>());
            let first = of(&mut Gumbel {}, &threes);
            assert_eq!(of(&mut Gumbel {}, &others), first);
            assert_eq!(of(&mut after_sort(Gumbel {}), &threes), first);
            // What is cut does not matter, unless it was the one.
            let cut = of(&mut Chain::new().with(TopK { k: first as i32 + 1 }).with(Gumbel {}), &threes);
            assert_eq!(cut, first);
        }
        let (mut step, mut ctx) = (Gumbel {}, Ctx::new(42));
        let first = drawn(&apply(&mut step, &p4(), &mut ctx));
        (0..9).for_each(|_| {
            assert_eq!(drawn(&apply(&mut step, &[1.0; 9], &mut ctx)), drawn(&apply(&mut step, &[1.0; 9], &mut ctx)))
        });
        assert_eq!(drawn(&apply(&mut step, &p4(), &mut ctx)), first);
    }

    /// Candidates that are passed over for their bound would not have been the best.
    #[test]
    fn the_bound_passes_over_no_best() {
        let (mut step, mut ctx, mut rng) = (Gumbel {}, Ctx::new(77), crate::Mt19937::new(3));
        for n in 0..300 {
            let logits: Vec<f32> = (0..1 + n % 97).map(|_| rng.uniform_f32() * [0.0, 1.0, 20.0][n % 3]).collect();
            let left = apply(&mut step, &logits, &mut ctx);
            let position = (n as u32).wrapping_sub(1);
            let score = |cand: &crate::Cand| {
                let u = f64::from(murmur3([77, 0, position, cand.id])) / f64::from(u32::MAX);
                log(f64::from(cand.p)) + noise(u)
            };
            let best = left.cands.iter().map(score).fold(f64::NEG_INFINITY, f64::max);
            assert_eq!(score(&left.cands[left.selected.unwrap()]), best);
            ctx.history_mut().push(0);
        }
    }

    /// The best two are 6.5e-8 apart, and logarithms in f32 would turn them round.
    #[test]
    fn logarithms_are_f64s() {
        let (logits, seed) = ([0.0, 0.0, 0.0, -4f32.ln(), -4f32.ln(), -4f32.ln()], 126_366_581);
        let mut ctx = Ctx::new(seed);
        ctx.history_mut().push(0);
        let left = apply(&mut Gumbel {}, &logits, &mut ctx);
        let score = |cand: &crate::Cand, log_p: f64| {
            log_p + noise(f64::from(murmur3([seed, 0, 0, cand.id])) / f64::from(u32::MAX))
        };
        let best = |log_p: fn(f32) -> f64| {
            let scores = left.cands.iter().map(|cand| (score(cand, log_p(cand.p)), cand.id));
            scores.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap().1
        };
        let (in_f64, in_f32) = (best(|p| log(f64::from(p))), best(|p| f64::from(crate::libm::logf(p))));
        assert!(in_f64 >= 3 && in_f32 < 3, "{in_f64} {in_f32}");
        assert_eq!(drawn(&left), in_f64);
    }

    /// Each candidate is drawn with its probability: 20,000 places, four standard deviations.
    #[test]
    fn the_shares_are_the_probabilities() {
        let (mut step, mut ctx, mut counts) = (Gumbel {}, Ctx::new(9), [0u32; 4]);
        let n = 20_000;
        for _ in 0..n {
            counts[drawn(&apply(&mut step, &p4(), &mut ctx)) as usize] += 1;
            ctx.history_mut().push(0);
        }
        for (count, p) in counts.into_iter().zip([0.5, 0.3, 0.15, 0.05]) {
            let (n, count) = (f64::from(n), f64::from(count));
            assert!((count - n * p).abs() < 4.0 * (n * p * (1.0 - p)).sqrt(), "{counts:?}");
        }
    }

    #[test]
    fn computes_p_as_dist_does() {
        let probabilities = |left: Left| left.cands.iter().map(|cand| cand.p).collect::<Vec<_>>();
        let (ours, dists) = (run(&mut Gumbel {}, &p4(), &[]), run(&mut Dist::default(), &p4(), &[]));
        assert!(probabilities(ours).iter().zip(probabilities(dists)).all(|(a, b)| (a - b).abs() < 1e-6));
    }

    #[test]
    fn nothing_is_drawn_that_is_out() {
        let inf = f32::NEG_INFINITY;
        for n in 0..50 {
            assert_eq!(drawn(&run(&mut Gumbel {}, &[inf, 1.0, inf, -3e38], &vec![1; n])), 1);
        }
        assert_eq!(run(&mut Gumbel {}, &[inf; 3], &[]).selected, Some(0));
        assert_eq!(run(&mut Gumbel {}, &[-7.0], &[]).selected, Some(0));
        assert_eq!(run(&mut Gumbel {}, &[], &[]).selected, None);
    }

    #[test]
    fn file() {
        round_trip(Box::new(Gumbel {}), r#"{"type":"gumbel"}"#);
    }
}
