//! Printing: what is printed reads back as the same tree, in either notation.

use gdl::ast::Tree;
use gdl::{Form, Source, detect, parse, print, resolve};
use proptest::prelude::*;

fn read(text: &str) -> Tree {
    let (tree, diagnostics) = parse(&Source::new("test", text));
    assert!(diagnostics.is_empty(), "{}\nin\n{text}", diagnostics[0].render(&Source::new("test", text), false));
    tree
}

/// The law: printing keeps the tree, and printing what was printed changes nothing.
fn check(text: &str) {
    let tree = read(text);
    let (_, diagnostics) = resolve(&tree);
    assert!(diagnostics.is_empty(), "{text}: {}", diagnostics[0].message);
    for form in [Form::Kif, Form::Infix] {
        let printed = print(&tree, form);
        if !tree.roots.is_empty() {
            assert_eq!(detect(&printed), form, "the notation of\n{printed}");
        }
        let again = read(&printed);
        assert!(tree.same_as(&again), "{text}\nprinted as\n{printed}\nreads as\n{}", print(&again, Form::Kif));
        assert_eq!(print(&again, form), printed, "printing twice");
    }
}

fn infix(text: &str) -> String {
    print(&read(text), Form::Infix)
}

fn kif(text: &str) -> String {
    print(&read(text), Form::Kif)
}

#[test]
fn rules_in_infix_notation() {
    let text = "(<= (legal ?r (mark ?x ?y)) (true (cell ?x ?y b)) (not (true (control ?s))))";
    assert_eq!(infix(text), "legal(R, mark(X, Y)) :- true(cell(X, Y, b)) & ~true(control(S))\n");
    assert_eq!(
        infix("(<= p (or a (and b c)) (not (or a b)) (or (or a b) c))"),
        "p :- (a | (b & c)) & ~(a | b) & ((a | b) | c)\n"
    );
    assert_eq!(infix("(<= p (or a (not b)))"), "p :- a | ~b\n");
    assert_eq!(infix("(<= p (and a b))"), "p :- (a & b)\n");
    assert_eq!(infix("(<= p (or a) (and (not b)))"), "p :- or(a) & and(~b)\n");
    assert_eq!(infix("(p) (<= (q)) (<= r (p) q)"), "p()\n\nq() :- .\n\nr :- p() & q\n");
}

#[test]
fn names_that_need_quotes() {
    assert_eq!(
        infix("(p White _x <> don't a.b not 'q' 12 -1 +x a?)"),
        "p('White', '_x', '<>', 'don''t', 'a.b', 'not', '''q''', 12, -1, +x, a?)\n"
    );
}

#[test]
fn variables_are_capitalized_and_unique() {
    assert_eq!(
        infix("(<= (p ?x ?1 ?x.y ?x_y ?_ ?) (q ?x ?1 ?x.y ?x_y ?_ ?))"),
        "p(X, V1, X_y, X_y_2, V_, V) :- q(X, V1, X_y, X_y_2, V_, V)\n"
    );
}

#[test]
fn long_rules_are_broken() {
    let long = "a-relation-with-a-rather-long-name";
    let text = format!("(<= (p ?x)({long} ?x)(or ({long} 1) (and ({long} 2) ({long} ?x)))(not ({long} ?x)))");
    insta::assert_snapshot!(kif(&text), @"
    (<= (p ?x)
        (a-relation-with-a-rather-long-name ?x)
        (or (a-relation-with-a-rather-long-name 1)
            (and (a-relation-with-a-rather-long-name 2) (a-relation-with-a-rather-long-name ?x)))
        (not (a-relation-with-a-rather-long-name ?x)))
    ");
    insta::assert_snapshot!(infix(&text), @"
    p(X) :-
        a-relation-with-a-rather-long-name(X) &
        (a-relation-with-a-rather-long-name(1) | (a-relation-with-a-rather-long-name(2) & a-relation-with-a-rather-long-name(X))) &
        ~a-relation-with-a-rather-long-name(X)
    ");
    check(&text);
}

#[test]
fn relations_are_set_apart() {
    assert_eq!(
        kif("(role a)(role b)(init (f 1))(<= (p ?x) (q ?x))(<= (p 1) r)"),
        "(role a)\n(role b)\n\n(init (f 1))\n\n(<= (p ?x) (q ?x))\n(<= (p 1) r)\n"
    );
}

#[test]
fn what_the_infix_reader_forgives() {
    let same = "(<= (p ?x ?y) (q ?x ?y) (not (r ?x)))";
    for text in [
        "p(X, Y) :- q(X, Y) & ~r(X)",
        "p(X,Y):-q(X,Y),~r(X).",
        "% comment\np(X, Y) <= q(X, Y) & not r(X).",
        "p(?x, ?y) :- q(?x, ?y) & not(r(?x))",
        "'p'(X, Y) :- q(X, Y) & not not ~r(X)  ; three times",
    ] {
        let tree = read(text);
        let wanted = if text.contains("not not") {
            same.replace("(not (r ?x))", "(not (not (not (r ?x))))")
        } else {
            same.into()
        };
        assert!(tree.same_as(&read(&wanted)), "{text} reads as {}", print(&tree, Form::Kif));
    }
    assert!(read("p(_, _, X) :- q(_, X)").same_as(&read("(<= (p ?a ?b ?x) (q ?c ?x))")));
    assert!(read("terminal.\np :- not (a & b)").same_as(&read("(terminal) (<= p (not (and a b)))")));
}

#[test]
fn the_notation_is_recognized() {
    for text in
        ["(role x)", " ; c\n\n(p)", "\u{feff}(p)", "", "word (role x)", "two words\n(role x)", ")", "; p(x)\n(q)"]
    {
        assert_eq!(detect(text), Form::Kif, "{text:?}");
    }
    for text in [
        "role(x)",
        "% c\nrole(x)",
        "p :- q",
        "p.",
        "p\n:- q",
        "'P'(x)",
        "; (q)\np(x)",
        "two p(x)",
        "a-b+c(x)",
        "p\n.\n",
    ] {
        assert_eq!(detect(text), Form::Infix, "{text:?}");
    }
}

#[test]
fn nesting_has_one_limit_in_both_notations() {
    for depth in [gdl::MAX_DEPTH - 2, gdl::MAX_DEPTH - 1, gdl::MAX_DEPTH] {
        // The rule and the relation are two levels.
        let text = format!("(<= p (q {}a{}))", "(f ".repeat(depth - 2), ")".repeat(depth - 2));
        check(&text);
        let text = format!("(<= p {}(q a){})", "(not ".repeat(depth - 2), ")".repeat(depth - 2));
        check(&text);
    }
    let too_deep = format!("p :- q({}a{})", "f(".repeat(gdl::MAX_DEPTH - 1), ")".repeat(gdl::MAX_DEPTH - 1));
    let (tree, diagnostics) = parse(&Source::new("test", too_deep));
    assert_eq!((tree.roots.len(), diagnostics[0].code), (0, gdl::Code::NestedTooDeep));
}

/// Names as real authors write them, and names made to be misread.
fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-z][a-z0-9_]{0,3}",
        1 => "[A-Z][A-Za-z]{0,2}",
        1 => "[0-9]{1,2}",
        1 => "[a-c'.,:|&~%<>=_\"+*é\u{a0}\u{feff}É-]{1,3}"
            .prop_filter("a name of its own", |name| name != "<=" && !name.starts_with('\u{feff}')),
    ]
    .prop_filter("no keyword", |name| gdl::keyword::ALL.iter().all(|keyword| !name.eq_ignore_ascii_case(keyword)))
}

fn variable() -> impl Strategy<Value = String> {
    prop_oneof![4 => "[?][xyzXY][0-9]?", 1 => "[?][a-c'.,:?_é-]{0,3}"]
}

fn term() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![3 => name(), 2 => variable(), 1 => prop_oneof!["not", "or", "true", "role"]];
    leaf.prop_recursive(3, 8, 3, |inner| {
        (name(), prop::collection::vec(inner, 0..3)).prop_map(|(name, args)| format!("({name} {})", args.join(" ")))
    })
}

fn atom() -> impl Strategy<Value = String> {
    prop_oneof![
        1 => name(),
        4 => (name(), prop::collection::vec(term(), 0..4)).prop_map(|(name, args)| format!("({name} {})", args.join(" "))),
        1 => term().prop_map(|fluent| format!("(true {fluent})")),
    ]
}

fn formula() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![4 => atom(), 1 => (term(), term()).prop_map(|(a, b)| format!("(distinct {a} {b})"))];
    leaf.prop_recursive(3, 8, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|inner| format!("(not {inner})")),
            ("or|and", prop::collection::vec(inner, 1..4))
                .prop_map(|(name, parts)| format!("({name} {})", parts.join(" "))),
        ]
    })
}

fn rule() -> impl Strategy<Value = String> {
    let head = prop_oneof![
        3 => atom().prop_filter("`true` is no head", |atom| !atom.starts_with("(true ")),
        1 => (term(), term()).prop_map(|(role, chosen)| format!("(legal {role} {chosen})")),
    ];
    (head, prop::option::of(prop::collection::vec(formula(), 0..4))).prop_map(|(head, body)| match body {
        Some(body) => format!("(<= {head} {})", body.join(" ")),
        None if head.starts_with('(') => head,
        None => format!("({head})"),
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn printing_keeps_the_tree(rules in prop::collection::vec(rule(), 0..5)) {
        check(&rules.join("\n"));
    }

    #[test]
    fn any_text_can_be_read_and_printed(text in "[a-zA-Z?_'(), .:|&~;%\n<=-]{0,60}") {
        let (tree, _) = parse(&Source::new("test", text));
        let _ = print(&tree, Form::Infix);
        let printed = print(&tree, Form::Kif);
        prop_assert!(tree.same_as(&read(&printed)));
    }
}

#[test]
fn library_games_print() {
    let games = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../games");
    let mut n_games = 0;
    for folder in std::fs::read_dir(games).expect("the library is there") {
        let rules = folder.expect("a folder").path().join("rules.kif");
        if let Ok(text) = std::fs::read_to_string(&rules) {
            check(&text);
            n_games += 1;
        }
    }
    assert!(n_games > 0);
}
