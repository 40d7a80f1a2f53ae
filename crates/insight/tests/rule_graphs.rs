//! Rule graphs have the published sizes, and tell games apart as they should.

use gdl::Program;
use insight::canonical::{BUDGET, canonical};
use insight::graph::Fingerprint;
use insight::rule_graph::{Options, RuleGraph};

const NIM: &str = include_str!("../../../games/nim-5/rules.kif");
const MINICHESS: &str = include_str!("../../../games/minichess/rules.kif");

fn read(rules: &str) -> Program {
    gdl::read("test", rules.as_bytes()).program
}

fn sizes(rules: &str, options: Options) -> (usize, usize) {
    let graph = RuleGraph::new(&read(rules), &options).graph;
    (graph.colors.len(), graph.edges.len())
}

fn fingerprint(rules: &str, options: Options) -> Fingerprint {
    let graph = RuleGraph::new(&read(rules), &options);
    graph.fingerprint(&graph.label(BUDGET, &gdl::Stop::never()).expect("easy").order)
}

const DEFAULT: Options = Options { compatible: false, without_init: false };
const COMPATIBLE: Options = Options { compatible: true, without_init: false };

#[test]
fn sizes_are_the_published_ones() {
    assert_eq!(sizes(NIM, COMPATIBLE), (157, 231));
    assert_eq!(sizes(MINICHESS, COMPATIBLE), (950, 1705));
    let without_init = Options { without_init: true, ..COMPATIBLE };
    assert_eq!(sizes(NIM, without_init), (151, 223));
    assert_eq!(sizes(MINICHESS, without_init), (864, 1537));
    assert_eq!(sizes(NIM, DEFAULT), (156, 229));
    assert_eq!(sizes(MINICHESS, DEFAULT), (948, 1701));
}

#[test]
fn only_the_repaired_graph_tells_a_game_from_its_inversion() {
    let inverted: String = MINICHESS
        .lines()
        .map(|line| match line.find("(goal") {
            Some(_) => line.replace("100)", "ZERO)").replace(" 0)", " 100)").replace("ZERO)", "0)"),
            None => line.to_owned(),
        })
        .collect::<Vec<_>>()
        .join("\n");
    assert_ne!(inverted, MINICHESS);
    assert_eq!(fingerprint(MINICHESS, COMPATIBLE), fingerprint(&inverted, COMPATIBLE));
    assert_ne!(fingerprint(MINICHESS, DEFAULT), fingerprint(&inverted, DEFAULT));
}

/// Whether two texts are the same game: by their graphs, and by their canonical texts.
fn same(left: &str, right: &str) -> bool {
    let equal = fingerprint(left, DEFAULT) == fingerprint(right, DEFAULT);
    assert_eq!(equal, canonical(&read(left), BUDGET).text == canonical(&read(right), BUDGET).text);
    equal
}

#[test]
fn goal_values_are_numbers_and_other_numbers_are_names() {
    let game = |low: &str, high: &str, step: &str| {
        format!("(role a) (init (step {step})) (<= (goal a {low}) (true (step {step}))) (<= (goal a {high}) (role a))")
    };
    assert!(same(&game("0", "100", "0"), &game("0", "100", "7")));
    assert!(same(&game("0", "100", "x"), &game("0", "100", "100")));
    assert!(!same(&game("0", "100", "1"), &game("100", "0", "1")));
    assert!(!same(&game("0", "100", "1"), &game("0", "50", "1")));
}

#[test]
fn numbers_that_reach_a_goal_by_rules_are_goal_values() {
    let game = |facts: &str, step: &str| {
        format!(
            "(role a) (init (step {step})) {facts} (<= (goal ?r ?s) (role ?r) (worth ?t ?s) (score ?s))
             (<= (score ?t) (true (holds (pair ?t ?u))) (distinct ?u 30))
             (<= (next (holds ?x)) (does a (take ?x)))"
        )
    };
    assert!(same(&game("(worth 0 10)", "0"), &game("(worth x 10)", "x")));
    assert!(!same(&game("(worth 0 10)", "0"), &game("(worth 10 0)", "0")));
    assert!(!same(&game("(worth 0 10)", "0"), &game("(worth 0 20)", "0")));
    assert!(!same(&game("(init (holds (pair 10 x)))", "0"), &game("(init (holds (pair 20 x)))", "0")));
    assert!(same(&game("(init (holds (pair x 10)))", "0"), &game("(init (holds (pair x 20)))", "0")));
    // What is compared with a score is a score.
    let compared = |number: &str| format!("(<= (goal a ?s) (points ?s) (distinct ?s {number})) (points 0) (points 10)");
    assert!(!same(&compared("0"), &compared("10")));
}

#[test]
fn order_matters_where_it_means_something() {
    assert!(same("(<= (p ?x) (q ?x b) (r ?x))", "(<= (p ?y) (r ?y) (q ?y b))"));
    assert!(!same("(<= (p ?x) (q ?x b) (r ?x))", "(<= (p ?x) (q b ?x) (r ?x))"));
    assert!(same("(<= p (q ?x ?y) (distinct ?x ?y) (q a ?x))", "(<= p (q ?x ?y) (distinct ?y ?x) (q a ?x))"));
    assert!(same("(<= p (or q r) (not q))", "(<= p (or r q) (not q))"));
    assert!(!same("(<= p (q ?x ?y))", "(<= p (q ?x ?x))"));
    assert!(!same("(<= (next (f ?x)) (true (g ?x)))", "(<= (next (f ?x)) (true (f ?x)))"));
    assert!(!same("(<= p (q (f a) b))", "(<= p (q (f a b)))"));
    assert!(!same("(p a) (q a)", "(p a) (q b)"));
}

#[test]
fn what_makes_no_difference_makes_none() {
    assert!(same("(<= p (and q (and r s)))", "(<= p q r s)"));
    assert!(same("(<= p (or q (or r (and s))))", "(<= p (or q r s))"));
    assert!(same("(<= p (not (or q)))", "(<= p (not q))"));
    assert!(!same("(<= p (or q (and r s)))", "(<= p (or q r s))"));
    assert!(same("(<= p q r q)", "(<= p q r)"));
    assert!(same("(<= (p ?x) (q ?x ?y) (q ?y ?x)) (<= (p ?a) (q ?b ?a) (q ?a ?b))", "(<= (p ?x) (q ?x ?y) (q ?y ?x))"));
    assert!(!same("(<= (p ?x) (q ?x ?y)) (<= (p ?x) (q ?y ?x))", "(<= (p ?x) (q ?x ?y))"));
    assert!(same("(p a) (<= (p a))", "(p a)"));
    assert!(same("(terminal) (<= (p) q)", "(<= terminal) (<= p (q))"));
}

#[test]
fn names_may_be_swapped_but_not_merged() {
    assert!(same("(succ a b) (succ b c) (init (f c))", "(succ c b) (succ b a) (init (f a))"));
    assert!(!same("(succ a b) (succ b c) (init (f c))", "(succ a b) (succ b c) (init (f a))"));
    assert!(same("(role x) (role o) (init (control x))", "(role x) (role o) (init (control o))"));
    // The relation and the function share their name, so they do in every scrambled game.
    assert!(!same("(cell a) (init (cell a))", "(cell a) (init (on a))"));
}
