//! Infix notation: `legal(R, noop) :- true(control(S)) & distinct(R, S)`.
//!
//! A name that begins with a capital letter or `_` is a variable; a name in single quotes never is, and may hold
//! any character but a quote, a parenthesis or white space. `~` (also `not`) negates, `&` (also `,`) and `|` connect,
//! `&` more tightly than `|`. A rule ends with `.` or where the next one begins; `%` and `;` begin comments.

use super::kif::{MAX_DEPTH, shorten};
use crate::ast::{Kind, NodeId, Tree};
use crate::diagnostic::{Code, Diagnostic, MAX_MISTAKES};
use crate::source::Span;
use crate::symbol::keyword;

/// Reads a text in infix notation.
pub(super) fn parse(text: &str) -> (Tree, Vec<Diagnostic>) {
    let tokens = tokenize(text);
    let mut parser = Parser { text, tokens: &tokens, at: 0, depth: 0, tree: Tree::default(), diagnostics: Vec::new() };
    while parser.at < tokens.len() {
        let start = parser.at;
        match parser.rule() {
            Ok(node) => parser.tree.roots.push(node),
            Err(problem) => {
                parser.diagnostics.push(problem);
                if parser.diagnostics.len() >= MAX_MISTAKES {
                    break;
                }
                parser.skip_rule(start);
            }
        }
    }
    (parser.tree, parser.diagnostics)
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
            '\'' => match rest[1..].find(|c: char| c == '\'' || c.is_whitespace() || matches!(c, '(' | ')')) {
                Some(end) if end > 0 && rest[1 + end..].starts_with('\'') => (TokenKind::Quoted, end + 2),
                _ => (TokenKind::Odd, 1),
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

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '?' | '+' | '-' | '*' | '/' | '!' | '@' | '#' | '$')
}

struct Parser<'a> {
    text: &'a str,
    tokens: &'a [Token],
    at: usize,
    depth: usize,
    tree: Tree,
    diagnostics: Vec<Diagnostic>,
}

type Parsed = Result<NodeId, Diagnostic>;

impl Parser<'_> {
    fn peek(&self) -> Option<TokenKind> {
        self.tokens.get(self.at).map(|token| token.kind)
    }

    fn take(&mut self, kind: TokenKind) -> Option<Span> {
        let token = *self.tokens.get(self.at).filter(|token| token.kind == kind)?;
        self.at += 1;
        Some(token.span)
    }

    fn expected(&self, what: &str) -> Diagnostic {
        let (span, found) = match self.tokens.get(self.at) {
            Some(token) => (token.span, format!("found `{}`", shorten(&self.text[token.span.range()]))),
            None => {
                let end = self.text.trim_end().len();
                (Span::new(end, end), "the text ends here".to_owned())
            }
        };
        Diagnostic::new(Code::InfixSyntax, span, format!("expected {what}"))
            .label(found)
            .help("a rule reads `head :- literal & literal`; variables begin with a capital letter")
    }

    /// After a mistake: goes to the next full stop, or to the next line that starts with a name in its first column.
    fn skip_rule(&mut self, start: usize) {
        self.at = self.at.max(start + 1);
        while let Some(token) = self.tokens.get(self.at) {
            let first = token.span.start as usize;
            if token.kind == TokenKind::Name && (first == 0 || self.text.as_bytes()[first - 1] == b'\n') {
                return;
            }
            self.at += 1;
            if token.kind == TokenKind::Stop {
                return;
            }
        }
    }

    fn name_node(&mut self, symbol: crate::symbol::SymbolId, span: Span) -> NodeId {
        self.tree.atom(Kind::Name(symbol), span)
    }

    fn rule(&mut self) -> Parsed {
        let head = self.term()?;
        let mut node = head;
        if let Some(neck) = self.take(TokenKind::Neck) {
            let mut children = vec![self.name_node(keyword::IMPLIED_BY, neck), head];
            let body = self.disjunction()?;
            // A body that is one conjunction is spread out, as the prefix notation has it.
            match self.tree.head(body) {
                Some(keyword::AND) if self.tree.kind(body) == Kind::List => {
                    children.extend_from_slice(&self.tree.children(body)[1..]);
                }
                _ => children.push(body),
            }
            let span = self.tree.span(head).to(self.tree.span(body));
            node = self.tree.list(&children, span);
        }
        self.take(TokenKind::Stop);
        Ok(node)
    }

    fn disjunction(&mut self) -> Parsed {
        self.chain(keyword::OR, &[TokenKind::Or], Parser::conjunction)
    }

    fn conjunction(&mut self) -> Parsed {
        self.chain(keyword::AND, &[TokenKind::And, TokenKind::Comma], Parser::literal)
    }

    /// One or more `part`s with connectives between them; a list that opens with `connective` if there is more than one.
    fn chain(
        &mut self,
        connective: crate::symbol::SymbolId,
        separators: &[TokenKind],
        part: fn(&mut Self) -> Parsed,
    ) -> Parsed {
        let first = part(self)?;
        let mut children = vec![first];
        while self.peek().is_some_and(|kind| separators.contains(&kind)) {
            self.at += 1;
            children.push(part(self)?);
        }
        if children.len() == 1 {
            return Ok(first);
        }
        let span = self.tree.span(first).to(self.tree.span(*children.last().expect("at least two parts")));
        children.insert(0, self.name_node(connective, span));
        Ok(self.tree.list(&children, span))
    }

    fn literal(&mut self) -> Parsed {
        self.deeper(|parser| {
            if let Some(not) = parser.take(TokenKind::Not) {
                let body = parser.literal()?;
                let span = not.to(parser.tree.span(body));
                let name = parser.name_node(keyword::NOT, not);
                return Ok(parser.tree.list(&[name, body], span));
            }
            if parser.take(TokenKind::Open).is_some() {
                let inner = parser.disjunction()?;
                if parser.take(TokenKind::Close).is_none() {
                    return Err(parser.expected("`)`, `&` or `|`"));
                }
                return Ok(inner);
            }
            parser.term()
        })
    }

    fn term(&mut self) -> Parsed {
        self.deeper(|parser| {
            let Some(token) = parser.tokens.get(parser.at).copied() else {
                return Err(parser.expected("a name or a variable"));
            };
            let text = &parser.text[token.span.range()];
            let node = match token.kind {
                TokenKind::Variable => {
                    let name = text.strip_prefix('?').unwrap_or(text);
                    let symbol = parser.tree.symbols.intern(&format!("?{name}"));
                    parser.tree.atom(Kind::Variable(symbol), token.span)
                }
                TokenKind::Name | TokenKind::Quoted => {
                    let symbol = parser.tree.symbols.intern(text.trim_matches('\''));
                    parser.tree.atom(Kind::Name(symbol), token.span)
                }
                _ => return Err(parser.expected("a name or a variable")),
            };
            parser.at += 1;
            // `f(` is an application, `f (` is not: a new rule or group may begin with a parenthesis.
            let opens = parser.tokens.get(parser.at).is_some_and(|next| {
                next.kind == TokenKind::Open && next.span.start == token.span.end && token.kind != TokenKind::Variable
            });
            if !opens {
                return Ok(node);
            }
            parser.at += 1;
            let mut children = vec![node];
            if let Some(close) = parser.take(TokenKind::Close) {
                return Ok(parser.tree.list(&children, token.span.to(close)));
            }
            // The connectives may also be written as applications, `or(a,b)` and `not(a & b)`.
            let connective = matches!(parser.tree.head(node), Some(keyword::NOT | keyword::OR | keyword::AND));
            loop {
                children.push(if connective { parser.conjunction_of_arguments()? } else { parser.term()? });
                if parser.take(TokenKind::Comma).is_some() {
                    continue;
                }
                let Some(close) = parser.take(TokenKind::Close) else {
                    return Err(parser.expected("`,` or `)`"));
                };
                return Ok(parser.tree.list(&children, token.span.to(close)));
            }
        })
    }

    /// An argument of a connective written as an application: commas separate arguments there.
    fn conjunction_of_arguments(&mut self) -> Parsed {
        self.chain(keyword::OR, &[TokenKind::Or], |parser| {
            parser.chain(keyword::AND, &[TokenKind::And], Parser::literal)
        })
    }

    fn deeper(&mut self, part: impl FnOnce(&mut Self) -> Parsed) -> Parsed {
        if self.depth >= MAX_DEPTH {
            let span = self.tokens[self.at.min(self.tokens.len() - 1)].span;
            return Err(Diagnostic::new(Code::NestedTooDeep, span, "terms are nested too deeply")
                .label(format!("the limit is {MAX_DEPTH} levels"))
                .help("give the inner terms names of their own with a helper relation"));
        }
        self.depth += 1;
        let parsed = part(self);
        self.depth -= 1;
        parsed
    }
}
