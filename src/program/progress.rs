//! A progress bar on stderr for what takes longer than a second; none where stderr is no terminal.

use std::io::{IsTerminal, stdout};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// So long nothing is shown.
const PATIENCE: Duration = Duration::from_secs(1);

/// The progress of something of a known length. Threads may share it.
pub struct Progress {
    bar: ProgressBar,
    started: Instant,
    is_wanted: bool,
}

impl Progress {
    pub fn new(n: usize) -> Self {
        let bar = ProgressBar::with_draw_target(Some(n as u64), ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template("{wide_bar} {pos}/{len}, {eta} left") {
            bar.set_style(style);
        }
        Self { bar, started: Instant::now(), is_wanted: true }
    }

    /// The same of something that prints as it goes: on a terminal that shows how far it is.
    pub fn of_printing(n: usize) -> Self {
        let mut progress = Self::new(n);
        progress.is_wanted = !stdout().is_terminal();
        progress
    }

    /// One more is done.
    pub fn step(&self) {
        self.bar.inc(1);
        if self.is_wanted && self.bar.is_hidden() && self.started.elapsed() > PATIENCE {
            // Hidden still where stderr is no terminal.
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
