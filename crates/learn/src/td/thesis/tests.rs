use features::construct::{self, Mode, construct};
use features::positions::{self, collect};
use search::{Position, Random};

use super::*;
use crate::stage::Stages;
use crate::td::fuzzy_player;
use crate::td::testing::{game, mean};

/// The thesis's features of a game, and their greatest values.
fn sight(name: &str) -> (Arc<Sight>, Vec<i32>) {
    let game = game(name);
    let positions = collect(&game, &positions::Settings::default(), &mut |_| true).positions;
    let settings = construct::Settings { mode: Mode::Thesis, ..Default::default() };
    let set = construct(&game, &positions, &settings, &mut |_| true).expect("features");
    let maxima = set.features.iter().map(|selected| selected.max).collect();
    let features = set.features.into_iter().map(|selected| selected.feature).collect();
    (Arc::new(Sight::new(game, features, None, &Stages::default()).expect("it can be compiled")), maxima)
}

/// Tic-Tac-Toe against the fuzzy heuristic is learned in far fewer matches than the thesis's, for either role, and the same
/// seed gives the same weights. The model expects what the learners do.
#[test]
fn tic_tac_toe_is_learned() {
    let (sight, maxima) = sight("tic-tac-toe");
    let settings = Settings { matches: 500, evaluation: 100, ..Settings::default() };
    let mut learners = Vec::new();
    for (role, least) in [(RoleId(0), 85.0), (RoleId(1), 50.0)] {
        let train = |matches| {
            let mut opponent = fuzzy_player(&sight.game, 7).expect("it is small");
            let mut learner = Learner::new(sight.clone(), role, &maxima, 3);
            let settings = Settings { matches, ..settings.clone() };
            learner.train(&mut opponent, &settings, &mut |_| true);
            learner
        };
        assert_eq!(train(20).linear, train(20).linear);
        let mut learner = train(settings.matches);
        let before = learner.linear.clone();
        let results = learner.evaluate(&mut fuzzy_player(&sight.game, 8).expect("it is small"), &settings);
        assert_eq!(learner.linear, before, "evaluation learns nothing");
        let own: Vec<Option<i64>> = results.iter().map(|results| results[role.0 as usize]).collect();
        assert!(mean(&own) >= least, "{role:?} gets {}", mean(&own));
        learners.push(learner);
    }
    let model = Arc::new(model(&learners).expect("weights fit"));
    let mut judge = model.judge();
    let state = sight.game.circuit.network.initial.clone();
    let mut bits = vec![0u64; state.len().div_ceil(64)];
    (0..state.len()).filter(|&at| state[at]).for_each(|at| bits[at / 64] |= 1 << (at % 64));
    for (role, learner) in learners.iter_mut().enumerate() {
        let features = learner.look(&bits);
        judge.jump(&sight.views.state(&bits));
        let expected = learner.linear.value(&features) + 0.5;
        assert!((f64::from(judge.estimate(RoleId(role as u32))) - expected).abs() < 1e-5);
    }
}

/// A move by chance resets the traces and changes no weight; other moves change them.
#[test]
fn nothing_is_learned_from_moves_by_chance() {
    let (sight, maxima) = sight("circle-solitaire");
    let compiled = scalar::Compiled::new(sight.game.circuit.network.clone());
    let mut nobody = Random::new(compiled.clone(), 1);
    let mut learner = Learner::new(sight.clone(), RoleId(0), &maxima, 1);
    learner.linear.weights.fill(0.25);
    let settings = Settings { epsilon: 1.0, ..Settings::default() };
    let mut machine = Scalar::new(compiled);
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
    // The rest of the match, without opponents, is learned from.
    let settings = Settings { matches: 5, ..Settings::default() };
    let results = learner.train(&mut nobody, &settings, &mut |results| results.len() < 3);
    assert!(results.len() == 3 && results.iter().all(Option::is_some));
    assert!(learner.linear.weights.iter().any(|&weight| weight != 0.25));
}

#[test]
fn shares_by_the_book() {
    assert_eq!(share(0.0, 0.0), 0.5);
    assert_eq!(share(75.0, 25.0), 0.75);
}
