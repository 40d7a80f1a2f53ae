//! The evaluator against a naive one, on random programs: with complete tables, on demand, and in between.

mod oracle;

use std::collections::BTreeSet;
use std::sync::Arc;

use gdl::datalog::{Limits, Unevaluable};
use gdl::program::{Program, Term};
use gdl::{Database, Relation, Source, TermId, keyword, parse, resolve};
use oracle::generate::{self, State};
use oracle::naive::{self, Fact, Facts};
use proptest::prelude::*;

const ASKED: &[(gdl::symbol::SymbolId, u32)] =
    &[(keyword::NEXT, 1), (keyword::LEGAL, 2), (keyword::GOAL, 2), (keyword::TERMINAL, 0)];

/// The ways to evaluate: all tables complete; every table on demand from its first fact on; from a few facts on.
fn all_limits() -> [Limits; 3] {
    let small = Limits { work: 300_000, facts: 20_000, term_depth: 20, ..Limits::default() };
    let on_demand = |table| Limits { table, static_table: table, ..small.clone() };
    [small.clone(), on_demand(0), on_demand(4)]
}

fn program(text: &str) -> Arc<Program> {
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
enum Verdict {
    /// All agree.
    Same,
    /// The program is not stratified, or the naive evaluator gave up.
    Unknown,
}

/// The law: in each of the states, one after another, all ways to evaluate give the naive answers.
fn check(text: &str, states: &[State]) -> Verdict {
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

/// One state, in which nothing is true and both roles do nothing.
fn check_once(text: &str) {
    assert_eq!(check(text, &[State { fluents: Vec::new(), moves: Vec::new() }]), Verdict::Same);
}

#[test]
fn terms_that_nobody_has_made_can_be_equal() {
    check_once("(e a) (<= (next ?x) (e ?x) (distinct (g ?x ?x) (g a ?x)))");
    check_once("(e a) (e b) (<= (next ?x) (e ?x) (e ?y) (distinct (g ?x (f ?y)) (g ?y (f ?x))))");
}

#[test]
fn variables_that_some_branches_bind() {
    check_once("(e a) (e b) (q a) (<= (next ?x) (e ?x) (or (q ?y) (q ?x)) (not (q ?y)))");
    check_once("(d a b) (d b b) (q a b) (<= (next ?x) (d ?x ?x) (or (q ?z ?w) (r ?w)) (or (d ?w ?z) (r)))");
    // Each disjunction tests what the other one binds.
    check_once(
        "(p a) (p b) (q b) (<= (next (f ?x ?y)) (or (and (p ?x) (not (q ?y))) (q ?x)) (or (and (p ?y) (not (q ?x))) (q ?y)))",
    );
    // The same in a recursion, where plans for new facts take disjunctions apart.
    check_once(
        "(e a) (e b) (s a) (<= (p ?x) (e ?x) (or (p ?y) (s ?x)) (not (s ?y))) (<= (p a) (e a)) (<= (next ?x) (p ?x))",
    );
}

#[test]
fn calls_that_the_last_pass_did_not_make() {
    check_once(
        "(e a) (e b) (<= (v ?w ?y) (v ?z ?y) (e ?z) (e ?w)) (<= (v ?x ?x) (e ?x)) (<= (next (f ?x ?y)) (e ?x) (e ?y) (v ?x ?y))",
    );
}

#[test]
fn procedures_need_all_their_rules() {
    // `r` reads only some facts of `q`; a call for them runs all rules of `q`, and `p` must be known by then.
    check_once(
        "(e a) (e b) (e (f a)) (<= (q ?z a) (p ?y) (e ?z)) (<= r (q ?x (f ?x))) (<= (p ?x) (e ?x) r)
         (<= (q a ?x) (e ?x)) (<= (p ?x) (e ?x)) (<= (next (g ?x ?y)) (q ?x ?y))",
    );
}

#[test]
fn rules_are_stratified_one_by_one() {
    check_once(
        "(e 0) (e 1) (<= (p ?x 0) (e ?x)) (<= (p ?x 1) (e ?x) (not (p ?x 0))) (<= (p 2 2) (not (p 0 1))) (<= (next (f ?x ?y)) (p ?x ?y))",
    );
    let unstratified = program("(<= (p ?x) (e ?x) (not (p ?y)))");
    assert_eq!(
        Database::new(unstratified, Limits::default()).err(),
        Some(Unevaluable::Unstratified(gdl::program::RuleId(0)))
    );
}

#[test]
fn all_facts_of_a_relation_can_be_asked_for_at_any_time() {
    let text = "(e a) (e b) (<= (p ?x ?y) (e ?x) (e ?y)) (<= (q ?x) (p ?x ?y)) (<= (next ?x) (q ?x) (p ?x ?x))";
    for limits in all_limits() {
        let mut database = Database::new(program(text), limits).expect("stratified");
        let find = |database: &Database, name| database.program().symbols.find(name).expect("a name of the program");
        assert_eq!(database.facts(Relation { name: keyword::NEXT, arity: 1 }).expect("small").len(), 2);
        let (p, q) = (find(&database, "p"), find(&database, "q"));
        assert_eq!(database.facts(Relation { name: p, arity: 2 }).expect("small").len(), 4);
        assert_eq!(database.facts(Relation { name: q, arity: 1 }).expect("small").len(), 2);
        assert_eq!(database.facts(Relation { name: q, arity: 7 }).expect("small").len(), 0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, max_shrink_iters: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn random_programs_mean_what_they_say(
        rules in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..48), 1..24),
        states in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..16), 1..4),
    ) {
        let states: Vec<_> = states.iter().map(|bytes| generate::state(bytes)).collect();
        check(&generate::program(&rules), &states);
    }
}
