//! Medians, ratios, and how they are written.

use std::fmt::Write;
use std::time::Duration;

use crate::engines::Floor;
use crate::llama::Llama;

/// One engine's times for one chain at one size.
pub struct Line {
    pub chain: &'static str,
    pub n_vocab: usize,
    pub engine: &'static str,
    pub median_us: f64,
    pub p95_us: f64,
    /// libllama's median over this one: above 1 is faster than libllama.
    pub to_llama: Option<f64>,
    /// This median over the floor's.
    pub to_floor: f64,
}

/// The lines of a chain at a size, one an engine.
pub fn lines(chain: &'static str, n_vocab: usize, times: Vec<(&'static str, Vec<Duration>)>) -> Vec<Line> {
    let mut lines: Vec<Line> = times
        .into_iter()
        .map(|(engine, mut times)| {
            times.sort_unstable();
            let (median_us, p95_us) = (quantile(&times, 0.5), quantile(&times, 0.95));
            Line { chain, n_vocab, engine, median_us, p95_us, to_llama: None, to_floor: 0.0 }
        })
        .collect();
    let median = |engine: &str| lines.iter().find(|line| line.engine == engine).map(|line| line.median_us);
    let (llama, floor) = (median(Llama::NAME), median(Floor::NAME).unwrap_or(f64::NAN));
    for line in &mut lines {
        line.to_llama = llama.map(|llama| llama / line.median_us);
        line.to_floor = line.median_us / floor;
    }
    lines
}

/// The nearest of the sorted times, in microseconds.
fn quantile(times: &[Duration], q: f64) -> f64 {
    let i = (q * (times.len() - 1) as f64).round() as usize;
    times[i].as_secs_f64() * 1e6
}

pub const HEAD: &str = "\
chain        n_vocab  engine           median µs     p95 µs  × libllama  ÷ floor
-----------  -------  ---------------  ---------  ---------  ----------  -------";

impl Line {
    pub fn text(&self) -> String {
        let Self { chain, n_vocab, engine, median_us, p95_us, to_floor, .. } = self;
        let to_llama = self.to_llama.map_or("-".into(), |ratio| format!("{ratio:.2}"));
        format!(
            "{chain:<11}  {n_vocab:>7}  {engine:<15}  {median_us:>9.1}  {p95_us:>9.1}  {to_llama:>10}  {to_floor:>7.1}"
        )
    }
}

/// All lines as comma-separated values. A ratio that there is not is empty.
pub fn csv(lines: &[Line]) -> String {
    let mut text = String::from("chain,n_vocab,engine,median_us,p95_us,ratio_to_llama,ratio_to_floor\n");
    for line in lines {
        let Line { chain, n_vocab, engine, median_us, p95_us, to_floor, .. } = line;
        let to_llama = line.to_llama.map_or(String::new(), |ratio| format!("{ratio:.3}"));
        let _ = writeln!(text, "{chain},{n_vocab},{engine},{median_us:.2},{p95_us:.2},{to_llama},{to_floor:.3}");
    }
    text
}
