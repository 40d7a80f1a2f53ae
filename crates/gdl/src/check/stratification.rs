//! Negation that goes round in a cycle: of rules (GDL0301), or of relations only (GDL0303).
//!
//! ```text
//! (<= (safe ?x) (square ?x) (not (threatened ?x)))          ; GDL0301: safe if it is not safe
//! (<= (threatened ?x) (square ?x) (safe ?x))
//!
//! (<= (goal ?r 100) (role ?r) (not (goal ?r 0)))            ; GDL0303: two different goal values
//! ```
//!
//! A rule depends on the rules whose heads match its literals. A cycle of rules has no meaning; a cycle of relations
//! that is no cycle of rules has one, and is evaluated.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::dependency::for_each_read;
use super::{Context, Findings, matches_head};
use crate::diagnostic::{Code, Diagnostic};
use crate::program::{Atom, Relation, Rule};

/// How many pairs of a literal and a head are compared at most.
const MAX_COMPARISONS: usize = 10_000_000;
/// How many rules of a cycle are pointed at.
const MAX_SHOWN: usize = 6;

/// A literal by which one rule depends on another.
#[derive(Clone, Copy)]
struct Edge<'a> {
    to: usize,
    literal: &'a Atom,
    under_not: bool,
}

pub(super) fn check(context: &Context<'_>, found: &mut Findings) {
    // Step 1. The rules of the relations concerned, and how they depend on each other.
    let concerned = |rule: &&Rule| !rule.body.is_empty() && context.graph.has_negative_cycle(rule.head.relation());
    let rules: Vec<&Rule> = context.program.rules.iter().filter(concerned).collect();
    let mut by_head: FxHashMap<Relation, Vec<usize>> = FxHashMap::default();
    for (index, rule) in rules.iter().enumerate() {
        by_head.entry(rule.head.relation()).or_default().push(index);
    }
    if is_too_large(&rules, &by_head) {
        found.report(Code::Unstratified, |code| {
            Diagnostic::new(
                code,
                rules[0].head.span,
                format!("`{}` may depend on its own negation", context.name(rules[0].head.name)),
            )
            .label("this relation depends on its own negation")
            .note("there are too many rules to find out whether one of them does")
            .help("give the cases that need each other relations of their own")
        });
        return;
    }
    let mut edges: Vec<Vec<Edge<'_>>> = vec![Vec::new(); rules.len()];
    for (index, rule) in rules.iter().enumerate() {
        for_each_read(rule, |literal, under_not| {
            for &to in by_head.get(&literal.relation()).into_iter().flatten() {
                if matches_head(literal, &rules[to].head) {
                    edges[index].push(Edge { to, literal, under_not });
                }
            }
        });
    }
    // Step 2. Cycles of rules with a negation on them.
    let successors: Vec<Vec<usize>> = edges.iter().map(|edges| edges.iter().map(|edge| edge.to).collect()).collect();
    let components = crate::graph::components(&successors);
    let mut component = vec![0; rules.len()];
    for (number, members) in components.iter().enumerate() {
        members.iter().for_each(|&member| component[member] = number);
    }
    let mut explained: Vec<Relation> = Vec::new();
    for (number, members) in components.iter().enumerate() {
        let start = members.iter().find_map(|&from| {
            let edge = edges[from].iter().find(|edge| edge.under_not && component[edge.to] == number)?;
            Some((from, *edge))
        });
        if let Some((from, first)) = start {
            explained.push(rules[from].head.relation());
            let mut cycle = vec![first];
            cycle.extend(way_back(&edges, &component, first.to, from));
            found.report(Code::Unstratified, |code| unstratified(context, code, rules[from], &cycle, &rules));
        }
    }
    // Step 3. Cycles of relations that are none of rules.
    for (index, rule) in rules.iter().enumerate() {
        let head = rule.head.relation();
        let mut culprit: Option<&Atom> = None;
        for_each_read(rules[index], |literal, under_not| {
            if under_not && culprit.is_none() && context.graph.in_a_cycle(head, literal.relation()) {
                culprit = Some(literal);
            }
        });
        let Some(literal) = culprit else { continue };
        if explained.iter().any(|&relation| relation == head || context.graph.in_a_cycle(relation, head)) {
            continue;
        }
        explained.push(head);
        found.report(Code::NegationByConstants, |code| {
            let (name, read) = (context.name(head.name), context.name(literal.name));
            let message = format!("`{name}` depends on its own negation, for other arguments");
            let label = match head == literal.relation() {
                true => format!("`{name}` is read under `not` ..."),
                false => format!("`{read}` is read under `not`, and needs `{name}` in turn ..."),
            };
            Diagnostic::new(code, literal.span, message)
                .label(label)
                .also(rule.head.span, format!("... to define `{name}`, for other arguments"))
                .note(
                    "no rule depends on its own negation, so this has a meaning; but other players may reject the game",
                )
                .help("give one of the two cases a relation of its own")
        });
    }
}

fn is_too_large(rules: &[&Rule], by_head: &FxHashMap<Relation, Vec<usize>>) -> bool {
    let mut n_comparisons = 0;
    for rule in rules {
        rule.for_each_body_atom(|atom, _| n_comparisons += by_head.get(&atom.relation()).map_or(0, Vec::len));
    }
    n_comparisons > MAX_COMPARISONS
}

/// A shortest way from one rule to another inside their component.
fn way_back<'a>(edges: &[Vec<Edge<'a>>], component: &[usize], from: usize, to: usize) -> Vec<Edge<'a>> {
    let mut came_from: FxHashMap<usize, Option<(usize, Edge<'_>)>> = FxHashMap::default();
    came_from.insert(from, None);
    let mut pending = VecDeque::from([from]);
    while let Some(at) = pending.pop_front() {
        if at == to {
            break;
        }
        for &edge in edges[at].iter().filter(|edge| component[edge.to] == component[from]) {
            came_from.entry(edge.to).or_insert_with(|| {
                pending.push_back(edge.to);
                Some((at, edge))
            });
        }
    }
    let (mut way, mut at) = (Vec::new(), to);
    while let Some(&Some((before, edge))) = came_from.get(&at) {
        way.push(edge);
        at = before;
    }
    way.reverse();
    way
}

fn unstratified(context: &Context<'_>, code: Code, start: &Rule, cycle: &[Edge<'_>], rules: &[&Rule]) -> Diagnostic {
    let name = |atom: &Atom| context.name(atom.name);
    let from = name(&start.head);
    let negated = |edge: &Edge<'_>| {
        let not = if edge.under_not { "not " } else { "" };
        format!("`{not}{}`", name(edge.literal))
    };
    let mut finding = Diagnostic::new(code, cycle[0].literal.span, format!("`{from}` depends on its own negation"))
        .label(format!("`{from}` needs {} here", negated(&cycle[0])));
    for (before, edge) in cycle.iter().zip(&cycle[1..]).take(MAX_SHOWN) {
        let reader = name(&rules[before.to].head);
        finding = finding.also(edge.literal.span, format!("and `{reader}` needs {} here", negated(edge)));
    }
    let mut names: Vec<String> = cycle.iter().map(negated).collect();
    if names.len() > 2 * MAX_SHOWN {
        names.splice(MAX_SHOWN..names.len() - MAX_SHOWN, ["...".to_owned()]);
    }
    finding
        .note(format!("the cycle is `{from}` → {}", names.join(" → ")))
        .help("break the cycle: one of these relations must be defined without the others")
}
