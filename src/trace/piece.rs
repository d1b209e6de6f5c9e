//! A token's bytes, and how they are shown.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The bytes of a token. In JSON a string, or a list of bytes where they are not UTF-8 (a token may be a part of a character).
///
/// [`Display`](fmt::Display) shows every byte: `␠` is a space, `␊` a newline, other control characters have their own picture,
/// `\xE2` is a byte that is not UTF-8, `\u{200b}` a character that could not be seen or would move the text around it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Piece {
    /// Whole characters.
    Text(String),
    /// Bytes that are not UTF-8.
    Bytes(Vec<u8>),
}

impl Piece {
    /// A piece of these bytes.
    pub fn new(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::Text(text.to_string()),
            Err(_) => Self::Bytes(bytes.to_vec()),
        }
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }
}

impl fmt::Display for Piece {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write;
        for chunk in self.bytes().utf8_chunks() {
            for c in chunk.valid().chars() {
                match c {
                    '\0'..=' ' => f.write_char(char::from_u32(0x2400 + c as u32).unwrap_or(c))?,
                    '\x7f' => f.write_char('␡')?,
                    c if c.is_control() || c.is_whitespace() || is_unseen(c) => {
                        write!(f, "\\u{{{:x}}}", c as u32)?;
                    }
                    c => f.write_char(c)?,
                }
            }
            chunk.invalid().iter().try_for_each(|byte| write!(f, "\\x{byte:02X}"))?;
        }
        Ok(())
    }
}

/// Characters without a width, and those that turn the direction of a text.
fn is_unseen(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}' | '\u{300}'..='\u{36f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_seen() {
        for (bytes, shown) in [
            (&b" would"[..], "␠would"),
            (b"\n\t\r\0\x1b[31m\x7f", "␊␉␍␀␛[31m␡"),
            (b"\xE2\x96", "\\xE2\\x96"),
            (b"a\xFFb", "a\\xFFb"),
            ("日本 é".as_bytes(), "日本␠é"),
            ("\u{202e}\u{200b}\u{a0}e\u{301}\u{85}".as_bytes(), "\\u{202e}\\u{200b}\\u{a0}e\\u{301}\\u{85}"),
            (b"", ""),
        ] {
            assert_eq!(Piece::new(bytes).to_string(), shown);
            let json = serde_json::to_string(&Piece::new(bytes)).unwrap();
            assert_eq!(serde_json::from_str::<Piece>(&json).unwrap().bytes(), bytes, "{json}");
        }
        assert_eq!(serde_json::to_string(&Piece::new(b"\xE2\x96")).unwrap(), "[226,150]");
    }
}
