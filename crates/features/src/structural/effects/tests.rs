use std::sync::Arc;

use machine::lanes::{self, Lanes, Vector};

use super::*;
use crate::structural::tests::game;

/// What is said of moves is what happens when they are made.
fn check(name: &str) {
    let game = game(name);
    let mut watched = vec![false; game.universe.fluents.len()];
    let boards = game.structure.boards.iter();
    let fluents = boards.flat_map(|board| &board.markers).flat_map(|marker| &marker.fluents);
    fluents.for_each(|&(fluent, _)| watched[fluent as usize] = true);
    let mut effects = find(&game, &watched, &Budget::default()).expect("the game is small");
    let changes = effects.moves.iter().flat_map(|chosen| chosen.changes.iter().map(|change| change.next));
    effects.network.formulas = effects.moves.iter().map(|chosen| chosen.could).chain(changes).collect();
    let mut lanes = Lanes::new(lanes::Compiled::new(Arc::new(effects.network)));
    let mut n_made = 0;
    for batch in game.samples.batches.iter().step_by(8) {
        for (wire, &value) in effects.fluents.iter().zip(&batch.fluents).filter(|(wire, _)| wire.gate() > 0) {
            lanes.set_fluent(wire.gate() - 1, if wire.is_inverted() { !value } else { value });
        }
        lanes.evaluate();
        let on = batch.live & !batch.terminal;
        for chosen in &effects.moves {
            let Some(number) = chosen.number else { continue };
            if game.structure.turns.idle[chosen.role as usize].contains(&number) {
                continue;
            }
            let made = batch.made[number as usize] & on;
            n_made += made.count();
            assert_eq!(made & !lanes.lanes_where(chosen.could), Vector::ZERO, "{name}: it was legal");
            let mut unchanged: FxHashSet<usize> = (0..watched.len()).filter(|&fluent| watched[fluent]).collect();
            for change in &chosen.changes {
                let fluent = change.fluent as usize;
                unchanged.remove(&fluent);
                let expected = batch.next[fluent] & made;
                assert_eq!(lanes.lanes_where(change.next) & made, expected, "{name}: a change");
            }
            for fluent in unchanged {
                let differs = (batch.fluents[fluent] ^ batch.next[fluent]) & made;
                assert_eq!(differs, Vector::ZERO, "{name}: no change");
            }
        }
    }
    assert!(n_made > 1_000, "{name}");
}

#[test]
fn moves_do_what_is_said_of_them() {
    let games = ["checkers", "othello-6x6", "breakthrough-6x6", "minichess", "connect-four", "merrills", "amazons-6x6"];
    games.into_iter().for_each(check);
}
