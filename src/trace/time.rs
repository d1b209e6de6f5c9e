//! How long a draw takes that nobody looks into.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::sampler::Sampler;

/// How long a draw takes, in nanoseconds.
///
/// It is taken from clones of the sampler, which draw from the same row and are only asked the time between two steps: a trace
/// itself writes all candidates out after every step, and a draw does not. A step may put work off until another needs its
/// outcome, and the time is the latter's then. All numbers are of the quickest of several draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Time {
    /// How many draws were timed.
    pub draws: u32,
    /// Reading the row, before the first step.
    pub read_ns: u64,
    /// The whole draw.
    pub draw_ns: u64,
}

/// Times draws, each undone before the next. None without a draw.
pub fn of_draw(sampler: &mut Sampler, logits: &[f32], draws: u32) -> Option<(Time, Vec<u64>)> {
    let mut best: Option<(Time, Vec<u64>)> = None;
    for _ in 0..draws {
        let mut marks = Vec::with_capacity(64);
        let mut begun = None;
        let start = Instant::now();
        let drawn = sampler.run(
            logits,
            |_| {
                begun = Some(Instant::now());
                Ok(())
            },
            |chain, cands, ctx| chain.apply_each(cands, ctx, |_, _, _| marks.push(Instant::now())),
        );
        let is_drawn = drawn.is_ok();
        let (whole, begun) = (nanoseconds(start.elapsed()), begun?);
        if !is_drawn || sampler.rewind(0).is_err() {
            return None;
        }
        if best.as_ref().is_none_or(|(best, _)| whole < best.draw_ns) {
            let read_ns = nanoseconds(begun - start);
            let befores = std::iter::once(&begun).chain(&marks);
            let of_steps = befores.zip(&marks).map(|(before, after)| nanoseconds(*after - *before)).collect();
            best = Some((Time { draws, read_ns, draw_ns: whole }, of_steps));
        }
    }
    best
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
