//! The house's own rules: every step has its file, docs, recorded cases and rows in the pages; nobody reaches around.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sampler_chain::oracle::read_cases;
use sampler_chain::{ChainFile, Format, SamplerStep, registered_steps};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Where a step's file is.
fn file_of(step: &str) -> String {
    let community = format!("samplers/community/{step}.rs");
    match step {
        "chain" => "samplers/core/chain.rs".into(),
        _ if root().join(&community).exists() => community,
        _ => format!("samplers/{step}.rs"),
    }
}

/// Whether llama.cpp does not have it.
fn is_of_community(step: &str) -> bool {
    file_of(step).starts_with("samplers/community/")
}

/// Where a step's recorded cases are: in a file that is packed if it is large.
fn cases_of(step: &str) -> String {
    let plain = format!("testing/data/steps-{}.jsonl", if step == "chain" { "chains" } else { step });
    let packed = plain.clone() + ".gz";
    if root().join(&packed).exists() { packed } else { plain }
}

/// Rust files below a folder.
fn rust_files(dir: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(dir)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                // A package of its own builds there what others generate.
                folders.extend((!path.ends_with("target")).then_some(path));
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    assert!(!found.is_empty());
    found
}

/// A new step is one file, one line in lib.rs, one oracle file and one row in docs/steps.md: this names what is missing.
#[test]
fn every_step_has_all_its_parts() {
    let (lib, page) = (read("samplers/lib.rs"), read("docs/steps.md"));
    let community = read("samplers/community/mod.rs");
    let mut missing = Vec::new();
    for step in registered_steps() {
        let file = std::fs::read_to_string(root().join(file_of(&step))).unwrap_or_default();
        for part in ["/// # Order and flags", "/// # Draws", "/// # Chain file", "describe_step!(", "mod tests"] {
            if !file.contains(part) {
                missing.push(format!("{step}: \"{part}\" in {}", file_of(&step)));
            }
        }
        let (list, name) = if is_of_community(&step) { (&community, "community/mod.rs") } else { (&lib, "lib.rs") };
        if step != "chain" && !list.contains(&format!("\nmod {step};")) {
            missing.push(format!("{step}: its line in samplers/{name}"));
        }
        let cases = read_cases(&root().join(cases_of(&step))).unwrap_or_default();
        let is_of_step = |line: &&str| step == "chain" || line.contains(&format!("\"type\":\"{step}\""));
        let wanted = if is_of_community(&step) { 20 } else { 10 };
        if cases.lines().skip(1).filter(is_of_step).count() < wanted {
            missing.push(format!("{step}: {wanted} recorded cases or more in {}", cases_of(&step)));
        }
        for part in ["/// # Origin", "Gate: ", "/// # Errors"] {
            if is_of_community(&step) && !file.contains(part) {
                missing.push(format!("{step}: \"{part}\" in {}", file_of(&step)));
            }
        }
        if !page.contains(&format!("| `{step}` |")) {
            missing.push(format!("{step}: its row in docs/steps.md"));
        }
    }
    assert!(missing.is_empty(), "missing:\n{}", missing.join("\n"));
}

/// The same from the other side: a step file that nobody registers is a mistake, too.
#[test]
fn every_module_of_a_step_is_a_registered_step() {
    let not_steps = ["community", "core", "libm", "libstdcxx", "testing"];
    let lists = read("samplers/lib.rs") + &read("samplers/community/mod.rs");
    let modules = lists.lines().filter_map(|line| line.trim_start_matches("pub ").strip_prefix("mod "));
    for module in modules.map(|module| module.trim_end_matches(';')).filter(|module| !not_steps.contains(module)) {
        assert!(registered_steps().iter().any(|step| step == module), "{module} is no registered step");
    }
}

/// Every chain-file example in a step's docs is one, and names its own step.
#[test]
fn every_example_in_a_steps_docs_is_a_step() {
    for step in registered_steps() {
        let text = read(&file_of(&step));
        let example = text.split("/// ```json\n/// ").nth(1).and_then(|rest| rest.lines().next());
        let example = example.unwrap_or_else(|| panic!("{step} has no example"));
        let read: Box<dyn SamplerStep> =
            serde_json::from_str(example).unwrap_or_else(|error| panic!("{step}: {error}: {example}"));
        assert_eq!(read.typetag_name(), step);
    }
}

/// Every chain in the pages is one.
#[test]
fn every_chain_in_the_pages_is_one() {
    let mut n_chains = 0;
    let pages = [
        "adding-a-step",
        "chain-files",
        "constrained",
        "fidelity",
        "from-idea-to-gate",
        "gguf",
        "importing",
        "records",
        "requests",
        "steps",
        "workbench",
    ];
    for page in pages.map(|page| format!("docs/{page}.md")).into_iter().chain(["README.md".into()]) {
        let text = read(&page);
        let mut blocks = text.split("```");
        blocks.next();
        for block in blocks.step_by(2) {
            let (language, content) = block.split_once('\n').unwrap();
            let format = match language {
                "toml" if content.contains("version = 1\n") => Format::Toml,
                "json" if content.contains("\"version\"") => Format::Json,
                _ => continue,
            };
            // This program does not use the example's crate.
            if content.contains("biggest_gap") {
                continue;
            }
            ChainFile::parse(content, format, Path::new(&page)).unwrap_or_else(|error| panic!("{error}"));
            n_chains += 1;
        }
    }
    assert!(n_chains >= 3, "{n_chains}");
}

/// The guide's step is the example's, line by line.
#[test]
fn the_guide_builds_the_example() {
    let (guide, example) = (read("docs/adding-a-step.md"), read("examples/biggest_gap/lib.rs"));
    let blocks = guide.split("```rust\n").skip(1).filter_map(|rest| rest.split("```").next());
    let mut n_lines = 0;
    for line in blocks.take(2).flat_map(str::lines).filter(|line| !line.trim().is_empty()) {
        assert!(example.contains(line), "the guide says {line:?}, and the example does not");
        n_lines += 1;
    }
    assert!(n_lines >= 30, "{n_lines} lines");
    let (last, top_a) = (guide.rsplit("```rust\n").next().unwrap(), read("samplers/community/top_a.rs"));
    for line in last.split("```").next().unwrap().lines() {
        assert!(top_a.contains(line.trim()), "the guide says {line:?}, and top_a does not");
    }
}

/// `core` knows no step, a step knows no other step, and `samplers` knows nothing of `src`.
#[test]
fn nobody_reaches_around() {
    let steps = registered_steps();
    let type_of =
        |step: &str| -> String { step.split('_').map(|word| word[..1].to_uppercase() + &word[1..]).collect() };
    for file in rust_files("samplers") {
        let relative = file.strip_prefix(root().join("samplers")).unwrap().to_str().unwrap().to_string();
        if ["community/mod.rs", "lib.rs", "testing.rs"].contains(&relative.as_str()) {
            continue;
        }
        let text = std::fs::read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap();
        assert!(!code.contains(" sampler_chain::"), "{relative} knows the crate above it");
        if relative.ends_with("tests.rs") || relative.contains("/tests/") {
            continue;
        }
        for step in steps.iter().filter(|step| *step != "chain") {
            let own = relative.trim_start_matches("community/");
            let own = own == format!("{step}.rs") || own.starts_with(&format!("{step}/"));
            let used = [format!("crate::{step}::"), format!("crate::{}", type_of(step)), format!("community::{step}")];
            let uses = used.iter().any(|path| code.contains(path));
            assert!(own || !uses, "{relative} knows the step {step}");
        }
    }
}

/// Longer than 400 lines, a room is missing.
#[test]
fn no_file_is_too_long() {
    for dir in ["src", "samplers", "tests", "examples"] {
        for file in rust_files(dir) {
            let n_lines = std::fs::read_to_string(&file).unwrap().lines().count();
            assert!(n_lines <= 400, "{}: {n_lines} lines", file.display());
        }
    }
}

/// How many lines a Rust file has that are neither blank nor a comment nor a test module's.
fn code_lines(text: &str) -> usize {
    let (mut n_lines, mut lines) = (0, text.lines());
    while let Some(line) = lines.next() {
        if line == "#[cfg(test)]" {
            // A module in a file of its own is one line, else it ends with its brace.
            if lines.next().is_some_and(|module| module.ends_with('{')) {
                lines.by_ref().take_while(|line| *line != "}").count();
            }
        } else if !line.trim().is_empty() && !line.trim_start().starts_with("//") {
            n_lines += 1;
        }
    }
    n_lines
}

/// The steps with more than 60 lines of code, of files by their names (`switch.rs`) and their rooms (`switch/chains.rs`), tests
/// left out.
fn long_steps<'f>(files: impl IntoIterator<Item = (&'f str, &'f str)>) -> Vec<String> {
    let mut n_lines = BTreeMap::<&str, usize>::new();
    for (name, text) in files {
        let mut parts = name.trim_end_matches(".rs").split('/');
        let step = parts.next().unwrap();
        if !parts.any(|part| part == "tests") {
            *n_lines.entry(step).or_default() += code_lines(text);
        }
    }
    n_lines.into_iter().filter(|(_, n)| *n > 60).map(|(step, n)| format!("{step}: {n} lines")).collect()
}

/// A step that llama.cpp does not have is short: what is general in it has its place in `core`.
#[test]
fn community_steps_are_short() {
    let (dir, files) = (root().join("samplers/community"), rust_files("samplers/community"));
    let names: Vec<&str> = files.iter().map(|file| file.strip_prefix(&dir).unwrap().to_str().unwrap()).collect();
    let texts: Vec<String> = files.iter().map(|file| std::fs::read_to_string(file).unwrap()).collect();
    let long = long_steps(names.iter().copied().zip(texts.iter().map(String::as_str)));
    assert!(long.is_empty(), "{}", long.join("\n"));
    for step in registered_steps().iter().filter(|step| is_of_community(step)) {
        let file = names.iter().position(|name| *name == format!("{step}.rs")).unwrap();
        assert!(code_lines(&texts[file]) >= 20, "{step} is not counted");
    }
}

/// The counting sees a step that is too long, in its file or its rooms, and no docs and tests.
#[test]
fn a_long_step_is_seen() {
    let code = |n: usize| "    let x = 1; // one\n".repeat(n);
    let rest = "\n/// # Docs\n    // why\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n    fn f() {\n    }\n}\n";
    let named = "#[cfg(test)]\nmod tests;\n";
    let [short, long] = [60, 61].map(|n| code(n) + rest);
    // Code behind a test module counts again.
    let behind = code(30) + rest + &code(31) + named;
    let (main, room, tests) = ("fn f() {}\n".to_string() + &code(40) + named, code(20), code(500));
    let files = [
        ("short.rs", &short),
        ("long.rs", &long),
        ("behind.rs", &behind),
        ("roomy.rs", &main),
        ("roomy/a/room.rs", &room),
        ("fits.rs", &main),
        ("fits/tests.rs", &tests),
        ("fits/tests/more.rs", &tests),
    ];
    let found = long_steps(files.map(|(name, text)| (name, text.as_str())));
    assert_eq!(found, ["behind: 61 lines", "long: 61 lines", "roomy: 61 lines"]);
}

/// `unsafe` stands where the memory map is made, and nowhere else.
#[test]
fn unsafe_stands_in_one_place() {
    assert!(read("samplers/lib.rs").contains("#![forbid(unsafe_code)]"));
    let mut places: Vec<String> = [rust_files("src"), rust_files("samplers")]
        .into_iter()
        .flatten()
        .filter(|file| std::fs::read_to_string(file).unwrap().contains("unsafe {"))
        .map(|file| file.strip_prefix(root()).unwrap().display().to_string())
        .collect();
    places.sort();
    assert_eq!(places, ["src/logits.rs"]);
}

/// Recorders, tests and examples count, too; what builds and fuzzers leave does not.
#[test]
fn test_data_stays_small() {
    let is_left = |path: &Path| ["target", "corpus", "artifacts"].iter().any(|name| path.ends_with(name));
    let mut bytes = 0;
    let mut folders = ["testing", "tests", "examples"].map(|name| root().join(name)).to_vec();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            match entry.metadata().unwrap() {
                _ if is_left(&entry.path()) => {}
                meta if meta.is_dir() => folders.push(entry.path()),
                meta => bytes += meta.len(),
            }
        }
    }
    assert!(bytes < 25_000_000, "{bytes} bytes");
}
