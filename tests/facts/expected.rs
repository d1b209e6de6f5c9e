//! What the steps promise, so that no promise is lost, and none is withheld that holds.

use sampler_chain::{Facts, SamplerStep, registered_steps};

use super::cases_for;
use super::hold::broken;

const ALL: &str = "argmax order removes";

/// Each step with parameters, and its facts: what it keeps, and what it needs.
#[rustfmt::skip]
const EXPECTED: &[(&str, &str)] = &[
    (r#"{"type":"adaptive_p"}"#, ALL),
    (r#"{"type":"adaptive_p","target":0.3}"#, "history"),
    (r#"{"type":"chain","steps":[]}"#, ALL),
    (r#"{"type":"chain","steps":[{"type":"top_k"},{"type":"temperature"},{"type":"dist"}]}"#, "argmax order"),
    (r#"{"type":"chain","steps":[{"type":"top_k","k":3},{"type":"typ_p","p":0.3}]}"#, "order removes"),
    (r#"{"type":"chain","steps":[{"type":"penalties","repeat":2,"window":"generated"},{"type":"greedy"}]}"#, "history prompt"),
    (r#"{"type":"chain","steps":[{"type":"chain","steps":[{"type":"infill"}]},{"type":"penalties","repeat":2}]}"#, "history vocab"),
    (r#"{"type":"dist"}"#, ALL),
    (r#"{"type":"dry"}"#, ALL),
    (r#"{"type":"dry","multiplier":1,"last_n":0}"#, ALL),
    (r#"{"type":"dry","multiplier":1,"allowed_length":1}"#, "history vocab"),
    (r#"{"type":"dry","multiplier":1,"allowed_length":1,"breakers":["a"]}"#, "history vocab"),
    (r#"{"type":"dry","multiplier":1,"allowed_length":1,"breakers":[]}"#, "history"),
    (r#"{"type":"dry","multiplier":1,"allowed_length":1,"breaker_tokens":[[1]]}"#, "history"),
    (r#"{"type":"greedy"}"#, ALL),
    (r#"{"type":"infill"}"#, "vocab"),
    (r#"{"type":"logit_bias"}"#, ALL),
    (r#"{"type":"logit_bias","bias":[[0,1.5]]}"#, ""),
    (r#"{"type":"min_p"}"#, ALL),
    (r#"{"type":"min_p","p":2,"min_keep":2}"#, ALL),
    (r#"{"type":"mirostat"}"#, ALL),
    (r#"{"type":"mirostat_v2"}"#, ALL),
    (r#"{"type":"penalties"}"#, ALL),
    (r#"{"type":"penalties","repeat":1.5}"#, "history"),
    (r#"{"type":"penalties","present":1,"window":"generated"}"#, "history prompt"),
    (r#"{"type":"reasoning_budget"}"#, ALL),
    (r#"{"type":"reasoning_budget","start":[[0]],"forced":[]}"#, ALL),
    (r#"{"type":"reasoning_budget","start":[[0]],"end":[[1]],"forced":[1],"budget":1}"#, "history vocab prompt"),
    (r#"{"type":"reasoning_budget","start":[[0]],"end":[[1]],"forced":[1],"budget":0,"sees_prompt":true}"#, "history"),
    (r#"{"type":"reasoning_budget","forced":[1,0],"state":"forcing"}"#, "history prompt"),
    (r#"{"type":"temperature"}"#, "argmax order"),
    (r#"{"type":"temperature","temp":0}"#, "argmax order"),
    (r#"{"type":"temperature","temp":1}"#, ALL),
    (r#"{"type":"temperature","temp":"inf"}"#, ""),
    (r#"{"type":"temperature","temp":1,"delta":0.5}"#, "argmax order"),
    (r#"{"type":"temperature","temp":1,"delta":"inf"}"#, ""),
    (r#"{"type":"temperature","temp":1,"delta":0.5,"exponent":-9}"#, ""),
    (r#"{"type":"top_k"}"#, ALL),
    (r#"{"type":"top_k","k":0}"#, ALL),
    (r#"{"type":"top_n_sigma"}"#, ALL),
    (r#"{"type":"top_n_sigma","n":1}"#, "argmax order"),
    (r#"{"type":"top_p"}"#, ALL),
    (r#"{"type":"typ_p"}"#, ALL),
    (r#"{"type":"typ_p","p":0.5}"#, "order removes"),
    (r#"{"type":"xtc"}"#, ALL),
    (r#"{"type":"xtc","probability":0.5}"#, "order removes"),
    // Those that llama.cpp does not have.
    (r#"{"type":"encoder_repetition_penalty"}"#, ALL),
    (r#"{"type":"encoder_repetition_penalty","penalty":1.5}"#, "history prompt"),
    (r#"{"type":"epsilon_cutoff","epsilon":0.1}"#, ALL),
    (r#"{"type":"eta_cutoff","epsilon":0.1}"#, ALL),
    (r#"{"type":"exponential_decay_length"}"#, ALL),
    (r#"{"type":"exponential_decay_length","factor":1.5}"#, "history vocab prompt"),
    (r#"{"type":"exponential_decay_length","factor":1.5,"tokens":[]}"#, ALL),
    (r#"{"type":"exponential_decay_length","factor":1.5,"tokens":[1]}"#, "history prompt"),
    (r#"{"type":"gumbel"}"#, "argmax order removes history"),
    (r#"{"type":"min_k","tau":0.5}"#, ALL),
    (r#"{"type":"min_new_tokens"}"#, ALL),
    (r#"{"type":"min_new_tokens","n":5}"#, "history vocab prompt"),
    (r#"{"type":"min_new_tokens","n":5,"tokens":[0]}"#, "history prompt"),
    (r#"{"type":"no_repeat_ngram","n":1}"#, "history"),
    (r#"{"type":"no_repeat_ngram","n":2,"window":9,"whitelist":[0]}"#, "history"),
    (r#"{"type":"no_repeat_ngram","n":1,"sees_prompt":false}"#, "history prompt"),
    (r#"{"type":"p_less"}"#, ALL),
    (r#"{"type":"p_less","normalised":true}"#, ALL),
    (r#"{"type":"protect","steps":[]}"#, ALL),
    (r#"{"type":"protect","steps":[{"type":"temperature"}]}"#, "argmax order"),
    (r#"{"type":"protect","tokens":[0,1],"steps":[{"type":"top_k","k":1}]}"#, ALL),
    (r#"{"type":"protect","tokens":[0],"steps":[{"type":"xtc","probability":0.5}]}"#, "order removes"),
    (r#"{"type":"protect","eog":true,"steps":[{"type":"xtc","probability":0.5}]}"#, "order removes vocab"),
    (r#"{"type":"protect","pieces":["a"],"steps":[{"type":"top_k","k":1}]}"#, "argmax order removes vocab"),
    (r#"{"type":"protect","tokens":[0],"steps":[{"type":"temperature"}]}"#, ""),
    (r#"{"type":"protect","tokens":[0,1],"steps":[{"type":"switch","first":[{"type":"temperature","temp":4},{"type":"top_k","k":2}]}]}"#, ""),
    (r#"{"type":"protect","tokens":[0],"steps":[{"type":"penalties","repeat":2,"window":"generated"}]}"#, "history prompt"),
    (r#"{"type":"rep_pen_slope"}"#, ALL),
    (r#"{"type":"rep_pen_slope","range":0,"penalty":2}"#, ALL),
    (r#"{"type":"rep_pen_slope","range":9,"penalty":2,"slope":0.5}"#, "history"),
    (r#"{"type":"repetition_penalty_hf"}"#, ALL),
    (r#"{"type":"repetition_penalty_hf","penalty":2,"prompt_ignore_length":2}"#, "history"),
    (r#"{"type":"repetition_penalty_hf","penalty":2,"sees_prompt":false}"#, "history prompt"),
    (r#"{"type":"sequence_bias"}"#, ALL),
    (r#"{"type":"sequence_bias","bias":[[[0],1.5],[[2],"-inf"]]}"#, ""),
    (r#"{"type":"sequence_bias","bias":[[[0],1.5],[[1,0],"-inf"]]}"#, "history"),
    (r#"{"type":"smoothing"}"#, "argmax order"),
    (r#"{"type":"suppress_tokens"}"#, ALL),
    (r#"{"type":"suppress_tokens","tokens":[0]}"#, ""),
    (r#"{"type":"switch"}"#, ALL),
    (r#"{"type":"switch","after":[[0]],"first":[{"type":"top_k","k":0}],"second":[{"type":"dry"}]}"#, ALL),
    (r#"{"type":"switch","back":[[0]],"first":[{"type":"temperature"}],"second":[{"type":"penalties","repeat":2}]}"#, "argmax order"),
    (r#"{"type":"switch","first":[{"type":"xtc","probability":0.5}],"second":[{"type":"infill"}]}"#, "order removes vocab"),
    (r#"{"type":"switch","after":[[0]],"first":[{"type":"temperature"}],"second":[{"type":"top_k","k":2}]}"#, "argmax order history prompt"),
    (r#"{"type":"switch","after":[[0],[1]],"sees_prompt":true,"first":[{"type":"top_k","k":1}],"second":[{"type":"typ_p","p":0.3}]}"#, "order removes history"),
    (r#"{"type":"switch","after":[[0]],"sees_prompt":true,"first":[{"type":"penalties","repeat":2,"window":"generated"}]}"#, "history prompt"),
    (r#"{"type":"tfs"}"#, ALL),
    (r#"{"type":"tfs","variant":"kobold","z":0.5}"#, ALL),
    (r#"{"type":"top_a"}"#, ALL),
    (r#"{"type":"top_h"}"#, ALL),
    (r#"{"type":"top_p_decay","p":0.9,"decay":0.5,"min":0.1}"#, "argmax order removes history prompt"),
];

/// Each fact by its word, and the facts with it turned round.
type Fact = (&'static str, fn(&mut Facts) -> &mut bool);

const FACTS: [Fact; 6] = [
    ("argmax", |facts| &mut facts.keeps_argmax),
    ("order", |facts| &mut facts.keeps_order),
    ("removes", |facts| &mut facts.only_removes),
    ("history", |facts| &mut facts.needs_history),
    ("vocab", |facts| &mut facts.needs_vocab),
    ("prompt", |facts| &mut facts.needs_prompt),
];

fn in_words(mut facts: Facts) -> String {
    let words: Vec<&str> = FACTS.iter().filter(|(_, fact)| *fact(&mut facts)).map(|(word, _)| *word).collect();
    words.join(" ")
}

fn read(text: &str) -> Box<dyn SamplerStep> {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn the_steps_promise_what_they_can() {
    for (text, expected) in EXPECTED {
        assert_eq!(in_words(read(text).facts()), *expected, "{text}");
    }
    // The example's is another crate's.
    for step in registered_steps().iter().filter(|step| *step != "biggest_gap") {
        let is_there = EXPECTED.iter().any(|(text, _)| text.starts_with(&format!("{{\"type\":\"{step}\"")));
        assert!(is_there, "{step} has no line");
    }
}

/// Promises that are not made and cannot be seen to break: `infill` takes an end token that is merged with many others, and less
/// likely than they are together, which no case has; `protect` does not know of the steps inside whether one changes and removes
/// at once, and then promises less than holds.
const UNSEEN: [(&str, &str); 3] = [
    (r#"{"type":"infill"}"#, "order"),
    (r#"{"type":"protect","tokens":[0],"steps":[{"type":"temperature"}]}"#, "argmax"),
    (r#"{"type":"protect","tokens":[0],"steps":[{"type":"temperature"}]}"#, "order"),
];

/// A promise that a step does not make is one that it would break, and what it needs changes something. So the cases
/// of the property test are such that a lie comes out.
#[test]
fn what_is_not_promised_does_not_hold() {
    for (text, _) in EXPECTED {
        let step = read(text);
        for (word, fact) in FACTS {
            let mut claimed = step.facts();
            let is_need = ["history", "vocab", "prompt"].contains(&word);
            if *fact(&mut claimed) != is_need || UNSEEN.contains(&(*text, word)) {
                continue;
            }
            *fact(&mut claimed) = !is_need;
            let mut cases = cases_for(step.as_ref(), 3).take(4000);
            let is_broken = cases.any(|case| matches!(broken(step.as_ref(), claimed, &case), Ok(Some(_))));
            assert!(is_broken, "{text}: {word} is not told, and holds");
        }
    }
}
