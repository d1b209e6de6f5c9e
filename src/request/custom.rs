//! The fields that are more than a number.

use serde_json::Value;

use super::report::shown;
use super::{Report, Source, convert};
use crate::llama_server::StepName;
use crate::names::nearest;
use crate::params::Params;

/// Below 1 the base's value takes its place.
pub fn dry_base(source: &Source<'_>, value: &Value, params: &mut Params, report: &mut Report) -> Result<(), String> {
    let read = convert::float(value)?;
    if read < 1.0 {
        params.dry_base = source.base.dry_base;
        report.clamped("dry_base", read.to_string(), params.dry_base.to_string());
    } else {
        params.dry_base = read;
    }
    Ok(())
}

/// Only a list of texts that is not empty; anything else is refused, whatever is wrong with it.
pub fn dry_sequence_breakers(
    _: &Source<'_>,
    value: &Value,
    params: &mut Params,
    report: &mut Report,
) -> Result<(), String> {
    let texts: Option<Vec<String>> =
        value.as_array().and_then(|list| list.iter().map(|text| text.as_str().map(String::from)).collect());
    match texts {
        Some(texts) if !texts.is_empty() => {
            if let Some(long) = texts.iter().find(|text| text.len() > 40) {
                let shown: String = long.chars().take(20).collect();
                report.reduced("dry_sequence_breakers", format!("only the first 40 bytes of {shown}… and the like"));
            }
            params.dry_sequence_breakers = texts;
            params.dry_breakers = None;
            Ok(())
        }
        _ => Err("Error: dry_sequence_breakers must be a non-empty array of strings".to_string()),
    }
}

/// A list of names or a text of letters; unknown ones are dropped. Anything else leaves the base's order.
pub fn samplers(_: &Source<'_>, value: &Value, params: &mut Params, report: &mut Report) -> Result<(), String> {
    match value {
        Value::Array(names) => {
            let names: Vec<&str> = names.iter().map(convert::string).collect::<Result<_, _>>()?;
            params.samplers = names
                .iter()
                .filter_map(|name| {
                    let known = StepName::from_name(name);
                    if known.is_none() {
                        report.dropped("samplers", name, nearest(name, StepName::all_names()));
                    }
                    known
                })
                .collect();
        }
        Value::String(letters) => {
            params.samplers = letters
                .chars()
                .filter_map(|letter| {
                    let known = StepName::from_letter(letter);
                    if known.is_none() {
                        report.dropped("samplers", &letter.to_string(), None);
                    }
                    known
                })
                .collect();
        }
        other => report.no_effect(
            "samplers",
            format!("a list of names or a text of letters is wanted, and this is {}", convert::type_name(other)),
        ),
    }
    Ok(())
}

/// Pairs of a token or a text and a bias, or an object of the same; it replaces the base's biases.
pub fn logit_bias(source: &Source<'_>, value: &Value, params: &mut Params, report: &mut Report) -> Result<(), String> {
    params.logit_bias.clear();
    match value {
        Value::Array(pairs) => {
            for pair in pairs {
                let Some([key, bias]) = pair.as_array().map(Vec::as_slice) else {
                    report.dropped("logit_bias", &shown(pair), None);
                    continue;
                };
                let integer = key.as_i64().or_else(|| key.as_u64().map(|id| id as i64));
                let key = match (integer, key.as_str()) {
                    (Some(id), _) => Some(Key::Id(id as i32)),
                    (None, Some(text)) => Some(Key::Text(text)),
                    (None, None) => None,
                };
                source.add_bias(key, bias, || shown(pair), params, report);
            }
        }
        Value::Object(pairs) => {
            for (text, bias) in pairs {
                let key = convert::whole_text_int(text).map_or(Key::Text(text), Key::Id);
                source.add_bias(Some(key), bias, || format!("{}: {}", shown(text), shown(bias)), params, report);
            }
        }
        other => report.no_effect(
            "logit_bias",
            format!("a list of pairs or an object is wanted, and this is {}", convert::type_name(other)),
        ),
    }
    Ok(())
}

enum Key<'a> {
    Id(i32),
    Text(&'a str),
}

impl Source<'_> {
    /// Adds one bias, or says that llama-server passes over it.
    fn add_bias(
        &self,
        key: Option<Key<'_>>,
        bias: &Value,
        shown: impl FnOnce() -> String,
        params: &mut Params,
        report: &mut Report,
    ) {
        let bias = match bias {
            Value::Bool(false) => Some(f32::NEG_INFINITY),
            Value::Number(_) => convert::float(bias).ok(),
            _ => None,
        };
        let n_vocab = self.vocab.map(|vocab| vocab.n_tokens()).or(self.base.n_vocab).unwrap_or(usize::MAX);
        match (key, bias) {
            (Some(Key::Id(id)), Some(bias)) if id >= 0 && (id as usize) < n_vocab => {
                params.logit_bias.push((id as u32, bias));
            }
            (Some(Key::Text(text)), Some(bias)) => match self.vocab.map(|vocab| vocab.encode(text.as_bytes())) {
                Some(Ok(tokens)) => params.logit_bias.extend(tokens.into_iter().map(|token| (token, bias))),
                Some(Err(error)) => report.part_of_no_effect("logit_bias", &shown(), &error),
                None => {
                    report.part_of_no_effect("logit_bias", &shown(), &"a text needs a vocabulary, and there is none");
                }
            },
            _ => report.dropped("logit_bias", &shown(), None),
        }
    }
}

/// Read for its type, and of no effect: there is no other back end than this one.
pub fn backend_sampling(_: &Source<'_>, value: &Value, _: &mut Params, report: &mut Report) -> Result<(), String> {
    convert::boolean(value)?;
    report.no_effect("backend_sampling", "there is no other back end than this one");
    Ok(())
}

/// Bans the end-of-generation tokens, behind the other biases.
pub fn ignore_eos(source: &Source<'_>, value: &Value, params: &mut Params, report: &mut Report) -> Result<(), String> {
    params.ignore_eos = convert::boolean(value)?;
    if params.ignore_eos {
        match source.vocab {
            Some(vocab) => {
                let ends = (0..vocab.n_tokens() as u32).filter(|&id| vocab.is_eog(id));
                params.logit_bias.extend(ends.map(|id| (id, f32::NEG_INFINITY)));
            }
            None => report
                .no_effect("ignore_eos", "the end-of-generation tokens are known from a vocabulary, and there is none"),
        }
    }
    Ok(())
}
