//! Scrambled games have the same canonical form, and are translated into each other exactly.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use gdl::Program;
use insight::canonical::{BUDGET, canonical, isomorphism, isomorphism_with};
use insight::same_rules;
use insight::scramble::{RoleOrder, scramble};
use machine::{Limits, Machine, Reference, RoleId};
use rand::SeedableRng;
use rand::seq::IndexedRandom;
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
    assert_eq!(canonical(&form.program, BUDGET).text, form.text, "{name}: its form is the form of its form");
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
fn a_hundred_forms_of_a_game_are_one() {
    let games = library();
    for name in ["nim-5", "minichess", "tic-tac-toe-inverted", "chinese-checkers", "prisoners-dilemma", "sudoku-4x4"] {
        let (name, game) = games.iter().find(|(path, _)| path.ends_with(&format!("/{name}/rules.kif"))).expect(name);
        check(name, game, 0..100);
    }
}

#[test]
fn a_scrambled_game_has_other_words() {
    let game = read(include_bytes!("../../../games/nim-5/rules.kif"));
    let scrambled = scramble(&game, RoleOrder::Kept, &mut Pcg64Mcg::seed_from_u64(1));
    assert!(!same_rules(&game, &scrambled.program));
    let new_name = |old: &str| {
        let found = scrambled.names.iter().find(|(symbol, _)| game.symbols.lower(*symbol) == old);
        found.expect("each name is listed").1.as_str()
    };
    let names: BTreeSet<String> = scrambled.names.iter().map(|(_, new)| new.to_ascii_lowercase()).collect();
    assert_eq!(names.len(), scrambled.names.len(), "no two names become one");
    for (old, new) in &scrambled.names {
        let is_value = ["0", "100"].contains(&game.symbols.lower(*old));
        assert_eq!(is_value, game.symbols.find(new).is_some(), "{new} is new, or a goal value");
        assert!(!gdl::keyword::ALL.contains(&new.as_str()));
    }
    let place = |role: &str| scrambled.text.find(&format!("(role {})", new_name(role))).expect("a role");
    assert!(place("left") < place("right"));
}

#[test]
fn a_role_can_be_chosen_where_roles_are_alike() {
    let game = read(
        b"(role red) (role blue) (role judge) (init (free red)) (init (free blue))
          (<= (legal ?r (take ?x)) (role ?r) (true (free ?x)))
          (<= (goal ?r 100) (role ?r) (distinct ?r judge)) (goal judge 0) (<= terminal (not (true (free red))))
          (<= terminal (not (true (free blue))))",
    );
    let scrambled = scramble(&game, RoleOrder::Shuffled, &mut Pcg64Mcg::seed_from_u64(3));
    let (form, other) = (canonical(&game, BUDGET), canonical(&scrambled.program, BUDGET));
    assert_eq!(form.symmetries().len(), 1);
    let symbol = |name: &str| game.symbols.find(name).expect(name);
    let image = |name: &str| {
        let (_, new) = scrambled.names.iter().find(|(old, _)| *old == symbol(name)).expect(name);
        scrambled.program.symbols.find(new).expect("a new name")
    };
    for (from, to) in [("red", "red"), ("red", "blue"), ("blue", "red"), ("blue", "blue"), ("judge", "judge")] {
        let mapping = isomorphism_with(&form, &other, symbol(from), image(to)).expect("they are alike");
        assert_eq!(mapping.name(symbol(from)), Some(image(to)));
        assert!(mapping.holds(&game, &scrambled.program));
    }
    assert_eq!(isomorphism_with(&form, &other, symbol("red"), image("judge")), None);
}

#[test]
fn a_form_that_was_too_hard_says_so_and_is_the_same_game() {
    let pairs = (0..20).flat_map(|i| (0..20).map(move |j| (i, j))).filter(|(i, j)| i != j);
    let beats: String = pairs.map(|(i, j)| format!("(beats n{i} n{j})")).collect();
    let game = read(
        format!("{beats} (role a) (<= (legal a ?x) (beats ?x ?y)) (<= (goal a 100) (role a)) (<= terminal (role a))")
            .as_bytes(),
    );
    let (form, exact) = (canonical(&game, 1), canonical(&game, BUDGET));
    assert!(form.too_hard.is_some() && exact.too_hard.is_none());
    assert_eq!(canonical(&form.program, BUDGET).text, exact.text);
}

#[test]
fn games_of_the_library_differ() {
    let mut known = BTreeMap::new();
    for (name, game) in library() {
        if let Some(other) = known.insert(canonical(&game, BUDGET).fingerprint, name.clone()) {
            panic!("{name} is {other}");
        }
    }
}

/// The law: along a random match, a game and its canonical form say the same.
fn check_play(name: &str, game: &Program, n_plies: usize) {
    let form = canonical(game, BUDGET);
    let original = |term: &str| {
        let spaced = term.replace('(', "( ").replace(')', " )");
        let word = |word: &str| match form.program.symbols.find(word) {
            Some(symbol) => game.symbols.lower(form.original(symbol)).to_owned(),
            None => word.to_owned(),
        };
        spaced.split(' ').map(word).collect::<Vec<_>>().join(" ").replace("( ", "(").replace(" )", ")")
    };
    let lower = |names: Vec<String>| names.iter().map(|name| name.to_ascii_lowercase()).collect::<BTreeSet<_>>();
    let machine = |program: &Program| Reference::new(Arc::new(program.clone()), Limits::default()).expect("a game");
    let (mut left, mut right) = (machine(game), machine(&form.program));
    let roles: Vec<RoleId> = left
        .roles()
        .iter()
        .map(|role| {
            right.roles().iter().position(|other| original(other) == role.to_ascii_lowercase()).expect("a role")
        })
        .map(|role| RoleId(role as u32))
        .collect();
    let mut states = (left.initial().expect("within limits"), right.initial().expect("within limits"));
    let mut rng = Pcg64Mcg::seed_from_u64(1);
    for ply in 0..=n_plies {
        let translated = right.fluents(&states.1).iter().map(|fluent| original(fluent)).collect();
        assert_eq!(lower(left.fluents(&states.0)), translated, "{name}, ply {ply}");
        let is_terminal = left.is_terminal(&states.0).expect("within limits");
        assert_eq!(is_terminal, right.is_terminal(&states.1).expect("within limits"), "{name}, ply {ply}");
        let (mut joint, mut other_joint) = (Vec::new(), BTreeMap::new());
        for (role, &other_role) in (0..).map(RoleId).zip(&roles) {
            let goals = left.goals(&states.0, role).expect("within limits");
            assert_eq!(goals, right.goals(&states.1, other_role).expect("within limits"), "{name}, ply {ply}");
            let (mut moves, mut others) = (Vec::new(), Vec::new());
            left.legal(&states.0, role, &mut moves).expect("within limits");
            right.legal(&states.1, other_role, &mut others).expect("within limits");
            let others: BTreeMap<String, _> =
                others.into_iter().map(|other| (original(&right.move_name(other)), other)).collect();
            assert_eq!(
                lower(moves.iter().map(|&legal| left.move_name(legal)).collect()),
                others.keys().cloned().collect()
            );
            if let Some(&chosen) = moves.choose(&mut rng) {
                joint.push(chosen);
                other_joint.insert(other_role, others[&left.move_name(chosen).to_ascii_lowercase()]);
            }
        }
        if is_terminal || joint.len() < roles.len() {
            break;
        }
        let other_joint: Vec<_> = other_joint.into_values().collect();
        states = (
            left.next(&states.0, &joint).expect("within limits"),
            right.next(&states.1, &other_joint).expect("within limits"),
        );
    }
}

#[test]
fn canonical_forms_play_the_same_game() {
    library().iter().for_each(|(name, game)| check_play(name, game, 3));
    for name in ["nim-5", "tic-tac-toe", "farmers", "kalaha", "blocker", "racetrack-corridor"] {
        let rules = std::fs::read(format!("{}/../../games/{name}/rules.kif", env!("CARGO_MANIFEST_DIR")));
        check_play(name, &read(&rules.expect("readable")), 200);
    }
}
