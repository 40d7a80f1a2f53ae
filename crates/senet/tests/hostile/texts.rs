//! Texts that are made to exhaust whoever reads them: each family aims at a stage, at a size that is told.

use std::fmt::Write;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// A family of texts: its name, and a text for a size and a seed.
pub(crate) type Family = (&'static str, fn(usize, u64) -> String);

/// The families, each with what it aims at.
pub(crate) const FAMILIES: &[Family] = &[
    ("facts", facts),
    ("relations", relations),
    ("roles", roles),
    ("derived roles", derived_roles),
    ("arity", arity),
    ("toggles", toggles),
    ("moves", moves),
    ("moves once", moves_once),
    ("cycle", cycle),
    ("closure", closure),
    ("shift register", shift_register),
    ("counter", counter),
    ("join", join),
    ("product of moves", product_of_moves),
    ("growing terms", growing_terms),
    ("no end", no_end),
    ("no moves", no_moves),
    ("no fluents", no_fluents),
    ("over at once", over_at_once),
    ("alternatives", alternatives),
    ("wide rule", wide_rule),
    ("permutations", permutations),
    ("interchangeable", interchangeable),
    ("regular graph", regular_graph),
    ("names", names),
    ("goals", goals),
    ("simultaneous", simultaneous),
    ("mutual recursion", mutual_recursion),
    ("nested moves", nested_moves),
    ("arithmetic", arithmetic),
    ("counting paths", counting_paths),
    ("noise", noise),
];

/// The rest of a game for one role `r` whose state is `(f …)` and whose moves are `(m …)`.
const END: &str = "(<= (legal r stay) (true (on r))) (init (on r)) (<= (next (on r)) (true (on r)))
    (<= terminal (true (step 9))) (<= (goal r 100) (true (f 0))) (<= (goal r 0) (not (true (f 0))))
    (init (step 0)) (<= (next (step ?n)) (true (step ?m)) (after ?m ?n))
    (after 0 1) (after 1 2) (after 2 3) (after 3 4) (after 4 5) (after 5 6) (after 6 7) (after 7 8) (after 8 9)\n";

fn game(body: &str) -> String {
    format!("(role r)\n{body}\n{END}")
}

fn repeat(n: usize, piece: impl Fn(usize) -> String) -> String {
    (0..n).fold(String::new(), |mut text, index| {
        text.push_str(&piece(index));
        text.push('\n');
        text
    })
}

fn facts(n: usize, _: u64) -> String {
    game(&format!("{} (<= (init (f ?y)) (p 1 ?y))", repeat(n * 20, |i| format!("(p {i} {})", i * 7 % (n + 1)))))
}

fn relations(n: usize, _: u64) -> String {
    let chain = repeat(n * 5, |i| format!("(<= (p{i} ?x) (p{} ?x))", i + 1));
    game(&format!("{chain} (<= (p{} ?x) (true (f ?x))) (init (f 1)) (<= (next (f ?x)) (p0 ?x))", n * 5))
}

fn roles(n: usize, _: u64) -> String {
    let all = repeat(n, |i| format!("(role r{i}) (<= (legal r{i} (m ?x)) (true (f ?x))) (goal r{i} 50)"));
    format!("{all} (init (f 0)) (init (f 1)) (<= (next (f ?x)) (does ?r (m ?x))) (<= terminal (not (true (f 0))))")
}

fn derived_roles(n: usize, _: u64) -> String {
    let values = repeat(n.min(200), |i| format!("(d {i})"));
    let all = "(<= (all ?a ?b ?c ?e) (d ?a) (d ?b) (d ?c) (d ?e)) (<= (role ?a) (all ?a ?b ?c ?e))";
    format!(
        "{values} {all} (<= (legal ?r stay) (role ?r)) (<= (goal ?r 50) (role ?r)) (init (f 0)) (<= terminal (true (f 1)))"
    )
}

fn arity(n: usize, _: u64) -> String {
    let variables: Vec<String> = (0..n).map(|i| format!("?x{i}")).collect();
    let values: Vec<String> = (0..n).map(|i| format!("{}", i % 10)).collect();
    let (variables, values) = (variables.join(" "), values.join(" "));
    game(&format!(
        "(init (f {values})) (<= (next (f {variables})) (true (f {variables}))) (<= (p {variables}) (true (f {variables}))) (<= (legal r m) (p {variables}))"
    ))
}

fn toggles(n: usize, _: u64) -> String {
    let cells = repeat(n, |i| format!("(cell {i})"));
    game(&format!(
        "{cells} (<= (legal r (m ?x)) (cell ?x)) (<= (next (f ?x)) (does r (m ?x)) (not (true (f ?x)))) (<= (next (f ?x)) (true (f ?x)) (not (does r (m ?x))))"
    ))
}

fn moves(n: usize, _: u64) -> String {
    let cells = repeat(n, |i| format!("(cell {i})"));
    game(&format!(
        "{cells} (d 0) (d 1) (d 2) (<= (legal r (m ?x ?y)) (cell ?x) (d ?y)) (<= (next (f ?x)) (does r (m ?x ?y))) (<= (legal r (back ?x)) (true (f ?x)))"
    ))
}

fn moves_once(n: usize, _: u64) -> String {
    let things = repeat(n, |i| format!("(thing t{i})"));
    format!(
        "(role r) {things} (init (step 0)) (after 0 1) (after 1 2) (<= (next (step ?y)) (true (step ?x)) (after ?x ?y)) (<= terminal (true (step 2))) (<= (legal r (take ?x)) (true (step 0)) (thing ?x)) (<= (next (taken ?x)) (does r (take ?x))) (<= (goal r 100) (true (taken t0))) (<= (goal r 0) (not (true (taken t0))))"
    )
}

fn cycle(n: usize, _: u64) -> String {
    let edges = repeat(n, |i| format!("(edge {i} {}) (cell {i})", (i + 1) % n));
    game(&format!("{edges} (<= (legal r (m ?x)) (cell ?x) (not (true (f ?x)))) (<= (next (f ?x)) (true (f ?x))) (<= (next (f ?x)) (does r (m ?x)))
        (<= (path ?x ?y) (edge ?x ?y) (true (f ?x)) (true (f ?y))) (<= (path ?x ?z) (path ?x ?y) (path ?y ?z)) (<= terminal (path 0 {}))", n / 2))
}

fn closure(n: usize, seed: u64) -> String {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let edges: String =
        (0..n * 3).map(|_| format!("(edge {} {})", random.random_range(0..n), random.random_range(0..n))).collect();
    game(&format!("{edges} (<= (reach ?x ?y) (edge ?x ?y)) (<= (reach ?x ?z) (reach ?x ?y) (edge ?y ?z)) (<= (cell ?x) (edge ?x ?y))
        (<= (legal r (m ?x)) (cell ?x)) (<= (next (f ?y)) (does r (m ?x)) (reach ?x ?y) (not (true (f ?x)))) (<= (next (f ?y)) (true (f ?x)) (reach ?x ?y) (not (true (f ?y))))"))
}

fn shift_register(n: usize, _: u64) -> String {
    let chain = repeat(n * 10, |i| format!("(s {i} {})", i + 1));
    game(&format!("{chain} (init (f 0)) (<= (next (f ?y)) (true (f ?x)) (s ?x ?y))"))
}

fn counter(n: usize, _: u64) -> String {
    let n = n.min(2000);
    let bits = repeat(n, |i| {
        let below: String = (0..i.min(30)).map(|j| format!("(true (f {j}))")).collect();
        format!(
            "(<= (flip {i}) {below} (does r stay)) (<= (next (f {i})) (flip {i}) (not (true (f {i})))) (<= (next (f {i})) (true (f {i})) (not (flip {i})))"
        )
    });
    format!(
        "(role r) (init (f a)) (<= (next (f a)) (true (f a))) {bits} (<= (legal r stay) (true (f a))) (goal r 50) (<= terminal (true (f {})))",
        n - 1
    )
}

fn join(n: usize, _: u64) -> String {
    let values = repeat(n, |i| format!("(d {i}) (e {i} {})", i * 3 % n));
    game(&format!(
        "{values} (<= (big ?a ?b ?c ?g) (d ?a) (d ?b) (e ?c ?g) (true (f ?a))) (init (f 0)) (init (f 1)) (<= (next (f ?b)) (big ?a ?b ?c ?g) (not (true (f ?b)))) (<= (next (f ?b)) (true (f ?b)) (big ?a ?b ?b ?c))"
    ))
}

fn product_of_moves(n: usize, _: u64) -> String {
    let values = repeat(n.min(300), |i| format!("(d {i})"));
    game(&format!("{values} (<= (legal r (m ?a ?b ?c)) (d ?a) (d ?b) (d ?c)) (<= (next (f ?a)) (does r (m ?a ?b ?c)))"))
}

fn growing_terms(_: usize, _: u64) -> String {
    "(role r) (init (f z)) (<= (next (f (s ?x ?x))) (true (f ?x))) (legal r stay) (<= (legal r (m ?x)) (true (f ?x))) (goal r 0) (<= terminal (true (f q)))".to_owned()
}

fn no_end(n: usize, _: u64) -> String {
    let values = repeat(n, |i| format!("(s {i} {})", (i + 1) % n));
    format!(
        "(role a) (role b) {values} (init (f 0)) (<= (next (f ?y)) (true (f ?x)) (s ?x ?y)) (legal a stay) (<= (legal b (m ?x)) (true (f ?x))) (goal a 0) (goal b 100) (<= terminal (true (f never)))"
    )
}

fn no_moves(n: usize, _: u64) -> String {
    let values = repeat(n, |i| format!("(d {i})"));
    format!(
        "(role a) (role b) {values} (<= (big ?a ?b ?c ?e) (d ?a) (d ?b) (d ?c) (d ?e)) (init (f 0)) (legal a stay) (<= (legal b (m ?x)) (true (g ?x)) (big ?x ?y ?z ?w)) (<= (next (f ?x)) (true (f ?x))) (goal a 50) (goal b 50) (<= terminal (true (g 1)))"
    )
}

fn no_fluents(_: usize, _: u64) -> String {
    "(role a) (role b) (legal a x) (legal a y) (legal b x) (legal b y) (goal a 50) (goal b 50) (<= terminal (does a x))"
        .to_owned()
}

fn over_at_once(n: usize, _: u64) -> String {
    format!("{} terminal", roles(n.min(50), 0))
}

fn alternatives(n: usize, _: u64) -> String {
    let either = repeat(n.min(200), |i| format!("(or (true (f {i})) (not (true (g {i}))) (p {i} ?x))"));
    game(&format!(
        "(p 1 2) (p 3 4) (<= (next (f ?x)) (p ?y ?x) {either}) (<= (next (g ?x)) (does r (m ?x))) (<= (legal r (m ?x)) (p ?y ?x))"
    ))
}

fn wide_rule(n: usize, _: u64) -> String {
    let n = n.clamp(2, 450);
    let edges = repeat(6, |i| format!("(e {i} {}) (e {i} {})", (i + 1) % 6, (i + 2) % 6));
    let path: String = (0..n).map(|i| format!("(e ?x{i} ?x{}) ", i + 1)).collect();
    game(&format!(
        "{edges} (<= (next (f ?x0)) (true (f ?x{n})) {path}) (init (f 0)) (<= (legal r (m ?x0)) {path} (true (f ?x{n})))"
    ))
}

fn permutations(n: usize, _: u64) -> String {
    let n = n.clamp(3, 9);
    let variables: Vec<String> = (0..n).map(|i| format!("?x{i}")).collect();
    let numbers: String = (0..n).map(|i| format!("(number {i}) ")).collect();
    let chosen: String = variables.iter().map(|variable| format!("(number {variable}) ")).collect();
    let pairs = (0..n).flat_map(|i| (0..i).map(move |j| (i, j)));
    let distinct: String = pairs.map(|(i, j)| format!("(distinct ?x{i} ?x{j}) ")).collect();
    let cells: String = (0..n).map(|i| format!("(true (f {i} ?x{i})) ")).collect();
    let all = variables.join(" ");
    game(&format!(
        "{numbers} (<= (row {all}) {chosen} {distinct}) (<= full {cells} (row {all})) (<= (legal r (m ?c ?x)) (number ?c) (number ?x) (not (true (f ?c ?x)))) (<= (next (f ?c ?x)) (does r (m ?c ?x))) (<= (next (f ?c ?x)) (true (f ?c ?x))) (<= terminal full)"
    ))
}

fn interchangeable(n: usize, _: u64) -> String {
    let things = repeat(n, |i| format!("(thing t{i}) (init (at t{i} 0))"));
    game(&format!(
        "{things} (<= (legal r (m ?t)) (thing ?t)) (<= (next (at ?t 1)) (does r (m ?t))) (<= (next (at ?t ?x)) (true (at ?t ?x)) (not (does r (m ?t)))) (<= (next (f ?x)) (true (at ?t ?x)) (true (at ?u ?x)) (distinct ?t ?u))"
    ))
}

fn regular_graph(n: usize, seed: u64) -> String {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut order: Vec<usize> = (0..n).collect();
    let mut edges = String::new();
    for _ in 0..3 {
        for index in (1..n).rev() {
            order.swap(index, random.random_range(0..=index));
        }
        for pair in order.chunks_exact(2) {
            let _ = write!(edges, "(e {0} {1}) (e {1} {0}) ", pair[0], pair[1]);
        }
    }
    game(&format!(
        "{edges} (<= (v ?x) (e ?x ?y)) (<= (legal r (m ?x)) (v ?x)) (<= (next (f ?y)) (does r (m ?x)) (e ?x ?y)) (<= (next (f ?x)) (true (f ?x)) (e ?x ?y) (not (true (f ?y))))"
    ))
}

fn names(n: usize, seed: u64) -> String {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let long: String = (0..2000).map(|_| char::from(b'a' + random.random_range(0..26u8))).collect();
    let facts = repeat(n.min(1500), |i| format!("(p{i} {long}{i} c{})", i % 17));
    game(&format!("{facts} (<= (init (f ?y)) (p0 ?x ?y))"))
}

fn goals(n: usize, _: u64) -> String {
    let values = repeat(n, |i| format!("(d {i}) (<= (goal r {i}) (true (f {i})))"));
    format!(
        "(role r) {values} (goal r high) (goal r -5) (goal r 99999999999999999999) (init (f 0)) (<= (legal r (m ?x)) (d ?x)) (<= (next (f ?x)) (does r (m ?x))) (<= terminal (not (true (f 0))))"
    )
}

fn simultaneous(n: usize, _: u64) -> String {
    let cells = repeat(n.min(1000), |i| format!("(cell {i})"));
    let roles = repeat(8, |i| {
        format!("(role r{i}) (<= (goal r{i} 100) (true (f r{i} 0))) (<= (goal r{i} 0) (not (true (f r{i} 0))))")
    });
    format!(
        "{roles} {cells} (<= (legal ?r (m ?x)) (role ?r) (cell ?x)) (<= (next (f ?r ?x)) (does ?r (m ?x)) (does ?q (m ?y)) (distinct ?r ?q) (distinct ?x ?y)) (init (step 0)) (<= (next (step 1)) (true (step 0))) (<= terminal (true (step 1)))"
    )
}

fn mutual_recursion(n: usize, _: u64) -> String {
    let rules = repeat(n, |i| format!("(<= (p{i} ?x) (p{} ?y) (e ?y ?x)) (<= (p{i} ?x) (true (f ?x)))", (i + 1) % n));
    let edges = repeat(n.min(300), |i| format!("(e {i} {})", (i + 1) % n));
    game(&format!(
        "{rules} {edges} (init (f 0)) (<= (legal r (m ?x)) (p0 ?x)) (<= (next (f ?x)) (does r (m ?x)) (p{} ?x))",
        n / 2
    ))
}

fn nested_moves(n: usize, _: u64) -> String {
    let deep = n.min(200);
    let term = format!("{}z{}", "(s ".repeat(deep), ")".repeat(deep));
    game(&format!(
        "(init (f {term})) (<= (legal r (m ?x)) (true (f (s ?x)))) (<= (next (f ?x)) (does r (m ?x))) (<= (peel ?x) (true (f ?x))) (<= (peel ?x) (peel (s ?x))) (<= (next (g ?x)) (peel ?x))"
    ))
}

fn arithmetic(n: usize, _: u64) -> String {
    let digits = repeat(n, |i| format!("(s {i} {})", i + 1));
    game(&format!("{digits} (<= (plus ?x 0 ?x) (s ?x ?y)) (<= (plus ?x ?y ?z) (s ?a ?y) (s ?b ?z) (plus ?x ?a ?b)) (<= (times ?x 0 0) (s ?x ?y)) (<= (times ?x ?y ?z) (s ?a ?y) (times ?x ?a ?b) (plus ?x ?b ?z))
        (init (f 1)) (<= (legal r (m ?x)) (s ?x ?y)) (<= (next (f ?z)) (does r (m ?x)) (true (f ?y)) (plus ?x ?y ?z)) (<= (next (g ?z)) (does r (m ?x)) (true (f ?y)) (times ?x ?y ?z))"))
}

fn counting_paths(n: usize, _: u64) -> String {
    let side = (n as f64).sqrt().ceil() as usize;
    let cells = repeat(side, |x| repeat(side, |y| format!("(n {x} {y} {} {y}) (n {x} {y} {x} {})", x + 1, y + 1)));
    let counts = repeat(side * side, |i| format!("(s {i} {})", i + 1));
    game(&format!("{cells} {counts} (<= (cell ?x ?y) (n ?x ?y ?a ?b)) (<= (legal r (m ?x ?y)) (cell ?x ?y)) (<= (next (at ?x ?y)) (does r (m ?x ?y))) (<= (next (at ?x ?y)) (true (at ?x ?y)))
        (<= (joined ?x ?y ?a ?b 1) (n ?x ?y ?a ?b) (true (at ?x ?y)) (true (at ?a ?b))) (<= (joined ?x ?y ?c ?d ?k) (joined ?x ?y ?a ?b ?j) (n ?a ?b ?c ?d) (true (at ?c ?d)) (s ?j ?k))
        (<= (next (f ?k)) (joined 0 0 ?x ?y ?k))"))
}

/// Tokens of rules in no order.
fn noise(n: usize, seed: u64) -> String {
    const TOKENS: [&str; 24] = [
        "(",
        ")",
        "(",
        ")",
        "<=",
        "role",
        "init",
        "true",
        "does",
        "next",
        "legal",
        "goal",
        "terminal",
        "not",
        "or",
        "distinct",
        "?x",
        "?y",
        "a",
        "b",
        "1",
        "(role a)",
        "(legal a b)",
        "(<= terminal (true a))",
    ];
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    (0..n * 10).map(|_| TOKENS[random.random_range(0..TOKENS.len())].to_owned() + " ").collect()
}
