//! The law for engines on damaged games: a short and repeatable version of what the fuzzer does.

#[path = "../../gdl/tests/oracle/generate.rs"]
mod generate;
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

/// Rules on which engines have differed.
#[test]
fn engines_agree_on_what_was_found() {
    let frame = "(role r) (legal r go) (init (f a)) (init (g b)) (<= (next ?x) (true ?x)) (<= terminal (true stop))";
    for goals in [
        "(<= (goal r 100) (not (distinct ?x ?y)))",
        "(<= (goal r 100) (not (distinct ?x ?x)))",
        "(<= (goal r 100) (true (f ?x)) (not (distinct ?x ?y)))",
        "(<= (goal r 100) (not (not (true (f ?x)))) (not (not (true (g ?x)))))",
        "(<= (goal r 100) (not (or (not (true (f ?x))) (not (true (g ?x))))))",
        "(<= terminal (does r go)) (legal r stay)",
        "(<= (goal r 100) (does r stay)) (<= (legal r stay) (true (f a)))",
        "(<= (legal r stay) (not (moved))) (<= (moved) (does r ?x))",
    ] {
        assert!(laws::game(&format!("{frame} {goals} (<= (goal r 0) (not (goal r 100)))"), &[0]), "{goals}");
    }
}

#[test]
fn engines_agree_on_generated_games() {
    let mut random = Random::new(1);
    let mut n_compared = 0;
    for _ in 0..400 {
        let mut chunk = || (0..random.below(48)).map(|_| random.below(256) as u8).collect::<Vec<u8>>();
        let n_rules = 1 + chunk().len() % 20;
        let chunks: Vec<Vec<u8>> = (0..n_rules).map(|_| chunk()).collect();
        n_compared += usize::from(laws::game(&generate::game(&chunks), &chunk()));
    }
    assert!(n_compared >= 100, "only {n_compared} generated games could be played");
}
