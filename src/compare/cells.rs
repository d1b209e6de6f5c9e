//! The results of single rows.

use serde::{Deserialize, Serialize};

/// What one chain did at one row with one seed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowResult {
    /// The drawn token.
    pub token: u32,
    /// How many tokens could be drawn; at least 1.
    pub kept: usize,
    /// The entropy of the final distribution, in bits.
    pub entropy: f64,
    /// The total variation distance from the baseline's final distribution: 0 to 1.
    pub tv: f64,
    /// D(baseline ‖ chain) in nats: +infinity (`"inf"` in JSON) where the chain cannot draw a token that the baseline can.
    #[serde(with = "infinite")]
    pub kl: f64,
    /// D(chain ‖ baseline) in nats: +infinity where the chain can draw a token that the baseline cannot.
    #[serde(with = "infinite")]
    pub reverse_kl: f64,
    /// How long drawing and accepting took, in nanoseconds. None in a comparison without times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nanos: Option<u64>,
}

/// What all chains did at one row with one seed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// The seed.
    pub seed: u32,
    /// The row.
    pub row: usize,
    /// One result a chain, the baseline's first.
    pub chains: Vec<RowResult>,
}

impl RowResult {
    /// What cannot be the result of a row.
    pub(super) fn problem(&self) -> Option<String> {
        let odd = [
            ("kept", self.kept as f64, self.kept > 0),
            ("entropy", self.entropy, self.entropy.is_finite() && self.entropy >= 0.0),
            ("tv", self.tv, (0.0..=1.0).contains(&self.tv)),
            ("kl", self.kl, self.kl >= 0.0),
            ("reverse_kl", self.reverse_kl, self.reverse_kl >= 0.0),
        ];
        odd.into_iter().find(|(.., sound)| !sound).map(|(field, value, _)| format!("{field} is {value}"))
    }
}

/// A number that may be +infinity, which JSON has no word for.
mod infinite {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    #[derive(Deserialize)]
    #[serde(untagged, expecting = "a number or \"inf\" is wanted")]
    enum Written {
        Number(f64),
        Word(String),
    }

    pub fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        if *value == f64::INFINITY { serializer.serialize_str("inf") } else { serializer.serialize_f64(*value) }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        match Written::deserialize(deserializer)? {
            Written::Number(number) => Ok(number),
            Written::Word(word) if word == "inf" => Ok(f64::INFINITY),
            Written::Word(word) => Err(D::Error::custom(format!("\"{word}\" is no number; \"inf\" is infinity"))),
        }
    }
}
