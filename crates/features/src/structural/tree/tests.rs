use gdl::symbol::Symbols;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;

use super::*;
use crate::structural::tests::game;

fn functor(symbols: &Symbols, name: &str, arity: u32) -> Qualifier {
    Qualifier::Functor(Relation { name: symbols.find(name).expect("a name of the rules"), arity })
}

fn constant(game: &Game, name: &str) -> TermId {
    let symbol = game.universe.symbols.find(name).expect("a name of the rules");
    game.universe.terms.find(symbol, &[]).expect("a constant of the rules")
}

/// The tree of the worked example; `white` and `black` are markers at argument 2.
fn example(game: &Game) -> Tree {
    let marker = |name: &str| Qualifier::Argument(2, constant(game, name));
    let (count, corner) = (vec![Aggregator::Count], Qualifier::Corner(2));
    let mut tree = Tree::new(vec![]);
    let cells = tree.add(0, functor(&game.universe.symbols, "cell", 3), vec![]);
    let corners = tree.add(cells, corner.clone(), vec![]);
    tree.add(cells, marker("white"), count.clone());
    tree.add(cells, marker("black"), count.clone());
    let others = tree.add(cells, Qualifier::Not(Box::new(corner)), vec![]);
    tree.add(corners, marker("white"), count.clone());
    tree.add(corners, marker("black"), count.clone());
    let edges = tree.add(others, Qualifier::Edge(2), vec![]);
    tree.add(edges, marker("white"), count.clone());
    tree.add(edges, marker("black"), count);
    tree
}

#[test]
fn the_example_of_the_thesis_has_its_values() {
    let game = game("othello-6x6");
    let rows = [".w...w", "bw...w", "bwbwbw", "bbbbb.", ".bbbb.", "..bw.."];
    let board = &game.structure.boards[0];
    let mut state = Vec::new();
    for (row, line) in rows.iter().enumerate() {
        for (column, marker) in line.chars().enumerate() {
            let marker = match marker {
                'w' => "white",
                'b' => "black",
                _ => "empty",
            };
            let cell = [board.axes[0].values[column], board.axes[1].values[row], constant(&game, marker)];
            let symbol = game.universe.symbols.find("cell").expect("a name of the rules");
            let fluent = game.universe.terms.find(symbol, &cell).expect("a fluent");
            state.push(game.universe.fluents.iter().position(|&other| other == fluent).expect("a fluent") as u32);
        }
    }
    let values = example(&game).evaluate(&Literals::new(&game), &state);
    assert_eq!(values, [8.0, 14.0, 1.0, 0.0, 4.0, 4.0]);
}

#[test]
fn keeping_up_to_date_is_evaluating_afresh() {
    for name in ["othello-6x6", "minichess", "nim-5"] {
        let game = game(name);
        let literals = Literals::new(&game);
        let (mut tree, cut) = literals.candidates(3_000);
        assert!(!cut);
        // Other folds than sums, too.
        for node in &mut tree.nodes {
            let places: Vec<Aggregator> = node.aggregators.clone();
            for aggregator in places {
                if let Aggregator::Place(argument, _) = aggregator {
                    let folds = [Fold::Least, Fold::Greatest, Fold::Mean];
                    node.aggregators.extend(folds.map(|fold| Aggregator::Place(argument, fold)));
                }
            }
        }
        let mut tally = Tally::new(&tree, &literals);
        let n = game.universe.fluents.len();
        let mut holds = vec![false; n];
        let mut random = Pcg64Mcg::new(3);
        let rounds = if name == "minichess" { 10_000 } else { 1_000 };
        for _ in 0..rounds {
            for _ in 0..4 {
                let fluent = random.random_range(0..n);
                holds[fluent] = !holds[fluent];
                tally.set(fluent as u32, holds[fluent]);
            }
            let state: Vec<u32> = (0..n as u32).filter(|&fluent| holds[fluent as usize]).collect();
            assert_eq!(tally.values(), tree.evaluate(&literals, &state));
        }
    }
}

#[test]
fn the_candidate_tree_of_minichess_has_the_size_of_the_thesis() {
    let game = game("minichess");
    let (tree, _) = Literals::new(&game).candidates(100_000);
    let plain = tree
        .nodes
        .iter()
        .filter(|node| !matches!(node.from, Some((_, Qualifier::Corner(_) | Qualifier::Edge(_) | Qualifier::Not(_)))));
    assert_eq!(plain.count(), 140);
    assert!(Literals::new(&game).candidates(100).1, "a budget of 100 nodes is too small");
}

#[test]
fn without_orders_there_are_no_corners() {
    let game = game("tic-tac-toe");
    let (tree, _) = Literals::new(&game).candidates(100_000);
    assert!(tree.nodes.iter().all(|node| {
        !matches!(node.from, Some((_, Qualifier::Corner(_) | Qualifier::Edge(_) | Qualifier::Not(_))))
            && node.aggregators == [Aggregator::Count]
    }));
}

#[test]
fn constant_values_are_left_out_until_they_change() {
    let game = game("minichess");
    let literals = Literals::new(&game);
    let (tree, _) = literals.candidates(100_000);
    let mut filter = ConstantFilter::default();
    for batch in &game.samples.batches {
        for lane in (0..machine::lanes::LANES).filter(|&lane| batch.live.get(lane)).step_by(64) {
            let holds = |&fluent: &u32| batch.fluents[fluent as usize].get(lane);
            let state: Vec<u32> = (0..batch.fluents.len() as u32).filter(holds).collect();
            filter.observe(&tree.evaluate(&literals, &state));
        }
    }
    let left = filter.prune();
    assert!(left < tree.n_values() && left > tree.n_values() / 4, "{left} of {}", tree.n_values());
    // The counter always has one value, and there are always 13 empty cells.
    let step = game.universe.symbols.find("step").expect("a name of the rules");
    let mut value = 0;
    let mut looked_at = 0;
    for node in &tree.nodes {
        let is_constant = match &node.from {
            Some((0, Qualifier::Functor(relation))) => relation.name == step,
            Some((1.., Qualifier::Argument(2, marker))) => {
                *marker == constant(&game, "b")
                    && matches!(tree.nodes[node.from.as_ref().unwrap().0].from, Some((0, _)))
            }
            _ => false,
        };
        if is_constant {
            assert!(!filter.is_used(value));
            looked_at += 1;
        }
        value += node.aggregators.len();
    }
    assert_eq!(looked_at, 2);
    // A state without any fluent changes them.
    filter.observe(&tree.evaluate(&literals, &[]));
    let changed = (0..tree.n_values()).filter(|&value| filter.is_used(value)).count();
    assert!(changed > left);
}
