//! The table of `docs/features.md`: features of games, one row each.
//!
//! `cargo run --release -p features --example table -- games/tic-tac-toe games/othello`

#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::time::Instant;

use features::construct::{Settings, construct};
use features::game::Game;
use features::positions::{self, collect};

fn main() {
    let verbose = std::env::var("VERBOSE").is_ok();
    println!(
        "| game | positions | generated | different | chosen | significant | seconds: game, positions, features |"
    );
    println!("|---|---|---|---|---|---|---|");
    for folder in std::env::args().skip(1) {
        let path = format!("{folder}/rules.kif");
        let name = folder.rsplit('/').next().unwrap_or(&folder).to_owned();
        let Ok(text) = std::fs::read(&path) else { continue };
        let start = Instant::now();
        let program = gdl::read(&path, &text).program;
        let game = match Game::new(program, 1) {
            Ok(game) => game,
            Err(why) => {
                println!("| {name} | no network: {why} |");
                continue;
            }
        };
        let for_game = start.elapsed().as_secs_f64();
        let start = Instant::now();
        let collected = collect(&game, &positions::Settings::default(), &mut |_| true);
        let for_positions = start.elapsed().as_secs_f64();
        let start = Instant::now();
        let set = match construct(&game, &collected.positions, &Settings::default(), &mut |_| true) {
            Ok(set) => set,
            Err(why) => {
                println!("| {name} | {why} |");
                continue;
            }
        };
        let for_features = start.elapsed().as_secs_f64();
        let n_significant = set.features.iter().filter(|selected| selected.significant).count();
        println!(
            "| {name} | {} | {} | {} | {} | {n_significant} | {for_game:.1}, {for_positions:.1}, {for_features:.1} |",
            collected.positions.len(),
            set.n_generated,
            set.n_unique,
            set.features.len(),
        );
        if verbose {
            for selected in &set.features {
                let shown = selected.feature.display(&game.program.symbols).to_string();
                let text = selected.sentence.clone().unwrap_or(shown);
                println!(
                    "    {:+.3} z {:+.1}{} gain {:.4} {:?} cost {:.1} {text}",
                    selected.held_out.correlation,
                    selected.held_out.z,
                    if selected.significant { "*" } else { "" },
                    selected.gain,
                    selected.origin,
                    selected.cost,
                );
            }
            println!("    {:?} {:?}", set.counts, set.stopped);
        }
    }
}
