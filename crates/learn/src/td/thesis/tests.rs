use features::construct::{self, Mode, construct};
use features::positions::{self, collect};
use search::Position;

use super::*;
use crate::stage::Stages;
use crate::td::testing::game;

/// The thesis's features of a game, and their greatest values.
fn sight(name: &str) -> (Arc<Sight>, Vec<i32>) {
    let game = game(name);
    let positions = collect(&game, &positions::Settings::default(), &mut |_| true).positions;
    let settings = construct::Settings { mode: Mode::Thesis, ..Default::default() };
    let set = construct(&game, &positions, &settings, &mut |_| true).expect("features");
    let features = set.features.into_iter().map(|selected| selected.feature).collect();
    let sight = Arc::new(Sight::new(game, features, None, &Stages::default()).expect("it can be compiled"));
    let maxima = maxima(&sight, &positions);
    (sight, maxima)
}

fn trained(sight: &Arc<Sight>, maxima: &[i32], settings: Settings) -> Training {
    let mut training = Training::begin(sight, maxima.to_vec(), settings).expect("it is small");
    while training.go_on(&|| false) {}
    training
}

/// Some states of a random match.
fn states(game: &Game, seed: u64) -> Vec<Vec<u64>> {
    let mut machine = Scalar::new(scalar::Compiled::new(game.circuit.network.clone()));
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut states = Vec::new();
    while !machine.terminal() {
        states.push(machine.bits().to_vec());
        let legal = legal_moves(&machine);
        machine.make(&legal.iter().map(|moves| moves[random.random_range(0..moves.len())]).collect::<Vec<_>>());
    }
    states
}

/// What learners say of states is what their model says, also after it was kept.
fn assert_model_agrees(training: &mut Training) {
    let game = training.learners[0].sight.game.clone();
    let stored = Stored::from_bytes(&training.checkpoint().model.to_bytes()).expect("kept");
    let kept = stored.load(game.clone()).expect("of this game");
    assert_eq!(kept.weights, training.model().weights);
    let (mut judge, mut varies) = (kept.judge(), false);
    for state in states(&game, 1) {
        for learner in &mut training.learners {
            let features = learner.look(&state);
            let expected = learner.linear.value(&features) + 0.5;
            judge.jump(&learner.sight.views.state(&state));
            let found = f64::from(judge.estimate(learner.role));
            assert!((found - expected).abs() < 1e-5, "{found} is not {expected}");
            varies |= (expected - 0.5).abs() > 0.01;
        }
    }
    assert!(varies, "something was learned");
}

/// Tic-Tac-Toe against the fuzzy heuristic is learned in far fewer matches than the thesis's, for either role.
#[test]
fn tic_tac_toe_is_learned() {
    let (sight, maxima) = sight("tic-tac-toe");
    let mut training = trained(&sight, &maxima, Settings { matches: 500, evaluation: 100, ..Settings::default() });
    assert_eq!(training.history().len(), 10);
    for (role, least) in [(RoleId(0), 85.0), (RoleId(1), 50.0)] {
        let before = training.checkpoint();
        let Trial { own, others } = training.evaluate(role, &|| false);
        assert_eq!(training.checkpoint(), before, "evaluation learns nothing");
        let mean = |results: &[f64]| results.iter().sum::<f64>() / results.len() as f64;
        assert!(own.len() == 100 && mean(&own) >= least, "{role:?} gets {}", mean(&own));
        assert!((mean(&own) + mean(&others) - 100.0).abs() < 1e-9);
    }
    assert_model_agrees(&mut training);
}

/// Training that was kept and gone on with, or stopped within a generation, comes to what it would have come to anyway.
#[test]
fn interruptions_change_nothing() {
    let (sight, maxima) = sight("tic-tac-toe");
    let settings = Settings { matches: 30, generation: 10, ..Settings::default() };
    let whole = trained(&sight, &maxima, settings.clone());
    let mut part = Training::begin(&sight, maxima.clone(), settings.clone()).expect("it is small");
    assert!(part.go_on(&|| false));
    let asked = std::cell::Cell::new(0);
    let stop = || {
        asked.set(asked.get() + 1);
        asked.get() > 14
    };
    let before = part.checkpoint();
    assert!(!part.go_on(&stop) && part.checkpoint() == before);
    let kept = Checkpoint::from_bytes(&before.to_bytes()).expect("kept");
    let mut part = Training::resume(sight.game.clone(), kept, settings.clone()).expect("of this game");
    while part.go_on(&|| false) {}
    assert_eq!(part.checkpoint(), whole.checkpoint());
    let other = trained(&sight, &maxima, Settings { seed: 2, ..settings });
    assert_ne!(other.checkpoint().weights, whole.checkpoint().weights);
    assert!(Checkpoint::from_bytes(b"senet-g1").is_err());
}

/// Three roles have a vector each, learned from the same features.
#[test]
fn three_roles_learn_side_by_side() {
    let (sight, maxima) = sight("three-player-tic-tac-toe");
    let settings = Settings { matches: 10, generation: 10, evaluation: 2, ..Settings::default() };
    let mut training = trained(&sight, &maxima, settings);
    let weights = training.checkpoint().weights;
    assert!(weights.len() == 3 && weights.iter().all(|own| own.len() == sight.features.len()));
    for role in 0..3 {
        assert!(weights[role].iter().any(|&weight| weight != 0.0));
        assert_ne!(weights[role], weights[(role + 1) % 3]);
        let trial = training.evaluate(RoleId(role as u32), &|| false);
        assert!(trial.own.len() == 2 && trial.others.len() == 2);
    }
    assert_eq!(training.model().weights.len(), 3);
    assert_model_agrees(&mut training);
}

/// A move by chance resets the traces and changes no weight; other moves change them. A game for one needs no opponents.
#[test]
fn nothing_is_learned_from_moves_by_chance() {
    let (sight, maxima) = sight("circle-solitaire");
    let mut learner = Learner::new(sight.clone(), RoleId(0), &maxima);
    learner.linear.weights.fill(0.25);
    let settings = Settings { epsilon: 1.0, ..Settings::default() };
    let mut machine = Scalar::new(scalar::Compiled::new(sight.game.circuit.network.clone()));
    let mut trainee = Trainee { learner: &mut learner, settings: &settings, seen: Vec::new(), by_chance: false };
    trainee.begin(&mut machine);
    trainee.learner.linear.traces.fill(1.0);
    let legal = legal_moves(&machine);
    assert!(legal[0].len() > 1);
    let chosen = trainee.choose(&mut machine, &legal[0]);
    machine.make(&[chosen]);
    trainee.after(&mut machine);
    assert!(learner.linear.traces.iter().all(|&trace| trace == 0.0));
    assert!(learner.linear.weights.iter().all(|&weight| weight == 0.25));
    let mut training =
        trained(&sight, &maxima, Settings { matches: 3, generation: 3, evaluation: 2, ..Settings::default() });
    assert!(training.history()[0].results[0].is_some());
    assert!(training.learners[0].linear.weights.iter().any(|&weight| weight != 0.0));
    let trial = training.evaluate(RoleId(0), &|| false);
    assert!(trial.own.len() == 2 && trial.others.len() == 2, "the opponent plays alone");
}

#[test]
fn shares_by_the_book() {
    assert_eq!(share(0.0, 0.0), 0.5);
    assert_eq!(share(75.0, 25.0), 0.75);
}
