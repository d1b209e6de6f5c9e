//! Texts in columns of a terminal: cut, padded, and bars.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// How wide a line may be.
pub const WIDTH: usize = 80;

/// A text that is at most so many columns wide; `…` stands for what was cut.
pub fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_string();
    }
    let mut left = width.saturating_sub(1);
    let fits = |c: &char| match left.checked_sub(c.width().unwrap_or(0)) {
        Some(rest) => {
            left = rest;
            true
        }
        None => false,
    };
    let mut short: String = text.chars().take_while(fits).collect();
    if width > 0 {
        short.push('…');
    }
    short
}

/// The same, filled up with spaces.
pub fn pad(text: &str, width: usize) -> String {
    let mut text = cut(text, width);
    text.extend(std::iter::repeat_n(' ', width.saturating_sub(text.width())));
    text
}

/// A bar of a share of a width, in eighths of a column; anything above 0 is seen.
pub fn bar(share: f64, width: usize) -> String {
    const PARTS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
    let eighths = (share.clamp(0.0, 1.0) * width as f64 * 8.0).round() as usize;
    let eighths = if share > 0.0 { eighths.max(1) } else { 0 };
    let mut bar: String = std::iter::repeat_n('█', eighths / 8).collect();
    if eighths % 8 > 0 {
        bar.push(PARTS[eighths % 8]);
    }
    pad(&bar, width)
}

/// A share as a percentage of seven columns.
pub fn percent(share: Option<f64>) -> String {
    match share {
        None => "-".into(),
        // What is there does not read as nothing.
        Some(share) if share > 0.0 && share < 1e-6 => format!("{:.0e}%", share * 100.0),
        Some(share) if share > 0.0 && share < 5e-5 => format!("{:.4}%", share * 100.0),
        Some(share) => format!("{:.2}%", share * 100.0),
    }
}

/// A time with the unit that suits it.
pub fn time(ns: u64) -> String {
    match ns as f64 {
        ns if ns < 1e3 => format!("{ns:.0} ns"),
        ns if ns < 1e6 => format!("{:.1} µs", ns / 1e3),
        ns if ns < 1e9 => format!("{:.1} ms", ns / 1e6),
        ns => format!("{:.1} s", ns / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_keep_to_their_columns() {
        for (text, width, shown) in [
            ("plain", 8, "plain   "),
            ("plain", 5, "plain"),
            ("plain", 4, "pla…"),
            ("日本語", 6, "日本語"),
            ("日本語", 5, "日本…"),
            ("日本語", 4, "日… "),
            ("日", 1, "…"),
            ("日", 0, ""),
            ("नमस्ते", 12, "नमस्ते"),
        ] {
            let found = pad(text, width);
            assert!(found.starts_with(shown), "{found:?}");
            assert_eq!(found.width(), width, "{found:?}");
        }
    }

    #[test]
    fn a_bar_is_as_long_as_its_share() {
        assert_eq!([0.0, 1e-9, 0.25, 0.5, 1.0, 7.0].map(|share| bar(share, 2)), ["  ", "▏ ", "▌ ", "█ ", "██", "██"]);
    }

    #[test]
    fn times_and_shares_are_short() {
        assert_eq!([7, 1234, 56_700_000, 2_000_000_000].map(time), ["7 ns", "1.2 µs", "56.7 ms", "2.0 s"]);
        let shares = [Some(1.0), Some(0.123456), Some(4e-5), Some(4e-7), Some(1e-300), Some(0.0), None];
        assert_eq!(shares.map(percent), ["100.00%", "12.35%", "0.0040%", "4e-5%", "1e-298%", "0.00%", "-"]);
    }
}
