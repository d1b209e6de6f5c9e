//! Numbers of drawn sequences.

use std::collections::HashSet;

/// The share of places at which two sequences have the same token. The longer one's rest counts as different; None for two
/// empty ones.
pub fn agreement(a: &[u32], b: &[u32]) -> Option<f64> {
    let n = a.len().max(b.len());
    let same = a.iter().zip(b).filter(|(a, b)| a == b).count();
    (n > 0).then(|| same as f64 / n as f64)
}

/// Distinct-n: how many different runs of `n` tokens there are, of all runs of `n`. 1 where nothing repeats, towards 0 where the
/// same goes on and on. None where the sequence is shorter than `n`, or `n` is 0.
pub fn distinct_n(tokens: &[u32], n: usize) -> Option<f64> {
    if n == 0 || tokens.len() < n {
        return None;
    }
    let runs = tokens.windows(n);
    let n_runs = runs.len();
    let different: HashSet<&[u32]> = runs.collect();
    Some(different.len() as f64 / n_runs as f64)
}

/// The value in the middle, or the mean of the two there. None for no values; NaN is above all.
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len() / 2;
    let upper = *values.get(middle)?;
    if values.len() % 2 == 1 {
        return Some(upper);
    }
    values.get(middle.checked_sub(1)?).map(|lower| lower / 2.0 + upper / 2.0)
}

/// The standard error of a mean: the values' standard deviation (n - 1 in its denominator) over √n. None for fewer than two.
pub fn standard_error(values: &[f64]) -> Option<f64> {
    let n = values.len() as f64;
    if n < 2.0 {
        return None;
    }
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    Some((squares / (n - 1.0) / n).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        let text = [1, 2, 1, 2, 3];
        assert_eq!(distinct_n(&text, 1), Some(3.0 / 5.0));
        // 12 21 12 23
        assert_eq!(distinct_n(&text, 2), Some(3.0 / 4.0));
        assert_eq!(distinct_n(&text, 3), Some(1.0));
        assert_eq!((distinct_n(&text, 5), distinct_n(&text, 6), distinct_n(&text, 0)), (Some(1.0), None, None));
        assert_eq!(distinct_n(&[7; 100], 2), Some(1.0 / 99.0));

        assert_eq!(agreement(&[1, 2, 3, 4], &[1, 0, 3, 4]), Some(0.75));
        assert_eq!((agreement(&[1, 2], &[1]), agreement(&[], &[])), (Some(0.5), None));

        assert_eq!(median(vec![5.0, 1.0, 3.0]), Some(3.0));
        assert_eq!((median(vec![4.0, 1.0, 3.0, 9.0]), median(vec![])), (Some(3.5), None));
        assert_eq!(median(vec![1.0, f64::INFINITY]), Some(f64::INFINITY));

        // Around 2: 1 + 0 + 1 of squares, over 2 and over 3.
        assert_eq!(standard_error(&[1.0, 2.0, 3.0]), Some((1.0f64 / 3.0).sqrt()));
        assert_eq!((standard_error(&[0.5, 0.5]), standard_error(&[1.0]), standard_error(&[])), (Some(0.0), None, None));
    }
}
