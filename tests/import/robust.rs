//! Whatever is cut or broken gives a chain that can be read, or an error: no panic.

use sampler_chain::import::{Absent, Options, Source, import};
use sampler_chain::{ChainFile, Format, Mt19937};

use crate::fixtures::all;

fn try_import(bytes: &[u8], name: &std::path::Path, options: &Options) -> bool {
    let text = String::from_utf8_lossy(bytes);
    match import(&text, name, options) {
        Ok(imported) => {
            let written = imported.chain.to_text(Format::Toml).unwrap();
            ChainFile::parse(&written, Format::Toml, name)
                .unwrap_or_else(|error| panic!("{error}\nof {text}\n{written}"));
            let _ = imported.report.to_string();
            true
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            false
        }
    }
}

/// So many broken ones are made of each fixture.
const N_BROKEN: usize = if cfg!(debug_assertions) { 8 } else { 80 };

#[test]
fn nothing_panics() {
    let mut rng = Mt19937::new(20);
    let mut below = |n: usize| (rng.next_u32() as usize) % n.max(1);
    let (mut n_read, mut n_refused) = (0, 0);
    for fixture in all() {
        let bytes = std::fs::read(&fixture.preset).unwrap();
        let known = Options { n_ctx: Some(4096), absent: fixture.options.absent, ..fixture.options.clone() };
        let mut try_one = |bytes: &[u8], options: &Options| {
            if try_import(bytes, &fixture.preset, options) { n_read += 1 } else { n_refused += 1 }
        };
        for end in (0..bytes.len()).step_by(bytes.len().div_ceil(40)) {
            try_one(&bytes[..end], &known);
        }
        let splinters: [&[u8]; 16] = [
            b"-1",
            b"1e999",
            b"nan",
            b"null",
            b"[",
            b"]",
            b"{",
            b"}",
            b"\"",
            b"'",
            b"99999999999999999999",
            b"\n",
            b"true",
            "é".as_bytes(),
            b"-inf",
            b"\\",
        ];
        for _ in 0..N_BROKEN {
            let mut broken = bytes.clone();
            for _ in 0..1 + below(3) {
                let at = below(broken.len());
                match below(4) {
                    0 => broken[at] = below(256) as u8,
                    1 => {
                        broken.remove(at);
                    }
                    2 => {
                        broken.splice(at..at, splinters[below(splinters.len())].iter().copied());
                    }
                    _ => {
                        let end = (at + below(12)).min(broken.len());
                        broken.splice(at..end, splinters[below(splinters.len())].iter().copied());
                    }
                }
            }
            try_one(&broken, &known);
            // As another program's.
            let other = Source::ALL[below(Source::ALL.len())];
            let absent = (other == Source::HuggingFace).then_some(Absent::Transformers);
            try_one(&broken, &Options { source: Some(other), n_ctx: Some(64), absent, ..Options::default() });
        }
    }
    let least = 12 * N_BROKEN;
    assert!(n_read > least && n_refused > least, "{n_read} read, {n_refused} refused");
}

/// Depth, width and length that no preset has.
#[test]
fn what_is_huge_is_refused_in_time() {
    let deep = |open: &str| open.repeat(20_000);
    let wide: String = (0..20_000).map(|i| format!("field_{i}: {i}\n")).collect();
    let long = format!("temperature: {}\n", "9".repeat(100_000));
    let flags: String = (0..5_000).map(|i| format!("--logit-bias {i}+1 ")).collect();
    let cases = [
        (deep("["), Source::TextGenerationWebui),
        (deep("{\"a\":"), Source::SillyTavern),
        (deep("a: {"), Source::TabbyApi),
        (wide.clone(), Source::TextGenerationWebui),
        (wide, Source::TabbyApi),
        (long, Source::TextGenerationWebui),
        (flags, Source::LlamaCppArgs),
    ];
    for (text, source) in cases {
        let options = Options { source: Some(source), n_ctx: Some(64), ..Options::default() };
        try_import(text.as_bytes(), std::path::Path::new("huge"), &options);
    }
}
