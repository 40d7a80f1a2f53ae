//! How fast the searches are: `cargo run --release -p search --example speed -- GAME...`. One second of each from the start of the
//! game, in time on the processor where the system tells it. "late": how long after its deadline of 0.1 s a search came back.

#![allow(clippy::print_stdout)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use machine::RoleId;
use machine::lanes::{self, Lanes};
use machine::scalar::{self, Scalar};
use search::{AlphaBeta, Answer, Limit, Nature, Uct, alpha_beta, uct};

fn main() {
    println!(
        "{:20} {:>12} {:>12} {:>6} {:>8} {:>12} {:>6} {:>8}",
        "game", "playouts/s", "states/s", "depth", "late ms", "nodes/s", "depth", "late ms"
    );
    for game in std::env::args().skip(1) {
        let bytes = std::fs::read(format!("games/{game}/rules.kif")).expect("the library has the game");
        let reading = gdl::read(&game, &bytes);
        let ground =
            gdl::ground::ground(&reading.program, &gdl::ground::Budget::default()).expect("it can be grounded");
        let network = Arc::new(machine::network::build(ground).expect("it has a network"));
        let compiled = lanes::Compiled::new(network.clone());
        let state = Lanes::new(compiled.clone()).store(0);
        let nature = Arc::new(Nature::new(&compiled, 1));
        let machine = scalar::Compiled::new(network);
        let mut tree = Uct::new(compiled, uct::Settings::default(), 1);
        let mut alpha_beta = AlphaBeta::new(Scalar::new(machine), nature, alpha_beta::Settings::default(), 1);
        let role = RoleId(
            (0..).find(|&role| tree.search(&state, &Limit::nodes(1)).moves[role as usize].len() > 1).unwrap_or(0),
        );
        let (_, _, late) = measure(0.1, |limit| tree.search(&state, limit));
        let (answer, cpu, _) = measure(1.0, |limit| tree.search(&state, limit));
        print!(
            "{game:20} {:12.0} {:12.0} {:6} {:8.2}",
            answer.playouts as f64 / cpu,
            answer.nodes as f64 / cpu,
            answer.depth,
            1e3 * late
        );
        let (_, _, late) = measure(0.1, |limit| alpha_beta.search(&state, role, limit));
        let (answer, cpu, _) = measure(1.0, |limit| alpha_beta.search(&state, role, limit));
        println!(" {:12.0} {:6} {:8.2}", answer.nodes as f64 / cpu, answer.depth, 1e3 * late);
    }
}

/// A search of so many seconds: its answer, seconds on the processor, and seconds after the deadline.
fn measure(seconds: f64, mut search: impl FnMut(&Limit) -> Answer) -> (Answer, f64, f64) {
    let (begin, before) = (Instant::now(), on_processor());
    let end = begin + Duration::from_secs_f64(seconds);
    let answer = search(&Limit { nodes: u64::MAX, stop: &|| Instant::now() >= end });
    let (now, after) = (Instant::now(), on_processor());
    let cpu = before.zip(after).map_or(now - begin, |(before, after)| after - before);
    (answer, cpu.as_secs_f64(), now.saturating_duration_since(end).as_secs_f64())
}

/// The time that this process has been on a processor, where Linux tells it.
fn on_processor() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/self/schedstat").ok()?;
    Some(Duration::from_nanos(text.split_whitespace().next()?.parse().ok()?))
}
