//! A request body of the command line.

use crate::{Params, Report};
use serde_json::Value;

/// Reads a body, which is a file's name or the JSON itself, over a base.
pub fn read(given: &str, base: &Params) -> Result<(Params, Report), String> {
    let is_json = given.trim_start().starts_with(['{', '[']);
    let (name, text) = match given {
        "" => return Err("--request: a file or a JSON object is wanted, and this is empty".to_string()),
        json if is_json => ("--request", json.to_string()),
        file => (file, std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?),
    };
    parse(&text, name, base)
}

/// Reads a body's text over a base. `name` stands for it in errors.
pub fn parse(text: &str, name: &str, base: &Params) -> Result<(Params, Report), String> {
    let text = text.trim_start_matches('\u{feff}');
    let body: Value = serde_json::from_str(text).map_err(|error| format!("{name}: {error}"))?;
    Params::from_request(&body, base, None).map_err(|error| format!("{name}: {error}"))
}
