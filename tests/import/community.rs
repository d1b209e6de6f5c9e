//! Fields of samplers that llama.cpp does not have: which programs run them, where, and with what.

use std::path::Path;

use sampler_chain::import::{Absent, Backend, Imported, Options, Source, import};
use sampler_chain::{Ctx, Sampler, TraceOptions};
use serde_json::json;

use crate::same::shown;

fn of(source: Source) -> Options {
    let absent = (source == Source::HuggingFace).then_some(Absent::Off);
    Options { source: Some(source), absent, ..Options::default() }
}

fn sillytavern(backend: Backend) -> Options {
    Options { backend: Some(backend), n_ctx: Some(512), ..of(Source::SillyTavern) }
}

fn read(text: &str, options: &Options) -> Imported {
    import(text, Path::new("p"), options).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn types(text: &str, options: &Options) -> Vec<&'static str> {
    read(text, options).chain.chain.steps().iter().map(|step| step.typetag_name()).collect()
}

fn report(text: &str, options: &Options) -> String {
    read(text, options).report.to_string()
}

/// Each number of KoboldCpp's order takes its steps along.
#[test]
fn koboldcpps_numbers_are_places() {
    let fields = json!({
        "temp": 0.7, "top_k": 9, "top_a": 0.1, "top_p": 0.9, "min_p": 0.1, "tfs": 0.9, "typical": 0.9, "rep_pen": 1.1,
        "rep_pen_slope": 0.5, "smoothing_factor": 0.2, "nsigma": 1.5, "dry_multiplier": 1, "xtc_probability": 0.5
    });
    let of_number: [&[&str]; 7] = [
        &["top_k"],
        &["top_a"],
        &["top_p", "min_p"],
        &["tfs"],
        &["typ_p"],
        &["temperature", "smoothing", "top_n_sigma"],
        &["rep_pen_slope"],
    ];
    for order in [[6, 0, 1, 3, 4, 2, 5], [0, 1, 2, 3, 4, 5, 6], [5, 4, 3, 6, 2, 1, 0], [1, 3, 5, 0, 2, 4, 6]] {
        let mut preset = fields.clone();
        preset["sampler_order"] = json!(order);
        let listed = order.iter().flat_map(|&n: &usize| of_number[n]);
        let expected: Vec<&str> = ["dry", "top_k"].iter().chain(listed).chain(&["xtc", "dist"]).copied().collect();
        assert_eq!(types(&preset.to_string(), &of(Source::KoboldCpp)), expected, "{order:?}");
    }
}

/// A list says where each step stands, as often as it names it; adaptive_p draws, and takes no place.
#[test]
fn names_are_places() {
    let fields =
        "temperature: 0.7\ntop_a: 0.1\ntop_p: 0.9\nadaptive_target: 0.5\nsmoothing_factor: 0.2\nsampler_priority: ";
    let webui = |list: &str| types(&format!("{fields}{list}\n"), &of(Source::TextGenerationWebui));
    assert_eq!(
        webui("[top_a, adaptive_p, quadratic_sampling, top_p, top_a, temperature]"),
        ["top_a", "smoothing", "top_p", "top_a", "temperature", "adaptive_p"]
    );
    assert_eq!(webui("[top_p]"), ["top_p", "dist"]);
    assert_eq!(webui("[quadratic_sampling]"), ["smoothing", "dist"]);
    let aphrodite = |list: &str| {
        let text =
            format!("{{\"temp\": 0.7, \"tfs\": 0.9, \"smoothing_factor\": 0.2, \"samplers_priorities\": {list}}}");
        types(&text, &sillytavern(Backend::Aphrodite))
    };
    assert_eq!(aphrodite(r#"["quadratic", "temperature", "tfs"]"#), ["smoothing", "temperature", "tfs", "dist"]);
    assert_eq!(aphrodite(r#"["tfs", "temperature"]"#), ["tfs", "temperature", "dist"]);
}

/// text-generation-webui's `temperature_last` takes the smoothing along, in the order in which the two were.
#[test]
fn the_temperature_takes_the_smoothing_along() {
    let last = |list: &str| {
        let fields = "temperature: 0.7\ntop_p: 0.9\nsmoothing_factor: 0.2\ntemperature_last: true";
        types(&format!("{fields}\nsampler_priority: {list}\n"), &of(Source::TextGenerationWebui))
    };
    assert_eq!(last("[temperature, quadratic_sampling, top_p]"), ["top_p", "temperature", "smoothing", "dist"]);
    assert_eq!(last("[quadratic_sampling, temperature, top_p]"), ["top_p", "smoothing", "temperature", "dist"]);
    assert_eq!(last("[quadratic_sampling, top_p]"), ["top_p", "temperature", "smoothing", "dist"]);
    assert_eq!(last("[top_p]"), ["top_p", "temperature", "dist"]);
}

/// The value that switches a step off leaves the chain as it is without the field.
#[test]
fn what_is_off_makes_no_step() {
    let webui = "top_a: 0\ntfs: 1\nepsilon_cutoff: 0\neta_cutoff: 0\nsmoothing_factor: 0\nsmoothing_curve: 2\n\
                 no_repeat_ngram_size: 0\nencoder_repetition_penalty: 1\n";
    let below =
        "top_a: -1\ntfs: 1.5\nepsilon_cutoff: -2\nsmoothing_factor: -1\nsmoothing_curve: 2\nno_repeat_ngram_size: -1\n";
    for text in [webui, below] {
        let options = of(Source::TextGenerationWebui);
        assert_eq!(types(text, &options), ["dist"]);
        let told = report(text, &options);
        for line in told.lines() {
            let is_told =
                line.ends_with(" is off") || line == "smoothing_curve: has no effect: smoothing_factor is off";
            assert!(is_told, "{told}");
        }
    }
    let config = json!({
        "do_sample": true, "repetition_penalty": 1.0, "encoder_repetition_penalty": 1.0, "no_repeat_ngram_size": 0,
        "min_new_tokens": 0, "suppress_tokens": [], "bad_words_ids": [], "sequence_bias": [], "eta_cutoff": 1.0,
        "exponential_decay_length_penalty": [5, 1.0], "epsilon_cutoff": 0.0, "top_h": null, "eos_token_id": 2
    });
    assert_eq!(types(&config.to_string(), &of(Source::HuggingFace)), ["dist"]);
    let told = report(&config.to_string(), &of(Source::HuggingFace));
    assert!(told.contains("exponential_decay_length_penalty: [5,1.0] is off\n"), "{told}");
    assert!(told.contains("eta_cutoff: 1.0 is off\n"), "{told}");
    let kobold = |slope: &str, penalty: &str| {
        let text = format!("{{\"rep_pen_slope\": {slope}, \"rep_pen\": {penalty}, \"rep_pen_range\": 8}}");
        (types(&text, &of(Source::KoboldCpp)), report(&text, &of(Source::KoboldCpp)))
    };
    for slope in ["0", "1", "1.0", "1e-46", "0.99999999999"] {
        let (types, told) = kobold(slope, "1.1");
        assert_eq!(types, ["top_k", "penalties", "dist"]);
        assert!(told.contains(&format!("rep_pen_slope: {slope} is off\n")), "{told}");
    }
    let (types, told) = kobold("0.7", "1");
    assert_eq!(types, ["top_k", "dist"]);
    assert!(told.contains("rep_pen_slope: has no effect: no penalty is set\n"), "{told}");
    for slope in ["2.5", "-0.7", "6.8", "1.0000001", "1e300", "-1e-40"] {
        let (types, told) = kobold(slope, "1.1");
        assert_eq!(types, ["top_k", "penalties", "dist"], "{slope}");
        let shown = slope.replace("1e300", "1e+300");
        let beyond =
            format!("rep_pen_slope: {shown} becomes 1: KoboldCpp takes a slope beyond 0 to 1 for 1, which is off\n");
        assert!(told.contains(&beyond), "{told}");
    }
    // Off whatever the penalty is.
    assert!(kobold("2.5", "0.9").1.contains("rep_pen_slope: 2.5 becomes 1: "));
    assert!(
        kobold("0.5", "0.9")
            .1
            .contains("rep_pen_slope: has no effect: it weakens a rep_pen above 1, and that is none\n")
    );
}

/// ExLlamaV2 leaves fewer than three candidates as they are, and the variant `kobold` drops the last of two: what is certain to
/// be two makes no step, and of what may be two the report tells.
#[test]
fn exllama_cuts_no_tail_of_two() {
    let tabby = |top_k: &str, tfs: &str| {
        let text = format!("top_k:\n  override: {top_k}\ntfs:\n  override: {tfs}\n");
        (types(&text, &of(Source::TabbyApi)), report(&text, &of(Source::TabbyApi)))
    };
    for top_k in ["1", "2"] {
        let (types, told) = tabby(top_k, "0.9");
        assert_eq!(types, ["top_k", "dist"]);
        let line = format!("tfs: has no effect: ExLlamaV2 needs three candidates for it, and top_k leaves {top_k}\n");
        assert!(told.contains(&line), "{told}");
        assert_eq!(tabby(top_k, "1.5").1.matches("tfs: ").count(), 1);
    }
    for top_k in ["0", "3", "-1"] {
        let (types, told) = tabby(top_k, "0.9");
        assert!(types.ends_with(&["tfs", "dist"]), "{types:?}");
        let line = "tfs: 0.9 becomes tfs, variant kobold: it is ExLlamaV2's from three candidates on; of two it drops one, and \
                    ExLlamaV2 none\n";
        assert!(told.contains(line), "{told}");
    }
}

/// KoboldCpp cuts to 3000 behind DRY, whatever the preset says, and says nothing of it; the chain does, and the report.
#[test]
fn koboldcpp_cuts_before_all_numbers() {
    let options = of(Source::KoboldCpp);
    for order in ["[6,0,1,3,4,2,5]", "[0,1,2,3,4,5]"] {
        let text = format!("{{\"dry_multiplier\": 0.8, \"presence_penalty\": -0.5, \"sampler_order\": {order}}}");
        let imported = read(&text, &options);
        let steps = shown(imported.chain.chain)["steps"].clone();
        let of = |i: usize| (steps[i]["type"].as_str().unwrap(), steps[i]["k"].as_i64());
        assert_eq!([of(0), of(1), of(2)], [("dry", None), ("top_k", Some(3000)), ("penalties", None)]);
        let told = "sampler_order: top_k 3000 is added: KoboldCpp cuts to so many behind DRY, in front of all numbered samplers\n";
        assert_eq!(imported.report.to_string().matches(told).count(), 1, "{}", imported.report);
    }
    // It stands behind the biases and cuts a larger row, in which what was lifted stays.
    let imported = read(r#"{"logit_bias": {"3500": 9}, "sampler_order": [6, 0, 1, 3, 4, 2, 5]}"#, &options);
    let mut sampler = Sampler::from_chain(imported.chain.chain, Ctx::new(1)).unwrap();
    let logits: Vec<f32> = (0..4000).map(|i| -0.001 * i as f32).collect();
    let options = TraceOptions { follow: vec![3500, 2998, 2999], ..TraceOptions::default() };
    let trace = sampler.trace(&logits, &options).unwrap();
    let left: Vec<_> = trace.steps.iter().map(|step| (step.step.as_str(), step.after.len)).collect();
    assert_eq!(left, [("logit_bias", 4000), ("top_k", 3000), ("dist", 3000)]);
    let is_left = |token| trace.story(token).unwrap().points.last().unwrap().is_some();
    assert_eq!([3500, 2998, 2999].map(is_left), [true, true, false]);
}

/// What KoboldCpp takes where its settings leave it out.
#[test]
fn koboldcpps_defaults_are_its_own() {
    let options = of(Source::KoboldCpp);
    let text = r#"{"xtc_probability": 0.5, "sampler_order": [6, 0, 1, 3, 4, 2, 5]}"#;
    let steps = shown(read(text, &options).chain.chain)["steps"].clone();
    assert_eq!(steps[1], json!({"type": "xtc", "probability": 0.5, "threshold": 0.2}));
    assert!(report(text, &options).contains("xtc_threshold: absent, 0.2 is used: KoboldCpp's default\n"));
    let text = r#"{"xtc_probability": 0, "sampler_order": [6, 0, 1, 3, 4, 2, 5]}"#;
    assert!(!report(text, &options).contains("xtc_threshold"));
}

/// Mirostat takes the place of all, in KoboldCpp of all but DRY, the cut, the penalties, the temperature and the smoothing; and the
/// most likely token needs no truncation.
#[test]
fn what_does_not_run_has_no_effect() {
    let text = r#"{"temp": 0.8, "mirostat": 2, "top_a": 0.1, "tfs": 0.9, "rep_pen": 1.1, "rep_pen_slope": 0.7, "top_k": 9,
        "smoothing_factor": 0.2, "dry_multiplier": 1, "dynatemp_range": 0.5, "nsigma": 1, "xtc_probability": 0.5,
        "rep_pen_range": 64, "adaptive_target": 0.5, "sampler_order": [0, 1, 2, 3, 4, 5, 6]}"#;
    let options = of(Source::KoboldCpp);
    assert_eq!(types(text, &options), ["dry", "top_k", "rep_pen_slope", "temperature", "smoothing", "mirostat_v2"]);
    assert_eq!(shown(read(text, &options).chain.chain)["steps"][3].get("delta"), None);
    let told = report(text, &options);
    for field in
        ["top_a", "tfs", "top_k", "dynatemp_range", "nsigma", "xtc_probability", "adaptive_target", "sampler_order"]
    {
        let line = format!("{field}: has no effect: mirostat 2 runs in place of the listed samplers\n");
        assert!(told.contains(&line), "{field}: {told}");
    }
    for line in [
        "dry_multiplier: used\n",
        "rep_pen_range: used as repeat_last_n\n",
        "rep_pen_slope: used as rep_pen_slope, in place of penalties\n",
        "smoothing_factor: used as smoothing\n",
        "dry_penalty_last_n: absent, 320 is used: KoboldCpp's default\n",
    ] {
        assert!(told.contains(line), "{line}: {told}");
    }
    assert!(!told.contains("xtc_threshold"), "{told}");
    let text = r#"{"tfs": 0.9, "mirostat_mode": 2, "sampler_priority": ["tfs"]}"#;
    let options = sillytavern(Backend::TextGenerationWebui);
    assert_eq!(types(text, &options), ["mirostat_v2"]);
    let line = "tfs: has no effect: mirostat_mode 2 runs in place of the listed samplers\n";
    assert!(report(text, &options).contains(line));
    let greedy = "do_sample: false\ntop_a: 0.1\nsmoothing_factor: 0.3\nno_repeat_ngram_size: 3\n";
    let options = of(Source::TextGenerationWebui);
    assert_eq!(types(greedy, &options), ["no_repeat_ngram", "greedy"]);
    let told = report(greedy, &options);
    assert!(told.contains("top_a: has no effect: do_sample is false: the most likely token is taken\n"), "{told}");
    let unlisted = "top_a: 0.1\nsampler_priority: [top_p]\n";
    let told = report(unlisted, &options);
    assert!(told.contains("top_a: has no effect: sampler_priority does not list it\n"), "{told}");
}

/// llama.cpp would not run them: a preset for it has no counterpart of them, and says which step has.
#[test]
fn llama_cpp_runs_none_of_them() {
    let text = json!({
        "temp": 1, "top_a": 0.1, "tfs": 0.9, "epsilon_cutoff": 3, "eta_cutoff": 3, "smoothing_factor": 0.2,
        "no_repeat_ngram_size": 3, "encoder_rep_pen": 1.1, "samplers": ["tfs_z", "top_p"]
    });
    let imported = read(&text.to_string(), &sillytavern(Backend::LlamaCpp));
    assert_eq!(imported.report.losses().count(), 7);
    assert_eq!(shown(imported.chain.chain)["steps"].as_array().unwrap().len(), 2);
    assert!(imported.report.losses().all(|note| note.to_string().contains("a step ")), "{}", imported.report);
}

/// Values that their programs take and the steps here refuse.
#[test]
fn what_a_step_refuses_is_lost() {
    let text = "smoothing_factor: 0.2\nsmoothing_curve: 0.5\ntop_a: 1.5\nepsilon_cutoff: 10000\ntop_p: 0.9\n";
    let options = of(Source::TextGenerationWebui);
    assert_eq!(types(text, &options), ["top_p", "dist"]);
    let expected = "smoothing_factor: 0.2 has no counterpart: the step smoothing: curve: 0.5 is refused: 1 to 3 is wanted\n\
                    smoothing_curve: 0.5 has no counterpart: the step smoothing: curve: 0.5 is refused: 1 to 3 is wanted\n\
                    top_a: 1.5 has no counterpart: the step top_a: a: 1.5 is refused: above 0, and at most 1\n\
                    epsilon_cutoff: 10000 has no counterpart: the step epsilon_cutoff: epsilon: 1 is refused: above 0, and \
                    below 1\n\
                    top_p: used\n";
    assert_eq!(report(text, &options), expected);
}

#[test]
fn wrong_values_have_a_place() {
    let error = |text: &str, source| import(text, Path::new("p"), &of(source)).unwrap_err().to_string();
    let yaml = "top_a: much\nno_repeat_ngram_size: 2.5\nsmoothing_curve: [1]\n";
    let expected = "p:1:8: top_a: a number is wanted, and this is the text \"much\"\n\
                    p:2:23: no_repeat_ngram_size: a whole number is wanted, and this is 2.5\n\
                    p:3:18: smoothing_curve: a number is wanted, and this is a list";
    assert_eq!(error(yaml, Source::TextGenerationWebui), expected);
    let config = |field: &str| error(&format!("{{\"do_sample\": true, {field}}}"), Source::HuggingFace);
    for (field, what) in [
        ("\"repetition_penalty\": 0", "must be finite and greater than 0"),
        ("\"suppress_tokens\": [-1]", "a list of token ids is wanted"),
        ("\"bad_words_ids\": [5]", "a list of lists of token ids is wanted"),
        ("\"sequence_bias\": [[5, 1]]", "a list of pairs, each of a list of token ids and a number, is wanted"),
        (
            "\"exponential_decay_length_penalty\": [1]",
            "a list of two numbers is wanted: after how many tokens, and the factor",
        ),
    ] {
        let at = field.find(": ").unwrap() + 23;
        let name = field.split('"').nth(1).unwrap();
        assert_eq!(config(field), format!("p:1:{at}: {name}: {what}"));
    }
}
