//! Playouts per second of the Monte Carlo search: `cargo run --release -p search --example speed -- GAME...`

#![allow(clippy::print_stdout)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use machine::lanes::{Compiled, Lanes};
use search::Limit;
use search::uct::{Settings, Uct};

fn main() {
    println!("{:24} {:>8} {:>12} {:>12} {:>8}", "game", "s", "playouts/s", "states/s", "depth");
    for game in std::env::args().skip(1) {
        let bytes = std::fs::read(format!("games/{game}/rules.kif")).expect("the library has the game");
        let reading = gdl::read(&game, &bytes);
        let ground =
            gdl::ground::ground(&reading.program, &gdl::ground::Budget::default()).expect("it can be grounded");
        let compiled = Compiled::new(Arc::new(machine::network::build(ground).expect("it has a network")));
        let state = Lanes::new(compiled.clone()).store(0);
        for seconds in [0.1, 1.0] {
            let mut player = Uct::new(compiled.clone(), Settings::default(), 1);
            let begin = Instant::now();
            let end = begin + Duration::from_secs_f64(seconds);
            let answer = player.search(&state, &Limit { nodes: u64::MAX, stop: &|| Instant::now() >= end });
            let took = begin.elapsed().as_secs_f64();
            let (playouts, states) = (answer.playouts as f64 / took, answer.nodes as f64 / took);
            println!("{game:24} {took:8.4} {playouts:12.0} {states:12.0} {:8}", answer.depth);
        }
    }
}
