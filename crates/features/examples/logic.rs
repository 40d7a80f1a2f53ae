//! Lists the logical features of games that say most about the results of played positions:
//! `cargo run --release -p features --example logic -- [--top N] GAME ...`

#![allow(clippy::print_stdout)]

use std::time::Instant;

use features::columns::Columns;
use features::game::{Game, Views};
use features::logic::best_first::{Budget, Materials, generate};
use features::positions::{Positions, Settings, collect};
use features::split::Split;

fn main() {
    let mut names: Vec<String> = std::env::args().skip(1).collect();
    let mut top = 0;
    if names.first().is_some_and(|name| name == "--top") {
        top = names.get(1).and_then(|n| n.parse().ok()).unwrap_or(20);
        names.drain(..2);
    }
    println!("game | prepare s | positions | generate s | unique | kept | held-out |r| > 0.05 | best |r| | stopped");
    for name in names {
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
        let views = Views::new(&game).expect("what it grounds to has views");
        let prepared = start.elapsed().as_secs_f64();
        let settings = Settings { positions: 6_000, ..Settings::default() };
        let positions = collect(&game, &settings, &mut |_| true).positions.without_terminal();
        let [train, _, held_out] = Split::default().parts(&game, &positions);
        let mut columns = Columns::new(&game, &views, &train.views());
        let start = Instant::now();
        let materials = Materials::new(&game, &views);
        let mut tells = |values: &[i32]| evidence(&train, values);
        let outcome = generate(&materials, &mut columns, &mut tells, &Budget::default(), &mut |_| true);
        let seconds = start.elapsed().as_secs_f64();
        let mut columns = Columns::new(&game, &views, &held_out.views());
        let mut shown: Vec<(f64, f64, usize)> = Vec::new();
        for (at, found) in outcome.found.iter().enumerate() {
            if let Some(values) = columns.values(&found.feature) {
                shown.push((evidence(&held_out, &values), found.evidence, at));
            }
        }
        shown.sort_by(|a, b| b.1.total_cmp(&a.1));
        let n_good = shown.iter().filter(|(held_out, ..)| *held_out > 0.05).count();
        println!(
            "{name} | {prepared:.1} | {} | {seconds:.1} | {} | {} | {n_good} | {:.2} | {} ({} expanded, {} without values, {:.1e} work) {:?}",
            train.len(),
            outcome.n_unique,
            outcome.found.len(),
            shown.first().map_or(0.0, |first| first.0),
            outcome.stop,
            outcome.n_expanded,
            outcome.n_without_values,
            outcome.work as f64,
            outcome.counts,
        );
        for (held_out, train, at) in shown.iter().take(top) {
            let found = &outcome.found[*at];
            println!("  {train:.3} {held_out:.3} {} {}", found.by, found.feature.display(&game.program.symbols));
        }
    }
}

/// The greatest correlation with a role's result, without its sign.
fn evidence(positions: &Positions, values: &[i32]) -> f64 {
    let mut most: f64 = 0.0;
    for role in 0..positions.n_roles {
        let pairs = values
            .iter()
            .enumerate()
            .filter_map(|(at, &value)| positions.result(at, role).map(|result| (f64::from(value), f64::from(result))));
        let (mut n, mut x, mut y, mut xx, mut yy, mut xy) = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0);
        for (value, result) in pairs {
            n += 1.0;
            x += value;
            y += result;
            xx += value * value;
            yy += result * result;
            xy += value * result;
        }
        let spread = (n * xx - x * x) * (n * yy - y * y);
        if spread > 0.0 {
            most = most.max(((n * xy - x * y) / spread.sqrt()).abs());
        }
    }
    most
}
