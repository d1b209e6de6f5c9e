use serde_json::{Value, json};

use crate::{Fate, Layer, Params, Report, Sampler, StepName};

fn read(body: Value) -> (Params, Report) {
    Params::from_request(&body, &Params::default(), None).unwrap()
}

fn refusal(body: Value) -> String {
    Params::from_request(&body, &Params::default(), None).unwrap_err().to_string()
}

fn surprises(body: Value) -> Vec<String> {
    read(body).1.surprises().map(|note| note.to_string()).collect()
}

#[test]
fn nothing_sent_is_the_default() {
    let (params, report) = read(json!({"prompt": "x", "n_predict": 5, "stream": true}));
    assert_eq!(params.to_request(), Params::default().to_request());
    assert!(report.is_quiet());
}

#[test]
fn a_body_is_an_object() {
    assert_eq!(refusal(json!([1])), "a request body is a JSON object, and this is array");
}

#[test]
fn a_base_lies_under_the_request() {
    let base = Params { temperature: 0.6, top_k: 7, ..Params::default() };
    let (params, _) = Params::from_request(&json!({"temperature": null, "top_k": 9}), &base, None).unwrap();
    assert_eq!((params.temperature, params.top_k), (0.6, 9));
}

/// User case 42: null is absent, booleans and fractions convert, soft limits clamp, hard limits refuse, aliases.
#[test]
fn case_42_numbers() {
    assert_eq!(read(json!({"top_k": 40.7})).0.top_k, 40);
    assert_eq!(read(json!({"top_k": true})).0.top_k, 1);
    assert_eq!(read(json!({"top_k": null})).0.top_k, 40);
    assert_eq!(surprises(json!({"top_k": -5})), ["top_k: -5 is out of range, 0 is used"]);
    assert_eq!(surprises(json!({"temperature": -1})), ["temperature: -1 is out of range, 0 is used"]);
    assert_eq!(read(json!({"temperature": 1e300})).0.temperature, f32::INFINITY);
    assert_eq!(
        refusal(json!({"adaptive_decay": 1.5})),
        "Field 'adaptive_decay': Value must be between 0.000000 <= value <= 0.990000, but got 1.500000"
    );
    let (params, report) = read(json!({"logprobs": 5}));
    assert_eq!(params.n_probs, 5);
    assert_eq!(report.notes[0].fate, Fate::Aliased { to: "n_probs" });
    assert_eq!(surprises(json!({"n_probs": 3, "logprobs": 5})), ["logprobs: n_probs is given, too, and counts"]);
}

/// User case 4: only -1 is random; -2 is a seed; several completions step over -1.
#[test]
fn case_4_seeds() {
    for (seed, expected) in [(json!(-2), 4_294_967_294), (json!(-1), u32::MAX), (json!(4_294_967_295i64), u32::MAX)] {
        assert_eq!(read(json!({"seed": seed})).0.seed, expected);
    }
    let params = read(json!({"seed": -2})).0;
    assert_eq!([0, 1, 2].map(|n| params.completion_seed(n)), [4_294_967_294, 0, 1]);
    assert_eq!(Params::default().completion_seed(3), u32::MAX);
    let sampler = Sampler::new(Params::default()).unwrap();
    assert_ne!(sampler.seed(), u32::MAX, "the seed that is really used");
}

/// User case 43: layers lie over each other, a null lets the one below through, and each value knows its layer.
#[test]
fn case_43_layers() {
    let over = |base: &Params, body: Value, layer| Params::from_layer(&body, base, None, layer).unwrap().0;
    let preset = over(&Params::default(), json!({"temperature": 0.6}), Layer::Preset);
    let origin = |params: &Params| (params.temperature, params.layers.of("temperature").to_string());
    let absent = over(&preset, json!({"temperature": null, "top_k": 5}), Layer::Request);
    assert_eq!(origin(&absent), (0.6, "preset".into()));
    assert_eq!(absent.layers.of("top_k"), Layer::Request);
    assert_eq!(absent.layers.of("top_p"), Layer::Default);
    let request = over(&preset, json!({"temperature": 1.0}), Layer::Request);
    assert_eq!(origin(&request), (1.0, "request".into()));
    let forced = over(&request, json!({"temperature": 0.6}), Layer::Force);
    assert_eq!(origin(&forced), (0.6, "force".into()));
    // An alias sets its field's layer.
    assert_eq!(over(&preset, json!({"logprobs": 3}), Layer::Request).layers.of("n_probs"), Layer::Request);
}

/// User case 30: asking for probabilities raises no `min_keep`.
#[test]
fn case_30_probabilities_keep_no_candidates() {
    let (mut params, _) = read(json!({"min_p": 1, "n_probs": 10}));
    params.seed = 1;
    let mut sampler = Sampler::new(params).unwrap();
    assert_eq!(sampler.draw(&[1.0, 3.0, 2.0]).unwrap().candidates().len(), 1);
}

/// Fields that llama-server knows and somebody else has to act on say so.
#[test]
fn fields_of_others_are_told() {
    assert_eq!(
        surprises(json!({"grammar": "root ::= [0-9]", "stream": true})),
        [
            "grammar: has no effect: constrains the draw in llama-server; here Sampler::sample_constrained does, with a grammar of yours"
        ]
    );
    assert_eq!(surprises(json!({"typ_p": 0.5})), ["typ_p: unknown (did you mean typical_p?)"]);
    assert_eq!(surprises(json!({"temp": 0.5})), ["temp: unknown (did you mean temperature?)"]);
}

/// DRY without a vocabulary has no breakers (docs/divergences.md): the report says so.
#[test]
fn breakers_without_a_vocabulary_are_told() {
    assert_eq!(
        surprises(json!({"dry_multiplier": 0.8})),
        ["dry_multiplier: used, but without breakers: their texts need a vocabulary, and there is none"]
    );
    assert_eq!(
        surprises(json!({"dry_multiplier": 0.8, "dry_sequence_breakers": ["x"]})),
        ["dry_sequence_breakers: has no effect: texts need a vocabulary, and there is none"]
    );
    assert_eq!(
        surprises(json!({"dry_sequence_breakers": ["x"]})),
        ["dry_sequence_breakers: has no effect: dry_multiplier is 0"]
    );
}

/// User case 8: a parameter whose step is not in the list does nothing, and the report says so.
#[test]
fn case_8_a_step_that_is_not_listed() {
    let body = json!({"dry_multiplier": 0.8, "samplers": ["top_k", "temperature"]});
    assert_eq!(surprises(body.clone()), ["dry_multiplier: has no effect: dry is not in samplers"]);
    let draw = |body: Value| {
        let (mut params, _) = read(body);
        params.seed = 7;
        let mut sampler = Sampler::new(params).unwrap();
        (0..10).map(|_| 1).for_each(|token| sampler.accept_prompt(token).unwrap());
        (0..20).map(|_| sampler.sample(&[0.0, 1.0, 0.5, 0.2]).unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(draw(body), draw(json!({"samplers": ["top_k", "temperature"]})));
}

/// User case 9: unknown names are dropped, and the report says what they may have meant.
#[test]
fn case_9_unknown_names() {
    let body = json!({"samplers": ["typical_p", "TOP_K"]});
    assert_eq!(read(body.clone()).0.samplers, [StepName::TopK]);
    assert_eq!(surprises(body), ["samplers: typical_p is dropped (did you mean typ_p?)"]);
    assert_eq!(read(json!({"samplers": "edskypmxt"})).0.samplers, StepName::DEFAULT_ORDER);
    assert_eq!(surprises(json!({"samplers": "kz"})), ["samplers: z is dropped"]);
    let not_a_list = "samplers: has no effect: a list of names or a text of letters is wanted, and this is number";
    assert_eq!(surprises(json!({"samplers": 5})), [not_a_list]);
    assert_eq!(surprises(json!({"tempreature": 1})), ["tempreature: unknown (did you mean temperature?)"]);
}

/// User case 11: mirostat skips the rest, and the report says so for every parameter.
#[test]
fn case_11_mirostat_skips_the_rest() {
    let body = json!({"mirostat": 2, "repeat_penalty": 1.5, "dynatemp_range": 0.5, "temperature": 0.7, "min_keep": 2});
    let skipped = |field| format!("{field}: has no effect: mirostat 2 runs in place of the listed samplers");
    let mut found = surprises(body);
    found.sort();
    assert_eq!(found, ["dynatemp_range", "min_keep", "repeat_penalty"].map(skipped));
    assert_eq!(surprises(json!({"mirostat_tau": 4})), ["mirostat_tau: has no effect: mirostat is 0"]);
}

/// User case 15: a window of -1 is refused with llama-server's words; 0 is taken.
#[test]
fn case_15_windows() {
    for field in ["repeat_last_n", "dry_penalty_last_n"] {
        let expected = format!("Field '{field}': Value must be between 0 <= value <= 2147483647, but got -1");
        assert_eq!(refusal(json!({field: -1})), expected);
        assert!(Params::from_request(&json!({field: 0}), &Params::default(), None).is_ok());
    }
}

/// User case 19: a top_p out of range is clamped, a repeat_penalty of 0 is refused when the chain is built.
#[test]
fn case_19_extreme_values() {
    let (params, _) = read(json!({"temperature": 999_999, "top_p": -1, "repeat_penalty": 0}));
    assert_eq!((params.temperature, params.top_p), (999_999.0, 0.0));
    let error = Sampler::new(params).unwrap_err().to_string();
    assert_eq!(error, "Failed to initialize samplers: penalty_repeat must be finite and greater than 0");
    assert!(Sampler::new(read(json!({"repeat_penalty": 1e-38})).0).is_ok());
}

/// User case 20: a base of DRY below 1 becomes the default.
#[test]
fn case_20_dry_base() {
    let (params, report) = read(json!({"dry_base": 0.5}));
    assert_eq!(params.dry_base, 1.75);
    assert_eq!(report.notes[0].fate, Fate::Clamped { from: "0.5".into(), to: "1.75".into() });
}

/// User case 21: breakers are a list of texts and nothing else.
#[test]
fn case_21_breakers() {
    assert_eq!(read(json!({"dry_sequence_breakers": ["\n", ":"]})).0.dry_sequence_breakers, ["\n", ":"]);
    for wrong in [json!("[\"\\n\"]"), json!([]), json!([1]), json!({"a": 1})] {
        assert_eq!(
            refusal(json!({"dry_sequence_breakers": wrong})),
            "Field 'dry_sequence_breakers': Error: dry_sequence_breakers must be a non-empty array of strings"
        );
    }
}

/// User case 37: the forms of a bias.
#[test]
fn case_37_logit_bias() {
    let bias = |value: Value| read(json!({"logit_bias": value})).0.logit_bias;
    assert_eq!(bias(json!([[5, 1], [5, 2]])), [(5, 1.0), (5, 2.0)]);
    assert_eq!(bias(json!([[5, true]])), []);
    assert_eq!(bias(json!([[5, false]])), [(5, f32::NEG_INFINITY)]);
    assert_eq!(bias(json!({"5": -1})), [(5, -1.0)]);
    assert_eq!(bias(json!({"": -1})), [(0, -1.0)]);
    let (params, report) = read(json!({"logit_bias": [[-3, 1], [1, 2, 3], [7, "x"], ["text", 1]]}));
    assert_eq!(params.logit_bias, []);
    let notes: Vec<String> = report.surprises().map(|note| note.to_string()).collect();
    assert_eq!(
        notes,
        [
            "logit_bias: [-3,1] is dropped",
            "logit_bias: [1,2,3] is dropped",
            "logit_bias: [7,\"x\"] is dropped",
            "logit_bias: has no effect: [\"text\",1]: a text needs a vocabulary, and there is none",
        ]
    );
}

/// What C makes of a number is told, and what came in as it is used is not.
#[test]
fn conversions_are_told() {
    assert_eq!(surprises(json!({"top_k": 40.7})), ["top_k: 40.7 is read as 40"]);
    assert_eq!(surprises(json!({"temperature": true})), ["temperature: true is read as 1"]);
    assert_eq!(surprises(json!({"seed": -2})), ["seed: -2 is read as 4294967294"]);
    assert_eq!(surprises(json!({"seed": 4_294_967_296i64})), ["seed: 4294967296 is read as 0"]);
    assert!(read(json!({"seed": -1, "top_k": 7, "temperature": 1})).1.is_quiet());
}

/// `std::max(0, -0.0)` is 0.0: a soft limit takes the sign away.
#[test]
fn a_soft_limit_takes_minus_zero() {
    let params = read(json!({"temperature": -0.0, "top_p": -0.0})).0;
    assert_eq!((params.temperature.to_bits(), params.top_p.to_bits()), (0, 0));
}

/// Longer breakers are cut, as llama.cpp cuts them.
#[test]
fn long_breakers_are_told() {
    let long = "a".repeat(41);
    let notes: Vec<String> = read(json!({"dry_multiplier": 1, "dry_sequence_breakers": [long]}))
        .1
        .surprises()
        .map(|note| note.to_string())
        .collect();
    assert_eq!(
        notes[0],
        "dry_sequence_breakers: used, but only the first 40 bytes of aaaaaaaaaaaaaaaaaaaa… and the like"
    );
}

/// However much is dropped, the report stays short, and quick to write.
#[test]
fn many_dropped_parts_are_counted() {
    let started = std::time::Instant::now();
    let biases: Vec<Value> = (0..200_000).map(|i| json!([i, "x"])).collect();
    let notes = surprises(json!({"logit_bias": biases, "samplers": "?".repeat(200_000)}));
    assert_eq!(notes.len(), 34);
    assert!(notes.contains(&"logit_bias: and 199984 more is dropped".to_string()), "{notes:?}");
    assert!(started.elapsed().as_secs() < 20);
}

/// Texts that no vocabulary encodes, too; their notes were searched once a text.
#[test]
fn many_parts_of_no_effect_are_counted() {
    let started = std::time::Instant::now();
    let biases: serde_json::Map<String, Value> = (0..200_000).map(|i| (format!("text {i}"), json!(1))).collect();
    let notes = surprises(json!({"logit_bias": biases}));
    assert_eq!(notes.len(), 17);
    let first = "logit_bias: has no effect: \"text 0\": 1: a text needs a vocabulary, and there is none";
    assert_eq!(notes[0], first);
    assert_eq!(notes[16], "logit_bias: has no effect: and 199984 more, for the like");
    assert!(started.elapsed().as_secs() < 20);
}

/// A value is shown up to its sixtieth character, and never written further: a deep one would take all of the stack.
#[test]
fn a_long_or_deep_value_is_not_written_whole() {
    let deep = (0..5000).fold(json!(1), |inner, _| Value::Array(vec![inner]));
    // Not through json!, which would go as deep itself.
    let biases = Value::Array(vec![deep, json!(["x".repeat(10 << 20), 1, 2])]);
    let notes = surprises(Value::Object([("logit_bias".to_string(), biases)].into_iter().collect()));
    assert_eq!(notes[0], format!("logit_bias: {} is dropped", "[".repeat(60)));
    assert_eq!(notes[1], format!("logit_bias: [\"{} is dropped", "x".repeat(58)));
}

/// Of a million misspelt fields each is told, and the first get a suggestion.
#[test]
fn many_unknown_fields_are_told() {
    let body: serde_json::Map<String, Value> = (0..20_000).map(|i| (format!("temprature{i}"), json!(1))).collect();
    let notes = surprises(body.into());
    assert_eq!((notes.len(), notes[0].as_str()), (20_000, "temprature0: unknown (did you mean temperature?)"));
    assert_eq!(notes[19_999], "temprature19999: unknown");
}

/// A known difference: serde_json reads `-0` as the float -0.0, nlohmann's JSON as the integer 0.
#[test]
fn minus_zero_is_a_float() {
    let body: Value = serde_json::from_str(r#"{"logit_bias": [[-0, 1]], "frequency_penalty": -0}"#).unwrap();
    let (params, report) = read(body.clone());
    assert_eq!((params.logit_bias.len(), params.frequency_penalty.to_bits()), (0, (-0.0f32).to_bits()));
    assert!(report.surprises().any(|note| note.to_string() == "logit_bias: [-0.0,1] is dropped"), "{report:?}");
    let draw = |params: Params| {
        let mut sampler = Sampler::new(Params { seed: 1, ..params }).unwrap();
        sampler.accept_prompt_all(&[0, 1, 1]).unwrap();
        sampler.draw(&[1.0, -0.0, 2.0]).unwrap().candidates().to_vec()
    };
    assert_eq!(format!("{:?}", draw(params)), format!("{:?}", draw(Params::default())));
}
