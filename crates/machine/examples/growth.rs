//! How cost grows with the board: compile time, gates and speed of three library games on larger and larger boards.
//!
//! The rules are those of the library; only the facts that describe the board are written anew. Prints a table in
//! Markdown: `cargo run --release -p machine --example growth`.

#![allow(clippy::print_stdout)]

use std::fmt::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use machine::lanes::{self, LANES, Lanes};
use machine::scalar::{self, Scalar};
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

const CONNECT_FOUR: &str = include_str!("../../../games/connect-four/rules.kif");
const BREAKTHROUGH: &str = include_str!("../../../games/breakthrough/rules.kif");
const OTHELLO: &str = include_str!("../../../games/othello/rules.kif");

fn main() {
    println!(
        "| game | board | ground s | network s | fluents | moves | gates | ops | scalar states/s | lanes states/s |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for (width, height) in [(7, 6), (8, 8), (10, 10), (12, 12), (14, 12)] {
        measure("Connect Four", &format!("{width}x{height}"), &connect_four(width, height));
    }
    for size in [6, 7, 8, 9, 10] {
        measure("Breakthrough", &format!("{size}x{size}"), &breakthrough(size));
    }
    for size in [6, 8, 10] {
        measure("Othello", &format!("{size}x{size}"), &othello(size));
    }
}

/// The rules without the facts of some relations, and without the initial state.
fn without(rules: &str, relations: &[&str]) -> String {
    let (tree, _) = gdl::parse(&gdl::Source::new("rules", rules));
    let keep = |&&root: &&gdl::ast::NodeId| {
        let head = tree.head(root).map(|name| tree.symbols.name(name));
        !head.is_some_and(|head| relations.contains(&head))
    };
    tree.roots.iter().filter(keep).fold(String::new(), |text, &root| text + &rules[tree.span(root).range()] + "\n")
}

fn succ(text: &mut String, relation: &str, names: &[String]) {
    for pair in names.windows(2) {
        writeln!(text, "({relation} {} {})", pair[0], pair[1]).expect("writing to a string");
    }
}

fn numbers(from: usize, to: usize) -> Vec<String> {
    (from..=to).map(|number| number.to_string()).collect()
}

fn letters(n: usize) -> Vec<String> {
    (0..n).map(|index| char::from(b'a' + index as u8).to_string()).collect()
}

fn connect_four(width: usize, height: usize) -> String {
    let mut text = without(CONNECT_FOUR, &["column", "row", "succ"]).replace("?x 6 b", &format!("?x {height} b"));
    succ(&mut text, "succ", &numbers(1, width.max(height)));
    numbers(1, width).iter().for_each(|x| writeln!(text, "(column {x})").expect("writing to a string"));
    numbers(1, height).iter().for_each(|y| writeln!(text, "(row {y})").expect("writing to a string"));
    text
}

fn breakthrough(size: usize) -> String {
    let mut text = without(BREAKTHROUGH, &["right", "up", "column", "home", "no_mans_land", "far_row"]);
    succ(&mut text, "right", &letters(size));
    succ(&mut text, "up", &numbers(1, size));
    letters(size).iter().for_each(|x| writeln!(text, "(column {x})").expect("writing to a string"));
    numbers(3, size - 2).iter().for_each(|y| writeln!(text, "(no_mans_land {y})").expect("writing to a string"));
    writeln!(text, "(home white 1)(home white 2)(home black {})(home black {size})", size - 1)
        .expect("writing to a string");
    writeln!(text, "(far_row white {size})(far_row black 1)").expect("writing to a string");
    text
}

fn othello(size: usize) -> String {
    let (columns, rows) = (letters(size), numbers(1, size));
    let last = &columns[size - 1];
    let mut text = without(OTHELLO, &["init", "next-column", "next-row", "succ", "after"])
        .replace("(count ?p h 8 ?n)", &format!("(count ?p {last} {size} ?n)"));
    succ(&mut text, "next-column", &columns);
    succ(&mut text, "next-row", &rows);
    succ(&mut text, "succ", &numbers(0, size * size));
    let squares: Vec<String> =
        rows.iter().flat_map(|row| columns.iter().map(move |column| format!("{column} {row}"))).collect();
    succ(&mut text, "after", &squares);
    let middle = size / 2;
    for (index, square) in squares.iter().enumerate() {
        let (x, y) = (index % size + 1, index / size + 1);
        let in_middle = (middle..=middle + 1).contains(&x) && (middle..=middle + 1).contains(&y);
        let content = if !in_middle {
            "empty"
        } else if x == y {
            "white"
        } else {
            "black"
        };
        writeln!(text, "(init (cell {square} {content}))").expect("writing to a string");
    }
    text + "(init (control black))"
}

fn measure(game: &str, board: &str, rules: &str) {
    let (tree, _) = gdl::parse(&gdl::Source::new("rules", rules));
    let start = Instant::now();
    let ground = gdl::ground::ground(&gdl::resolve(&tree).0, &gdl::ground::Budget::default()).expect("it grounds");
    let ground_seconds = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let network = Arc::new(machine::network::build(ground, &gdl::Stop::never()).expect("it makes a network"));
    let network_seconds = start.elapsed().as_secs_f64();
    let compiled = lanes::Compiled::new(network.clone());
    let ops: usize = compiled.n_ops().iter().sum();
    let (mut scalar, mut lanes) = (Scalar::new(scalar::Compiled::new(network.clone())), Lanes::new(compiled));
    let mut rng = Pcg64Mcg::seed_from_u64(1);
    let scalar_speed = speed(|| u64::from(scalar.random_match(&mut rng, 1000).0));
    let (mut random, mut plies) = (lanes::random(1), [0; LANES]);
    let lanes_speed = speed(|| lanes.playouts(&mut random, &mut plies, 1000, 5_000).n_states);
    println!(
        "| {game} | {board} | {ground_seconds:.3} | {network_seconds:.3} | {} | {} | {} | {ops} | {scalar_speed:.0} | {lanes_speed:.0} |",
        network.fluents.len(),
        network.moves.len(),
        network.n_gates(),
    );
}

/// States per second: the best of five short runs.
fn speed(mut run: impl FnMut() -> u64) -> f64 {
    let once = |run: &mut dyn FnMut() -> u64| {
        let (start, mut states) = (Instant::now(), 0);
        while start.elapsed() < Duration::from_millis(200) {
            states += run();
        }
        states as f64 / start.elapsed().as_secs_f64()
    };
    (0..5).map(|_| once(&mut run)).fold(0.0, f64::max)
}
