//! Prefix notation: `(<= (legal ?r noop) (true (control ?s)) (distinct ?r ?s))`.
//!
//! The reader never fails: it returns a tree of whatever could be read and a list of what could not. It is lenient
//! about layout alone: white space is any control character or space, and a name is anything between white space,
//! parentheses and `;`, which begins a comment.

use crate::ast::{Kind, NodeId, Tree};
use crate::diagnostic::{self, Code, Diagnostic};
use crate::source::Span;

/// How deeply parentheses may nest. Real games need ten levels or so; the limit keeps every later pass free to recurse.
pub const MAX_DEPTH: usize = 256;

/// Reads a text in prefix notation.
pub(super) fn parse(text: &str) -> (Tree, Vec<Diagnostic>) {
    let (tree, diagnostics) = read(text, false);
    if diagnostics.iter().all(|found| found.code != Code::UnclosedParenthesis) {
        return (tree, diagnostics);
    }
    // A missing parenthesis swallows the rest of the text. Most authors start a rule in the first column, so a second
    // reading takes `(` there as the start of a new rule and finds the one rule that is incomplete.
    read(text, true)
}

struct Open {
    paren: Span,
    children_from: usize,
}

fn read(text: &str, column_one_starts_a_rule: bool) -> (Tree, Vec<Diagnostic>) {
    let mut tree = Tree::default();
    let mut diagnostics = Vec::new();
    let mut open: Vec<Open> = Vec::new();
    // The children of all open lists, the innermost last.
    let mut pending: Vec<NodeId> = Vec::new();
    let mut skipped_depth = 0usize;

    for token in Tokens::new(text) {
        let span = token.span;
        match token.kind {
            TokenKind::Open => {
                if column_one_starts_a_rule && token.in_first_column && !open.is_empty() {
                    close_all(text, &mut open, &mut pending, span.start as usize, &mut diagnostics);
                    skipped_depth = 0;
                }
                if open.len() >= MAX_DEPTH {
                    if skipped_depth == 0 {
                        diagnostic::add(
                            &mut diagnostics,
                            Diagnostic::new(Code::NestedTooDeep, span, "parentheses are nested too deeply")
                                .label(format!("this is level {}; the limit is {MAX_DEPTH}", MAX_DEPTH + 1))
                                .help("give the inner terms names of their own with a helper relation"),
                        );
                    }
                    skipped_depth += 1;
                } else {
                    open.push(Open { paren: span, children_from: pending.len() });
                }
            }
            TokenKind::Close if skipped_depth > 0 => skipped_depth -= 1,
            TokenKind::Close => match open.pop() {
                Some(list) => {
                    let node = tree.list(&pending[list.children_from..], list.paren.to(span));
                    pending.truncate(list.children_from);
                    if open.is_empty() { tree.roots.push(node) } else { pending.push(node) }
                }
                None => diagnostic::add(
                    &mut diagnostics,
                    Diagnostic::new(Code::StrayClose, span, "unexpected closing parenthesis")
                        .label("no parenthesis is open here")
                        .help("remove it, or open the list it should close"),
                ),
            },
            TokenKind::Word => {
                let word = &text[span.range()];
                let symbol = tree.symbols.intern(word);
                let kind = if word.starts_with('?') { Kind::Variable(symbol) } else { Kind::Name(symbol) };
                let node = tree.atom(kind, span);
                if !open.is_empty() {
                    pending.push(node);
                } else {
                    diagnostic::add(
                        &mut diagnostics,
                        Diagnostic::new(
                            Code::StrayToken,
                            span,
                            format!("`{}` stands outside of any rule", shorten(word)),
                        )
                        .label("expected `(`")
                        .help("put it in parentheses if it is a fact, or start a comment with `;`"),
                    );
                }
            }
        }
    }
    if !open.is_empty() {
        close_all(text, &mut open, &mut pending, text.len(), &mut diagnostics);
    }
    diagnostics.sort_by_key(|found| found.primary.span);
    (tree, diagnostics)
}

/// Reports the innermost list that is still open and drops the rule it belongs to.
fn close_all(
    text: &str,
    open: &mut Vec<Open>,
    pending: &mut Vec<NodeId>,
    end: usize,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let outer = open[0].paren;
    let last = text[..end].trim_end().len().max(outer.end as usize);
    let missing = open.len();
    let mut found = Diagnostic::new(Code::UnclosedParenthesis, outer, "this parenthesis is never closed")
        .label(format!("{missing} closing parenthes{} missing", if missing == 1 { "is is" } else { "es are" }))
        .help(format!("add `{}` where the rule should end", ")".repeat(missing.min(8))));
    let next = Span::new(last, (last + 1).min(text.len()).max(last));
    if text.is_char_boundary(next.end as usize) && last > outer.end as usize {
        found = found.also(Span::new(floor_char(text, last - 1), last), "the rule ends here");
    }
    diagnostic::add(diagnostics, found);
    open.clear();
    pending.clear();
}

fn floor_char(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The first few characters of a word, for messages.
pub(super) fn shorten(word: &str) -> String {
    if word.chars().count() <= 40 { word.to_owned() } else { word.chars().take(37).chain("...".chars()).collect() }
}

enum TokenKind {
    Open,
    Close,
    Word,
}

struct Token {
    kind: TokenKind,
    span: Span,
    in_first_column: bool,
}

struct Tokens<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Tokens<'a> {
    fn new(text: &'a str) -> Tokens<'a> {
        Tokens { text, at: 0 }
    }
}

impl Iterator for Tokens<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        let bytes = self.text.as_bytes();
        // Step 1. Skip white space and comments.
        while let Some(&byte) = bytes.get(self.at) {
            match byte {
                b';' => {
                    self.at += bytes[self.at..].iter().position(|&b| b == b'\n').unwrap_or(bytes.len() - self.at);
                }
                byte if is_space(byte) => self.at += 1,
                _ if self.text[self.at..].starts_with('\u{feff}') => self.at += '\u{feff}'.len_utf8(),
                _ => break,
            }
        }
        // Step 2. Take one parenthesis or one word.
        let start = self.at;
        let kind = match *bytes.get(start)? {
            b'(' => TokenKind::Open,
            b')' => TokenKind::Close,
            _ => TokenKind::Word,
        };
        self.at += match kind {
            TokenKind::Word => bytes[start..]
                .iter()
                .position(|&b| is_space(b) || matches!(b, b'(' | b')' | b';'))
                .unwrap_or(bytes.len() - start),
            _ => 1,
        };
        let in_first_column = start == 0 || bytes[start - 1] == b'\n';
        Some(Token { kind, span: Span::new(start, self.at), in_first_column })
    }
}

fn is_space(byte: u8) -> bool {
    byte <= b' ' || byte == 0x7f
}
