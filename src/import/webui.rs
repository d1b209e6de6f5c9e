//! text-generation-webui: presets in YAML, of which only the differences from the defaults are written.

use sampler_steps::community::TfsVariant;

use super::community::CutoffUnit;
use super::draft::{Draft, Names, Window};
use super::order::OrderName;
use super::report::Fate;
use crate::document::Node;

const NAMES: Names = Names(&[
    ("temperature", "temperature"),
    ("dynamic_temperature", "dynatemp"),
    ("dynatemp_low", "dynatemp_low"),
    ("dynatemp_high", "dynatemp_high"),
    ("dynatemp_exponent", "dynatemp_exponent"),
    ("top_k", "top_k"),
    ("top_p", "top_p"),
    ("min_p", "min_p"),
    ("typical_p", "typical_p"),
    ("top_n_sigma", "top_n_sigma"),
    ("xtc_probability", "xtc_probability"),
    ("xtc_threshold", "xtc_threshold"),
    ("repetition_penalty", "repeat_penalty"),
    ("repetition_penalty_range", "repeat_last_n"),
    ("frequency_penalty", "frequency_penalty"),
    ("presence_penalty", "presence_penalty"),
    ("dry_multiplier", "dry_multiplier"),
    ("dry_base", "dry_base"),
    ("dry_allowed_length", "dry_allowed_length"),
    ("dry_sequence_breakers", "dry_sequence_breakers"),
    ("mirostat_mode", "mirostat"),
    ("mirostat_tau", "mirostat_tau"),
    ("mirostat_eta", "mirostat_eta"),
    ("adaptive_target", "adaptive_target"),
    ("adaptive_decay", "adaptive_decay"),
    ("temperature_last", "temperature_last"),
    ("sampler_priority", "samplers"),
    ("custom_token_bans", "token_bans"),
    ("do_sample", "do_sample"),
    ("seed", "seed"),
]);

/// The names of `sampler_priority`. The temperature and the penalties have several, of which one is the step's place.
const ORDER: &[OrderName] = &[
    ("repetition_penalty", &["penalties"]),
    ("presence_penalty", &["presence_penalty"]),
    ("frequency_penalty", &["frequency_penalty"]),
    ("dry", &["dry"]),
    ("temperature", &["temperature"]),
    ("dynamic_temperature", &["dynamic_temperature"]),
    ("quadratic_sampling", &["smoothing"]),
    ("top_n_sigma", &["top_n_sigma"]),
    ("top_k", &["top_k"]),
    ("top_p", &["top_p"]),
    ("typical_p", &["typ_p"]),
    ("epsilon_cutoff", &["epsilon_cutoff"]),
    ("eta_cutoff", &["eta_cutoff"]),
    ("tfs", &["tfs"]),
    ("top_a", &["top_a"]),
    ("min_p", &["min_p"]),
    ("adaptive_p", &["adaptive_p"]),
    ("mirostat", &[]),
    ("xtc", &["xtc"]),
    ("encoder_repetition_penalty", &["encoder_repetition_penalty"]),
    ("no_repeat_ngram", &["no_repeat_ngram"]),
];

/// The range of penalties and of DRY where the preset says none.
const RANGE: i32 = 1024;

pub fn read(node: Node, draft: &mut Draft<'_>) {
    draft.load(node);
    draft.own_n_ctx("truncation_length");
    translate(draft, NAMES, None);
}

/// The program's meanings, for its own names and for SillyTavern's. `dry_range` is the field that is DRY's own window.
pub fn translate(draft: &mut Draft<'_>, names: Names, dry_range: Option<&str>) {
    draft.copy_plain(names);
    if draft.flag(names.of("do_sample")) == Some(false) {
        draft.greedy = true;
        draft.note(names.of("do_sample"), translated("false", "greedy", "the most likely token is taken"));
    } else if draft.get(names.of("do_sample")).is_some() {
        draft.note(names.of("do_sample"), Fate::Used { r#as: "dist".into() });
    }
    // The default of both ends is 1.
    let is_dynamic = dynamic(draft, names, Some(1.0));
    sigma_and_target(draft, names);
    order(draft, names, is_dynamic);
    penalties(draft, names, dry_range);
    community(draft, dry_range.is_some());
    draft.breakers(names.of("dry_sequence_breakers"));
    token_bans(draft);
}

/// What llama.cpp does not have. SillyTavern has one field under another name.
fn community(draft: &mut Draft<'_>, is_sillytavern: bool) {
    draft.smoothing();
    draft.cutoffs(CutoffUnit::TenThousandth);
    draft.tfs(TfsVariant::Kobold);
    draft.top_a();
    draft.encoder_repetition_penalty(if is_sillytavern { "encoder_rep_pen" } else { "encoder_repetition_penalty" });
    draft.no_repeat_ngram();
}

fn translated(from: &str, to: &str, why: &str) -> Fate {
    Fate::Translated { from: from.into(), to: to.into(), why: why.into() }
}

/// The dynamic temperature, where it is switched on. `default` is what an absent end is.
pub fn dynamic(draft: &mut Draft<'_>, names: Names, default: Option<f64>) -> bool {
    let (switch, low, high) = (names.of("dynatemp"), names.of("dynatemp_low"), names.of("dynatemp_high"));
    if draft.flag(switch) == Some(true) {
        draft.note(switch, Fate::Used { r#as: "dynatemp_range".into() });
        return draft.dynatemp([low, high], default, switch, names.of("temperature"));
    }
    if draft.get(switch).is_some() {
        draft.note(switch, Fate::Off { value: "false".into() });
    }
    for field in [low, high] {
        if draft.number(field).is_some() {
            draft.note(field, Fate::NoEffect { why: format!("{switch} is not set") });
        }
    }
    false
}

/// One range feeds the penalties and DRY; SillyTavern has one for DRY, too.
fn penalties(draft: &mut Draft<'_>, names: Names, dry_range: Option<&str>) {
    let range = names.of("repeat_last_n");
    let (penalises, dries) = (draft.penalises(), draft.dries());
    draft.base.repeat_last_n = RANGE;
    draft.base.dry_penalty_last_n = RANGE;
    if draft.get(range).is_none() && (penalises || dries) {
        let why = "text-generation-webui's default".to_string();
        draft.note(range, Fate::Absent { value: RANGE.to_string(), why });
    }
    if let Some(dry_range) = dry_range {
        draft.absent_window(dry_range, "dry_penalty_last_n", RANGE, "text-generation-webui's default");
        draft.window(dry_range, "dry_penalty_last_n", Window::ZeroIsWhole);
        return draft.window(range, "repeat_last_n", Window::ZeroIsWhole);
    }
    if !dries {
        return draft.window(range, "repeat_last_n", Window::ZeroIsWhole);
    }
    let Some(n) = draft.number(range) else { return };
    let Some(length) = draft.window_length(range, n, Window::ZeroIsWhole) else { return };
    draft.set("dry_penalty_last_n", range, length.clone());
    if penalises {
        draft.set("repeat_last_n", range, length);
    }
}

/// 0 is off there, and below 0 here.
fn sigma_and_target(draft: &mut Draft<'_>, names: Names) {
    for field in ["top_n_sigma", "adaptive_target"] {
        if draft.number(names.of(field)) == Some(0.0) {
            draft.set(field, names.of(field), -1);
        }
    }
}

/// Token ids with commas between, which are never drawn.
fn token_bans(draft: &mut Draft<'_>) {
    let own = "custom_token_bans";
    let Some(node) = draft.get(own) else { return };
    let text = node.as_str().map_or_else(|| node.to_json().to_string(), String::from);
    if text.trim().is_empty() {
        return draft.note(own, Fate::Off { value: "\"\"".into() });
    }
    let ids: Option<Vec<u32>> = text.split(',').map(|id| id.trim().parse().ok()).collect();
    match ids {
        Some(ids) => {
            let biases: Vec<_> = ids.into_iter().map(|id| serde_json::json!([id, false])).collect();
            let to = format!("a logit_bias of -inf on {}", text.trim());
            draft.note(own, translated(&draft.shown(own), &to, "these tokens are never drawn"));
            draft.set("logit_bias", own, biases);
        }
        None => {
            draft.problem(own, "token ids with commas between are wanted");
        }
    }
}

/// The order: the program's default, the preset's list, and the temperature last where it says so.
fn order(draft: &mut Draft<'_>, names: Names, is_dynamic: bool) {
    let own = names.of("samplers");
    let listed = draft.order_names(own);
    let default = || ORDER.iter().map(|row| row.0.to_string()).collect();
    let list: Vec<String> = listed.clone().unwrap_or_else(default);
    let mut steps = draft.steps_of(own, &list, ORDER);
    // The three penalties are one step: where the repetition penalty stands, or else the first of the others.
    let others = ["presence_penalty", "frequency_penalty"];
    if !steps.contains(&"penalties")
        && let Some(first) = steps.iter().position(|step| others.contains(step))
    {
        steps[first] = "penalties";
    }
    let (place, other) = match is_dynamic {
        true => ("dynamic_temperature", "temperature"),
        false => ("temperature", "dynamic_temperature"),
    };
    steps.retain(|step| !others.contains(step) && *step != other);
    steps.iter_mut().filter(|step| **step == place).for_each(|step| *step = "temperature");
    let target = draft.so_far("adaptive_target", draft.base.adaptive_target);
    if target < 0.0 {
        steps.retain(|step| *step != "adaptive_p");
    }
    let last = names.of("temperature_last");
    if draft.flag(last) == Some(true) {
        draft.note(last, translated("true", "temperature behind all other steps", &format!("it overrules {own}")));
        // It takes the smoothing along.
        let first = |name: &str| steps.iter().position(|step| *step == name);
        let is_first = first("smoothing").zip(first("temperature")).is_some_and(|(one, other)| one < other);
        let moved: &[&str] = match first("smoothing") {
            None => &["temperature"],
            Some(_) if is_first => &["smoothing", "temperature"],
            Some(_) => &["temperature", "smoothing"],
        };
        steps.retain(|step| !moved.contains(step));
        steps.extend(moved);
    } else if draft.get(last).is_some() {
        draft.note(last, Fate::Off { value: "false".into() });
    }
    match listed {
        Some(_) => draft.set_order(own, &steps),
        None => draft.set_default_order(&steps),
    }
}
