//! What docs/divergences.md says exists, and no other page says it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const PAGE: &str = "docs/divergences.md";

/// The rows of the page's own table. A row more wants a number more here.
const ROWS: usize = 26;

/// What the page names of b11192's sources, each with the file in which it stands. Looked up by `names_of_sources_are_there`.
const SOURCES: [(&str, &str); 29] = [
    ("llama_sampler_sample", "src/llama-sampler.cpp"),
    ("llama_sampler_adaptive_p_clone", "src/llama-sampler.cpp"),
    ("llama_sampler_dry_apply", "src/llama-sampler.cpp"),
    ("llama_sampler_mirostat_apply", "src/llama-sampler.cpp"),
    ("llama_sampler_infill_apply", "src/llama-sampler.cpp"),
    ("ring_buffer", "src/llama-sampler.cpp"),
    ("common_reasoning_budget_reset", "common/reasoning-budget.cpp"),
    ("llama_vocab::impl::load", "src/llama-vocab.cpp"),
    ("nlohmann::json", "common/json.h"),
    ("get_overlapping_token_sequences", "src/llama-sampler.cpp"),
    ("dry_sequence_breakers", "common/common.h"),
    ("logit_bias_eog", "tools/server/server-schema.cpp"),
    ("llama_sampler_chain_backend_apply", "src/llama-sampler.cpp"),
    ("llama_sampler_init_grammar_lazy_patterns", "include/llama.h"),
    ("eval_llama_cmpl_schema", "tools/server/server-schema.cpp"),
    ("llama_sampler_softmax_impl", "src/llama-sampler.cpp"),
    ("llama_context::set_sampler", "src/llama-context.cpp"),
    ("llama_sampler_adaptive_p_accept", "src/llama-sampler.cpp"),
    ("llama_sampler_chain_add", "src/llama-sampler.cpp"),
    ("llama_sampler_chain_free", "src/llama-sampler.cpp"),
    ("llama_sampler_get_seed", "src/llama-sampler.cpp"),
    ("llama_sampler_init_dry", "src/llama-sampler.cpp"),
    ("llama_sampler_init_dry_testing", "src/llama-sampler.cpp"),
    ("llama_sampler_init_infill", "src/llama-sampler.cpp"),
    ("llama_sampler_init_logit_bias", "src/llama-sampler.cpp"),
    ("llama_sampler_mirostat_clone", "src/llama-sampler.cpp"),
    ("llama_sampler_name", "src/llama-sampler.cpp"),
    ("llama_sampler_top_k_impl", "src/llama-sampler.cpp"),
    ("llama_token_data_array_partial_sort_inplace", "src/llama-sampler.cpp"),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The files of a folder that end so, those in folders inside included; what builds leave is passed over.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_path_buf()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            let is_built = path.file_name().is_some_and(|name| name == "target" || name == ".git");
            if path.is_dir() && !is_built {
                folders.push(path);
            } else if path.extension().is_some_and(|found| found == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The text without the spaces at the lines' beginnings.
fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The names of functions in a Rust text that a test run runs: with `#[test]` among the attributes above, and not ignored.
fn tests_in(text: &str) -> BTreeSet<String> {
    let (mut found, mut attributes) = (BTreeSet::new(), Vec::new());
    for line in text.lines().map(str::trim) {
        if line.starts_with("#[") {
            attributes.push(line);
        } else if let Some(name) = line.strip_prefix("fn ").and_then(|rest| rest.split_once('(')).map(|(name, _)| name)
        {
            let is_ignored = attributes.iter().any(|line| line.starts_with("#[ignore"));
            if attributes.contains(&"#[test]") && !is_ignored {
                found.insert(name.to_string());
            }
            attributes.clear();
        } else if !line.starts_with("//") {
            attributes.clear();
        }
    }
    found
}

/// What stands between backticks.
fn names(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// The names in brackets after a word: `(live: …)`.
fn names_after<'c>(cell: &'c str, word: &str) -> Vec<&'c str> {
    cell.split(&format!("({word}: "))
        .skip(1)
        .flat_map(|rest| names(rest.split(')').next().unwrap_or_default()))
        .collect()
}

/// The rows of the page's tables, and how many of them stand in the first.
fn rows(page: &str) -> (Vec<Vec<&str>>, usize) {
    let lines: Vec<&str> = page.lines().collect();
    let (mut rows, mut tables, mut first) = (Vec::new(), 0, 0);
    for (i, line) in lines.iter().enumerate().filter(|(_, line)| line.starts_with("| ")) {
        let is_head = lines.get(i + 1).is_some_and(|next| next.starts_with("| --- "));
        tables += usize::from(is_head);
        if is_head || line.starts_with("| --- ") {
            continue;
        }
        rows.push(line.trim_matches('|').split(" | ").map(str::trim).collect());
        first += usize::from(tables == 1);
    }
    (rows, first)
}

#[test]
fn every_row_names_tests_that_exist() {
    let page = read(&root().join(PAGE));
    let (rows, first) = rows(&page);
    assert_eq!(first, ROWS, "rows of the first table");
    let folders = ["tests", "src", "samplers", "testing/dropin/tests"];
    let ours: BTreeSet<String> = folders
        .iter()
        .flat_map(|folder| files(&root().join(folder), "rs"))
        .flat_map(|path| tests_in(&read(&path)))
        .collect();
    let live: String =
        files(&root().join("testing/differential/tests/live"), "rs").iter().map(|path| read(path)).collect();
    for row in &rows {
        let [situation, there, _, tests] = row[..] else { panic!("a row has four cells: {row:?}") };
        let tests = names(tests);
        assert!(!tests.is_empty(), "{situation}: no test");
        for test in tests {
            assert!(ours.contains(test), "{situation}: there is no test {test}, or it is ignored");
        }
        let (live_names, sources) = (names_after(there, "live"), names_after(there, "source"));
        assert!(!live_names.is_empty() || !sources.is_empty(), "{situation}: nothing shows what b11192 does");
        for test in live_names {
            assert!(live.contains(&format!("(\"{test}\", ")), "{situation}: there is no live test {test}");
        }
        for name in sources {
            assert!(SOURCES.iter().any(|source| source.0 == name), "{situation}: SOURCES does not say where {name} is");
        }
    }
}

/// Only what runs counts as a test.
#[test]
fn helpers_and_ignored_tests_do_not_count() {
    let text = "#[test]\nfn a() {}\nfn b() {}\n#[test]\n#[ignore = \"slow\"]\nfn c() {}\n#[ignore]\n#[test]\nfn d() {}\n\
                \x20   #[test]\n    #[cfg(unix)]\n    fn e() {}\n#[cfg(test)]\nmod x {\n    fn f() {}\n}\n";
    assert_eq!(tests_in(text), ["a", "e"].map(String::from).into());
}

#[test]
#[ignore = "wants b11192's sources: LLAMA_SRC names the folder"]
fn names_of_sources_are_there() {
    let there = PathBuf::from(std::env::var("LLAMA_SRC").expect("LLAMA_SRC names the folder of llama.cpp b11192"));
    for (name, file) in SOURCES {
        assert!(read(&there.join(file)).contains(name), "{name} is not in {file}");
    }
}

/// A line of a table that sets llama.cpp beside this crate.
fn sets_side_by_side(line: &str) -> bool {
    let line = line.trim().trim_start_matches("//!").trim_start_matches("///").trim();
    let cells: Vec<String> = line.split('|').map(|cell| cell.trim().trim_matches('`').to_lowercase()).collect();
    let any = |names: &[&str]| cells.iter().any(|cell| names.contains(&cell.as_str()));
    let there = ["b11192", "llama.cpp", "llama.cpp b11192", "libllama", "libllama b11192", "llama-server"];
    line.starts_with('|') && any(&there) && any(&["this crate", "here", "ours", "sampler-chain here"])
}

/// The differences stand on one page: no other, and no comment of the code, has a table of them.
#[test]
fn no_other_page_lists_differences() {
    let pages = files(root(), "md").into_iter().chain(files(root(), "rs"));
    let mut seen = 0;
    for page in pages {
        let lists = read(&page).lines().any(sets_side_by_side);
        let is_page = page.ends_with(PAGE);
        assert!(!lists || is_page, "{} has a table of differences", page.display());
        seen += usize::from(is_page && lists);
    }
    assert_eq!(seen, 1, "{PAGE} has no table");
    assert!(sets_side_by_side("/// | what | llama.cpp | here |") && sets_side_by_side("| `b11192` | this crate |"));
    assert!(!sets_side_by_side("| chain | sampler-chain | libllama | candle |"));
}
