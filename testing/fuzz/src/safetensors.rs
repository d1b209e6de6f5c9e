//! Files of logits: rows of the width and number that the file has room for, or a refusal that names the file.

use sampler_chain::LogitsFile;

use crate::file::with_file;
use crate::named;

const NAME: &str = "fuzzed.safetensors";

pub fn entry(data: &[u8]) {
    with_file(NAME, data, |path| {
        for tensor in [None, Some("logits")] {
            match LogitsFile::open(path, tensor) {
                Ok(file) => check_rows(&file, data),
                Err(error) => named(&error, NAME),
            }
        }
    });
}

fn check_rows(file: &LogitsFile, data: &[u8]) {
    let (n_rows, n_vocab) = (file.n_rows(), file.n_vocab());
    let n_bytes = n_rows.checked_mul(n_vocab).and_then(|n| n.checked_mul(4));
    assert!(n_bytes.is_some_and(|n| n <= data.len()), "{n_rows} rows of {n_vocab} in {} bytes", data.len());
    let mut row = vec![1.0];
    for i in (0..n_rows.min(50)).chain(n_rows.checked_sub(1)) {
        assert_eq!(file.row(i, &mut row), Some(()));
        assert_eq!(row.len(), n_vocab);
        let bytes: Vec<u8> = row.iter().flat_map(|logit| logit.to_le_bytes()).collect();
        let is_there = n_vocab == 0 || data.windows(bytes.len()).any(|there| there == bytes);
        assert!(is_there || data.len() > 1 << 14, "row {i} is not in the file");
    }
    for i in [n_rows, usize::MAX] {
        assert_eq!(file.row(i, &mut row), None);
    }
}
