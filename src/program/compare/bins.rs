//! A comparison in as few numbers as a plot has room for.

use std::ops::Range;

use crate::compare::{Comparison, RowResult, median};

/// Neighbouring rows, with all seeds.
pub struct Bin {
    /// The rows.
    pub rows: Range<usize>,
    /// One a chain.
    pub chains: Vec<Middle>,
}

/// One chain over the draws of a bin.
pub struct Middle {
    /// The share of draws with the baseline's token.
    pub agreement: f64,
    /// The mean, in bits.
    pub entropy: f64,
    /// The median.
    pub kept: f64,
}

/// The rows in at most `n_bins` bins, whose lengths differ by one at most.
pub fn along_rows(comparison: &Comparison, n_bins: usize) -> Vec<Bin> {
    let rows = &comparison.setup().rows;
    let n = rows.len();
    let n_bins = n_bins.clamp(1, n.max(1));
    let place = |i: usize| (n as u128 * i as u128 / n_bins as u128) as usize;
    let bin = |i: usize| {
        let own = place(i)..place(i + 1);
        let chains = 0..comparison.setup().chains.len();
        let chains = chains.map(|chain| middle(comparison, chain, &own)).collect();
        Bin { rows: rows.start + own.start..rows.start + own.end, chains }
    };
    (0..n_bins).map(bin).collect()
}

/// A chain over some rows, counted from the first.
fn middle(comparison: &Comparison, chain: usize, own: &Range<usize>) -> Middle {
    let per_seed = comparison.setup().rows.len().max(1);
    let seeds = comparison.cells().chunks(per_seed);
    let both = seeds.flat_map(|cells| cells.get(own.clone()).unwrap_or_default());
    let both: Vec<(&RowResult, &RowResult)> =
        both.filter_map(|cell| Some((cell.chains.first()?, cell.chains.get(chain)?))).collect();
    let n = both.len().max(1) as f64;
    Middle {
        agreement: both.iter().filter(|(baseline, result)| baseline.token == result.token).count() as f64 / n,
        entropy: both.iter().map(|(_, result)| result.entropy).sum::<f64>() / n,
        kept: median(both.iter().map(|(_, result)| result.kept as f64).collect()).unwrap_or_default(),
    }
}

/// The bins of total variations: 40 from 0 to 1.
pub const TV_BINS: usize = 40;

/// In which bin of [`TV_BINS`] a total variation falls.
pub fn tv_bin(tv: f64) -> usize {
    ((tv * TV_BINS as f64) as usize).min(TV_BINS - 1)
}

/// The bins of divergences: one for all below 0.0001, five for each of six powers of ten, one from 100 on, one for infinity.
pub const KL_BINS: usize = 33;

/// In which bin of [`KL_BINS`] a divergence falls.
pub fn kl_bin(kl: f64) -> usize {
    match kl {
        f64::INFINITY => KL_BINS - 1,
        _ if kl < 1e-4 => 0,
        _ => (1 + ((kl.log10() + 4.0) * 5.0).max(0.0) as usize).min(KL_BINS - 2),
    }
}

/// Where a bin of divergences begins.
pub fn kl_edge(bin: usize) -> f64 {
    if bin == 0 { 0.0 } else { 10f64.powf((bin as f64 - 1.0) / 5.0 - 4.0) }
}

/// How many values fall in each bin.
pub fn count(values: impl Iterator<Item = f64>, n_bins: usize, bin: fn(f64) -> usize) -> Vec<usize> {
    let mut counts = vec![0; n_bins];
    for value in values {
        if let Some(count) = counts.get_mut(bin(value)) {
            *count += 1;
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_fall_where_they_belong() {
        assert_eq!([0.0, 0.0249, 0.025, 0.99, 1.0].map(tv_bin), [0, 0, 1, 39, 39]);
        assert_eq!(
            [0.0, 0.00009, 0.00012, 1.1, 99.0, 100.5, 1e9, f64::INFINITY].map(kl_bin),
            [0, 0, 1, 21, 30, 31, 31, 32]
        );
        for bin in 0..31 {
            assert_eq!(kl_bin(kl_edge(bin) * 1.0001), bin);
        }
        assert_eq!(count([0.0, 0.5, 0.51].into_iter(), TV_BINS, tv_bin)[20], 2);
    }
}
