//! Scrambled games have the same canonical form, and are translated into each other exactly.

use std::path::PathBuf;

use gdl::Program;
use insight::canonical::{BUDGET, canonical, isomorphism};
use insight::same_rules;
use insight::scramble::{RoleOrder, scramble};
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

fn library() -> Vec<(String, Program)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../games");
    let mut games: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the library is there")
        .map(|entry| entry.expect("a readable entry").path().join("rules.kif"))
        .filter(|path| path.exists())
        .collect();
    games.sort();
    games.iter().map(|path| (path.display().to_string(), read(&std::fs::read(path).expect("readable")))).collect()
}

fn read(rules: &[u8]) -> Program {
    let reading = gdl::read("test", rules);
    assert!(!reading.has_errors());
    reading.program
}

/// The law, for some scrambled forms of a game.
fn check(name: &str, game: &Program, seeds: std::ops::Range<u64>) {
    let form = canonical(game, BUDGET);
    assert_eq!(form.too_hard, None, "{name}");
    for seed in seeds {
        let roles = if seed % 2 == 0 { RoleOrder::Shuffled } else { RoleOrder::Kept };
        let scrambled = scramble(game, roles, &mut Pcg64Mcg::seed_from_u64(seed));
        let other = canonical(&scrambled.program, BUDGET);
        assert_eq!(form.text, other.text, "{name}, seed {seed}");
        assert_eq!(form.fingerprint, other.fingerprint, "{name}, seed {seed}");
        let there = isomorphism(&form, &other).expect("the forms are equal");
        assert!(same_rules(&there.apply(game, &scrambled.program), &scrambled.program), "{name}, seed {seed}");
        let back = isomorphism(&other, &form).expect("the forms are equal");
        assert!(same_rules(&back.apply(&scrambled.program, game), game), "{name}, seed {seed}");
    }
}

#[test]
fn every_game_of_the_library_is_recognised() {
    let games = library();
    assert!(games.len() >= 90);
    games.iter().for_each(|(name, game)| check(name, game, 0..3));
}

#[test]
fn games_of_the_library_differ() {
    let mut known = std::collections::BTreeMap::new();
    for (name, game) in library() {
        if let Some(other) = known.insert(canonical(&game, BUDGET).fingerprint, name.clone()) {
            panic!("{name} is {other}");
        }
    }
}
