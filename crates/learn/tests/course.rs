//! Courses from the rules to a model, on small games.

use std::sync::Arc;

use features::construct::{self, construct};
use features::feature::Feature;
use features::game::Game;
use features::positions::{self, Positions, collect};
use learn::course::{Checkpoint, Course, Settings, Stored};
use learn::model::Sum;
use learn::player::one_ply;
use learn::{self_play, teach};
use machine::RoleId;
use machine::scalar::{Compiled, Scalar};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use search::{Evaluate, Limit, Player, Position, Random, match_play};

struct Prepared {
    game: Arc<Game>,
    positions: Positions,
    features: Vec<Feature>,
}

fn prepare(name: &str) -> Prepared {
    let text = std::fs::read(format!("../../games/{name}/rules.kif")).expect("a game of the library");
    let game = Arc::new(Game::new(gdl::read(name, &text).program, 1).expect("it has a network"));
    let settings = positions::Settings { levels: 2, positions: 2_000, matches: (200, 200), ..Default::default() };
    let positions = collect(&game, &settings, &mut |_| true).positions;
    let settings = construct::Settings { candidates: 300, configurations: 40, ..construct::Settings::default() };
    let set = construct(&game, &positions, &settings, &mut |_| true).expect("features");
    let features = set.features.into_iter().take(30).map(|selected| selected.feature).collect();
    Prepared { game, positions, features }
}

fn settings(threads: usize) -> Settings {
    Settings {
        stages: 2,
        positions: 2_000,
        play: self_play::Settings { threads, ..self_play::Settings::default() },
        teach: teach::Settings { iterations: 20, threads, ..teach::Settings::default() },
        ..Settings::default()
    }
}

fn begin(prepared: &Prepared, threads: usize) -> Course {
    let Prepared { game, positions, features } = prepared;
    Course::begin(game.clone(), positions, features.clone(), settings(threads)).expect("a course begins")
}

/// The bytes of the model alone.
fn model(course: &Course) -> Stored {
    course.checkpoint().model
}

#[test]
fn threads_and_interruptions_change_nothing() {
    let prepared = prepare("tic-tac-toe");
    let mut whole = begin(&prepared, 1);
    let mut other = begin(&prepared, 2);
    assert_eq!(model(&whole), model(&other));
    for _ in 0..2 {
        assert!(whole.go_on(&|| false).expect("goes on") && other.go_on(&|| false).expect("goes on"));
        let kept = other.checkpoint().to_bytes();
        let kept = Checkpoint::from_bytes(&kept).expect("reads back");
        other = Course::resume(prepared.game.clone(), kept, settings(2)).expect("goes on");
        assert_eq!(whole.history(), other.history());
        assert!(model(&whole) == model(&other), "the weights differ");
    }
    // Stopped play changes nothing.
    let before = model(&whole);
    assert!(!whole.go_on(&|| true).expect("no error"));
    assert_eq!(model(&whole), before);
}

#[test]
fn damaged_courses_and_other_games_are_refused() {
    let prepared = prepare("tic-tac-toe");
    let course = begin(&prepared, 1);
    let bytes = course.checkpoint().to_bytes();
    for cut in [0, 4, 8, bytes.len() / 2, bytes.len() - 1] {
        assert!(Checkpoint::from_bytes(&bytes[..cut]).is_err(), "cut at {cut}");
    }
    assert!(Stored::from_bytes(&bytes).is_err(), "a course is no model");
    let stored = model(&course);
    assert_eq!(Stored::from_bytes(&stored.to_bytes()).expect("reads back"), stored);
    let mut short = stored.clone();
    short.weights[0].features[0].pop();
    assert!(short.load(prepared.game.clone()).is_err(), "a weight is missing");
    let other = prepare("nim-5");
    let error = stored.load(other.game).err().expect("it is of another game").to_string();
    assert!(error.contains("another game"), "{error}");
}

/// What a model says in search is what its weights say of the rows that it was fitted to, after every move made or taken back.
#[test]
fn search_and_fitting_see_the_same() {
    for name in ["connect-four", "othello-6x6", "tron-6x6", "eight-puzzle"] {
        let prepared = prepare(name);
        let course = begin(&prepared, 1);
        let model = course.model();
        let sight = &model.sight;
        let mut own = Scalar::new(Compiled::new(prepared.game.circuit.network.clone()));
        let mut judge = model.judge();
        let mut opinion = model.opinion();
        let mut random = Pcg64Mcg::seed_from_u64(1);
        let back: Vec<u32> = {
            let moves = sight.views.moves();
            let mut back = vec![0; moves.len()];
            (0u32..).zip(moves).for_each(|(here, &there)| back[there as usize] = here);
            back
        };
        let n_roles = prepared.game.universe.roles.len();
        for _ in 0..200 {
            let rows = sight.rows([own.bits()]);
            let set = usize::from(rows.sets[0]);
            for role in 0..model.weights.len() {
                let weights = &model.weights[role];
                let features: f64 = (rows.values.iter().zip(&weights.features[set]))
                    .map(|(&value, &weight)| f64::from(value) * f64::from(weight))
                    .sum();
                let slots: f64 = (rows.slots.iter().filter(|&&slot| slot != u32::MAX))
                    .map(|&slot| f64::from(weights.slots[set][slot as usize]))
                    .sum();
                let expected = f64::from(weights.bias[set]) + features + slots;
                let seen = f64::from(judge.sum(RoleId(role as u32)));
                assert!((expected - seen).abs() < 1e-3 * (1.0 + expected.abs()), "{name}: {expected} {seen}");
            }
            let mut many = Vec::new();
            opinion.values(&[judge.machine().bits()], &mut many);
            let one: Vec<f32> = (0..n_roles as u32).map(|role| judge.estimate(RoleId(role))).collect();
            assert!(one.iter().zip(&many).all(|(one, many)| (one - many).abs() < 1e-4), "{name}: {one:?} {many:?}");
            assert_eq!(one.len(), many.len());
            let mut joint = Vec::new();
            for role in (0..n_roles as u32).map(RoleId) {
                let mut legal = Vec::new();
                own.legal_moves(role, &mut legal);
                if !legal.is_empty() && !own.terminal() {
                    joint.push(legal[random.random_range(0..legal.len())]);
                }
            }
            if joint.len() < n_roles {
                let initial = machine::Machine::initial(&mut own).expect("no budget");
                own.jump(&initial);
                judge.jump(&sight.views.state(&initial));
                continue;
            }
            let there: Vec<u32> = joint.iter().map(|&chosen| back[chosen as usize]).collect();
            own.make(&joint);
            judge.make(&there);
            if random.random::<f64>() < 0.3 {
                own.unmake();
                judge.unmake();
            }
            assert_eq!(judge.machine().bits(), sight.views.state(own.bits()), "{name}");
        }
    }
}

#[test]
fn what_was_learned_wins() {
    let prepared = prepare("connect-four");
    let mut course = begin(&prepared, 2);
    assert!(course.go_on(&|| false).expect("goes on"));
    assert_eq!(course.model().sum, Sum::Shared);
    let compiled = Compiled::new(prepared.game.circuit.network.clone());
    let mut points = 0;
    for number in 0..40 {
        let mut own = one_ply(course.model(), number);
        let mut other: Box<dyn Player> = Box::new(Random::new(compiled.clone(), number));
        let seat = number as usize % 2;
        let mut players: [&mut dyn Player; 2] =
            if seat == 0 { [&mut *own, &mut *other] } else { [&mut *other, &mut *own] };
        let mut machine = Scalar::new(compiled.clone());
        let limit = Limit::nodes(1_000);
        let played = match_play::play(&mut machine, &mut players, &[], 100, &mut |_, choose| choose(&limit));
        points += played.goals[seat].expect("it ends");
    }
    assert!(points >= 40 * 75, "{points} of 4000");
}

/// A game of which nothing is known but whose turn it is can be learned, too: badly, but without an error.
#[test]
fn a_course_needs_no_features() {
    let Prepared { game, positions, .. } = prepare("nim-5");
    let mut course = Course::begin(game, &positions, Vec::new(), Settings { patterns: None, ..settings(1) })
        .expect("a course begins");
    assert!(course.go_on(&|| false).expect("goes on"));
}
