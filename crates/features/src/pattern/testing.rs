//! Games and states for the tests of patterns.

use machine::RoleId;
use machine::lanes::{self, LANES, Lanes, Vector};

use crate::game::Game;

/// A game of the library.
pub(crate) fn game(name: &str) -> Game {
    let path = format!("{}/../../games/{name}/rules.kif", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read(&path).expect("a game of the library");
    Game::new(gdl::read(name, &text).program, 1).expect("the game has a network")
}

/// At least `n` states of random matches, one after another, and the words of each.
pub(crate) fn random_states(game: &Game, n: usize, seed: u64) -> (Vec<u64>, usize) {
    let network = &game.circuit.network;
    let words = network.fluents.len().div_ceil(64);
    let mut lanes = Lanes::new(lanes::Compiled::new(network.clone()));
    let mut random = lanes::random(seed);
    let mut states = Vec::with_capacity((n + LANES) * words);
    while states.len() < n * words {
        lanes.evaluate();
        (0..LANES).for_each(|lane| states.extend_from_slice(&lanes.store(lane)));
        let mut stuck = lanes.lanes_where(network.terminal);
        for role in 0..network.moves_of.len() as u32 {
            stuck = stuck | lanes.choose(&mut random, RoleId(role));
        }
        lanes.advance();
        if stuck != Vector::ZERO {
            lanes.reset(stuck);
        }
    }
    (states, words)
}

/// How large a test is: `usual`, or `full` if `SENET_FULL` is set, for sizes that take long.
pub(crate) fn sized(usual: usize, full: usize) -> usize {
    if std::env::var_os("SENET_FULL").is_some() { full } else { usual }
}
