//! Games in which there is nothing to learn, or nearly nothing: learning ends with a model or a reason, and never panics.

use std::sync::Arc;

use features::construct::{self, construct};
use features::game::Game;
use features::positions::{self, collect};
use gdl::Stop;
use learn::course::{Course, Settings, Stored};
use learn::{player, self_play, teach};
use search::match_play;
use search::{Limit, Player};

const TURNS: &str =
    "(init (step 0)) (succ 0 1) (succ 1 2) (succ 2 3) (<= (next (step ?n)) (true (step ?m)) (succ ?m ?n))";

/// Learns what can be learned and plays with it; how many generations there were, or why there is no course.
fn learned(rules: &str) -> Result<usize, String> {
    let reading = gdl::read("strange", rules.as_bytes());
    let game = Arc::new(Game::new(reading.program, 1)?);
    let play = positions::Settings {
        levels: 2,
        positions: 300,
        matches: (40, 40),
        plies: 20,
        ..positions::Settings::default()
    };
    let played = collect(&game, &play, &mut |_| true).positions;
    let few = construct::Settings { candidates: 50, configurations: 10, ..construct::Settings::default() };
    let set = construct(&game, &played, &few, &mut |_| true)?;
    let features: Vec<_> = set.features.into_iter().map(|selected| selected.feature).collect();
    let settings = Settings {
        positions: 200,
        play: self_play::Settings { plies: 20, ..self_play::Settings::default() },
        teach: teach::Settings { iterations: 5, ..teach::Settings::default() },
        ..Settings::default()
    };
    let mut course = Course::begin(game.clone(), &played, features, settings.clone()).map_err(|why| why.to_string())?;
    for _ in 0..2 {
        course.go_on(&|| false).map_err(|why| why.to_string())?;
    }
    // What was learned can be kept, read, gone on with and played.
    let stored = Stored::from_bytes(&course.checkpoint().model.to_bytes()).map_err(|why| why.to_string())?;
    let model = stored.load(game.clone()).map_err(|why| why.to_string())?;
    let again = Course::from_model(model.clone(), &played, settings);
    _ = self_play::contest(
        &model,
        again.model(),
        &self_play::Settings { plies: 20, matches: 4, ..Default::default() },
        &|| false,
    );
    let compiled = machine::scalar::Compiled::new(game.circuit.network.clone());
    let mut machine = machine::scalar::Scalar::new(compiled);
    let mut players: Vec<Box<dyn Player>> =
        game.universe.roles.iter().map(|_| player::player(&model, stored.search, 1, 1)).collect();
    let mut seats: Vec<&mut dyn Player> = players.iter_mut().map(|player| &mut **player as _).collect();
    match_play::play(&mut machine, &mut seats, &[], 20, &mut |_, choose| choose(&Limit::nodes(50)));
    Ok(course.history().len() - 1)
}

#[test]
fn a_match_that_is_over_at_once_teaches_nothing() {
    let told = learned(
        "(role a) (role b) (init (f 1)) (legal a x) (legal b x) (<= (next (f 1)) (true (f 1)))
        (<= terminal (true (f 1))) (goal a 50) (goal b 50)",
    );
    assert!(told.is_err(), "{told:?}");
}

#[test]
fn a_match_that_never_ends_teaches_nothing() {
    for moves in ["(legal a x)", "(legal a x) (legal a y)"] {
        let rules = format!(
            "(role a) (init (f 1)) {moves} (<= (next (f 1)) (true (f 1))) (<= terminal (true (g 1)))
            (<= (next (g 1)) (true (g 1))) (<= (goal a 100) (true (g 1))) (<= (goal a 0) (true (f 1)))"
        );
        assert!(learned(&rules).is_err());
    }
}

#[test]
fn without_fluents_there_is_nothing_to_learn() {
    for rest in ["(goal a 50) (<= terminal (role a))", "(goal a 50) (<= terminal (does a x))", "(goal a 50)", ""] {
        _ = learned(&format!("(role a) (legal a x) (legal a y) {rest}"));
        _ = learned(&format!("(role a) (role b) (legal a x) (legal a y) (legal b x) {rest}"));
    }
}

#[test]
fn moves_that_do_not_matter_are_no_trouble() {
    for roles in [&["a"][..], &["a", "b"], &["a", "b", "c"]] {
        for moves in [1, 3] {
            let each: String = roles
                .iter()
                .map(|role| {
                    let legal: String = (0..moves).map(|n| format!("(legal {role} m{n})")).collect();
                    format!("(role {role}) {legal} (goal {role} 50)")
                })
                .collect();
            let told = learned(&format!("{each} {TURNS} (<= terminal (true (step 3)))"));
            assert_eq!(told, Ok(2), "{roles:?} with {moves} moves");
        }
    }
}

/// Goals that the rules don't give, for one role or for all, in some states or in all.
#[test]
fn missing_goals_are_no_trouble() {
    let game = |goals: &str| {
        learned(&format!(
            "(role a) (role b) (legal a x) (legal a y) (legal b x) (legal b y) {TURNS}
             (<= (next (won ?r)) (does ?r y)) (<= (next (won ?r)) (true (won ?r))) (<= terminal (true (step 3))) {goals}"
        ))
    };
    _ = game("");
    _ = game("(goal a 100)");
    _ = game("(<= (goal a 100) (true (won a)))");
    _ = game("(<= (goal ?r 100) (true (won ?r)))");
    _ = game("(<= (goal a 100) (true (won a))) (<= (goal a 0) (not (true (won a)))) (<= (goal b 30) (true (won b)))");
    // Two goals at once, and goals beyond 100.
    _ = game("(<= (goal ?r 100) (true (won ?r))) (<= (goal ?r 50) (role ?r))");
    _ = game("(<= (goal ?r 1000) (true (won ?r))) (<= (goal ?r 0) (role ?r) (not (true (won ?r))))");
}

/// A role that can't move in the midst, or from the beginning on.
#[test]
fn who_cannot_move_is_no_trouble() {
    for legal in ["(<= (legal b x) (true (step 0)))", "(<= (legal b x) (true (step 2)))", ""] {
        _ = learned(&format!(
            "(role a) (role b) (legal a x) (legal a y) {legal} {TURNS}
             (<= terminal (true (step 3))) (goal a 50) (goal b 50)"
        ));
    }
}

/// Told to stop before anything, every stage gives what it has.
#[test]
fn who_is_stopped_at_once_has_nothing() {
    let rules = std::fs::read("../../games/tic-tac-toe/rules.kif").expect("a game of the library");
    let game = Arc::new(Game::new(gdl::read("tic-tac-toe", &rules).program, 1).expect("it has a network"));
    let stop = Stop::when(|| true);
    let play = positions::Settings { stop: stop.clone(), ..positions::Settings::default() };
    let collected = collect(&game, &play, &mut |_| true);
    assert!(collected.positions.is_empty());
    let settings = construct::Settings { stop: stop.clone(), ..construct::Settings::default() };
    let set = construct(&game, &collected.positions, &settings, &mut |_| true).expect("no features");
    assert!(set.features.is_empty());
    let few = positions::Settings { levels: 1, positions: 500, matches: (60, 60), ..positions::Settings::default() };
    let played = collect(&game, &few, &mut |_| true).positions;
    let teach = teach::Settings { stop, ..teach::Settings::default() };
    let course = Course::begin(game, &played, Vec::new(), Settings { teach, ..Settings::default() });
    let mut course = course.expect("weights, if only those that it begins with");
    assert!(!course.go_on(&|| true).expect("nothing is wrong") && course.history().len() == 1);
}
