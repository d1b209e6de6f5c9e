//! The table, 80 columns wide.

use std::io::{self, Write};

use crate::compare::{Comparison, Divergence, Follow, Setup, Summary};

/// How wide a name may be to stand in the line of its numbers.
const NAME: usize = 14;

const LEGEND: &str = "\
Against the baseline, with the same random numbers:
  same    share of draws that gave the baseline's token: on average 1 - TV at
          most, and usually less, as dist goes along candidates in their order
  TV      total variation of the final distributions, 0 to 1, mean
  KL      D(baseline || chain) in nats, mean of the rows where it is finite
  inf     share of rows where it is not: the chain drops what the baseline keeps
Of each chain alone:
  kept    candidates that could be drawn, median and mean
  bits    entropy of the final distribution, mean
  d-1 -2  distinct-1 and distinct-2 of what was drawn along the rows
";

pub fn print(comparison: &Comparison, out: &mut impl Write) -> io::Result<()> {
    let setup = comparison.setup();
    writeln!(out, "{}", what(setup))?;
    writeln!(out, "{}\n", told(&setup.follow))?;
    let time = if setup.timed { "µs" } else { "" };
    let head = format!(
        "{:NAME$}{:>7}{:>7}{:>8}{:>6}{:>7}{:>8}{:>6}{:>5}{:>5}{time:>7}",
        "chain", "same", "TV", "KL", "inf", "kept", "mean", "bits", "d-1", "-2"
    );
    writeln!(out, "{}", head.trim_end())?;
    for line in comparison.table() {
        print_line(&line, out)?;
    }
    write!(out, "\n{LEGEND}")?;
    if setup.timed {
        writeln!(out, "  µs      drawing and accepting a token, median, all threads at work")?;
    }
    Ok(())
}

/// Rows, seeds, draws.
pub fn what(setup: &Setup) -> String {
    let (seeds, rows) = (setup.seeds.len(), &setup.rows);
    let n = seeds.saturating_mul(rows.len());
    let from = setup.seeds.first().copied().unwrap_or_default();
    let seeds = if seeds == 1 { format!("seed {from}") } else { format!("{seeds} seeds from {from}") };
    format!("rows {}..{}, {} logits each, {seeds}: {n} draws a chain", rows.start, rows.end, setup.n_vocab)
}

/// What the chains are told after a row.
pub fn told(follow: &Follow) -> &'static str {
    match follow {
        Follow::Baseline => "told after each row: the baseline's token",
        Follow::Own => "told after each row: each chain its own token",
        Follow::Tokens(_) => "told after each row: the recorded text's token",
    }
}

fn print_line(line: &Summary, out: &mut impl Write) -> io::Result<()> {
    let name = &line.name;
    if name.chars().count() >= NAME {
        writeln!(out, "{name}")?;
        write!(out, "{:NAME$}", "")?;
    } else {
        write!(out, "{name:NAME$}")?;
    }
    let Divergence { mean, infinite } = line.kl;
    let [one, two, _] = line.distinct.map(|share| share.map_or("-".to_string(), |share| format!("{share:.2}")));
    let kl = mean.map_or("inf".to_string(), |mean| if mean < 100.0 { fraction(mean) } else { format!("{mean:.1}") });
    let numbers = format!(
        "{:>7}{:>7}{kl:>8}{:>6}{:>7}{:>8}{:>6.2}{one:>5}{two:>5}{:>7}",
        fraction(line.agreement),
        fraction(line.tv),
        percent(infinite),
        count(line.kept_median),
        count(line.kept_mean),
        line.entropy,
        line.nanos.map_or(String::new(), |nanos| count(nanos / 1000.0)),
    );
    writeln!(out, "{}", numbers.trim_end())
}

/// Four decimals, of which neither 0 nor 1 is said of what only comes near.
pub fn fraction(value: f64) -> String {
    let shown = format!("{value:.4}");
    match shown.as_str() {
        "0.0000" if value > 0.0 => "<.0001".to_string(),
        "1.0000" if value < 1.0 => ">.9999".to_string(),
        _ => shown,
    }
}

/// A share as a percentage, of which neither 0 nor 100 is said of what only comes near.
pub fn percent(share: f64) -> String {
    match format!("{:.0}", share * 100.0).as_str() {
        "0" if share > 0.0 => "<1%".to_string(),
        "100" if share < 1.0 => ">99%".to_string(),
        shown => format!("{shown}%"),
    }
}

/// A count or a mean of counts, in six columns at most while it is below a million.
pub fn count(value: f64) -> String {
    if value.fract() == 0.0 || value >= 10_000.0 { format!("{value:.0}") } else { format!("{value:.1}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_do_not_say_more_than_is_true() {
        let fractions = [0.0, 0.00001, 0.5, 0.99999, 1.0, 2.34567].map(fraction);
        assert_eq!(fractions, ["0.0000", "<.0001", "0.5000", ">.9999", "1.0000", "2.3457"]);
        assert_eq!([0.0, 0.001, 0.5, 0.999, 1.0].map(percent), ["0%", "<1%", "50%", ">99%", "100%"]);
        assert_eq!([1.0, 12.5, 49152.5, 1.26].map(count), ["1", "12.5", "49152", "1.3"]);
    }
}
