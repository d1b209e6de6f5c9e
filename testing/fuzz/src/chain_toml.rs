//! Chain files in TOML.

use sampler_chain::Format;

pub fn entry(data: &[u8]) {
    crate::chain::check(data, Format::Toml);
}
