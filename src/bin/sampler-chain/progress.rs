//! A progress bar on stderr for what takes longer than a second; none where stderr is no terminal.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget};

/// So long nothing is shown.
const PATIENCE: Duration = Duration::from_secs(1);

/// The progress of something of a known length.
pub struct Progress {
    bar: ProgressBar,
    started: Instant,
    is_shown: bool,
}

impl Progress {
    pub fn new(n: u64) -> Self {
        let bar = ProgressBar::with_draw_target(Some(n), ProgressDrawTarget::hidden());
        Self { bar, started: Instant::now(), is_shown: false }
    }

    /// One more is done.
    pub fn step(&mut self) {
        self.bar.inc(1);
        if !self.is_shown && self.started.elapsed() > PATIENCE {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            self.is_shown = true;
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
