//! What the memory says about games that come in scrambled.

use std::path::PathBuf;

use arena::{Recognition, Store, meet, recognize, refresh, remember, seed};
use gdl::Program;
use insight::scramble::{RoleOrder, scramble};
use insight::variant::{Class, generate};
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

const KNOWN: [&str; 9] = [
    "blocks-world",
    "breakthrough",
    "checkers",
    "chess",
    "connect-four",
    "hex-7",
    "minichess",
    "othello",
    "tic-tac-toe",
];

fn text(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../games").join(name).join("rules.kif");
    std::fs::read_to_string(path).expect("a game of the library")
}

fn game(name: &str) -> Program {
    gdl::read(name, text(name).as_bytes()).program
}

fn store() -> Store {
    let mut store = Store::in_memory().expect("memory is enough");
    let library: Vec<(&str, String)> = KNOWN.iter().map(|&name| (name, text(name))).collect();
    let library = library.iter().map(|(name, rules)| (*name, rules.as_str()));
    assert_eq!(seed(&mut store, library.clone(), 1).expect("written"), KNOWN.len());
    assert_eq!(seed(&mut store, library, 2).expect("read"), 0, "once is enough");
    store
}

fn scrambled(program: &Program, seed: u64) -> Program {
    scramble(program, RoleOrder::Shuffled, &mut Pcg64Mcg::seed_from_u64(seed)).program
}

#[test]
fn known_games_are_recognised_under_other_names() {
    let store = store();
    let roles = |program: &Program| -> Vec<_> {
        let rules = program.rules.iter().filter(|rule| rule.head.name == gdl::keyword::ROLE);
        rules.filter_map(|rule| rule.head.args[0].functor()).map(|role| role.name).collect()
    };
    for (seed, name) in (0..).zip(KNOWN) {
        let met = meet(scrambled(&game(name), seed));
        let Recognition::Exact(known) = recognize(&store, &met).expect("read") else { panic!("{name}") };
        assert_eq!((known.of.name.as_str(), known.of.met_at), (name, 1));
        let images = roles(&known.program).into_iter().map(|role| known.mapping.role(role).expect("it has an image"));
        let (mut images, mut expected) = (images.collect::<Vec<_>>(), roles(&met.program));
        images.sort_unstable();
        expected.sort_unstable();
        assert_eq!(images, expected, "{name}");
    }
}

#[test]
fn variants_come_with_their_differences_the_fewest_first() {
    let mut store = store();
    let inverted = generate::inverted_goal(&game("hex-5")).expect("goals can be inverted");
    let met = meet(scrambled(&inverted, 1));
    let classes = |store: &Store| -> Vec<(String, Vec<Class>)> {
        let Recognition::Variants(found) = recognize(store, &met).expect("read") else { panic!("no variants") };
        let classes = |related: &arena::Related| related.transformations.iter().map(|change| change.class).collect();
        found.iter().map(|related| (related.of.name.clone(), classes(related))).collect()
    };
    let far = ("hex-7".to_owned(), vec![Class::BoardSize, Class::InvertedGoal]);
    assert_eq!(classes(&store), std::slice::from_ref(&far));
    remember(&mut store, &meet(game("hex-5")), "zz", &text("hex-5"), 3).expect("written");
    assert_eq!(classes(&store), [("zz".to_owned(), vec![Class::InvertedGoal]), far]);
}

#[test]
fn similar_games_come_with_their_scores() {
    let store = store();
    let Recognition::Similar(found) = recognize(&store, &meet(game("english-draughts"))).expect("read") else {
        panic!("nothing similar")
    };
    assert_eq!(found[0].of.name, "checkers");
    assert!(found[0].similarity.score > 0.9, "{}", found[0].similarity.score);
    let unknown = recognize(&store, &meet(game("farmers"))).expect("read");
    assert!(matches!(unknown, Recognition::Unknown));
}

#[test]
fn games_of_an_older_version_get_new_keys() {
    let mut store = store();
    let met = meet(game("nim-5"));
    let mut old = met.to_game("nim-5", &text("nim-5"), 4);
    (old.fingerprint, old.index.version) = (12, 0);
    old.index.keys.clear();
    store.remember(&old).expect("written");
    assert!(!matches!(recognize(&store, &met).expect("read"), Recognition::Exact(_)));
    assert_eq!((refresh(&mut store).expect("written"), refresh(&mut store).expect("read")), (1, 0));
    assert!(matches!(recognize(&store, &met).expect("read"), Recognition::Exact(known) if known.of.met_at == 4));
}
