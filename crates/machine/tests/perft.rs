//! Path counts that are public knowledge, met to the depth at which they are known best. The reference engine counts as
//! far as a test may take; the scalar machine, which the engine suite compares with it, counts to the end.

use std::path::Path;
use std::sync::Arc;

use machine::scalar::{Compiled, Scalar};
use machine::{Limits, Machine, Perft, Reference, RoleId, perft};
use rustc_hash::FxHashMap;

fn program(game: &str) -> Arc<gdl::Program> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../games").join(game).join("rules.kif");
    let reading = gdl::read(game, &std::fs::read(path).expect("the library is in the repository"));
    assert!(!reading.has_errors());
    Arc::new(reading.program)
}

fn reference(game: &str) -> Reference {
    Reference::new(program(game), Limits::default()).expect("library rules have a meaning")
}

fn scalar(game: &str) -> Scalar {
    let ground = gdl::ground::ground(&program(game), &gdl::ground::Budget::default()).expect("library games ground");
    Scalar::new(Compiled::new(Arc::new(
        machine::network::build(ground, &gdl::Stop::never()).expect("library games make networks"),
    )))
}

fn counts<M: Machine>(mut machine: M, depth: u32) -> Vec<Perft> {
    perft(&mut machine, depth).expect("within the budget")
}

fn paths(counts: &[Perft]) -> Vec<u64> {
    counts[1..].iter().map(|count| count.paths).collect()
}

fn terminal(counts: &[Perft]) -> Vec<u64> {
    counts[1..].iter().map(|count| count.terminal).collect()
}

#[test]
fn tic_tac_toe_has_255168_games() {
    for counts in [counts(reference("tic-tac-toe"), 9), counts(scalar("tic-tac-toe"), 9)] {
        assert_eq!(terminal(&counts).iter().sum::<u64>(), 255_168);
        assert_eq!(terminal(&counts)[4..], [1440, 5328, 47952, 72576, 127_872]);
    }
}

#[test]
fn connect_four() {
    let known = [7, 49, 343, 2401, 16807, 117_649, 823_536];
    assert_eq!(paths(&counts(scalar("connect-four"), 7)), known);
    assert_eq!(paths(&counts(reference("connect-four"), 5)), known[..5]);
}

#[test]
fn chess() {
    let known = [20, 400, 8902, 197_281];
    assert_eq!(paths(&counts(scalar("chess"), 4)), known);
    assert_eq!(paths(&counts(reference("chess"), 2)), known[..2]);
}

#[test]
fn othello() {
    let known = [4, 12, 56, 244, 1396, 8200, 55092];
    assert_eq!(paths(&counts(scalar("othello"), 7)), known);
    assert_eq!(paths(&counts(reference("othello"), 4)), known[..4]);
}

#[test]
fn nim_and_minichess_as_kuhlmann_has_them() {
    for counts in [counts(reference("nim-5"), 5), counts(scalar("nim-5"), 5)] {
        assert_eq!(paths(&counts), [2, 4, 7, 5, 1]);
        assert_eq!(terminal(&counts), [0, 0, 3, 4, 1]);
    }
    for counts in [counts(reference("minichess"), 5), counts(scalar("minichess"), 5)] {
        assert_eq!(paths(&counts), [7, 15, 117, 380, 2673]);
        assert_eq!(terminal(&counts), [0, 0, 1, 0, 19]);
    }
}

/// The public counts take a multiple jump as one move; in our rules every jump is a step of its own.
#[test]
fn draughts_with_jumps_joined() {
    for game in ["checkers", "english-draughts"] {
        assert_eq!(turns(&mut scalar(game), 7), [7, 49, 302, 1469, 7361, 36768, 179_740], "{game}");
        assert_eq!(turns(&mut reference(game), 4), [7, 49, 302, 1469], "{game}");
    }
}

/// The number of ways to play each number of turns, a turn being all that one role does before the other is to move.
fn turns<M: Machine>(machine: &mut M, n_turns: usize) -> Vec<u64> {
    let mover = |machine: &M, state: &M::State| {
        let fluents = machine.fluents(state);
        fluents.into_iter().find(|fluent| fluent.starts_with("(control ")).expect("somebody is to move")
    };
    let mut frontier = FxHashMap::from_iter([(machine.initial().expect("within the budget"), 1)]);
    let mut counts = Vec::new();
    for _ in 0..n_turns {
        let mut following: FxHashMap<M::State, u64> = FxHashMap::default();
        let mut open: Vec<(M::State, u64)> = frontier.into_iter().collect();
        while let Some((state, ways)) = open.pop() {
            let mut legal = [Vec::new(), Vec::new()];
            for (role, moves) in legal.iter_mut().enumerate() {
                machine.legal(&state, RoleId(role as u32), moves).expect("within the budget");
            }
            for &first in &legal[0] {
                for &second in &legal[1] {
                    let next = machine.next(&state, &[first, second]).expect("within the budget");
                    if mover(machine, &next) == mover(machine, &state) {
                        open.push((next, ways));
                    } else {
                        *following.entry(next).or_default() += ways;
                    }
                }
            }
        }
        counts.push(following.values().sum());
        frontier = following;
    }
    counts
}
