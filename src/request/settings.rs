//! The way back: Params as llama-server reports them.

use serde_json::{Map, Value, json};

use super::fields::{FIELDS, Kind};
use crate::params::Params;

impl Params {
    /// What llama-server reports as `generation_settings`: every sampling field by its first name. Floats are widened to
    /// f64; what is not finite is `null`; biases are objects with `token` and `bias`, a form that requests do not take.
    pub fn to_request(&self) -> Value {
        let mut copy = self.clone();
        let mut settings = Map::new();
        for field in FIELDS {
            let value = match field.kind {
                Kind::Int(slot, _) => json!(*slot(&mut copy)),
                Kind::Float(slot, _) => float(*slot(&mut copy)),
                Kind::Bool(slot) => json!(*slot(&mut copy)),
                Kind::Seed => json!(self.seed),
                Kind::Custom(_) => continue,
            };
            settings.insert(field.names[0].to_string(), value);
        }
        let samplers: Vec<&str> = self.samplers.iter().map(|step| step.as_str()).collect();
        let biases: Vec<Value> =
            self.logit_bias.iter().map(|&(token, bias)| json!({"bias": float(bias), "token": token})).collect();
        settings.insert("dry_base".into(), float(self.dry_base));
        settings.insert("dry_sequence_breakers".into(), json!(self.dry_sequence_breakers));
        settings.insert("ignore_eos".into(), json!(self.ignore_eos));
        settings.insert("samplers".into(), json!(samplers));
        settings.insert("logit_bias".into(), json!(biases));
        Value::Object(settings)
    }
}

fn float(value: f32) -> Value {
    json!(value.is_finite().then(|| f64::from(value)))
}
