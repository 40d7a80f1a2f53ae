//! Terms as text: the one form in which moves are compared, and the form in which others expect them.
//!
//! A text is cut into parentheses and words; nothing here recurses, so that hostile nesting costs time in proportion to the text
//! and no stack. Words are separated by white space and parentheses; a comment begins with `;` and ends with its line. What
//! stands between double quotes or bars is one word, whatever it contains.

/// A piece of a text: where it begins and ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    Open(usize),
    Close(usize),
    Word(usize, usize),
}

/// Cuts a text into tokens.
pub(crate) fn tokens(text: &str) -> impl Iterator<Item = Token> + '_ {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let start = at;
            match *bytes.get(at)? {
                b'(' => {
                    at += 1;
                    return Some(Token::Open(start));
                }
                b')' => {
                    at += 1;
                    return Some(Token::Close(start));
                }
                b';' => at = find(bytes, at, |byte| byte == b'\n' || byte == b'\r'),
                byte if is_space(byte) => at += 1,
                quote @ (b'"' | b'|') => {
                    at = (find(bytes, at + 1, |byte| byte == quote) + 1).min(bytes.len());
                    return Some(Token::Word(start, at));
                }
                _ => {
                    at = find(bytes, at, |byte| is_space(byte) || matches!(byte, b'(' | b')' | b';'));
                    return Some(Token::Word(start, at));
                }
            }
        }
    })
}

fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte < b' '
}

fn find(bytes: &[u8], from: usize, is_it: impl Fn(u8) -> bool) -> usize {
    bytes[from..].iter().position(|&byte| is_it(byte)).map_or(bytes.len(), |place| from + place)
}

/// The elements of the first list of a text, as they stand there; `None` if the text does not begin with a list. A list that
/// is not closed ends with the text, and an unclosed element is left out.
pub(crate) fn elements(text: &str) -> Option<Vec<&str>> {
    let mut found = Vec::new();
    let (mut depth, mut start) = (0usize, 0);
    for token in tokens(text) {
        match token {
            Token::Open(at) => {
                if depth == 1 {
                    start = at;
                }
                depth += 1;
            }
            Token::Close(at) => {
                depth = depth.checked_sub(1)?;
                match depth {
                    0 => return Some(found),
                    1 => found.push(&text[start..=at]),
                    _ => {}
                }
            }
            Token::Word(..) if depth == 0 => return None,
            Token::Word(from, to) if depth == 1 => found.push(&text[from..to]),
            Token::Word(..) => {}
        }
    }
    (depth > 0).then_some(found)
}

/// Says of a text that comes in pieces whether every parenthesis is closed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Balance {
    depth: i64,
    any: bool,
    inside: Inside,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Inside {
    #[default]
    Nothing,
    Word,
    Comment,
    Quote(u8),
}

impl Balance {
    /// Takes in the next piece.
    pub(crate) fn add(&mut self, piece: &[u8]) {
        for &byte in piece {
            self.inside = match (self.inside, byte) {
                (Inside::Comment, b'\n' | b'\r') => Inside::Nothing,
                (Inside::Comment, _) => Inside::Comment,
                (Inside::Quote(quote), _) if byte == quote => Inside::Nothing,
                (Inside::Quote(quote), _) => Inside::Quote(quote),
                (_, b'(') => {
                    (self.depth, self.any) = (self.depth + 1, true);
                    Inside::Nothing
                }
                (_, b')') => {
                    self.depth -= 1;
                    Inside::Nothing
                }
                (_, b';') => Inside::Comment,
                (Inside::Nothing, b'"' | b'|') => Inside::Quote(byte),
                (_, byte) if is_space(byte) => Inside::Nothing,
                _ => Inside::Word,
            };
        }
    }

    /// Whether there was a list, and every list is closed.
    pub(crate) fn is_complete(&self) -> bool {
        self.any && self.depth <= 0
    }
}

/// A term in the form in which terms are compared: lower case, one space between words, none inside parentheses, and none
/// around a single word. `None` if the text is not one term.
pub fn canonical(text: &str) -> Option<String> {
    let mut result = write(text, false)?.to_lowercase();
    // A word alone in parentheses is the word.
    while let Some(word) = result.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'))
        && !word.contains(['(', ')', ' '])
        && !word.is_empty()
    {
        result = word.to_owned();
    }
    Some(result)
}

/// A term as other programs write it, a space on each side of every parenthesis: `( mark 1 2 )`. What is not one term stays as it
/// is.
pub fn spaced(text: &str) -> String {
    write(text, true).unwrap_or_else(|| text.to_owned())
}

fn write(text: &str, spaced: bool) -> Option<String> {
    let mut result = String::with_capacity(text.len());
    let mut depth = 0usize;
    let mut ended = false;
    for token in tokens(text) {
        if ended {
            return None;
        }
        let piece = match token {
            Token::Open(_) => "(",
            Token::Close(_) => ")",
            Token::Word(from, to) => &text[from..to],
        };
        let inside = match token {
            Token::Close(_) => spaced,
            _ => spaced || !result.ends_with('('),
        };
        if inside && !result.is_empty() {
            result.push(' ');
        }
        result.push_str(piece);
        match token {
            Token::Open(_) => depth += 1,
            Token::Close(_) => depth = depth.checked_sub(1)?,
            Token::Word(..) => {}
        }
        ended = depth == 0;
    }
    ended.then_some(result)
}

/// A text without comments and line breaks.
pub(crate) fn one_line(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    for token in tokens(text) {
        let piece = match token {
            Token::Open(_) => "(",
            Token::Close(_) => ")",
            Token::Word(from, to) => &text[from..to],
        };
        if !result.is_empty() && piece != ")" && !result.ends_with('(') {
            result.push(' ');
        }
        result.push_str(piece);
    }
    result
}

/// A text with every word replaced by what `rename` says.
pub(crate) fn renamed(text: &str, rename: impl Fn(&str) -> Option<String>) -> String {
    let mut result = String::with_capacity(text.len());
    let mut from = 0;
    for token in tokens(text) {
        if let Token::Word(start, end) = token
            && let Some(word) = rename(&text[start..end])
        {
            result.push_str(&text[from..start]);
            result.push_str(&word);
            from = end;
        }
    }
    result.push_str(&text[from..]);
    result
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn terms_have_one_form() {
        for text in ["(Mark 1 (x  Y))", " ( MARK 1\t( X y ) ) ", "(mark 1(x y)) ; a comment", "(\r\nmark\n1 (x y))\n"] {
            assert_eq!(canonical(text).as_deref(), Some("(mark 1 (x y))"), "{text:?}");
        }
        for text in ["noop", " NOOP\n", "( noop )", "(noop)"] {
            assert_eq!(canonical(text).as_deref(), Some("noop"), "{text:?}");
        }
        for text in ["", " ", "(", ")", "a b", "(a) b", "(a", "; all of it"] {
            assert_eq!(canonical(text), None, "{text:?}");
        }
        assert_eq!(spaced("(mark 1 (x y))"), "( mark 1 ( x y ) )");
        assert_eq!(one_line("(a b) ; one\n(c\n (d))"), "(a b) (c (d))");
    }

    #[test]
    fn elements_stand_as_they_are() {
        assert_eq!(elements("( PLAY m.1 ((a b)  c ) )"), Some(vec!["PLAY", "m.1", "((a b)  c )"]));
        assert_eq!(elements("(PLAY \"m (1\" NIL"), Some(vec!["PLAY", "\"m (1\"", "NIL"]));
        assert_eq!(elements("PLAY m NIL"), None);
        assert_eq!(elements(") (a)"), None);
        assert_eq!(elements("()"), Some(vec![]));
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in "[()\\s;\"|a-cA-Cé]{0,40}") {
            tokens(&text).count();
            elements(&text);
            let mut balance = Balance::default();
            balance.add(text.as_bytes());
            let count = |wanted: fn(&Token) -> bool| tokens(&text).filter(wanted).count();
            let (open, close) = (count(|t| matches!(t, Token::Open(_))), count(|t| matches!(t, Token::Close(_))));
            prop_assert_eq!(balance.is_complete(), open > 0 && open <= close);
            one_line(&text);
            if let Some(form) = canonical(&text) {
                prop_assert_eq!(canonical(&form), Some(form.clone()), "a form is its own form");
                prop_assert_eq!(canonical(&spaced(&text)), Some(form));
            }
        }
    }
}
