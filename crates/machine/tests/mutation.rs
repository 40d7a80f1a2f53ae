//! The law for engines on damaged games: a short and repeatable version of what the fuzzer does.

mod laws;
#[path = "../../gdl/tests/laws/mutate.rs"]
mod mutate;

use mutate::{Random, mutate};

#[test]
fn engines_agree_on_damaged_games() {
    let games = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../games");
    let mut n_compared = 0;
    for (number, name) in ["tic-tac-toe", "nim-5", "hamilton", "matching-pennies", "water-jugs"].iter().enumerate() {
        let text = std::fs::read_to_string(games.join(name).join("rules.kif")).expect("a library game");
        let (tree, _) = gdl::parse(&gdl::Source::new("game", text));
        let text = gdl::print(&tree, gdl::Form::Kif);
        let mut random = Random::new(number as u64);
        for _ in 0..500 {
            let changed = mutate(&text, &mut random);
            n_compared += usize::from(laws::game(&changed, &[random.below(256) as u8, 3, 1, 4]));
        }
    }
    assert!(n_compared >= 500, "only {n_compared} damaged games could be played");
}
