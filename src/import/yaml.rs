//! YAML into the tree of `document`, every value with its place.
//!
//! Presets are flat: aliases are refused, and so is what is nested deeper than any preset.

use std::borrow::Cow;

use saphyr_parser::{Event, Parser, ScalarStyle};
use serde_json::{Number, Value};

use crate::document::{Entry, Node, NodeKind, SyntaxError};

const MAX_DEPTH: usize = 16;

/// A list or a table that is not closed yet.
struct Open {
    node: Node,
    /// The key whose value comes next.
    key: Option<(String, usize)>,
}

/// Reads the first document of a text. An empty one is an empty table.
pub fn parse(text: &str) -> Result<Node, SyntaxError> {
    // The parser counts characters. Where every 64th begins is kept, since a list of all takes eight times the text.
    let marks: Vec<usize> = text.char_indices().step_by(64).map(|(byte, _)| byte).collect();
    let byte_of = |char: usize| {
        let rest = marks.get(char / 64).map(|&mark| (mark, text[mark..].char_indices().nth(char % 64)));
        rest.and_then(|(mark, there)| Some(mark + there?.0)).unwrap_or(text.len())
    };
    let mut open: Vec<Open> = Vec::new();
    for event in Parser::new_from_str(text) {
        let (event, span) = event
            .map_err(|error| SyntaxError { at: byte_of(error.marker().index()), what: error.info().to_string() })?;
        let at = byte_of(span.start.index());
        let wrong = |what: &str| Err(SyntaxError { at, what: what.to_string() });
        let kind = match event {
            Event::MappingStart(..) => NodeKind::Table(Vec::new()),
            Event::SequenceStart(..) => NodeKind::Array(Vec::new()),
            Event::MappingEnd | Event::SequenceEnd => {
                let Some(Open { node, .. }) = open.pop() else { return wrong("nothing is open here") };
                match put(&mut open, node)? {
                    Some(root) => return Ok(root),
                    None => continue,
                }
            }
            Event::Scalar(text, style, ..) => {
                let node = Node { at, kind: NodeKind::Scalar(scalar(text, style)) };
                match put(&mut open, node)? {
                    Some(root) => return Ok(root),
                    None => continue,
                }
            }
            Event::Alias(_) => return wrong("aliases are not read"),
            _ => continue,
        };
        if open.len() >= MAX_DEPTH {
            return wrong("nested too deep");
        }
        open.push(Open { node: Node { at, kind }, key: None });
    }
    Ok(Node { at: 0, kind: NodeKind::Table(Vec::new()) })
}

/// Puts a finished value where it belongs; the outermost is given back.
fn put(open: &mut [Open], node: Node) -> Result<Option<Node>, SyntaxError> {
    let Some(parent) = open.last_mut() else { return Ok(Some(node)) };
    match (&mut parent.node.kind, parent.key.take()) {
        (NodeKind::Array(items), _) => items.push(node),
        (NodeKind::Table(entries), Some((key, at))) => entries.push(Entry { key, at, value: node }),
        (NodeKind::Table(_), None) => {
            let key = match &node.kind {
                NodeKind::Scalar(Value::String(key)) => key.clone(),
                NodeKind::Scalar(key) => key.to_string(),
                _ => {
                    return Err(SyntaxError { at: node.at, what: "a key is a text, and this is none".to_string() });
                }
            };
            parent.key = Some((key, node.at));
        }
        (NodeKind::Scalar(_), _) => {}
    }
    Ok(None)
}

/// A scalar by YAML 1.2's core schema. What JSON cannot hold (`.inf`, `.nan`) stays a text.
fn scalar(text: Cow<'_, str>, style: ScalarStyle) -> Value {
    if style != ScalarStyle::Plain {
        return text.into_owned().into();
    }
    match text.as_ref() {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return true.into(),
        "false" | "False" | "FALSE" => return false.into(),
        _ => {}
    }
    let radix =
        |prefix: &str, radix| text.strip_prefix(prefix).and_then(|digits| i64::from_str_radix(digits, radix).ok());
    if let Some(whole) = text.parse().ok().or_else(|| radix("0x", 16)).or_else(|| radix("0o", 8)) {
        return whole.into();
    }
    // Rust also reads "inf" and "nan", which are texts in YAML.
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    let number = text.parse().ok().filter(|_| is_number).and_then(Number::from_f64);
    number.map_or_else(|| text.into_owned().into(), Value::Number)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn scalars_are_those_of_the_core_schema() {
        let text = "a: 1\nb: 0.5\nc: '1'\nd: yes\ne: ~\nf: True\ng: 0x10\nh: -.5e1\ni: .inf\nj: inf\nk: |-\n  x\n  y\nl: [1, x]\n";
        let expected = json!({
            "a": 1, "b": 0.5, "c": "1", "d": "yes", "e": null, "f": true, "g": 16, "h": -5.0, "i": ".inf", "j": "inf",
            "k": "x\ny", "l": [1, "x"]
        });
        assert_eq!(parse(text).unwrap().to_json(), expected);
        assert_eq!(parse("").unwrap().to_json(), json!({}));
        assert_eq!(parse("# nothing\n").unwrap().to_json(), json!({}));
    }

    #[test]
    fn places_are_bytes() {
        let tree = parse("é: 1\nb:\n  c: 2\n").unwrap();
        let place = |node: &Node| node.at;
        assert_eq!((place(tree.get("é").unwrap()), place(tree.get("b").unwrap().get("c").unwrap())), (4, 14));
    }

    #[test]
    fn what_is_not_read_is_refused() {
        let refusal = |text: &str| parse(text).unwrap_err().what;
        assert_eq!(refusal("a: &x 1\nb: *x\n"), "aliases are not read");
        assert_eq!(refusal(&"[".repeat(40)), "nested too deep");
        assert_eq!(refusal("[1, 2]: 3\n"), "a key is a text, and this is none");
        assert!(!refusal("a: [1\nb: 2").is_empty());
    }
}
