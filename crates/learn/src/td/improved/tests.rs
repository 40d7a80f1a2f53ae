use features::construct::{self, construct};
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

/// A model after at least so many matches.
fn trained(start: &Arc<Model>, settings: Settings, matches: u32) -> Training {
    let mut training = Training::from_model(start.clone(), settings);
    while training.state.n_played < matches && training.go_on(&|| false) {}
    training
}

/// From nothing, self-play teaches to beat chance; with any number of threads the same.
#[test]
fn tic_tac_toe_is_learned_from_itself() {
    let sight = patterns("tic-tac-toe");
    let start = Arc::new(zeros(&sight, Sum::Shared));
    let settings = Settings { generation: 16, ..Settings::default() };
    let alone = trained(&start, settings.clone(), 16).model().weights.clone();
    let together = trained(&start, Settings { threads: 3, ..settings }, 16).model().weights.clone();
    assert_eq!(alone, together);
    assert_ne!(alone, start.weights);
    let training = trained(&start, Settings::default(), 400);
    let history = training.history();
    assert_eq!(history.last().map(|last| last.n_matches), Some(416));
    assert!(history.iter().any(|generation| generation.against_former.1 > 0));
    assert!(history[8].strength.is_some_and(|strength| strength > 0.5), "{:?}", history[8]);
    let model = training.model();
    let (before, first) = (against_chance(&start, RoleId(0), 100), against_chance(model, RoleId(0), 200));
    let second = against_chance(model, RoleId(1), 200);
    assert!(first >= 93.0 && second >= 80.0, "x {before} -> {first}, o {second}");
}

/// Training that was kept and gone on with, or stopped within a generation, comes to what it would have come to anyway.
#[test]
fn interruptions_change_nothing() {
    let sight = patterns("tic-tac-toe");
    let start = Arc::new(zeros(&sight, Sum::Shared));
    let settings = Settings { generation: 12, refresh: 20, ..Settings::default() };
    let whole = trained(&start, settings.clone(), 36);
    let mut part = trained(&start, settings.clone(), 24);
    let before = part.checkpoint();
    assert!(!part.go_on(&|| true) && part.checkpoint() == before);
    let kept = Checkpoint::from_bytes(&before.to_bytes()).expect("kept");
    assert_eq!(kept.pool.len(), 2, "there is a former self");
    let mut part = Training::resume(sight.game.clone(), kept, settings).expect("of this game");
    assert!(part.go_on(&|| false));
    assert_eq!(part.checkpoint(), whole.checkpoint());
    assert!(Checkpoint::from_bytes(b"senet-i1").is_err());
}

/// Roles that move at the same time have weights of their own.
#[test]
fn moves_at_the_same_time() {
    let sight = patterns("blocker");
    let start = Arc::new(zeros(&sight, Sum::Free));
    let training = trained(&start, Settings { generation: 16, ..Settings::default() }, 16);
    let last = training.history().last().expect("it was played");
    assert!(last.n_new > 0 && last.losses.iter().all(|&loss| loss > 0.0));
    let model = training.model();
    assert!(model.weights.len() == 2 && model.weights.iter().all(|weights| weights != &start.weights[0]));
}

/// Begins as the command does, but with few features.
fn begun(name: &str, settings: Settings) -> Training {
    let game = game(name);
    let positions = collect(&game, &positions::Settings::default(), &mut |_| true).positions;
    let few = construct::Settings { candidates: 300, positions: 1_500, configurations: 20, ..Default::default() };
    let set = construct(&game, &positions, &few, &mut |_| true).expect("features");
    let features = set.features.into_iter().map(|selected| selected.feature).collect();
    Training::begin(game, &positions, features, settings).expect("it can be compiled")
}

/// Where play by chance gets nothing, so that the thesis learned nothing, there is something to learn: in games for one the line
/// that search finds, which is played and learned from.
#[test]
fn games_for_one_get_something() {
    for name in ["eight-puzzle", "incredible"] {
        let settings = Settings { generation: 2, nodes: 20, ..Settings::default() };
        let mut training = begun(name, settings.clone());
        let start = training.model().clone();
        assert!(training.go_on(&|| false));
        let last = training.history().last().expect("it was played");
        assert!(last.results[0] > 0.0 && last.n_ended == 2, "{name}: {last:?}");
        assert!(!training.model().line.is_empty() && training.model().weights != start.weights);
        let again = Training::resume(start.sight.game.clone(), training.checkpoint(), settings).expect("kept");
        assert_eq!(again.checkpoint(), training.checkpoint());
    }
}

/// The same where two roles move at once.
#[test]
fn wallmaze_gets_something() {
    let mut training = begun("wallmaze", Settings { generation: 16, nodes: 50, ..Settings::default() });
    assert!(training.go_on(&|| false));
    let last = training.history().last().expect("it was played");
    assert!(last.results.iter().all(|&result| result > 0.0), "{last:?}");
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
