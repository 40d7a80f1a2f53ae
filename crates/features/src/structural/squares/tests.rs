use std::collections::BTreeSet;

use insight::scramble::{RoleOrder, scramble};

use super::*;
use crate::structural::tests::game;

/// Where each fluent of the universe holds.
fn fluents(game: &Game, lanes: &Lanes) -> Vec<Vector> {
    let value = |wire: &Wire| {
        let value = if wire.gate() == 0 { Vector::ZERO } else { lanes.fluent(wire.gate() - 1) };
        if wire.is_inverted() { !value } else { value }
    };
    game.circuit.fluents.iter().map(value).collect()
}

/// Looks at every position of random matches that is not an end, with its lane and the role that is not to move.
pub(in crate::structural) fn watch(
    game: &Game,
    squares: &Squares,
    rounds: usize,
    seed: u64,
    mut see: impl FnMut(&Sight<'_>, usize, u32),
) {
    let network = game.circuit.network.clone();
    let mut lanes = Lanes::new(lanes::Compiled::new(network.clone()));
    let mut random = lanes::random(seed);
    let mut observer = squares.observer();
    for _ in 0..rounds {
        lanes.reset(Vector::ONES);
        let mut live = Vector::ONES;
        while !live.is_zero() {
            lanes.evaluate();
            live = live & !lanes.lanes_where(network.terminal);
            let fluents = fluents(game, &lanes);
            let sight = observer.look(&fluents);
            let control = |role: usize| fluents[game.structure.turns.control[role][0] as usize];
            for lane in (0..lanes::LANES).filter(|&lane| live.get(lane)) {
                assert_ne!(control(0).get(lane), control(1).get(lane));
                see(&sight, lane, u32::from(control(0).get(lane)));
            }
            for role in 0..game.universe.roles.len() as u32 {
                let stuck = lanes.choose(&mut random, machine::RoleId(role));
                live = live & !stuck;
            }
            lanes.advance();
        }
    }
}

/// The names of all states that are seen in random matches by the role that is not to move.
fn seen(game: &Game, squares: &Squares, rounds: usize) -> BTreeSet<String> {
    let mut seen = vec![false; squares.names.len()];
    let mut states = Vec::new();
    watch(game, squares, rounds, 7, |sight, lane, passive| {
        states.clear();
        sight.states(lane, passive, &mut states);
        states.iter().for_each(|state| seen[state.0 as usize] = true);
    });
    squares.names.iter().zip(&seen).filter(|(_, seen)| **seen).map(|(name, _)| name.clone()).collect()
}

/// The squares of the first board, for the first two roles.
pub(in crate::structural) fn squares(game: &Game) -> Squares {
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

#[test]
fn other_draughts_have_the_same_states() {
    let thesis = |name: &String| !name.starts_with(['w', 'W']) && !["X4", "X5", "O4", "O5"].contains(&name.as_str());
    let english = game("english-draughts");
    let squares = squares(&english);
    let expected: BTreeSet<String> = squares.names.iter().filter(|name| thesis(name)).cloned().collect();
    assert_eq!((expected.len(), seen(&english, &squares, 8)), (44, expected));
    // Without kings these are the empty squares and the men.
    let race = game("race-checkers");
    let squares = super::tests::squares(&race);
    let expected: BTreeSet<String> = squares.names.iter().filter(|name| thesis(name)).cloned().collect();
    assert_eq!(seen(&race, &squares, 8), expected);
    assert_eq!(expected.len(), 32);
}

/// The states of the board after the moves that are named, by the coordinates of the squares.
fn after(game: &Game, squares: &Squares, moves: &[(&str, &str)], role: &str) -> Vec<(String, String)> {
    let universe = &game.universe;
    let mut lanes = Lanes::new(lanes::Compiled::new(game.circuit.network.clone()));
    for &(_, made) in moves {
        lanes.evaluate();
        for (number, &(of, chosen)) in universe.moves.iter().enumerate() {
            let legal = !lanes.lanes_where(game.circuit.network.legal[number]).is_zero();
            let wanted = universe.name(chosen) == made
                || legal && game.structure.turns.idle[of as usize].contains(&(number as u32));
            lanes.set_move(number as u32, if wanted { Vector::ONES } else { Vector::ZERO });
        }
        lanes.advance();
    }
    let fluents = fluents(game, &lanes);
    let role = universe.roles.iter().position(|&other| universe.name(other) == role).expect("a role") as u32;
    let mut states = Vec::new();
    squares.observer().look(&fluents).states(0, role, &mut states);
    let cells = &game.structure.boards[squares.board].cells;
    let name = |square: usize| cells[square].iter().map(|&value| universe.name(value)).collect::<Vec<_>>().join(" ");
    states.iter().enumerate().map(|(square, state)| (name(square), squares.names[state.0 as usize].clone())).collect()
}

#[test]
fn squares_after_the_first_move_are_as_the_thesis_says() {
    let game = game("checkers");
    let squares = squares(&game);
    // Red has moved, so that red is passive; if red is the second role, it sees the board turned round.
    let mut seen = after(&game, &squares, &[("red", "(move 3 3 2 4)")], "red");
    if game.universe.name(game.universe.roles[0]) != "red" {
        let turned: Vec<String> = (0..seen.len()).map(|square| seen[squares.flip_square(square)].1.clone()).collect();
        seen.iter_mut().zip(turned).for_each(|(seen, state)| seen.1 = state);
    }
    let state = |square: &str| seen.iter().find(|(name, _)| name == square).map(|(_, state)| state.as_str());
    for (squares, expected) in
        [(&["1 5", "3 5"][..], "b1"), (&["5 5", "7 5"], "a1"), (&["4 4", "6 4", "8 4", "3 3"], "p1")]
    {
        squares.iter().for_each(|square| assert_eq!(state(square), Some(expected), "{square}"));
    }
    assert_eq!((state("1 1"), state("2 4"), state("8 8")), (Some("o0"), Some("o2"), Some("x0")));
}

#[test]
fn other_games_have_states_of_their_own() {
    let check = |name: &str, rounds: usize, expected: &str| {
        let game = game(name);
        let squares = squares(&game);
        let seen: Vec<String> = seen(&game, &squares, rounds).into_iter().collect();
        assert_eq!(seen.join(" "), expected, "{name}");
    };
    // Empty cells can be filled by both.
    check("tic-tac-toe", 1, "b1 o0 x0");
    // Of the empty cells of a column, the lowest one.
    check("connect-four", 1, "b1 n o0 x0");
    // A move captures whatever it turns over; what can be captured can be turned over.
    check("othello-6x6", 1, "a2 b5 n o0 o4 p2 x0 x4");
    // Who captures can be captured, and empty cells are never reached by capturing.
    check("breakthrough-6x6", 1, "a1 b1 n o0 o2 o5 o7 p1 x0 x2 x5 x7");
    // Nothing is captured, and only kings and the rook go anywhere.
    check("minichess", 1, "O0 O2 X0 X2 a1 n o0 o2 p1 x0 x2");
}

#[test]
fn names_mean_nothing() {
    let text = std::fs::read("../../games/checkers/rules.kif").expect("a game of the library");
    let program = gdl::read("checkers", &text).program;
    let scrambled = scramble(&program, RoleOrder::Shuffled, &mut rand_pcg::Pcg64Mcg::new(5)).program;
    let game = Game::new(scrambled, 1).expect("it has a network");
    assert_eq!(seen(&game, &squares(&game), 8).len(), 44);
}
