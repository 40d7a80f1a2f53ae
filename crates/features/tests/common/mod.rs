//! What the tests of features share; no test needs all of it.
#![allow(dead_code)]

use features::feature::Feature;
use features::formula::Formula;
use features::game::Game;
use gdl::keyword;
use gdl::program::{Program, VarId};
use machine::scalar;
use rand::{RngExt, SeedableRng};

/// The rules of a game of the library.
pub(crate) fn read(game: &str) -> Program {
    let path = format!("{}/../../games/{game}/rules.kif", env!("CARGO_MANIFEST_DIR"));
    gdl::read(&path, &std::fs::read(&path).expect("the game is there")).program
}

/// States of random matches.
pub(crate) fn states(game: &Game, n: usize, seed: u64) -> Vec<Vec<u64>> {
    let mut random = rand_pcg::Pcg64Mcg::seed_from_u64(seed);
    let mut machine = scalar::Scalar::new(scalar::Compiled::new(game.circuit.network.clone()));
    let start = machine.bits().to_vec();
    let (mut states, mut moves) = (Vec::new(), Vec::new());
    while states.len() < n {
        states.push(machine.bits().to_vec());
        let joint: Option<Vec<u32>> = (0..game.universe.roles.len() as u32)
            .map(|role| {
                moves.clear();
                machine.legal_moves(machine::RoleId(role), &mut moves);
                (!moves.is_empty()).then(|| moves[random.random_range(0..moves.len())])
            })
            .collect();
        match joint {
            Some(joint) if !machine.terminal() => machine.make(&joint),
            _ => machine.jump(&start),
        }
    }
    states
}

/// The bodies of the rules for goals, ends and legal moves, with several lists each.
pub(crate) fn bodies(program: &Program) -> Vec<Feature> {
    let mut features = Vec::new();
    for rule in &program.rules {
        if !matches!(rule.head.name, keyword::GOAL | keyword::TERMINAL | keyword::LEGAL) || rule.body.is_empty() {
            continue;
        }
        let mut formula = Formula::all(rule.body.iter().map(Formula::of_rule));
        if let Some(role) = rule.implicit_role() {
            let role = Formula::Atom(features::formula::Atom {
                name: keyword::ROLE,
                args: vec![gdl::program::Term::Var(role)],
            });
            formula = Formula::all([formula, role]);
        }
        let free: Vec<VarId> = formula.free_variables().into_iter().collect();
        features.push(Feature::count(free.clone(), formula.clone()));
        features.push(Feature::count(free.iter().copied().step_by(2).collect(), formula.clone()));
        features.push(Feature::count(Vec::new(), formula));
    }
    features
}
