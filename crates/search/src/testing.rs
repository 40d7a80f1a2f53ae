//! Games for tests.

use std::sync::Arc;

use machine::network::{self, Network};

/// The network of a library game.
pub(crate) fn network(game: &str) -> Arc<Network> {
    let path = format!("{}/../../games/{game}/rules.kif", env!("CARGO_MANIFEST_DIR"));
    let bytes = std::fs::read(&path).expect("the library has the game");
    of_rules(&bytes)
}

/// The network of a game given as rules.
pub(crate) fn of_rules(rules: &[u8]) -> Arc<Network> {
    let reading = gdl::read("test", rules);
    assert!(!reading.has_errors());
    let ground = gdl::ground::ground(&reading.program, &gdl::ground::Budget::default()).expect("it can be grounded");
    Arc::new(network::build(ground).expect("it has a network"))
}
