use std::collections::BTreeMap;

use features::structural::fuzzy::compile::End;
use features::structural::fuzzy::{Formula, Pattern, Place};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::{Granularity, Strategy, deduce, expressions};
use crate::discover::label::CLASSES;
use crate::discover::tree::{Node, Split, Tree};

const W: End = End::Won;
const L: End = End::Lost;
const D: End = End::Drawn;

/// Below a node: another question with its class and certainty, or a leaf.
enum Below {
    Ask(usize, End, f64, Box<[Below; 2]>),
    Leaf(End, f64),
}

fn ask(attribute: usize, class: End, certainty: f64, yes: Below, no: Below) -> Below {
    Below::Ask(attribute, class, certainty, Box::new([yes, no]))
}

fn tree(below: &Below) -> Tree {
    fn add(nodes: &mut Vec<Node>, above: Option<(usize, bool)>, below: &Below) -> usize {
        let place = nodes.len();
        let (class, certainty) = match *below {
            Below::Ask(_, class, certainty, _) | Below::Leaf(class, certainty) => (class, certainty),
        };
        nodes.push(Node { above, split: None, grown: [0; 3], held_out: [0; 3], class, certainty });
        if let Below::Ask(attribute, .., parts) = below {
            let yes = add(nodes, Some((place, true)), &parts[0]);
            let no = add(nodes, Some((place, false)), &parts[1]);
            nodes[place].split = Some(Split { attribute: *attribute, yes, no });
        }
        place
    }
    let mut nodes = Vec::new();
    add(&mut nodes, None, below);
    Tree { nodes }
}

fn literal(attribute: usize, holds: bool) -> Formula {
    let name = char::from(b'a' + attribute as u8).to_string();
    let ground = Formula::Fuzzy(vec![Pattern::State(name)], Place::Region("all".to_owned()));
    if holds { ground } else { Formula::Not(Box::new(ground)) }
}

/// A formula in short: `a`, `-a`, `(a b)` for both and `(a|b)` for either.
fn short(formula: &Formula) -> String {
    let join =
        |parts: &[Formula], between: &str| format!("({})", parts.iter().map(short).collect::<Vec<_>>().join(between));
    match formula {
        Formula::Fuzzy(patterns, _) | Formula::Count(patterns, _, _) => match &patterns[0] {
            Pattern::State(name) => name.clone(),
            Pattern::Letters(_) => unreachable!("literals have states"),
        },
        Formula::Not(inner) => format!("-{}", short(inner)),
        Formula::And(parts) => join(parts, " "),
        Formula::Or(parts) => join(parts, "|"),
        Formula::Atomic(..) => unreachable!("literals are fuzzy"),
    }
}

fn terms(tree: &Tree, strategy: &str, granularity: Granularity) -> String {
    let terms = deduce(tree, strategy.parse().expect("a strategy"), granularity, &literal);
    assert!(terms.iter().all(|(weight, _)| *weight == 1.0));
    terms.iter().map(|(_, formula)| short(formula)).collect::<Vec<_>>().join(", ")
}

/// ```text
/// a (W 0.6)
///   yes: b (W 0.4)
///     yes: c (W 0.7): W 0.9, W 0.3
///     no: d (L 0.6): W 0.8, L 0.6
///   no: L 0.4
/// ```
fn example() -> Tree {
    let c = ask(2, W, 0.7, Below::Leaf(W, 0.9), Below::Leaf(W, 0.3));
    let d = ask(3, L, 0.6, Below::Leaf(W, 0.8), Below::Leaf(L, 0.6));
    tree(&ask(0, W, 0.6, ask(1, W, 0.4, c, d), Below::Leaf(L, 0.4)))
}

#[test]
fn nine_strategies_on_a_small_tree() {
    let tree = example();
    let expected = [
        ("NN", "(a b c), (a b -c), (a -b d), -(a -b -d), --a"),
        ("SN", "(a b c), (a b -c), -(a -b -d)"),
        ("DN", "(a b c), (a -b d), -(a -b -d)"),
        ("NS", "(a b (c|-c)), d, -(-b -d), --a"),
        ("SS", "(a b (c|-c)), -(-b -d)"),
        ("DS", "(a b c), d, -(-b -d)"),
        ("ND", "(b c), (b -c), (-b d), -(-b -d), --a"),
        ("SD", "(b c), (b -c), -(-b -d)"),
        ("DD", "(b c), (-b d), -(-b -d)"),
    ];
    let by_name: BTreeMap<&str, &str> = expected.into();
    assert_eq!(Strategy::all().len(), by_name.len());
    for strategy in Strategy::all() {
        let name = strategy.to_string();
        assert_eq!(terms(&tree, &name, strategy.granularity()), by_name[name.as_str()], "{name}");
    }
    assert!("XS".parse::<Strategy>().is_err());
}

#[test]
fn granularities() {
    let tree = example();
    assert_eq!(terms(&tree, "NN", Granularity::Minimal), "(a ((b (c|-c))|(-b d))), -(a -b -d), --a");
    assert_eq!(terms(&tree, "NS", Granularity::Leaf), "(a b c), (a b -c), d, -(-b -d), --a");
}

#[test]
fn draws_give_no_terms_and_equal_terms_are_one() {
    let both = |class| ask(1, D, 0.5, Below::Leaf(class, 1.0), Below::Leaf(D, 1.0));
    let tree = tree(&ask(0, D, 0.5, both(W), both(W)));
    // Cut at the nodes above, both paths say the same.
    let found = deduce(&tree, "NS".parse().expect("a strategy"), Granularity::Cluster, &literal);
    assert_eq!(found.iter().map(|(weight, term)| (*weight, short(term))).collect::<Vec<_>>(), [(2.0, "b".to_owned())]);
    assert_eq!(deduce(&super::tests::tree(&Below::Leaf(W, 1.0)), Strategy::DS, Granularity::Leaf, &literal), []);
}

fn holds(formula: &Formula, world: u32) -> bool {
    match formula {
        Formula::Fuzzy(..) | Formula::Count(..) => world >> (short(formula).as_bytes()[0] - b'a') & 1 == 1,
        Formula::Not(inner) => !holds(inner, world),
        Formula::And(parts) => parts.iter().all(|part| holds(part, world)),
        Formula::Or(parts) => parts.iter().any(|part| holds(part, world)),
        Formula::Atomic(..) => unreachable!("literals are fuzzy"),
    }
}

fn random_tree(seed: u64) -> Tree {
    fn below(random: &mut Pcg64Mcg, depth: usize) -> Below {
        let (class, certainty) = (CLASSES[random.random_range(0..3)], random.random());
        if depth == 5 || depth > 0 && random.random_bool(0.3) {
            return Below::Leaf(class, certainty);
        }
        let attribute = random.random_range(0..6);
        ask(attribute, class, certainty, below(random, depth + 1), below(random, depth + 1))
    }
    tree(&below(&mut Pcg64Mcg::seed_from_u64(seed), 0))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// However paths share terms, what they say together of a class is the same.
    #[test]
    fn granularities_are_equal_in_logic(seed in 0..10_000u64) {
        let tree = random_tree(seed);
        for strategy in Strategy::all() {
            for class in [W, L] {
                let of = |granularity| expressions(&tree, class, strategy, granularity, &literal);
                let all = [Granularity::Minimal, Granularity::Leaf, Granularity::Cluster].map(of);
                for world in 0..64 {
                    let [minimal, leaf, cluster] =
                        all.each_ref().map(|all| all.iter().any(|formula| holds(formula, world)));
                    prop_assert_eq!((minimal, cluster), (leaf, leaf));
                }
            }
        }
    }

    /// What one rule leaves out beyond the other are clusters of a single node.
    #[test]
    fn spurious_leaves_are_clusters_of_one(seed in 0..10_000u64) {
        let tree = random_tree(seed);
        let of = |name: &str| deduce(&tree, name.parse().expect("a strategy"), Granularity::Cluster, &literal);
        let (with, without) = (of("NS"), of("SS"));
        let total = |terms: &[(f64, Formula)]| terms.iter().map(|(weight, _)| weight).sum::<f64>();
        let is_alone = |&leaf: &usize| {
            let node = &tree.nodes[leaf];
            node.class != D && node.above.is_some_and(|(above, _)| tree.nodes[above].class != node.class)
        };
        prop_assert_eq!(total(&with) - total(&without), tree.leaves().filter(is_alone).count() as f64);
    }
}
