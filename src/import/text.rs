//! Texts that hold lists, words or numbers.

use serde_json::Value;

use super::draft::texts_of;

/// DRY's breakers in a text, and how it holds them.
pub fn breakers_of(text: &str) -> Option<(Vec<String>, &'static str)> {
    let text = text.trim();
    if text.starts_with('[') {
        return json_texts(text).map(|texts| (texts, "a text that holds a JSON list"));
    }
    if text.is_empty() {
        return Some((Vec::new(), "an empty text"));
    }
    if text.starts_with('"') {
        return json_texts(&format!("[{text}]")).map(|texts| (texts, "a JSON list without its brackets"));
    }
    let texts = text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(unescaped).collect();
    Some((texts, "texts with commas between"))
}

fn json_texts(text: &str) -> Option<Vec<String>> {
    texts_of(&serde_json::from_str::<Value>(text).ok()?)
}

/// `\n`, `\t` and `\\` as they are meant.
fn unescaped(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, chars.as_str().chars().next()) {
            ('\\', Some(escaped @ ('n' | 't' | 'r' | '\\' | '"'))) => {
                chars.next();
                out.push(match escaped {
                    'n' => '\n',
                    't' => '\t',
                    'r' => '\r',
                    other => other,
                });
            }
            (c, _) => out.push(c),
        }
    }
    out
}

/// A word of a text and the byte where it begins.
pub struct Word {
    pub text: String,
    pub at: usize,
}

/// The text of the word that is open; one is opened if none is.
fn text_of(open: &mut Option<Word>, at: usize) -> &mut String {
    &mut open.get_or_insert_with(|| Word { text: String::new(), at }).text
}

/// The words of a command line as a shell splits them: quotes, backslashes, and a backslash at a line's end. The error is
/// the byte of a quote that is not closed.
pub fn words(text: &str) -> Result<Vec<Word>, usize> {
    let mut words = Vec::new();
    let mut open: Option<Word> = None;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some((_, '\n')) => {}
                Some((_, '\r')) if chars.peek().is_some_and(|(_, next)| *next == '\n') => {
                    chars.next();
                }
                Some((_, escaped)) => text_of(&mut open, at).push(escaped),
                None => {}
            },
            '\'' | '"' => {
                let word = text_of(&mut open, at);
                loop {
                    match chars.next() {
                        None => return Err(at),
                        Some((_, end)) if end == c => break,
                        Some((_, '\\')) if c == '"' => match chars.next() {
                            Some((_, '\n')) => {}
                            Some((_, escaped @ ('"' | '\\' | '$' | '`'))) => word.push(escaped),
                            Some((_, other)) => word.extend(['\\', other]),
                            None => return Err(at),
                        },
                        Some((_, inner)) => word.push(inner),
                    }
                }
            }
            '#' if open.is_none() => while chars.next_if(|(_, c)| *c != '\n').is_some() {},
            c if c.is_whitespace() => words.extend(open.take()),
            c => text_of(&mut open, at).push(c),
        }
    }
    words.extend(open);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn breakers_in_all_their_forms() {
        let expected = Some(["\n", ":", "\"", "*"].map(String::from).to_vec());
        for text in [r#"["\n", ":", "\"", "*"]"#, r#" "\n", ":", "\"", "*" "#, r#"\n, :, ", *"#] {
            assert_eq!(breakers_of(text).map(|read| read.0), expected, "{text}");
        }
        assert_eq!(breakers_of("").map(|read| read.0), Some(Vec::new()));
        for text in ["[1, 2]", r#"["x""#, r#""x", 1"#] {
            assert!(breakers_of(text).is_none(), "{text}");
        }
    }

    #[test]
    fn words_are_a_shells() {
        let split = |text: &str| -> Vec<String> { words(text).unwrap().into_iter().map(|word| word.text).collect() };
        assert_eq!(split("a  'b c' \"d\\\"e\" f\\ g \\\n  h # not\ni ''"), ["a", "b c", "d\"e", "f g", "h", "i", ""]);
        assert_eq!(split("--top-k=5 a'b'c"), ["--top-k=5", "abc"]);
        assert_eq!(words("ab 'c").err(), Some(3));
        assert_eq!(words("é \"x").err(), Some(3));
        assert_eq!(words("é b").unwrap()[1].at, 3);
    }
}
