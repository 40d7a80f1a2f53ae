//! From text to syntax tree, in either notation.

mod infix;
mod kif;

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

/// Reads a text in the notation that it seems to be written in: the tree of what could be read, and what could not.
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

/// The notation of a text: infix where the first expression starts with a name that is followed by `(`, `:-`, `.` or
/// an end of line, prefix otherwise.
pub fn detect(text: &str) -> Form {
    let mut rest = text.trim_start_matches('\u{feff}').trim_start();
    while let Some(comment) = rest.strip_prefix([';', '%']) {
        rest = comment.find('\n').map_or("", |end| comment[end..].trim_start());
    }
    let word = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '\'')).unwrap_or(rest.len());
    let after = rest[word..].trim_start_matches([' ', '\t']);
    if word > 0 && (rest[word..].starts_with('(') || after.starts_with(":-") || after.starts_with("<=")) {
        Form::Infix
    } else {
        Form::Kif
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
