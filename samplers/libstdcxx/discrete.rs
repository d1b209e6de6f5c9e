//! `std::discrete_distribution`, the draw of mirostat and adaptive-p.

/// An index drawn with the given float weights, as one use of `std::discrete_distribution<int>` draws it.
///
/// Fewer than two weights: index 0, and no number is taken. Else `uniform` gives one in [0, 1): the next double of a generator.
/// `sums` is scratch space.
pub fn discrete_draw(weights: impl Iterator<Item = f32>, sums: &mut Vec<f64>, uniform: impl FnOnce() -> f64) -> usize {
    sums.clear();
    sums.extend(weights.map(f64::from));
    if sums.len() < 2 {
        return 0;
    }
    let total = sums.iter().fold(0.0, |sum, w| sum + w);
    let mut running = 0.0;
    for (i, weight) in sums.iter_mut().enumerate() {
        let share = *weight / total;
        running = if i == 0 { share } else { running + share };
        *weight = running;
    }
    *sums.last_mut().expect("two weights or more") = 1.0;
    first_not_less(sums, uniform())
}

/// `std::lower_bound`: the first index whose value is not less than `x`, by halving. Only with NaN among the sums does it
/// matter that it halves and does not scan.
fn first_not_less(sorted: &[f64], x: f64) -> usize {
    let (mut first, mut len) = (0, sorted.len());
    while len > 0 {
        let half = len / 2;
        if sorted[first + half] < x {
            first += half + 1;
            len -= half + 1;
        } else {
            len = half;
        }
    }
    first.min(sorted.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::super::Mt19937;
    use super::*;

    fn draw(weights: &[f32], rng: &mut Mt19937) -> usize {
        discrete_draw(weights.iter().copied(), &mut Vec::new(), || rng.uniform())
    }

    #[test]
    fn one_weight_takes_no_number() {
        let mut rng = Mt19937::new(42);
        assert_eq!(draw(&[0.3], &mut rng), 0);
        assert_eq!(draw(&[], &mut rng), 0);
        assert_eq!(rng, Mt19937::new(42));
    }

    #[test]
    fn two_weights_take_one_double() {
        let mut rng = Mt19937::new(42);
        // The first double of seed 42 is 0.7965…
        assert_eq!(draw(&[0.79, 0.21], &mut rng), 1);
        let mut other = Mt19937::new(42);
        other.uniform();
        assert_eq!(rng, other);
        assert_eq!(draw(&[0.80, 0.20], &mut Mt19937::new(42)), 0);
    }

    #[test]
    fn a_running_sum_that_equals_the_draw_is_taken() {
        assert_eq!(first_not_less(&[0.25, 0.5, 1.0], 0.5), 1);
        assert_eq!(first_not_less(&[0.25, 0.5, 1.0], 0.5f64.next_up()), 2);
        assert_eq!(first_not_less(&[0.25, 0.5, 1.0], 0.0), 0);
    }

    #[test]
    fn weights_that_are_not_numbers_stay_in_bounds() {
        for weights in [[f32::NAN; 3], [0.0; 3], [f32::INFINITY, 1.0, 1.0]] {
            assert!(draw(&weights, &mut Mt19937::new(7)) < 3);
        }
    }
}
