//! How a chain stands in a step's parameters.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Chain, SamplerStep};

/// How a chain stands in the parameters of a step that holds one: as the list of its steps.
///
/// For fields: `#[serde(with = "sampler_steps::steps")]`. It is a type, and no module, for the same reason as
/// [`float`](super::float).
#[expect(non_camel_case_types, reason = "it stands where serde's modules stand")]
#[derive(Debug)]
pub enum steps {}

impl steps {
    /// Writes the steps.
    ///
    /// # Errors
    /// The serialiser's own.
    pub fn serialize<S: Serializer>(chain: &Chain, serializer: S) -> Result<S::Ok, S::Error> {
        chain.steps().serialize(serializer)
    }

    /// Reads the steps.
    ///
    /// # Errors
    /// A step that is not known or has wrong parameters.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Chain, D::Error> {
        Vec::<Box<dyn SamplerStep>>::deserialize(deserializer).map(Chain::from)
    }
}

impl JsonSchema for steps {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "steps".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Vec::<Box<dyn SamplerStep>>::json_schema(generator)
    }
}
