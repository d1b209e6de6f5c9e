//! Hugging Face's `generation_config.json`, as transformers runs it, or as its values lie over llama.cpp's.

mod processors;

use super::draft::{Draft, Names};
use super::report::Fate;
use super::{Absent, names};
use crate::document::Node;
use crate::params::Params;

const NAMES: Names = Names(&[
    ("do_sample", "do_sample"),
    ("temperature", "temperature"),
    ("top_k", "top_k"),
    ("top_p", "top_p"),
    ("min_p", "min_p"),
    ("typical_p", "typical_p"),
    ("seed", "seed"),
]);

/// transformers' order: its processors, then its warpers.
const ORDER: [&str; 16] = [
    "sequence_bias",
    "encoder_repetition_penalty",
    "repetition_penalty_hf",
    "no_repeat_ngram",
    "bad_words",
    "min_new_tokens",
    "exponential_decay_length",
    "suppress_tokens",
    "temperature",
    "top_h",
    "top_k",
    "top_p",
    "min_p",
    "typ_p",
    "epsilon_cutoff",
    "eta_cutoff",
];

/// llama.cpp's order, with what it has not beside what is most like it: processors first, and truncations among its own.
const OVER_LLAMA_CPP: [&str; 20] = [
    "sequence_bias",
    "encoder_repetition_penalty",
    "repetition_penalty_hf",
    "no_repeat_ngram",
    "bad_words",
    "min_new_tokens",
    "exponential_decay_length",
    "suppress_tokens",
    "penalties",
    "dry",
    "top_n_sigma",
    "top_h",
    "top_k",
    "typ_p",
    "top_p",
    "min_p",
    "epsilon_cutoff",
    "eta_cutoff",
    "xtc",
    "temperature",
];

/// What is asked for where it is absent, with transformers' default and llama.cpp's.
const RELEVANT: [(&str, f64, f64); 4] =
    [("temperature", 1.0, 0.8), ("top_k", 50.0, 40.0), ("top_p", 1.0, 0.95), ("min_p", 0.0, 0.05)];

pub fn read(node: Node, draft: &mut Draft<'_>) {
    draft.load(node);
    draft.copy_plain(NAMES);
    let do_sample = draft.flag("do_sample");
    let absent = absent(draft, do_sample);
    draft.greedy = match (do_sample, absent) {
        (Some(draws), _) => !draws,
        (None, rule) => rule == Some(Absent::Transformers),
    };
    match (do_sample, draft.greedy) {
        (Some(_), true) => {
            let (from, to, why) = ("false", "greedy", "the most likely token is taken");
            draft.note("do_sample", Fate::Translated { from: from.into(), to: to.into(), why: why.into() });
        }
        (Some(_), false) => draft.note("do_sample", Fate::Used { r#as: "dist".into() }),
        (None, true) => {
            draft.note("do_sample", Fate::Absent { value: "false".into(), why: "transformers' default".into() });
        }
        (None, false) => {
            let why = "it was asked to draw (--absent)".to_string();
            draft.note("do_sample", Fate::Absent { value: "true".into(), why });
        }
    }
    match absent {
        Some(Absent::LlamaCpp) => {
            draft.as_llama_server = true;
            draft.base = Params::default();
            draft.set_default_order(&OVER_LLAMA_CPP);
        }
        _ => draft.set_default_order(&ORDER),
    }
    fill(draft, absent);
    processors::read(draft);
}

/// The rule for what is absent: asked for where something that matters is, and needed for nothing in a greedy preset.
fn absent(draft: &mut Draft<'_>, do_sample: Option<bool>) -> Option<Absent> {
    let missing: Vec<&str> = RELEVANT.iter().map(|row| row.0).filter(|name| draft.get(name).is_none()).collect();
    let first = match do_sample {
        Some(false) => return draft.options.absent,
        None => "do_sample",
        Some(true) => missing.first().copied().unwrap_or_default(),
    };
    if draft.options.absent.is_none() && !first.is_empty() {
        let mut all = missing;
        if do_sample.is_none() {
            all.insert(0, "do_sample");
        }
        let why = "absent: transformers, llama.cpp and vLLM each take something else";
        draft.ask(&all.join(", "), why, "absent", names(Absent::ALL.map(Absent::name)));
    }
    draft.options.absent
}

/// Absent values by the rule.
fn fill(draft: &mut Draft<'_>, absent: Option<Absent>) {
    let Some(rule) = absent.filter(|_| !draft.greedy) else { return };
    for (name, transformers, llama_cpp) in RELEVANT {
        if draft.get(name).is_some() {
            continue;
        }
        let (value, why) = match rule {
            Absent::Transformers => (transformers, "transformers' default"),
            Absent::LlamaCpp => (llama_cpp, "llama.cpp's default"),
            Absent::Off => continue,
        };
        draft.note(name, Fate::Absent { value: value.to_string(), why: why.into() });
        if name == "top_k" {
            draft.base.top_k = value as i32;
        }
    }
}
