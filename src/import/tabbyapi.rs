//! tabbyAPI's sampler overrides: YAML, a table of `override` and `force` a field, with ExLlama's meanings.

use sampler_steps::community::TfsVariant;

use super::community::variant_name;
use super::draft::{Draft, Names, Window};
use super::report::Fate;
use crate::document::{Entry, Node, NodeKind};

const NAMES: Names = Names(&[
    ("temperature", "temperature"),
    ("min_temp", "dynatemp_low"),
    ("max_temp", "dynatemp_high"),
    ("temp_exponent", "dynatemp_exponent"),
    ("top_k", "top_k"),
    ("top_p", "top_p"),
    ("min_p", "min_p"),
    ("typical", "typical_p"),
    ("xtc_probability", "xtc_probability"),
    ("xtc_threshold", "xtc_threshold"),
    ("repetition_penalty", "repeat_penalty"),
    ("penalty_range", "repeat_last_n"),
    ("frequency_penalty", "frequency_penalty"),
    ("presence_penalty", "presence_penalty"),
    ("dry_multiplier", "dry_multiplier"),
    ("dry_base", "dry_base"),
    ("dry_allowed_length", "dry_allowed_length"),
    ("dry_range", "dry_penalty_last_n"),
    ("dry_sequence_breakers", "dry_sequence_breakers"),
    ("mirostat_mode", "mirostat"),
    ("mirostat_tau", "mirostat_tau"),
    ("mirostat_eta", "mirostat_eta"),
    ("adaptive_target", "adaptive_target"),
    ("adaptive_decay", "adaptive_decay"),
    ("temperature_last", "temperature_last"),
    ("logit_bias", "logit_bias"),
    ("seed", "seed"),
]);

/// ExLlamaV2's order; the temperature comes behind the penalties, or last, as the dynamic one always does. Its quadratic
/// smoothing is inside the first temperature, which is the same as before it.
const ORDER: [&str; 12] = [
    "min_new_tokens",
    "penalties",
    "dry",
    "smoothing",
    "temperature",
    "top_k",
    "top_p",
    "top_a",
    "min_p",
    "tfs",
    "typ_p",
    "xtc",
];

pub fn read(node: Node, draft: &mut Draft<'_>) {
    if !matches!(node.kind, NodeKind::Table(_)) {
        return draft.load(node);
    }
    let entries = overrides(node, draft);
    draft.load_entries(entries);
    draft.own_n_ctx("max_seq_len");
    draft.copy_plain(NAMES);
    zero_is_off(draft);
    let is_dynamic = ends(draft);
    draft.min_new_tokens("min_tokens", None);
    draft.smoothing();
    draft.top_a();
    tail_free(draft);
    order(draft, is_dynamic);
    for (own, field) in [("penalty_range", "repeat_last_n"), ("dry_range", "dry_penalty_last_n")] {
        if draft.get(own).is_none()
            && draft.idle_window(field).is_none()
            && let Some(n_ctx) = draft.whole_context(own, "absent".into(), "without it, it is", |n| n.to_string())
        {
            draft.set(field, own, n_ctx);
        }
        // DRY's range of 0 is the whole context, the penalties' is off.
        let window = if own == "dry_range" { Window::ZeroIsWhole } else { Window::ZeroIsOff };
        draft.window(own, field, window);
    }
    draft.breakers("dry_sequence_breakers");
    draft.bias_table("logit_bias");
}

/// The fields with their overrides for values. What is none is a problem.
fn overrides(node: Node, draft: &mut Draft<'_>) -> Vec<Entry> {
    let mut read = Vec::new();
    let NodeKind::Table(entries) = node.kind else { return read };
    for entry in entries {
        let at = entry.value.at;
        if entry.value.get("force").is_some_and(|force| force.to_json() == true) {
            let why = "no request may change it, and a chain has no requests".to_string();
            draft.note(&format!("{}.force", super::draft::shortened(&entry.key)), Fate::Elsewhere { why });
        }
        let value = match entry.value.kind {
            NodeKind::Table(fields) => {
                fields.into_iter().find(|field| field.key == "override").map(|field| field.value)
            }
            _ => None,
        };
        match value {
            Some(value) => read.push(Entry { key: entry.key, at: entry.at, value }),
            None => {
                draft.problem_at(at, "a table with override is wanted").field =
                    Some(super::draft::shortened(&entry.key));
            }
        }
    }
    read
}

/// The temperature is dynamic where the two ends differ; the plain one is there nevertheless, unless it is last. Whether
/// there is a dynamic one.
fn ends(draft: &mut Draft<'_>) -> bool {
    let (low, high) = (draft.number("min_temp"), draft.number("max_temp"));
    if let (Some(from), Some(to)) = (low, high)
        && to > from
    {
        if draft.flag("temperature_last") != Some(true)
            && let Some(temperature) = draft.take("temperature")
        {
            draft.first_temperature = Some(temperature as f32);
            draft.note("temperature", Fate::Used { r#as: "a step temperature of its own".into() });
        }
        return draft.dynatemp(["min_temp", "max_temp"], None, "max_temp", "temperature");
    }
    for own in ["min_temp", "max_temp"] {
        if draft.get(own).is_some() {
            let why = "the temperature is dynamic only where max_temp is above min_temp".to_string();
            draft.note(own, Fate::NoEffect { why });
        }
    }
    false
}

/// A probability of 0 is off in ExLlama.
fn zero_is_off(draft: &mut Draft<'_>) {
    for (own, field) in [("top_p", "top_p"), ("typical", "typical_p"), ("tfs", "")] {
        if draft.number(own) == Some(0.0) {
            draft.note(own, Fate::Off { value: draft.shown(own) });
            if !field.is_empty() {
                draft.set(field, own, 1);
            }
        }
    }
}

/// From three candidates on ExLlamaV2's tail-free sampling is that of `kobold`; two it leaves as they are, of which `kobold` drops
/// one.
fn tail_free(draft: &mut Draft<'_>) {
    if draft.number("tfs") == Some(0.0) {
        return;
    }
    let variant = TfsVariant::Kobold;
    let top_k = draft.so_far("top_k", 0.0);
    if (1.0..3.0).contains(&top_k) {
        if draft.on("tfs", |z| z >= 1.0).is_some() {
            let why = format!("ExLlamaV2 needs three candidates for it, and top_k leaves {}", top_k.trunc());
            draft.note("tfs", Fate::NoEffect { why });
        }
        return;
    }
    let (from, to) = (draft.shown("tfs"), variant_name(variant).to_string());
    let why = "it is ExLlamaV2's from three candidates on; of two it drops one, and ExLlamaV2 none".to_string();
    draft.tfs_with(variant, Fate::Translated { from, to, why });
}

fn order(draft: &mut Draft<'_>, is_dynamic: bool) {
    let mut steps = ORDER.to_vec();
    let is_last = draft.flag("temperature_last") == Some(true);
    if is_last || is_dynamic {
        steps.retain(|step| *step != "temperature");
        steps.push("temperature");
    }
    if is_last {
        let (from, to) = ("true".into(), "temperature behind all other steps".into());
        draft.note("temperature_last", Fate::Translated { from, to, why: "ExLlama's order".into() });
    } else if draft.get("temperature_last").is_some() {
        draft.note("temperature_last", Fate::Off { value: "false".into() });
    }
    if draft.so_far("adaptive_target", draft.base.adaptive_target) > 0.0 {
        steps.push("adaptive_p");
    }
    draft.set_default_order(&steps);
}
