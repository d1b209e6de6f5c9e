//! What the page's plots show.

use crate::compare::{Comparison, RowResult, median};

use super::bins::{Bin, KL_BINS, Middle, TV_BINS, along_rows, count, kl_bin, kl_edge, tv_bin};
use super::plots::{Column, Figure, Mark, Strip};
use super::table::{count as number, percent};

/// Many chains have coarser plots, so that the page stays small.
const BINS: usize = 96;
const BINS_OF_MANY: usize = 48;
const MANY: usize = 12;

/// All plots of a comparison.
pub fn of(comparison: &Comparison) -> Vec<Figure> {
    let n_chains = comparison.setup().chains.len();
    let bins = along_rows(comparison, if n_chains > MANY { BINS_OF_MANY } else { BINS });
    let with_others = [
        agreement(comparison, &bins),
        spread(comparison, &TV),
        spread(comparison, &KL),
        spread(comparison, &REVERSE_KL),
    ];
    let of_each = [entropy(comparison, &bins), kept(comparison, &bins)];
    // Of the baseline alone there is nothing to compare.
    with_others.into_iter().filter(|_| n_chains > 1).chain(of_each).collect()
}

fn names(comparison: &Comparison) -> impl Iterator<Item = &str> {
    comparison.setup().chains.iter().map(|chain| chain.name.as_str())
}

fn agreement(comparison: &Comparison, bins: &[Bin]) -> Figure {
    let strip = |(chain, name): (usize, &str)| {
        let heights: Vec<f64> = bins.iter().filter_map(|bin| bin.chains.get(chain)).map(|m| m.agreement).collect();
        let results = || comparison.results(chain).zip(comparison.results(0));
        let same = results().filter(|(a, b)| a.token == b.token).count();
        let note = percent(same as f64 / results().count().max(1) as f64);
        Strip { name: name.to_string(), note, marks: vec![Mark::Bars(heights)] }
    };
    let n_seeds = comparison.setup().seeds.len();
    Figure {
        title: "Agreement along the rows".to_string(),
        text: format!(
            "The share of draws that gave the baseline's token with the same random number: a full bar is all, no bar is none. On \
             average it is 1 - TV at most, and usually less, as dist goes along the candidates in their order. Right: over all \
             rows. Each bar is {}.",
            if n_seeds == 1 { "one seed's".to_string() } else { format!("over {n_seeds} seeds") }
        ),
        strips: names(comparison).enumerate().skip(1).map(strip).collect(),
        columns: columns(comparison, bins, 1, |middle| percent(middle.agreement)),
        ticks: ticks(bins),
    }
}

fn entropy(comparison: &Comparison, bins: &[Bin]) -> Figure {
    let highest = highest(bins, |middle| middle.entropy);
    Figure {
        title: "Entropy along the rows".to_string(),
        text: format!(
            "Bits of the final distribution, from 0 at the bottom of a strip to {highest:.2} at its top; dashed: the \
             baseline's. Right: the mean over all rows."
        ),
        strips: lines(
            comparison,
            bins,
            |middle| middle.entropy / highest,
            |comparison, chain| {
                let mean = comparison.results(chain).map(|result| result.entropy).sum::<f64>();
                format!("{:.2}", mean / comparison.cells().len().max(1) as f64)
            },
        ),
        columns: columns(comparison, bins, 0, |middle| format!("{:.3} bits", middle.entropy)),
        ticks: ticks(bins),
    }
}

fn kept(comparison: &Comparison, bins: &[Bin]) -> Figure {
    let highest = highest(bins, |middle| middle.kept).max(2.0);
    Figure {
        title: "Candidates kept along the rows".to_string(),
        text: format!(
            "How many tokens could be drawn, on a logarithmic scale from 1 at the bottom of a strip to {} at its top; dashed: \
             the baseline's. Right: the median over all rows.",
            number(highest)
        ),
        strips: lines(
            comparison,
            bins,
            |middle| middle.kept.max(1.0).ln() / highest.ln(),
            |comparison, chain| {
                let kept = comparison.results(chain).map(|result| result.kept as f64);
                number(median(kept.collect()).unwrap_or_default())
            },
        ),
        columns: columns(comparison, bins, 0, |middle| number(middle.kept)),
        ticks: ticks(bins),
    }
}

/// The largest value of any chain in any bin; 1 where there is none above 0.
fn highest(bins: &[Bin], of: impl Fn(&Middle) -> f64) -> f64 {
    let highest = bins.iter().flat_map(|bin| &bin.chains).map(of).fold(0.0, f64::max);
    if highest > 0.0 { highest } else { 1.0 }
}

/// A line a chain, the baseline's behind each.
fn lines(
    comparison: &Comparison,
    bins: &[Bin],
    height: impl Fn(&Middle) -> f64,
    note: impl Fn(&Comparison, usize) -> String,
) -> Vec<Strip> {
    let heights = |chain: usize| bins.iter().filter_map(|bin| bin.chains.get(chain)).map(&height).collect();
    let strip = |(chain, name): (usize, &str)| {
        let marks = match chain {
            0 => vec![Mark::Own(heights(0))],
            _ => vec![Mark::Behind(heights(0)), Mark::Line(heights(chain))],
        };
        Strip { name: name.to_string(), note: note(comparison, chain), marks }
    };
    names(comparison).enumerate().map(strip).collect()
}

/// What each bin says: the rows, then a line a chain from the `first` on.
fn columns(comparison: &Comparison, bins: &[Bin], first: usize, value: impl Fn(&Middle) -> String) -> Vec<Column> {
    let column = |(i, bin): (usize, &Bin)| {
        let mut says = match bin.rows.len() {
            1 => format!("row {}", bin.rows.start),
            _ => format!("rows {}..{}", bin.rows.start, bin.rows.end),
        };
        for (name, middle) in names(comparison).zip(&bin.chains).skip(first) {
            says += &format!("\n{}  {name}", value(middle));
        }
        Column { says, bin: Some(i) }
    };
    bins.iter().enumerate().map(column).collect()
}

/// Some rows' numbers under a plot.
fn ticks(bins: &[Bin]) -> Vec<(f64, String)> {
    let n = bins.len();
    let every = n.div_ceil(8).max(1);
    let at = |i: usize| bins.get(i).map(|bin| ((i as f64 + 0.5) / n as f64, bin.rows.start.to_string()));
    (0..n).step_by(every).filter_map(at).collect()
}

/// How the values of all rows are spread.
struct Spread {
    title: &'static str,
    text: &'static str,
    n_bins: usize,
    bin: fn(f64) -> usize,
    value: fn(&RowResult) -> f64,
    /// What a bin holds, in words.
    says: fn(usize) -> String,
    /// Where the middle stands, from 0 to 1.
    place: fn(f64) -> f64,
    ticks: fn() -> Vec<(f64, String)>,
}

const TV: Spread = Spread {
    title: "Total variation from the baseline",
    text: "How many rows have which distance, from 0 (the same distribution) to 1 (no token in common). The triangle marks the \
           median; right: the share of the tallest bar.",
    n_bins: TV_BINS,
    bin: tv_bin,
    value: |result| result.tv,
    says: |bin| format!("{:.3} to {:.3}", bin as f64 / TV_BINS as f64, (bin + 1) as f64 / TV_BINS as f64),
    place: |tv| tv,
    ticks: || [0.0, 0.25, 0.5, 0.75, 1.0].map(|tv| (tv, tv.to_string())).to_vec(),
};

const KL: Spread = Spread {
    title: "KL divergence: baseline from chain",
    text: "D(baseline ‖ chain) in nats, on a logarithmic scale. Infinite (∞) are the rows where the chain cannot draw a token that \
           the baseline can: it cuts more. The triangle marks the median; right: the share of the tallest bar.",
    n_bins: KL_BINS,
    bin: kl_bin,
    value: |result| result.kl,
    says: kl_says,
    place: kl_place,
    ticks: kl_ticks,
};

const REVERSE_KL: Spread = Spread {
    title: "KL divergence: chain from baseline",
    text: "D(chain ‖ baseline) in nats. Infinite (∞) are the rows where the chain can draw a token that the baseline cannot: it \
           lets more in.",
    value: |result| result.reverse_kl,
    ..KL
};

fn kl_says(bin: usize) -> String {
    match bin {
        0 => "below 0.0001 nats".to_string(),
        31 => "100 nats or more".to_string(),
        32 => "infinite".to_string(),
        _ => format!("{:.4} to {:.4} nats", kl_edge(bin), kl_edge(bin + 1)),
    }
}

fn kl_place(kl: f64) -> f64 {
    (kl_bin(kl) as f64 + 0.5) / KL_BINS as f64
}

fn kl_ticks() -> Vec<(f64, String)> {
    let at = |bin: usize| bin as f64 / KL_BINS as f64;
    let mut ticks = vec![(0.5 / KL_BINS as f64, "0".to_string()), (1.0 - 0.5 / KL_BINS as f64, "∞".to_string())];
    ticks.extend((6..32).step_by(5).map(|bin| (at(bin), format!("{}", (kl_edge(bin) * 1e4).round() / 1e4))));
    ticks
}

fn spread(comparison: &Comparison, what: &Spread) -> Figure {
    let n = comparison.cells().len().max(1) as f64;
    let values = |chain: usize| comparison.results(chain).map(what.value);
    let counted: Vec<Vec<usize>> =
        (0..comparison.setup().chains.len()).map(|chain| count(values(chain), what.n_bins, what.bin)).collect();
    let others = || names(comparison).zip(&counted).enumerate().skip(1);
    let strip = |(chain, (name, counts)): (usize, (&str, &Vec<usize>))| {
        let tallest = counts.iter().copied().max().unwrap_or_default().max(1) as f64;
        let bars = Mark::Bars(counts.iter().map(|count| *count as f64 / tallest).collect());
        let middle = median(values(chain).collect()).map(|middle| Mark::Middle((what.place)(middle)));
        let marks = [bars].into_iter().chain(middle).collect();
        Strip { name: name.to_string(), note: percent(tallest / n), marks }
    };
    let column = |bin: usize| {
        let mut says = (what.says)(bin);
        for (_, (name, counts)) in others() {
            says += &format!("\n{}  {name}", percent(counts.get(bin).copied().unwrap_or_default() as f64 / n));
        }
        Column { says, bin: None }
    };
    Figure {
        title: what.title.to_string(),
        text: what.text.to_string(),
        strips: others().map(strip).collect(),
        columns: (0..what.n_bins).map(column).collect(),
        ticks: (what.ticks)(),
    }
}
