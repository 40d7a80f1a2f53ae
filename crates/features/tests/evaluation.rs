//! Features evaluated in bulk, step by step in search, and one by one have the same values, in every game of the library.

mod common;

use std::sync::Arc;

use features::compile::{Budget, compile};
use features::evaluate::incremental::{Score, Values};
use features::evaluate::{Sums, bulk, incremental};
use features::game::Game;
use gdl::ground;
use libtest_mimic::{Arguments, Failed, Trial};
use machine::RoleId;
use machine::lanes::{self, Lanes};
use machine::network::{self, Gate, Wire};
use machine::scalar::Scalar;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

fn main() {
    let arguments = Arguments::from_args();
    let games = concat!(env!("CARGO_MANIFEST_DIR"), "/../../games");
    let entries = std::fs::read_dir(games).expect("the library is in the repository");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("readable").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    let mut trials: Vec<Trial> = Vec::new();
    for name in names {
        trials.push(Trial::test(format!("random_sums::{name}"), move || check(&random_sums(&name))));
    }
    for name in ["tic-tac-toe", "connect-four", "breakthrough-6x6", "othello-6x6", "pacman", "hanoi"] {
        trials.push(Trial::test(format!("compiled_features::{name}"), move || check(&compiled_features(name))));
    }
    libtest_mimic::run(&arguments, trials).exit();
}

/// Sums of conditions of all kinds, the same ones and opposite ones among them, with weights of both signs.
fn random_sums(name: &str) -> Sums {
    let ground = ground::ground(&common::read(name), &ground::Budget::default()).expect("library games ground");
    let mut network = network::build(ground, &gdl::Stop::never()).expect("library games make networks");
    let mut random = Pcg64Mcg::seed_from_u64(5);
    // Whatever legality and the end depend on reads no moves.
    let mut wires: Vec<Wire> =
        network.legal.iter().copied().chain([network.terminal, Wire::TRUE, Wire::FALSE]).collect();
    for at in 0..wires.len() {
        if let Gate::And(inputs) = &network.gates[wires[at].gate() as usize] {
            wires.extend(inputs.iter().copied());
        }
    }
    wires.extend((1..=network.fluents.len() as u32).map(Wire::of));
    let mut any = || wires[random.random_range(0..wires.len())].invert_if(random.random());
    let mut formulas: Vec<Wire> = (0..200).map(|_| any()).collect();
    for _ in 0..100 {
        let few = [any(), any(), any()];
        formulas.push(network.all_of(&few));
    }
    network.formulas = formulas;
    let term = |random: &mut Pcg64Mcg| (random.random_range(0..300), random.random_range(-3..=3));
    let features = (0..40).map(|size| (0..size * size / 20).map(|_| term(&mut random)).collect()).collect();
    Sums { network: Arc::new(network), features }
}

fn compiled_features(name: &str) -> Sums {
    let game = Game::new(common::read(name), 1).expect("it has a network");
    let features = common::bodies(&game.program);
    compile(&game, &features, &Budget::default()).expect("it compiles").sums
}

fn check(sums: &Sums) -> Result<(), Failed> {
    let n = sums.features.len();
    let mut random = Pcg64Mcg::seed_from_u64(9);
    let weights: Vec<i32> = (0..n).map(|_| random.random_range(-1000..1000)).collect();
    let compiled = incremental::Compiled::new(sums);
    let (mut values, mut score) = (Values::new(compiled.clone()), Score::new(compiled.clone(), &weights));
    // Step 1. Walk about.
    let start = values.machine().bits().to_vec();
    let (mut states, mut found, mut scores) = (Vec::new(), Vec::new(), Vec::new());
    let mut depth = 0;
    while states.len() < 600 {
        states.push(values.machine().bits().to_vec());
        found.extend_from_slice(values.values());
        scores.push(score.score());
        let joint = joint(values.machine(), &mut random);
        match (random.random_range(0..8), joint) {
            (0, _) => {
                let there = &states[random.random_range(0..states.len())];
                values.jump(there);
                score.jump(there);
                depth = 0;
            }
            (1..4, _) if depth > 0 => {
                values.unmake();
                score.unmake();
                depth -= 1;
            }
            (_, Some(joint)) => {
                values.make(&joint);
                score.make(&joint);
                depth += 1;
            }
            _ => {
                values.jump(&start);
                score.jump(&start);
                depth = 0;
            }
        }
    }
    // Step 2. In bulk.
    let views: Vec<&[u64]> = states.iter().map(Vec::as_slice).collect();
    let mut bulk = bulk::Bulk::new(Arc::new(bulk::Compiled::new(sums)));
    let (mut at_once, mut weighted) = (Vec::new(), Vec::new());
    bulk.values(&views, &mut at_once);
    assert!(at_once == found, "bulk and incremental values agree");
    bulk.scores(&views, &weights.iter().map(|&weight| weight as f32).collect::<Vec<_>>(), &mut weighted);
    // Step 3. One by one.
    let mut lanes = Lanes::new(lanes::Compiled::new(sums.network.clone()));
    let columns = lanes.evaluate_formulas(&views);
    let mut different = 0;
    for state in 0..states.len() {
        let holds = |formula: u32| columns[formula as usize][state / 64] >> (state % 64) & 1 == 1;
        let mut total = 0;
        for (feature, terms) in sums.features.iter().enumerate() {
            let expected: i32 = terms.iter().filter(|term| holds(term.0)).map(|term| term.1).sum();
            assert_eq!(found[state * n + feature], expected, "state {state}, feature {feature}");
            total += i64::from(weights[feature]) * i64::from(expected);
            different += usize::from(expected != found[feature]);
        }
        assert_eq!(scores[state], total, "state {state}");
        assert!((f64::from(weighted[state]) - total as f64).abs() <= 1.0 + 1e-5 * total.abs() as f64);
    }
    assert!(different > 0, "something changes");
    Ok(())
}

/// A random joint move, if the match goes on.
fn joint(machine: &Scalar, random: &mut Pcg64Mcg) -> Option<Vec<u32>> {
    if machine.terminal() {
        return None;
    }
    let roles = 0..machine.network().roles.len() as u32;
    roles
        .map(|role| {
            let mut moves = Vec::new();
            machine.legal_moves(RoleId(role), &mut moves);
            (!moves.is_empty()).then(|| moves[random.random_range(0..moves.len())])
        })
        .collect()
}
