//! How many nodes it takes to solve a game from its start: `cargo run --release -p search --example solve -- GAME...`
//!
//! A game is one of the library or a file of rules; `--nodes N` bounds the search. Games with one role are solved by the search
//! for one role, others as `--by` says: `depth-first` (as usual) or `proof-number`, with a table of `--table MIB` and with the
//! game's symmetries unless `--plain` is given; or `alpha-beta`. `--moves` prints the line. With `--clock SECONDS`, games with one role are played: so many
//! seconds for each move, five matches with different seeds.

#![allow(clippy::print_stdout)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use machine::lanes;
use machine::network::Network;
use machine::scalar::{self, Scalar};
use search::alpha_beta::{AlphaBeta, Settings};
use search::proof::{Keys, Method, Solver};
use search::{Limit, Nature, Player, Solo, match_play, proof, solo};

fn main() {
    let (mut nodes, mut moves, mut games) = (20_000_000u64, false, Vec::new());
    let (mut clock, mut by, mut plain, mut table) = (None, Some(Method::DepthFirst), false, 256);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match &arg[..] {
            "--nodes" => nodes = args.next().and_then(|nodes| nodes.parse().ok()).expect("a number of nodes"),
            "--table" => table = args.next().and_then(|size| size.parse().ok()).expect("a size in MiB"),
            "--plain" => plain = true,
            "--by" => {
                by = match args.next().as_deref() {
                    Some("depth-first") => Some(Method::DepthFirst),
                    Some("proof-number") => Some(Method::ProofNumber),
                    Some("alpha-beta") => None,
                    other => panic!("no such method: {other:?}"),
                }
            }
            "--moves" => moves = true,
            "--clock" => clock = args.next().and_then(|seconds| seconds.parse().ok()).map(Duration::from_secs_f64),
            _ => games.push(arg),
        }
    }
    println!("{:24} {:>6} {:>7} {:>10} {:>6} {:>8}  why", "game", "value", "proven", "nodes", "moves", "seconds");
    for game in games {
        let library = format!("games/{game}/rules.kif");
        let bytes =
            std::fs::read(&library).or_else(|_| std::fs::read(&game)).expect("a game of the library, or a file");
        let program = gdl::read(&game, &bytes).program;
        let Ok(ground) = gdl::ground::ground(&program, &gdl::ground::Budget::default()) else {
            println!("{game:24} can't be grounded");
            continue;
        };
        let network = Arc::new(machine::network::build(ground.clone(), &gdl::Stop::never()).expect("it has a network"));
        let name = game.rsplit('/').next().unwrap_or(&game);
        match (clock, by) {
            (Some(clock), _) if network.roles.len() == 1 => play(name, &network, clock),
            (_, Some(method)) if network.roles.len() > 1 => {
                let compiled = scalar::Compiled::new(network.clone());
                let keys = if plain { Keys::default() } else { Keys::symmetric(&ground, &network, &compiled, 1) };
                let settings = proof::Settings { method, bytes: table << 20 };
                prove(
                    name,
                    Solver::new(Scalar::new(compiled), keys, machine::RoleId(0), &settings),
                    &network,
                    nodes,
                    moves,
                );
            }
            _ => solve(name, &network, nodes, moves),
        }
    }
}

fn prove(name: &str, mut solver: Solver, network: &Arc<Network>, nodes: u64, moves: bool) {
    let state = scalar::Compiled::new(network.clone()).initial().to_vec();
    let begin = Instant::now();
    let solution = solver.solve(&state, &Limit::nodes(nodes));
    let seconds = begin.elapsed().as_secs_f64();
    let value = match solution.value() {
        Some(value) => format!("{:.2}", value as f32 / 100.0),
        None => format!("{}..{}", solution.lower, solution.upper),
    };
    println!(
        "{name:24} {value:>6} {:>7} {:10} {:6} {seconds:8.2}  {}",
        solution.value().is_some(),
        solution.nodes,
        solution.line.len(),
        solution.stop.map_or("Solved".to_owned(), |stop| format!("{stop:?}"))
    );
    if moves {
        print_line(network, &solution.line);
    }
}

fn solve(name: &str, network: &Arc<Network>, nodes: u64, moves: bool) {
    let compiled = lanes::Compiled::new(network.clone());
    let machine = Scalar::new(scalar::Compiled::new(network.clone()));
    let state = machine.bits().to_vec();
    let begin = Instant::now();
    let mut player: Box<dyn Player> = if network.roles.len() == 1 {
        Box::new(Solo::new(&compiled, solo::Settings::default(), 1))
    } else {
        let nature = Arc::new(Nature::new(&compiled, 1));
        Box::new(AlphaBeta::new(machine, nature, Settings { bytes: 256 << 20, ..Settings::default() }, 1))
    };
    let answer = player.choose(&state, machine::RoleId(0), &Limit::nodes(nodes));
    let seconds = begin.elapsed().as_secs_f64();
    println!(
        "{name:24} {:6.2} {:>7} {:10} {:6} {seconds:8.2}  {:?}",
        answer.values[0], answer.proven, answer.nodes, answer.depth, answer.stop
    );
    if moves {
        print_line(network, &answer.line);
    }
}

fn print_line(network: &Network, line: &[Vec<u32>]) {
    for joint in line {
        let names: Vec<String> = joint.iter().map(|&chosen| network.name(network.moves[chosen as usize])).collect();
        println!("  {}", names.join("  "));
    }
}

fn play(name: &str, network: &Arc<Network>, clock: Duration) {
    let compiled = lanes::Compiled::new(network.clone());
    let mut machine = Scalar::new(scalar::Compiled::new(network.clone()));
    let mut goals = Vec::new();
    for seed in 1..=5 {
        let mut player = Solo::new(&compiled, solo::Settings::default(), seed);
        let played = match_play::play(&mut machine, &mut [&mut player], &[], 500, &mut |_, choose| {
            let end = Instant::now() + clock;
            choose(&Limit { nodes: u64::MAX, stop: &|| Instant::now() >= end })
        });
        goals.push(played.goals[0].map_or("none".to_owned(), |goal| goal.to_string()));
    }
    println!("{name:24} {}", goals.join(" "));
}
