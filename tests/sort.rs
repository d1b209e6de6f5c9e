//! `sort_by`, `sort_keyed` and `partial_sort` against the orders in which the real `std::sort` and `std::partial_sort` left 883 arrays.

use std::path::Path;

use sampler_chain::steps::libstdcxx::{keyed, payload, rising, sort_keyed};
use sampler_chain::{partial_sort, sort_by};
use serde::Deserialize;

#[derive(Deserialize)]
struct Array {
    name: String,
    op: String,
    #[serde(default)]
    middle: usize,
    keys: Vec<i32>,
    order: Vec<u32>,
}

#[test]
fn arrays_are_left_as_libstdcxx_leaves_them() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("testing/data/sort.jsonl.gz");
    let text = std::io::read_to_string(flate2::read::GzDecoder::new(std::fs::File::open(path).unwrap())).unwrap();
    let mut seen = (0, 0, 0);
    for line in text.lines().filter(|line| !line.starts_with("{\"head\"")) {
        let array: Array = serde_json::from_str(line).unwrap();
        let mut found: Vec<(u32, f32)> = array.keys.iter().zip(0..).map(|(&key, id)| (id, key as f32)).collect();
        match array.op.as_str() {
            "sort" => {
                let mut quick: Vec<u64> = found.iter().map(|&(id, key)| keyed(!rising(key), id)).collect();
                sort_keyed(&mut quick);
                sort_by(&mut found, |a, b| a.1 > b.1);
                assert!(quick.iter().map(|&it| payload(it)).eq(found.iter().map(|(id, _)| *id)), "{}", array.name);
                seen.0 += 1;
            }
            "partial_sort" => {
                partial_sort(&mut found, array.middle, |a, b| a.1 > b.1);
                seen.1 += 1;
            }
            other => panic!("{}: no such operation: {other}", array.name),
        }
        let found: Vec<u32> = found.iter().map(|(id, _)| *id).collect();
        let first = found.iter().zip(&array.order).position(|(a, b)| a != b);
        assert_eq!(found.len(), array.order.len(), "{}", array.name);
        assert_eq!(first, None, "{}: place {first:?} differs:\n{found:?}\n{:?}", array.name, array.order);
        seen.2 += usize::from(array.name.contains("killer"));
    }
    let (sorts, partial_sorts, killers) = seen;
    assert!(sorts + partial_sorts >= 800 && partial_sorts >= 100 && killers >= 1, "{seen:?}");
}
