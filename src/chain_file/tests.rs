use std::path::Path;

use super::*;

const TOML: &str = r#"version = 1
seed = 42

[[steps]]
type = "logit_bias"
bias = [[5, 1.5], [198, "-inf"]]

[[steps]]
type = "top_k"
k = 40

[[steps]]
type = "chain"

[[steps.steps]]
type = "top_p"
p = 0.95

[[steps.steps]]
type = "temperature"
temp = 0.8

[[steps]]
type = "dist"
"#;

fn parse(text: &str, format: Format) -> Result<ChainFile, String> {
    ChainFile::parse(text, format, Path::new("my.chain")).map_err(|error| error.to_string())
}

/// The problems of a TOML file with the given steps.
fn refused(steps: &str) -> String {
    parse(&format!("version = 1\n{steps}"), Format::Toml).unwrap_err()
}

fn types(file: &ChainFile) -> Vec<&str> {
    file.chain.steps().iter().map(|step| step.typetag_name()).collect()
}

#[test]
fn a_file_is_saved_to_the_same_text() {
    let file = parse(TOML, Format::Toml).unwrap();
    assert_eq!(file.seed, Some(42));
    assert_eq!(types(&file), ["logit_bias", "top_k", "chain", "dist"]);
    assert_eq!(file.to_text(Format::Toml).unwrap(), TOML);
    let json = file.to_text(Format::Json).unwrap();
    let again = parse(&json, Format::Json).unwrap();
    assert_eq!(again.to_text(Format::Json).unwrap(), json);
    assert_eq!(again.to_text(Format::Toml).unwrap(), TOML);
}

#[test]
fn the_format_is_known_by_name_or_text() {
    assert_eq!(Format::guess(Path::new("a.JSON"), ""), Format::Json);
    assert_eq!(Format::guess(Path::new("a.toml"), "{"), Format::Toml);
    assert_eq!(Format::guess(Path::new("a"), "\n {"), Format::Json);
    assert_eq!(Format::guess(Path::new("a"), "version = 1"), Format::Toml);
}

/// User case 4: seeds wrap as unsigned numbers, and only -1 is random.
#[test]
fn case_4_seeds() {
    let seed = |text: &str| parse(&format!("version = 1\nseed = {text}\nsteps = [{{type = \"dist\"}}]"), Format::Toml);
    assert_eq!(seed("-2").unwrap().seed, Some(4_294_967_294));
    assert_eq!(seed("4294967294").unwrap().seed, Some(4_294_967_294));
    for random in ["-1", "4294967295"] {
        let file = seed(random).unwrap();
        assert_eq!(file.seed, Some(DEFAULT_SEED));
        assert!(file.to_text(Format::Toml).unwrap().contains("seed = -1\n"));
    }
    let error = "my.chain:2:8: seed: 4294967296 is no seed: a whole number from -2147483648 to 4294967295 is";
    assert_eq!(seed("4294967296").unwrap_err(), error);
    assert_eq!(seed("1.5").unwrap_err(), error.replace("4294967296", "1.5"));
}

/// User case 13: a repeated step keeps its own parameters.
#[test]
fn case_13_repeated_steps() {
    let file = r#"{"version": 1, "steps": [{"type": "top_k", "k": 100}, {"type": "temperature", "temp": 1.3},
        {"type": "top_k", "k": 5}, {"type": "dist"}]}"#;
    let text = parse(file, Format::Json).unwrap().to_text(Format::Json).unwrap();
    assert!(text.contains("\"k\": 100") && text.contains("\"k\": 5"));
}

/// User case 14: a chain that never selects is an error, and so is one that goes on after it did.
#[test]
fn case_14_a_chain_selects_once_and_last() {
    let none = refused("[[steps]]\ntype = \"top_k\"\nk = 40\n[[steps]]\ntype = \"top_p\"\n");
    assert_eq!(
        none,
        "my.chain:5:1: no step of this chain selects a token: it must end with one that does (dist, greedy, mirostat, \
         mirostat_v2, adaptive_p, gumbel), and it ends with top_p"
    );
    assert!(refused("steps = []").ends_with("gumbel), and it is empty"));
    let two = refused("[[steps]]\ntype = \"dist\"\n[[steps]]\ntype = \"greedy\"\n");
    assert_eq!(
        two,
        "my.chain:4:1: step 2 (greedy) follows step 1 (dist), which selects the token and must be the last"
    );
    let after = "[[steps]]\ntype = \"chain\"\nsteps = [{type = \"dist\"}]\n[[steps]]\ntype = \"top_k\"\n";
    assert_eq!(
        refused(after),
        "my.chain:5:1: step 2 (top_k) follows step 1.1 (dist), which selects the token and must be the last"
    );
}

#[test]
fn unknown_steps_are_named_with_what_may_have_happened() {
    let error = refused("[[steps]]\ntype = \"top-k\"\n");
    let expected = "my.chain:3:8: step 1 (top-k): type: there is no step top-k (did you mean top_k?); there are adaptive_p, chain, ";
    assert!(error.starts_with(expected), "{error}");
    assert!(error.contains("A step of another crate is there only if the program uses that crate"), "{error}");
}

#[test]
fn every_problem_is_told_with_its_place() {
    let error = refused(
        "stepps = 1\n[[steps]]\ntype = \"top_k\"\nkk = 40\n[[steps]]\ntype = \"top_p\"\np = \"high\"\nmin_keep = -3\n\
         [[steps]]\np = 1\n[[steps]]\ntype = \"dist\"\nseed = 4\n[[steps]]\ntype = 5\n",
    );
    let lines: Vec<&str> = error.lines().collect();
    assert_eq!(
        lines,
        [
            "my.chain:2:1: stepps: there is no such field (did you mean steps?); there are version, seed, steps",
            "my.chain:5:1: step 1 (top_k): kk: there is no such field (did you mean k?); there is only k",
            "my.chain:8:5: step 2 (top_p): p: invalid value: string \"high\", expected a number, \"inf\" or \"-inf\"",
            "my.chain:9:12: step 2 (top_p): min_keep: invalid value: integer `-3`, expected u32",
            "my.chain:10:1: step 3: type is missing: the name of the step",
            "my.chain:14:1: step 4 (dist): seed: there is no such field; this step takes none",
            "my.chain:16:8: step 5: type: the name of a step is wanted, and this is 5",
        ]
    );
}

#[test]
fn refused_parameters_are_told_with_their_place() {
    let error = refused("[[steps]]\ntype = \"penalties\"\nlast_n = 9\nrepeat = 0\n[[steps]]\ntype = \"dist\"\n");
    assert_eq!(
        error,
        "my.chain:5:10: step 1 (penalties): repeat: 0 is refused: finite and above 0, and so must its inverse be"
    );
    let error = refused("[[steps]]\ntype = \"top_p\"\np = nan\n");
    assert_eq!(
        error,
        "my.chain:4:5: step 1 (top_p): p: invalid value: string \"nan\", expected a number, \"inf\" or \"-inf\""
    );
    let both = "[[steps]]\ntype = \"dry\"\nmultiplier = 1\nbreakers = []\nbreaker_tokens = []\n";
    assert_eq!(
        refused(both),
        "my.chain:6:18: step 1 (dry): breaker_tokens: is refused beside breakers: they say the same in two ways"
    );
}

#[test]
fn inner_chains_are_read_to_a_depth() {
    let inner = r#"{"version": 1, "steps": [{"type": "chain", "steps": [{"type": "top_k", "kk": 1}]}]}"#;
    let error = parse(inner, Format::Json).unwrap_err();
    assert_eq!(error, "my.chain:1:72: step 1.1 (top_k): kk: there is no such field (did you mean k?); there is only k");
    let missing = parse(r#"{"version": 1, "steps": [{"type": "chain"}]}"#, Format::Json).unwrap_err();
    assert_eq!(missing, "my.chain:1:26: step 1 (chain): steps is missing: the list of steps");
    for (depth, problem) in
        [(100, "chains inside chains are read 32 deep"), (100_000, "Maximum nesting depth exceeded")]
    {
        let open = r#"{"type": "chain", "steps": ["#.repeat(depth);
        let close = "]}".repeat(depth);
        let text = format!(r#"{{"version": 1, "steps": [{open}{{"type": "dist"}}{close}]}}"#);
        let error = parse(&text, Format::Json).unwrap_err();
        assert!(error.contains(problem), "{error}");
    }
    assert!(parse(&format!("version = {}", "[".repeat(100_000)), Format::Toml).is_err());
    // Each protect is a table with a list in it.
    let nested = |depth| {
        let (open, close) = (r#"{"type": "protect", "steps": ["#.repeat(depth), "]}".repeat(depth));
        let text = format!(r#"{{"version": 1, "steps": [{open}{{"type": "top_k"}}{close}, {{"type": "dist"}}]}}"#);
        parse(&text, Format::Json)
    };
    assert!(nested(15).is_ok());
    for depth in [16, 60, 120] {
        let told = "my.chain:1:26: step 1 (protect): lists and tables inside a step are read 32 deep";
        assert_eq!(nested(depth).unwrap_err(), told);
    }
}

#[test]
fn texts_of_no_format_are_told_with_their_place() {
    for (text, format, expected) in [
        ("", Format::Json, "my.chain:1:1: the file is empty"),
        ("{\"version\": 1,}", Format::Json, "my.chain:1:14: Trailing commas are not allowed"),
        ("{\"version\": 01}", Format::Json, "my.chain:1:14: "),
        ("version = = 1", Format::Toml, "my.chain:1:11: "),
        ("[1]", Format::Json, "my.chain:1:1: a chain file is a table, and this is a list"),
        ("", Format::Toml, "my.chain:1:1: version is missing; this is version 1\nmy.chain:1:1: steps is missing"),
        (
            "{\"version\": 2, \"steps\": []}",
            Format::Json,
            "my.chain:1:13: version: version 2 is not known; this program reads version 1",
        ),
        ("version = 1\nsteps = 3", Format::Toml, "my.chain:2:9: steps: a list of steps is wanted, and this is 3"),
        ("version = 1\nsteps = [3]", Format::Toml, "my.chain:2:10: step 1: a step is a table, and this is 3"),
        ("version = 99999999999999999999", Format::Toml, "my.chain:1:11: "),
        (
            "{\"version\": 1, \"version\": 1, \"steps\": [{\"type\": \"dist\"}]}",
            Format::Json,
            "my.chain:1:16: version: is given twice",
        ),
    ] {
        let error = parse(text, format).unwrap_err();
        assert!(error.starts_with(expected), "{text:?}: {error}");
    }
}

#[test]
fn numbers_beyond_a_float_and_marks_at_the_start() {
    let toml = refused("[[steps]]\ntype = \"min_p\"\np = 1e999\n");
    assert_eq!(toml, "my.chain:4:5: 1e999 is beyond 64 bits");
    let json = parse(r#"{"version": 1, "steps": [{"type": "min_p", "p": 1e999}]}"#, Format::Json).unwrap_err();
    assert_eq!(json, "my.chain:1:49: 1e999 is no number of JSON, or beyond 64 bits");
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("marked.json");
    std::fs::write(&path, "\u{feff}{\"version\": 1, \"steps\": [{\"type\": \"dist\"}]}").unwrap();
    ChainFile::read(&path).unwrap();
}

/// A file of another kind does not fill the terminal, nor take long.
#[test]
fn many_problems_are_told_up_to_a_hundred() {
    let fields: String = (0..60_000).map(|i| format!("\"x{i}\": 1, ")).collect();
    let text = format!(r#"{{"version": 1, "steps": [{{{fields}"type": "dist"}}]}}"#);
    let start = std::time::Instant::now();
    let error = parse(&text, Format::Json).unwrap_err();
    assert_eq!(error.lines().count(), 100);
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
    let odd = parse(r#"{"version": 1, "steps": [{"type": "a\nb"}]}"#, Format::Json).unwrap_err();
    assert!(odd.contains("there is no step a\\nb"), "{odd}");
}

#[test]
fn columns_count_characters() {
    let error = refused("x = \"äöü\"\n");
    assert!(error.starts_with("my.chain:2:1: x: "), "{error}");
    let error = parse("{\"ä\": 1, \"version\": 2, \"steps\": []}", Format::Json).unwrap_err();
    assert!(error.contains("my.chain:1:21: version: version 2"), "{error}");
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let error = ChainFile::read(Path::new("no/such.toml")).unwrap_err().to_string();
    assert_eq!(error, "no/such.toml: No such file or directory (os error 2)");
}
