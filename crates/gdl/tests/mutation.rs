//! The laws for texts on damaged games: a short and repeatable version of what the fuzzer does.

mod laws;
#[path = "laws/mutate.rs"]
mod mutate;

use gdl::{Form, Source};
use mutate::{Random, mutate};

#[test]
fn damaged_games_can_be_read_and_printed() {
    let games = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../games");
    for (number, name) in ["tic-tac-toe", "nim-5", "hamilton", "sudoku-4x4", "matching-pennies"].iter().enumerate() {
        let text = std::fs::read_to_string(games.join(name).join("rules.kif")).expect("a library game");
        laws::text(text.as_bytes());
        let (tree, _) = gdl::parse(&Source::new("game", text));
        for (form, seed) in [(Form::Kif, 0), (Form::Infix, 1000)] {
            let text = gdl::print(&tree, form);
            let mut random = Random::new(seed + number as u64);
            for _ in 0..200 {
                laws::text(mutate(&text, &mut random).as_bytes());
            }
        }
    }
}

#[test]
fn odd_bytes_can_be_read_and_printed() {
    let mut random = Random::new(7);
    for _ in 0..2000 {
        let letters = b"(()) ?xp<=.:-~&|,'_%;\n\xc3\xa9\xffA";
        let bytes: Vec<u8> = (0..random.below(40)).map(|_| letters[random.below(letters.len())]).collect();
        laws::text(&bytes);
    }
}

/// What fuzzers found once.
#[test]
fn found_texts_keep_the_law() {
    laws::text(b"(role a)(distinct (p (?x ?y)) b)(does a () (not b))");
}
