//! Types and ranges of parameters in words, out of their schemas.

use serde_json::Value;

use super::ValueInfo;
use super::doc::flow;

/// `integer from 0`, `list of texts`: the type of a parameter; of one without a schema the type of its default.
pub fn in_words(schema: &Value, default: Option<&Value>) -> String {
    match (of(schema, false), default) {
        (Some(kind), _) => kind,
        (None, Some(Value::Bool(_))) => "true or false".into(),
        (None, Some(Value::Number(_))) => "number".into(),
        (None, Some(Value::String(_))) => "text".into(),
        (None, Some(Value::Array(_))) => "list".into(),
        (None, Some(Value::Object(_))) => "table".into(),
        (None, _) => "any value".into(),
    }
}

/// The texts that a parameter takes, where they are few.
pub fn values(schema: &Value) -> Vec<ValueInfo> {
    let alternatives = schema.get("oneOf").and_then(Value::as_array).into_iter().flatten();
    let documented = alternatives.filter_map(|alternative| {
        let value = alternative.get("const")?.as_str()?.to_string();
        Some(ValueInfo { value, doc: alternative.get("description").and_then(Value::as_str).map(flow) })
    });
    let plain = schema.get("enum").and_then(Value::as_array).into_iter().flatten();
    let plain = plain.filter_map(|value| Some(ValueInfo { value: value.as_str()?.to_string(), doc: None }));
    documented.chain(plain).collect()
}

fn of(schema: &Value, plural: bool) -> Option<String> {
    let s = if plural { "s" } else { "" };
    let texts = values(schema);
    if !texts.is_empty() {
        let quoted: Vec<String> = texts.iter().map(|text| format!("\"{}\"", text.value)).collect();
        return Some(quoted.join(" or "));
    }
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        return reference.rsplit('/').next().map(|name| format!("{name}{s}"));
    }
    // A number or an infinity.
    if schema.get("anyOf").is_some() {
        return Some(format!("number{s}"));
    }
    let kind = match schema.get("type")? {
        Value::String(kind) => kind.as_str(),
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null")?,
        _ => return None,
    };
    match kind {
        "integer" => Some(format!("integer{s}{}", from(schema))),
        "number" => Some(format!("finite number{s}{}", from(schema))),
        "boolean" => Some("true or false".into()),
        "string" => Some(format!("text{s}")),
        "array" => list(schema, s),
        "object" => Some(format!("table{s}")),
        _ => None,
    }
}

/// ` from 0`, ` above 0`: the least value, where it is no type's own.
fn from(schema: &Value) -> String {
    let least = |key| schema.get(key).filter(|least| least.as_i64() != Some(i32::MIN.into()));
    match (least("minimum"), least("exclusiveMinimum")) {
        (Some(least), _) => format!(" from {least}"),
        (None, Some(bound)) => format!(" above {bound}"),
        (None, None) => String::new(),
    }
}

fn list(schema: &Value, s: &str) -> Option<String> {
    if let Some(items) = schema.get("prefixItems").and_then(Value::as_array) {
        let items: Option<Vec<String>> = items.iter().map(|item| of(item, false)).collect();
        return Some(format!("[{}]", items?.join(", ")));
    }
    let items = schema.get("items").and_then(|items| of(items, true));
    Some(items.map_or_else(|| format!("list{s}"), |items| format!("list{s} of {items}")))
}
