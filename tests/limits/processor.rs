//! The processor's time: other programs on the machine do not count.

use std::path::Path;

/// What a thread has had of the processor, in seconds; none where it has ended. `/proc/thread-self` is the one that asks.
pub fn seconds(thread: &Path) -> Option<f64> {
    let stat = std::fs::read_to_string(thread.join("schedstat")).ok()?;
    Some(stat.split(' ').next()?.parse::<f64>().ok()? / 1e9)
}
