//! The bytes that llama.cpp shows for a token.

use std::borrow::Cow;

use super::vocab::{Attr, Kind, Token};

/// The space of SentencePiece, U+2581.
const UNDERLINE: &[u8] = "\u{2581}".as_bytes();

/// How a vocabulary renders its tokens.
#[derive(Debug, Clone, Copy)]
pub struct Style {
    pub kind: Kind,
    /// Byte-level tokens are written with SentencePiece's spaces.
    pub underlined: bool,
    /// A text loses the space that the tokenizer put before it.
    pub space_prefix: bool,
    /// A text's spaces before punctuation are taken away.
    pub clean_spaces: bool,
}

/// A token inside a text, special ones shown: `token_to_piece`.
pub fn piece(token: &Token, style: Style) -> Vec<u8> {
    let attr = token.attr;
    if attr.any(Attr::UNKNOWN | Attr::CONTROL | Attr::USER_DEFINED) {
        token.text.clone()
    } else if attr.any(Attr::NORMAL) {
        match style.kind {
            Kind::ByteLevel if !style.underlined => bytes_of_letters(&token.text),
            _ => with_spaces(&token.text),
        }
    } else if attr.any(Attr::BYTE) {
        vec![byte_token(&token.text)]
    } else {
        Vec::new()
    }
}

/// A token that is a text of its own: `detokenize`.
pub fn lone_piece(piece: &[u8], style: Style) -> Cow<'_, [u8]> {
    let start = usize::from(style.space_prefix && piece.first() == Some(&b' '));
    let text = &piece[start..];
    let may_clean = |pair: &[u8]| pair[0] == b' ' && matches!(pair[1], b'?' | b'!' | b'.' | b',' | b'\'');
    if style.clean_spaces && text.windows(2).any(may_clean) { Cow::Owned(clean(text)) } else { Cow::Borrowed(text) }
}

/// The bytes with SentencePiece's spaces as spaces.
fn with_spaces(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&first, others)) = rest.split_first() {
        match rest.strip_prefix(UNDERLINE) {
            Some(behind) => {
                bytes.push(b' ');
                rest = behind;
            }
            None => {
                bytes.push(first);
                rest = others;
            }
        }
    }
    bytes
}

/// The byte of a token like `<0x0A>`, as `strtol` reads the two characters behind the `<0x`.
fn byte_token(text: &[u8]) -> u8 {
    let digits = text.get(3..5.min(text.len())).unwrap_or_default();
    let n = digits.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let digits = std::str::from_utf8(&digits[..n]).unwrap_or_default();
    u8::from_str_radix(digits, 16).unwrap_or(0)
}

/// The bytes behind the letters of GPT-2's byte-level encoding. A letter that stands for no byte is shown with its bytes and
/// the whole text, as llama.cpp shows it.
fn bytes_of_letters(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    // A byte that is no UTF-8 is a letter of its own, U+FFFD.
    let letters = text.utf8_chunks().flat_map(|chunk| {
        chunk.valid().chars().chain(std::iter::repeat_n(char::REPLACEMENT_CHARACTER, chunk.invalid().len()))
    });
    for letter in letters {
        match byte_of_letter(letter) {
            Some(byte) => bytes.push(byte),
            None => {
                let shown = hex::encode(letter.to_string());
                bytes.extend_from_slice(format!("[UNK_BYTE_0x{shown}").as_bytes());
                bytes.extend_from_slice(text);
                bytes.push(b']');
            }
        }
    }
    bytes
}

/// Whether a byte stands for itself in the byte-level encoding.
fn is_own_letter(byte: u8) -> bool {
    matches!(byte, b'!'..=b'~' | 0xa1..=0xac | 0xae..)
}

fn byte_of_letter(letter: char) -> Option<u8> {
    if let Ok(byte) = u8::try_from(u32::from(letter)) {
        return is_own_letter(byte).then_some(byte);
    }
    // The others follow each other from U+0100 on.
    let place = u32::from(letter).checked_sub(256)?;
    (0..=255u8).filter(|&byte| !is_own_letter(byte)).nth(place as usize)
}

/// Hugging Face's `clean_up_tokenization_spaces`, in llama.cpp's three passes.
fn clean(text: &[u8]) -> Vec<u8> {
    // No space before ? ! . ,
    let mut first = Vec::with_capacity(text.len());
    for (i, &byte) in text.iter().enumerate() {
        if i > 0 && text[i - 1] == b' ' && matches!(byte, b'?' | b'!' | b'.' | b',') {
            first.pop();
        }
        first.push(byte);
    }
    // No spaces around a lone apostrophe. The space behind it becomes a byte of 0 that is passed over, and the next byte is
    // compared with that.
    let mut text = first;
    let mut second: Vec<u8> = text.first().copied().into_iter().collect();
    let mut i = 1;
    while i < text.len() {
        let byte = text[i];
        if byte == b'\'' && i + 1 < text.len() && text[i - 1] == b' ' && text[i + 1] == b' ' {
            second.pop();
            i += 1;
            text[i] = 0;
        }
        second.push(byte);
        i += 1;
    }
    // No space before 's, 'm, 're and 've.
    let mut third: Vec<u8> = second.first().copied().into_iter().collect();
    for i in 1..second.len() {
        if second[i - 1] == b' ' && second[i] == b'\'' {
            let rest = &second[i + 1..];
            if matches!(rest, [b's' | b'm', ..] | [b'r', b'e', ..] | [b'v', b'e', ..]) {
                third.pop();
            }
        }
        third.push(second[i]);
    }
    third
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_stand_for_bytes() {
        let letters: Vec<u8> = "ĠHeĊĀ~¡".as_bytes().to_vec();
        assert_eq!(bytes_of_letters(&letters), b" He\n\0~\xa1");
        let mut all: Vec<u8> = (0..=0x143u32).filter_map(char::from_u32).filter_map(byte_of_letter).collect();
        all.sort_unstable();
        assert_eq!(all, (0..=255).collect::<Vec<u8>>());
    }

    #[test]
    fn bytes_that_are_no_text_stay() {
        assert_eq!(with_spaces(b"\xff\xe2\x96\x81\xc3"), b"\xff \xc3");
        let shown = bytes_of_letters(b"a\xe2\x82");
        assert_eq!(shown, b"a[UNK_BYTE_0xefbfbda\xe2\x82][UNK_BYTE_0xefbfbda\xe2\x82]");
    }

    #[test]
    fn spaces_are_cleaned() {
        for (text, expected) in [
            (" .", "."),
            ("a ?", "a?"),
            (" ' ", "'"),
            ("x 's y", "x's y"),
            (" 've", "'ve"),
            (" 'll", " 'll"),
            (" 't", " 't"),
            ("", ""),
            (" ", " "),
        ] {
            assert_eq!(String::from_utf8(clean(text.as_bytes())).unwrap(), expected, "{text:?}");
        }
    }

    #[test]
    fn byte_tokens() {
        for (text, byte) in [("<0x0A>", 10), ("<0xff>", 255), ("<0xg1>", 0), ("<0x5g>", 5), ("<", 0)] {
            assert_eq!(byte_token(text.as_bytes()), byte, "{text}");
        }
    }
}
