//! SillyTavern's text-completion presets: one preset for many back-ends, with an order list for each of four.

use sampler_steps::community::TfsVariant;

use super::Backend;
use super::community::CutoffUnit;
use super::draft::{Draft, Names, Window};
use super::koboldcpp;
use super::order::OrderName;
use super::report::Fate;
use super::webui;
use crate::document::{Node, NodeKind};

/// The names but for the order list, which is the back-end's.
macro_rules! names {
    ($order:literal) => {
        Names(&[
            ("temp", "temperature"),
            ("dynatemp", "dynatemp"),
            ("min_temp", "dynatemp_low"),
            ("max_temp", "dynatemp_high"),
            ("dynatemp_exponent", "dynatemp_exponent"),
            ("top_k", "top_k"),
            ("top_p", "top_p"),
            ("min_p", "min_p"),
            ("typical_p", "typical_p"),
            ("nsigma", "top_n_sigma"),
            ("xtc_probability", "xtc_probability"),
            ("xtc_threshold", "xtc_threshold"),
            ("rep_pen", "repeat_penalty"),
            ("rep_pen_range", "repeat_last_n"),
            ("freq_pen", "frequency_penalty"),
            ("presence_pen", "presence_penalty"),
            ("dry_multiplier", "dry_multiplier"),
            ("dry_base", "dry_base"),
            ("dry_allowed_length", "dry_allowed_length"),
            ("dry_penalty_last_n", "dry_penalty_last_n"),
            ("dry_sequence_breakers", "dry_sequence_breakers"),
            ("mirostat_mode", "mirostat"),
            ("mirostat_tau", "mirostat_tau"),
            ("mirostat_eta", "mirostat_eta"),
            ("adaptive_target", "adaptive_target"),
            ("adaptive_decay", "adaptive_decay"),
            ("min_keep", "min_keep"),
            ("seed", "seed"),
            ("temperature_last", "temperature_last"),
            ("do_sample", "do_sample"),
            ($order, "samplers"),
        ])
    };
}

/// Each back-end's order list.
const LISTS: [(&str, &str); 4] = [
    ("samplers", "llama.cpp"),
    ("sampler_priority", "text-generation-webui"),
    ("sampler_order", "koboldcpp"),
    ("samplers_priorities", "aphrodite"),
];

/// Aphrodite's names in `samplers_priorities`.
const APHRODITE: &[OrderName] = &[
    ("dry", &["dry"]),
    ("penalties", &["penalties"]),
    ("no_repeat_ngram", &["no_repeat_ngram"]),
    ("temperature", &["temperature"]),
    ("top_nsigma", &["top_n_sigma"]),
    // top-k comes first in it.
    ("top_p_top_k", &["top_k", "top_p"]),
    ("top_a", &["top_a"]),
    ("min_p", &["min_p"]),
    ("tfs", &["tfs"]),
    ("eta_cutoff", &["eta_cutoff"]),
    ("epsilon_cutoff", &["epsilon_cutoff"]),
    ("typical_p", &["typ_p"]),
    ("quadratic", &["smoothing"]),
    ("xtc", &["xtc"]),
];

pub fn read(node: Node, draft: &mut Draft<'_>) {
    draft.load(node);
    for own in ["max_length", "max_context"] {
        draft.own_n_ctx(own);
    }
    biases(draft);
    let backend = draft.options.backend.unwrap_or_default();
    let own = backend.name();
    draft.other_orders(&LISTS.into_iter().filter(|(_, of)| *of != own).collect::<Vec<_>>());
    match backend {
        Backend::LlamaCpp => llama_cpp(draft),
        Backend::TextGenerationWebui => webui::translate(draft, names!("sampler_priority"), Some("dry_penalty_last_n")),
        Backend::KoboldCpp => {
            order_is_the_list(draft);
            koboldcpp::translate(draft, names!("sampler_order"));
        }
        Backend::Aphrodite => aphrodite(draft),
    }
}

/// `temperature_last` and `do_sample`, which only some back-ends look at.
fn order_is_the_list(draft: &mut Draft<'_>) {
    for (own, why) in [
        ("temperature_last", "the order list of this back-end says where"),
        ("do_sample", "this back-end always draws"),
    ] {
        if draft.flag(own).is_some() {
            draft.note(own, Fate::NoEffect { why: why.into() });
        }
    }
}

/// What SillyTavern sends to llama-server: the chain is the one that llama-server builds of it.
fn llama_cpp(draft: &mut Draft<'_>) {
    let names = names!("samplers");
    draft.as_llama_server = true;
    draft.copy_plain(names);
    order_is_the_list(draft);
    webui::dynamic(draft, names, None);
    if let Some(list) = draft.order_names("samplers") {
        // llama-server drops what it does not know, and so does the reader of requests.
        draft.set("samplers", "samplers", list);
    }
    for (own, field) in [("rep_pen_range", "repeat_last_n"), ("dry_penalty_last_n", "dry_penalty_last_n")] {
        draft.absent_window(own, field, 64, "llama.cpp's default");
        draft.window(own, field, Window::ZeroIsOff);
    }
    draft.breakers("dry_sequence_breakers");
}

/// vLLM's meanings: the repetition penalty sees the whole context, the other two what was drawn.
fn aphrodite(draft: &mut Draft<'_>) {
    let names = names!("samplers_priorities");
    draft.counts_generated = true;
    draft.copy_plain(names);
    order_is_the_list(draft);
    webui::dynamic(draft, names, None);
    match draft.order_names("samplers_priorities") {
        Some(list) => {
            let steps = draft.steps_of("samplers_priorities", &list, APHRODITE);
            draft.set_order("samplers_priorities", &steps);
        }
        None => draft.set_default_order(&APHRODITE.iter().flat_map(|row| row.1).copied().collect::<Vec<_>>()),
    }
    draft.no_repeat_ngram();
    draft.top_a();
    draft.tfs(TfsVariant::Kobold);
    draft.cutoffs(CutoffUnit::TenThousandth);
    draft.smoothing();
    let penalises = draft.penalises() && draft.so_far("repeat_penalty", 1.0) != 1.0;
    for own in ["freq_pen", "presence_pen"] {
        if draft.number(own).is_some_and(|penalty| penalty != 0.0) {
            let (from, to) = (draft.shown(own), format!("{} over what was drawn", draft.shown(own)));
            draft.note(own, Fate::Translated { from, to, why: "Aphrodite leaves the prompt out, as vLLM does".into() });
        }
    }
    // Its penalties have no range: they see all.
    draft.base.repeat_last_n = i32::MAX;
    if draft.number("rep_pen_range").is_some() {
        let why = "Aphrodite's penalties have no range";
        draft.note("rep_pen_range", Fate::NoEffect { why: why.into() });
    }
    if penalises {
        let from = draft.shown("rep_pen");
        let to = |n: u32| format!("repeat {from} over the last {n} tokens");
        if let Some(n_ctx) = draft.whole_context("rep_pen", from.clone(), "it sees", to) {
            draft.base.repeat_last_n = n_ctx as i32;
        }
    }
    if draft.get("dry_penalty_last_n").is_none()
        && draft.dries()
        && let Some(n_ctx) =
            draft.whole_context("dry_penalty_last_n", "absent".into(), "without it, it is", |n| n.to_string())
    {
        draft.base.dry_penalty_last_n = n_ctx as i32;
    }
    draft.window("dry_penalty_last_n", "dry_penalty_last_n", Window::ZeroIsWhole);
    draft.breakers("dry_sequence_breakers");
}

/// `logit_bias` has texts, of which only a tokenizer makes tokens; `[123]` and numbers are tokens.
fn biases(draft: &mut Draft<'_>) {
    let Some(node) = draft.get("logit_bias") else { return };
    let NodeKind::Array(items) = &node.kind else { return };
    let token = |text: &str| text.trim().trim_start_matches('[').trim_end_matches(']').parse::<u32>().ok();
    let pair = |item: &Node| {
        let text = item.get("text")?.as_str()?;
        let value = item.get("value")?.to_json().as_f64()?;
        token(text).map(|id| serde_json::json!([id, value]))
    };
    let pairs: Option<Vec<_>> = items.iter().map(pair).collect();
    if let Some(pairs) = pairs.filter(|pairs| !pairs.is_empty()) {
        draft.set("logit_bias", "logit_bias", pairs);
    }
}
