//! From syntax tree to text, in either notation.
//!
//! What is printed reads back as the same tree, up to the names of variables ([`Tree::same_as`]): always in prefix
//! notation, and in infix notation for every tree that [`resolve`](crate::resolve) accepts. Comments and layout are the
//! text's, not the tree's, and are lost.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::ast::{Kind, NodeId, Tree};
use crate::parse::{Form, is_word};
use crate::symbol::{SymbolId, keyword};

/// The longest line that is not broken, where it can be broken at all.
const WIDTH: usize = 100;

/// The text of a tree: one rule or fact after another, with a blank line where the relation changes.
pub fn print(tree: &Tree, form: Form) -> String {
    let mut infix = Infix::new(tree);
    let mut text = String::new();
    let mut previous = None;
    for &root in &tree.roots {
        let head = head_of_rule(tree, root);
        if previous.is_some_and(|previous| previous != head) {
            text.push('\n');
        }
        previous = Some(head);
        match form {
            Form::Kif => kif_root(tree, root, &mut text),
            Form::Infix => infix.root(root, &mut text),
        }
        text.push('\n');
    }
    text
}

/// The name of what a rule defines, and the length of its list; `p` and `(p)` are the same.
fn head_of_rule(tree: &Tree, root: NodeId) -> (Option<SymbolId>, usize) {
    let head = match tree.children(root) {
        [_, head, ..] if is_rule(tree, root) => *head,
        _ => root,
    };
    (tree.head(head), tree.children(head).len().max(1))
}

fn is_rule(tree: &Tree, root: NodeId) -> bool {
    tree.kind(root) == Kind::List && tree.head(root) == Some(keyword::IMPLIED_BY)
}

/// The connective at the head of a list.
fn connective(tree: &Tree, node: NodeId) -> Option<SymbolId> {
    let head = tree.head(node).filter(|_| tree.kind(node) == Kind::List);
    head.filter(|name| matches!(*name, keyword::NOT | keyword::OR | keyword::AND))
}

fn kif_root(tree: &Tree, root: NodeId, text: &mut String) {
    match tree.children(root) {
        _ if matches!(tree.kind(root), Kind::Name(_)) => {
            text.push('(');
            kif(tree, root, text);
            text.push(')');
        }
        [_, head, body @ ..] if is_rule(tree, root) && !fits_kif(tree, root, 0) => {
            text.push_str("(<= ");
            kif(tree, *head, text);
            for &literal in body {
                text.push_str("\n    ");
                kif_literal(tree, literal, 4, text);
            }
            text.push(')');
        }
        _ => kif(tree, root, text),
    }
}

/// A literal; connectives are spread over several lines where one is too short.
fn kif_literal(tree: &Tree, node: NodeId, indent: usize, text: &mut String) {
    let Some(name) = connective(tree, node).filter(|_| !fits_kif(tree, node, indent)) else {
        return kif(tree, node, text);
    };
    let name = tree.symbols.name(name);
    let indent = indent + name.len() + 2;
    text.push('(');
    text.push_str(name);
    for (number, &part) in tree.children(node)[1..].iter().enumerate() {
        if number == 0 {
            text.push(' ');
        } else {
            text.push('\n');
            text.extend(std::iter::repeat_n(' ', indent));
        }
        kif_literal(tree, part, indent, text);
    }
    text.push(')');
}

fn kif(tree: &Tree, node: NodeId, text: &mut String) {
    match tree.kind(node) {
        Kind::Name(name) | Kind::Variable(name) => text.push_str(tree.symbols.name(name)),
        Kind::List => {
            text.push('(');
            for (number, &child) in tree.children(node).iter().enumerate() {
                if number > 0 {
                    text.push(' ');
                }
                kif(tree, child, text);
            }
            text.push(')');
        }
    }
}

/// Whether the node in prefix notation fits on a line after `indent` columns.
fn fits_kif(tree: &Tree, node: NodeId, indent: usize) -> bool {
    fn width(tree: &Tree, node: NodeId, left: usize) -> Option<usize> {
        match tree.kind(node) {
            Kind::Name(name) | Kind::Variable(name) => left.checked_sub(tree.symbols.name(name).chars().count()),
            // A list is its elements, a space before all but the first, and two parentheses.
            Kind::List => {
                let mut left = left.checked_sub(1)?;
                for &child in tree.children(node) {
                    left = width(tree, child, left)?.checked_sub(1)?;
                }
                Some(left)
            }
        }
    }
    WIDTH.checked_sub(indent).and_then(|left| width(tree, node, left)).is_some()
}

struct Infix<'a> {
    tree: &'a Tree,
    /// The first spelling of each variable in the text, by its lower-case form: a reader takes that for all.
    spellings: FxHashMap<String, String>,
    /// The variables of the current rule and the names that they have been given.
    variables: FxHashMap<SymbolId, String>,
    taken: FxHashSet<String>,
    /// How many variables of the current rule wanted the same name.
    n_wanted: FxHashMap<String, usize>,
}

impl Infix<'_> {
    fn new(tree: &Tree) -> Infix<'_> {
        Infix {
            tree,
            spellings: FxHashMap::default(),
            variables: FxHashMap::default(),
            taken: FxHashSet::default(),
            n_wanted: FxHashMap::default(),
        }
    }

    fn root(&mut self, root: NodeId, text: &mut String) {
        self.variables.clear();
        self.taken.clear();
        self.n_wanted.clear();
        match self.tree.children(root) {
            [_, head, body @ ..] if is_rule(self.tree, root) => {
                self.literal(*head, text);
                self.body(body, text);
            }
            _ => {
                self.literal(root, text);
                // A name alone needs a stop, or a reader might take the text for a prefix text with a stray word.
                if self.tree.kind(root) != Kind::List {
                    text.push('.');
                }
            }
        }
    }

    fn body(&mut self, body: &[NodeId], text: &mut String) {
        if body.is_empty() {
            return text.push_str(" :- .");
        }
        let literals: Vec<String> = body
            .iter()
            .map(|&literal| {
                let mut part = String::new();
                // A disjunction needs parentheses where it is not the whole body, since `&` binds more tightly.
                let bare = body.len() == 1 && connective(self.tree, literal) == Some(keyword::OR);
                if bare && self.tree.children(literal).len() > 2 {
                    self.joined(literal, " | ", &mut part);
                } else {
                    self.literal(literal, &mut part);
                }
                part
            })
            .collect();
        let line = text.chars().rev().take_while(|&c| c != '\n').count();
        let width: usize = literals.iter().map(|literal| literal.chars().count() + 3).sum();
        let (neck, and) = if line + width <= WIDTH { (" :- ", " & ") } else { (" :-\n    ", " &\n    ") };
        text.push_str(neck);
        text.push_str(&literals.join(and));
    }

    fn literal(&mut self, node: NodeId, text: &mut String) {
        match (connective(self.tree, node), self.tree.children(node)) {
            (Some(keyword::NOT), [_, inner]) => {
                text.push('~');
                self.literal(*inner, text);
            }
            (Some(name @ (keyword::OR | keyword::AND)), [_, _, _, ..]) => {
                text.push('(');
                self.joined(node, if name == keyword::OR { " | " } else { " & " }, text);
                text.push(')');
            }
            // Connectives with other numbers of arguments can be written as applications.
            (Some(name), [_, parts @ ..]) => {
                text.push_str(self.tree.symbols.name(name));
                self.arguments(parts, Infix::literal, text);
            }
            _ => self.term(node, text),
        }
    }

    fn joined(&mut self, node: NodeId, separator: &str, text: &mut String) {
        for (number, &part) in self.tree.children(node)[1..].iter().enumerate() {
            if number > 0 {
                text.push_str(separator);
            }
            self.literal(part, text);
        }
    }

    fn arguments(&mut self, parts: &[NodeId], print: fn(&mut Self, NodeId, &mut String), text: &mut String) {
        text.push('(');
        for (number, &part) in parts.iter().enumerate() {
            if number > 0 {
                text.push_str(", ");
            }
            print(self, part, text);
        }
        text.push(')');
    }

    fn term(&mut self, node: NodeId, text: &mut String) {
        match self.tree.kind(node) {
            Kind::Name(name) => push_name(self.tree.symbols.name(name), text),
            Kind::Variable(name) => text.push_str(self.variable(name)),
            Kind::List => match self.tree.children(node) {
                [head, args @ ..] => {
                    self.term(*head, text);
                    self.arguments(args, Infix::term, text);
                }
                [] => text.push_str("()"),
            },
        }
    }

    /// The name of a variable: capitalised, and another one than those of the rule's other variables.
    fn variable(&mut self, symbol: SymbolId) -> &str {
        if !self.variables.contains_key(&symbol) {
            let base = capitalized(self.tree.symbols.name(symbol));
            let number = self.n_wanted.entry(base.to_ascii_lowercase()).or_insert(0);
            let name = loop {
                *number += 1;
                let name = if *number == 1 { base.clone() } else { format!("{base}_{number}") };
                let name = self.spellings.entry(name.to_ascii_lowercase()).or_insert(name);
                if self.taken.insert(name.clone()) {
                    break name.clone();
                }
            };
            self.variables.insert(symbol, name);
        }
        &self.variables[&symbol]
    }
}

/// A variable's name as infix notation wants it.
fn capitalized(name: &str) -> String {
    let name = name.strip_prefix('?').unwrap_or(name);
    let name: String = name.chars().map(|c| if is_word(c) && c != '?' { c } else { '_' }).collect();
    match name.chars().next() {
        Some(first) if first.is_uppercase() || first == '_' && name.len() > 1 => name,
        Some(first) if first.is_ascii_lowercase() => format!("{}{}", first.to_ascii_uppercase(), &name[1..]),
        _ => format!("V{name}"),
    }
}

/// Writes a name, in quotes if it would otherwise be read as something else.
fn push_name(name: &str, text: &mut String) {
    let starts_variable = |c: char| c.is_uppercase() || matches!(c, '_' | '?');
    let is_connective = ["not", "or", "and"].iter().any(|connective| name.eq_ignore_ascii_case(connective));
    if name.chars().all(is_word) && !name.starts_with(starts_variable) && !is_connective {
        text.push_str(name);
    } else {
        text.push('\'');
        text.push_str(&name.replace('\'', "''"));
        text.push('\'');
    }
}
