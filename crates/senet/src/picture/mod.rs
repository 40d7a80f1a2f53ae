//! Pictures of a game, its features and what was learned, as SVG. Colours come from the page's style, so that they fit light and dark.

pub(crate) mod curve;
pub(crate) mod graph;
pub(crate) mod page;
pub(crate) mod sheet;

use std::fmt::Write;

/// Text as it may stand in HTML and SVG.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// At most so many characters, with a sign that there are more.
pub(crate) fn shorten(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(most.saturating_sub(1)).collect();
    short.push('…');
    short
}

/// A number with few digits, as SVG likes it.
pub(crate) fn number(value: f64) -> String {
    let mut text = format!("{value:.2}");
    if text.contains('.') {
        text.truncate(text.trim_end_matches('0').trim_end_matches('.').len());
    }
    if text == "-0" { "0".to_owned() } else { text }
}

/// Writes to a string, which can't fail.
pub(crate) fn put(text: &mut String, arguments: std::fmt::Arguments) {
    text.write_fmt(arguments).expect("writing to a string");
}

#[cfg(test)]
mod tests {
    use super::{escape, number, shorten};

    #[test]
    fn texts_and_numbers_are_fit_for_svg() {
        assert_eq!(escape("a<b & \"c\">"), "a&lt;b &amp; &quot;c&quot;&gt;");
        assert_eq!(["0.50", "2", "-0.001"].map(|text| number(text.parse().expect("a number"))), ["0.5", "2", "0"]);
        assert_eq!((shorten("abcdef", 4), shorten("abcd", 4)), ("abc…".to_owned(), "abcd".to_owned()));
    }
}
