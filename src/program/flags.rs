//! llama.cpp's sampling flags, by its names. They lie over a model's values and under a request.

use crate::{Layer, Params, Report};
use serde_json::{Map, Value, json};

/// The sampling flags of llama.cpp.
#[derive(clap::Args, Debug, Default)]
#[command(next_help_heading = "Sampling, by llama.cpp's names (over the model's values, under a request)")]
pub struct Flags {
    /// The steps in their order, with ; between: "top_k;temperature"
    #[arg(long, value_name = "NAMES")]
    samplers: Option<String>,
    /// The steps in their order, a letter each: "kt"
    #[arg(long, alias = "sampling-seq", value_name = "LETTERS")]
    sampler_seq: Option<String>,
    /// The seed; -1 is random
    #[arg(short, long, value_name = "N", allow_negative_numbers = true)]
    seed: Option<i64>,
    /// Ban the tokens that end generation
    #[arg(long)]
    ignore_eos: bool,
    /// The temperature; 0 is greedy
    #[arg(long, alias = "temperature", value_name = "N", value_parser = finite, allow_negative_numbers = true)]
    temp: Option<f64>,
    /// How many candidates top-k keeps; 0 is all
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    top_k: Option<i64>,
    /// The probability that top-p keeps; 1 is all
    #[arg(long, value_name = "N", value_parser = finite, allow_negative_numbers = true)]
    top_p: Option<f64>,
    /// The share of the largest probability that min-p asks for; 0 is off
    #[arg(long, value_name = "N", value_parser = finite, allow_negative_numbers = true)]
    min_p: Option<f64>,
    /// The standard deviations of top-n-sigma; below 0 is off
    #[arg(long, alias = "top-nsigma", value_name = "N", value_parser = finite, allow_negative_numbers = true)]
    top_n_sigma: Option<f64>,
    /// The chance of XTC; 0 is off
    #[arg(long, value_name = "N", value_parser = finite, allow_negative_numbers = true)]
    xtc_probability: Option<f64>,
    /// The threshold of XTC; above 0.5 is off
    #[arg(long, value_name = "N", value_parser = finite, allow_negative_numbers = true)]
    xtc_threshold: Option<f64>,
    /// The probability that typical-p keeps; 1 is all
    #[arg(long, alias = "typical-p", value_name = "N", value_parser = finite, allow_negative_numbers = true)]
    typical: Option<f64>,
    /// The window of the penalties in tokens; 0 is off
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    repeat_last_n: Option<i64>,
    /// The repetition penalty; 1 is neutral
    #[arg(long, value_name = "N", value_parser = finite, allow_negative_numbers = true)]
    repeat_penalty: Option<f64>,
    /// The penalty for a token that occurs
    #[arg(long, value_name = "N", value_parser = finite, allow_negative_numbers = true)]
    presence_penalty: Option<f64>,
    /// The penalty for each time that a token occurs
    #[arg(long, value_name = "N", value_parser = finite, allow_negative_numbers = true)]
    frequency_penalty: Option<f64>,
    /// The multiplier of DRY; 0 is off
    #[arg(long, value_name = "N", value_parser = finite, allow_negative_numbers = true)]
    dry_multiplier: Option<f64>,
    /// The base of DRY
    #[arg(long, value_name = "N", value_parser = finite, allow_negative_numbers = true)]
    dry_base: Option<f64>,
    /// The length of repetition that DRY lets pass
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    dry_allowed_length: Option<i64>,
    /// The window of DRY in tokens; 0 is off
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    dry_penalty_last_n: Option<i64>,
    /// A text that ends a repetition; may be given several times; "none" for none
    #[arg(long, value_name = "TEXT")]
    dry_sequence_breaker: Vec<String>,
    /// The target probability of adaptive-p; below 0 is off
    #[arg(long, value_name = "N", value_parser = finite, allow_negative_numbers = true)]
    adaptive_target: Option<f64>,
    /// The decay of adaptive-p
    #[arg(long, value_name = "N", value_parser = finite, allow_negative_numbers = true)]
    adaptive_decay: Option<f64>,
    /// The range of the dynamic temperature; 0 is off
    #[arg(long, value_name = "N", value_parser = finite, allow_negative_numbers = true)]
    dynatemp_range: Option<f64>,
    /// The exponent of the dynamic temperature
    #[arg(long, value_name = "N", value_parser = finite, allow_negative_numbers = true)]
    dynatemp_exp: Option<f64>,
    /// 0, 1 or 2
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    mirostat: Option<i64>,
    /// Mirostat's learning rate (eta)
    #[arg(long, value_name = "N", value_parser = finite, allow_negative_numbers = true)]
    mirostat_lr: Option<f64>,
    /// Mirostat's target surprise (tau)
    #[arg(long, value_name = "N", value_parser = finite, allow_negative_numbers = true)]
    mirostat_ent: Option<f64>,
    /// A token and what is added to its logit: 15043+1 or 15043-1; may be given several times
    #[arg(short, long, value_name = "TOKEN_ID(+/-)BIAS", value_parser = parse_bias)]
    logit_bias: Vec<(u32, f64)>,
}

fn parse_bias(text: &str) -> Result<(u32, f64), String> {
    let wrong = || format!("\"{text}\" is no bias; 15043+1 and 15043-1 are");
    let at = text.find(['+', '-']).ok_or_else(wrong)?;
    let (id, bias) = (text[..at].parse().map_err(|_| wrong())?, text[at + 1..].parse::<f64>().map_err(|_| wrong())?);
    match if text.as_bytes()[at] == b'-' { -bias } else { bias } {
        bias if bias.is_nan() || bias == f64::INFINITY => Err(wrong()),
        bias => Ok((id, bias)),
    }
}

/// A number that a request can hold.
fn finite(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite());
    number.ok_or_else(|| format!("\"{text}\" is no finite number"))
}

impl Flags {
    /// Whether one of them was given.
    pub fn is_given(&self) -> bool {
        self.body().as_object().is_some_and(|body| !body.is_empty())
    }

    /// The seed, if one was given.
    pub fn seed(&self) -> Result<Option<u32>, String> {
        let seed = self.seed.map(|seed| json!({"seed": seed}));
        let read = |body| Params::from_layer(&body, &Params::default(), None, Layer::Preset);
        seed.map(|body| read(body).map(|(params, _)| params.seed).map_err(|error| error.to_string())).transpose()
    }

    /// A flag that was given besides the seed, by its name in a request.
    pub fn first_but_seed(&self) -> Option<String> {
        self.body().as_object()?.keys().find(|key| *key != "seed").cloned()
    }

    /// Puts what was given over a base.
    pub fn over(&self, base: &Params) -> Result<(Params, Report), String> {
        let (mut params, report) =
            Params::from_layer(&self.body(), base, None, Layer::Preset).map_err(|error| error.to_string())?;
        // A request cannot say "none"; the flag can.
        if self.dry_sequence_breaker.iter().any(|text| text == "none") {
            let after = self.dry_sequence_breaker.iter().rposition(|text| text == "none").unwrap_or_default();
            params.dry_sequence_breakers = self.dry_sequence_breaker[after + 1..].to_vec();
        }
        Ok((params, report))
    }

    /// The flags as a request body.
    fn body(&self) -> Value {
        let ints = [
            ("seed", self.seed),
            ("top_k", self.top_k),
            ("repeat_last_n", self.repeat_last_n),
            ("dry_allowed_length", self.dry_allowed_length),
            ("dry_penalty_last_n", self.dry_penalty_last_n),
            ("mirostat", self.mirostat),
        ];
        let floats = [
            ("temperature", self.temp),
            ("top_p", self.top_p),
            ("min_p", self.min_p),
            ("top_n_sigma", self.top_n_sigma),
            ("xtc_probability", self.xtc_probability),
            ("xtc_threshold", self.xtc_threshold),
            ("typical_p", self.typical),
            ("repeat_penalty", self.repeat_penalty),
            ("presence_penalty", self.presence_penalty),
            ("frequency_penalty", self.frequency_penalty),
            ("dry_multiplier", self.dry_multiplier),
            ("dry_base", self.dry_base),
            ("adaptive_target", self.adaptive_target),
            ("adaptive_decay", self.adaptive_decay),
            ("dynatemp_range", self.dynatemp_range),
            ("dynatemp_exponent", self.dynatemp_exp),
            ("mirostat_eta", self.mirostat_lr),
            ("mirostat_tau", self.mirostat_ent),
        ];
        let mut body = Map::new();
        body.extend(ints.into_iter().filter_map(|(key, value)| Some((key.to_string(), json!(value?)))));
        body.extend(floats.into_iter().filter_map(|(key, value)| Some((key.to_string(), json!(value?)))));
        if let Some(names) = &self.samplers {
            body.insert("samplers".into(), names.split(';').collect());
        }
        if let Some(letters) = &self.sampler_seq {
            body.insert("samplers".into(), json!(letters));
        }
        if !self.logit_bias.is_empty() {
            // A ban is false there: JSON has no infinity.
            let bias = |&(id, bias): &(u32, f64)| if bias.is_finite() { json!([id, bias]) } else { json!([id, false]) };
            body.insert("logit_bias".into(), self.logit_bias.iter().map(bias).collect());
        }
        if self.ignore_eos {
            body.insert("ignore_eos".into(), json!(true));
        }
        if !self.dry_sequence_breaker.is_empty() {
            body.insert("dry_sequence_breakers".into(), json!(self.dry_sequence_breaker));
        }
        Value::Object(body)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::import::{Flag, FlagKind, llama_cpp_flags};
    use clap::{Args, Command, FromArgMatches};

    use super::*;

    /// These flags and those of presets and command lines (`crate::import`) are two tables of the same: each name,
    /// and the field that each sets.
    #[test]
    fn the_flags_are_those_that_import_reads() {
        let command = Flags::augment_args(Command::new("flags"));
        let is_here = |flag: &&Flag| {
            flag.kind != FlagKind::Context && (flag.kind != FlagKind::Lost || flag.field == "ignore_eos")
        };
        let wanted = llama_cpp_flags().iter().filter(is_here);
        let mut n_flags = 0;
        for flag in wanted {
            let long = flag.names[0].trim_start_matches("--");
            let arg = command.get_arguments().find(|arg| arg.get_long() == Some(long));
            let arg = arg.unwrap_or_else(|| panic!("--{long} is no flag here"));
            let mut names: BTreeSet<String> =
                arg.get_all_aliases().unwrap_or_default().iter().map(|alias| format!("--{alias}")).collect();
            names.insert(format!("--{long}"));
            names.extend(arg.get_short().map(|short| format!("-{short}")));
            assert_eq!(names, flag.names.iter().map(|name| name.to_string()).collect::<BTreeSet<_>>());
            for name in names {
                let value = match flag.kind {
                    FlagKind::Bias => "5+1",
                    FlagKind::Names => "top_k",
                    FlagKind::Letters => "k",
                    _ => "1",
                };
                let words = ["flags", &name, value];
                let words = &words[..if flag.kind == FlagKind::Lost { 2 } else { 3 }];
                let matches = command.clone().try_get_matches_from(words).unwrap();
                let body = Flags::from_arg_matches(&matches).unwrap().body();
                assert_eq!(body.as_object().unwrap().keys().collect::<Vec<_>>(), [flag.field], "{name}");
            }
            n_flags += 1;
        }
        let n_here = command.get_arguments().filter(|arg| arg.get_long().is_some()).count();
        assert_eq!(n_flags, n_here, "a flag is missing in src/import/llama_cpp/flags.rs");
    }
}
