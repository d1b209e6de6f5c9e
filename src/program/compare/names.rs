//! The names of the chains that are compared.

use std::collections::HashSet;
use std::path::Path;

/// Each chain's name and where it comes from. `NAME=SPEC` gives the name, unless that is a file's name itself; else it is the
/// file's without its extension, or `request` for JSON. What comes twice gets a number.
pub fn of<'s>(specs: &[&'s str], is_file: impl Fn(&str) -> bool) -> Vec<(String, &'s str)> {
    let mut taken = HashSet::new();
    let unique = |(name, spec): (String, &'s str)| {
        let numbered = (2..).map(|i| format!("{name}-{i}"));
        let name = std::iter::once(name.clone()).chain(numbered).find(|name| !taken.contains(name)).unwrap_or(name);
        taken.insert(name.clone());
        (name, spec)
    };
    specs.iter().map(|spec| named(spec, &is_file)).map(unique).collect()
}

fn named<'s>(spec: &'s str, is_file: &impl Fn(&str) -> bool) -> (String, &'s str) {
    match spec.split_once('=') {
        Some((name, rest)) if !name.is_empty() && !name.contains(['{', '[', '/']) && !is_file(spec) => {
            (clean(name), rest)
        }
        _ if spec.trim_start().starts_with(['{', '[']) => ("request".to_string(), spec),
        _ => {
            let stem = Path::new(spec).file_stem().map(|stem| stem.to_string_lossy());
            (clean(stem.as_deref().unwrap_or(spec)), spec)
        }
    }
}

/// A name without what would move a terminal's cursor.
fn clean(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_chain_has_a_name_of_its_own() {
        let specs = [
            "chains/min-p.toml",
            "old/min-p.json",
            "hot={\"a=b\": 1}",
            "{\"x=y\": 2}",
            "{}",
            "a=b.toml",
            "min-p=c.toml",
        ];
        let named = of(&specs, |file| file == "a=b.toml");
        let names: Vec<&str> = named.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["min-p", "min-p-2", "hot", "request", "request-2", "a=b", "min-p-3"]);
        let of_specs: Vec<&str> = named.iter().map(|(_, spec)| *spec).collect();
        assert_eq!(of_specs[2..], ["{\"a=b\": 1}", "{\"x=y\": 2}", "{}", "a=b.toml", "c.toml"]);
        assert_eq!(of(&["a\u{1b}[2Jb.toml", "d=a/b.toml"], |_| false)[0].0, "a?[2Jb");
    }
}
