//! Errors by their text.

use std::path::Path;

use sampler_chain::import::{Absent, Backend, ImportError, Options, Source, import};

fn error(name: &str, text: &str, options: Options) -> String {
    import(text, Path::new(name), &options).unwrap_err().to_string()
}

fn of(source: Source) -> Options {
    Options { source: Some(source), ..Options::default() }
}

#[test]
fn broken_texts_have_a_place() {
    let json = error("p.json", "{\"temp\": 1,\n \"rep_pen\" 2}", of(Source::SillyTavern));
    assert!(json.starts_with("p.json:2:12: "), "{json}");
    let yaml = error("p.yaml", "min_p: 0.1\ntop_p: [1\nx: 2\n", Options::default());
    assert!(yaml.starts_with("p.yaml:3:"), "{yaml}");
    let alias = error("p.yaml", "min_p: &a 0.1\ntop_p: *a\n", Options::default());
    assert_eq!(alias, "p.yaml:2:8: aliases are not read");
    let list = error("p.json", "[1]", of(Source::KoboldCpp));
    assert_eq!(list, "p.json:1:1: a preset is a table, and this is a list");
    let twice = error("p.json", "{\"temp\": 1, \"temp\": 2}", of(Source::SillyTavern));
    assert_eq!(twice, "p.json:1:13: temp: is given twice");
    let line = error("p.ini", "[a]\ntemp = 1\nwhat is this\n[b\n", Options::default());
    assert_eq!(line, "p.ini:3:1: this is no section, no key = value and no comment\np.ini:4:1: a section is [name]");
    let quote = error("p.args", "--temp 'x", Options::default());
    assert_eq!(quote, "p.args:1:8: this quote is not closed");
    let word = error("Modelfile", "FROM x\nPARAMETR temperature 1\nPARAMETER top_k\n", Options::default());
    let expected = "Modelfile:2:1: parametr is no instruction of a Modelfile (did you mean PARAMETER?)\n\
                    Modelfile:3:1: PARAMETER top_k has no value";
    assert_eq!(word, expected);
}

#[test]
fn wrong_types_name_the_field() {
    let number = error("p.json", "{\"temp\": \"hot\", \"rep_pen\": [1], \"samplers\": 3}", of(Source::SillyTavern));
    let expected = "p.json:1:10: temp: a number is wanted, and this is the text \"hot\"\n\
                    p.json:1:28: rep_pen: a number is wanted, and this is a list\n\
                    p.json:1:45: samplers: a list of names is wanted, and this is 3";
    assert_eq!(number, expected);
    let flag = error("p.yaml", "do_sample: 1\n", Options::default());
    assert_eq!(flag, "p.yaml:1:12: do_sample: true or false is wanted, and this is 1");
    let text = "{\"temp\": 1, \"samplers\": [], \"dry_sequence_breakers\": \"[1, 2]\"}";
    let breakers = error("p.json", text, Options::default());
    let expected = "p.json:1:54: dry_sequence_breakers: a list of texts is wanted, and this is the text \"[1, 2]\"";
    assert_eq!(breakers, expected);
    let value = error("p.args", "--temp warm", Options::default());
    assert_eq!(value, "p.args:1:1: --temp: a number is wanted, and this is \"warm\"");
    let bias = error("p.args", "-l 15043", Options::default());
    assert_eq!(bias, "p.args:1:1: -l: \"15043\" is no bias; 15043+1 and 15043-1 are");
    let assigned = error("p.args", "--temp 1 --top-k=20", Options::default());
    let expected = "p.args:1:10: --top-k: llama.cpp takes no = between a flag and its value; it wants --top-k 20";
    assert_eq!(assigned, expected);
    assert_eq!(error("p.args", "--temp 1 --top-k", Options::default()), "p.args:1:10: --top-k: a value must follow it");
    let bans = error("p.yaml", "custom_token_bans: 1,x\n", Options::default());
    assert_eq!(bans, "p.yaml:1:20: custom_token_bans: token ids with commas between are wanted");
    let table = error("p.yml", "a:\n  override: 1\nb: 2\n", Options::default());
    assert_eq!(table, "p.yml:3:4: b: a table with override is wanted");
}

#[test]
fn orders_name_what_they_do_not_know() {
    let name = error("p.yaml", "sampler_priority: |-\n  top_k\n  temprature\n", Options::default());
    let expected =
        "p.yaml:2:3: sampler_priority: temprature is no sampler that is known here (did you mean temperature?)";
    assert_eq!(name, expected);
    let kobold = |order: &str| {
        error("p.json", &format!("{{\"rep_pen_slope\": 1, \"sampler_order\": {order}}}"), Options::default())
    };
    let start = "p.json:1:39: sampler_order: ";
    assert_eq!(
        kobold("[6,0,1,2,3,4,7]"),
        format!(
            "{start}7 is no sampler: 0 (top_k) to 6 (rep_pen) are\n{start}5 is missing: all of 0 to 5 stand in it, and 6 (rep_pen)"
        )
    );
    assert_eq!(kobold("[0,1,2,3,4,5,5]"), format!("{start}5 stands in it twice"));
    assert_eq!(kobold("[0,1,2,\"3\"]"), format!("{start}a list of whole numbers is wanted, and this is a list"));
    let text = "{\"temp\": 1, \"samplers_priorities\": [\"top_p\"], \"samplers\": []}";
    let aphrodite = error("p.json", text, Options { backend: Some(Backend::Aphrodite), ..Options::default() });
    let expected =
        "p.json:1:36: samplers_priorities: top_p is no sampler that is known here (did you mean top_p_top_k?)";
    assert_eq!(aphrodite, expected);
}

#[test]
fn what_is_open_is_asked_for() {
    let yaml = "repetition_penalty: 1.1\nrepetition_penalty_range: 0\n";
    let asked = import(yaml, Path::new("p.yaml"), &Options::default()).unwrap_err();
    let ImportError::Asks { questions, .. } = &asked else { panic!("{asked}") };
    assert_eq!((questions[0].field.as_str(), questions[0].flag), ("repetition_penalty_range", "n-ctx"));
    let expected = "p.yaml: repetition_penalty_range: 0 is the whole context, whose length is not known here: say it with \
                    --n-ctx TOKENS";
    assert_eq!(asked.to_string(), expected);

    let config =
        "{\"do_sample\": true, \"temperature\": 0.6, \"repetition_penalty\": 1.1, \"top_k\": 5, \"eos_token_id\": 1}";
    let expected = "c.json: top_p, min_p: absent: transformers, llama.cpp and vLLM each take something else: say it with \
                    --absent transformers, llama.cpp or off";
    assert_eq!(error("c.json", config, Options::default()), expected);
    let expected = "c.json: do_sample, temperature, top_k, top_p, min_p: absent: transformers, llama.cpp and vLLM each take \
                    something else: say it with --absent transformers, llama.cpp or off";
    assert_eq!(error("c.json", "{\"eos_token_id\": 1}", Options::default()), expected);
    let dry = "{\"temp\": 1, \"samplers\": [], \"dry_multiplier\": 1}";
    let expected = "p.json: dry_penalty_last_n: without it, it is the whole context, whose length is not known here: say it \
                    with --n-ctx TOKENS";
    assert_eq!(error("p.json", dry, Options { backend: Some(Backend::Aphrodite), ..Options::default() }), expected);
    let tabby = "repetition_penalty:\n  override: 1.1\n";
    let expected = "p.yml: penalty_range: without it, it is the whole context, whose length is not known here: say it with \
                    --n-ctx TOKENS";
    assert_eq!(error("p.yml", tabby, Options::default()), expected);
}

/// Nothing is asked for that no step looks at.
#[test]
fn what_is_not_used_is_not_asked_for() {
    for text in [
        r#"{"temp": 1, "rep_pen": 1.1, "rep_pen_range": -1, "samplers": ["top_k"]}"#,
        r#"{"temp": 1, "rep_pen": 1, "rep_pen_range": -1, "samplers": ["penalties"]}"#,
        r#"{"temp": 1, "rep_pen": 1.1, "rep_pen_range": -1, "mirostat_mode": 1, "samplers": ["penalties"]}"#,
        r#"{"temp": 1, "dry_multiplier": 0, "dry_penalty_last_n": -1, "samplers": ["dry"]}"#,
    ] {
        import(text, Path::new("p.json"), &Options::default()).unwrap_or_else(|error| panic!("{text}: {error}"));
    }
}

#[test]
fn a_problem_is_told_once() {
    let text = "repetition_penalty_range: far\ndry_multiplier: 1\nrepetition_penalty: 2\n";
    let expected = "p.yaml:1:27: repetition_penalty_range: a number is wanted, and this is the text \"far\"";
    assert_eq!(error("p.yaml", text, Options::default()), expected);
    let many: String = (0..300).map(|i| format!("field_{i}: 1\n")).collect();
    let told = error("p.yml", &many, of(Source::TabbyApi));
    assert_eq!(told.lines().count(), 100);
}

#[test]
fn formats_and_sections_are_chosen() {
    let formats = "sillytavern, koboldcpp, text-generation-webui, tabbyapi, llama.cpp-ini, llama.cpp-args, ollama, huggingface or \
                   llama-server";
    let expected = format!("p: its format is not seen from it: say it with --from ({formats})");
    assert_eq!(error("p", "hello", Options::default()), expected);
    assert_eq!(error("p.json", "{\"a\": 1}", Options::default()), expected.replace("p:", "p.json:"));
    let ini = "[*]\ntemp = 1\n[one]\ntop-k = 1\n[two]\ntop-k = 2\n";
    let expected = "p.ini: it has several sections: say it with --preset (one, two)";
    assert_eq!(error("p.ini", ini, Options::default()), expected);
    let wrong = Options { preset: Some("twoo".into()), ..Options::default() };
    let expected = "p.ini: there is no section [twoo]: say it with --preset (one, two) (did you mean two?)";
    assert_eq!(error("p.ini", ini, wrong), expected);
    let unused = Options { absent: Some(Absent::Off), ..Options::default() };
    let expected = "--absent says nothing about a preset of llama.cpp-ini: it is for huggingface";
    assert_eq!(error("p.ini", ini, unused), expected);
}

#[test]
fn refusals_are_llama_servers_in_the_presets_words() {
    let negative = error("p.args", "--dry-allowed-length -2 --dry-multiplier 1", Options::default());
    let expected = "p.args:1:1: --dry-allowed-length: Value must be between 0 <= value <= 2147483647, but got -2";
    assert_eq!(negative, expected);
    let penalty = error("p.yaml", "repetition_penalty: 0\n", Options::default());
    assert_eq!(penalty, "p.yaml:1:21: repetition_penalty: must be finite and greater than 0");
    let ends = error(
        "p.json",
        "{\"temp\": 1, \"samplers\": [], \"dynatemp\": true, \"min_temp\": 2, \"max_temp\": 1}",
        Options::default(),
    );
    assert_eq!(ends, "p.json:1:59: min_temp: the lowest temperature is 2, and the highest 1");
    let missing =
        error("p.json", "{\"temp\": 1, \"samplers\": [], \"dynatemp\": true, \"max_temp\": 1}", Options::default());
    assert_eq!(missing, "p.json:1:41: dynatemp: it wants a number for min_temp");
}
