use std::collections::BTreeSet;

use super::*;
use crate::structural::tests::game;

/// The names of all states that are seen in random matches by the role that is not to move.
fn seen(game: &Game, squares: &Squares, rounds: u32) -> BTreeSet<String> {
    let network = game.circuit.network.clone();
    let mut lanes = Lanes::new(lanes::Compiled::new(network.clone()));
    let mut random = lanes::random(7);
    let mut observer = squares.observer();
    let mut seen = vec![false; squares.names.len()];
    let mut states = Vec::new();
    for _ in 0..rounds {
        lanes.reset(Vector::ONES);
        let mut live = Vector::ONES;
        while !live.is_zero() {
            lanes.evaluate();
            live = live & !lanes.lanes_where(network.terminal);
            let value = |wire: &Wire| {
                let value = if wire.gate() == 0 { Vector::ZERO } else { lanes.fluent(wire.gate() - 1) };
                if wire.is_inverted() { !value } else { value }
            };
            let fluents: Vec<Vector> = game.circuit.fluents.iter().map(value).collect();
            let sight = observer.look(&fluents);
            let control = |role: usize| fluents[game.structure.turns.control[role][0] as usize];
            for lane in (0..lanes::LANES).filter(|&lane| live.get(lane)) {
                let passive = u32::from(control(0).get(lane));
                assert_ne!(control(0).get(lane), control(1).get(lane));
                states.clear();
                sight.states(lane, passive, &mut states);
                states.iter().for_each(|state| seen[state.0 as usize] = true);
            }
            for role in 0..game.universe.roles.len() as u32 {
                let stuck = lanes.choose(&mut random, machine::RoleId(role));
                live = live & !stuck;
            }
            lanes.advance();
        }
    }
    squares.names.iter().zip(&seen).filter(|(_, seen)| **seen).map(|(name, _)| name.clone()).collect()
}

fn squares(game: &Game) -> Squares {
    find(game, 0, mirror(game, 0, 1), &effects::Budget::default()).expect("the game is small")
}

#[test]
fn checkers_has_the_44_states_of_the_thesis() {
    let game = game("checkers");
    let squares = squares(&game);
    assert!(squares.mirror.is_some());
    let expected: BTreeSet<String> =
        squares.names.iter().filter(|name| !name.starts_with(['w', 'W'])).cloned().collect();
    assert_eq!(expected.len(), 48);
    let never = ["X4", "X5", "O4", "O5"].map(str::to_owned);
    let expected: BTreeSet<String> = expected.into_iter().filter(|name| !never.contains(name)).collect();
    let seen = seen(&game, &squares, 8);
    assert_eq!(seen, expected, "{seen:?}");
}
