//! Prefix notation: `(<= (legal ?r noop) (true (control ?s)) (distinct ?r ?s))`.
//!
//! The reader never fails: it returns a tree of whatever could be read and a list of what could not. It is lenient
//! about layout alone: white space is any control character or space, and a name is anything between white space,
//! parentheses and `;`, which begins a comment.

use crate::ast::{Kind, NodeId, Tree};
use crate::diagnostic::{Code, Diagnostic, MAX_MISTAKES};
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
    let mut too_deep = false;
    let mut last_token = Span::default();

    for token in Tokens::new(text) {
        if diagnostics.len() >= MAX_MISTAKES {
            return (tree, diagnostics);
        }
        let span = token.span;
        if open.is_empty() && continues_mistake(text, &token, diagnostics.last_mut()) {
            continue;
        }
        match token.kind {
            TokenKind::Open => {
                if column_one_starts_a_rule && token.in_first_column && !open.is_empty() {
                    let missing = open.len() + skipped_depth;
                    close_all(&mut open, &mut pending, missing, last_token, &mut diagnostics);
                    skipped_depth = 0;
                    too_deep = false;
                }
                if open.len() >= MAX_DEPTH {
                    if skipped_depth == 0 {
                        diagnostics.push(
                            Diagnostic::new(Code::NestedTooDeep, span, "parentheses are nested too deeply")
                                .label(format!("this is level {}; the limit is {MAX_DEPTH}", MAX_DEPTH + 1))
                                .help("give the inner terms names of their own with a helper relation"),
                        );
                    }
                    skipped_depth += 1;
                    too_deep = true;
                } else {
                    open.push(Open { paren: span, children_from: pending.len() });
                }
            }
            TokenKind::Close if skipped_depth > 0 => skipped_depth -= 1,
            TokenKind::Close => match open.pop() {
                Some(list) => {
                    let node = tree.list(&pending[list.children_from..], list.paren.to(span));
                    pending.truncate(list.children_from);
                    if !open.is_empty() {
                        pending.push(node);
                    } else if !std::mem::take(&mut too_deep) {
                        tree.roots.push(node);
                    }
                }
                None => {
                    let mut found = Diagnostic::new(Code::StrayClose, span, "unexpected closing parenthesis")
                        .label("no parenthesis is open here")
                        .help("remove it, or open the list that it should close");
                    // Right after a rule it is plain to see what is wrong; elsewhere it helps to know where that ended.
                    let before = tree.roots.last().map(|&root| tree.span(root).end);
                    if let Some(before) =
                        before.filter(|&before| text[before as usize..span.range().start].contains('\n'))
                    {
                        found = found.also(Span { start: before - 1, end: before }, "the last rule was complete here");
                    }
                    diagnostics.push(found);
                }
            },
            TokenKind::Word => {
                let word = &text[span.range()];
                let symbol = tree.symbols.intern(word);
                let kind = if word.starts_with('?') { Kind::Variable(symbol) } else { Kind::Name(symbol) };
                let node = tree.atom(kind, span);
                if !open.is_empty() {
                    pending.push(node);
                } else {
                    diagnostics.push(
                        Diagnostic::new(
                            Code::StrayToken,
                            span,
                            format!("`{}` stands outside of any rule", shorten(word)),
                        )
                        .label("expected `(`")
                        .help("put it in parentheses if it is a fact; begin the line with `;` if it is a comment"),
                    );
                }
            }
        }
        last_token = span;
    }
    if !open.is_empty() {
        let missing = open.len() + skipped_depth;
        close_all(&mut open, &mut pending, missing, last_token, &mut diagnostics);
    }
    diagnostics.sort_by_key(|found| found.primary.span);
    (tree, diagnostics)
}

/// Whether a token outside of any list goes on with the last mistake: a run of words on one line is one mistake, and so
/// is a run of closing parentheses.
fn continues_mistake(text: &str, token: &Token, last: Option<&mut Diagnostic>) -> bool {
    let Some(last) = last else { return false };
    let end = last.primary.span.end as usize;
    let expected = match token.kind {
        TokenKind::Open => return false,
        TokenKind::Close => Code::StrayClose,
        TokenKind::Word => Code::StrayToken,
    };
    if last.code != expected {
        return false;
    }
    let between = &text[end..token.span.start as usize];
    if !between.bytes().all(is_space) || (expected == Code::StrayToken && between.contains('\n')) {
        return false;
    }
    last.primary.span.end = token.span.end;
    match expected {
        Code::StrayClose => {
            "unexpected closing parentheses".clone_into(&mut last.message);
            "remove them, or open the lists that they should close".clone_into(&mut last.help);
        }
        _ => last.message = format!("`{}` stands outside of any rule", shorten(&text[last.primary.span.range()])),
    }
    true
}

/// Reports the rule that is still open when its last token has been read, and drops it.
fn close_all(
    open: &mut Vec<Open>,
    pending: &mut Vec<NodeId>,
    missing: usize,
    last_token: Span,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let outer = open[0].paren;
    let are_missing = if missing == 1 { "parenthesis is" } else { "parentheses are" };
    let mut diagnostic = Diagnostic::new(Code::UnclosedParenthesis, outer, "this parenthesis is never closed")
        .label(format!("{missing} closing {are_missing} missing"));
    if last_token != outer {
        diagnostic = diagnostic.also(last_token, "the rule ends here");
    }
    diagnostics.push(match missing {
        0..=8 => diagnostic.help(format!("add `{}` where the rule should end", ")".repeat(missing))),
        _ => diagnostic.help("add them where the lists should end"),
    });
    open.clear();
    pending.clear();
}

/// The first few characters of a word, for messages.
pub(super) fn shorten(word: &str) -> String {
    if word.chars().nth(40).is_none() { word.to_owned() } else { word.chars().take(37).chain("...".chars()).collect() }
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
