//! How a float parameter stands in a file.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, Visitor};
use serde::ser::Serializer;

/// How a float parameter stands in a file: read as f64 and cast to f32 as llama.cpp's JSON path does, whatever the order of
/// the keys; infinities are `"inf"` and `"-inf"` (TOML's own `inf` is read, too); NaN is refused.
///
/// For fields: `#[serde(with = "sampler_steps::float")]`. It is a type, and no module, so that the description of a step's
/// parameters ([`describe_step`](crate::describe_step)) finds its schema under the same name.
#[expect(non_camel_case_types, reason = "it stands where serde's modules stand")]
#[derive(Debug)]
pub enum float {}

thread_local! {
    /// Whether NaN is a parameter.
    static WITH_NAN: Cell<bool> = const { Cell::new(false) };
}

impl float {
    /// Runs something that reads or writes parameters with `"nan"` as one of them. For recorded cases of llama.cpp, whose
    /// samplers take NaN: steps refuse it when they are prepared.
    pub fn with_nan<T>(run: impl FnOnce() -> T) -> T {
        /// Ends it, after a panic, too.
        struct End(bool);

        impl Drop for End {
            fn drop(&mut self) {
                WITH_NAN.set(self.0);
            }
        }

        let _end = End(WITH_NAN.replace(true));
        run()
    }

    /// Writes the shortest decimal that reads back as the same f32.
    ///
    /// # Errors
    /// NaN, which would not be read again, and the serialiser's own.
    pub fn serialize<S: Serializer>(value: &f32, serializer: S) -> Result<S::Ok, S::Error> {
        if value.is_nan() {
            if WITH_NAN.get() {
                return serializer.serialize_str("nan");
            }
            return Err(serde::ser::Error::custom("NaN is no parameter, and is not written"));
        }
        if value.is_infinite() {
            return serializer.serialize_str(if *value > 0.0 { "inf" } else { "-inf" });
        }
        let shortest: f64 = value.to_string().parse().expect("a float's own text is a float");
        let exact = if shortest as f32 == *value { shortest } else { f64::from(*value) };
        serializer.serialize_f64(exact)
    }

    /// Reads a number, `"inf"` or `"-inf"`.
    ///
    /// # Errors
    /// Anything else, NaN included.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f32, D::Error> {
        struct Number;

        impl Visitor<'_> for Number {
            type Value = f32;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, \"inf\" or \"-inf\"")
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> Result<f32, E> {
                if value.is_nan() {
                    return Err(E::invalid_value(de::Unexpected::Float(value), &self));
                }
                Ok(value as f32)
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<f32, E> {
                Ok(value as f64 as f32)
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<f32, E> {
                Ok(value as f64 as f32)
            }

            fn visit_str<E: de::Error>(self, value: &str) -> Result<f32, E> {
                match value {
                    "inf" => Ok(f32::INFINITY),
                    "-inf" => Ok(f32::NEG_INFINITY),
                    "nan" if WITH_NAN.get() => Ok(f32::NAN),
                    _ => Err(E::invalid_value(de::Unexpected::Str(value), &self)),
                }
            }
        }

        deserializer.deserialize_any(Number)
    }
}

impl JsonSchema for float {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "float".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"anyOf": [{"type": "number"}, {"enum": ["inf", "-inf"]}]})
    }
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};

    #[derive(Serialize, Deserialize)]
    struct One(#[serde(with = "super::float")] f32);

    #[test]
    fn is_read_as_f64_and_cast() {
        // Halfway between two floats but for the last digits: parsed straight to f32 it would round up.
        let text = "1.00000005960464477540";
        let One(x) = serde_json::from_str(text).unwrap();
        assert_eq!(x.to_bits(), (text.parse::<f64>().unwrap() as f32).to_bits());
        let One(whole) = serde_json::from_str("16777217").unwrap();
        assert_eq!(whole, 16_777_216.0);
    }

    #[test]
    fn is_written_short_and_reads_back() {
        for bits in [0x3f4c_cccd_u32, 0x3dcc_cccd, 0x0000_0001, 0x7f7f_ffff, 0x3f80_0001, 0x8000_0000] {
            let text = serde_json::to_string(&One(f32::from_bits(bits))).unwrap();
            let One(back) = serde_json::from_str(&text).unwrap();
            assert_eq!(back.to_bits(), bits, "{text}");
        }
        assert_eq!(serde_json::to_string(&One(0.8)).unwrap(), "0.8");
        assert_eq!(serde_json::to_string(&One(f32::NEG_INFINITY)).unwrap(), "\"-inf\"");
    }

    #[test]
    fn infinities_are_words() {
        let One(x) = serde_json::from_str("\"-inf\"").unwrap();
        assert_eq!(x, f32::NEG_INFINITY);
        let error = serde_json::from_str::<One>("\"much\"").err().unwrap().to_string();
        assert!(error.starts_with("invalid value: string \"much\", expected a number, \"inf\" or \"-inf\""), "{error}");
    }

    #[test]
    fn nan_is_read_where_it_is_asked_for() {
        let read = || serde_json::from_str::<One>("\"nan\"");
        assert!(super::float::with_nan(|| read().unwrap().0.is_nan()));
        assert_eq!(super::float::with_nan(|| serde_json::to_string(&One(f32::NAN)).unwrap()), "\"nan\"");
        assert!(read().is_err() && serde_json::to_string(&One(f32::NAN)).is_err());
    }
}
