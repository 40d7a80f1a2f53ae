//! A stored solution of a game for one player solves the game under other names.

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;

use gdl::Program;
use insight::canonical::{BUDGET, canonical, isomorphism};
use insight::mapping::Mapping;
use insight::scramble::{RoleOrder, scramble};
use machine::{Limits, Machine, Reference, RoleId};
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

fn game(name: &str) -> Program {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../games").join(name).join("rules.kif");
    gdl::read(name, &std::fs::read(path).expect("a game of the library")).program
}

/// The moves of a shortest match that reaches 100 points, by trying all.
fn solve(program: &Program) -> Vec<String> {
    let mut machine = Reference::new(Arc::new(program.clone()), Limits::default()).expect("it can be played");
    let first = machine.initial().expect("within the limits");
    let mut before = HashMap::from([(first.clone(), None)]);
    let mut open = VecDeque::from([first]);
    while let Some(state) = open.pop_front() {
        if machine.is_terminal(&state).expect("within the limits") {
            if machine.goals(&state, RoleId(0)).expect("within the limits") != [100] {
                continue;
            }
            let mut moves = Vec::new();
            let mut at = &state;
            while let Some((from, chosen)) = &before[at] {
                moves.push(machine.move_name(*chosen));
                at = from;
            }
            moves.reverse();
            return moves;
        }
        let mut legal = Vec::new();
        machine.legal(&state, RoleId(0), &mut legal).expect("within the limits");
        for chosen in legal {
            let next = machine.next(&state, &[chosen]).expect("within the limits");
            if !before.contains_key(&next) {
                before.insert(next.clone(), Some((state.clone(), chosen)));
                open.push_back(next);
            }
        }
    }
    panic!("there is no solution");
}

/// Plays the moves and returns the goal values at the end; `None` if a move is illegal or the match does not end there.
fn replay(program: &Program, moves: &[String]) -> Option<Vec<i64>> {
    let mut machine = Reference::new(Arc::new(program.clone()), Limits::default()).expect("it can be played");
    let mut state = machine.initial().expect("within the limits");
    for text in moves {
        let mut legal = Vec::new();
        machine.legal(&state, RoleId(0), &mut legal).expect("within the limits");
        let chosen = legal.into_iter().find(|&chosen| machine.move_name(chosen) == *text)?;
        state = machine.next(&state, &[chosen]).expect("within the limits");
    }
    let is_over = machine.is_terminal(&state).expect("within the limits");
    is_over.then(|| machine.goals(&state, RoleId(0)).expect("within the limits"))
}

#[test]
fn stored_solutions_are_translated() {
    for (seed, name) in (0..).zip(["maze", "blocks-world", "buttons-and-lights", "water-jugs", "circle-solitaire"]) {
        let known = game(name);
        let solution = solve(&known);
        let new = scramble(&known, RoleOrder::Shuffled, &mut Pcg64Mcg::seed_from_u64(seed)).program;
        let renaming = isomorphism(&canonical(&known, BUDGET), &canonical(&new, BUDGET)).expect("the same game");
        let mapping = Mapping::of_equal(&known, &renaming);
        let translate = |text: &String| {
            mapping.play_text(&known, &new, text).unwrap_or_else(|| panic!("{name}: `{text}` has no counterpart"))
        };
        let translated: Vec<String> = solution.iter().map(translate).collect();
        assert_eq!(replay(&new, &translated), Some(vec![100]), "{name}: {solution:?} as {translated:?}");
        assert_eq!(replay(&new, &solution), None, "{name}: the old words mean nothing");
        assert_eq!(mapping.play_text(&known, &new, "(no such move)"), None);
    }
}
