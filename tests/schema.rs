//! What steps tell of themselves is true, and the schema of chain files accepts what the reader accepts.

use std::path::{Path, PathBuf};

use biggest_gap as _;
use jsonschema::Validator;
use sampler_chain::steps::typetag;
use sampler_chain::{
    CandSet, ChainFile, Ctx, Format, ParameterInfo, SamplerStep, StepInfo, chain_schema, registered_steps,
};
use serde_json::{Value, json};

/// A step that is registered and not described.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Silent {
    share: f64,
    names: Vec<String>,
}

impl Default for Silent {
    fn default() -> Self {
        Self { share: 0.5, names: vec!["a".into()] }
    }
}

#[typetag::serde(name = "silent")]
impl SamplerStep for Silent {
    fn apply(&mut self, _: &mut CandSet<'_>, _: &mut Ctx) {}
}

/// One that takes unknown parameters, too.
#[derive(Debug, Clone, Default, serde::Serialize, serde::Deserialize)]
#[serde(default)]
struct Open {
    wide: bool,
}

#[typetag::serde(name = "open")]
impl SamplerStep for Open {
    fn apply(&mut self, _: &mut CandSet<'_>, _: &mut Ctx) {}
}

/// The steps of this file, which say nothing of themselves.
const UNDESCRIBED: [&str; 2] = ["open", "silent"];

fn validator() -> Validator {
    let schema = chain_schema();
    assert!(jsonschema::meta::is_valid(&schema), "the schema is none");
    jsonschema::validator_for(&schema).unwrap()
}

fn parse(text: &str, format: Format, path: &Path) -> Result<ChainFile, String> {
    ChainFile::parse(text, format, path).map_err(|error| error.to_string())
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every file of the repository with one of these endings.
fn files(endings: &[&str]) -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![root().to_path_buf()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && name != "target" && !name.starts_with('.') {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| endings.iter().any(|ending| extension == *ending)) {
                found.push(path);
            }
        }
    }
    found
}

/// The text as a chain file, if it is meant as one.
fn as_chain(text: &str, format: Format) -> Option<Value> {
    let value: Value = match format {
        Format::Toml => toml::from_str(text).ok()?,
        Format::Json => serde_json::from_str(text).ok()?,
    };
    (value.get("version").is_some() && value["steps"][0].get("type").is_some()).then_some(value)
}

/// What stands in the repository as a chain file: TOML and JSON files, and the code of its pages.
fn chains_of_the_repository() -> Vec<(PathBuf, String, Format)> {
    let mut chains = Vec::new();
    for path in files(&["toml", "json"]) {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let format = Format::guess(&path, &text);
        chains.push((path, text, format));
    }
    for path in files(&["md"]) {
        let text = std::fs::read_to_string(&path).unwrap();
        for block in text.split("```").skip(1).step_by(2) {
            match block.split_once('\n') {
                Some(("toml", content)) => chains.push((path.clone(), content.into(), Format::Toml)),
                Some(("json", content)) => chains.push((path.clone(), content.into(), Format::Json)),
                _ => {}
            }
        }
    }
    chains
}

#[test]
fn every_chain_file_of_the_repository_is_valid() {
    let validator = validator();
    let mut n_chains = [0, 0];
    for (path, text, format) in chains_of_the_repository() {
        let Some(chain) = as_chain(&text, format) else { continue };
        if let Err(error) = parse(&text, format, &path) {
            // Tests and fuzzers have files that are there to be refused.
            let refuses = |part: &std::ffi::OsStr| part == "tests" || part == "regressions";
            assert!(path.components().any(|part| refuses(part.as_os_str())), "{error}");
            continue;
        }
        let errors: Vec<String> = validator.iter_errors(&chain).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{}: {errors:?}", path.display());
        n_chains[usize::from(path.extension().is_some_and(|extension| extension == "md"))] += 1;
    }
    assert!(n_chains[0] >= 4 && n_chains[1] >= 3, "{n_chains:?}");
}

/// A file with one step, and one behind it that selects where the step does not.
fn file_of(step: &Value) -> Value {
    let mut steps = vec![step.clone()];
    let selects = ["dist", "greedy", "mirostat", "mirostat_v2", "adaptive_p", "gumbel"];
    if !selects.iter().any(|selector| step["type"] == *selector) {
        steps.push(json!({"type": "dist"}));
    }
    json!({"version": 1, "steps": steps})
}

/// Every parameter of every step with values of every kind and at every limit: accepted by both or by neither.
#[test]
fn schema_and_reader_agree() {
    let validator = validator();
    let probes = json!([
        null, true, false, 0, 1, 2, -1, -2, 40, 0.5, -0.5, 1e30, -2147483648i64, -2147483649i64, 2147483647, 2147483648u32, 4294967295u32,
        4294967296u64, "inf", "-inf", "nan", "", "all", "generated", "idle", "waiting_utf8", [], [1], [-1], ["a"], [[]],
        [[1, 2]], [[1, "inf"]], [[1, 1.5]], [[1, 2, 3]], [[-1, 2]], [4294967296u64], [[4294967296u64]], [true], {},
        [{"type": "top_k"}], [{"type": "top_k", "kk": 1}], [{"type": "nope"}], [{}],
    ]);
    let (mut n_good, mut n_bad) = (0, 0);
    for step in StepInfo::all() {
        for ParameterInfo { name, .. } in step.parameters.unwrap() {
            for probe in probes.as_array().unwrap() {
                let file = file_of(&json!({"type": step.name, &name: probe}));
                let read = parse(&file.to_string(), Format::Json, Path::new("probe.json"));
                // What is not described says nothing of its values.
                let valid = validator.is_valid(&file);
                if !UNDESCRIBED.contains(&step.name.as_str()) {
                    assert_eq!(valid, read.is_ok(), "{} with {name} = {probe}: {:?}", step.name, read.err());
                }
                *(if read.is_ok() { &mut n_good } else { &mut n_bad }) += 1;
            }
        }
    }
    assert!(n_good > 300 && n_bad > 300, "{n_good} {n_bad}");
}

#[test]
fn what_is_wrong_around_the_parameters_is_refused_by_both() {
    let validator = validator();
    let dist = json!([{"type": "dist"}]);
    for (file, is_good) in [
        (json!({"version": 1, "steps": dist}), true),
        (json!({"version": 1, "seed": -1, "steps": dist}), true),
        (json!({"version": 1, "seed": 4294967295u32, "steps": dist}), true),
        (json!({"version": 1, "seed": -2147483648i64, "steps": dist}), true),
        (json!({"version": 1, "seed": 4294967296u64, "steps": dist}), false),
        (json!({"version": 1, "seed": -2147483649i64, "steps": dist}), false),
        (json!({"version": 1, "seed": "random", "steps": dist}), false),
        (json!({"version": 1, "seed": null, "steps": dist}), false),
        (json!({"version": 2, "steps": dist}), false),
        (json!({"version": "1", "steps": dist}), false),
        (json!({"steps": dist}), false),
        (json!({"version": 1}), false),
        (json!({"version": 1, "steps": {"type": "dist"}}), false),
        (json!({"version": 1, "step": dist, "steps": dist}), false),
        (json!({"version": 1, "steps": [{"type": "topk"}, {"type": "dist"}]}), false),
        (json!({"version": 1, "steps": [{"k": 5}, {"type": "dist"}]}), false),
        (json!({"version": 1, "steps": [{"type": 5}, {"type": "dist"}]}), false),
        (json!({"version": 1, "steps": [5, {"type": "dist"}]}), false),
        (json!({"version": 1, "steps": [{"type": "top_p", "p": 1, "k": 5}, {"type": "dist"}]}), false),
        (json!({"version": 1, "steps": [{"type": "dist", "seed": 4}]}), false),
        (json!({"version": 1, "steps": [{"type": "chain"}, {"type": "dist"}]}), false),
        (json!({"version": 1, "steps": [{"type": "chain", "steps": dist}]}), true),
        (
            json!({"version": 1, "steps": [{"type": "dry", "breakers": [], "breaker_tokens": []}, {"type": "dist"}]}),
            false,
        ),
        (json!({"version": 1, "steps": [{"type": "biggest_gap", "within": 1}, {"type": "dist"}]}), false),
        (json!({"version": 1, "steps": [{"type": "silent", "share": 1}, {"type": "dist"}]}), true),
        (json!({"version": 1, "steps": [{"type": "silent", "loud": 1}, {"type": "dist"}]}), false),
        (json!({"version": 1, "steps": [{"type": "open", "more": 1}, {"type": "dist"}]}), true),
        (json!([]), false),
    ] {
        let read = parse(&file.to_string(), Format::Json, Path::new("a.json"));
        assert_eq!((validator.is_valid(&file), read.is_ok()), (is_good, is_good), "{file}: {:?}", read.err());
    }
}

/// The step with some parameters given, as it is read.
fn read(step: &str, given: Option<(&str, &Value)>) -> String {
    let mut fields = json!({"type": step});
    if let Some((name, value)) = given {
        fields[name] = value.clone();
    }
    let step: Box<dyn SamplerStep> = serde_json::from_value(fields).unwrap();
    format!("{step:?}")
}

/// A default that is told is what a step has whose file says nothing, in every place where it is told.
#[test]
fn defaults_are_the_real_ones() {
    let mut n_defaults = 0;
    for step in StepInfo::all() {
        for parameter in step.parameters.unwrap() {
            let ParameterInfo { name, default, required, doc, .. } = parameter;
            let place = format!("{}: {name}", step.name);
            let Some(default) = default else {
                // They come from the vocabulary.
                let without = [
                    "dry: breakers",
                    "dry: breaker_tokens",
                    "exponential_decay_length: tokens",
                    "min_new_tokens: tokens",
                ];
                assert!(required || without.contains(&place.as_str()), "{place} has no default");
                continue;
            };
            assert_eq!(read(&step.name, None), read(&step.name, Some((&name, &default))), "{place}");
            n_defaults += 1;
            if UNDESCRIBED.contains(&step.name.as_str()) {
                continue;
            }
            let doc = doc.unwrap_or_else(|| panic!("{place} has no doc"));
            let (_, told) = doc.rsplit_once("Default ").unwrap_or_else(|| panic!("{place} tells no default"));
            let told = told.trim_end_matches('.').split(", ").next().unwrap().trim_matches('`');
            let same = match &default {
                Value::Number(number) => told.parse() == Ok(number.as_f64().unwrap()),
                Value::String(text) => told == text,
                Value::Array(items) => items.is_empty() && told == "none",
                Value::Bool(is) => told.parse() == Ok(*is),
                Value::Null | Value::Object(_) => false,
            };
            assert!(same, "{place}: {default}, and its doc says {told}");
        }
    }
    assert!(n_defaults >= 35, "{n_defaults}");
}

/// A step is described by its file alone; this names what is missing.
#[test]
fn every_step_describes_itself() {
    let validator = validator();
    for step in StepInfo::all().into_iter().filter(|step| !UNDESCRIBED.contains(&step.name.as_str())) {
        let name = &step.name;
        let summary = step.summary.unwrap_or_else(|| panic!("{name} has no doc, or no describe_step!"));
        assert!(summary.len() > 20 && !summary.contains('\n') && !summary.ends_with('.'), "{name}: {summary}");
        assert!(step.order.is_some() && step.draws.is_some(), "{name}");
        let example = step.example.unwrap_or_else(|| panic!("{name} has no example"));
        assert_eq!(example["type"], *name);
        assert!(validator.is_valid(&file_of(&example)), "{name}: {example}");
        assert!(step.parameters.unwrap().iter().all(|parameter| parameter.doc.is_some()), "{name}");
        let is_of_community = root().join(format!("samplers/community/{name}.rs")).exists();
        let has_none = name == "biggest_gap" || name == "chain" || is_of_community;
        assert!(has_none || step.counterpart.is_some(), "{name}");
    }
    let selecting = StepInfo::all().into_iter().filter(|step| step.selects == Some(true));
    let selecting: Vec<String> = selecting.map(|step| step.name).collect();
    assert_eq!(selecting, ["adaptive_p", "dist", "greedy", "gumbel", "mirostat", "mirostat_v2"]);
}

/// Steps of other crates are listed like stock ones, and with what is known of them where they say nothing.
#[test]
fn steps_of_other_crates_are_listed() {
    assert_eq!(StepInfo::all().len(), registered_steps().len());
    let gap = StepInfo::of("biggest_gap").unwrap();
    assert!(gap.summary.unwrap().starts_with("Cuts where the logits fall deepest: "));
    let within = &gap.parameters.unwrap()[0];
    assert_eq!((within.kind.as_str(), &within.default), ("integer from 2", &Some(json!(20))));

    let silent = StepInfo::of("silent").unwrap();
    assert_eq!((silent.summary, silent.about, silent.selects), (None, None, Some(false)));
    let told: Vec<_> = silent.parameters.unwrap().into_iter().map(|it| (it.name, it.kind, it.default)).collect();
    let share = ("share".to_string(), "number".to_string(), Some(json!(0.5)));
    assert_eq!(told, [share, ("names".into(), "list".into(), Some(json!(["a"])))]);
    let open = StepInfo::of("open").unwrap().parameters.unwrap();
    assert_eq!((open.len(), open[0].name.as_str(), open[0].kind.as_str()), (1, "wide", "true or false"));
}
