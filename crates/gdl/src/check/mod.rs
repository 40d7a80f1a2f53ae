//! Static checks: what is wrong with the rules, as far as reading them can tell.
//!
//! Each file is one check or one small family of checks; its opening comment says what the findings mean. All of them
//! look at the whole program and add to one list, which [`check`] puts into source order. Two principles keep the list
//! short: a mistake is reported once, at its first occurrence, and a check that concludes something from what is
//! *absent* (an undefined relation, a missing role) is silent where parts of the text could not be read.
//!
//! What can be played is at most a warning, however doubtful it is; an error means that the game is rejected.

mod arity;
mod dependency;
mod domain;
mod duplicate;
mod essential;
mod goal;
mod information;
mod keyword_use;
mod level;
mod near;
mod never;
mod recursion;
mod role;
mod safety;
mod size;
mod stratification;
mod unused;

use indexmap::IndexMap;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

use crate::ast::{Kind, NodeId, Tree};
use crate::diagnostic::{Code, Diagnostic, MAX_FINDINGS};
use crate::program::{Atom, Program, Relation, Rule, Term, VarId};
use crate::source::Span;
use crate::symbol::{SymbolId, keyword};
pub use domain::Domains;

use dependency::Graph;

/// What is wrong with a program, in source order. `tree` is what the program was resolved from: it knows where each
/// term stands.
pub fn check(tree: &Tree, program: &Program) -> Vec<Diagnostic> {
    // A game of imperfect information is another language: judging it by the rules of this one would be noise.
    if let Some(found) = information::sees(program) {
        return vec![found];
    }
    let mut found = Findings::default();
    // The other checks are made for rules of a size that can be evaluated.
    size::check(program, &mut found);
    if !found.list.is_empty() {
        return found.list;
    }
    let context = Context::new(tree, program);
    for check in [
        essential::check,
        role::check,
        information::check,
        level::check,
        keyword_use::check,
        safety::check,
        stratification::check,
        recursion::check,
        goal::check,
        duplicate::check,
        never::check,
        unused::check,
        arity::check,
    ] {
        check(&context, &mut found);
    }
    let mut found = found.list;
    found.sort_by_key(|found| (found.primary.span, found.code));
    found
}

#[derive(Default)]
struct Findings {
    list: Vec<Diagnostic>,
    counts: FxHashMap<Code, usize>,
    /// Relations that are unused because of a typo that is reported elsewhere.
    explained: FxHashSet<Relation>,
}

impl Findings {
    /// Whether a finding of this kind would still be reported.
    fn has_room(&self, code: Code) -> bool {
        self.counts.get(&code).is_none_or(|&count| count < MAX_FINDINGS)
    }

    /// Adds a finding, unless there are enough of its kind.
    fn report(&mut self, code: Code, finding: impl FnOnce(Code) -> Diagnostic) {
        let count = self.counts.entry(code).or_default();
        *count += 1;
        if *count > MAX_FINDINGS {
            return;
        }
        let mut finding = finding(code);
        if *count == MAX_FINDINGS {
            finding =
                finding.note(format!("this is the {MAX_FINDINGS}th finding of this kind; others are not reported"));
        }
        self.list.push(finding);
    }
}

/// The rules, with what several checks ask about them.
struct Context<'a> {
    tree: &'a Tree,
    program: &'a Program,
    /// Whether every rule of the text is in the program, so that absence means something.
    complete: bool,
    /// The rules and facts of each relation, in source order.
    definitions: IndexMap<Relation, Vec<&'a Rule>, FxBuildHasher>,
    /// The body literals of each relation, in source order.
    uses: IndexMap<Relation, Vec<&'a Atom>, FxBuildHasher>,
    graph: Graph,
}

impl<'a> Context<'a> {
    fn new(tree: &'a Tree, program: &'a Program) -> Context<'a> {
        let mut definitions: IndexMap<_, Vec<_>, _> = IndexMap::default();
        let mut uses: IndexMap<_, Vec<_>, _> = IndexMap::default();
        for rule in &program.rules {
            definitions.entry(rule.head.relation()).or_default().push(rule);
            rule.for_each_body_atom(|atom, _| uses.entry(atom.relation()).or_default().push(atom));
        }
        let complete = !tree.damaged && tree.roots.len() == program.rules.len();
        Context { tree, program, complete, definitions, uses, graph: Graph::new(program) }
    }

    /// A name as its author spelled it; of a very long one, the beginning.
    fn name(&self, symbol: SymbolId) -> &'a str {
        let name = self.program.symbols.name(symbol);
        &name[..name.floor_char_boundary(80)]
    }

    /// Every head and every body literal, in source order.
    fn sentences(&self) -> Vec<&'a Atom> {
        let mut sentences = Vec::new();
        for rule in &self.program.rules {
            sentences.push(&rule.head);
            rule.for_each_body_atom(|atom, _| sentences.push(atom));
        }
        sentences
    }

    /// The rules and facts of a keyword relation.
    fn keyword(&self, name: SymbolId, arity: u32) -> &[&'a Rule] {
        self.definitions.get(&Relation { name, arity }).map_or(&[], Vec::as_slice)
    }

    /// The roles that facts name, each with its fact; rules may add others.
    fn role_facts(&self) -> impl Iterator<Item = (SymbolId, &'a Rule)> {
        self.keyword(keyword::ROLE, 1).iter().filter_map(|&rule| match (&rule.head.args[..], &rule.body[..]) {
            ([Term::Const(name)], []) => Some((*name, rule)),
            _ => None,
        })
    }

    /// Where the last word or parenthesis of the text stands: for remarks on what is missing.
    fn end(&self) -> Span {
        let Some(mut node) = self.tree.roots.last().copied() else { return Span::default() };
        loop {
            let Span { start, end } = self.tree.span(node);
            match self.tree.children(node).last() {
                None if self.tree.kind(node) != Kind::List => return Span { start, end },
                // In infix notation a rule ends where its last literal does.
                Some(&last) if self.tree.span(last).end == end => node = last,
                _ => return Span { start: end - 1, end },
            }
        }
    }

    /// Where an argument of a literal stands.
    fn argument(&self, atom: &Atom, index: usize) -> Span {
        let node = self.tree.find(atom.span).and_then(|node| self.tree.children(node).get(index + 1).copied());
        node.map_or(atom.span, |node| self.tree.span(node))
    }

    /// Where the term at the end of a path of argument positions stands.
    fn at_path(&self, atom: &Atom, path: &[usize]) -> Option<Span> {
        let mut node = self.tree.find(atom.span)?;
        for position in path {
            node = *self.tree.children(node).get(position + 1)?;
        }
        Some(self.tree.span(node))
    }

    /// Where the name of a literal's relation stands.
    fn name_span(&self, atom: &Atom) -> Span {
        let name = self.tree.find(atom.span).and_then(|node| self.tree.children(node).first().copied());
        name.map_or(atom.span, |name| self.tree.span(name))
    }

    /// Where a variable of a rule occurs within a span of it, in source order.
    fn occurrences(&self, rule: &Rule, var: VarId, within: Span) -> Vec<Span> {
        let wanted = Kind::Variable(rule.variables[var.0 as usize].name);
        let mut found = Vec::new();
        let mut visit = |node: NodeId| {
            if self.tree.kind(node) == wanted {
                found.push(self.tree.span(node));
            }
        };
        if let Some(node) = self.tree.find(within) {
            for_each_node(self.tree, node, &mut visit);
        }
        found
    }

    /// A variable as its author spelled it: infix notation has no `?`.
    fn variable_name(&self, rule: &Rule, var: VarId) -> &'a str {
        let variable = &rule.variables[var.0 as usize];
        let name = self.name(variable.name);
        let is_infix = (variable.span.range().len()) < self.program.symbols.name(variable.name).len();
        if is_infix { name.strip_prefix('?').unwrap_or(name) } else { name }
    }
}

/// Calls `visit` for a node and everything in it, in source order.
fn for_each_node(tree: &Tree, node: NodeId, visit: &mut impl FnMut(NodeId)) {
    visit(node);
    tree.children(node).iter().for_each(|&child| for_each_node(tree, child, visit));
}

/// Whether a literal can be about a fact that a rule with this head derives; may say yes where repeated variables
/// forbid it.
fn matches_head(literal: &Atom, head: &Atom) -> bool {
    literal.relation() == head.relation()
        && literal.args.iter().zip(&head.args).all(|(left, right)| may_unify(left, right))
}

fn may_unify(left: &Term, right: &Term) -> bool {
    match (left, right) {
        (Term::Var(_), _) | (_, Term::Var(_)) => true,
        (Term::Const(left), Term::Const(right)) => left == right,
        (Term::Func(left, left_args), Term::Func(right, right_args)) => {
            left == right
                && left_args.len() == right_args.len()
                && left_args.iter().zip(right_args).all(|(left, right)| may_unify(left, right))
        }
        _ => false,
    }
}

/// `once`, `twice`, `3 times`.
fn times(count: usize) -> String {
    match count {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        _ => format!("{count} times"),
    }
}

/// `no arguments`, `1 argument`, `3 arguments`.
fn arguments(count: u32) -> String {
    match count {
        0 => "no arguments".to_owned(),
        1 => "1 argument".to_owned(),
        _ => format!("{count} arguments"),
    }
}

/// `a`, `a` and `b`, `a`, `b` and `c`: names in backquotes.
fn list(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => quoted.concat(),
    }
}

/// `a`, `a` or `b`, `a`, `b` or `c`: names in backquotes.
fn alternatives(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => quoted.concat(),
    }
}
