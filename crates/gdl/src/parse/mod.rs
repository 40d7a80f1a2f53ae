//! From text to syntax tree, in either notation.

mod infix;
mod kif;

pub(crate) use infix::is_word;
pub use kif::MAX_DEPTH;

use crate::ast::Tree;
use crate::diagnostic::{Code, Diagnostic, MAX_MISTAKES};
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
    if source.is_oversized() {
        let first_line = text.find('\n').unwrap_or(text.len());
        let found = Diagnostic::new(Code::TooLarge, Span::new(0, first_line), "the rule text is too large")
            .label(format!("the text that begins here has more than {} MiB", MAX_SOURCE_BYTES >> 20))
            .note("the largest games known have less than 100 kB")
            .help("check that this is a rule file; if it was generated, look for what is repeated");
        let mut tree = Tree::default();
        tree.damaged = true;
        return (tree, vec![found]);
    }
    let (mut tree, mut diagnostics) = match detect(text) {
        Form::Kif => kif::parse(text),
        Form::Infix => infix::parse(text),
    };
    tree.damaged = !diagnostics.is_empty();
    if diagnostics.len() >= MAX_MISTAKES {
        let last = diagnostics.last_mut().expect("the limit is above 0");
        last.notes.push(format!("this is mistake number {MAX_MISTAKES}; others are not reported"));
    }
    (tree, diagnostics)
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
            if source.is_oversized() {
                // It is refused for its length, and what is wrong inside does not matter.
                return (source, Vec::new());
            }
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
