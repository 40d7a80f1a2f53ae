use proptest::prelude::*;

use super::*;

const NAMES: &[&str] = &["cell", "Equal", "member", "holds", "count", "x", "1", "a-b", "sum", "f"];

fn symbols() -> Symbols {
    let mut symbols = Symbols::new();
    NAMES.iter().for_each(|name| _ = symbols.intern(name));
    symbols
}

fn name() -> impl Strategy<Value = SymbolId> {
    (0..NAMES.len()).prop_map(|index| symbols().find(NAMES[index]).expect("it was interned"))
}

fn ground() -> impl Strategy<Value = Term> {
    let constant = name().prop_map(Term::Const);
    constant.prop_recursive(2, 6, 3, |inner| {
        (name(), prop::collection::vec(inner, 1..3)).prop_map(|(name, args)| Term::Func(name, args.into()))
    })
}

fn term() -> impl Strategy<Value = Term> {
    prop_oneof![(0..6u32).prop_map(|var| Term::Var(VarId(var))), ground()]
}

fn formula() -> impl Strategy<Value = Formula> {
    let atom =
        (name(), prop::collection::vec(term(), 0..3)).prop_map(|(name, args)| Formula::Atom(Atom { name, args }));
    let member = (1usize..3).prop_flat_map(|width| {
        let rows = prop::collection::vec(prop::collection::vec(ground(), width), 0..3);
        (prop::collection::vec(term(), width), rows).prop_map(|(terms, rows)| Formula::Member(terms, Arc::new(rows)))
    });
    let leaf = prop_oneof![
        4 => atom,
        1 => (term(), term()).prop_map(|(left, right)| Formula::Equal(left, right)),
        1 => (term(), term()).prop_map(|(left, right)| Formula::Distinct(left, right)),
        1 => member,
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let parts = prop::collection::vec(inner.clone(), 0..3);
        prop_oneof![
            inner.prop_map(|inner| Formula::Not(Box::new(inner))),
            parts.clone().prop_map(Formula::And),
            parts.prop_map(Formula::Or),
        ]
    })
}

fn order() -> impl Strategy<Value = Arc<Vec<Term>>> {
    prop::collection::vec(ground(), 0..4).prop_map(Arc::new)
}

fn weight(vars: Vec<VarId>) -> BoxedStrategy<Weight> {
    if vars.is_empty() {
        return Just(Weight::One).boxed();
    }
    let var = || prop::sample::select(vars.clone());
    let axis = (var(), var(), order()).prop_map(|(from, to, order)| Axis { from, to, order });
    let metric = prop::sample::select(Metric::ALL.to_vec());
    let pairs = prop::collection::vec((prop::collection::vec(ground(), vars.len()), -3..4i32), 0..5);
    let all = vars.clone();
    prop_oneof![
        Just(Weight::One),
        (var(), order()).prop_map(|(var, order)| Weight::Place { var, order }),
        (metric, prop::collection::vec(axis, 1..3)).prop_map(|(metric, axes)| Weight::Distance { metric, axes }),
        pairs.prop_map(move |pairs| {
            let pairs: BTreeMap<Vec<Term>, i32> = pairs.into_iter().collect();
            Weight::table(all.clone(), pairs)
        }),
    ]
    .boxed()
}

fn feature() -> impl Strategy<Value = Feature> {
    formula().prop_flat_map(|formula| {
        let vars: Vec<VarId> = formula.free_variables().into_iter().collect();
        let n = vars.len();
        prop::sample::subsequence(vars, 0..=n).prop_shuffle().prop_flat_map(move |list| {
            let formula = formula.clone();
            weight(list.clone()).prop_map(move |weight| Feature::sum(weight, list.clone(), formula.clone()))
        })
    })
}

proptest! {
    #[test]
    fn reading_what_was_printed_gives_the_feature(feature in feature()) {
        let symbols = symbols();
        let text = feature.display(&symbols).to_string();
        prop_assert_eq!(read(&text, &symbols), Ok(feature), "{}", text);
    }

    #[test]
    fn no_text_makes_it_panic(text in "[()?0-2a-z\u{e9} ]{0,40}|\\((count|sum) [()?0xcel ]{0,40}") {
        _ = read(&text, &symbols());
    }
}

#[test]
fn variables_may_have_names() {
    let symbols = symbols();
    let named = read("(count (?row ?1) (cell ?row ?1 ?row ?other))", &symbols);
    let numbered = read("(count (?0 ?1) (cell ?0 ?1 ?0 ?2))", &symbols);
    assert_eq!(named, numbered);
    assert!(named.is_ok());
}

/// Values are kept in lists by the number of their variable, so no number is very large.
#[test]
fn large_numbers_of_variables_are_names() {
    let symbols = symbols();
    let large = read("(count (?4294967295) (cell ?4294967295 ?1))", &symbols);
    assert_eq!(large, read("(count (?0) (cell ?0 ?1))", &symbols));
    assert!(large.is_ok());
}

#[test]
fn problems_have_a_place() {
    let check = |text: &str, expected: &str| {
        let problem = read(text, &symbols()).expect_err(text);
        assert!(problem.starts_with(expected), "{text}: {problem}");
    };
    check("", "line 1, column 1: expected a feature");
    check("(count () (cell 1", "line 1, column 11: this parenthesis is never closed");
    check("(count ()\n (cell 2))", "line 2, column 8: the rules don't use the name `2`");
    check("(count (?0) (not (cell ?0)))", "line 1, column 9: this variable does not occur");
    check("(count (?0 ?0) (cell ?0))", "line 1, column 12: this variable is counted already");
    check("(sum (place ?1 (x)) (?0) (cell ?0 ?1))", "line 1, column 6: a variable of the weight is not counted");
    check("(sum (table (?0) (1 (x)) (2 (x))) (?0) (cell ?0))", "line 1, column 29: this tuple has a number already");
    check("(count () (true x 1))", "line 1, column 12: `true` has the wrong number of arguments");
    check("(count () true)", "line 1, column 11: `true` has the wrong number of arguments");
    check("(count () (holds true))", "line 1, column 18: `true` has the wrong number of arguments");
    check("(count () (cell x)) x", "line 1, column 21: the feature has ended before this");
}
