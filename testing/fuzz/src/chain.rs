//! Chain files, in either format: what is read is written and read again; a chain that loads draws.

use std::path::Path;

use sampler_chain::{ChainFile, Ctx, DEFAULT_SEED, Format, chain_warnings, vocab_warnings};

use crate::draws::draw_some;
use crate::named;
use crate::toy_vocab::toy;

const PATH: &str = "fuzzed.chain";

pub fn check(data: &[u8], format: Format) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match ChainFile::parse(text, format, Path::new(PATH)) {
        Ok(file) => check_file(&file),
        Err(error) => {
            assert!(!error.problems.is_empty());
            error.problems.iter().for_each(|problem| assert!(!problem.what.is_empty(), "{problem:?}"));
            named(&error, PATH);
        }
    }
}

/// What holds for every chain that was read.
pub fn check_file(file: &ChainFile) {
    for format in [Format::Json, Format::Toml] {
        let written = file.to_text(format).unwrap_or_else(|error| panic!("{error}: {file:?}"));
        let read =
            ChainFile::parse(&written, format, Path::new(PATH)).unwrap_or_else(|error| panic!("{error}\n{written}"));
        assert_eq!(read.to_text(format).as_ref(), Ok(&written), "it is written another way again");
        assert_eq!(read.to_text(Format::Json), file.to_text(Format::Json), "{format:?} changes the chain");
    }
    for warning in chain_warnings(&file.chain).into_iter().chain(vocab_warnings(&file.chain)) {
        named(&warning, "step ");
    }
    let mut file = file.clone();
    file.seed = file.seed.filter(|&seed| seed != DEFAULT_SEED).or(Some(1));
    for with_vocab in [true, false] {
        let ctx = |seed| if with_vocab { Ctx::new(seed).with_vocab(toy()) } else { Ctx::new(seed) };
        match file.clone().into_sampler(ctx) {
            Ok(sampler) => draw_some(sampler, 3),
            Err(error) => named(&error, "step "),
        }
    }
}
