//! Params from a llama-server request body, as b11192's `server-schema.cpp` reads it.
//!
//! `fields` has the table of fields and limits, `convert` the conversions that nlohmann's JSON and C do, `custom` the fields
//! that are more than a number, `report` what became of each field, `settings` the way back.

mod convert;
mod custom;
mod fields;
mod report;
mod settings;

use sampler_steps::Vocab;
use serde_json::{Map, Value};

use crate::params::{Layer, Params};
use fields::{FIELDS, Field, Kind, Limits};
pub use report::{Fate, FieldNote, Report};

/// A request that llama-server refuses. The text is llama-server's, word for word.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// A field's value.
    #[error("Field '{field}': {refusal}")]
    Field {
        /// The field, by the name that the request used.
        field: String,
        /// llama-server's words.
        refusal: String,
    },
    /// The body is not an object.
    #[error("a request body is a JSON object, and this is {0}")]
    NotAnObject(&'static str),
}

impl Params {
    /// The parameters of a request body over a base, and a report of what became of each field.
    ///
    /// A `null` counts as absent; numbers are converted, clamped or refused as llama-server does it; unknown step names are
    /// dropped. `vocab` is needed for texts in `logit_bias`, `ignore_eos` and the range of ids; without it, the base's is
    /// used, if any.
    ///
    /// # Errors
    /// The first refusal, in llama-server's order of fields and with its text.
    pub fn from_request(body: &Value, base: &Self, vocab: Option<&dyn Vocab>) -> Result<(Self, Report), RequestError> {
        Self::from_layer(body, base, vocab, Layer::Request)
    }

    /// The same for another layer: a preset below the requests, or one that is forced over them.
    ///
    /// # Errors
    /// As [`from_request`](Self::from_request).
    pub fn from_layer(
        body: &Value,
        base: &Self,
        vocab: Option<&dyn Vocab>,
        layer: Layer,
    ) -> Result<(Self, Report), RequestError> {
        let Value::Object(body) = body else { return Err(RequestError::NotAnObject(convert::type_name(body))) };
        let base_vocab = base.vocab.clone();
        let source = Source { body, base, vocab: vocab.or(base_vocab.as_deref()) };
        let mut params = base.clone();
        let mut report = Report::default();
        for field in FIELDS {
            let mut given = field.names.iter().filter_map(|&name| Some((name, source.value(name)?)));
            let Some((name, value)) = given.next() else { continue };
            report.used(name, field, given.next().map(|(shadowed, _)| shadowed));
            source
                .read(field, name, value, &mut params, &mut report)
                .map_err(|refusal| RequestError::Field { field: name.to_string(), refusal })?;
            params.layers.set(field.names[0], layer);
        }
        report.finish(body, &params);
        Ok((params, report))
    }
}

/// Every field's first name, in llama-server's order.
pub(crate) fn field_names() -> impl Iterator<Item = &'static str> {
    FIELDS.iter().map(|field| field.names[0])
}

/// What a request is read from.
struct Source<'a> {
    body: &'a Map<String, Value>,
    base: &'a Params,
    vocab: Option<&'a dyn Vocab>,
}

impl Source<'_> {
    fn value(&self, name: &str) -> Option<&Value> {
        self.body.get(name).filter(|value| !value.is_null())
    }

    fn read(
        &self,
        field: &Field,
        name: &'static str,
        value: &Value,
        params: &mut Params,
        report: &mut Report,
    ) -> Result<(), String> {
        match field.kind {
            Kind::Int(slot, limits) => {
                let read = convert::int(value)?;
                if value.as_i64() != Some(read.into()) {
                    report.converted(name, value.to_string(), read.to_string());
                }
                *slot(params) = limits.hold(read, name, value, report, |x| x.to_string())?;
            }
            Kind::Float(slot, limits) => {
                let read = convert::float(value)?;
                if value.is_boolean() {
                    report.converted(name, value.to_string(), read.to_string());
                }
                *slot(params) = limits.hold(read, name, value, report, |x| format!("{x:.6}"))?;
            }
            Kind::Seed => {
                params.seed = convert::unsigned(value)?;
                if value.as_i64() != Some(params.seed.into()) && value.as_i64() != Some(-1) {
                    report.converted(name, value.to_string(), params.seed.to_string());
                }
            }
            Kind::Bool(slot) => *slot(params) = convert::boolean(value)?,
            Kind::Custom(read) => read(self, value, params, report)?,
        }
        Ok(())
    }
}

impl<T: Copy + PartialOrd + ToString> Limits<T> {
    /// Clamps to soft limits and refuses beyond hard ones.
    fn hold(
        &self,
        read: T,
        name: &'static str,
        sent: &Value,
        report: &mut Report,
        text: impl Fn(T) -> String,
    ) -> Result<T, String> {
        let outside = read < self.min || self.max < read;
        if self.hard {
            let (min, max) = (text(self.min), text(self.max));
            let refusal = || format!("Value must be between {min} <= value <= {max}, but got {}", text(read));
            return if outside { Err(refusal()) } else { Ok(read) };
        }
        // std::max(min, std::min(max, read)): of equals the limit is taken, so -0 becomes a minimum of 0.
        let held = if read < self.max { read } else { self.max };
        let held = if self.min < held { held } else { self.min };
        if outside {
            report.clamped(name, sent.to_string(), held.to_string());
        }
        Ok(held)
    }
}

#[cfg(test)]
mod tests;
