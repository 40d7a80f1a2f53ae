//! Every finding of reading and checking rules, as people see it.

use gdl::source::MAX_SOURCE_BYTES;
use gdl::{Code, Reading};

/// Reads and checks a text; the renderings of all findings, one after another.
fn rendered(bytes: &[u8]) -> String {
    let reading = gdl::read("game.kif", bytes);
    promise(&reading);
    let renderings: Vec<String> =
        reading.diagnostics.iter().map(|found| found.render(&reading.source, false)).collect();
    renderings.join("\n\n")
}

/// What holds for every finding.
fn promise(reading: &Reading) {
    for found in &reading.diagnostics {
        assert!(!found.help.is_empty(), "no help: {found:?}");
        assert!(!found.primary.text.is_empty(), "no label: {found:?}");
        assert!(!found.message.ends_with('.'), "a final stop: {found:?}");
        assert!(found.primary.span.end as usize <= reading.source.text().len(), "outside the text: {found:?}");
    }
}

fn codes(bytes: &[u8]) -> Vec<&'static str> {
    let reading = gdl::read("game.kif", bytes);
    promise(&reading);
    // Rendering must not fail either.
    reading.diagnostics.iter().for_each(|found| _ = found.render(&reading.source, true));
    reading.diagnostics.iter().map(|found| found.code.id()).collect()
}

/// Codes from GDL0700 on are found in play.
fn is_static(code: Code) -> bool {
    code.id() < "GDL0700"
}

#[test]
fn each_code_has_an_example_with_that_finding_alone() {
    for &code in Code::ALL.iter().filter(|code| is_static(**code)) {
        let example = match code {
            Code::TooLarge => code.example().repeat(MAX_SOURCE_BYTES / code.example().len() + 1),
            _ => code.example().to_vec(),
        };
        assert_eq!(codes(&example), [code.id()]);
        insta::assert_snapshot!(code.id(), rendered(&example));
    }
}

#[test]
fn codes_are_unique_and_ascending() {
    assert!(Code::ALL.is_sorted_by(|left, right| left.id() < right.id()));
}

/// A game that is nothing but right, to which the cases below add their mistakes.
const GAME: &str = "\
(role white) (role black)
(init (cell 1 b)) (init (cell 2 b)) (init (control white))
(<= (legal ?player (mark ?x)) (true (control ?player)) (true (cell ?x b)))
(<= (legal ?player noop) (role ?player) (not (true (control ?player))))
(<= (next (cell ?x ?player)) (does ?player (mark ?x)))
(<= (next (cell ?x ?mark)) (true (cell ?x ?mark)) (not (marked ?x)))
(<= (next (control black)) (true (control white)))
(<= (next (control white)) (true (control black)))
(<= (marked ?x) (does ?player (mark ?x)))
(<= terminal (not open))
(<= open (true (cell ?x b)))
(<= (goal ?player 50) (role ?player))
";

#[test]
fn a_game_that_is_right_has_no_findings() {
    assert_eq!(rendered(GAME.as_bytes()), "");
}

/// Mistakes that have more than one face, each added to a game that is right otherwise.
const MISTAKES: &[(&str, &str)] = &[
    ("misspelt next", "(<= (nxet (cell 1 b)) (does white noop))"),
    ("misspelt true", "(<= open (ture (cell 2 b)))"),
    ("misspelt relation used twice", "(<= (goal white 0) (opne)) (<= (goal black 0) opne)"),
    ("misspelt role", "(<= (goal wihte 0) open)"),
    ("no such role", "(<= (goal red 0) open)"),
    ("misspelt constant", "(<= open (true (cell 1 blak)))"),
    ("constant among many", "(n 1) (n 2) (n 3) (n 4) (n 5) (n 6) (n 7) (n 8) (<= open (n 9))"),
    ("fluent with another arity", "(<= open (true (cell 1)))"),
    ("fluent that nothing makes", "(<= open (true (stone 1)))"),
    ("move with another arity", "(<= (marked 1) (does white (mark 1 1)))"),
    ("variable in a fact", "(marked ?x)"),
    ("variable under not alone", "(<= (marked ?x) (not (true (cell ?x b))))"),
    ("variable in distinct alone", "(<= (marked ?x) open (distinct ?x 1))"),
    ("variable in one branch of an or", "(<= (marked ?x) (or (true (cell ?x b)) open))"),
    ("variable bound inside not", "(<= open (not (and (true (cell ?x b)) (distinct ?x ?y))))"),
    ("variable bound inside or", "(<= open (or (and (true (cell ?x b)) (distinct ?x 1)) (true (cell 2 b))))"),
    ("two unbound variables", "(<= (marked (pair ?x ?y)) open)"),
    ("unbound role", "(<= (legal ?r noop) (not (true (control ?r))))"),
    ("self negation", "(<= won (true (cell 1 white)) (not won)) (<= open won)"),
    (
        "long circle",
        "(<= open (true (cell 1 ?x)) (c1 ?x))
(<= (c1 ?x) (c2 ?x))
(<= (c2 ?x) (or (c3 ?x) (c2 ?x)))
(<= (c3 ?x) (true (cell ?x b)) (not (c4 ?x)))
(<= (c4 ?x) (c1 ?x))",
    ),
    (
        "negation by constants through another relation",
        "(<= (goal ?player 0) (role ?player) (lost ?player))
(<= (lost ?player) (role ?player) (not (goal ?player 100)))",
    ),
    ("recursion that builds terms", "(<= (marked (next_to ?x)) (marked ?x))"),
    ("recursion through another relation", "(<= (p (f ?x)) (q ?x)) (<= (q ?x) (p ?x)) (p 1) (<= open (p 2))"),
    (
        "restricted recursion",
        "(<= (reach ?x ?z) (reach ?x ?y) (succ ?y ?z)) (succ 1 2) (reach 1 1) (<= open (reach 1 2))",
    ),
    ("legal depends on does", "(<= (legal white (mark 1)) (does black noop))"),
    ("terminal depends on next", "(<= terminal (next (cell 1 b)))"),
    ("role depends on does", "(<= (role ?x) (does ?x noop))"),
    ("next in the body of next", "(<= (next (cell 3 b)) (next (cell 1 b)))"),
    ("base depends on the state", "(<= (base ?f) (true ?f))"),
    ("goal out of range", "(<= (goal white 101) open) (<= (goal white -1) open) (<= (goal white (plus 1)) open)"),
    (
        "unused relations that need each other",
        "(<= (even ?x) (odd ?x)) (<= (odd ?x) (even ?x)) (<= (prime ?x) (even ?x)) (even 2)",
    ),
    ("fact written three times", "(marked 7) (marked 7) (marked 7)"),
    ("does in a head", "(<= (does white noop) open)"),
    ("distinct in a head", "(distinct 1 2)"),
    ("not in a head", "(<= (not open) (true (cell 1 b)))"),
    ("empty or", "(<= open (or))"),
    ("distinct with one term", "(<= open (distinct 1))"),
    ("rule inside a rule", "(<= open (<= open (true (cell 1 b))))"),
    ("connective inside a term", "(<= open (true (or (cell 1 b) (cell 2 b))))"),
    ("terminal with an argument", "(<= (terminal now) open)"),
    ("variable as a literal", "(<= open ?x)"),
    ("list as a term", "(<= open (true ((cell) 1 b)))"),
    ("several rules with mistakes", "(<= (marked ?x) open) (<= (goal white ten) opn) (<= terminal (not)) (foo bar)"),
    ("sees", "(<= (sees ?p (cell ?x ?y)) (role ?p) (true (cell ?x ?y))) (sees white 1) (<= (marked ?x) opn)"),
    ("unclosed before another rule", "(<= open (true (cell 1 b))\n\n; a comment between\n(<= open (true (cell 2 b)))"),
    ("too many closed, later", "(marked 8)\n\n  )) (marked 9)"),
    ("words between rules", "(marked 8) and also (marked 9)"),
];

#[test]
fn mistakes_look_as_they_should() {
    for (name, text) in MISTAKES {
        let text = format!("{GAME}{text}\n");
        insta::assert_snapshot!(name.replace([' ', ','], "-"), rendered(text.as_bytes()));
    }
}

#[test]
fn infix_findings_point_at_the_right_place() {
    let text = "\
role(white)
init(cell(1, b))
legal(P, mark(X)) :- role(P) & true(cell(X, b)) | true(cell(P, Y))
next(cell(X, w)) :- does(white, mark(X)) & ~true(cell(Y, w))
terminal :- true(cel(1, w))
goal(white, win) :- (true(cell(1, w)) | opne) & distinct(Z, 1)
";
    insta::assert_snapshot!(rendered(text.as_bytes()));
}

#[test]
fn what_is_missing_is_not_reported_where_text_could_not_be_read() {
    // Without the first line there is no role; but the line is there, it only can't be read.
    assert_eq!(codes(b"(role white\n(init a)\n"), ["GDL0003"]);
    assert_eq!(codes(b"(role white)) (legal white a) (init a)"), ["GDL0004"]);
    assert_eq!(codes(b"(role white) (<= (legal white a) ?x)"), ["GDL0008"]);
}

#[test]
fn small_texts_have_findings_of_their_own() {
    let all_missing = ["GDL0109", "GDL0110", "GDL0111", "GDL0112", "GDL0113"];
    for text in ["", " \n\n", "; only\n; comments", "\u{feff}", "\0\0\0", "; \u{2028} \u{1f3b2}"] {
        assert_eq!(codes(text.as_bytes()), ["GDL0109"], "{text:?}");
    }
    for (text, code) in [
        ("(", "GDL0003"),
        (")", "GDL0004"),
        ("()", "GDL0008"),
        ("(())", "GDL0008"),
        ("(<=)", "GDL0009"),
        ("(<= )", "GDL0009"),
        ("(<= ())", "GDL0008"),
        ("x", "GDL0005"),
        ("?x", "GDL0005"),
        ("(?x)", "GDL0008"),
        ("(or)", "GDL0009"),
        ("p :- ,", "GDL0007"),
        ("p(", "GDL0007"),
    ] {
        assert_eq!(codes(text.as_bytes()), [code], "{text:?}");
    }
    assert_eq!(codes(b"(p\0a)")[1..], all_missing);
}

#[test]
fn bytes_that_are_not_utf8_are_found_and_the_rest_is_read() {
    assert_eq!(codes(b"\xff\xfe(role white)")[0], "GDL0001");
    assert_eq!(codes(b"(role white) ; \xe9\n(legal black noop)")[..2], ["GDL0001", "GDL0110"]);
    // So many of them that the replacement characters alone would be too long.
    assert_eq!(codes(&vec![0xff; MAX_SOURCE_BYTES]), ["GDL0002"]);
}

#[test]
fn texts_made_to_exhaust_the_reader_are_refused() {
    let repeat = |text: &str, bytes: usize| text.repeat(bytes / text.len()).into_bytes();
    assert_eq!(codes(&repeat("(", 100_000)), ["GDL0003", "GDL0006"]);
    assert_eq!(codes(&repeat(")", 100_000)), ["GDL0004"]);
    assert_eq!(codes(format!("{}{}", "(".repeat(100_000), ")".repeat(100_000)).as_bytes()), ["GDL0006"]);
    assert_eq!(codes(format!("p :- {}", "(".repeat(100_000)).as_bytes()), ["GDL0006"]);
    assert_eq!(codes(format!("p :- {}q", "~".repeat(100_000)).as_bytes()), ["GDL0006"]);
    assert_eq!(codes(&repeat("(succ 1 2)\n", 10_000_000)), ["GDL0002"]);
    assert_eq!(codes(&repeat("a ", 1_000_000)), ["GDL0005"]);
    assert_eq!(codes(&repeat("a\n", 1_000_000)), ["GDL0005"; 100]);
    assert_eq!(codes(&repeat(")a", 1_000_000)).len(), 100);
    assert_eq!(codes(&repeat("p :- ,\n", 1_000_000)), ["GDL0007"; 100]);
    assert_eq!(codes(&repeat("()", 1_000_000)), ["GDL0008"; 100]);
    assert_eq!(codes(format!("(<= p {})", "q ".repeat(300_000)).as_bytes()), ["GDL0010"]);
    let variables: String = (0..100_000).map(|index| format!(" ?x{index}")).collect();
    assert_eq!(codes(format!("(<= p (q{variables}))").as_bytes()), ["GDL0010"]);
}

#[test]
fn texts_made_to_exhaust_the_checks_are_checked() {
    let many = |rule: &dyn Fn(usize) -> String| -> String { (0..20_000).map(rule).collect() };
    let texts = [
        many(&|index| format!("(<= (p{index} ?x) (p{} ?x))\n", index + 1)),
        many(&|index| format!("(<= (p{} ?x) (p{index} ?x))\n", index + 1)),
        many(&|index| format!("(<= (p a{index}) (not (p b{index})))\n")),
        many(&|index| format!("(<= (p ?x) (q{index} ?x) (not (p b{index})))\n")),
        many(&|index| format!("(<= (legal r{index} b) (p ?x)) (<= (p {index}) (p ?y) (does a ?x))\n")),
        many(&|index| format!("(<= (p ?x{index}) (not (q ?y{index})))\n")),
        many(&|index| format!("(<= (goal a{index} 10) (undefined{index} a))\n")),
        many(&|index| format!("(<= (defined{index} a) (undefined{index} a))\n")),
        format!("({})", "x".repeat(1_000_000)),
        format!("(p{})", " a".repeat(1_000_000)),
        format!("(<= p {}{})", "(or a b ".repeat(250), ")".repeat(250)),
        format!("(<= p {}a{})", "(not ".repeat(250), ")".repeat(250)),
        format!("(p {}a{})", "(f ".repeat(250), ")".repeat(250)),
    ];
    for text in texts {
        let reading = gdl::read("game.kif", text.as_bytes());
        promise(&reading);
        assert!(reading.has_errors());
        for code in Code::ALL {
            assert!(reading.diagnostics.iter().filter(|found| found.code == *code).count() <= 100);
        }
        let length: usize = reading.diagnostics.iter().map(|found| found.render(&reading.source, false).len()).sum();
        assert!(length < 200_000, "{length} bytes of diagnostics");
    }
}
