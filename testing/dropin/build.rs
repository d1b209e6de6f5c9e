//! Binds the library's calls of its own exported functions to itself, whatever other library of the process exports them, too.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-Bsymbolic");
}
