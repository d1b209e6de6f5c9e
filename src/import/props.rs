//! llama-server's own report of its settings: `/props`, or the `generation_settings` of an answer.

use serde_json::{Value, json};

use super::draft::{Draft, Window};
use super::report::Fate;
use crate::document::{Entry, Node, NodeKind};
use crate::params::Params;
use crate::request::field_names;

pub fn read(node: Node, draft: &mut Draft<'_>) {
    let is_props = node.get("default_generation_settings").is_some();
    let (settings, n_ctx) = settings(node);
    draft.load(settings);
    draft.as_llama_server = true;
    draft.base = Params::default();
    if let Some(n_ctx) = n_ctx {
        draft.set_own_n_ctx("n_ctx", n_ctx);
    }
    draft.know(field_names());
    for field in field_names() {
        copy(field, draft);
    }
    // What these mean depends on what the others switch on.
    draft.window("repeat_last_n", "repeat_last_n", Window::ZeroIsOff);
    draft.window("dry_penalty_last_n", "dry_penalty_last_n", Window::ZeroIsOff);
    draft.breakers("dry_sequence_breakers");
    if draft.get("dry_sequence_breakers").is_none() && draft.dries() {
        let why = "llama.cpp's default; /props does not report them".to_string();
        draft.note("dry_sequence_breakers", Fate::Absent { value: r#"["\n",":","\"","*"]"#.into(), why });
    }
    let has_biases = draft.get("logit_bias").is_some();
    if is_props && !has_biases {
        let why = "/props does not report biases".to_string();
        draft.note("logit_bias", Fate::Absent { value: "[]".into(), why });
    }
    if has_biases && draft.flag("ignore_eos") == Some(true) {
        draft.note("ignore_eos", Fate::NoEffect { why: "its bans are among logit_bias".into() });
    }
}

/// A value that llama-server reports, in the form that it takes; what concerns the answer or the model is left.
fn copy(field: &'static str, draft: &mut Draft<'_>) {
    let Some(node) = draft.get(field) else { return };
    let value = node.to_json();
    match field {
        "repeat_last_n" | "dry_penalty_last_n" | "dry_sequence_breakers" => {}
        "ignore_eos" | "n_probs" | "post_sampling_probs" | "backend_sampling" => {}
        "logit_bias" => biases(value, draft),
        "samplers" => {
            if let Some(list) = draft.order_names(field) {
                draft.set(field, field, list);
            }
        }
        _ => draft.copy(field, field),
    }
}

/// Reported biases are tables of a token and a bias, a form that requests do not take; minus infinity is null.
fn biases(value: Value, draft: &mut Draft<'_>) {
    let pair = |item: &Value| match item {
        Value::Object(pair) => {
            let bias = pair.get("bias").filter(|bias| !bias.is_null()).cloned().unwrap_or(false.into());
            Some(json!([pair.get("token")?, bias]))
        }
        other => Some(other.clone()),
    };
    match value.as_array().map(|items| items.iter().map(pair).collect::<Option<Vec<_>>>()) {
        Some(Some(pairs)) if pairs.is_empty() => draft.note("logit_bias", Fate::Off { value: "[]".into() }),
        Some(Some(pairs)) => draft.set("logit_bias", "logit_bias", pairs),
        _ => draft.set("logit_bias", "logit_bias", value),
    }
}

/// The table of settings inside, and the context's size beside it.
fn settings(node: Node) -> (Node, Option<f64>) {
    let mut node = node;
    let mut n_ctx = None;
    // /props has the settings in params, in default_generation_settings; an answer in generation_settings.
    while let NodeKind::Table(entries) = &mut node.kind {
        let inner = ["default_generation_settings", "generation_settings", "params"];
        let at = entries.iter().position(|entry| inner.contains(&entry.key.as_str()) && is_table(&entry.value));
        let size = entries.iter().find(|entry| entry.key == "n_ctx").and_then(|entry| entry.value.to_json().as_f64());
        n_ctx = size.or(n_ctx);
        match at {
            Some(at) => {
                let Entry { value, .. } = entries.swap_remove(at);
                node = value;
            }
            None => break,
        }
    }
    (node, n_ctx)
}

fn is_table(node: &Node) -> bool {
    matches!(node.kind, NodeKind::Table(_))
}
