//! How many nodes alpha-beta needs to solve a game from its start: `cargo run --release -p search --example solve -- NODES GAME...`

#![allow(clippy::print_stdout)]

use std::sync::Arc;
use std::time::Instant;

use machine::RoleId;
use machine::lanes;
use machine::scalar::{self, Scalar};
use search::alpha_beta::{AlphaBeta, Settings};
use search::{Limit, Nature};

fn main() {
    let mut args = std::env::args().skip(1);
    let nodes: u64 = args.next().and_then(|nodes| nodes.parse().ok()).expect("a number of nodes, then games");
    println!("{:24} {:>6} {:>8} {:>12} {:>8} {:>10}", "game", "value", "proven", "nodes", "depth", "nodes/s");
    for game in args {
        let bytes = std::fs::read(format!("games/{game}/rules.kif")).expect("the library has the game");
        let program = gdl::read(&game, &bytes).program;
        let ground = gdl::ground::ground(&program, &gdl::ground::Budget::default()).expect("it can be grounded");
        let network = Arc::new(machine::network::build(ground).expect("it has a network"));
        let nature = Arc::new(Nature::new(&lanes::Compiled::new(network.clone()), 1));
        let machine = Scalar::new(scalar::Compiled::new(network));
        let state = machine.bits().to_vec();
        let begin = Instant::now();
        let mut player = AlphaBeta::new(machine, nature, Settings { bytes: 256 << 20, ..Settings::default() }, 1);
        let answer = player.search(&state, RoleId(0), &Limit::nodes(nodes));
        let (value, rate) = (answer.values[0], answer.nodes as f64 / begin.elapsed().as_secs_f64());
        println!("{game:24} {value:6.2} {:>8} {:12} {:8} {rate:10.0}", answer.proven, answer.nodes, answer.depth);
    }
}
