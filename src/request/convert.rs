//! Numbers as llama-server takes them out of JSON: nlohmann's `get<T>()`, which converts as C does on x86-64.

use serde_json::Value;

/// nlohmann's name of a value's type.
pub fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// nlohmann's refusal of a type.
pub fn type_error(wanted: &str, value: &Value) -> String {
    format!("[json.exception.type_error.302] type must be {wanted}, but is {}", type_name(value))
}

/// `get<int32_t>()`: integers wrap, fractions are cut, what an int does not hold is the smallest int.
pub fn int(value: &Value) -> Result<i32, String> {
    whole(
        value,
        |x| {
            if x > -2_147_483_649.0 && x < 2_147_483_648.0 { i64::from(x as i32) } else { i64::from(i32::MIN) }
        },
    )
    .map(|x| x as i32)
}

/// `get<uint32_t>()`: integers wrap, -1 to 4294967295; fractions are cut to 64 bits first.
pub fn unsigned(value: &Value) -> Result<u32, String> {
    whole(value, |x| {
        if (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&x) { x as i64 } else { i64::MIN }
    })
    .map(|x| x as u32)
}

fn whole(value: &Value, cut: impl Fn(f64) -> i64) -> Result<i64, String> {
    match value {
        Value::Bool(x) => Ok((*x).into()),
        Value::Number(x) => Ok(match (x.as_i64(), x.as_u64()) {
            (Some(x), _) => x,
            (None, Some(x)) => x as i64,
            (None, None) => cut(x.as_f64().unwrap_or(f64::NAN)),
        }),
        other => Err(type_error("number", other)),
    }
}

/// `get<float>()`: rounded once, from an integer, too; beyond the range it is infinite.
pub fn float(value: &Value) -> Result<f32, String> {
    match value {
        Value::Bool(x) => Ok(f32::from(u8::from(*x))),
        Value::Number(x) => Ok(match (x.as_i64(), x.as_u64()) {
            (Some(x), _) => x as f32,
            (None, Some(x)) => x as f32,
            (None, None) => x.as_f64().unwrap_or(f64::NAN) as f32,
        }),
        other => Err(type_error("number", other)),
    }
}

/// `get<bool>()`
pub fn boolean(value: &Value) -> Result<bool, String> {
    value.as_bool().ok_or_else(|| type_error("boolean", value))
}

/// `get<std::string>()`
pub fn string(value: &Value) -> Result<&str, String> {
    value.as_str().ok_or_else(|| type_error("string", value))
}

/// `strtol(text, &end, 10)` cut to an int, if the whole text is a number. An empty text is 0.
pub fn whole_text_int(text: &str) -> Option<i32> {
    // As a C string it ends at a byte of 0.
    let text = text.split('\0').next().unwrap_or(text);
    let digits = text.trim_start_matches([' ', '\t', '\n', '\x0b', '\x0c', '\r']);
    let (negative, digits) = match digits.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, digits.strip_prefix('+').unwrap_or(digits)),
    };
    if text.is_empty() {
        return Some(0);
    }
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let signed = if negative { format!("-{digits}") } else { digits.to_string() };
    Some(signed.parse::<i64>().unwrap_or(if negative { i64::MIN } else { i64::MAX }) as i32)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ints_convert_as_in_c() {
        for (value, expected) in [
            (json!(40.7), 40),
            (json!(-0.9), 0),
            (json!(true), 1),
            (json!(99_999_999_999i64), 1_215_752_191),
            (json!(1e10), i32::MIN),
            (json!(-2_147_483_648.5), i32::MIN),
            (json!(u64::MAX), -1),
        ] {
            assert_eq!(int(&value), Ok(expected), "{value}");
        }
        let refusal = "[json.exception.type_error.302] type must be number, but is string";
        assert_eq!(int(&json!("x")), Err(refusal.to_string()));
    }

    #[test]
    fn seeds_wrap() {
        for (value, expected) in [
            (json!(-1), u32::MAX),
            (json!(-2), u32::MAX - 1),
            (json!(4_294_967_296i64), 0),
            (json!(1.5), 1),
            (json!(-1.0), u32::MAX),
            (json!(1e30), 0),
        ] {
            assert_eq!(unsigned(&value), Ok(expected), "{value}");
        }
    }

    #[test]
    fn floats_round_once() {
        assert_eq!(float(&json!(1e39)), Ok(f32::INFINITY));
        assert_eq!(float(&json!(0.1)), Ok(0.1));
        assert_eq!(float(&json!(9_007_199_791_611_905i64)), Ok(9_007_199_791_611_905i64 as f32));
    }

    #[test]
    fn texts_are_ids_only_as_a_whole() {
        for (text, expected) in [
            ("5", Some(5)),
            ("", Some(0)),
            (" -7", Some(-7)),
            ("+3", Some(3)),
            ("5x", None),
            ("x5", None),
            (" ", None),
            ("-", None),
            ("12\0abc", Some(12)),
            ("\0", Some(0)),
        ] {
            assert_eq!(whole_text_int(text), expected, "{text:?}");
        }
        assert_eq!(whole_text_int("99999999999999999999"), Some(-1));
    }
}
