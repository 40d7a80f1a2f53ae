//! What may depend on what: roles and the initial state not on a state (GDL0106), `legal`, `goal` and `terminal` not on
//! the moves that are about to be chosen (GDL0107), and declarations on neither (GDL0115).
//!
//! ```text
//! (<= terminal (moved white))           ; GDL0107, through `moved`
//! (<= (moved ?p) (does ?p (move ?x ?y)))
//! ```
//!
//! A rule depends on the rules whose heads match its literals, so that a relation may be about moves for some constants
//! and about states for others.

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Context, Findings, matches_head};
use crate::diagnostic::{Code, Diagnostic};
use crate::program::{Atom, Relation, Rule};
use crate::source::Span;
use crate::symbol::{SymbolId, keyword};

const TRUE: Relation = Relation { name: keyword::TRUE, arity: 1 };
const DOES: Relation = Relation { name: keyword::DOES, arity: 2 };

/// How many pairs of a literal and a head are compared before the search gives up.
const MAX_COMPARISONS: u64 = 10_000_000;

pub(super) fn check(context: &Context<'_>, found: &mut Findings) {
    let mut search = Search { context, n_comparisons: 0 };
    // A culprit is reported once, however many rules reach it.
    let mut reported: FxHashSet<Span> = FxHashSet::default();
    let relation = |name, arity| Relation { name, arity };
    let cases: [(Code, &[Relation], &[Relation]); 3] = [
        (Code::StateInStatic, &[relation(keyword::ROLE, 1), relation(keyword::INIT, 1)], &[TRUE, DOES]),
        (
            Code::MoveInState,
            &[relation(keyword::LEGAL, 2), relation(keyword::GOAL, 2), relation(keyword::TERMINAL, 0)],
            &[DOES],
        ),
        (Code::StateInDeclaration, &[relation(keyword::BASE, 1), relation(keyword::INPUT, 2)], &[TRUE, DOES]),
    ];
    for (code, relations, forbidden) in cases {
        for &relation in relations {
            let needed = context.graph.needed_by([relation]);
            if !forbidden.iter().any(|forbidden| needed.contains(forbidden)) {
                continue;
            }
            for rule in context.keyword(relation.name, relation.arity) {
                let Some(path) = search.path(rule, forbidden) else { continue };
                let culprit = path.last().expect("a path has at least one literal");
                if reported.insert(culprit.span) {
                    found.report(code, |code| finding(context, code, relation.name, &path));
                }
            }
        }
    }
}

fn finding(context: &Context<'_>, code: Code, from: SymbolId, path: &[&Atom]) -> Diagnostic {
    let from = keyword::ALL[from.0 as usize];
    let culprit = path[path.len() - 1];
    let (what, read) = match culprit.name {
        keyword::DOES => ("the players' moves", "the players' moves are read here"),
        _ => ("the state", "the state is read here"),
    };
    let mut finding = Diagnostic::new(code, path[0].span, format!("`{from}` depends on {what}"));
    finding = match path {
        [_] => finding.label(format!("`{from}` must be known before {what}")),
        [first, .., last] => {
            let name = context.name(first.name);
            let arrows: Vec<String> = path.iter().map(|atom| format!("`{}`", context.name(atom.name))).collect();
            finding
                .label(format!("through `{name}`"))
                .also(last.span, read)
                .note(format!("`{from}` → {}", arrows.join(" → ")))
        }
        [] => unreachable!("a path has at least one literal"),
    };
    match code {
        Code::StateInStatic => finding.help(format!("define `{from}` by facts, or by rules that use only facts")),
        Code::MoveInState => finding.help("let `next` record what was done in a fluent, and read that with `true`"),
        _ => finding.help(format!("declare by `{from}` whatever can ever hold or be done, in any state")),
    }
}

struct Search<'c, 'a> {
    context: &'c Context<'a>,
    n_comparisons: u64,
}

impl<'a> Search<'_, 'a> {
    /// A shortest chain of literals from a rule to one of the forbidden relations, each but the first in the body of a
    /// rule that its predecessor matches.
    fn path(&mut self, start: &'a Rule, forbidden: &[Relation]) -> Option<Vec<&'a Atom>> {
        // Rules are known by where they stand; each remembers the rule and the literal it was reached from.
        let mut came_from: FxHashMap<Span, Option<(Span, &Atom)>> = FxHashMap::default();
        came_from.insert(start.span, None);
        let mut pending = VecDeque::from([start]);
        while let Some(rule) = pending.pop_front() {
            let mut literals = Vec::new();
            rule.for_each_body_atom(|atom, _| literals.push(atom));
            if let Some(last) = literals.iter().find(|atom| forbidden.contains(&atom.relation())) {
                let mut path = vec![*last];
                let mut at = rule.span;
                while let Some((before, literal)) = came_from[&at] {
                    path.push(literal);
                    at = before;
                }
                path.reverse();
                return Some(path);
            }
            for literal in literals {
                for &source in self.context.definitions.get(&literal.relation()).into_iter().flatten() {
                    self.n_comparisons += 1;
                    if self.n_comparisons > MAX_COMPARISONS {
                        return None;
                    }
                    if !source.body.is_empty()
                        && matches_head(literal, &source.head)
                        && !came_from.contains_key(&source.span)
                    {
                        came_from.insert(source.span, Some((rule.span, literal)));
                        pending.push_back(source);
                    }
                }
            }
        }
        None
    }
}
