use features::positions::{self, collect};
use machine::scalar::Compiled;
use search::{Greedy, Random};

use super::*;
use crate::sight::PatternSettings;
use crate::stage::Stages;
use crate::td::testing::{game, mean};

fn patterns(name: &str) -> Arc<Sight> {
    let game = game(name);
    let positions = collect(&game, &positions::Settings::default(), &mut |_| true).positions;
    let stages = Stages::find(&game, &positions, 1);
    Arc::new(Sight::new(game, Vec::new(), Some(&PatternSettings::default()), &stages).expect("it can be compiled"))
}

/// What the model's one-ply player gets as a role against chance.
fn against_chance(model: &Arc<Model>, role: RoleId, matches: u32) -> f64 {
    let compiled = Compiled::new(model.sight.game.circuit.network.clone());
    let mut machine = Scalar::new(compiled.clone());
    let mut own = Seat::new(Greedy::new(model.judge(), 5), model.sight.clone());
    let mut other = Random::new(compiled, 6);
    let mut one = |_| {
        let mut players: [&mut dyn Player; 2] = [&mut own, &mut other];
        if role.0 == 1 {
            players.reverse();
        }
        let played = search::match_play::play(&mut machine, &mut players, &[], 100, &mut |_, choose| {
            choose(&Limit::nodes(u64::MAX))
        });
        played.goals[role.0 as usize]
    };
    mean(&(0..matches).map(&mut one).collect::<Vec<_>>())
}

/// From nothing, self-play teaches to beat chance; with any number of threads the same.
#[test]
fn tic_tac_toe_is_learned_from_itself() {
    let sight = patterns("tic-tac-toe");
    let start = Arc::new(zeros(&sight, Sum::Shared));
    let settings = Settings { matches: 16, threads: 1, ..Settings::default() };
    let alone = train(&start, &settings, &mut |_, _| true);
    let together = train(&start, &Settings { threads: 3, ..settings }, &mut |_, _| true);
    assert_eq!(alone.weights, together.weights);
    assert_ne!(alone.weights, start.weights);
    let settings = Settings { matches: 400, ..Settings::default() };
    let mut batches = Vec::new();
    let model = train(&start, &settings, &mut |batch, _| {
        batches.push(batch.clone());
        true
    });
    assert_eq!(batches.last().map(|batch| batch.n_matches), Some(400));
    assert!(batches.iter().any(|batch| batch.against_former.1 > 0));
    let (before, first) = (against_chance(&start, RoleId(0), 100), against_chance(&model, RoleId(0), 200));
    let second = against_chance(&model, RoleId(1), 200);
    assert!(first >= 93.0 && second >= 80.0, "x {before} -> {first}, o {second}");
}

/// Roles that move at the same time have weights of their own.
#[test]
fn moves_at_the_same_time() {
    let sight = patterns("blocker");
    let start = Arc::new(zeros(&sight, Sum::Free));
    let (mut n, mut surprise) = (0, 0.0);
    let model = train(&start, &Settings { matches: 16, ..Settings::default() }, &mut |batch, _| {
        n += batch.n_positions;
        surprise += batch.surprise;
        true
    });
    assert!(n > 0 && surprise > 0.0);
    assert!(model.weights.len() == 2 && model.weights.iter().all(|weights| weights != &start.weights[0]));
}

/// Targets by hand.
#[test]
fn expectations_are_chained() {
    let link = |value, by_chance| Link { value, exact: false, by_chance };
    let near = |found: Vec<Option<f64>>, expected: &[Option<f64>]| {
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert!(
                found.is_some() == expected.is_some() && (found.unwrap_or(0.0) - expected.unwrap_or(0.0)).abs() < 1e-12,
                "{found:?} is not {expected:?}"
            );
        }
    };
    let chain = [link(0.5, false), link(0.6, false), link(0.7, false)];
    near(targets(&chain, 1.0, 0.5), &[Some(0.5 * 0.6 + 0.5 * 0.85), Some(0.5 * 0.7 + 0.5), Some(1.0)]);
    near(targets(&chain, 1.0, 0.0), &[Some(0.6), Some(0.7), Some(1.0)]);
    near(targets(&chain, 1.0, 1.0), &[Some(1.0), Some(1.0), Some(1.0)]);
    let chain = [link(0.5, false), link(0.6, true), link(0.7, false)];
    near(targets(&chain, 1.0, 1.0), &[Some(0.6), None, Some(1.0)]);
    let chain = [link(0.5, false), Link { value: 0.0, exact: true, by_chance: false }, link(0.7, false)];
    near(targets(&chain, 1.0, 1.0), &[Some(0.0), Some(1.0), Some(1.0)]);
}

/// A step moves what is expected towards what should be, and no farther.
#[test]
fn steps_go_the_right_way() {
    let sight = patterns("tic-tac-toe");
    let mut weights = zeros(&sight, Sum::Shared).weights;
    let mut squares = weights.clone();
    let machine = Scalar::new(Compiled::new(sight.game.circuit.network.clone()));
    let rows = sight.rows([machine.bits()]);
    let steps = Steps { sight: &sight, rows: &rows, largest: &[], alpha: 0.5 };
    let mut values = vec![steps.value(0, &weights[0])];
    for _ in 0..200 {
        let surprise = 0.8 - values.last().expect("there is one");
        steps.step(0, surprise, &mut weights[0], &mut squares[0]);
        values.push(steps.value(0, &weights[0]));
    }
    assert!(values.windows(2).all(|pair| pair[0] <= pair[1]) && values[0] == 0.5, "{values:?}");
    assert!((values.last().expect("there is one") - 0.8).abs() < 0.01, "{values:?}");
}
