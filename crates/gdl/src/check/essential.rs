//! What a game can't do without: a role, a legal move for each role, an end, goals and an initial state
//! (GDL0109 to GDL0113).
//!
//! A relation that nothing uses and whose name looks like the missing keyword is taken for a misspelling of it, as in
//! `(<= termnal (true (step 10)))`.

use super::near::nearest;
use super::{Context, Findings, may_unify};
use crate::diagnostic::{Code, Diagnostic};
use crate::program::{Relation, Rule, Term};
use crate::symbol::{SymbolId, Symbols, keyword};

struct Essential {
    name: SymbolId,
    arity: u32,
    code: Code,
    message: &'static str,
    help: &'static str,
}

const ESSENTIALS: [Essential; 5] = [
    Essential {
        name: keyword::ROLE,
        arity: 1,
        code: Code::NoRole,
        message: "the game has no role",
        help: "add a fact `(role name)` for each player",
    },
    Essential {
        name: keyword::LEGAL,
        arity: 2,
        code: Code::NoLegal,
        message: "no move is ever legal",
        help: "add rules `(<= (legal role move) ...)`",
    },
    Essential {
        name: keyword::TERMINAL,
        arity: 0,
        code: Code::NoTerminal,
        message: "the game can't end",
        help: "add a rule `(<= terminal ...)`",
    },
    Essential {
        name: keyword::GOAL,
        arity: 2,
        code: Code::NoGoal,
        message: "no role has a goal",
        help: "add rules `(<= (goal role value) ...)` with values from 0 to 100",
    },
    Essential {
        name: keyword::INIT,
        arity: 1,
        code: Code::NoInit,
        message: "the initial state is empty",
        help: "add facts `(init fluent)`",
    },
];

pub(super) fn check(context: &Context<'_>, found: &mut Findings) {
    if !context.complete {
        return;
    }
    if context.program.rules.is_empty() {
        found.report(Code::NoRole, |code| {
            Diagnostic::new(code, context.end(), "the text has no rules")
                .label("nothing but white space and comments")
                .help("write the game here, beginning with a fact `(role name)` for each player")
        });
        return;
    }
    for essential in &ESSENTIALS {
        if context.keyword(essential.name, essential.arity).is_empty() {
            let keyword = keyword::ALL[essential.name.0 as usize];
            let misspelt = misspelt(context, keyword, essential.arity);
            found.explained.extend(misspelt.map(|rule| rule.head.relation()));
            found.report(essential.code, |_| missing(context, essential, misspelt));
        }
    }
    for (role, fact) in context.role_facts() {
        without(context, found, Code::NoLegal, keyword::LEGAL, role, fact);
        without(context, found, Code::NoGoal, keyword::GOAL, role, fact);
    }
}

fn missing(context: &Context<'_>, essential: &Essential, misspelt: Option<&Rule>) -> Diagnostic {
    let keyword = keyword::ALL[essential.name.0 as usize];
    if let Some(rule) = misspelt {
        let name = context.name(rule.head.name);
        return Diagnostic::new(essential.code, rule.head.span, essential.message)
            .label(format!("defines `{name}`, which nothing uses"))
            .help(format!("did you mean `{keyword}`?"));
    }
    Diagnostic::new(essential.code, context.end(), essential.message)
        .label(format!("no rule or fact for `{keyword}` up to here"))
        .help(essential.help)
}

/// The first rule of a relation that looks like a misspelling of this keyword.
fn misspelt<'a>(context: &Context<'a>, keyword: &str, arity: u32) -> Option<&'a Rule> {
    let suspects = context.definitions.iter().filter(|(relation, _)| {
        relation.arity == arity && !Symbols::is_keyword(relation.name) && !context.uses.contains_key(*relation)
    });
    let suspects: Vec<(&Relation, _)> = suspects.collect();
    let name = nearest(keyword, suspects.iter().map(|(relation, _)| context.name(relation.name)))?;
    let (_, rules) = suspects.into_iter().find(|(relation, _)| context.name(relation.name) == name)?;
    rules.first().copied()
}

/// Reports a role that no rule for this relation can be about.
fn without(context: &Context<'_>, found: &mut Findings, code: Code, relation: SymbolId, role: SymbolId, fact: &Rule) {
    let rules = context.keyword(relation, 2);
    if rules.is_empty() || rules.iter().any(|rule| may_unify(&rule.head.args[0], &Term::Const(role))) {
        return;
    }
    let (name, keyword) = (context.name(role), keyword::ALL[relation.0 as usize]);
    let (what, help) = match code {
        Code::NoLegal => (
            "legal move",
            format!("add a rule `(<= (legal {name} ...) ...)`; a role that waits has a move such as `noop`"),
        ),
        _ => ("goal", format!("add rules `(<= (goal {name} value) ...)` with values from 0 to 100")),
    };
    found.report(code, |code| {
        Diagnostic::new(code, context.argument(&fact.head, 0), format!("role `{name}` never has a {what}"))
            .label(format!("no rule for `{keyword}` can be about `{name}`"))
            .help(help)
    });
}
