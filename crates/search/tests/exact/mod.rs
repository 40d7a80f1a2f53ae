//! Exact searchers against enumeration, on games by chance.

mod claims;
mod families;
mod generate;
mod graph;

use std::sync::Arc;

use claims::Board;
pub(crate) use claims::Tally;
pub(crate) use graph::Graph;

/// What was found of a game.
pub(crate) struct Checked {
    pub(crate) family: &'static str,
    /// How many states it has; `None` if too many to be enumerated.
    pub(crate) n_states: Option<usize>,
    pub(crate) tally: Tally,
}

/// More states than this are not enumerated.
const MOST: usize = 3_000;

/// Makes the game of a seed and checks every searcher on it.
pub(crate) fn check(seed: u64) -> Checked {
    let game = generate::game(seed);
    let reading = gdl::read("generated", game.rules.as_bytes());
    assert!(!reading.has_errors(), "seed {seed}:\n{}", game.rules);
    let (n_states, mut tally) = of_program(reading.program, seed);
    for wrong in &mut tally.wrong {
        *wrong = format!("seed {seed} ({}): {wrong}", game.family);
    }
    Checked { family: game.family, n_states, tally }
}

/// The rules of the game of a seed.
pub(crate) fn rules(seed: u64) -> String {
    generate::game(seed).rules
}

/// Checks every searcher on a game: how many states it has if they can be enumerated, and what they claim.
pub(crate) fn of_program(program: gdl::Program, seed: u64) -> (Option<usize>, Tally) {
    let ground = gdl::ground::ground(&program, &gdl::ground::Budget::default()).expect("it can be grounded");
    let network = machine::network::build(ground.clone(), &gdl::Stop::never()).expect("it has a network");
    let network = Arc::new(network);
    match Graph::new(&Arc::new(program), &network, MOST) {
        Some(graph) => (Some(graph.nodes.len()), Board::new(&graph, &ground, &network, seed).check()),
        None => (None, Tally::default()),
    }
}
