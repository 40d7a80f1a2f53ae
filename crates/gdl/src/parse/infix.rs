//! Infix notation: `legal(R, noop) :- true(control(S)) & distinct(R, S)`.
//!
//! A name that begins with a capital letter or `_` is a variable, and so is one that begins with `?`, as in prefix
//! notation; `_` alone is a new variable wherever it stands. A name in single quotes is never a variable and may hold
//! whatever a name may hold in prefix notation, a quote being written twice. `~` (also `not`) negates, `&` (also `,`)
//! and `|` connect, `&` more tightly than `|`. A rule ends with `.` or where the next one begins; its neck is `:-`
//! (also `<=`). `%` and `;` begin comments.
//!
//! Parentheses around literals are kept as an `and` or `or` of their own, and `p()` differs from `p` as `(p)` does, so
//! that every tree which prefix notation can give and [`resolve`](crate::resolve) accepts can be written down.

use std::borrow::Cow;

use super::kif::{MAX_DEPTH, shorten};
use crate::ast::{Kind, NodeId, Tree};
use crate::diagnostic::{Code, Diagnostic, MAX_MISTAKES};
use crate::source::Span;
use crate::symbol::{SymbolId, keyword};

/// Reads a text in infix notation.
pub(super) fn parse(text: &str) -> (Tree, Vec<Diagnostic>) {
    let tokens = tokenize(text);
    let mut parser = Parser { text, tokens: &tokens, at: 0, depth: 0, n_anonymous: 0, tree: Tree::default() };
    let mut diagnostics = Vec::new();
    while parser.at < tokens.len() {
        let start = parser.at;
        match parser.rule() {
            Ok(node) => parser.tree.roots.push(node),
            Err(problem) => {
                diagnostics.push(*problem);
                if diagnostics.len() >= MAX_MISTAKES {
                    break;
                }
                parser.depth = 0;
                parser.skip_rule(start);
            }
        }
    }
    (parser.tree, diagnostics)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TokenKind {
    Name,
    Quoted,
    Variable,
    Open,
    Close,
    Comma,
    And,
    Or,
    Not,
    Neck,
    Stop,
    Odd,
}

#[derive(Clone, Copy)]
struct Token {
    kind: TokenKind,
    span: Span,
}

fn tokenize(text: &str) -> Vec<Token> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &text[at..];
        let first = rest.chars().next().expect("`at` is inside the text and on a character boundary");
        let (kind, len) = match first {
            '%' | ';' => {
                at += rest.find('\n').unwrap_or(rest.len());
                continue;
            }
            c if c.is_whitespace() || c.is_control() || c == '\u{feff}' => {
                at += c.len_utf8();
                continue;
            }
            '(' => (TokenKind::Open, 1),
            ')' => (TokenKind::Close, 1),
            ',' => (TokenKind::Comma, 1),
            '&' => (TokenKind::And, 1),
            '|' => (TokenKind::Or, 1),
            '~' => (TokenKind::Not, 1),
            ':' if rest.starts_with(":-") => (TokenKind::Neck, 2),
            '<' if rest.starts_with("<=") => (TokenKind::Neck, 2),
            '\'' => match quoted_len(rest) {
                Some(len) => (TokenKind::Quoted, len),
                None => (TokenKind::Odd, 1),
            },
            c if is_word(c) => {
                let len = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
                let variable = c.is_uppercase() || c == '_' || c == '?';
                (if variable { TokenKind::Variable } else { TokenKind::Name }, len)
            }
            '.' => (TokenKind::Stop, 1),
            c => (TokenKind::Odd, c.len_utf8()),
        };
        tokens.push(Token { kind, span: Span::new(at, at + len) });
        at += len;
    }
    tokens
}

/// Whether a character may stand in a name without quotes.
pub(crate) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '?' | '+' | '-' | '*' | '/' | '!' | '@' | '#' | '$')
}

/// The length of the quoted name at the start of the text, quotes included; `None` if it does not end, or if prefix
/// notation has no such name.
fn quoted_len(text: &str) -> Option<usize> {
    let inside = &text[1..];
    if inside.starts_with(['?', '\u{feff}']) {
        return None;
    }
    let mut rest = inside;
    loop {
        let at = rest.find(|c: char| c <= ' ' || matches!(c, '\'' | '(' | ')' | ';' | '\u{7f}'))?;
        rest = rest[at..].strip_prefix('\'')?;
        match rest.strip_prefix('\'') {
            Some(more) => rest = more,
            None => break,
        }
    }
    let len = text.len() - rest.len();
    (len > 2).then_some(len)
}

struct Parser<'a> {
    text: &'a str,
    tokens: &'a [Token],
    at: usize,
    depth: usize,
    n_anonymous: usize,
    tree: Tree,
}

type Parsed = Result<NodeId, Box<Diagnostic>>;

/// What may stand between the literals of a conjunction.
const CONJUNCTION: &[TokenKind] = &[TokenKind::And, TokenKind::Comma];
/// The same among the arguments of a connective, `or(a & b, c)`, where commas separate the arguments.
const ARGUMENT: &[TokenKind] = &[TokenKind::And];

impl Parser<'_> {
    fn peek(&self) -> Option<TokenKind> {
        self.tokens.get(self.at).map(|token| token.kind)
    }

    fn take(&mut self, kind: TokenKind) -> Option<Span> {
        let token = *self.tokens.get(self.at).filter(|token| token.kind == kind)?;
        self.at += 1;
        Some(token.span)
    }

    fn expected(&self, what: &str) -> Box<Diagnostic> {
        let (span, found) = match self.tokens.get(self.at) {
            Some(token) => (token.span, format!("found `{}`", shorten(&self.text[token.span.range()]))),
            None => {
                let end = self.text.trim_end().len();
                (Span::new(end, end), "the text ends here".to_owned())
            }
        };
        let problem = Diagnostic::new(Code::InfixSyntax, span, format!("expected {what}"))
            .label(found)
            .help("a rule reads `head :- literal & literal`; variables begin with a capital letter");
        Box::new(problem)
    }

    /// After a mistake: goes to the next full stop, or to the next line that starts with a name in its first column.
    fn skip_rule(&mut self, start: usize) {
        self.at = self.at.max(start + 1);
        while let Some(token) = self.tokens.get(self.at) {
            let first = token.span.start as usize;
            if matches!(token.kind, TokenKind::Name | TokenKind::Quoted)
                && (first == 0 || self.text.as_bytes()[first - 1] == b'\n')
            {
                return;
            }
            self.at += 1;
            if token.kind == TokenKind::Stop {
                return;
            }
        }
    }

    fn rule(&mut self) -> Parsed {
        if self.peek() == Some(TokenKind::Variable) {
            return Err(self.expected("the name of a relation"));
        }
        let head = self.term()?;
        let mut node = head;
        if let Some(neck) = self.take(TokenKind::Neck) {
            let mut children = vec![self.tree.atom(Kind::Name(keyword::IMPLIED_BY), neck), head];
            if self.peek() != Some(TokenKind::Stop) {
                children.extend(self.body(CONJUNCTION)?);
            }
            let end = self.tree.span(*children.last().expect("the head is there"));
            node = self.tree.list(&children, self.tree.span(head).to(neck).to(end));
        }
        self.take(TokenKind::Stop);
        // The limit is the one of prefix notation, so that each can be turned into the other.
        if self.tree.depth(node) > MAX_DEPTH { Err(too_deep(self.tree.span(node))) } else { Ok(node) }
    }

    /// Literals and connectives as the literals of a conjunction: several, unless a `|` makes them one.
    fn body(&mut self, separators: &[TokenKind]) -> Result<Vec<NodeId>, Box<Diagnostic>> {
        let first = self.conjuncts(separators)?;
        if self.peek() != Some(TokenKind::Or) {
            return Ok(first);
        }
        let mut branches = vec![self.join(keyword::AND, first)];
        while self.take(TokenKind::Or).is_some() {
            let branch = self.conjuncts(separators)?;
            branches.push(self.join(keyword::AND, branch));
        }
        Ok(vec![self.join(keyword::OR, branches)])
    }

    fn conjuncts(&mut self, separators: &[TokenKind]) -> Result<Vec<NodeId>, Box<Diagnostic>> {
        let mut literals = vec![self.literal()?];
        while self.peek().is_some_and(|kind| separators.contains(&kind)) {
            self.at += 1;
            literals.push(self.literal()?);
        }
        Ok(literals)
    }

    /// A list that opens with the connective, unless there is only one part.
    fn join(&mut self, connective: SymbolId, parts: Vec<NodeId>) -> NodeId {
        let (&first, &last) = (parts.first().expect("at least one part"), parts.last().expect("at least one part"));
        if parts.len() == 1 {
            return first;
        }
        let span = self.tree.span(first).to(self.tree.span(last));
        let mut children = vec![self.tree.atom(Kind::Name(connective), span)];
        children.extend(parts);
        self.tree.list(&children, span)
    }

    fn literal(&mut self) -> Parsed {
        if let Some(not) = self.take_not() {
            let body = self.deeper(Parser::literal)?;
            let name = self.tree.atom(Kind::Name(keyword::NOT), not);
            return Ok(self.tree.list(&[name, body], not.to(self.tree.span(body))));
        }
        if self.take(TokenKind::Open).is_none() {
            return self.term();
        }
        self.deeper(|parser| {
            let parts = parser.body(CONJUNCTION)?;
            let inner = parser.join(keyword::AND, parts);
            if parser.take(TokenKind::Close).is_none() {
                return Err(parser.expected("`)`, `&` or `|`"));
            }
            Ok(inner)
        })
    }

    /// Takes `~`, or the word `not` in front of a literal. `not(` is left alone: it is an application.
    fn take_not(&mut self) -> Option<Span> {
        if let Some(span) = self.take(TokenKind::Not) {
            return Some(span);
        }
        let [word, next, ..] = self.tokens[self.at..] else { return None };
        let is_not = word.kind == TokenKind::Name && self.text[word.span.range()].eq_ignore_ascii_case("not");
        let starts_literal = match next.kind {
            TokenKind::Open => next.span.start > word.span.end,
            kind => matches!(kind, TokenKind::Name | TokenKind::Quoted | TokenKind::Not),
        };
        if !is_not || !starts_literal {
            return None;
        }
        self.at += 1;
        Some(word.span)
    }

    fn term(&mut self) -> Parsed {
        let Some(token) = self.tokens.get(self.at).copied() else {
            return Err(self.expected("a name or a variable"));
        };
        let text = &self.text[token.span.range()];
        let node = match token.kind {
            TokenKind::Variable => {
                let symbol = match text {
                    "_" => {
                        self.n_anonymous += 1;
                        // Nobody can write this name in infix notation.
                        self.tree.symbols.intern(&format!("?_.{}", self.n_anonymous))
                    }
                    text if text.starts_with('?') => self.tree.symbols.intern(text),
                    text => self.tree.symbols.intern(&format!("?{text}")),
                };
                self.tree.atom(Kind::Variable(symbol), token.span)
            }
            TokenKind::Name => {
                let symbol = self.tree.symbols.intern(text);
                self.tree.atom(Kind::Name(symbol), token.span)
            }
            TokenKind::Quoted => {
                let symbol = self.tree.symbols.intern(&unquote(text));
                self.tree.atom(Kind::Name(symbol), token.span)
            }
            _ => return Err(self.expected("a name or a variable")),
        };
        self.at += 1;
        // `f(` is an application, `f (` is not: a new rule or group may begin with a parenthesis.
        let opens = self.tokens.get(self.at).is_some_and(|next| {
            next.kind == TokenKind::Open && next.span.start == token.span.end && token.kind != TokenKind::Variable
        });
        if !opens {
            return Ok(node);
        }
        self.at += 1;
        self.deeper(|parser| parser.application(node, token.span))
    }

    /// The arguments of `name` and their closing parenthesis.
    fn application(&mut self, name: NodeId, start: Span) -> Parsed {
        let mut children = vec![name];
        if let Some(close) = self.take(TokenKind::Close) {
            return Ok(self.tree.list(&children, start.to(close)));
        }
        // The connectives may also be written as applications, `or(a, b)` and `not(a & b)`.
        let connective = matches!(self.tree.head(name), Some(keyword::NOT | keyword::OR | keyword::AND));
        loop {
            children.push(if connective {
                let parts = self.body(ARGUMENT)?;
                self.join(keyword::AND, parts)
            } else {
                self.term()?
            });
            if self.take(TokenKind::Comma).is_some() {
                continue;
            }
            let Some(close) = self.take(TokenKind::Close) else {
                return Err(self.expected("`,` or `)`"));
            };
            return Ok(self.tree.list(&children, start.to(close)));
        }
    }

    fn deeper(&mut self, part: impl FnOnce(&mut Self) -> Parsed) -> Parsed {
        if self.depth >= MAX_DEPTH {
            return Err(too_deep(self.tokens[self.at.min(self.tokens.len() - 1)].span));
        }
        self.depth += 1;
        let parsed = part(self);
        self.depth -= 1;
        parsed
    }
}

/// The name between the quotes.
fn unquote(text: &str) -> Cow<'_, str> {
    let inside = &text[1..text.len() - 1];
    if inside.contains('\'') { inside.replace("''", "'").into() } else { inside.into() }
}

fn too_deep(span: Span) -> Box<Diagnostic> {
    let problem = Diagnostic::new(Code::NestedTooDeep, span, "terms are nested too deeply")
        .label(format!("the limit is {MAX_DEPTH} levels"))
        .help("give the inner terms names of their own with a helper relation");
    Box::new(problem)
}
