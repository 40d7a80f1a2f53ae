//! Text from outside, made fit for terminals.
//!
//! A name in rules, in a file or in a message may hold anything: sequences that move the cursor, rewrite what was printed or
//! turn the direction of writing. All that a terminal would obey is written out instead.

use std::borrow::Cow;

/// The text with every character that a terminal might obey written as `\u001b`, but for ends of lines and tabs. This is also how
/// JSON writes them, so JSON stays what it was.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(is_obeyed) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        if is_obeyed(letter) {
            shown.push_str(&format!("\\u{:04x}", u32::from(letter)));
        } else {
            shown.push(letter);
        }
    }
    Cow::Owned(shown)
}

/// Whether a character does something instead of being seen: control characters, and those that turn the direction of writing
/// or hide among others.
fn is_obeyed(letter: char) -> bool {
    match letter {
        '\n' | '\t' => false,
        '\u{ad}'
        | '\u{61c}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}' => true,
        _ => letter.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_that_a_terminal_obeys() {
        assert_eq!(printable("plain (text)\n\tof ünïcödé"), "plain (text)\n\tof ünïcödé");
        assert_eq!(printable("\u{1b}[31mred\r\u{7}"), "\\u001b[31mred\\u000d\\u0007");
        assert_eq!(printable("\u{9b}2J\u{7f}\u{202e}"), "\\u009b2J\\u007f\\u202e");
    }
}
