//! The laws for analysis and features on damaged games: a short and repeatable version of what the fuzzer does.

mod laws;
#[path = "../../gdl/tests/laws/mutate.rs"]
mod mutate;

use mutate::{Random, mutate};

/// Damaged copies of small games of the library; how many of them a law has something to say about.
fn damaged(n: usize, law: impl Fn(&str, u64) -> bool) -> usize {
    let games = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../games");
    let mut n_done = 0;
    for (number, name) in ["tic-tac-toe", "nim-5", "matching-pennies", "water-jugs"].iter().enumerate() {
        let text = std::fs::read_to_string(games.join(name).join("rules.kif")).expect("a library game");
        let (tree, _) = gdl::parse(&gdl::Source::new("game", text));
        let text = gdl::print(&tree, gdl::Form::Kif);
        let mut random = Random::new(number as u64);
        for _ in 0..n {
            let changed = mutate(&text, &mut random);
            n_done += usize::from(law(&changed, random.below(256) as u64));
        }
    }
    n_done
}

#[test]
fn damaged_games_are_analysed_or_refused() {
    assert!(damaged(100, laws::analysis) >= 40);
}

#[test]
fn features_of_damaged_games_are_found_or_not() {
    assert!(damaged(40, laws::features) >= 4);
}
