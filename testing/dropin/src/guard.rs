//! The end of a process that cannot go on, with a message: what `GGML_ABORT` and `GGML_ASSERT` are in llama.cpp.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs Rust code. A panic, which would be a bug of this library, is told and ends the process: it must not run into C.
///
/// Nothing of others may be called inside, because an exception of theirs would end here, too.
pub fn guard<T>(run: impl FnOnce() -> T) -> T {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(result) => result,
        // The panic's own message is on stderr already.
        Err(_) => die("a bug: it panicked"),
    }
}

/// Ends the process with a message.
pub fn die(message: &str) -> ! {
    eprintln!("sampler-chain-dropin: {message}");
    std::process::abort();
}
