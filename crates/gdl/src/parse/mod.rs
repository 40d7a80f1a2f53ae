//! From text to syntax tree, in either notation.

mod infix;
mod kif;

pub(crate) use infix::is_word;
pub use kif::MAX_DEPTH;

use crate::ast::Tree;
use crate::diagnostic::{Code, Diagnostic};
use crate::source::{MAX_SOURCE_BYTES, Source, Span};

/// The two notations of GDL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Prefix, as in `(<= (p ?x) (q ?x))`.
    Kif,
    /// Infix, as in `p(X) :- q(X)`.
    Infix,
}

/// Reads a text in the notation that it seems to be written in ([`detect`]): the tree of what could be read, and what could not.
pub fn parse(source: &Source) -> (Tree, Vec<Diagnostic>) {
    let text = source.text();
    if text.len() > MAX_SOURCE_BYTES {
        let found = Diagnostic::new(Code::TooLarge, Span::new(0, 0), "the rule text is too large")
            .label(format!("{} bytes; the limit is {MAX_SOURCE_BYTES}", text.len()))
            .help("a game of this size is most likely a generated file with a mistake; split or shorten it");
        return (Tree::default(), vec![found]);
    }
    match detect(text) {
        Form::Kif => kif::parse(text),
        Form::Infix => infix::parse(text),
    }
}

/// The notation of a text, judged by how it begins. In prefix notation everything stands in parentheses; in infix
/// notation a rule begins with a name, and the name is followed by `(` without a space, by `:-`, `<=` or `.`.
pub fn detect(text: &str) -> Form {
    let mut rest = text;
    loop {
        // Step 1. Skip white space and comments.
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c.is_control() || c == '\u{feff}');
        if let Some(comment) = rest.strip_prefix([';', '%']) {
            rest = comment.find('\n').map_or("", |end| &comment[end..]);
            continue;
        }
        // Step 2. Look at what follows a word. Words that follow each other tell nothing.
        if rest.starts_with('\'') {
            return Form::Infix;
        }
        let word = rest.find(|c| !infix::is_word(c)).unwrap_or(rest.len());
        rest = &rest[word..];
        let after = rest.trim_start();
        if word > 0 && (rest.starts_with('(') || [":-", "<=", "."].iter().any(|sign| after.starts_with(sign))) {
            return Form::Infix;
        }
        let more_words = after.starts_with(|c| infix::is_word(c) || matches!(c, ';' | '%'));
        if word == 0 || !more_words {
            return Form::Kif;
        }
    }
}

/// Turns bytes into a [`Source`], with a diagnostic where they are not UTF-8 (each bad byte is read as `�`).
pub fn decode(name: &str, bytes: &[u8]) -> (Source, Vec<Diagnostic>) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (Source::new(name, text), Vec::new()),
        Err(error) => {
            let start = error.valid_up_to();
            let source = Source::new(name, String::from_utf8_lossy(bytes));
            let found = Diagnostic::new(
                Code::NotUtf8,
                Span::new(start, start + '\u{fffd}'.len_utf8()),
                "the rule text is not UTF-8",
            )
            .label(format!("byte 0x{:02x} at offset {start}", bytes[start]))
            .help("save the file as UTF-8; GDL itself needs only ASCII");
            (source, vec![found])
        }
    }
}
