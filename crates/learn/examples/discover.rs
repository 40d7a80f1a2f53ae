//! Discovers an evaluation function in play-lines and prints what it is worth against chance after each cycle.
//!
//! `cargo run --release -p learn --example discover -- checkers [--cycles N] [--lines N] [--matches N] [--mode thesis|extended]
//! [--least N] [--strategy DS] [--measure N] [--seed N] [--threads N] [--print]`

#![allow(clippy::print_stdout)]

use std::sync::Arc;

use features::game::Game;
use learn::discover::attribute::Mode;
use learn::discover::cycle::{self, Run, Stage};
use learn::discover::field::{self, Brain, Field};

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let name = arguments.first().ok_or("which game of the library?")?;
    let option = |wanted: &str| {
        arguments.iter().position(|argument| argument == wanted).and_then(|place| arguments.get(place + 1)).cloned()
    };
    let number = |wanted: &str, default: u64| {
        let parse = |text: String| text.parse().map_err(|_| format!("`{wanted}` needs a number"));
        option(wanted).map_or(Ok(default), parse)
    };
    let mode = match option("--mode").as_deref() {
        Some("thesis") => Mode::Thesis,
        Some("extended") | None => Mode::Extended,
        Some(other) => return Err(format!("`{other}` is no mode; there are thesis and extended")),
    };
    let path = format!("{}/../../games/{name}/rules.kif", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read(&path).map_err(|problem| format!("{path}: {problem}"))?;
    let game = Arc::new(Game::new(gdl::read(name, &text).program, 1)?);
    let threads = number("--threads", 1)? as usize;
    let field = Field::new(game, &field::Settings { threads, ..field::Settings::default() })?;
    let mut settings = cycle::Settings { mode, seed: number("--seed", 1)?, ..cycle::Settings::default() };
    settings.lines = vec![number("--lines", 4_500)? as u32];
    settings.tree.least = number("--least", 64)? as u32;
    settings.swarm.matches = number("--matches", 10_000)?;
    settings.strategy = option("--strategy").map_or(Ok(settings.strategy), |name| name.parse())?;
    let n_measured = number("--measure", 15_000)? as u32;
    let mut run = Run::default();
    for _ in 0..number("--cycles", 1)? {
        let report = |what: &str, brain: &Brain| {
            let interval = cycle::measure(&field, brain, n_measured, settings.seed + 99).interval();
            println!("{what}: F-measure {:.2} [{:.2}, {:.2}]", interval.mean, interval.low, interval.high);
        };
        loop {
            run.step(&field, &settings)?;
            let cycle = run.n_cycles + 1;
            match &run.stage {
                Stage::Discover(examples) => println!("cycle {cycle}: {} positions", examples.len()),
                Stage::Optimise(function) => {
                    let brain = Brain::new(function, &field.vocabulary)?;
                    println!("cycle {cycle}: {} terms in {} phases", brain.n_terms(), function.phases.len());
                    report(&format!("cycle {cycle}, weights as discovered"), &brain);
                    if arguments.iter().any(|argument| argument == "--print") {
                        println!("{function}");
                    }
                }
                Stage::Evaluate(function) => {
                    let found = run.found.last().expect("a swarm has searched");
                    println!(
                        "cycle {cycle}: {} matches, {} epochs, {} best places replaced, equal weights kept: {}",
                        found.n_matches, found.n_epochs, found.n_replaced, found.is_uniform
                    );
                    report(&format!("cycle {cycle}, weights of the swarm"), &Brain::new(function, &field.vocabulary)?);
                }
                Stage::Play => break,
            }
        }
        let best = Brain::new(&run.champions[0], &field.vocabulary)?;
        report(&format!("after cycle {}, the first of {} champions", run.n_cycles, run.champions.len()), &best);
    }
    Ok(())
}
