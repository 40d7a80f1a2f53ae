//! Small programs made of bytes: every list of bytes is one, and shorter lists with smaller bytes are simpler ones.
//!
//! The programs are made to be hard on an evaluator: joins with repeated variables, function terms to take apart and to
//! build, `or` and `not` inside each other, variables that only `not` knows, facts for derived relations, recursion
//! through several relations. They are stratified by construction, unless a rule is `wild`.

use std::fmt::Write;

/// A relation of the generated programs.
#[derive(Clone, Copy)]
struct Shape {
    name: &'static str,
    arity: usize,
    /// Its rules may use relations of its own stratum and below, and below its own under `not`; 0 has facts only.
    stratum: usize,
}

const fn shape(name: &'static str, arity: usize, stratum: usize) -> Shape {
    Shape { name, arity, stratum }
}

const RELATIONS: &[Shape] = &[
    shape("e", 1, 0),
    shape("d", 2, 0),
    shape("t", 3, 0),
    shape("z", 0, 0),
    shape("p", 1, 1),
    shape("q", 2, 1),
    shape("r", 0, 1),
    shape("o", 1, 1),
    shape("u", 1, 2),
    shape("v", 2, 2),
    shape("w", 0, 2),
    shape("k", 2, 3),
    shape("l", 1, 3),
];
const N_GIVEN: usize = 4;

const CONSTANTS: &[&str] = &["a", "b", "c"];
const VARIABLES: &[&str] = &["?x", "?y", "?z", "?w"];

/// Reads choices from bytes; all are 0 when there are no more.
struct Choices<'a>(std::slice::Iter<'a, u8>);

impl Choices<'_> {
    fn below(&mut self, n: usize) -> usize {
        usize::from(self.0.next().copied().unwrap_or(0)) % n
    }
}

/// The rule text of a program: each chunk of bytes is a rule, a fact, or both. The program says of each derived relation
/// in `next` which facts it has, asked for in several ways.
#[allow(dead_code, reason = "each test needs one of the two")]
pub(crate) fn program(chunks: &[Vec<u8>]) -> String {
    rules(chunks) + QUESTIONS
}

/// The same rules as those of a game: what the relations say decides what is legal, what comes next, and who wins.
#[allow(dead_code, reason = "each test needs one of the two")]
pub(crate) fn game(chunks: &[Vec<u8>]) -> String {
    rules(chunks) + GAME
}

fn rules(chunks: &[Vec<u8>]) -> String {
    let mut text = String::from(GIVEN);
    for bytes in chunks {
        let mut choices = Choices(bytes.iter());
        let kind = choices.below(8);
        if kind >= 6 {
            let relation = RELATIONS[choices.below(RELATIONS.len())];
            let args: Vec<String> = (0..relation.arity).map(|_| term(&mut choices, 2, false)).collect();
            writeln!(text, "{}", sentence(relation.name, &args)).expect("writing to a string");
        } else {
            text.push_str(&rule(&mut choices, kind == 5));
        }
    }
    text
}

/// The fluents of a state and the moves of the roles `a` and `b`, as terms.
#[derive(Debug)]
#[allow(dead_code, reason = "a game has states of its own")]
pub(crate) struct State {
    pub(crate) fluents: Vec<String>,
    pub(crate) moves: Vec<(String, String)>,
}

/// A state made of bytes.
#[allow(dead_code, reason = "a game has states of its own")]
pub(crate) fn state(bytes: &[u8]) -> State {
    let mut choices = Choices(bytes.iter());
    let fluents = (0..choices.below(5)).map(|_| fluent(&mut choices, false)).collect();
    let moves = ["a", "b"].map(|role| (role.to_owned(), term(&mut choices, 1, false)));
    State { fluents, moves: moves.into() }
}

const GIVEN: &str =
    "(role a) (role b) (e a) (e b) (e (f a)) (d a b) (d b c) (d c (f a)) (t a b c) (t b b a) (t c a a)\n";

const GAME: &str = "
(init a) (init (f b)) (init (g a b)) (legal a stay) (legal b stay)
(<= (legal ?r ?x) (role ?r) (e ?x) (not (u ?x)))
(<= (legal ?r (f ?x)) (d ?r ?y) (v ?x ?y) (e ?x))
(<= (next (f ?x)) (e ?x) (or (p ?x) (does ?r (f ?x))))
(<= (next (g ?x ?y)) (e ?x) (e ?y) (or (q ?x ?y) (k ?y ?x)))
(<= (next ?x) (e ?x) (or (and (o ?x) (true ?x)) (l ?x)))
(<= terminal w (not r))
(<= (goal a 100) (u ?x))
(<= (goal a 0) (not (u ?x)))
(<= (goal b 100) r (not (l ?x)))
(<= (goal b 50) (not r) (v ?x ?x))
";

const QUESTIONS: &str = "
(<= (next (p ?x)) (p ?x))
(<= (next (q ?x ?y)) (q ?x ?y))
(<= (next r) r)
(<= (next (o ?x)) (o ?x))
(<= (next (u ?x)) (u ?x))
(<= (next (v ?x ?y)) (v ?x ?y))
(<= (next w) w)
(<= (next (k ?x ?y)) (k ?x ?y))
(<= (next (l ?x)) (l ?x))
(<= (next (some-p ?x)) (e ?x) (p ?x))
(<= (next (some-q ?x ?y)) (e ?x) (q ?x ?y))
(<= (next (some-q2 ?x ?y)) (e ?y) (q ?x ?y))
(<= (next (same-q ?x)) (q ?x ?x))
(<= (next (deep-v ?x ?y)) (v (f ?x) ?y))
(<= (next (some-v ?x ?y)) (e ?x) (e ?y) (v ?x ?y))
(<= (next (no-k ?x)) (e ?x) (not (k ?x ?y)))
(<= (next (some-k ?x)) (d ?x ?y) (k ?y ?x))
(<= (legal ?r (l ?x)) (l ?x))
(<= (goal ?r ?x) (or (u ?x) (v a ?x)))
(<= terminal (or (not (p ?x)) (and (w) (not r))))
";

fn rule(choices: &mut Choices<'_>, wild: bool) -> String {
    let head = RELATIONS[N_GIVEN + choices.below(RELATIONS.len() - N_GIVEN)];
    let mut recursive = false;
    let n_literals = 1 + [0, 1, 1, 2, 2, 3][choices.below(6)];
    let mut scope = Scope { stratum: head.stratum, wild, recursive: &mut recursive };
    let body: Vec<String> = (0..n_literals).map(|_| formula(choices, &mut scope, 2, false)).collect();
    // A function in the head of a recursive rule could go on for ever.
    let depth = if recursive || wild { 0 } else { 1 };
    let args: Vec<String> = (0..head.arity).map(|_| term(choices, depth, true)).collect();
    let mut text = format!("(<= {}", sentence(head.name, &args));
    for literal in &body {
        write!(text, " {literal}").expect("writing to a string");
    }
    // Most head variables are bound by the body anyway; where all are made sure of, that is one more literal to join.
    for variable in VARIABLES {
        let in_head = args.iter().any(|arg| arg.contains(variable));
        if in_head && !body.iter().any(|literal| surely_binds(literal, variable)) {
            write!(text, " (e {variable})").expect("writing to a string");
        }
    }
    text.push_str(")\n");
    text
}

/// Whether a literal is a positive atom with the variable.
fn surely_binds(literal: &str, variable: &str) -> bool {
    literal.contains(variable) && !["(not", "(or", "(and", "(distinct"].iter().any(|start| literal.starts_with(start))
}

struct Scope<'a> {
    stratum: usize,
    wild: bool,
    recursive: &'a mut bool,
}

fn formula(choices: &mut Choices<'_>, scope: &mut Scope<'_>, depth: usize, under_not: bool) -> String {
    let several = |choices: &mut Choices<'_>, scope: &mut Scope<'_>, name: &str| {
        let n_parts = 1 + choices.below(3);
        let parts: Vec<String> = (0..n_parts).map(|_| formula(choices, scope, depth - 1, under_not)).collect();
        sentence(name, &parts)
    };
    match choices.below(16) {
        8 => sentence("distinct", &[term(choices, 1, true), term(choices, 1, true)]),
        9 | 10 if depth > 0 => sentence("not", &[formula(choices, scope, depth - 1, true)]),
        11 | 12 if depth > 0 => several(choices, scope, "or"),
        13 if depth > 0 => several(choices, scope, "and"),
        14 => sentence("true", &[fluent(choices, true)]),
        15 => {
            let role = [term(choices, 0, true), term(choices, 1, true)];
            sentence("does", &role)
        }
        _ => {
            let below = scope.stratum + usize::from(!under_not || scope.wild);
            let allowed: Vec<Shape> = RELATIONS.iter().copied().filter(|relation| relation.stratum < below).collect();
            // Half of the literals are about the highest stratum that is allowed: recursion, outside of `not`.
            let highest = allowed.iter().map(|relation| relation.stratum).max().unwrap_or(0);
            let from = allowed.iter().position(|relation| relation.stratum == highest).unwrap_or(0);
            let from = if choices.below(2) == 0 { 0 } else { from };
            let relation = allowed[from + choices.below(allowed.len() - from)];
            *scope.recursive |= relation.stratum == scope.stratum;
            let args: Vec<String> = (0..relation.arity).map(|_| term(choices, 1, true)).collect();
            sentence(relation.name, &args)
        }
    }
}

fn fluent(choices: &mut Choices<'_>, variables: bool) -> String {
    match choices.below(3) {
        0 => sentence("f", &[term(choices, 0, variables)]),
        1 => sentence("g", &[term(choices, 0, variables), term(choices, 1, variables)]),
        _ => term(choices, 1, variables),
    }
}

fn term(choices: &mut Choices<'_>, depth: usize, variables: bool) -> String {
    match choices.below(12) {
        0..=8 if variables => VARIABLES[choices.below(VARIABLES.len())].to_owned(),
        10 if depth > 0 => sentence("f", &[term(choices, depth - 1, variables)]),
        11 if depth > 0 => sentence("g", &[term(choices, depth - 1, variables), term(choices, depth - 1, variables)]),
        _ => CONSTANTS[choices.below(CONSTANTS.len())].to_owned(),
    }
}

fn sentence(name: &str, args: &[String]) -> String {
    if args.is_empty() { format!("({name})") } else { format!("({name} {})", args.join(" ")) }
}
