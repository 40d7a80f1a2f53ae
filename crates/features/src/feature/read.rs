//! Reading features from text.

use std::collections::BTreeMap;
use std::sync::Arc;

use gdl::program::{Term, VarId};
use gdl::symbol::{SymbolId, Symbols, keyword};
use rustc_hash::FxHashMap;

use super::{Axis, Feature, Metric, Weight};
use crate::formula::{Atom, ESCAPE, Formula, is_reserved};

/// How deeply parentheses may nest.
const MAX_DEPTH: usize = 256;

/// A variable with this number or a greater one has a name like any other: values are kept in lists by number.
const MAX_VARIABLES: u32 = 1 << 16;

/// Reads a feature. Variables are numbers (`?0`), or any other names, which then get numbers that are free. Names are those
/// that the rules use, as `symbols` shows them.
///
/// # Errors
/// What is wrong with the text, with the line and column where it is.
pub fn read(text: &str, symbols: &Symbols) -> Result<Feature, String> {
    let tree = parse(text).map_err(|problem| problem.locate(text))?;
    Reader::new(&tree, symbols).feature(&tree).map_err(|problem| problem.locate(text))
}

struct Problem {
    at: usize,
    message: String,
}

impl Problem {
    fn locate(self, text: &str) -> String {
        let before = &text[..self.at];
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
        format!("line {line}, column {column}: {}", self.message)
    }
}

type Read<T> = Result<T, Problem>;

fn problem<T>(at: usize, message: impl Into<String>) -> Read<T> {
    Err(Problem { at, message: message.into() })
}

/// A word or a list, and where it begins.
enum Node<'a> {
    Word(usize, &'a str),
    List(usize, Vec<Node<'a>>),
}

impl<'a> Node<'a> {
    fn at(&self) -> usize {
        match self {
            Node::Word(at, _) | Node::List(at, _) => *at,
        }
    }

    fn list(&self, expected: &str) -> Read<&[Node<'a>]> {
        match self {
            Node::List(_, parts) => Ok(parts),
            Node::Word(at, word) => problem(*at, format!("expected {expected}, not `{word}`")),
        }
    }

    fn word(&self) -> Option<&'a str> {
        match self {
            Node::Word(_, word) => Some(word),
            Node::List(..) => None,
        }
    }

    fn for_each_word(&self, visit: &mut impl FnMut(&'a str)) {
        match self {
            Node::Word(_, word) => visit(word),
            Node::List(_, parts) => parts.iter().for_each(|part| part.for_each_word(visit)),
        }
    }
}

fn parse(text: &str) -> Read<Node<'_>> {
    let mut open: Vec<(usize, Vec<Node<'_>>)> = Vec::new();
    let mut whole = None;
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let start = at;
        at += c.len_utf8();
        let node = match c {
            c if c.is_whitespace() => continue,
            _ if whole.is_some() => return problem(start, "the feature has ended before this"),
            '(' if open.len() == MAX_DEPTH => return problem(start, "parentheses are nested too deeply"),
            '(' => {
                open.push((start, Vec::new()));
                continue;
            }
            ')' => match open.pop() {
                Some((from, parts)) => Node::List(from, parts),
                None => return problem(start, "no parenthesis is open here"),
            },
            _ => {
                let end = text[start..].find(|c: char| c.is_whitespace() || c == '(' || c == ')');
                at = end.map_or(text.len(), |end| start + end);
                Node::Word(start, &text[start..at])
            }
        };
        match open.last_mut() {
            Some((_, parts)) => parts.push(node),
            None => whole = Some(node),
        }
    }
    match (open.last(), whole) {
        (Some((from, _)), _) => problem(*from, "this parenthesis is never closed"),
        (None, None) => problem(text.len(), "expected a feature"),
        (None, Some(whole)) => Ok(whole),
    }
}

struct Reader<'a> {
    /// By their lower-case spelling.
    names: FxHashMap<String, SymbolId>,
    variables: BTreeMap<&'a str, VarId>,
}

fn number(variable: &str) -> Option<u32> {
    let digits = variable.strip_prefix('?')?;
    let plain = digits == "0" || !digits.starts_with(['0', '+']);
    digits.parse().ok().filter(|&number| plain && number < MAX_VARIABLES)
}

impl<'a> Reader<'a> {
    fn new(tree: &Node<'a>, symbols: &Symbols) -> Reader<'a> {
        let shown = |id: SymbolId| (symbols.name(id).to_lowercase(), id);
        let names = symbols.ids().map(shown).collect();
        let mut variables = BTreeMap::new();
        tree.for_each_word(&mut |word| {
            if let Some(number) = number(word) {
                variables.insert(word, VarId(number));
            }
        });
        let mut free = 0;
        tree.for_each_word(&mut |word| {
            if word.starts_with('?') && !variables.contains_key(word) {
                while variables.values().any(|var| var.0 == free) {
                    free += 1;
                }
                variables.insert(word, VarId(free));
            }
        });
        Reader { names, variables }
    }

    fn feature(&self, node: &Node<'a>) -> Read<Feature> {
        let expected = "`(count (variables) formula)` or `(sum weight (variables) formula)`";
        let parts = node.list(expected)?;
        let (weight, list, formula) = match (parts.first().and_then(Node::word), parts) {
            (Some("count"), [_, list, formula]) => (None, list, formula),
            (Some("sum"), [_, weight, list, formula]) => (Some(weight), list, formula),
            _ => return problem(node.at(), format!("expected {expected}")),
        };
        let vars = self.variables(list)?;
        if let Some(repeated) = (1..vars.len()).find(|&index| vars[..index].contains(&vars[index])) {
            return problem(list.list("variables")?[repeated].at(), "this variable is counted already");
        }
        let read = self.formula(formula)?;
        let free = read.free_variables();
        if let Some(unbound) = vars.iter().position(|var| !free.contains(var)) {
            let at = list.list("variables")?[unbound].at();
            return problem(at, "this variable does not occur in the formula outside of negations");
        }
        let Some(node) = weight else { return Ok(Feature::count(vars, read)) };
        let weight = self.weight(node)?;
        if weight.variables().iter().any(|var| !vars.contains(var)) {
            return problem(node.at(), "a variable of the weight is not counted");
        }
        Ok(Feature::sum(weight, vars, read))
    }

    fn weight(&self, node: &Node<'a>) -> Read<Weight> {
        let expected = "`(place ?variable (order))`, `(manhattan (?from ?to (order)) ...)`, `(chebyshev ...)`, \
                        `(difference ...)` or `(table (?variable ...) (number (value ...) ...) ...)`";
        let parts = node.list(expected)?;
        let metric = |word: &str| Metric::ALL.into_iter().find(|metric| metric.name() == word);
        match (parts.first().and_then(Node::word), parts) {
            (Some("place"), [_, var, order]) => {
                Ok(Weight::Place { var: self.variable(var)?, order: self.order(order)? })
            }
            (Some("table"), [_, vars, rows @ ..]) => self.table(vars, rows),
            (Some(word), [_, axes @ ..]) if !axes.is_empty() => {
                let Some(metric) = metric(word) else { return problem(node.at(), format!("expected {expected}")) };
                let axis = |axis: &Node<'a>| match axis.list("`(?from ?to (order))`")? {
                    [from, to, order] => {
                        Ok(Axis { from: self.variable(from)?, to: self.variable(to)?, order: self.order(order)? })
                    }
                    _ => problem(axis.at(), "expected `(?from ?to (order))`"),
                };
                Ok(Weight::Distance { metric, axes: axes.iter().map(axis).collect::<Read<_>>()? })
            }
            _ => problem(node.at(), format!("expected {expected}")),
        }
    }

    fn table(&self, vars: &Node<'a>, rows: &[Node<'a>]) -> Read<Weight> {
        let vars = self.variables(vars)?;
        let mut table: BTreeMap<i32, Vec<Vec<Term>>> = BTreeMap::new();
        let mut seen = std::collections::BTreeSet::new();
        for row in rows {
            let [number, tuples @ ..] = row.list("`(number (value ...) ...)`")? else {
                return problem(row.at(), "expected a number");
            };
            let Some(value) = number.word().and_then(|word| word.parse().ok()) else {
                return problem(number.at(), "expected a number");
            };
            for tuple in tuples {
                let read = self.row(tuple, vars.len())?;
                if !seen.insert(read.clone()) {
                    return problem(tuple.at(), "this tuple has a number already");
                }
                table.entry(value).or_default().push(read);
            }
        }
        table.values_mut().for_each(|tuples| tuples.sort());
        Ok(Weight::Table { vars, rows: Arc::new(table.into_iter().collect()) })
    }

    fn order(&self, node: &Node<'a>) -> Read<Arc<Vec<Term>>> {
        let terms: Vec<Term> = node.list("an order")?.iter().map(|part| self.ground(part)).collect::<Read<_>>()?;
        Ok(Arc::new(terms))
    }

    fn row(&self, node: &Node<'a>, width: usize) -> Read<Vec<Term>> {
        let row: Vec<Term> = node.list("a tuple")?.iter().map(|part| self.ground(part)).collect::<Read<_>>()?;
        if row.len() == width {
            Ok(row)
        } else {
            problem(node.at(), format!("expected a tuple of length {width}, not {}", row.len()))
        }
    }

    fn formula(&self, node: &Node<'a>) -> Read<Formula> {
        let (name, args) = match node {
            Node::Word(..) => return self.atom(node, Vec::new()),
            Node::List(at, parts) => match parts.split_first() {
                Some((name @ Node::Word(_, word), args)) => ((name, word.to_lowercase()), args),
                _ => return problem(*at, "expected a relation or a connective"),
            },
        };
        let terms = |args: &[Node<'a>]| args.iter().map(|arg| self.term(arg)).collect::<Read<Vec<Term>>>();
        let formulas = || args.iter().map(|arg| self.formula(arg)).collect::<Read<Vec<Formula>>>();
        let (node_name, word) = (name.0, name.1.as_str());
        match (word, args) {
            ("and", _) => Ok(Formula::And(formulas()?)),
            ("or", _) => Ok(Formula::Or(formulas()?)),
            ("not", [inner]) => Ok(Formula::Not(Box::new(self.formula(inner)?))),
            ("equal", [left, right]) => Ok(Formula::Equal(self.term(left)?, self.term(right)?)),
            ("distinct", [left, right]) => Ok(Formula::Distinct(self.term(left)?, self.term(right)?)),
            ("member", [tuple, rows @ ..]) => {
                let tuple = terms(tuple.list("a tuple of terms")?)?;
                let rows = rows.iter().map(|row| self.row(row, tuple.len())).collect::<Read<Vec<_>>>()?;
                Ok(Formula::Member(tuple, Arc::new(rows)))
            }
            (ESCAPE, [name, args @ ..]) => self.atom(name, terms(args)?),
            (word, _) if is_reserved(word) || word == "not" || word == "distinct" => {
                problem(node.at(), format!("`{word}` has the wrong number of arguments"))
            }
            _ => self.atom(node_name, terms(args)?),
        }
    }

    fn atom(&self, node: &Node<'a>, args: Vec<Term>) -> Read<Formula> {
        let name = self.name(node)?;
        let arity = match name {
            keyword::TRUE => Some(1),
            keyword::LEGAL | keyword::GOAL => Some(2),
            keyword::TERMINAL => Some(0),
            _ => None,
        };
        match (arity, node.word()) {
            (Some(arity), Some(word)) if arity != args.len() => {
                problem(node.at(), format!("`{word}` has the wrong number of arguments"))
            }
            _ => Ok(Formula::Atom(Atom { name, args })),
        }
    }

    fn term(&self, node: &Node<'a>) -> Read<Term> {
        match node {
            Node::Word(_, word) if word.starts_with('?') => Ok(Term::Var(self.variables[word])),
            Node::Word(..) => Ok(Term::Const(self.name(node)?)),
            Node::List(at, parts) => match parts.split_first() {
                Some((name, args)) if !args.is_empty() => {
                    let args = args.iter().map(|arg| self.term(arg)).collect::<Read<Vec<Term>>>()?;
                    Ok(Term::Func(self.name(name)?, args.into()))
                }
                _ => problem(*at, "expected a function with arguments"),
            },
        }
    }

    fn ground(&self, node: &Node<'a>) -> Read<Term> {
        let term = self.term(node)?;
        if term.is_ground() { Ok(term) } else { problem(node.at(), "no variable may stand here") }
    }

    fn variables(&self, node: &Node<'a>) -> Read<Vec<VarId>> {
        node.list("a list of variables")?.iter().map(|part| self.variable(part)).collect()
    }

    fn variable(&self, node: &Node<'a>) -> Read<VarId> {
        match node.word().filter(|word| word.starts_with('?')) {
            Some(word) => Ok(self.variables[word]),
            None => problem(node.at(), "expected a variable"),
        }
    }

    fn name(&self, node: &Node<'a>) -> Read<SymbolId> {
        match node {
            Node::Word(at, word) if word.starts_with('?') => problem(*at, "a variable can't stand here"),
            Node::Word(at, word) => match self.names.get(&word.to_lowercase()) {
                Some(&name) => Ok(name),
                None => problem(*at, format!("the rules don't use the name `{word}`")),
            },
            Node::List(at, _) => problem(*at, "expected a name"),
        }
    }
}

#[cfg(test)]
mod tests;
