//! `biggest-gap` is named in Cargo.toml and this program does not use it: its step is not silently missing.

use std::path::Path;

use sampler_chain::{ChainFile, registered_steps};

#[test]
fn the_error_says_what_may_have_happened() {
    assert!(!registered_steps().contains(&"biggest_gap".to_string()));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/chains/biggest-gap.toml");
    let error = ChainFile::read(&path).unwrap_err().to_string();
    assert!(
        error.contains("biggest-gap.toml:6:8: step 1 (biggest_gap): type: there is no step biggest_gap"),
        "{error}"
    );
    let hint = "A step of another crate is there only if the program uses that crate: name it in the code, too (use \
                its_crate as _;), or the linker leaves it out";
    assert!(error.contains(hint), "{error}");
}
