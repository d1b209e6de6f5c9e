use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::core::{CandSet, Ctx, Facts, SamplerStep, StepError, float};
use crate::libm::{logf, max, powf};

/// Divides the logits by a temperature, which entropy may set: `llama_sampler_init_temp_ext`, and with a `delta` of 0
/// `llama_sampler_init_temp`.
///
/// # Order and flags
/// Plain, it changes logits and nothing else; at 0 and below all but the first of the largest become -infinity. With a
/// `delta` above 0 the temperature lies in [`temp - delta`, `temp + delta`] (not below 0), the higher the more even the
/// distribution is; then it sorts and computes p, and one candidate alone is left as it is.
///
/// # Draws
/// None.
///
/// # Chain file
/// ```json
/// {"type": "temperature", "temp": 0.8, "delta": 0.5, "exponent": 1.2}
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Temperature {
    /// The temperature; 1 changes nothing. Default 0.8.
    #[serde(with = "float")]
    pub temp: f32,
    /// The range of the dynamic temperature (llama-server's `dynatemp_range`); 0 and below: plain. Default 0.
    #[serde(with = "float", skip_serializing_if = "is_plain")]
    #[schemars(!skip_serializing_if)]
    pub delta: f32,
    /// The exponent of the normalised entropy (`dynatemp_exponent`). Default 1.
    #[serde(with = "float", skip_serializing_if = "is_linear")]
    #[schemars(!skip_serializing_if)]
    pub exponent: f32,
}

impl Default for Temperature {
    fn default() -> Self {
        Self { temp: 0.8, delta: 0.0, exponent: 1.0 }
    }
}

impl Temperature {
    /// The plain step.
    pub fn new(temp: f32) -> Self {
        Self { temp, ..Self::default() }
    }

    /// The temperature that the entropy of the candidates asks for. Sorts and computes p.
    fn dynamic(&self, cands: &mut CandSet<'_>) -> f32 {
        let min_temp = max(0.0, self.temp - self.delta);
        let max_temp = self.temp + self.delta;
        let max_entropy = -logf(1.0 / cands.len() as f32);
        cands.softmax(true);
        let share = cands.entropy_of_positive() / max_entropy;
        min_temp + (max_temp - min_temp) * powf(share, self.exponent)
    }
}

fn is_plain(delta: &f32) -> bool {
    *delta == 0.0
}

fn is_linear(exponent: &f32) -> bool {
    *exponent == 1.0
}

crate::describe_step!(Temperature);

#[typetag::serde(name = "temperature")]
impl SamplerStep for Temperature {
    fn prepare(&mut self, _: &Ctx) -> Result<(), StepError> {
        StepError::refuse_nan("temp", self.temp)?;
        StepError::refuse_nan("delta", self.delta)?;
        StepError::refuse_nan("exponent", self.exponent)
    }

    fn apply(&mut self, cands: &mut CandSet<'_>, _: &mut Ctx) {
        if self.is_off() {
        } else if self.delta <= 0.0 {
            cands.temperature(self.temp);
        } else if cands.len() > 1 {
            let temp = self.dynamic(cands);
            cands.temperature(temp);
            cands.softmax_f64();
        }
    }

    fn is_off(&self) -> bool {
        self.temp == 1.0 && self.delta <= 0.0
    }

    fn facts(&self) -> Facts {
        // An infinite temperature, which a steep exponent may reach, makes NaN of -infinity.
        let range_is_finite = (self.temp + self.delta).is_finite() && (0.0..=100.0).contains(&self.exponent);
        let is_finite = if self.delta <= 0.0 { self.temp < f32::INFINITY } else { range_is_finite };
        Facts { keeps_argmax: is_finite, keeps_order: is_finite, only_removes: self.is_off(), ..Facts::TRUNCATION }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{p4, refusal, round_trip, run};

    #[test]
    fn divides() {
        let left = run(&mut Temperature::new(2.0), &[3.0, -1.0], &[]);
        assert_eq!((left.logits(), left.sorted), (vec![1.5, -0.5], false));
    }

    /// User case 33: at 0 the first maximum keeps its logit.
    #[test]
    fn case_33_zero_keeps_the_first_maximum() {
        let inf = f32::NEG_INFINITY;
        for temp in [0.0, -1.0] {
            assert_eq!(run(&mut Temperature::new(temp), &[1.0, 3.0, 3.0, 2.0], &[]).logits(), [inf, 3.0, inf, inf]);
        }
    }

    #[test]
    fn even_rows_get_the_highest_temperature() {
        let mut dynamic = Temperature { temp: 1.0, delta: 0.5, exponent: 1.0 };
        let left = run(&mut dynamic, &[2.0, 2.0], &[]);
        assert_eq!((left.logits(), left.sorted), (vec![2.0 / 1.5; 2], true));
        assert_eq!(left.cands[0].p, 0.5);
        assert_eq!(run(&mut dynamic, &[2.0], &[]).logits(), [2.0]);
    }

    #[test]
    fn one_changes_nothing() {
        assert_eq!(run(&mut Temperature::new(1.0), &p4(), &[]).logits(), p4());
    }

    #[test]
    fn file() {
        round_trip(Box::new(Temperature::default()), r#"{"type":"temperature","temp":0.8}"#);
        let dynamic = Temperature { temp: 0.8, delta: 0.5, exponent: 1.2 };
        round_trip(Box::new(dynamic), r#"{"type":"temperature","temp":0.8,"delta":0.5,"exponent":1.2}"#);
        assert_eq!(refusal(Temperature::new(f32::NAN)), "temp: NaN is refused: a number is wanted");
    }
}
