//! What holds for the findings of any text.

use std::sync::Arc;

use gdl::datalog::{Database, Limits, Unevaluable};
use gdl::{Code, Severity};
use proptest::prelude::*;

/// Rules over a small vocabulary, so that names meet: `(<= (p a ?x) (q ?x b) (not (p b ?x)))`.
fn rules() -> impl Strategy<Value = String> {
    let term = prop::sample::select(vec!["a", "b", "?x", "?y", "(f ?x)"]);
    let atom = (prop::sample::select(vec!["p", "q", "r"]), term.clone(), term.clone())
        .prop_map(|(name, left, right)| format!("({name} {left} {right})"));
    let literal = prop_oneof![
        4 => atom.clone(),
        2 => atom.clone().prop_map(|atom| format!("(not {atom})")),
        1 => (term.clone(), term).prop_map(|(left, right)| format!("(distinct {left} {right})")),
        1 => (atom.clone(), atom.clone()).prop_map(|(left, right)| format!("(or {left} (and {right} {left}))")),
    ];
    let rule = (atom, prop::collection::vec(literal, 0..4)).prop_map(|(head, body)| match &body[..] {
        [] => head,
        _ => format!("(<= {head} {})", body.join(" ")),
    });
    prop::collection::vec(rule, 1..8).prop_map(|rules| rules.join("\n"))
}

/// Texts made of what rules are made of, in any order.
fn scraps() -> impl Strategy<Value = String> {
    let scrap = prop::sample::select(vec![
        "(",
        ")",
        "((",
        "))",
        "<=",
        "not",
        "or",
        "and",
        "distinct",
        "role",
        "init",
        "true",
        "next",
        "legal",
        "does",
        "goal",
        "terminal",
        "base",
        "input",
        "sees",
        "random",
        "p",
        "q",
        "a",
        "?x",
        "?y",
        "100",
        "\n",
        "\n(",
        ";",
        "%",
        ":-",
        ",",
        "&",
        "|",
        "~",
        ".",
        "'",
        "\u{e9}",
        "\u{1f3b2}",
        "\t",
        "\0",
        "\r\n",
        "p(",
        "X",
        "_",
    ]);
    prop::collection::vec(scrap, 0..60).prop_map(|scraps| scraps.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_engine_evaluates_what_the_checks_accept(rules in rules()) {
        let game = format!("(role r) (init i) (legal r m) (<= (next i) (p a b)) (<= terminal (q a b) (r a b)) (goal r 0)\n{rules}");
        let reading = gdl::read("game.kif", game.as_bytes());
        let found = |code| reading.diagnostics.iter().any(|found| found.code == code);
        match Database::new(Arc::new(reading.program.clone()), Limits::default()) {
            Ok(_) => prop_assert!(!reading.has_errors(), "an error in rules that can be evaluated"),
            Err(Unevaluable::UnsafeHead(_)) => prop_assert!(found(Code::UnsafeHead)),
            Err(_) => prop_assert!(found(Code::Unstratified)),
        }
    }

    #[test]
    fn findings_of_any_text_can_be_rendered(text in prop_oneof![scraps(), ".{0,200}"]) {
        let reading = gdl::read("game.kif", text.as_bytes());
        for found in &reading.diagnostics {
            prop_assert!(!found.help.is_empty() && !found.primary.text.is_empty(), "{:?}", found);
            let rendering = found.render(&reading.source, false);
            let severity = if found.severity() == Severity::Error { "error" } else { "warning" };
            let start = format!("{}[{}]: ", severity, found.code.id());
            prop_assert!(rendering.starts_with(&start), "{}", rendering);
        }
    }
}
