//! Collects positions of games and says what they are like: `cargo run --release -p features --example positions -- GAME ...`

#![allow(clippy::print_stdout)]

use std::time::Instant;

use features::game::Game;
use features::positions::{Settings, collect};

fn main() {
    println!(
        "game | prepare s | collect s | positions | unique | stopped | results by role | per level: matches, given up, mean results, ahead"
    );
    for name in std::env::args().skip(1) {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../games");
        let text = std::fs::read(format!("{folder}/{name}/rules.kif")).expect("a game of the library");
        let start = Instant::now();
        let game = match Game::new(gdl::read(&name, &text).program, 1) {
            Ok(game) => game,
            Err(reason) => {
                println!("{name} | {reason}");
                continue;
            }
        };
        let prepared = start.elapsed().as_secs_f64();
        let start = Instant::now();
        let collected = collect(&game, &Settings::default(), &mut |_| true);
        let seconds = start.elapsed().as_secs_f64();
        let positions = &collected.positions;
        let results: Vec<String> = (0..positions.n_roles)
            .map(|role| {
                let results = positions.distinct_results(role);
                let shown: Vec<String> = results
                    .iter()
                    .take(8)
                    .map(|(result, n)| format!("{result}:{:.0}%", 100.0 * *n as f64 / positions.len() as f64))
                    .collect();
                format!("{}{}", shown.join(" "), if results.len() > 8 { " ..." } else { "" })
            })
            .collect();
        let levels: Vec<String> = collected
            .levels
            .iter()
            .map(|level| {
                let means =
                    |values: &[f64]| values.iter().map(|value| format!("{value:.0}")).collect::<Vec<_>>().join("/");
                format!("[{} {} {} >{}]", level.n_matches, level.n_given_up, means(&level.results), means(&level.ahead))
            })
            .collect();
        let unique = positions.without_terminal().unique().len();
        println!(
            "{name} | {prepared:.1} | {seconds:.1} | {} | {unique} | {:?} | {} | {}",
            positions.len(),
            collected.stopped,
            results.join("; "),
            levels.join(" ")
        );
    }
}
