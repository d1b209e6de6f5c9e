//! Parts of a comparison: what is read is written again to the same bytes, and a whole one is a comparison.

use sampler_chain::compare::{Comparison, Shard};

use crate::file::with_file;
use crate::named;

const NAME: &str = "fuzzed.jsonl";

pub fn entry(data: &[u8]) {
    let shard = with_file(NAME, data, |path| match Shard::read(path) {
        Ok(shard) => Some(shard),
        Err(error) => {
            named(&error, NAME);
            None
        }
    });
    let Some(shard) = shard else { return };
    let mut written = Vec::new();
    shard.write(&mut written).expect("memory takes what is written");
    let again = with_file("again.jsonl", &written, Shard::read);
    let again = again.unwrap_or_else(|error| panic!("{error}: what was written is refused"));
    let mut rewritten = Vec::new();
    again.write(&mut rewritten).expect("memory takes what is written");
    assert!(written == rewritten, "it is written another way again");
    match Comparison::merge(vec![("one".into(), shard), ("two".into(), again)]) {
        Ok(_) => panic!("the same part twice is no comparison"),
        Err(error) => assert!(error.to_string().len() > 8, "{error:?}"),
    }
    let shard = with_file(NAME, &written, Shard::read).unwrap_or_else(|error| panic!("{error}"));
    match Comparison::merge(vec![("one".into(), shard)]) {
        Ok(whole) => check_whole(&whole),
        Err(error) => assert!(error.to_string().len() > 8, "{error:?}"),
    }
}

fn check_whole(whole: &Comparison) {
    assert_eq!(whole.cells().len(), whole.setup().n_cells().expect("they were counted"));
    let mut written = Vec::new();
    whole.write(&mut written).expect("memory takes what is written");
    let read = with_file(NAME, &written, Shard::read).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(read.cells().len(), whole.cells().len());
}
