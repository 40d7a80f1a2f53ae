//! Texts that are made to exhaust a reader: all of them end soon, without a panic, on the small stack of a test's thread.

use std::fmt::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gdl::datalog::{Limits, Resource, Unevaluable};
use gdl::{Database, Form, Relation, keyword, print};

const TERMINAL: Relation = Relation { name: keyword::TERMINAL, arity: 0 };

type Answer = Result<bool, String>;

/// Reads, checks, prints and evaluates a text, in complete tables and on demand; returns what came of `terminal` in each.
/// Generous, since tests run on busy machines: the point is minutes or days.
fn survive(text: &str) -> [Answer; 2] {
    let start = Instant::now();
    let reading = gdl::read("hostile", text.as_bytes());
    let _: Vec<String> = reading.diagnostics.iter().map(|found| found.render(&reading.source, false)).collect();
    let _: String = print(&reading.tree, Form::Infix);
    let program = Arc::new(reading.program);
    let answers = [usize::MAX, 0].map(|table| {
        let limits = Limits { work: 2_000_000, facts: 1_000_000, table, static_table: table, ..Limits::default() };
        let mut database = Database::new(program.clone(), limits).map_err(|why| format!("{why:?}"))?;
        database.holds_any(TERMINAL).map_err(|why| format!("{:?}", why.resource))
    });
    let took = start.elapsed();
    assert!(took < Duration::from_secs(240), "took {took:?}");
    answers
}

fn repeated(n: usize, mut piece: impl FnMut(usize, &mut String)) -> String {
    let mut text = String::new();
    (0..n).for_each(|index| piece(index, &mut text));
    text
}

#[test]
fn long_chains_of_relations() {
    let n = 100_000;
    for body in ["(p{})", "(not (p{}))", "(p{}) (not q)"] {
        let chain = repeated(n, |i, text| {
            writeln!(text, "(<= (p{i}) {})", body.replace("{}", &(i + 1).to_string())).unwrap();
        });
        let [complete, on_demand] = survive(&format!("(p{n})(<= terminal p0){chain}"));
        assert_eq!(complete, Ok(true));
        // Every relation changes to on-demand evaluation by itself, which costs work, too.
        assert!(on_demand.unwrap_or(true));
    }
}

#[test]
fn large_cycles_of_relations() {
    let n = 50_000;
    let cycle = repeated(n, |i, text| writeln!(text, "(<= (p{i} ?x) (p{} ?x))", (i + 1) % n).unwrap());
    let [complete, on_demand] = survive(&format!("(p0 a)(<= terminal (p7 a)){cycle}"));
    assert_eq!((complete, on_demand), (Ok(true), Ok(true)));
    let many = repeated(n, |i, text| writeln!(text, "(<= (p{i} ?x) (p{i} ?x))(<= terminal (p{i} a))").unwrap());
    assert_eq!(survive(&many), [Ok(false), Ok(false)]);
}

#[test]
fn many_rules_for_one_relation() {
    let many = repeated(100_000, |_, text| text.push_str("(<= (p ?x) (p ?x))\n"));
    assert_eq!(survive(&format!("(p a)(<= terminal (p a)){many}")), [Ok(true), Ok(true)]);
    let many = repeated(100_000, |_, text| text.push_str("(<= (p ?x) (q ?x) (not (p ?x)))\n"));
    assert!(survive(&format!("(<= terminal (p a)){many}")).iter().all(Result::is_err));
}

#[test]
fn large_bodies() {
    let n = 480;
    let joins = repeated(n, |i, text| write!(text, "(p ?x{i} ?x{})", i + 1).unwrap());
    assert_eq!(survive(&format!("(p a b)(p b a)(<= terminal {joins})")), [Ok(true), Ok(true)]);
    let derived = format!("(e a b)(e b a)(<= (p ?x ?y) (e ?x ?y))(<= terminal {joins})");
    assert_eq!(survive(&derived), [Ok(true), Ok(true)]);
    let tests = repeated(n / 2, |i, text| write!(text, "(not (p c ?x{i}))").unwrap());
    assert_eq!(survive(&format!("(p a b)(p b a)(<= terminal {tests})")), [Ok(true), Ok(true)]);
    let choices = repeated(n / 3, |i, text| write!(text, "(or (p ?x{i} ?x{}) (p c ?x{i}))", i + 1).unwrap());
    let _: [Answer; 2] = survive(&format!("(p a b)(p b a)(<= terminal {choices})"));
    let choices = repeated(n / 3, |i, text| write!(text, "(or (p ?x{i} ?x{}) (p ?x{} ?x{i}))", i + 1, i + 1).unwrap());
    assert_eq!(survive(&format!("(p a b)(p b a)(<= terminal {choices})")), [Ok(true), Ok(true)]);
    let nested = format!("{}(p a b){}", "(not ".repeat(250), ")".repeat(250));
    assert_eq!(survive(&format!("(p a b)(p b a)(<= terminal {nested})")), [Ok(true), Ok(true)]);
}

#[test]
fn bodies_beyond_the_limit() {
    let joins = repeated(100_000, |i, text| write!(text, "(p ?x{i} ?x{})", i + 1).unwrap());
    let refused = || Err(format!("{:?}", Unevaluable::TooComplex(gdl::program::RuleId(0))));
    assert_eq!(survive(&format!("(<= terminal {joins})(p a b)")), [refused(), refused()]);
    let choices = repeated(40, |i, text| write!(text, "(or (p ?x{i} a) q)").unwrap());
    let tests = repeated(40, |i, text| write!(text, "(not (p ?x{i} b))").unwrap());
    assert_eq!(survive(&format!("(<= terminal {choices} {tests})")), [refused(), refused()]);
}

#[test]
fn deep_calls() {
    // Each call nests 250 levels of `not` on the stack.
    let n = 190;
    let nots = |inner: &str| format!("{}{inner}{}", "(not ".repeat(250), ")".repeat(250));
    let rules = repeated(n, |i, text| {
        writeln!(text, "(<= (p{i} ?x) (e ?x) {})(<= (p{i} b) (e b))", nots(&format!("(p{} ?x)", i + 1))).unwrap();
    });
    assert_eq!(survive(&format!("(e a)(e b)(p{n} a){rules}(<= terminal (p0 a))")), [Ok(true), Ok(true)]);
}

#[test]
fn terms_that_grow() {
    let depth = || Err(format!("{:?}", Resource::TermDepth));
    // What is asked for on demand has a finite answer.
    assert_eq!(survive("(p a)(<= (p (f ?x)) (p ?x))(<= terminal (p b))"), [depth(), Ok(false)]);
    assert_eq!(survive("(p a)(<= (p (f ?x)) (p ?x))(<= terminal (p ?x) (p (g ?x)))"), [depth(), depth()]);
    let size = || Err(format!("{:?}", Resource::TermSize));
    assert_eq!(survive("(p a)(<= (p (f ?x ?x)) (p ?x))(<= terminal (p ?x) (p (g ?x)))"), [size(), size()]);
    assert_eq!(
        survive("(e a)(<= (p ?x) (e ?x))(<= (p ?x) (e ?x) (p (f ?x)))(<= terminal (p b))"),
        [Ok(false), Ok(false)]
    );
    let wide = repeated(8, |i, text| write!(text, "(e ?x{i})").unwrap());
    let args = repeated(8, |i, text| write!(text, " ?x{i}").unwrap());
    let constants = repeated(10, |i, text| write!(text, "(e c{i})").unwrap());
    let ground = " c3".repeat(8);
    let [complete, on_demand] = survive(&format!("{constants}(<= (p{args}) {wide})(<= terminal (p{ground}))"));
    assert!(complete.is_err());
    assert_eq!(on_demand, Ok(true));
}

#[test]
fn disjunctions_that_multiply() {
    // Sixteen thousand bodies of nine thousand names.
    let choices = repeated(14, |i, text| write!(text, "(or (p{i}) (not (q{i})))").unwrap());
    let wide = " ?x".repeat(9000);
    let text = format!("(role r)(init a)(legal r go)(<= terminal (e ?x) (true (f{wide})) {choices})");
    let start = Instant::now();
    let reading = gdl::read("hostile", text.as_bytes());
    let ground = gdl::ground::ground(&reading.program, &gdl::ground::Budget::default());
    assert!(matches!(ground, Err(gdl::ground::Failure::Rules(_))));
    // A contradiction leaves no rule, but takes time.
    let never = repeated(2000, |i, text| {
        let choices = repeated(12, |i, text| write!(text, "(or (p{i}) (not (distinct ?x a)))").unwrap());
        write!(text, "(<= (w{i} ?x) (e ?x) (not (distinct ?x b)) {choices} (not (distinct ?x c)))").unwrap();
    });
    let reading = gdl::read("hostile", format!("(role r)(e a){never}(<= terminal (w1 ?x))").as_bytes());
    assert!(gdl::ground::ground(&reading.program, &gdl::ground::Budget::default()).is_err());
    assert!(start.elapsed() < Duration::from_secs(120), "took {:?}", start.elapsed());
}

#[test]
fn rubbish() {
    for piece in [
        "(",
        ")",
        "x ",
        "(?x)",
        "()",
        "(<=)",
        "p(",
        "~",
        "'",
        "p(?x) :- (",
        "(or)",
        "p :- not ",
        ".",
        "(<= p (not",
        "% ",
    ] {
        let _: [Answer; 2] = survive(&piece.repeat((1 << 20) / piece.len()));
    }
    let _: [Answer; 2] = survive(&format!(
        "(p {})",
        repeated(200_000, |i, text| write!(text, " ?{}", "?".repeat(i % 7) + &i.to_string()).unwrap())
    ));
    let _: [Answer; 2] =
        survive(&format!("(<= (p ?) {})", repeated(100_000, |i, text| write!(text, "(q ?.{i}. ?-{i}.)").unwrap())));
}

#[test]
fn long_characters_at_the_end() {
    for text in ["é.", "p :- é", "(é", "é)", "(<= é é)", "p(é) :- q | é"] {
        let _: [Answer; 2] = survive(text);
    }
}
