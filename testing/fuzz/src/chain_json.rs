//! Chain files in JSON.

use sampler_chain::Format;

pub fn entry(data: &[u8]) {
    crate::chain::check(data, Format::Json);
}
