//! How well first weights predict the results of matches that were held out, by what stages and roles share and by which examples
//! count: `cargo run --release -p learn --example first_fit -- GAME... [--positions 6000] [--threads 1] [--labels N] [--matches 400]`.
//! Patterns alone, no features. With `--labels`, so many positions of each stage are labelled by search, and weights that were fitted
//! to these play against those that were fitted to results, one move ahead and with some moves by chance.

#![allow(clippy::print_stdout)]

use std::sync::Arc;

use features::game::Game;
use features::positions::{self, collect};
use learn::example::Examples;
use learn::label::{self, teach_backwards};
use learn::model::Sum;
use learn::self_play;
use learn::sight::{PatternSettings, Sight};
use learn::stage::Stages;
use learn::teach::{Distinct, Settings, Sharing, teach};
use search::statistics::wilson;

fn main() {
    let (mut games, mut n_positions, mut threads) = (Vec::new(), 6_000, 1);
    let (mut n_labels, mut matches) = (0, 400);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut number = || arguments.next().and_then(|value| value.parse().ok()).expect("an option has a number");
        match argument.as_str() {
            "--positions" => n_positions = number(),
            "--threads" => threads = number(),
            "--labels" => n_labels = number(),
            "--matches" => matches = number() as u32,
            _ => games.push(argument),
        }
    }
    let usual = Settings { threads, ..Settings::default() };
    let sharing = |sharing: Sharing| Settings { sharing, ..usual.clone() };
    let distinct = |distinct: Distinct| Settings { distinct, ..usual.clone() };
    let variants = [
        ("4 stages", 4, usual.clone()),
        ("16 stages", 16, usual.clone()),
        ("16 stages, merged", 16, sharing(Sharing::Merged(Default::default()))),
        ("16 stages, 4 knots", 16, sharing(Sharing::Lines(4))),
        ("4 stages, roles share", 4, Settings { mirror: true, ..usual.clone() }),
        ("4 stages, images as one", 4, distinct(Distinct::Unique)),
    ];
    for name in games {
        let bytes = std::fs::read(format!("games/{name}/rules.kif")).expect("the library has the game");
        let game = Arc::new(Game::new(gdl::read(&name, &bytes).program, 1).expect("the game has a network"));
        let settings = positions::Settings { positions: n_positions, ..positions::Settings::default() };
        let played = collect(&game, &settings, &mut |_| true).positions;
        let examples = Examples::of(&played);
        println!("{name}: {} examples", examples.len());
        let shared = game.structure.outcomes.sum == Some(100) && game.universe.roles.len() == 2;
        let sum = if shared { Sum::Shared } else { Sum::Free };
        let sight = |n_stages: usize| {
            let stages = Stages::find(&game, &played, n_stages);
            let sight = Sight::new(game.clone(), Vec::new(), Some(&PatternSettings::default()), &stages);
            Arc::new(sight.expect("a sight"))
        };
        for (what, n_stages, settings) in &variants {
            let (_, losses) = teach(&sight(*n_stages), &examples, sum, None, settings).expect("a fit");
            println!("    {what:26} training {:.4}, held out {:.4}", losses[0].training, losses[0].held_out);
        }
        if n_labels == 0 {
            continue;
        }
        let plain = Arc::new(teach(&sight(4), &examples, sum, None, &usual).expect("a fit").0);
        for successors in [false, true] {
            let search = label::Settings { nodes: 300, exact: 500, successors, positions: n_labels, seed: 1 };
            let mut n_exact = 0;
            let again =
                teach_backwards(plain.clone(), &examples, &search, &usual, &mut |stage| n_exact += stage.n_exact);
            let (labelled, _) = again.expect("a fit");
            let play = self_play::Settings { matches, threads, ..self_play::Settings::default() };
            let score = self_play::contest(&labelled, &plain, &play, &|| false).unwrap_or(0.5);
            let interval = wilson(f64::from(score) * f64::from(matches), u64::from(matches));
            println!(
                "    labels, successors {successors:5}: {n_exact} exact; {:.1} ({:.1} to {:.1}) in {matches} matches",
                100.0 * interval.mean,
                100.0 * interval.low,
                100.0 * interval.high
            );
        }
    }
}
