//! Fitted pattern tables of a real game: symmetric states are worth the same, and what is looked up in play is what was
//! fitted.

use std::ops::ControlFlow;

use features::game::Game;
use features::pattern::atoms;
use features::pattern::orbit;
use features::pattern::shapes::{self, Kind};
use features::pattern::table::{self, Indexer, Instance};
use insight::symmetry::Translation;
use learn::fit::quantize::quantize;
use learn::fit::{Design, Objective, Ridge, Rows, Settings, Stage, Staged, Tables, fit};

/// States of random matches.
fn states(game: &Game, n: usize) -> Vec<Box<[u64]>> {
    let mut lanes = machine::lanes::Lanes::new(machine::lanes::Compiled::new(game.circuit.network.clone()));
    let mut random = machine::lanes::random(5);
    let mut states = Vec::new();
    for ply in 0..55 {
        lanes.evaluate();
        for role in 0..2 {
            let _ = lanes.choose(&mut random, machine::RoleId(role));
        }
        lanes.advance();
        let over = lanes.lanes_where(lanes.network().terminal);
        states.extend((0..n / 55).map(|lane| lanes.store((7 * ply + lane) % 512)));
        lanes.reset(over);
    }
    states
}

#[test]
fn symmetric_states_are_worth_the_same() {
    let text = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../games/othello/rules.kif")).unwrap();
    let game = Game::new(gdl::read("othello", &text).program, 1).unwrap();
    let (network, ground) = (&game.circuit.network, game.circuit.ground.as_ref().unwrap());
    let atoms = atoms::find(&game, &atoms::Settings::default());
    let board = &game.structure.boards[atoms.layers[0].board];
    let mut proposal = shapes::propose(board, &atoms.layers[0], &shapes::Settings::buro());
    proposal.shapes.retain(|shape| shape.kind != Kind::Edge);
    let found = game.symmetries(1).unwrap();
    let keeping = orbit::keeping_roles(&game, &atoms.features, &found);
    let (orbits, _) = orbit::orbits(&atoms.features, &proposal.shapes, &keeping, &orbit::Budget::default());
    let instances: Vec<Instance> = orbits.iter().flat_map(|orbit| orbit.instances.iter().cloned()).collect();
    let indexer: Indexer<u16> = Indexer::new(&atoms.features, &instances, network.fluents.len()).unwrap();

    // Any targets will do; the second half of the states is the second stage.
    let states = states(&game, 2_000);
    let mut design: Tables<u16> = Tables::new(&orbits).unwrap();
    design.fill(states.len(), 3, |rows, give| {
        for state in &states[rows] {
            give(indexer.indices(&indexer.start(state)));
        }
    });
    let mut same: Tables<u16> = Tables::new(&orbits).unwrap();
    states.iter().for_each(|state| same.push(indexer.indices(&indexer.start(state))));
    assert_eq!((design.n_columns(), design.n_rows()), (113_877, states.len()));
    let mut columns = Vec::new();
    (0..states.len()).for_each(|row| design.visit(row, |column, _| columns.push(column)));
    (0..states.len()).rev().for_each(|row| {
        let mut own = columns.split_off(46 * row).into_iter();
        same.visit(row, |column, _| assert_eq!(own.next(), Some(column)));
    });
    let stages = (0..states.len()).map(|row| Stage::at(u16::from(2 * row > states.len()))).collect();
    let staged = Staged::new(design, 2, stages);
    let targets: Vec<f32> = (0..states.len()).map(|row| ((row * row) % 97) as f32 - 48.0).collect();
    let settings = Settings { objective: Objective::LEAST_SQUARES, ridge: Ridge::Same(3.0), ..Settings::default() };
    let fitted = fit(Rows::new(&staged, &targets), &settings, &mut |_| ControlFlow::Continue(())).unwrap();
    let rounded =
        quantize(&Rows::new(&staged, &targets), settings.objective, &fitted.weights, instances.len() as f64, 1)
            .unwrap();
    assert!(rounded.is_safe(46.0) && rounded.change().abs() < 0.005);

    // Play looks weights up in flat tables: exact sums of whole numbers.
    let translation = Translation::new(ground, network);
    let elements = found.group.as_ref().unwrap().elements(100).unwrap();
    let keeps: Vec<_> = elements.iter().filter(|symmetry| symmetry.roles == [0, 1]).collect();
    assert_eq!(keeps.len(), 8);
    for (stage, weights) in rounded.weights.chunks(113_877).enumerate() {
        let tables = table::Tables::new(&staged.design.expand(weights), &instances);
        let value = |state: &[u64]| tables.sum(indexer.indices(&indexer.start(state)));
        for (row, state) in states.iter().enumerate().step_by(13) {
            if usize::from(staged.stages[row].stage) == stage {
                let score = staged.dot(row, &rounded.values());
                assert!((f64::from(value(state)) * rounded.unit - score).abs() < 1e-6);
            }
            for symmetry in &keeps {
                let image = translation.action(symmetry).unwrap().state(state);
                assert_eq!(value(&image), value(state));
            }
        }
    }
}
