//! Games for tests.

use std::sync::Arc;

use gdl::Program;
use machine::network::{self, Network};

/// The rules of a library game.
pub(crate) fn program(game: &str) -> Program {
    let path = format!("{}/../../games/{game}/rules.kif", env!("CARGO_MANIFEST_DIR"));
    read(&std::fs::read(&path).expect("the library has the game"))
}

fn read(rules: &[u8]) -> Program {
    let reading = gdl::read("test", rules);
    assert!(!reading.has_errors());
    reading.program
}

/// The network of a library game.
pub(crate) fn network(game: &str) -> Arc<Network> {
    of_program(&program(game))
}

/// The network of a game given as rules.
pub(crate) fn of_rules(rules: &[u8]) -> Arc<Network> {
    of_program(&read(rules))
}

fn of_program(program: &Program) -> Arc<Network> {
    let ground = gdl::ground::ground(program, &gdl::ground::Budget::default()).expect("it can be grounded");
    Arc::new(network::build(ground, &gdl::Stop::never()).expect("it has a network"))
}
