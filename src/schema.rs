//! The JSON Schema of chain files, for editors.

use sampler_steps::SamplerStep;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::params::DEFAULT_SEED;
use crate::step_info::flow;

/// A chain of sampling steps, as sampler-chain reads it from a TOML or JSON file.
#[derive(JsonSchema)]
#[schemars(title = "A chain file of sampler-chain", deny_unknown_fields)]
#[expect(dead_code, reason = "its fields are read by the derive alone")]
struct File {
    /// The version of the format.
    #[schemars(range(min = 1, max = 1))]
    version: u32,
    /// The seed of every generator. Absent, -1 and 4294967295: a random one. Negative ones are the unsigned number of the
    /// same 32 bits.
    #[schemars(default = "random_seed", range(min = -2147483648i64, max = 4294967295i64))]
    seed: i64,
    /// The steps in their order. Exactly one of them selects the token, and nothing follows it.
    steps: Vec<Box<dyn SamplerStep>>,
}

fn random_seed() -> i64 {
    i64::from(DEFAULT_SEED as i32)
}

/// The JSON Schema (draft 7, which TOML's editors read, too) of chain files for the steps that this program was linked
/// with, those of other crates included: names, types, ranges, defaults and documentation.
///
/// What it accepts [`ChainFile`](crate::ChainFile) may still refuse: that exactly one step selects the token and is the
/// last, and ids beyond a vocabulary are no matter of a schema.
pub fn chain_schema() -> Value {
    let mut schema = SchemaSettings::draft07().into_generator().into_root_schema_for::<File>().to_value();
    shorten(&mut schema);
    schema
}

/// Descriptions are shown beside the text that is edited: what stands under headings is left out, and so are the ends of
/// lines and the names that schemars has for Rust's numbers.
fn shorten(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            if let Some(Value::String(description)) = map.get_mut("description") {
                *description = flow(description.split("\n\n# ").next().unwrap_or_default());
            }
            if map.get("type").is_some_and(|kind| kind == "integer" || kind == "number") {
                map.remove("format");
            }
            map.values_mut().for_each(shorten);
        }
        Value::Array(items) => items.iter_mut().for_each(shorten),
        _ => {}
    }
}
