//! Variants are found by their keys and named, whatever they are called; other games are not taken for variants.

use std::collections::BTreeSet;
use std::path::PathBuf;

use gdl::{Program, Relation};
use insight::scramble::{RoleOrder, scramble};
use insight::variant::Class::{self, *};
use insight::variant::{Subject, Variant, find, generate};
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

fn game(name: &str) -> Program {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../games").join(name).join("rules.kif");
    gdl::read(name, &std::fs::read(path).expect("a game of the library")).program
}

fn scrambled(game: &Program, seed: u64) -> Program {
    scramble(game, RoleOrder::Shuffled, &mut Pcg64Mcg::seed_from_u64(seed)).program
}

fn classes(variant: &Variant) -> Vec<Class> {
    let mut classes: Vec<Class> = variant.transformations.iter().map(|transformation| transformation.class).collect();
    classes.sort();
    classes
}

/// The differences between a game and a scrambled form of another, if they share keys.
fn compare(source: &Program, target: &Program, seed: u64) -> Option<Vec<Class>> {
    let (source, target) = (Subject::new(source), Subject::new(&scrambled(target, seed)));
    let found = find(&source, &target, None);
    assert!(share_keys(&source, &target) || found.is_none(), "variants share keys");
    found.map(|variant| classes(&variant))
}

fn share_keys(source: &Subject, target: &Subject) -> bool {
    let own = source.keys().own();
    target.keys().wanted().iter().any(|key| own.contains(key))
}

fn relation(game: &Program, name: &str, arity: u32) -> Relation {
    Relation { name: game.symbols.find(name).expect("a name of the game"), arity }
}

/// The families of the library: pairs of variants and their differences. No other two games are variants.
const FAMILIES: &[(&str, &str, &[Class])] = &[
    ("amazons", "amazons-10x10", &[BoardSize]),
    ("amazons", "amazons-6x6", &[BoardSize]),
    ("amazons-10x10", "amazons-6x6", &[BoardSize]),
    ("breakthrough", "breakthrough-6x6", &[BoardSize]),
    ("capture-go-3x3", "capture-go-4x4", &[BoardSize]),
    ("checkers", "checkers-5x5-4", &[BoardSize]),
    ("checkers", "checkers-5x5-5", &[BoardSize]),
    ("checkers-5x5-4", "checkers-5x5-5", &[NumMarkers]),
    ("connect-3-3x3", "connect-3-4x4", &[BoardSize]),
    ("connect-3-3x3", "connect-four", &[BoardSize, PathLength]),
    ("connect-3-3x3", "connect-four-5x4", &[BoardSize, PathLength]),
    ("connect-3-3x3", "connect-four-5x5", &[BoardSize, PathLength]),
    ("connect-3-3x3", "connect-four-6x5", &[BoardSize, PathLength]),
    ("connect-3-4x4", "connect-four", &[BoardSize, PathLength]),
    ("connect-3-4x4", "connect-four-5x4", &[BoardSize, PathLength]),
    ("connect-3-4x4", "connect-four-5x5", &[BoardSize, PathLength]),
    ("connect-3-4x4", "connect-four-6x5", &[BoardSize, PathLength]),
    ("connect-four", "connect-four-5x4", &[BoardSize]),
    ("connect-four", "connect-four-5x5", &[BoardSize]),
    ("connect-four", "connect-four-6x5", &[BoardSize]),
    ("connect-four-5x4", "connect-four-5x5", &[BoardSize]),
    ("connect-four-5x4", "connect-four-6x5", &[BoardSize]),
    ("connect-four-5x5", "connect-four-6x5", &[BoardSize]),
    ("go-5x5", "go-7x7", &[BoardSize, StepLimit]),
    ("gomoku", "gomoku-9", &[BoardSize]),
    ("hex-11", "hex-5", &[BoardSize]),
    ("hex-11", "hex-7", &[BoardSize]),
    ("hex-11", "hex-9", &[BoardSize]),
    ("hex-5", "hex-7", &[BoardSize]),
    ("hex-5", "hex-9", &[BoardSize]),
    ("hex-7", "hex-9", &[BoardSize]),
    ("minichess", "minichess-3x3", &[BoardSize, PathLength]),
    ("minichess", "minichess-5x5", &[BoardSize, PathLength]),
    ("minichess-3x3", "minichess-5x5", &[BoardSize, PathLength]),
    ("othello", "othello-6x6", &[BoardSize]),
    ("tic-tac-toe", "tic-tac-toe-inverted", &[InvertedGoal]),
    ("tron", "tron-6x6", &[BoardSize]),
];

#[test]
fn variants_of_the_library_are_recognised_in_both_directions() {
    for (seed, (one, other, expected)) in (0..).zip(FAMILIES) {
        assert_eq!(compare(&game(one), &game(other), seed).as_deref(), Some(*expected), "{one} -> {other}");
        assert_eq!(compare(&game(other), &game(one), seed).as_deref(), Some(*expected), "{other} -> {one}");
    }
}

/// The names of the library's games.
fn library() -> Vec<String> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../games");
    let entries = std::fs::read_dir(folder).expect("the library is there").map(|entry| entry.expect("readable"));
    let folders = entries.filter(|entry| entry.path().join("rules.kif").exists());
    let mut names: Vec<String> = folders.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn keys_do_not_depend_on_names() {
    for (seed, name) in (0..).zip(library()) {
        let game = game(&name);
        let (one, other) = (Subject::new(&game), Subject::new(&scrambled(&game, seed)));
        assert_eq!(one.keys().own(), other.keys().own(), "{name}");
        assert_eq!(one.keys().wanted(), other.keys().wanted(), "{name}");
    }
}

#[test]
fn no_other_games_of_the_library_are_variants() {
    let names = library();
    let games: Vec<Subject> = names.iter().map(|name| Subject::new(&game(name))).collect();
    let mut found: BTreeSet<(&str, &str)> = BTreeSet::new();
    for (i, one) in names.iter().enumerate() {
        for (j, other) in names.iter().enumerate().skip(i + 1) {
            let is_variant = share_keys(&games[i], &games[j]) && find(&games[i], &games[j], None).is_some();
            if is_variant {
                found.insert((one.as_str(), other.as_str()));
            }
        }
    }
    assert_eq!(found, FAMILIES.iter().map(|(one, other, _)| (*one, *other)).collect());
}

#[test]
fn goals_may_be_inverted() {
    for name in ["minichess", "connect-four", "breakthrough", "othello", "tron", "dots-and-boxes", "peg"] {
        let game = game(name);
        let inverted = generate::inverted_goal(&game).expect("goals can be inverted");
        assert_eq!(compare(&game, &inverted, 1).as_deref(), Some(&[InvertedGoal][..]), "{name}");
        assert_eq!(compare(&inverted, &game, 2).as_deref(), Some(&[InvertedGoal][..]), "{name}");
    }
}

#[test]
fn boards_may_have_other_sizes() {
    for (name, order, n_objects) in [
        ("minichess", "adjacent", 6),
        ("minichess", "nextcolumn", 3),
        ("othello", "next-row", 10),
        ("othello", "next-column", 6),
        ("breakthrough", "up", 11),
        ("connect-four", "succ", 9),
        ("lines-of-action", "up", 6),
        ("knightthrough", "up", 10),
    ] {
        let game = game(name);
        let resized = generate::resized(&game, relation(&game, order, 2), n_objects).expect("the order can be resized");
        assert_eq!(compare(&game, &resized, 3).as_deref(), Some(&[BoardSize][..]), "{name}, {order}");
        let inverted = generate::inverted_goal(&resized).expect("goals can be inverted");
        let expected = [BoardSize, InvertedGoal];
        assert_eq!(compare(&game, &inverted, 4).as_deref(), Some(&expected[..]), "{name}, {order}");
    }
}

#[test]
fn boards_may_be_closed() {
    for (name, orders, expected) in [
        ("minichess", &["nextcolumn"][..], Cylinder),
        ("minichess", &["nextcolumn", "adjacent"], Torus),
        ("othello", &["next-row"], Cylinder),
        ("breakthrough", &["right"], Cylinder),
        ("breakthrough", &["right", "up"], Torus),
        ("connect-four", &["succ"], Torus),
    ] {
        let game = game(name);
        let close =
            |open: Program, order: &&str| generate::closed(&open, relation(&open, order, 2)).expect("it is open");
        let closed = orders.iter().fold(game.clone(), close);
        assert_eq!(compare(&game, &closed, 5).as_deref(), Some(&[expected][..]), "{name}, {orders:?}");
        assert_eq!(compare(&closed, &game, 6).as_deref(), Some(&[expected][..]), "{name}, {orders:?}");
    }
}

#[test]
fn matches_may_end_later() {
    for name in ["minichess", "go-5x5", "eight-puzzle", "hallway", "farmers"] {
        let game = game(name);
        let longer = generate::later_limit(&game, 7).expect("there is a limit");
        assert_eq!(compare(&game, &longer, 7).as_deref(), Some(&[StepLimit][..]), "{name}");
        assert_eq!(compare(&longer, &game, 8).as_deref(), Some(&[StepLimit][..]), "{name}");
    }
}

#[test]
fn pieces_may_stand_elsewhere_or_be_fewer() {
    for name in ["minichess", "checkers-5x5-4", "chess", "breakthrough", "eight-puzzle", "lines-of-action"] {
        let game = game(name);
        let moved = generate::moved_piece(&game).expect("there are two markers");
        assert_eq!(compare(&game, &moved, 9).as_deref(), Some(&[PieceConfiguration][..]), "{name}");
        let fewer = generate::other_marker(&game).expect("there are two markers");
        assert_eq!(compare(&game, &fewer, 10).as_deref(), Some(&[NumMarkers][..]), "{name}");
    }
}

#[test]
fn features_may_be_missing() {
    for (name, functor, arity) in [("minichess", "step", 1), ("eight-puzzle", "step", 1), ("hallway", "walls", 2)] {
        let game = game(name);
        let less = generate::without_fluent(&game, relation(&game, functor, arity)).expect("it can be left out");
        assert_eq!(compare(&game, &less, 11).as_deref(), Some(&[MissingFeature][..]), "{name}");
        assert_eq!(compare(&less, &game, 12).as_deref(), Some(&[AddedFeature][..]), "{name}");
    }
}

#[test]
fn differences_add_up() {
    let game = game("minichess");
    let longer = generate::later_limit(&game, 5).expect("there is a limit");
    let closed = generate::closed(&longer, relation(&longer, "nextcolumn", 2)).expect("it is open");
    let moved = generate::moved_piece(&closed).expect("there are two markers");
    let inverted = generate::inverted_goal(&moved).expect("goals can be inverted");
    let expected = [PieceConfiguration, Cylinder, StepLimit, InvertedGoal];
    assert_eq!(compare(&game, &inverted, 13).as_deref(), Some(&expected[..]));
}

#[test]
fn players_may_change_places() {
    let game = game("minichess");
    let other = scramble(&game, RoleOrder::Kept, &mut Pcg64Mcg::seed_from_u64(14));
    let role = |name| game.symbols.find(name).expect("a role");
    let image = |name| {
        let (_, image) = other.names.iter().find(|(symbol, _)| *symbol == role(name)).expect("it has a new name");
        other.program.symbols.find(image).expect("it is used")
    };
    let (white, black) = (role("white"), role("black"));
    let (source, target) = (Subject::new(&game), Subject::new(&other.program));
    let same = find(&source, &target, Some((white, image("white")))).expect("the same game");
    assert_eq!((classes(&same), same.mapping.role(black)), (vec![UnusedRules], Some(image("black"))));
    let switched = find(&source, &target, Some((white, image("black")))).expect("the same game");
    assert_eq!(classes(&switched), [SwitchedRole]);
    // Where the rules treat both alike, nobody has to switch: the names follow the role.
    let pennies = self::game("prisoners-dilemma");
    let other = scrambled(&pennies, 15);
    let roles = |program: &Program| -> Vec<_> {
        let rules = program.rules.iter().filter(|rule| rule.head.name == gdl::keyword::ROLE);
        rules.filter_map(|rule| rule.head.args[0].functor()).map(|role| role.name).collect()
    };
    let (source, target) = (Subject::new(&pennies), Subject::new(&other));
    for &learned in &roles(&pennies) {
        for &assigned in &roles(&other) {
            let found = find(&source, &target, Some((learned, assigned))).expect("the same game");
            assert_eq!((classes(&found), found.mapping.role(learned)), (vec![UnusedRules], Some(assigned)));
        }
    }
}

/// A game that ends when there is a circle of six links, or two circles of three.
fn circles(links: &[(u32, u32)]) -> Program {
    let mut rules = String::from(
        "(role robot) (place 1) (place 2) (place 3) (init (step 1))
        (<= (legal robot (link ?x ?y)) (place ?x) (place ?y)) (legal robot wait)
        (<= (next (linked ?x ?y)) (does robot (link ?x ?y))) (<= (next (linked ?x ?y)) (true (linked ?x ?y)))
        (<= (next (step 1)) (true (step 1))) (<= (goal robot 100) closed) (<= (goal robot 0) (not closed))
        (<= terminal closed) (<= closed",
    );
    links.iter().for_each(|(x, y)| rules.push_str(&format!(" (true (linked ?v{x} ?v{y}))")));
    rules.push(')');
    gdl::read("circles", rules.as_bytes()).program
}

#[test]
fn rules_that_only_look_alike_make_no_variant() {
    let six = circles(&[(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0)]);
    let again = circles(&[(3, 1), (0, 4), (1, 5), (5, 0), (2, 3), (4, 2)]);
    let two = circles(&[(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)]);
    let [six, again, two] = [six, again, two].map(|program| Subject::new(&program));
    assert!(find(&six, &again, None).is_some(), "the same game in another order");
    assert!(find(&six, &two, None).is_none(), "another game");
}
