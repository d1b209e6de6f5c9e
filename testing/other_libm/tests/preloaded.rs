//! Preloaded, the library really answers for the C library: Rust's own functions give other bits.

use std::hint::black_box;
use std::path::PathBuf;
use std::process::Command;

/// Where the other process learns that it is one.
const ASKED: &str = "OTHER_LIBM_ASKED";

/// A sum over the bits of what the platform's functions give.
fn platform() -> u64 {
    (1..2_000_000u32).fold(0, |sum, i| {
        let x = black_box(f64::from(i) * 1e-5);
        let bits = x.exp().to_bits() ^ x.powf(1.7).to_bits().rotate_left(7) ^ u64::from((x as f32).exp().to_bits());
        sum.rotate_left(1) ^ bits
    })
}

fn asked(library: Option<&PathBuf>) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "the_other_process", "--nocapture"]).env(ASKED, "1");
    if let Some(library) = library {
        command.env("LD_PRELOAD", library);
    }
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let at = text.find("sum ").unwrap_or_else(|| panic!("{text}"));
    text[at..].lines().next().unwrap().to_string()
}

#[test]
fn preloaded_functions_are_the_ones_that_are_called() {
    let library = std::env::current_exe().unwrap().with_file_name("libother_libm.so");
    assert!(library.is_file(), "{} is missing", library.display());
    let (glibc, again, musl) = (asked(None), asked(None), asked(Some(&library)));
    assert_eq!(glibc, again);
    assert_ne!(glibc, musl, "the two libraries agree everywhere, or the preloaded one was not called");
}

#[test]
fn the_other_process() {
    if std::env::var(ASKED).is_ok() {
        println!("sum {:016x}", platform());
    }
}
