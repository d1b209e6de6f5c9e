//! What a step tells of itself: its documentation and the ranges and defaults of its parameters, out of its struct.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value};

use super::{SamplerStep, registered_steps, step_fields};

/// A step's entry in the register of descriptions, made by [`describe_step`](crate::describe_step).
#[derive(Debug, Clone, Copy)]
pub struct StepSchema {
    step: fn() -> &'static str,
    schema: fn(&mut SchemaGenerator) -> Schema,
}

inventory::collect!(StepSchema);

impl StepSchema {
    /// The entry of a step whose struct derives `schemars::JsonSchema`.
    pub const fn of<T: SamplerStep + JsonSchema + Default>() -> Self {
        Self { step: || T::default().typetag_name(), schema: T::json_schema }
    }
}

/// Puts what a step's struct says of itself into the register: its doc comment and those of its fields, their types,
/// defaults and ranges. `sampler-chain steps` prints them, and editors get them with the schema of chain files.
///
/// The struct derives `schemars::JsonSchema` and is `Default`. Without this line a step works all the same, and is
/// listed with the names of its parameters.
///
/// ```
/// # use sampler_steps::{describe_step, schemars, typetag, CandSet, Ctx, SamplerStep, step_schema};
/// # use serde::{Deserialize, Serialize};
/// /// Keeps the first so many candidates.
/// #[derive(Debug, Clone, Default, Serialize, Deserialize, schemars::JsonSchema)]
/// #[serde(default, deny_unknown_fields)]
/// struct First {
///     /// How many. Default 0.
///     n: u32,
/// }
///
/// describe_step!(First);
///
/// #[typetag::serde(name = "first")]
/// impl SamplerStep for First {
///     fn apply(&mut self, cands: &mut CandSet, _: &mut Ctx) {
///         cands.truncate(self.n as usize);
///     }
/// }
///
/// let schema = step_schema("first", &mut Default::default()).unwrap();
/// assert_eq!(schema.get("description").unwrap(), "Keeps the first so many candidates.");
/// assert_eq!(schema.pointer("/properties/n/default").unwrap(), 0);
/// ```
#[macro_export]
macro_rules! describe_step {
    ($step:ty) => {
        $crate::inventory::submit! { $crate::StepSchema::of::<$step>() }
    };
}

/// The JSON Schema of a step in a chain file, by its `type`: of its description where it has one
/// ([`describe_step`](crate::describe_step)), else of the names of its parameters. None for a type that is not registered.
pub fn step_schema(step: &str, generator: &mut SchemaGenerator) -> Option<Schema> {
    if !registered_steps().iter().any(|known| known == step) {
        return None;
    }
    let described = inventory::iter::<StepSchema>.into_iter().find(|entry| (entry.step)() == step);
    let mut schema = described.map_or_else(|| undescribed(step), |entry| (entry.schema)(generator));
    let mut kind = json_schema!({"enum": [step]});
    if let Some(Value::String(description)) = schema.get("description") {
        // Editors show it where the name of a step is written.
        let first = description.split("\n\n").next().unwrap_or_default();
        kind.insert("description".into(), first.into());
    }
    let mut properties = Map::from_iter([("type".to_string(), kind.to_value())]);
    if let Some(Value::Object(parameters)) = schema.remove("properties") {
        properties.extend(parameters);
    }
    schema.insert("properties".into(), properties.into());
    let mut required = vec![Value::from("type")];
    if let Some(Value::Array(more)) = schema.remove("required") {
        required.extend(more);
    }
    schema.insert("required".into(), required.into());
    bound_integers(&mut schema);
    Some(schema)
}

/// A step that says nothing: its parameters are known by name, or not at all.
fn undescribed(step: &str) -> Schema {
    let mut schema = json_schema!({"type": "object"});
    if let Some(fields) = step_fields(step) {
        let properties = fields.into_iter().map(|field| (field, Value::Bool(true)));
        schema.insert("properties".into(), properties.collect::<Map<_, _>>().into());
        schema.insert("additionalProperties".into(), false.into());
    }
    schema
}

/// Writes the range of 32-bit integers down, of which schemars has a name alone.
fn bound_integers(schema: &mut Schema) {
    let range: Option<(Value, Value)> = match schema.get("format").and_then(Value::as_str) {
        Some("int32") => Some((i32::MIN.into(), i32::MAX.into())),
        Some("uint32") => Some((0.into(), u32::MAX.into())),
        _ => None,
    };
    if let Some((min, max)) = range {
        // A narrower one that the step gives stays.
        for (key, bound) in [("minimum", min), ("maximum", max)] {
            schema.ensure_object().entry(key).or_insert(bound);
        }
    }
    schemars::transform::transform_subschemas(&mut bound_integers, schema);
}

/// Any step that this program was linked with. A chain's steps are found in it again.
impl JsonSchema for dyn SamplerStep {
    fn schema_name() -> Cow<'static, str> {
        "step".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let steps = registered_steps();
        let schemas: Vec<Schema> = steps.iter().filter_map(|step| step_schema(step, generator)).collect();
        // The names once more by themselves: an unknown one is then told as that.
        json_schema!({
            "type": "object",
            "properties": {"type": {"enum": steps}},
            "required": ["type"],
            "oneOf": schemas,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(step: &str) -> Value {
        step_schema(step, &mut SchemaGenerator::default()).unwrap().to_value()
    }

    #[test]
    fn a_described_step_tells_its_docs_defaults_and_ranges() {
        let top_p = schema("top_p");
        assert!(top_p["description"].as_str().unwrap().starts_with("Nucleus sampling: keeps"), "{top_p}");
        assert_eq!(top_p["required"], serde_json::json!(["type"]));
        assert_eq!(top_p["additionalProperties"], false);
        let keys: Vec<&String> = top_p["properties"].as_object().unwrap().keys().collect();
        assert_eq!(keys, ["type", "p", "min_keep"]);
        assert_eq!(top_p["properties"]["p"]["default"], 0.95);
        assert_eq!(top_p["properties"]["p"]["anyOf"][1]["enum"][0], "inf");
        let min_keep = &top_p["properties"]["min_keep"];
        assert_eq!((&min_keep["default"], &min_keep["minimum"]), (&0.into(), &0.into()));
        assert_eq!(min_keep["maximum"], u32::MAX);
        assert_eq!(schema("chain")["required"], serde_json::json!(["type", "steps"]));
        assert!(step_schema("no_such_step", &mut SchemaGenerator::default()).is_none());
    }
}
