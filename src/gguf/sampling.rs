//! `general.sampling.*`, as `common_init_sampler_from_model` reads it.

use super::read::Metadata;
use crate::llama_server::StepName;
use crate::params::{Layer, Params};

/// llama.cpp reads whole numbers, floats and the list of steps into buffers of these sizes, and cuts what is longer.
const INT_BYTES: usize = 63;
const FLOAT_BYTES: usize = 127;
const SEQUENCE_BYTES: usize = 511;

/// Puts a file's values over the parameters.
pub fn overlay(metadata: &Metadata, params: &mut Params) {
    let value = |key: &str, n: usize| {
        let mut text = metadata.as_text(&format!("general.sampling.{key}"))?;
        text.truncate(n);
        // As a C string it ends at a byte of 0.
        let end = text.iter().position(|&byte| byte == 0).unwrap_or(text.len());
        text.truncate(end);
        Some(String::from_utf8_lossy(&text).into_owned()).filter(|text| !text.is_empty())
    };
    if let Some(sequence) = value("sequence", SEQUENCE_BYTES) {
        params.samplers = sequence.split(';').filter_map(StepName::from_name).collect();
        params.layers.set("samplers", Layer::Gguf);
    }
    let mut int = |key, field, slot: fn(&mut Params) -> &mut i32| {
        if let Some(read) = value(key, INT_BYTES).and_then(|text| strtol(&text)) {
            *slot(params) = read;
            params.layers.set(field, Layer::Gguf);
        }
    };
    int("top_k", "top_k", |params| &mut params.top_k);
    int("penalty_last_n", "repeat_last_n", |params| &mut params.repeat_last_n);
    int("mirostat", "mirostat", |params| &mut params.mirostat);
    let mut float = |key, field, slot: fn(&mut Params) -> &mut f32| {
        if let Some(read) = value(key, FLOAT_BYTES).and_then(|text| strtof(&text)) {
            *slot(params) = read;
            params.layers.set(field, Layer::Gguf);
        }
    };
    float("top_p", "top_p", |params| &mut params.top_p);
    float("min_p", "min_p", |params| &mut params.min_p);
    float("xtc_probability", "xtc_probability", |params| &mut params.xtc_probability);
    float("xtc_threshold", "xtc_threshold", |params| &mut params.xtc_threshold);
    float("temp", "temperature", |params| &mut params.temperature);
    float("penalty_repeat", "repeat_penalty", |params| &mut params.repeat_penalty);
    float("mirostat_tau", "mirostat_tau", |params| &mut params.mirostat_tau);
    float("mirostat_eta", "mirostat_eta", |params| &mut params.mirostat_eta);
}

/// What C's `isspace` passes over.
fn trim_start(text: &str) -> &str {
    text.trim_start_matches([' ', '\t', '\n', '\x0b', '\x0c', '\r'])
}

/// How many bytes at the start hold to `is`.
fn run(text: &str, is: impl Fn(u8) -> bool) -> usize {
    text.bytes().take_while(|&byte| is(byte)).count()
}

/// `int32_t(strtol(text, &end, 10))`: the number at the start, cut to 32 bits; none where there is none.
pub fn strtol(text: &str) -> Option<i32> {
    let text = trim_start(text);
    let sign = run(text, |byte| byte == b'-' || byte == b'+').min(1);
    let digits = run(&text[sign..], |byte| byte.is_ascii_digit());
    if digits == 0 {
        return None;
    }
    let whole = text[..sign + digits].parse().unwrap_or(if text.starts_with('-') { i64::MIN } else { i64::MAX });
    Some(whole as i32)
}

/// `strtof(text, &end)`: the longest number at the start, decimal, hexadecimal, `inf` or `nan`; none where there is none.
pub fn strtof(text: &str) -> Option<f32> {
    let text = trim_start(text);
    let sign = run(text, |byte| byte == b'-' || byte == b'+').min(1);
    let (sign, text) = text.split_at(sign);
    let magnitude = magnitude(text)?;
    Some(if sign == "-" { -magnitude } else { magnitude })
}

fn magnitude(text: &str) -> Option<f32> {
    let begins = |word: &str| text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
    if begins("inf") {
        return Some(f32::INFINITY);
    }
    if begins("nan") {
        return Some(f32::NAN);
    }
    if begins("0x") {
        // Without a digit behind the x, the number is the 0 before it.
        return Some(hexadecimal(&text[2..]).unwrap_or(0.0));
    }
    let whole = run(text, |byte| byte.is_ascii_digit());
    let fraction = fraction(&text[whole..], |byte| byte.is_ascii_digit());
    if whole + fraction.saturating_sub(1) == 0 {
        return None;
    }
    let mantissa = whole + fraction;
    let end = mantissa + exponent(&text[mantissa..], b'e');
    text[..end].parse().ok()
}

/// The length of a point with digits behind it, or of a lone point.
fn fraction(text: &str, is_digit: impl Fn(u8) -> bool) -> usize {
    text.strip_prefix('.').map_or(0, |digits| 1 + run(digits, is_digit))
}

/// The length of an exponent, if there is a whole one.
fn exponent(text: &str, letter: u8) -> usize {
    if !text.bytes().next().is_some_and(|first| first.eq_ignore_ascii_case(&letter)) {
        return 0;
    }
    let sign = run(&text[1..], |byte| byte == b'-' || byte == b'+').min(1);
    match run(&text[1 + sign..], |byte| byte.is_ascii_digit()) {
        0 => 0,
        digits => 1 + sign + digits,
    }
}

/// The number behind a `0x`. Up to 13 digits of a mantissa count, which is more than an f32 holds.
fn hexadecimal(text: &str) -> Option<f32> {
    let whole = run(text, |byte| byte.is_ascii_hexdigit());
    let fraction = fraction(&text[whole..], |byte| byte.is_ascii_hexdigit());
    let digits: String = text[..whole + fraction].chars().filter(|c| *c != '.').collect();
    if digits.is_empty() {
        return None;
    }
    let kept = digits.trim_start_matches('0');
    let (kept, cut) = kept.split_at(kept.len().min(13));
    if kept.is_empty() {
        return Some(0.0);
    }
    let mantissa = u64::from_str_radix(kept, 16).ok()?;
    let tail = &text[whole + fraction..];
    let power: i32 = match exponent(tail, b'p') {
        0 => 0,
        n => tail[1..n].parse().unwrap_or(if tail.as_bytes()[1] == b'-' { -9999 } else { 9999 }),
    };
    let places = 4 * (cut.len() as i32 - fraction.saturating_sub(1) as i32);
    Some((mantissa as f64 * 2f64.powi(places.saturating_add(power).clamp(-2000, 2000))) as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_read_as_strtol_reads_them() {
        for (text, expected) in [
            ("12", Some(12)),
            (" 12abc", Some(12)),
            ("+7", Some(7)),
            ("-5.9", Some(-5)),
            ("0x20", Some(0)),
            ("99999999999999999999", Some(-1)),
            ("-99999999999999999999", Some(0)),
            ("4294967301", Some(5)),
            ("x", None),
            ("+", None),
            ("", None),
            ("--5", None),
        ] {
            assert_eq!(strtol(text), expected, "{text:?}");
        }
    }

    #[test]
    fn floats_are_read_as_strtof_reads_them() {
        for (text, expected) in [
            ("0.7", Some(0.7)),
            ("  +1.25 ", Some(1.25)),
            ("-.5e1", Some(-5.0)),
            ("5.", Some(5.0)),
            ("1e-2xyz", Some(0.01)),
            ("1e", Some(1.0)),
            ("1e+", Some(1.0)),
            ("1.1.1", Some(1.1)),
            ("1,3", Some(1.0)),
            ("INFINITYx", Some(f32::INFINITY)),
            ("-inf", Some(f32::NEG_INFINITY)),
            ("1e999", Some(f32::INFINITY)),
            ("1e-999", Some(0.0)),
            ("0x1p-3", Some(0.125)),
            ("0x1.8", Some(1.5)),
            ("0xg", Some(0.0)),
            ("0x10", Some(16.0)),
            ("0x0p9999", Some(0.0)),
            (".", None),
            (".e1", None),
            ("e5", None),
            ("", None),
            ("x", None),
        ] {
            assert_eq!(strtof(text), expected, "{text:?}");
        }
        assert!(strtof("nan").unwrap().is_nan());
    }
}
