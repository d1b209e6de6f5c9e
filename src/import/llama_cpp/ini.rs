//! INI files: `[*]`, over which a named section lies; `;` and `#` begin comments wherever they stand.

use std::collections::{BTreeMap, HashMap};

use super::{Flag, FlagKind, Given, section_error, translate};
use crate::document::{Entry, Node, NodeKind};
use crate::import::ImportError;
use crate::import::draft::{Draft, shortened};
use crate::import::llama_cpp::others::other_flag;
use crate::import::report::Fate;
use crate::names::nearest;

/// Of so many keys that are no option of the draw the nearest known name is looked for.
const MAX_COMPARED: usize = 100;

/// Options before any header belong to this section.
const DEFAULT: &str = "default";

struct Section {
    name: String,
    lines: Vec<Line>,
}

/// A key, its value, and a comment that begins right behind the value.
struct Line {
    key: String,
    value: String,
    at: usize,
    cut: String,
}

/// Reads the section that is asked for, or the only one, over `[*]`.
pub fn read_ini(text: &str, draft: &mut Draft<'_>) -> Result<(), ImportError> {
    let mut sections = sections(text, draft);
    let named: Vec<String> =
        sections.iter().filter(|section| section.name != "*").map(|section| section.name.clone()).collect();
    let wanted = draft.options.preset.clone();
    let chosen = match (&wanted, named.as_slice()) {
        (Some(wanted), _) => {
            let same = |section: &&Section| canonical(&section.name) == canonical(wanted);
            match sections.iter().find(same) {
                Some(section) => section.name.clone(),
                None => {
                    let nearest = nearest(wanted, named.iter().map(String::as_str)).map(String::from);
                    let what = format!("there is no section [{}]", shortened(wanted));
                    return Err(section_error(draft, what, named, nearest));
                }
            }
        }
        (None, []) => "*".to_string(),
        (None, [only]) => only.clone(),
        (None, _) => return Err(section_error(draft, "it has several sections".into(), named, None)),
    };
    // The global section lies below. llama.cpp sorts the keys of a section: of two names of an option the later one counts.
    sections.retain(|section| section.name == "*" || section.name == chosen);
    sections.sort_by_key(|section| section.name != "*");
    let mut given: Vec<Given> = Vec::new();
    let mut others = Others::default();
    for Section { name, lines } in sections {
        let mut by_key: BTreeMap<String, Line> = BTreeMap::new();
        for line in lines {
            if let Some(earlier) = by_key.insert(line.key.clone(), line) {
                let why = "it is given again, and the last counts".to_string();
                draft.note(&earlier.key, Fate::Dropped { part: shortened(&earlier.value), why });
            }
        }
        by_key.into_values().for_each(|line| put(line, &name, &mut given, &mut others, draft));
    }
    // llama.cpp has its options in the order of their names.
    given.sort_by_key(|one| one.flag.kind == FlagKind::Names);
    translate(&given, others.entries, draft);
    Ok(())
}

/// What is no option of the draw, with the keys to look it up by: a section may have a million.
#[derive(Default)]
struct Others {
    entries: Vec<Entry>,
    keys: std::collections::HashSet<String>,
}

impl Others {
    fn push(&mut self, entry: Entry) {
        self.keys.insert(entry.key.clone());
        self.entries.push(entry);
    }
}

/// Takes a line of a section over what was given before.
fn put(line: Line, section: &str, given: &mut Vec<Given>, others: &mut Others, draft: &mut Draft<'_>) {
    let Line { key, value, at, cut } = line;
    if !cut.is_empty() && key == "samplers" {
        let why = "; begins a comment in an INI file; sampler-seq takes letters instead".to_string();
        draft.note(&key, Fate::Dropped { part: shortened(&cut), why });
    }
    if let Some(flag) = Flag::of_key(&key) {
        if let Some(earlier) = given.iter().position(|one| std::ptr::eq(one.flag, flag)) {
            let earlier = given.remove(earlier);
            if earlier.name == key {
                let (part, why) = (shortened(&earlier.text), format!("[{section}] lies over it"));
                draft.note(&key, Fate::Dropped { part, why });
            } else {
                draft.note(&earlier.name, Fate::NoEffect { why: format!("{key} is given, too, and counts") });
                let value = Node { at: earlier.at, kind: NodeKind::Scalar(earlier.text.into()) };
                others.push(Entry { key: earlier.name, at: earlier.at, value });
            }
        }
        given.push(Given { flag, name: key, text: switched(flag, value), at });
        return;
    }
    if others.keys.contains(&key) {
        return;
    }
    let is_other = ["--", "-"].iter().any(|dashes| other_flag(&format!("{dashes}{key}")).is_some())
        || key.starts_with("LLAMA_ARG_")
        || ["load-on-startup", "stop-timeout"].contains(&key.as_str());
    let fate = if is_other {
        Fate::Elsewhere { why: "how llama.cpp runs".into() }
    } else {
        let names = super::llama_cpp_flags().iter().flat_map(|flag| flag.names.iter());
        let search = || nearest(&key, names.map(|name| name.trim_start_matches('-'))).map(String::from);
        // A section with more unknown keys is most likely of another kind, and comparing takes long.
        Fate::Unknown { nearest: (others.entries.len() < MAX_COMPARED).then(search).flatten() }
    };
    draft.note(&key, fate);
    let value = Node { at, kind: NodeKind::Scalar(value.into()) };
    others.push(Entry { key, at, value });
}

/// A switch's value: llama.cpp takes `on`, `enabled`, `true` and `1`.
fn switched(flag: &Flag, value: String) -> String {
    if !flag.is_switch() {
        return value;
    }
    ["on", "enabled", "true", "1"].contains(&value.as_str()).to_string()
}

/// A section's name with its tag (behind the last `:`) as llama.cpp compares it: its last part, in capitals.
fn canonical(name: &str) -> String {
    match name.rsplit_once(':') {
        Some((model, tag)) => {
            let last = tag.rsplit(['-', '.']).next().unwrap_or(tag);
            format!("{model}:{}", last.to_ascii_uppercase())
        }
        None => name.to_string(),
    }
}

/// The sections in the file's order. One that comes again takes the place of the first.
fn sections(text: &str, draft: &mut Draft<'_>) -> Vec<Section> {
    let mut sections: Vec<Option<Section>> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut current = Section { name: DEFAULT.to_string(), lines: Vec::new() };
    let mut close = |section: Section| {
        if section.name == DEFAULT && section.lines.is_empty() {
            return;
        }
        if let Some(earlier) = places.insert(section.name.clone(), sections.len()) {
            sections[earlier] = None;
        }
        sections.push(Some(section));
    };
    let mut at = 0;
    for line in text.split_inclusive(['\n', '\r']) {
        let start = at;
        at += line.len();
        let content = line.trim();
        let begin = start + line.find(content).unwrap_or(0);
        if content.is_empty() || content.starts_with([';', '#']) {
            continue;
        }
        if let Some(rest) = content.strip_prefix('[') {
            let header = rest.split_once(']').filter(|(_, behind)| {
                let behind = behind.trim_start();
                behind.is_empty() || behind.starts_with([';', '#'])
            });
            match header.map(|(name, _)| name.trim()).filter(|name| !name.is_empty()) {
                Some(name) => close(std::mem::replace(&mut current, Section { name: name.into(), lines: Vec::new() })),
                None => {
                    draft.problem_at(begin, "a section is [name]");
                }
            }
            continue;
        }
        match key_and_value(content) {
            // Reserved: llama.cpp passes over it.
            Some(("version", ..)) => {}
            Some((key, value, cut)) => current.lines.push(Line { key: key.into(), value, at: begin, cut }),
            None => {
                draft.problem_at(begin, "this is no section, no key = value and no comment");
            }
        }
    }
    close(current);
    sections.into_iter().flatten().collect()
}

/// `key = value`, and what a comment without space before it cuts off.
fn key_and_value(content: &str) -> Option<(&str, String, String)> {
    let (key, rest) = content.split_once('=')?;
    let key = key.trim_end();
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    if !key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') || !key.chars().all(is_name) {
        return None;
    }
    let rest = rest.trim_start();
    let end = rest.find([';', '#']).unwrap_or(rest.len());
    let (value, comment) = rest.split_at(end);
    let is_cut = !value.is_empty() && !value.ends_with(char::is_whitespace);
    let cut = if is_cut { comment.to_string() } else { String::new() };
    Some((key, value.trim_end().to_string(), cut))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::{Options, import};

    /// Each section was compared with all before it, and each unknown key, too.
    #[test]
    fn many_sections_and_keys_take_no_square_of_time() {
        let sections: String = (0..100_000).map(|i| format!("[{i}]\ntop-k = {i}\n")).collect();
        let keys: String = (0..100_000).map(|i| format!("x{i} = 1\n")).collect();
        let text = sections + "[5]\ntop-k = 7\n" + &keys;
        let options = Options { preset: Some("5".into()), ..Options::default() };
        let imported = import(&text, "a.ini".as_ref(), &options).unwrap();
        assert_eq!(imported.report.notes.len(), 100_001, "{:?}", &imported.report.notes[..3]);
        let toml = imported.chain.to_text(crate::Format::Toml).unwrap();
        assert!(toml.contains("k = 7\n"), "the last section of a name counts: {toml}");
    }

    #[test]
    fn comments_begin_anywhere() {
        let read = key_and_value;
        assert_eq!(read("top-k = 20 ; few"), Some(("top-k", "20".into(), String::new())));
        assert_eq!(read("samplers=top_k;temp"), Some(("samplers", "top_k".into(), ";temp".into())));
        assert_eq!(read("a.b-c_d =# x"), Some(("a.b-c_d", String::new(), String::new())));
        assert_eq!(read("1a = 2"), None);
        assert_eq!(read("no value"), None);
    }

    #[test]
    fn tags_are_compared_by_their_last_part() {
        assert_eq!(canonical("org/model:UD-q4_k_xl"), "org/model:Q4_K_XL");
        assert_eq!(canonical("model"), "model");
    }
}
