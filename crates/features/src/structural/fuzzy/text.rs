//! Fuzzy formulas as text.
//!
//! ```text
//! file    := 'game' ID [ 'output' 'logistic' ] { 'phase' INT '{' { term } '}' }
//! term    := FLOAT '*' formula
//! formula := '(' '~' formula ')' | '(' formula '&' formula {'&' formula} ')'
//!          | '(' formula '|' formula {'|' formula} ')' | '(' ground ')'
//! ground  := STATE '@' square | '{' pattern {',' pattern} '}' '@' ( REGION | '{' square {',' square} '}' ) [ test ]
//! test    := '>=' INT | '+>=' ['-'] INT
//! pattern := STATE | LETTERS '*'        square := '(' (INT|'*') {',' (INT|'*')} ')'
//! ```

use std::fmt;

use super::{Formula, Function, Output, Pattern, Place, Test};

/// How deeply formulas may nest.
const MAX_DEPTH: usize = 200;

/// A square as text.
pub(super) fn square(coordinates: &[Option<u32>]) -> String {
    let each = coordinates.iter().map(|at| at.map_or("*".to_owned(), |at| at.to_string()));
    format!("({})", each.collect::<Vec<_>>().join(","))
}

/// A pattern as text.
pub(super) fn pattern(pattern: &Pattern) -> String {
    match pattern {
        Pattern::State(state) => state.clone(),
        Pattern::Letters(letters) => format!("{letters}*"),
    }
}

/// States and squares as text.
fn counted(patterns: &[Pattern], place: &Place) -> String {
    let patterns = patterns.iter().map(pattern).collect::<Vec<_>>().join(",");
    match place {
        Place::Region(name) => format!("{{{patterns}}}@{name}"),
        Place::Squares(squares) => {
            let squares = squares.iter().map(|at| square(at)).collect::<Vec<_>>().join(",");
            format!("{{{patterns}}}@{{{squares}}}")
        }
    }
}

impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let several = |f: &mut fmt::Formatter<'_>, parts: &[Formula], between: &str| {
            write!(f, "(")?;
            for (index, part) in parts.iter().enumerate() {
                write!(f, "{}{part}", if index == 0 { "" } else { between })?;
            }
            write!(f, ")")
        };
        match self {
            Formula::Atomic(state, at) => {
                write!(f, "({state}@{})", square(&at.iter().copied().map(Some).collect::<Vec<_>>()))
            }
            Formula::Fuzzy(patterns, place) => write!(f, "({})", counted(patterns, place)),
            Formula::Count(patterns, place, Test::AtLeast(least)) => {
                write!(f, "({}>={least})", counted(patterns, place))
            }
            Formula::Count(patterns, place, Test::Ahead(least)) => {
                write!(f, "({}+>={least})", counted(patterns, place))
            }
            Formula::Not(inner) => write!(f, "(~{inner})"),
            Formula::And(parts) => several(f, parts, " & "),
            Formula::Or(parts) => several(f, parts, " | "),
        }
    }
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "game {}", self.game)?;
        if self.output == Output::Logistic {
            writeln!(f, "output logistic")?;
        }
        for (phase, terms) in &self.phases {
            writeln!(f, "phase {phase} {{")?;
            terms.iter().try_for_each(|(weight, formula)| writeln!(f, "  {weight} * {formula}"))?;
            writeln!(f, "}}")?;
        }
        Ok(())
    }
}

/// Reads a formula.
///
/// # Errors
/// What is wrong, with its line and column.
pub fn formula(text: &str) -> Result<Formula, String> {
    let mut reader = Reader { text, at: 0 };
    let formula = reader.formula(0)?;
    reader.end()?;
    Ok(formula)
}

/// Reads a function of phases.
///
/// # Errors
/// What is wrong, with its line and column.
pub fn function(text: &str) -> Result<Function, String> {
    let mut reader = Reader { text, at: 0 };
    reader.keyword("game")?;
    let game = reader.take(|c| !c.is_whitespace(), "the name of a game")?.to_owned();
    let mut output = Output::Share;
    if reader.peek() == Some('o') {
        reader.keyword("output")?;
        reader.keyword("logistic")?;
        output = Output::Logistic;
    }
    let mut phases: Vec<(u32, Vec<(f64, Formula)>)> = Vec::new();
    while reader.peek().is_some() {
        reader.keyword("phase")?;
        let start = reader.at;
        let phase = reader.number()?;
        if phases.last().is_some_and(|last| last.0 >= phase) {
            return reader.problem(start, "phases must ascend");
        }
        reader.expect('{')?;
        let mut terms = Vec::new();
        while reader.peek() != Some('}') {
            let start = reader.at;
            let weight = reader.take(|c| c.is_ascii_digit() || matches!(c, '.' | 'e' | '-' | '+'), "a weight")?;
            let Some(weight) = weight.parse::<f64>().ok().filter(|weight| weight.is_finite() && *weight >= 0.0) else {
                return reader.problem(start, "a weight is a number that is not negative");
            };
            reader.expect('*')?;
            terms.push((weight, reader.formula(0)?));
        }
        reader.expect('}')?;
        phases.push((phase, terms));
    }
    Ok(Function { game, output, phases })
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn problem<T>(&self, at: usize, message: &str) -> Result<T, String> {
        let before = &self.text[..at];
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
        Err(format!("line {line}, column {column}: {message}"))
    }

    fn peek(&mut self) -> Option<char> {
        self.at += self.text[self.at..].len() - self.text[self.at..].trim_start().len();
        self.text[self.at..].chars().next()
    }

    fn expect(&mut self, wanted: char) -> Result<(), String> {
        if self.peek() == Some(wanted) {
            self.at += wanted.len_utf8();
            return Ok(());
        }
        self.problem(self.at, &format!("expected `{wanted}`"))
    }

    fn end(&mut self) -> Result<(), String> {
        if self.peek().is_some() { self.problem(self.at, "the formula has ended before this") } else { Ok(()) }
    }

    fn take(&mut self, accept: impl Fn(char) -> bool, expected: &str) -> Result<&'a str, String> {
        self.peek();
        let rest = &self.text[self.at..];
        let length = rest.find(|c| !accept(c)).unwrap_or(rest.len());
        if length == 0 {
            return self.problem(self.at, &format!("expected {expected}"));
        }
        self.at += length;
        Ok(&rest[..length])
    }

    fn word(&mut self, expected: &str) -> Result<&'a str, String> {
        self.take(|c| c.is_ascii_alphanumeric() || c == '_', expected)
    }

    fn keyword(&mut self, wanted: &str) -> Result<(), String> {
        self.peek();
        let start = self.at;
        if self.word(&format!("`{wanted}`"))? == wanted {
            return Ok(());
        }
        self.problem(start, &format!("expected `{wanted}`"))
    }

    fn number(&mut self) -> Result<u32, String> {
        self.peek();
        let start = self.at;
        match self.take(|c| c.is_ascii_digit(), "a number")?.parse() {
            Ok(number) => Ok(number),
            Err(_) => self.problem(start, "this number is too large"),
        }
    }

    fn formula(&mut self, depth: usize) -> Result<Formula, String> {
        self.peek();
        if depth > MAX_DEPTH {
            return self.problem(self.at, "formulas are nested too deeply");
        }
        self.expect('(')?;
        let formula = match self.peek() {
            Some('~') => {
                self.expect('~')?;
                Formula::Not(Box::new(self.formula(depth + 1)?))
            }
            Some('(') => {
                let mut parts = vec![self.formula(depth + 1)?];
                let operator = match self.peek() {
                    Some(operator @ ('&' | '|')) => operator,
                    _ => return self.problem(self.at, "expected `&` or `|`"),
                };
                while self.peek() == Some(operator) {
                    self.expect(operator)?;
                    parts.push(self.formula(depth + 1)?);
                }
                if matches!(self.peek(), Some('&' | '|')) {
                    return self.problem(self.at, "`&` and `|` need parentheses between them");
                }
                if operator == '&' { Formula::And(parts) } else { Formula::Or(parts) }
            }
            _ => self.ground()?,
        };
        self.expect(')')?;
        Ok(formula)
    }

    fn ground(&mut self) -> Result<Formula, String> {
        if self.peek() != Some('{') {
            let state = self.word("a state, `{`, `~` or `(`")?.to_owned();
            self.expect('@')?;
            self.peek();
            let start = self.at;
            let square = self.square()?;
            return match square.into_iter().collect::<Option<Vec<u32>>>() {
                Some(square) => Ok(Formula::Atomic(state, square)),
                None => self.problem(start, "expected one square"),
            };
        }
        self.expect('{')?;
        let mut patterns = Vec::new();
        loop {
            let word = self.word("a state")?.to_owned();
            if self.peek() == Some('*') {
                self.expect('*')?;
                patterns.push(Pattern::Letters(word));
            } else {
                patterns.push(Pattern::State(word));
            }
            if self.peek() != Some(',') {
                break;
            }
            self.expect(',')?;
        }
        self.expect('}')?;
        self.expect('@')?;
        let place = if self.peek() == Some('{') {
            self.expect('{')?;
            let mut squares = vec![self.square()?];
            while self.peek() == Some(',') {
                self.expect(',')?;
                squares.push(self.square()?);
            }
            self.expect('}')?;
            Place::Squares(squares)
        } else {
            Place::Region(self.word("a region or `{`")?.to_owned())
        };
        let is_ahead = match self.peek() {
            Some('+') => {
                self.expect('+')?;
                true
            }
            Some('>') => false,
            _ => return Ok(Formula::Fuzzy(patterns, place)),
        };
        self.expect('>')?;
        self.expect('=')?;
        let is_negative = is_ahead && self.peek() == Some('-');
        if is_negative {
            self.expect('-')?;
        }
        let start = self.at;
        let Ok(least) = i32::try_from(self.number()?) else { return self.problem(start, "this number is too large") };
        let test = match is_ahead {
            true => Test::Ahead(if is_negative { -least } else { least }),
            false => Test::AtLeast(least),
        };
        Ok(Formula::Count(patterns, place, test))
    }

    fn square(&mut self) -> Result<Vec<Option<u32>>, String> {
        self.expect('(')?;
        let mut coordinates = Vec::new();
        loop {
            if self.peek() == Some('*') {
                self.expect('*')?;
                coordinates.push(None);
            } else {
                coordinates.push(Some(self.number()?));
            }
            if self.peek() != Some(',') {
                break;
            }
            self.expect(',')?;
        }
        self.expect(')')?;
        Ok(coordinates)
    }
}
