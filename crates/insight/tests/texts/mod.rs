//! Texts that are made to exhaust whoever analyses them or makes features of them.

use std::fmt::Write;

/// A game for one role that is over after three steps, with more rules.
pub(crate) fn with(rules: &str) -> String {
    let game = "(role robot) (init (step 0)) (after 0 1) (after 1 2) (after 2 3)
        (<= (next (step ?y)) (true (step ?x)) (after ?x ?y)) (<= terminal (true (step 3)))
        (<= (goal robot 100) (true on0)) (<= (goal robot 0) (not (true on0)))\n";
    format!("{game}{rules}")
}

/// Many fluents that have nothing to do with each other, each with a move that turns it on.
pub(crate) fn switches(n: usize) -> String {
    let mut text = with("(legal robot wait)\n");
    for number in 0..n {
        writeln!(
            text,
            "(legal robot flip{number}) (<= (next on{number}) (does robot flip{number}))
            (<= (next on{number}) (true on{number}))"
        )
        .expect("a string");
    }
    text
}

/// Many roles.
pub(crate) fn roles(n: usize) -> String {
    let mut text = String::from("(init (step 0)) (<= (next (step 1)) (true (step 0))) (<= terminal (true (step 1)))\n");
    for number in 0..n {
        writeln!(text, "(role r{number}) (init (held r{number} 0))").expect("a string");
    }
    text.push_str(
        "(value 0) (value 1) (value 2) (value 3)
        (<= (legal ?r (choose ?v)) (role ?r) (value ?v))
        (<= (next (held ?r ?v)) (does ?r (choose ?v)))
        (points 0 0) (points 1 30) (points 2 60) (points 3 100)
        (<= (goal ?r ?p) (true (held ?r ?v)) (points ?v ?p))\n",
    );
    text
}

/// A fluent, a move and a relation with very many arguments.
pub(crate) fn arity(n: usize) -> String {
    let list = |prefix: &str| (0..n).map(|at| format!(" {prefix}{at}")).collect::<String>();
    let (values, variables) = (list("c"), list("?x"));
    with(&format!(
        "(init (wide{values})) (<= (next (wide{variables})) (true (wide{variables})))
        (<= (legal robot (go{variables})) (true (wide{variables}))) (legal robot flip)
        (<= (next on0) (does robot flip)) (<= (same{variables}) (true (wide{variables})) (true on0))
        (<= (goal robot 50) (same{variables}))\n"
    ))
}
