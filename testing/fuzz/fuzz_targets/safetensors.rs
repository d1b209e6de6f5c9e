#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| sampler_chain_fuzz::safetensors::entry(data));
