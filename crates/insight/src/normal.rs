//! Rules without what makes no difference: needless connectives, literals and rules that are there twice.

use std::collections::BTreeMap;

use gdl::program::{Atom, Formula, Rule, RuleId, Term, VarId};
use gdl::symbol::{SymbolId, Symbols};
use gdl::{Program, Stop, keyword};
use rustc_hash::FxHashSet;

use crate::graph::inverse;
use crate::rule_graph::{RuleGraph, variable_names};

/// The rules in simple form, each once. A rule that is another one with other variables, or with its literals in another
/// order, is left out; stopped, only one that is the same word by word.
pub(crate) fn rules<'a>(
    symbols: &Symbols,
    rules: impl Iterator<Item = (RuleId, &'a Rule)>,
    stop: &Stop,
) -> Vec<(RuleId, Rule)> {
    let simple: Vec<(RuleId, Rule)> = rules.map(|(id, rule)| (id, simplified(rule))).collect();
    // Only rules that are equal but for their variables are worth a closer look.
    let mut alike: BTreeMap<Shape, Vec<usize>> = BTreeMap::new();
    for (index, (_, rule)) in simple.iter().enumerate() {
        alike.entry(rule_shape(rule)).or_default().push(index);
    }
    let mut again = vec![false; simple.len()];
    for group in alike.into_values().filter(|group| group.len() > 1) {
        let mut seen = FxHashSet::default();
        for index in group {
            again[index] = !seen.insert(rule_text(symbols, &simple[index].1, stop));
        }
    }
    simple.into_iter().zip(again).filter_map(|(rule, again)| (!again).then_some(rule)).collect()
}

/// Whether two programs have the same rules, up to the names of variables and the order of rules and literals.
pub fn same_rules(left: &Program, right: &Program) -> bool {
    let texts = |program: &Program| {
        let never = Stop::never();
        let rules = rules(&program.symbols, (0..).map(RuleId).zip(&program.rules), &never);
        rules.iter().map(|(_, rule)| rule_text(&program.symbols, rule, &never)).collect::<FxHashSet<String>>()
    };
    texts(left) == texts(right)
}

/// The text of a rule in simple form. Rules that differ in their variables' names and the order of literals alone have the
/// same text, and others don't.
fn rule_text(symbols: &Symbols, rule: &Rule, stop: &Stop) -> String {
    let graph = RuleGraph::of_rule(symbols, rule);
    let size = graph.graph.colors.len() + graph.graph.edges.len();
    let budget = LABEL_BUDGET.min(LABEL_STEPS / size.max(1) as u64);
    let order = match graph.graph.label(budget, stop) {
        Ok(labelling) => labelling.order,
        Err(_) => graph.graph.rough_order(stop),
    };
    let place = inverse(&order);
    graph.rule_text(graph.rules[0], &place, &variable_names(rule.variables.len()), |name, _| symbols.lower(name))
}

/// Rules are small; one that is harder than this is compared as it stands.
const LABEL_BUDGET: u64 = 10_000;
/// The same in nodes and edges of its graph, for each node of the search tree.
const LABEL_STEPS: u64 = 100_000_000;

fn simplified(rule: &Rule) -> Rule {
    let body = flattened(&rule.body, keyword::AND);
    Rule { body, ..rule.clone() }
}

fn simple(formula: &Formula) -> Formula {
    let (connective, mut parts) = match formula {
        Formula::Atom(_) | Formula::Distinct(..) => return formula.clone(),
        Formula::Not(inner, span) => return Formula::Not(Box::new(simple(inner)), *span),
        Formula::Or(parts, _) => (keyword::OR, flattened(parts, keyword::OR)),
        Formula::And(parts, _) => (keyword::AND, flattened(parts, keyword::AND)),
    };
    match parts.len() {
        1 => parts.remove(0),
        _ if connective == keyword::OR => Formula::Or(parts, formula.span()),
        _ => Formula::And(parts, formula.span()),
    }
}

/// The parts of a conjunction or disjunction, and of those within it, in simple form.
fn flattened(parts: &[Formula], connective: SymbolId) -> Vec<Formula> {
    let mut flat = Vec::new();
    for part in parts {
        match simple(part) {
            Formula::And(inner, _) if connective == keyword::AND => flat.extend(inner),
            Formula::Or(inner, _) if connective == keyword::OR => flat.extend(inner),
            other => flat.push(other),
        }
    }
    let mut seen = FxHashSet::default();
    flat.retain(|part| seen.insert(formula_shape(part, &|var| Some(var))));
    flat
}

/// A formula or term in which the order of what may be reordered is fixed, and in which variables may be hidden.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Shape {
    Variable(Option<VarId>),
    /// A relation or function, or a connective under its name, with its arguments.
    Applied(Option<SymbolId>, Vec<Shape>),
}

fn rule_shape(rule: &Rule) -> Shape {
    let mut body: Vec<Shape> = rule.body.iter().map(|formula| formula_shape(formula, &|_| None)).collect();
    body.sort_unstable();
    Shape::Applied(None, vec![atom_shape(&rule.head, &|_| None), Shape::Applied(None, body)])
}

fn formula_shape(formula: &Formula, variable: &dyn Fn(VarId) -> Option<VarId>) -> Shape {
    let unordered = |name, mut parts: Vec<Shape>| {
        parts.sort_unstable();
        Shape::Applied(Some(name), parts)
    };
    let all = |parts: &[Formula]| parts.iter().map(|part| formula_shape(part, variable)).collect();
    match formula {
        Formula::Atom(atom) => atom_shape(atom, variable),
        Formula::Distinct(left, right, _) => {
            unordered(keyword::DISTINCT, vec![term_shape(left, variable), term_shape(right, variable)])
        }
        Formula::Not(inner, _) => Shape::Applied(Some(keyword::NOT), vec![formula_shape(inner, variable)]),
        Formula::Or(parts, _) => unordered(keyword::OR, all(parts)),
        Formula::And(parts, _) => unordered(keyword::AND, all(parts)),
    }
}

fn atom_shape(atom: &Atom, variable: &dyn Fn(VarId) -> Option<VarId>) -> Shape {
    Shape::Applied(Some(atom.name), atom.args.iter().map(|arg| term_shape(arg, variable)).collect())
}

fn term_shape(term: &Term, variable: &dyn Fn(VarId) -> Option<VarId>) -> Shape {
    match term {
        Term::Var(var) => Shape::Variable(variable(*var)),
        Term::Const(name) => Shape::Applied(Some(*name), Vec::new()),
        Term::Func(name, args) => {
            Shape::Applied(Some(*name), args.iter().map(|arg| term_shape(arg, variable)).collect())
        }
    }
}
