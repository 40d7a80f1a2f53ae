//! What a model of one game is in another: the same game under other names, and variants.

use std::sync::Arc;

use features::construct::{self, construct};
use features::feature::{self, Feature};
use features::game::Game;
use features::positions::{self, Positions, collect};
use gdl::Program;
use insight::canonical::{BUDGET, canonical};
use insight::scramble::{RoleOrder, scramble};
use insight::variant::Variant;
use learn::course::{Course, Settings, Stored};
use learn::example::Examples;
use learn::model::{Model, Sum, Weights};
use learn::sight::{PatternSettings, Sight};
use learn::stage::Stages;
use learn::transfer::{Test, better, duel, relate, transfer};
use learn::{self_play, teach};
use machine::RoleId;
use machine::scalar::{Compiled, Scalar};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use search::{Position, legal_moves};

fn library(name: &str) -> Program {
    let text = std::fs::read(format!("../../games/{name}/rules.kif")).expect("a game of the library");
    gdl::read(name, &text).program
}

/// The game in canonical form.
fn game(program: &Program) -> Arc<Game> {
    Arc::new(Game::new(canonical(program, BUDGET).respelled(program), 1).expect("it has a network"))
}

fn scrambled(program: &Program, seed: u64) -> Program {
    scramble(program, RoleOrder::Kept, &mut Pcg64Mcg::seed_from_u64(seed)).program
}

fn prepare(game: &Game) -> (Positions, Vec<Feature>) {
    let settings = positions::Settings { levels: 2, positions: 2_000, matches: (200, 200), ..Default::default() };
    let positions = collect(game, &settings, &mut |_| true).positions;
    let settings = construct::Settings { candidates: 300, configurations: 40, ..construct::Settings::default() };
    let set = construct(game, &positions, &settings, &mut |_| true).expect("features");
    (positions, set.features.into_iter().take(30).map(|selected| selected.feature).collect())
}

fn settings() -> Settings {
    Settings {
        stages: 2,
        positions: 2_000,
        play: self_play::Settings { threads: 2, ..self_play::Settings::default() },
        teach: teach::Settings { iterations: 20, threads: 2, ..teach::Settings::default() },
        ..Settings::default()
    }
}

fn learned(game: &Arc<Game>, generations: usize) -> Course {
    let (positions, features) = prepare(game);
    let mut course = Course::begin(game.clone(), &positions, features, settings()).expect("a course begins");
    (0..generations).for_each(|_| _ = course.go_on(&|| false).expect("goes on"));
    course
}

/// Plays the same moves in two forms of a game, and compares what two models expect all the way.
fn expect_the_same(one: &Arc<Model>, other: &Arc<Model>) {
    let (mut here, mut there) = (one.judge(), other.judge());
    let n_roles = one.sight.game.universe.roles.len() as u32;
    let mut random = Pcg64Mcg::seed_from_u64(7);
    for _ in 0..20 {
        let mut n_moves = 0;
        loop {
            for role in (0..n_roles).map(RoleId) {
                assert_eq!(here.estimate(role), there.estimate(role));
            }
            let legal = legal_moves(here.machine());
            assert_eq!(legal, legal_moves(there.machine()));
            if here.machine().terminal() {
                break;
            }
            let joint: Vec<u32> = legal.iter().map(|moves| moves[random.random_range(0..moves.len())]).collect();
            here.make(&joint);
            there.make(&joint);
            n_moves += 1;
        }
        (0..n_moves).for_each(|_| {
            here.unmake();
            there.unmake();
        });
    }
}

/// A scrambled copy has the model at once, and it expects the same everywhere: both forms have the same network, since that is made
/// from the canonical form.
#[test]
fn a_scrambled_copy_plays_as_the_game_that_was_learned() {
    for name in ["tic-tac-toe", "connect-3-4x4"] {
        let program = library(name);
        let course = learned(&game(&program), 1);
        let stored = Stored::from_bytes(&course.checkpoint().model.to_bytes()).expect("reads back");
        let copy = game(&scrambled(&program, 3));
        assert_ne!(
            copy.universe.name(copy.universe.roles[0]),
            course.model().sight.game.universe.name(course.model().sight.game.universe.roles[0])
        );
        expect_the_same(course.model(), &stored.load(copy).expect("it is the same game"));
    }
}

/// A course that begins with a model plays as that model does, before it learns more.
#[test]
fn a_course_goes_on_from_a_model() {
    let game = game(&library("tic-tac-toe"));
    let course = learned(&game, 1);
    let (positions, _) = prepare(&game);
    let mut other = Course::from_model(course.model().clone(), &positions, settings());
    assert_eq!(other.checkpoint().model, course.checkpoint().model);
    assert!(other.history()[0].losses[0] > 0.0 && other.history()[0].losses[0] < 0.7);
    assert!(other.go_on(&|| false).expect("goes on"));
    assert_ne!(other.checkpoint().model.weights, course.checkpoint().model.weights);
}

/// Two players go up a ladder of `n` steps by turns; who comes to the top wins, or loses. The goal is of player `a`.
fn ladder(n: usize, top: [u32; 2], names: [&str; 3]) -> Program {
    let [at, go, next] = names;
    let steps: String = (1..n).map(|step| format!("(succ s{step} s{})", step + 1)).collect();
    let text = format!(
        "(role a) (role b) (init ({at} a s1)) (init ({at} b s1)) (init (turn a)) {steps} (top s{n})
         (<= (legal ?r {go}) (true (turn ?r))) (<= (legal ?r wait) (true (turn ?r)))
         (<= (legal ?r noop) (role ?r) (not (true (turn ?r))))
         (<= (next (turn a)) (true (turn b))) (<= (next (turn b)) (true (turn a)))
         (<= (next ({at} ?r ?y)) (does ?r {go}) (true ({at} ?r ?x)) (succ ?x ?y))
         (<= (next ({at} ?r ?x)) (true ({at} ?r ?x)) (not (does ?r {go})))
         (<= {next} (true ({at} ?r ?x)) (top ?x)) (<= terminal {next})
         (<= (goal a {}) (true (at_top a))) (<= (goal a {}) (not (true (at_top a))))",
        top[0], top[1]
    );
    let text = text.replace("(true (at_top a))", &format!("(true ({at} a s{n}))"));
    let text = format!(
        "{text} (<= (goal b {}) (true ({at} a s{n}))) (<= (goal b {}) (not (true ({at} a s{n}))))",
        top[1], top[0]
    );
    gdl::read("ladder", text.as_bytes()).program
}

/// A model with features as they are written, each with a weight.
fn by_hand(game: &Arc<Game>, features: &[(&str, f32)], sum: Sum) -> Model {
    let read = |text: &str| feature::read(text, &game.program.symbols).expect("a feature");
    let list = features.iter().map(|(text, _)| read(text)).collect();
    let sight = Sight::new(game.clone(), list, None, &Stages::default()).expect("it compiles");
    let weights = Weights {
        bias: vec![0.25],
        features: vec![features.iter().map(|feature| feature.1).collect()],
        slots: vec![Vec::new()],
    };
    Model::new(Arc::new(sight), vec![weights], sum)
}

fn named(program: &Program) -> Arc<Game> {
    Arc::new(Game::new(program.clone(), 1).expect("it has a network"))
}

fn shown(model: &Model) -> Vec<(String, f32)> {
    let symbols = &model.sight.game.program.symbols;
    let features = model.sight.features.iter().map(|feature| feature.display(symbols).to_string());
    features.zip(model.weights[0].features[0].iter().copied()).collect()
}

/// Features are rewritten with the other game's names, orders become the whole of the longer order, and what has no counterpart is
/// left out; weights stay what they are, or change their sign with the goals.
#[test]
fn features_and_weights_are_taken_over_by_hand() {
    let source = named(&ladder(4, [100, 0], ["at", "go", "over"]));
    let model = by_hand(
        &source,
        &[("(sum (place ?0 (s1 s2 s3 s4)) (?0) (true (at a ?0)))", 0.5), ("(count (?0) (true (at b ?0)))", -0.75)],
        Sum::Shared,
    );
    for (top, sign) in [([100, 0], 1.0), ([0, 100], -1.0)] {
        let target = named(&ladder(6, top, ["stands", "climb", "done"]));
        let variant: Variant = relate(&source, &target).expect("a variant");
        let own = feature::read("(count () (true (turn a)))", &target.program.symbols).expect("a feature");
        let came = transfer(&model, &variant, &target, &[own], None, &Stages::default()).expect("it is taken over");
        let expected = [
            ("(sum (place ?0 (s1 s2 s3 s4 s5 s6)) (?0) (true (stands a ?0)))".to_owned(), sign * 0.5),
            ("(count (?0) (true (stands b ?0)))".to_owned(), sign * -0.75),
            ("(count () (true (turn a)))".to_owned(), 0.0),
        ];
        assert_eq!(shown(&came.model), expected);
        assert_eq!((came.n_features, came.model.weights[0].bias[0]), (2, sign * 0.25));
    }
}

/// Where whoever is on turn wins, a duel from there is even, and certainly so; where nothing is decided, who climbs beats who waits. Self-play
/// begins where it is told, too.
#[test]
fn matches_begin_where_they_are_told() {
    let game = named(&ladder(4, [100, 0], ["at", "go", "over"]));
    let heights = [
        "(sum (place ?0 (s1 s2 s3 s4)) (?0) (true (at a ?0)))",
        "(sum (place ?0 (s1 s2 s3 s4)) (?0) (true (at b ?0)))",
    ];
    let model = |weight: f32| Arc::new(by_hand(&game, &[(heights[0], weight), (heights[1], -weight)], Sum::Shared));
    let (climber, idler) = (model(1.0), model(-1.0));
    // The state after both have climbed so often.
    let after = |rounds: usize| {
        let mut machine = Scalar::new(Compiled::new(game.circuit.network.clone()));
        for _ in 0..2 * rounds {
            let network = machine.network();
            let climbs = |moves: &Vec<u32>| {
                let climb = moves.iter().find(|&&chosen| network.name(network.moves[chosen as usize]) == "go");
                *climb.unwrap_or(&moves[0])
            };
            let joint: Vec<u32> = legal_moves(&machine).iter().map(climbs).collect();
            machine.make(&joint);
        }
        machine.bits().to_vec()
    };
    let (decided, open) = (after(2), after(1));
    let (score, n) = duel([&climber, &idler], &[&decided], 20, 1, 2, &|| false);
    assert_eq!((n, score.mean, score.low, score.high), (20, 0.5, 0.5, 0.5));
    let (score, _) = duel([&climber, &idler], &[&open], 20, 1, 2, &|| false);
    assert_eq!(score.mean, 1.0);
    let lengths = [decided, open].map(|state| {
        let starts = Arc::new([state.into()]);
        let play = self_play::Settings { matches: 10, opening: 0, starts, chance: 0.0, ..Default::default() };
        let played = self_play::play(&climber, &play, &|| false);
        assert_eq!(played.n_ended, 10);
        played.rows.sets.len() / 10
    });
    assert_eq!(lengths, [1, 3]);
}

/// Every slot of a pattern keeps its weight where only the goals change, with the other sign: what one game expects of a state is
/// what the other one does not.
#[test]
fn an_inverted_goal_inverts_what_is_expected() {
    let (source, target) = (game(&library("tic-tac-toe")), game(&library("tic-tac-toe-inverted")));
    let course = learned(&source, 1);
    let variant = relate(&source, &target).expect("a variant");
    let patterns = PatternSettings::default();
    // The stages are the source's: both games have the same fluents in the same order, as it happens.
    let stages = &course.model().sight.game_stages;
    let came = transfer(course.model(), &variant, &target, &[], Some(&patterns), stages).expect("it is taken over");
    assert_eq!(came.n_features, course.model().sight.features.len());
    let n_slots = came.model.sight.n_slots();
    assert!(n_slots > 0 && came.n_slots == n_slots, "{} of {n_slots}", came.n_slots);
    let total = |model: &Model| model.weights[0].slots.iter().flatten().sum::<f32>();
    assert!((total(&came.model) + total(course.model())).abs() < 1e-3);
}

/// What is taken over does not hang on names.
#[test]
fn scrambled_variants_give_the_same() {
    let (small, large) = (library("connect-3-3x3"), library("connect-3-4x4"));
    let (source, target) = (game(&small), game(&large));
    let course = learned(&source, 0);
    let stored = course.checkpoint().model;
    let patterns = PatternSettings::default();
    let take = |source: &Arc<Game>, target: &Arc<Game>| {
        let model = stored.load(source.clone()).expect("it is the same game");
        let variant = relate(source, target).expect("a variant");
        transfer(&model, &variant, target, &[], Some(&patterns), &Stages::default()).expect("it is taken over")
    };
    let one = take(&source, &target);
    let other = take(&game(&scrambled(&small, 5)), &game(&scrambled(&large, 6)));
    assert!(one.n_features > 0 && one.n_slots > 0, "{} {}", one.n_features, one.n_slots);
    assert!(one.model.weights == other.model.weights, "the weights differ");
    expect_the_same(&one.model, &other.model);
}

/// An unrelated game is no variant. What was learned, the other way round, does harm as it is, and is not taken; fitted, nothing but the
/// further features is left of it, which are worth 60 % of the points against a model without them.
#[test]
fn a_useless_source_is_left() {
    let target = game(&library("connect-3-4x4"));
    assert!(relate(&game(&library("nim-5")), &target).is_none());
    let (positions, features) = prepare(&target);
    let fresh = Course::begin(target.clone(), &positions, features.clone(), settings()).expect("a course begins");
    let source = game(&library("connect-3-3x3"));
    let mut stored = learned(&source, 0).checkpoint().model;
    for weights in &mut stored.weights {
        let all = weights.features.iter_mut().chain(&mut weights.slots).flatten().chain(&mut weights.bias);
        all.for_each(|weight| *weight = -*weight);
    }
    let model = stored.load(source.clone()).expect("it fits");
    let variant = relate(&source, &target).expect("a variant");
    let stages = &fresh.model().sight.game_stages;
    let came = transfer(&model, &variant, &target, &features, None, stages).expect("it is taken over");
    let (score, n) = duel([&came.model, fresh.model()], &[], 60, 1, 2, &|| false);
    assert!(n == 60 && score.high < 0.5, "{score:?}");
    let test = Test { seed: 1, matches: 60, teach: settings().teach };
    let came = [came];
    let better = |fresh: &Arc<Model>, seed: u64| {
        let test = Test { seed, ..test.clone() };
        better(&came, fresh, &positions, &test, &|| false).expect("it is fitted")
    };
    // It is the source's features that help, if anything does: with them, and with nothing taken over, a model is as good.
    let (sight, sum) = (&came[0].model.sight, came[0].model.sum);
    let (none, _) = teach::teach(sight, &Examples::of(&positions), sum, None, &test.teach).expect("it is fitted");
    let none = Arc::new(none);
    assert!((1..=6).all(|seed| better(&none, seed).is_none()));
    // What is taken is better indeed, in matches that had no part in that.
    if let Some(better) = better(fresh.model(), 1) {
        let of = |model: &Arc<Model>| duel([&better.model, model], &[], 2_000, 101, 2, &|| false).0;
        let (score, by_weights) = (of(fresh.model()), of(&none));
        assert!(better.is_fitted && score.low > 0.5, "{score:?}");
        assert!(by_weights.low < 0.5 && by_weights.high > 0.5, "{by_weights:?}");
    }
}
