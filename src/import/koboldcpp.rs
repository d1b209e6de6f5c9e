//! KoboldCpp's settings, and SillyTavern's Kobold presets, which have the same meanings: JSON.

use sampler_steps::TopK;
use sampler_steps::community::TfsVariant;

use super::draft::{Draft, Names, Window};
use super::report::Fate;
use super::webui;
use crate::document::{Node, NodeKind};

const NAMES: Names = Names(&[
    ("temp", "temperature"),
    ("temperature", "temperature"),
    ("dynatemp_range", "dynatemp_range"),
    ("dynatemp_exponent", "dynatemp_exponent"),
    ("top_k", "top_k"),
    ("top_p", "top_p"),
    ("min_p", "min_p"),
    ("typical", "typical_p"),
    ("nsigma", "top_n_sigma"),
    ("xtc_probability", "xtc_probability"),
    ("xtc_threshold", "xtc_threshold"),
    ("rep_pen", "repeat_penalty"),
    ("rep_pen_range", "repeat_last_n"),
    ("presence_penalty", "presence_penalty"),
    ("dry_multiplier", "dry_multiplier"),
    ("dry_base", "dry_base"),
    ("dry_allowed_length", "dry_allowed_length"),
    ("dry_penalty_last_n", "dry_penalty_last_n"),
    ("dry_sequence_breakers", "dry_sequence_breakers"),
    ("mirostat", "mirostat"),
    ("miro_type", "mirostat"),
    ("mirostat_tau", "mirostat_tau"),
    ("miro_tau", "mirostat_tau"),
    ("mirostat_eta", "mirostat_eta"),
    ("miro_eta", "mirostat_eta"),
    ("adaptive_target", "adaptive_target"),
    ("adaptive_decay", "adaptive_decay"),
    ("sampler_order", "samplers"),
    ("sampler_seed", "seed"),
    ("seed", "seed"),
]);

/// What the numbers of `sampler_order` stand for: min-p has none and stands beside top-p, and smoothing and top-n-sigma stand
/// behind the temperature.
const NUMBERS: [&[&str]; 7] = [
    &["top_k"],
    &["top_a"],
    &["top_p", "min_p"],
    &["tfs"],
    &["typ_p"],
    &["temperature", "smoothing", "top_n_sigma"],
    &["penalties"],
];

/// What runs whatever the order says, behind DRY and in front of the numbers.
const PREFILTER: &str = "prefilter";

/// So many candidates go on to the numbered samplers.
const PREFILTERED: i32 = 3000;

/// Mirostat takes the place of all but these.
const BEFORE_MIROSTAT: [&str; 5] = ["dry", PREFILTER, "penalties", "temperature", "smoothing"];

/// The order that KoboldCpp recommends, and takes where none is given.
const ORDER: [i64; 7] = [6, 0, 1, 3, 4, 2, 5];

/// Lite's range where the settings say none.
const RANGE: i32 = 360;

/// What KoboldCpp takes for DRY's range and XTC's threshold where a request says none.
const DRY_RANGE: i32 = 320;
const XTC_THRESHOLD: f32 = 0.2;

pub fn read(node: Node, draft: &mut Draft<'_>) {
    draft.load(saved_settings(node));
    for own in ["max_context_length", "max_length"] {
        // Lite and SillyTavern have the context's size under one name or the other; genamt is the answer's length.
        if draft.get("genamt").is_some() || own == "max_context_length" {
            draft.own_n_ctx(own);
        }
    }
    translate(draft, NAMES);
}

/// A saved story has its settings inside.
fn saved_settings(mut node: Node) -> Node {
    if let NodeKind::Table(entries) = &mut node.kind
        && let Some(at) = entries.iter().position(|entry| entry.key == "savedsettings")
    {
        return entries.swap_remove(at).value;
    }
    node
}

/// The program's meanings, for its own names and for SillyTavern's.
pub fn translate(draft: &mut Draft<'_>, names: Names) {
    draft.copy_plain(names);
    webui::dynamic(draft, names, None);
    order(draft, names.of("samplers"));
    let range = names.of("repeat_last_n");
    draft.base.repeat_last_n = RANGE;
    slope(draft);
    draft.top_a();
    draft.tfs(TfsVariant::Ggml);
    draft.smoothing();
    draft.absent_window(range, "repeat_last_n", RANGE, "KoboldCpp Lite's default");
    draft.window(range, "repeat_last_n", Window::AtLeastOne);
    let dry_range = names.of("dry_penalty_last_n");
    draft.base.dry_penalty_last_n = DRY_RANGE;
    draft.absent_window(dry_range, "dry_penalty_last_n", DRY_RANGE, "KoboldCpp's default");
    draft.window(dry_range, "dry_penalty_last_n", Window::AtLeastOne);
    draft.breakers(names.of("dry_sequence_breakers"));
    draft.bias_table("logit_bias");
    draft.base.xtc_threshold = XTC_THRESHOLD;
    let threshold = names.of("xtc_threshold");
    let draws = draft.so_far("xtc_probability", 0.0) > 0.0 && draft.so_far("mirostat", 0.0) < 1.0;
    if draft.get(threshold).is_none() && draws {
        let (value, why) = (XTC_THRESHOLD.to_string(), "KoboldCpp's default".to_string());
        draft.note(threshold, Fate::Absent { value, why });
    }
}

/// What is left of the penalty for the older half of its window. Between 0 and 1 it is as it stands; KoboldCpp takes any other
/// for 1, which is off, and a penalty of 1 and below has none.
fn slope(draft: &mut Draft<'_>) {
    let own = "rep_pen_slope";
    // As a float, which the step takes: a double next to 0 or 1 is that.
    let Some(slope) = draft.on(own, |slope| [0.0, 1.0].contains(&(slope as f32))) else { return };
    if !draft.penalises() {
        return;
    }
    if !(slope > 0.0 && slope < 1.0) {
        let why = "KoboldCpp takes a slope beyond 0 to 1 for 1, which is off".to_string();
        return draft.note(own, Fate::Translated { from: draft.shown(own), to: "1".into(), why });
    }
    if draft.so_far("repeat_penalty", 1.0) <= 1.0 {
        return draft.note(own, Fate::NoEffect { why: "it weakens a rep_pen above 1, and that is none".into() });
    }
    draft.slope = Some(slope as f32);
    draft.note(own, Fate::Used { r#as: "rep_pen_slope, in place of penalties".into() });
}

/// DRY first and a cut behind it, XTC last, the numbered ones between.
fn order(draft: &mut Draft<'_>, own: &str) {
    let given = draft.order_numbers(own);
    let mut numbers = given.clone().unwrap_or_else(|| ORDER.to_vec());
    let mut known = [false; NUMBERS.len()];
    for &n in &numbers {
        match usize::try_from(n).ok().and_then(|n| known.get_mut(n)) {
            Some(seen) if !*seen => *seen = true,
            Some(_) => {
                draft.problem(own, format!("{n} stands in it twice"));
            }
            None => {
                draft.problem(own, format!("{n} is no sampler: 0 (top_k) to 6 (rep_pen) are"));
            }
        }
    }
    if let Some(missing) = known[..6].iter().position(|seen| !seen) {
        draft.problem(own, format!("{missing} is missing: all of 0 to 5 stand in it, and 6 (rep_pen)"));
    }
    if !known[6] {
        // Orders from before the penalty had a number.
        numbers.insert(0, 6);
        let why = "6 (rep_pen) comes first where it is not listed".to_string();
        draft.note(own, Fate::Translated { from: draft.shown(own), to: format!("{numbers:?}"), why });
    }
    let mut steps = vec!["dry", PREFILTER];
    steps.extend(numbers.iter().filter_map(|&n| NUMBERS.get(n as usize)).copied().flatten());
    steps.push("xtc");
    if draft.so_far("adaptive_target", draft.base.adaptive_target) > 0.0 {
        steps.push("adaptive_p");
    }
    if draft.so_far("mirostat", 0.0) >= 1.0 {
        steps = BEFORE_MIROSTAT.to_vec();
        draft.lists_before_mirostat = true;
    }
    let why = "KoboldCpp cuts to so many behind DRY, in front of all numbered samplers".to_string();
    let step = format!("top_k {PREFILTERED}");
    draft.always(PREFILTER, TopK { k: PREFILTERED }, own, Fate::Added { step, why });
    match given {
        Some(_) => draft.set_order(own, &steps),
        None => draft.set_default_order(&steps),
    }
}
