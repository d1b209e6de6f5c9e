//! The functions that the library exports are those that llama_h.txt says, and it says something of every one of llama.h's.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

fn read(file: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap()
}

/// What `src/` exports: the functions behind `#[unsafe(no_mangle)]` and, for the one of C++, `#[unsafe(export_name = "…")]`.
fn exported() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        for attribute in ["#[unsafe(no_mangle)]", "#[unsafe(export_name = "] {
            for item in text.split(attribute).skip(1) {
                names.insert(item.split_once("fn ").unwrap().1.split_once('(').unwrap().0.to_owned());
            }
        }
    }
    names
}

#[test]
fn every_name_of_llama_h_has_its_state() {
    let (text, mut here, mut left) = (read("llama_h.txt"), BTreeSet::new(), BTreeSet::new());
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (name, state) = line.split_once(' ').unwrap();
        let is_new = match state.strip_prefix("left: ") {
            Some(why) => !why.is_empty() && left.insert(name.to_owned()),
            None => state == "here" && here.insert(name.to_owned()),
        };
        assert!(is_new, "{line}");
    }
    assert_eq!(here, exported());
    assert!(here.is_disjoint(&left));
    // 40 of llama.h of b11192, and three of C++.
    assert_eq!((here.len(), left.len()), (37, 6));
}

/// The README names what is left to libllama, and the counts that the library writes name all that is here.
#[test]
fn what_is_left_and_what_is_counted_are_told() {
    let (readme, calls) = (read("README.md"), read("src/calls.rs"));
    for line in read("llama_h.txt").lines().filter(|line| !line.starts_with('#')) {
        let (name, state) = line.split_once(' ').unwrap();
        let (counted, told) = (format!("\"{name}\""), format!("`{name}`"));
        let told = if state == "here" { calls.contains(&counted) } else { readme.contains(&told) };
        assert!(told, "{name}");
    }
}
