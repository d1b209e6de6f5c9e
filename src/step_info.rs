//! What the registered steps say of themselves: their documentation, parameters, types and defaults.
//!
//! `doc` reads a doc comment, `kind` puts a schema into words.

mod doc;
mod kind;

use sampler_steps::{SamplerStep, registered_steps, step_schema};
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::names::{nearest, suggestion};
use doc::Doc;
pub(crate) use doc::flow;

/// A registered step as its own documentation tells it. What is not told is none: a step of another crate that is not
/// described (`sampler_steps::describe_step`) has a name and parameters alone.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct StepInfo {
    /// Its `type` in chain files.
    #[serde(rename = "type")]
    pub name: String,
    /// What it does, in one sentence without its full stop.
    pub summary: Option<String>,
    /// llama.cpp's function, where there is one, with what goes with it.
    pub counterpart: Option<String>,
    /// Whether it selects the token. None where that cannot be told, as it has parameters without defaults.
    pub selects: Option<bool>,
    /// What it does, in full.
    pub about: Option<String>,
    /// Where a step that llama.cpp does not have comes from: the paper or program, and what others mean by its name.
    pub origin: Option<String>,
    /// Its parameters, in the order of its struct. None where nothing is known of them: the step is not described, takes
    /// unknown ones and writes none.
    pub parameters: Option<Vec<ParameterInfo>>,
    /// What it does to the order and the flags of the candidates.
    pub order: Option<String>,
    /// What it draws from its generator.
    pub draws: Option<String>,
    /// The step in a chain file.
    pub example: Option<Value>,
}

/// A parameter of a step.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ParameterInfo {
    /// Its name in chain files.
    pub name: String,
    /// Its type and range in words: `integer from 0`, `list of texts`.
    pub kind: String,
    /// What it is where a file leaves it out. None where it must be given, and where nothing is something of its own.
    pub default: Option<Value>,
    /// Whether a file must have it.
    pub required: bool,
    /// What it means.
    pub doc: Option<String>,
    /// The texts that it takes, where they are few.
    pub values: Vec<ValueInfo>,
}

/// One of the texts that a parameter takes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ValueInfo {
    /// The text.
    pub value: String,
    /// What it means.
    pub doc: Option<String>,
}

/// A step that is not registered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no step {}{}; there are {}", name.escape_debug(), suggestion(nearest.as_deref()), known.join(", "))]
#[non_exhaustive]
pub struct UnknownStep {
    /// The name that was asked for.
    pub name: String,
    /// The known name that was most likely meant.
    pub nearest: Option<String>,
    /// The `type` of every registered step.
    pub known: Vec<String>,
}

impl StepInfo {
    /// What a step says of itself, by its `type`.
    ///
    /// # Errors
    /// A step that is not registered: see [`registered_steps`].
    pub fn of(step: &str) -> Result<Self, UnknownStep> {
        let schema = step_schema(step, &mut SchemaSettings::draft07().into_generator());
        let Some(schema) = schema else {
            let known = registered_steps();
            let nearest = nearest(step, known.iter().map(String::as_str)).map(String::from);
            return Err(UnknownStep { name: step.into(), nearest, known });
        };
        let doc = Doc::parse(schema.get("description").and_then(Value::as_str).unwrap_or_default());
        let blank = blank(step);
        Ok(Self {
            name: step.into(),
            summary: doc.summary(),
            counterpart: doc.counterpart(),
            selects: blank.as_ref().map(|step| step.selects()),
            about: doc.section("").map(String::from),
            origin: doc.section("Origin").map(String::from),
            parameters: parameters(schema.as_value(), blank.as_deref()),
            order: doc.section("Order and flags").map(String::from),
            draws: doc.section("Draws").map(String::from),
            example: doc.example(),
        })
    }

    /// Every registered step, by its name.
    pub fn all() -> Vec<Self> {
        registered_steps().iter().filter_map(|step| Self::of(step).ok()).collect()
    }
}

/// A step with every parameter at its default, if it has such.
fn blank(step: &str) -> Option<Box<dyn SamplerStep>> {
    serde_json::from_value(Map::from_iter([("type".to_string(), step.into())]).into()).ok()
}

fn parameters(schema: &Value, blank: Option<&dyn SamplerStep>) -> Option<Vec<ParameterInfo>> {
    let is_closed = schema.get("additionalProperties") == Some(&false.into());
    let mut properties = schema.get("properties").and_then(Value::as_object)?.clone();
    // A step that is not described shows names and defaults in what it writes, unless it leaves them out there.
    let written = blank.and_then(|step| serde_json::to_value(step).ok()).unwrap_or_default();
    for name in written.as_object().into_iter().flat_map(Map::keys) {
        properties.entry(name).or_insert(Value::Bool(true));
    }
    let required = |name: &String| {
        let names = schema.get("required").and_then(Value::as_array);
        names.is_some_and(|names| names.iter().any(|required| required == name))
    };
    let parameters: Vec<ParameterInfo> = properties
        .iter()
        .filter(|(name, _)| *name != "type")
        .map(|(name, property)| {
            let default = property.get("default").or_else(|| written.get(name)).filter(|default| !default.is_null());
            ParameterInfo {
                name: name.clone(),
                kind: kind::in_words(property, default),
                default: default.cloned(),
                required: required(name),
                doc: property.get("description").and_then(Value::as_str).map(flow),
                values: kind::values(property),
            }
        })
        .collect();
    (is_closed || !parameters.is_empty()).then_some(parameters)
}

#[cfg(test)]
mod tests;
