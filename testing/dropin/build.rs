//! Binds the library's calls of its own exported functions to itself, whatever other library of the process exports them, too; and
//! has tests show their functions to `dlsym`, for those that stand for llama.cpp's.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-Bsymbolic");
    println!("cargo::rustc-link-arg-tests=-rdynamic");
}
