//! The tables of `docs/features.md`: the features of games, one row each.
//!
//! ```text
//! cargo run --release -p features --example table                       the 33 games of the thesis, in default mode
//! cargo run --release -p features --example table -- --mode thesis      the same, as the thesis makes them
//!     --expanded 20000                                                  and no more than so many features expanded
//! cargo run --release -p features --example table -- --list hanoi       the chosen features of a game
//! ```

#![allow(clippy::print_stdout)]

use std::sync::Arc;
use std::time::Instant;

use features::compile::{Budget, compile};
use features::construct::{FeatureSet, Mode, Settings, construct};
use features::evaluate::{bulk, incremental};
use features::feature::Feature;
use features::game::Game;
use features::positions::{self, Positions, collect};
use machine::RoleId;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// The games of the thesis: our name, what it generated, how many were different and how many were selected (none where it
/// gave up), seconds of generation and selection, and microseconds per state.
type Row = (&'static str, u32, u32, Option<u32>, f64, u32);
#[rustfmt::skip]
const THESIS: [Row; 33] = [
    ("beatmania", 155, 79, Some(23), 1.24, 250),
    ("hanoi", 7, 7, Some(3), 0.02, 0),
    ("knightmove", 14, 14, Some(6), 0.72, 110),
    ("mummy-maze", 1010, 553, Some(7), 111.31, 2050),
    ("othello", 90, 60, Some(3), 25.81, 130),
    ("pancakes", 386, 325, Some(10), 1.46, 90),
    ("pentago", 20, 12, Some(1), 0.44, 0),
    ("quarto", 17, 12, Some(3), 0.17, 20),
    ("asteroids", 455, 274, Some(138), 16.14, 3830),
    ("blocker", 8510, 1964, Some(154), 109.36, 18410),
    ("bomberman", 3072, 1171, Some(122), 885.44, 17360),
    ("breakthrough", 14128, 4730, Some(133), 218.21, 8920),
    ("checkers-ggp", 5271, 2756, Some(632), 310.01, 21160),
    ("chinese-checkers", 48, 42, Some(25), 6.40, 1940),
    ("circle-solitaire", 243, 148, Some(123), 60.25, 19450),
    ("connect-four", 803, 273, Some(141), 45.57, 13120),
    ("crisscross", 953, 452, Some(122), 11.98, 2750),
    ("crossers3", 12330, 2871, Some(122), 121.99, 19680),
    ("eight-puzzle", 118016, 30184, Some(144), 542.35, 3430),
    ("ghostmaze", 9455, 3963, Some(78), 817.15, 19710),
    ("hallway", 1763, 630, Some(93), 161.86, 17730),
    ("incredible", 238, 129, Some(58), 3.22, 820),
    ("merrills", 43467, 13411, Some(189), 1281.16, 14440),
    ("pacman", 25634, 10541, Some(137), 1648.22, 14870),
    ("peg", 1591, 672, Some(20), 53.60, 690),
    ("racetrack-corridor", 1454, 649, Some(168), 32.98, 6280),
    ("tic-tac-toe", 640, 254, Some(151), 7.29, 1950),
    ("tic-tic-toe", 10831, 2838, Some(219), 95.14, 4570),
    ("wallmaze", 45778, 20308, Some(29), 737.13, 2670),
    ("blobwars", 391214, 111598, None, 1414.20, 0),
    ("endgame", 276769, 100317, None, 7736.25, 0),
    ("minichess", 284338, 104659, None, 2610.22, 0),
    ("skirmish", 350321, 137335, None, 5832.62, 0),
];

fn main() {
    let (mut mode, mut list, mut names) = (Mode::Default, false, Vec::new());
    let mut expanded = Settings::default().thesis_expanded;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--mode" => mode = if arguments.next().as_deref() == Some("thesis") { Mode::Thesis } else { Mode::Default },
            "--list" => list = true,
            "--expanded" => expanded = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(expanded),
            _ => names.push(argument),
        }
    }
    if names.is_empty() {
        names = THESIS.iter().map(|row| row.0.to_owned()).collect();
    }
    let ours = match mode {
        Mode::Default => "generated / unique / chosen | significant | s | µs in search | states/s in bulk |",
        Mode::Thesis => "generated / unique / selected | s | µs | by transformation | notes |",
    };
    println!("| game | thesis: generated / unique / selected | s | µs | {ours}");
    println!("|---|---|---|---|{}", "---|".repeat(ours.matches('|').count()));
    for name in names {
        match row(&name, mode, expanded, list) {
            Ok(row) => println!("{row}"),
            Err(why) => println!("| {name} | | | | {why} |"),
        }
    }
}

fn row(name: &str, mode: Mode, expanded: usize, list: bool) -> Result<String, String> {
    let path = format!("{}/../../games/{name}/rules.kif", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read(&path).map_err(|why| why.to_string())?;
    let (start, wall) = (seconds(), Instant::now());
    let game = Game::new(gdl::read(&path, &text).program, 1)?;
    let settings = match mode {
        Mode::Default => positions::Settings::default(),
        // Random play alone.
        Mode::Thesis => positions::Settings { levels: 1, ..positions::Settings::default() },
    };
    let collected = collect(&game, &settings, &mut |_| true);
    let settings = Settings { mode, thesis_expanded: expanded, threads: 2, ..Settings::default() };
    let set = construct(&game, &collected.positions, &settings, &mut |_| true)?;
    let used = match mode {
        Mode::Default => wall.elapsed().as_secs_f64(),
        Mode::Thesis => seconds() - start,
    };
    if list {
        print(&game, &set);
    }
    let (search, bulk) = cost(&game, &set, &collected.positions)?;
    let thesis = THESIS.iter().find(|row| row.0 == name).map_or("| | |".to_owned(), |row| {
        let selected = row.3.map_or("gave up".to_owned(), |selected| selected.to_string());
        let cost = row.3.map_or(String::new(), |_| row.5.to_string());
        format!("{} / {} / {selected} | {:.1} | {cost}", row.1, row.2, row.4)
    });
    let found = format!("{} / {} / {}", set.n_generated, set.n_unique, set.features.len());
    Ok(match mode {
        Mode::Default => {
            let n_significant = set.features.iter().filter(|selected| selected.significant).count();
            format!("| {name} | {thesis} | {found} | {n_significant} | {used:.1} | {search:.1} | {bulk:.0} |")
        }
        Mode::Thesis => {
            let by: Vec<String> = set.counts.iter().map(|(_, count)| count.to_string()).collect();
            let notes = set.stopped.join("; ");
            format!("| {name} | {thesis} | {found} | {used:.1} | {search:.1} | {} | {notes} |", by.join(" "))
        }
    })
}

/// The processor time of this thread in seconds, where the system tells it; otherwise the time of day.
fn seconds() -> f64 {
    let schedule = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let used = schedule.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    let now =
        || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0.0, |now| now.as_secs_f64());
    used.map_or_else(now, |nanoseconds| nanoseconds / 1e9)
}

fn print(game: &Game, set: &FeatureSet) {
    for selected in &set.features {
        let shown = selected.feature.display(&game.program.symbols).to_string();
        println!(
            "{:+.3}{} {:?} {}",
            selected.held_out.correlation,
            if selected.significant { "*" } else { " " },
            selected.origin,
            selected.sentence.clone().unwrap_or(shown),
        );
    }
    println!("{:?} {:?}", set.counts, set.stopped);
}

/// What the chosen features cost: microseconds for a state in search beyond the game itself, and states per second in bulk.
fn cost(game: &Game, set: &FeatureSet, positions: &Positions) -> Result<(f64, f64), String> {
    let features: Vec<Feature> = set.features.iter().map(|selected| selected.feature.clone()).collect();
    let compiled = compile(game, &features, &Budget::default())?;
    let states: Vec<Vec<u64>> =
        (0..positions.len().min(20_000)).map(|at| compiled.views.state(positions.state(at))).collect();
    // In search: random matches, each move made and taken back and made again.
    let mut values = incremental::Values::new(incremental::Compiled::new(&compiled.sums));
    let mut random = Pcg64Mcg::seed_from_u64(1);
    let (mut moves, mut n, mut check) = (Vec::new(), 0u32, 0i64);
    let start_state = values.machine().bits().to_vec();
    let start = seconds();
    while n < 2_000 || (n < 200_000 && (n % 64 > 2 || (seconds() - start) < 1.0)) {
        let roles = 0..game.universe.roles.len() as u32;
        let mut joint = Vec::new();
        for role in roles {
            moves.clear();
            values.machine().legal_moves(RoleId(role), &mut moves);
            if !moves.is_empty() {
                joint.push(moves[random.random_range(0..moves.len())]);
            }
        }
        if values.machine().terminal() || joint.len() < game.universe.roles.len() {
            values.jump(&start_state);
            n += 1;
            continue;
        }
        values.make(&joint);
        values.unmake();
        values.make(&joint);
        check += values.values().iter().map(|&value| i64::from(value)).sum::<i64>();
        n += 3;
    }
    let search = (seconds() - start) * 1e6 / f64::from(n);
    // In bulk.
    let mut bulk = bulk::Bulk::new(Arc::new(bulk::Compiled::new(&compiled.sums)));
    let states: Vec<&[u64]> = states.iter().map(Vec::as_slice).collect();
    let (mut n, mut all) = (0, Vec::new());
    let start = seconds();
    while (seconds() - start) < 0.5 {
        all.clear();
        bulk.values(&states, &mut all);
        n += states.len();
    }
    let rate = n as f64 / (seconds() - start);
    if check == i64::MIN {
        println!("{check}");
    }
    Ok((search, rate))
}
