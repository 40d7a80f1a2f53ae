//! The evaluator against a naive one, on random programs: with complete tables, on demand, and in between.

mod oracle;

use gdl::datalog::{Limits, Unevaluable};
use gdl::{Database, Relation, keyword};
use oracle::generate::{self, State};
use oracle::law::{Verdict, all_limits, check, program};
use proptest::prelude::*;

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
