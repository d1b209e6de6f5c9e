//! JSON and TOML read into one kind of tree in which every value knows its place.

use std::path::Path;

use jsonc_parser::ast;
use serde_json::{Map, Number, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::{FileError, FileProblem};

/// A value and the byte where it begins.
#[derive(Debug)]
pub struct Node {
    pub at: usize,
    pub kind: NodeKind,
}

#[derive(Debug)]
pub enum NodeKind {
    /// Anything that holds no other values. TOML's infinities are the texts `inf` and `-inf`.
    Scalar(Value),
    Array(Vec<Node>),
    Table(Vec<Entry>),
}

/// A key, the byte where it begins, and its value.
#[derive(Debug)]
pub struct Entry {
    pub key: String,
    pub at: usize,
    pub value: Node,
}

/// A text that is not of its format: the byte where that shows, and why.
#[derive(Debug)]
pub struct SyntaxError {
    pub at: usize,
    pub what: String,
}

impl Node {
    /// What stands under a key of a table.
    pub fn get(&self, key: &str) -> Option<&Self> {
        match &self.kind {
            NodeKind::Table(entries) => entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value),
            _ => None,
        }
    }

    /// The text, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match &self.kind {
            NodeKind::Scalar(value) => value.as_str(),
            _ => None,
        }
    }

    /// Whether values lie inside each other in more than so many lists and tables.
    pub fn is_deeper_than(&self, most: usize) -> bool {
        let Some(inside) = most.checked_sub(1) else { return !matches!(self.kind, NodeKind::Scalar(_)) };
        match &self.kind {
            NodeKind::Scalar(_) => false,
            NodeKind::Array(items) => items.iter().any(|item| item.is_deeper_than(inside)),
            NodeKind::Table(entries) => entries.iter().any(|entry| entry.value.is_deeper_than(inside)),
        }
    }

    /// The value without its places.
    pub fn to_json(&self) -> Value {
        match &self.kind {
            NodeKind::Scalar(value) => value.clone(),
            NodeKind::Array(items) => items.iter().map(Self::to_json).collect(),
            NodeKind::Table(entries) => {
                let pairs = entries.iter().map(|entry| (entry.key.clone(), entry.value.to_json()));
                Value::Object(pairs.collect::<Map<_, _>>())
            }
        }
    }

    /// What it is, in the words of an error.
    pub fn describe(&self) -> String {
        match &self.kind {
            NodeKind::Scalar(Value::String(text)) => format!("the text \"{}\"", text.escape_debug()),
            NodeKind::Scalar(value) => value.to_string(),
            NodeKind::Array(_) => "a list".to_string(),
            NodeKind::Table(_) => "a table".to_string(),
        }
    }
}

/// Reads JSON, strictly.
pub fn parse_json(text: &str) -> Result<Node, SyntaxError> {
    let strict = jsonc_parser::ParseOptions {
        allow_comments: false,
        allow_loose_object_property_names: false,
        allow_trailing_commas: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
    };
    let parsed = jsonc_parser::parse_to_ast(text, &Default::default(), &strict)
        .map_err(|error| SyntaxError { at: error.range().start, what: error.kind().to_string() })?;
    let nothing = || SyntaxError { at: text.len(), what: "the file is empty".to_string() };
    from_json(&parsed.value.ok_or_else(nothing)?)
}

fn from_json(value: &ast::Value<'_>) -> Result<Node, SyntaxError> {
    use jsonc_parser::common::Ranged;
    let at = value.start();
    let kind = match value {
        ast::Value::StringLit(text) => NodeKind::Scalar(text.value.clone().into_owned().into()),
        ast::Value::NumberLit(number) => {
            let wrong =
                |_| SyntaxError { at, what: format!("{} is no number of JSON, or beyond 64 bits", number.value) };
            NodeKind::Scalar(serde_json::from_str(number.value).map_err(wrong)?)
        }
        ast::Value::BooleanLit(boolean) => NodeKind::Scalar(boolean.value.into()),
        ast::Value::NullKeyword(_) => NodeKind::Scalar(Value::Null),
        ast::Value::Array(array) => NodeKind::Array(array.elements.iter().map(from_json).collect::<Result<_, _>>()?),
        ast::Value::Object(object) => NodeKind::Table(
            object
                .properties
                .iter()
                .map(|property| {
                    let value = from_json(&property.value)?;
                    Ok(Entry { key: property.name.as_str().to_string(), at: property.start(), value })
                })
                .collect::<Result<_, _>>()?,
        ),
    };
    Ok(Node { at, kind })
}

/// Reads TOML.
pub fn parse_toml(text: &str) -> Result<Node, SyntaxError> {
    let table = DeTable::parse(text).map_err(|error| SyntaxError {
        at: error.span().map_or(text.len(), |span| span.start),
        what: error.message().to_string(),
    })?;
    Ok(Node { at: table.span().start, kind: from_toml_table(table.get_ref())? })
}

fn from_toml_table(table: &DeTable<'_>) -> Result<NodeKind, SyntaxError> {
    let mut entries = table
        .iter()
        .map(|(key, value)| {
            let value = from_toml(value)?;
            Ok(Entry { key: key.get_ref().to_string(), at: key.span().start, value })
        })
        .collect::<Result<Vec<_>, _>>()?;
    entries.sort_by_key(|entry| entry.at);
    Ok(NodeKind::Table(entries))
}

fn from_toml(value: &Spanned<DeValue<'_>>) -> Result<Node, SyntaxError> {
    let at = value.span().start;
    let kind = match value.get_ref() {
        DeValue::String(text) => NodeKind::Scalar(text.to_string().into()),
        DeValue::Integer(number) => {
            let wrong = |_| SyntaxError { at, what: format!("{number} is beyond 64 bits") };
            NodeKind::Scalar(i64::from_str_radix(number.as_str(), number.radix()).map_err(wrong)?.into())
        }
        DeValue::Float(number) => {
            let read: f64 =
                number.as_str().parse().map_err(|_| SyntaxError { at, what: format!("{number} is not a number") })?;
            if read.is_infinite() && !number.as_str().contains("inf") {
                return Err(SyntaxError { at, what: format!("{number} is beyond 64 bits") });
            }
            let word = || {
                Value::from(if read.is_nan() {
                    "nan"
                } else if read > 0.0 {
                    "inf"
                } else {
                    "-inf"
                })
            };
            NodeKind::Scalar(Number::from_f64(read).map_or_else(word, Value::Number))
        }
        DeValue::Boolean(boolean) => NodeKind::Scalar((*boolean).into()),
        DeValue::Datetime(datetime) => NodeKind::Scalar(datetime.to_string().into()),
        DeValue::Array(array) => NodeKind::Array(array.iter().map(from_toml).collect::<Result<_, _>>()?),
        DeValue::Table(table) => from_toml_table(table)?,
    };
    Ok(Node { at, kind })
}

/// Reads a file of text, whose errors name it. A byte-order mark at its start is passed over.
pub fn read_text(path: &Path) -> Result<String, FileError> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| FileError { path: path.into(), problems: vec![FileProblem::new(None, error.to_string())] })?;
    Ok(without_mark(text))
}

/// A text without the byte-order mark at its start.
pub fn without_mark(text: String) -> String {
    match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_string(),
        None => text,
    }
}
