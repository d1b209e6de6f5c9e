//! A comparison's table.

use serde::Serialize;

use super::cells::RowResult;
use super::sequences::{agreement, distinct_n, median, standard_error};
use super::shard::Comparison;

/// One chain's line of the table: its numbers over all seeds and rows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// The chain's name.
    pub name: String,
    /// The share of draws that gave the baseline's token: 0 to 1. On average it is at most 1 - [`tv`](Self::tv).
    pub agreement: f64,
    /// The standard error of the agreement over the seeds: how far other seeds may move it. Other rows may move it further. None
    /// for one seed.
    pub agreement_error: Option<f64>,
    /// The mean total variation distance from the baseline: 0 to 1.
    pub tv: f64,
    /// D(baseline ‖ chain).
    pub kl: Divergence,
    /// D(chain ‖ baseline).
    pub reverse_kl: Divergence,
    /// The median number of tokens that could be drawn.
    pub kept_median: f64,
    /// Their mean number.
    pub kept_mean: f64,
    /// The mean entropy of the final distributions, in bits.
    pub entropy: f64,
    /// Distinct-1, -2 and -3 of what was drawn along the rows: the mean over the seeds, each of which is a sequence of its own.
    /// None where there are fewer rows than that. The drawn tokens follow the recorded text one by one, so this tells how varied
    /// a chain draws; it is not the repetition of a text that the chain wrote.
    pub distinct: [Option<f64>; 3],
    /// The median time of drawing and accepting a token, in nanoseconds, over all rows of all shards, whatever machines they
    /// ran on. None without times.
    pub nanos: Option<f64>,
}

/// A divergence over many rows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Divergence {
    /// The mean of the rows where it is finite, in nats; None where it is so nowhere.
    pub mean: Option<f64>,
    /// The share of rows where it is infinite: 0 to 1.
    pub infinite: f64,
}

impl Divergence {
    /// The divergence over some rows.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let (mut n, mut finite, mut sum) = (0usize, 0usize, 0.0);
        for value in values {
            n += 1;
            if value.is_finite() {
                finite += 1;
                sum += value;
            }
        }
        let infinite = if n == 0 { 0.0 } else { (n - finite) as f64 / n as f64 };
        Self { mean: (finite > 0).then(|| sum / finite as f64), infinite }
    }
}

impl Comparison {
    /// One line a chain, the baseline first. Every number is made from all rows in their order.
    pub fn table(&self) -> Vec<Summary> {
        (0..self.setup.chains.len()).map(|chain| self.summary(chain)).collect()
    }

    /// The results of one chain, in the order of the cells; none for a chain that is not there.
    pub fn results(&self, chain: usize) -> impl Iterator<Item = &RowResult> + Clone {
        self.cells.iter().filter_map(move |cell| cell.chains.get(chain))
    }

    /// What a chain drew along the rows: a sequence a seed.
    pub fn drawn(&self, chain: usize) -> Vec<Vec<u32>> {
        let tokens: Vec<u32> = self.results(chain).map(|result| result.token).collect();
        tokens.chunks(self.setup.rows.len().max(1)).map(<[u32]>::to_vec).collect()
    }

    fn summary(&self, chain: usize) -> Summary {
        let results = self.results(chain);
        let (sequences, baseline) = (self.drawn(chain), self.drawn(0));
        let by_seed: Vec<f64> = sequences.iter().zip(&baseline).filter_map(|(a, b)| agreement(a, b)).collect();
        let mean = |of: fn(&RowResult) -> f64| {
            let n = self.cells.len().max(1);
            results.clone().map(of).fold(0.0, |sum, value| sum + value) / n as f64
        };
        let distinct = [1, 2, 3].map(|n| {
            let each: Option<Vec<f64>> = sequences.iter().map(|tokens| distinct_n(tokens, n)).collect();
            each.filter(|each| !each.is_empty()).map(|each| each.iter().sum::<f64>() / each.len() as f64)
        });
        let times: Option<Vec<f64>> = results.clone().map(|result| result.nanos.map(|nanos| nanos as f64)).collect();
        Summary {
            name: self.setup.chains.get(chain).map_or(String::new(), |chain| chain.name.clone()),
            agreement: agreement(&sequences.concat(), &baseline.concat()).unwrap_or(1.0),
            agreement_error: standard_error(&by_seed),
            tv: mean(|result| result.tv),
            kl: Divergence::of(results.clone().map(|result| result.kl)),
            reverse_kl: Divergence::of(results.clone().map(|result| result.reverse_kl)),
            kept_median: median(results.clone().map(|result| result.kept as f64).collect()).unwrap_or_default(),
            kept_mean: mean(|result| result.kept as f64),
            entropy: mean(|result| result.entropy),
            distinct,
            nanos: times.and_then(median),
        }
    }
}
