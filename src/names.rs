//! The nearest known name.

/// The known name that a wrong one most likely meant, if any is near.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Nobody misspells at such length, and comparing would take long.
    if name.len() > 64 {
        return None;
    }
    let folded = fold(name);
    known
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(&folded, &fold(candidate)), candidate))
        .filter(|(likeness, _)| *likeness >= 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

/// ` (did you mean x?)`, or nothing.
pub fn suggestion(nearest: Option<&str>) -> String {
    nearest.map(|name| format!(" (did you mean {name}?)")).unwrap_or_default()
}

fn fold(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_was_meant() {
        let known = ["top_k", "top_p", "typ_p", "temperature", "min_p", "mirostat"];
        for (wrong, meant) in [
            ("topk", "top_k"),
            ("Top-P", "top_p"),
            ("typical_p", "typ_p"),
            ("temprature", "temperature"),
            ("temp", "temperature"),
        ] {
            assert_eq!(nearest(wrong, known), Some(meant), "{wrong}");
        }
        assert_eq!(nearest("xyzzy", known), None);
    }
}
