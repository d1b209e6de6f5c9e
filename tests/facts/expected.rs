//! What the stock steps promise, so that no promise is lost, and none is withheld that holds.

use sampler_chain::{Facts, SamplerStep, StepInfo, registered_steps};

use super::cases_for;
use super::hold::broken;

const ALL: &str = "argmax order removes";

/// Each stock step with parameters, and its facts: what it keeps, and what it needs.
#[rustfmt::skip]
const EXPECTED: [(&str, &str); 46] = [
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
fn the_stock_steps_promise_what_they_can() {
    for (text, expected) in EXPECTED {
        assert_eq!(in_words(read(text).facts()), expected, "{text}");
    }
    // Those that answer to a function of llama.cpp.
    for step in registered_steps() {
        let is_stock = StepInfo::of(&step).unwrap().counterpart.is_some();
        let is_there = EXPECTED.iter().any(|(text, _)| text.starts_with(&format!("{{\"type\":\"{step}\"")));
        assert!(is_there || !is_stock, "{step} has no line");
    }
}

/// What takes an end token that is merged with many others, and less likely than they are together, which no case has.
const RARE: [(&str, &str); 1] = [(r#"{"type":"infill"}"#, "order")];

/// A promise that a stock step does not make is one that it would break, and what it needs changes something. So the cases
/// of the property test are such that a lie comes out.
#[test]
fn what_is_not_promised_does_not_hold() {
    for (text, _) in EXPECTED {
        let step = read(text);
        for (word, fact) in FACTS {
            let mut claimed = step.facts();
            let is_need = ["history", "vocab", "prompt"].contains(&word);
            if *fact(&mut claimed) != is_need || RARE.contains(&(text, word)) {
                continue;
            }
            *fact(&mut claimed) = !is_need;
            let mut cases = cases_for(step.as_ref(), 3).take(4000);
            let is_broken = cases.any(|case| matches!(broken(step.as_ref(), claimed, &case), Ok(Some(_))));
            assert!(is_broken, "{text}: {word} is not told, and holds");
        }
    }
}
