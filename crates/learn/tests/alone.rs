//! Courses of games with one role.

use std::sync::Arc;

use features::construct::{self, construct};
use features::game::Game;
use features::positions::{self, collect};
use learn::course::{Course, Settings, Stored};
use learn::player::{Search, player};
use learn::self_play;
use machine::scalar::{Compiled, Scalar};
use search::{Limit, match_play};

/// A solution that was found while learning is kept with the model and played without thinking; without it, the search finds one.
#[test]
fn solutions_are_kept_and_played() {
    for name in ["knights-swap", "queens-8"] {
        let text = std::fs::read(format!("../../games/{name}/rules.kif")).expect("a game of the library");
        let game = Arc::new(Game::new(gdl::read(name, &text).program, 1).expect("it has a network"));
        let settings = positions::Settings { levels: 1, positions: 200, matches: (20, 20), ..Default::default() };
        let positions = collect(&game, &settings, &mut |_| true).positions;
        let few = construct::Settings { candidates: 100, configurations: 20, ..construct::Settings::default() };
        let set = construct(&game, &positions, &few, &mut |_| true).expect("features");
        let features = set.features.into_iter().map(|selected| selected.feature).collect();
        let play = self_play::Settings { plies: 50, ..self_play::Settings::default() };
        let settings = Settings { stages: 1, patterns: None, positions: 1_000, play, ..Settings::default() };
        let mut course = Course::begin(game.clone(), &positions, features, settings).expect("a course begins");
        assert!(course.model().line.is_empty());
        let result = |course: &Course, nodes: u64| {
            let stored = Stored::from_bytes(&course.checkpoint().model.to_bytes()).expect("reads back");
            let model = stored.load(game.clone()).expect("it is of the game");
            let mut player = player(&model, Search::fitting(&model.sight)[0], 1, 1);
            let mut machine = Scalar::new(Compiled::new(game.circuit.network.clone()));
            let limit = Limit::nodes(nodes);
            let played = match_play::play(&mut machine, &mut [&mut *player], &[], 500, &mut |_, choose| choose(&limit));
            played.goals[0]
        };
        assert_eq!(result(&course, 50_000), Some(100), "{name}: by search");
        assert!(course.go_on(&|| false).expect("it goes on"));
        assert!(!course.model().line.is_empty());
        assert_eq!(result(&course, 0), Some(100), "{name}: by heart");
    }
}
