//! The law: all ways to evaluate a program give the naive answers.

use std::collections::BTreeSet;
use std::sync::Arc;

use gdl::datalog::{Limits, Unevaluable};
use gdl::program::{Program, Term};
use gdl::{Database, Relation, Source, TermId, keyword, parse, resolve};

use super::generate::State;
use super::naive::{self, Fact, Facts};

const ASKED: &[(gdl::symbol::SymbolId, u32)] =
    &[(keyword::NEXT, 1), (keyword::LEGAL, 2), (keyword::GOAL, 2), (keyword::TERMINAL, 0)];

/// The ways to evaluate: all tables complete; every table on demand from its first fact on; from a few facts on.
pub(crate) fn all_limits() -> [Limits; 3] {
    let small = Limits { work: 300_000, facts: 20_000, term_depth: 20, ..Limits::default() };
    let on_demand = |table| Limits { table, static_table: table, ..small.clone() };
    [small.clone(), on_demand(0), on_demand(4)]
}

pub(crate) fn program(text: &str) -> Arc<Program> {
    let (tree, diagnostics) = parse(&Source::new("test", text));
    assert!(diagnostics.is_empty(), "{text}\n{}", diagnostics[0].message);
    let (program, diagnostics) = resolve(&tree);
    assert!(diagnostics.is_empty(), "{text}\n{}", diagnostics[0].message);
    Arc::new(program)
}

/// A ground term that is written in prefix notation.
fn term(text: &str, program: &mut Program) -> Term {
    let (tree, _) = parse(&Source::new("test", format!("(x {text})")));
    let (read, _) = resolve(&tree);
    fn rename(term: &Term, from: &Program, to: &mut Program) -> Term {
        match term {
            Term::Var(_) => unreachable!("the term is ground"),
            Term::Const(name) => Term::Const(to.symbols.intern(from.symbols.name(*name))),
            Term::Func(name, args) => Term::Func(
                to.symbols.intern(from.symbols.name(*name)),
                args.iter().map(|arg| rename(arg, from, to)).collect(),
            ),
        }
    }
    rename(&read.rules[0].head.args[0], &read, program)
}

fn intern(database: &mut Database, term: &Term) -> TermId {
    match term {
        Term::Var(_) => unreachable!("the term is ground"),
        Term::Const(name) => database.terms.intern(*name, &[]),
        Term::Func(name, args) => {
            let args: Vec<TermId> = args.iter().map(|arg| intern(database, arg)).collect();
            database.terms.intern(*name, &args)
        }
    }
}

/// What the database says of the keyword relations, as text.
fn answers(database: &mut Database) -> Option<BTreeSet<String>> {
    let mut all = BTreeSet::new();
    for &(name, arity) in ASKED {
        for row in database.facts(Relation { name, arity }).ok()? {
            let symbols = &database.program().symbols;
            let args: Vec<String> = row.iter().map(|&arg| database.terms.display(symbols, arg).to_string()).collect();
            all.insert(format!("{} {}", symbols.name(name), args.join(" ")));
        }
    }
    Some(all)
}

fn naive_answers(program: &Program, facts: &Facts) -> BTreeSet<String> {
    fn show(program: &Program, term: &naive::Ground) -> String {
        let name = program.symbols.name(term.name);
        if term.args.is_empty() {
            return name.to_owned();
        }
        let args: Vec<String> = term.args.iter().map(|arg| show(program, arg)).collect();
        format!("({name} {})", args.join(" "))
    }
    let asked = |fact: &&Fact| ASKED.iter().any(|&(name, arity)| fact.relation == Relation { name, arity });
    let line = |fact: &Fact| {
        let args: Vec<String> = fact.args.iter().map(|arg| show(program, arg)).collect();
        format!("{} {}", program.symbols.name(fact.relation.name), args.join(" "))
    };
    facts.iter().filter(asked).map(line).collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// All agree.
    Same,
    /// The program is not stratified, or the naive evaluator gave up.
    Unknown,
}

/// The law: in each of the states, one after another, all ways to evaluate give the naive answers.
pub(crate) fn check(text: &str, states: &[State]) -> Verdict {
    let mut rules = (*program(text)).clone();
    let terms: Vec<(Vec<Term>, Vec<[Term; 2]>)> = states
        .iter()
        .map(|State { fluents, moves }| {
            let fluents = fluents.iter().map(|fluent| term(fluent, &mut rules)).collect();
            let moves = moves.iter().map(|(role, chosen)| [role, chosen].map(|name| term(name, &mut rules))).collect();
            (fluents, moves)
        })
        .collect();
    let rules = Arc::new(rules);
    let mut databases = Vec::new();
    for limits in all_limits() {
        match Database::new(rules.clone(), limits) {
            Ok(database) => databases.push(database),
            Err(Unevaluable::Unstratified(_)) => return Verdict::Unknown,
            Err(other) => panic!("{other:?} in\n{text}"),
        }
    }
    let mut verdict = Verdict::Same;
    for ((fluents, moves), state) in terms.iter().zip(states) {
        let mut given = Facts::new();
        let ground = |term: &Term| naive::ground(term, &[]).expect("a ground term");
        for fluent in fluents {
            given.insert(Fact { relation: Relation { name: keyword::TRUE, arity: 1 }, args: vec![ground(fluent)] });
        }
        for [role, chosen] in moves {
            let args = vec![ground(role), ground(chosen)];
            given.insert(Fact { relation: Relation { name: keyword::DOES, arity: 2 }, args });
        }
        let Some(expected) = naive::facts(&rules, &given, 3_000_000) else {
            verdict = Verdict::Unknown;
            continue;
        };
        let expected = naive_answers(&rules, &expected);
        for (way, database) in databases.iter_mut().enumerate() {
            let fluents: Vec<TermId> = fluents.iter().map(|fluent| intern(database, fluent)).collect();
            let moves: Vec<(TermId, TermId)> =
                moves.iter().map(|[role, chosen]| (intern(database, role), intern(database, chosen))).collect();
            database.set_state(&fluents);
            database.set_moves(&moves);
            let Some(found) = answers(database) else {
                verdict = Verdict::Unknown;
                continue;
            };
            let missing: Vec<_> = expected.difference(&found).collect();
            let wrong: Vec<_> = found.difference(&expected).collect();
            assert!(
                missing.is_empty() && wrong.is_empty(),
                "{text}\n{state:?}\nevaluated in way {way}\nmissing: {missing:?}\nwrong: {wrong:?}"
            );
        }
    }
    verdict
}
