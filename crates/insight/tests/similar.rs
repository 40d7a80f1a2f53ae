//! Games that share rules are found by their sketches and compared rule by rule, whatever they are called.

use std::path::PathBuf;

use gdl::Program;
use insight::canonical::{BUDGET, Canonical, canonical};
use insight::scramble::{RoleOrder, scramble};
use insight::similar::{self, Form, Similarity, Sketch};
use insight::variant::generate;
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

struct Game {
    program: Program,
    form: Canonical,
}

impl Game {
    fn new(program: Program) -> Game {
        Game { form: canonical(&program, BUDGET), program }
    }

    fn library(name: &str) -> Game {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../games").join(name).join("rules.kif");
        Game::new(gdl::read(name, &std::fs::read(path).expect("a game of the library")).program)
    }

    fn scrambled(&self, seed: u64) -> Game {
        Game::new(scramble(&self.program, RoleOrder::Shuffled, &mut Pcg64Mcg::seed_from_u64(seed)).program)
    }

    fn form(&self) -> Form<'_> {
        Form { program: &self.program, canonical: &self.form }
    }
}

fn compare(one: &Game, other: &Game) -> Similarity {
    similar::compare(one.form(), other.form(), similar::BUDGET)
}

#[test]
fn a_game_is_like_itself_under_other_names() {
    for name in ["nim-5", "tic-tac-toe", "minichess", "checkers", "chess", "prisoners-dilemma"] {
        let game = Game::library(name);
        let other = game.scrambled(1);
        let found = compare(&game, &other);
        assert_eq!(found.score, 1.0, "{name}");
        assert!(found.changed.is_empty() && found.missing.is_empty() && found.added.is_empty(), "{name}");
        assert_eq!(Sketch::new(&game.program), Sketch::new(&other.program), "{name}");
    }
}

#[test]
fn relatives_share_rules_and_strangers_few() {
    for (one, other, least, most) in [
        ("minichess", "minichess-3x3", 0.9, 1.0),
        ("checkers", "english-draughts", 0.9, 1.0),
        ("othello", "nothello", 0.9, 0.97),
        ("hallway", "hallway-8x8", 0.75, 0.9),
        ("breakthrough", "knightthrough", 0.7, 0.9),
        ("tic-tac-toe", "tic-tac-toe-large", 0.5, 0.7),
        ("tic-tac-toe", "chess", 0.0, 0.25),
        ("hex-5", "peg", 0.0, 0.3),
        ("farmers", "hanoi", 0.0, 0.3),
    ] {
        let (game, relative) = (Game::library(one), Game::library(other));
        let found = compare(&game, &relative);
        assert!((least..=most).contains(&found.score), "{one}, {other}: {}", found.score);
        // What anything is called makes no difference.
        assert_eq!(compare(&game, &relative.scrambled(2)).score, found.score, "{one}, {other}");
        assert_eq!(compare(&game.scrambled(3), &relative).score, found.score, "{one}, {other}");
    }
}

#[test]
fn the_report_names_rules() {
    let read = |text: &str| Game::new(gdl::read("test", text.as_bytes()).program);
    let text = "(role white) (role black) (init (heap 3)) (init (turn white))
        (less 0 1) (less 1 2) (less 2 3)
        (<= (legal ?r take) (true (turn ?r)) (true (heap ?n)) (distinct ?n 0))
        (<= (legal ?r wait) (role ?r) (not (true (turn ?r))))
        (<= (next (heap ?m)) (true (heap ?n)) (less ?m ?n))
        (<= (next (turn white)) (true (turn black)))
        (<= (next (turn black)) (true (turn white)))
        (<= terminal (true (heap 0)))
        (<= (goal ?r 100) (true (turn ?r)))
        (<= (goal ?r 0) (role ?r) (not (true (turn ?r))))";
    let game = read(text);
    let changed = read(&text.replace("(<= (legal ?r wait) (role ?r)", "(<= (legal ?r wait)"));
    let found = compare(&game, &changed);
    let rule = |line: &str| {
        let is_it = |rule: &gdl::program::Rule| text[rule.span.range()].starts_with(line);
        gdl::program::RuleId(game.program.rules.iter().position(is_it).expect("a rule") as u32)
    };
    let expected = rule("(<= (legal ?r wait)");
    assert_eq!(found.changed, [(expected, expected)]);
    assert!(found.missing.is_empty() && found.added.is_empty());
    let less = read(&text.replace("(<= terminal (true (heap 0)))", ""));
    assert_eq!(compare(&game, &less).missing, [rule("(<= terminal")]);
    assert_eq!(compare(&less, &game).added, [rule("(<= terminal")]);
    // The names follow the rules.
    let other = changed.scrambled(4);
    let found = compare(&game, &other);
    let (from, to) = (&game.program, &other.program);
    let translated = found.mapping.play_text(from, to, "take").expect("it has a counterpart");
    let legal = to.rules.iter().find(|rule| rule.head.name == gdl::keyword::LEGAL && rule.body.len() == 3);
    let play = legal.and_then(|rule| rule.head.args[1].functor()).expect("a rule for taking");
    assert_eq!(translated, to.symbols.name(play.name));
}

#[test]
fn roles_keep_their_parts() {
    let (othello, nothello) = (Game::library("othello"), Game::library("nothello"));
    let role = |game: &Game, name| game.program.symbols.find(name).expect("a role");
    let found = compare(&othello, &nothello);
    assert_eq!(found.mapping.role(role(&othello, "white")), Some(role(&nothello, "white")));
    // Also where what was best is worst.
    let minichess = Game::library("minichess");
    let smaller = Game::library("minichess-3x3");
    let inverted = generate::inverted_goal(&smaller.program).expect("goals can be inverted");
    let found = compare(&minichess, &Game::new(inverted));
    assert!(found.is_inverted);
    assert_eq!((found.mapping.value(100), found.score), (Some(0), compare(&minichess, &smaller).score));
}

#[test]
fn the_budget_holds() {
    let found = similar::compare(Game::library("checkers").form(), Game::library("merrills").form(), 5);
    assert!(found.is_cut_short && found.score < 0.5);
}

#[test]
fn sketches_lead_to_relatives() {
    let names = ["checkers", "chess", "connect-four", "hanoi", "nothello", "farmers", "tic-tac-toe", "pacman"];
    let sketches: Vec<Sketch> = names.iter().map(|name| Sketch::new(&Game::library(name).program)).collect();
    for (game, relative) in
        [("english-draughts", "checkers"), ("othello", "nothello"), ("connect-3-3x3", "connect-four")]
    {
        let sketch = Sketch::new(&Game::library(game).program);
        let likeness = |index: &usize| sketch.likeness(sketches[*index].numbers());
        let best = (0..names.len()).max_by(|one, other| likeness(one).total_cmp(&likeness(other)));
        assert_eq!(best.map(|index| names[index]), Some(relative));
    }
}

/// Six links in a circle look like two circles of three, variable by variable; but they are another rule.
#[test]
fn rules_that_only_look_alike_are_not_equal() {
    let game = |links: [(u32, u32); 6]| {
        let links: String = links.iter().map(|(x, y)| format!(" (true (linked ?v{x} ?v{y}))")).collect();
        let rules = format!(
            "(role robot) (place 1) (place 2) (place 3) (<= (legal robot (link ?x ?y)) (place ?x) (place ?y))
            (<= (next (linked ?x ?y)) (does robot (link ?x ?y))) (<= (next (linked ?x ?y)) (true (linked ?x ?y)))
            (<= (goal robot 100) closed) (<= (goal robot 0) (not closed)) (<= terminal closed) (<= closed{links})"
        );
        Game::new(gdl::read("circles", rules.as_bytes()).program)
    };
    let six = game([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0)]);
    let again = game([(3, 1), (0, 4), (1, 5), (5, 0), (2, 3), (4, 2)]);
    let two = game([(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)]);
    assert_eq!(compare(&six, &again).score, 1.0);
    let found = compare(&six, &two);
    assert!(found.score < 1.0 && found.changed.len() == 1, "{found:?}");
}
