//! Positions to learn from: labels by search, the images of positions, stages that share weights, and records.

use std::sync::Arc;

use features::construct::{self, construct};
use features::feature::Feature;
use features::game::Game;
use features::positions::{self, Positions, collect};
use gdl::Stop;
use learn::course::{self, Course};
use learn::example::Examples;
use learn::label::{self, label, labelled};
use learn::model::{Model, Sum};
use learn::record::{Kind, Record, Recorder, Records};
use learn::sight::{PatternSettings, Sight};
use learn::stage::Stages;
use learn::teach::{self, Distinct, Sharing, teach};
use machine::RoleId;
use machine::scalar::{Compiled, Scalar};
use rustc_hash::FxHashMap;
use search::{Evaluate, legal_moves};

/// A game, and positions of matches by chance and of matches that are played a little better.
fn played(name: &str, n: usize) -> (Arc<Game>, Positions) {
    let text = std::fs::read(format!("../../games/{name}/rules.kif")).expect("a game of the library");
    let game = Arc::new(Game::new(gdl::read(name, &text).program, 1).expect("it has a network"));
    let n_matches = n as u32 / 10;
    let settings =
        positions::Settings { levels: 2, positions: n, matches: (n_matches, n_matches), ..Default::default() };
    let positions = collect(&game, &settings, &mut |_| true).positions;
    (game, positions)
}

/// A sight of small patterns alone.
fn sight(game: &Arc<Game>, positions: &Positions, stages: usize) -> Arc<Sight> {
    let stages = Stages::find(game, positions, stages);
    let patterns = PatternSettings { slots: 100, ..PatternSettings::default() };
    Arc::new(Sight::new(game.clone(), Vec::new(), Some(&patterns), &stages).expect("a sight"))
}

fn taught(sight: &Arc<Sight>, examples: &Examples, settings: &teach::Settings) -> (Arc<Model>, f64) {
    let (model, losses) = teach(sight, examples, Sum::Shared, None, settings).expect("a fit");
    (Arc::new(model), losses[0].held_out)
}

/// What a model expects of the first role, in states of the game's own network.
fn expected(model: &Arc<Model>, states: &[&[u64]]) -> Vec<f32> {
    let own: Vec<Vec<u64>> = states.iter().map(|state| model.sight.views.state(state)).collect();
    let mut values = Vec::new();
    model.opinion().values(&own.iter().map(Vec::as_slice).collect::<Vec<_>>(), &mut values);
    values.chunks(2).map(|values| values[0]).collect()
}

/// The best that the first role can get, by looking at everything.
fn brute_force(machine: &mut Scalar, state: &[u64], known: &mut FxHashMap<Vec<u64>, i64>) -> i64 {
    if let Some(&value) = known.get(state) {
        return value;
    }
    machine.jump(state);
    let value = if machine.terminal() {
        machine.goal(RoleId(0)).expect("a goal")
    } else {
        let legal = legal_moves(machine);
        let chooser = (0..2).find(|&role| legal[role].len() > 1).unwrap_or(0);
        let values: Vec<i64> = legal[chooser]
            .iter()
            .map(|&chosen| {
                let mut joint: Vec<u32> = legal.iter().map(|moves| moves[0]).collect();
                joint[chooser] = chosen;
                machine.jump(state);
                machine.make(&joint);
                let next = machine.bits().to_vec();
                brute_force(machine, &next, known)
            })
            .collect();
        *if chooser == 0 { values.iter().max() } else { values.iter().min() }.expect("a move")
    };
    known.insert(state.to_vec(), value);
    value
}

/// Exact labels are what looking at everything gives; so are those of what is expected next, whoever is to move there.
#[test]
fn exact_labels_are_exact() {
    for name in ["tic-tac-toe", "connect-3-3x3"] {
        let (game, positions) = played(name, 400);
        let examples = Examples::of(&positions);
        let (model, _) = taught(&sight(&game, &positions, 1), &examples, &teach::Settings::default());
        let settings = label::Settings { exact: 1_000_000, ..label::Settings::default() };
        let states: Vec<&[u64]> = examples.views().collect();
        let labels = label(&model, &states, &settings, 2);
        assert_eq!(labels, label(&model, &states, &settings, 1), "{name}: threads change nothing");
        let mut machine = Scalar::new(Compiled::new(game.circuit.network.clone()));
        let mut known = FxHashMap::default();
        let mut n_next = 0;
        for (state, label) in states.iter().zip(&labels) {
            let label = label.as_ref().expect("all can move");
            let value = brute_force(&mut machine, state, &mut known) as f32 / 100.0;
            assert!(label.is_exact && label.values == [value, 1.0 - value], "{name}: {label:?}");
            if let Some(next) = &label.next {
                let value = brute_force(&mut machine, next, &mut known) as f32 / 100.0;
                assert_eq!(label.values, [value, 1.0 - value], "{name}: what follows is worth the same");
                n_next += 1;
            }
        }
        assert!(n_next > states.len() / 2, "{name}: {n_next} of {}", states.len());
    }
}

/// Labels of positions at the end of Othello and of what follows agree, also where a role has to pass.
#[test]
fn labels_are_right_across_passes() {
    let (game, positions) = played("othello-6x6", 3_000);
    let (model, _) = taught(&sight(&game, &positions, 1), &Examples::of(&positions), &teach::Settings::default());
    let machine = &mut Scalar::new(Compiled::new(game.circuit.network.clone()));
    let mut is_pass = |state: &[u64]| {
        machine.jump(state);
        let legal = legal_moves(machine);
        // Each role has one move, and it is none of the many that place a stone.
        !machine.terminal() && legal.iter().all(|moves| moves.len() == 1)
    };
    let late = (0..positions.len()).filter(|&at| positions.plies[at] >= 26 && !positions.terminal[at]);
    let late: Vec<&[u64]> = late.map(|at| positions.state(at)).collect();
    let settings = label::Settings { exact: 20_000, ..label::Settings::default() };
    let labels = label(&model, &late, &settings, 2);
    let pairs: Vec<(&[f32], &[u64])> = labels
        .iter()
        .flatten()
        .filter(|label| label.is_exact)
        .filter_map(|label| Some((&label.values[..], label.next.as_deref()?)))
        .collect();
    let next: Vec<&[u64]> = pairs.iter().map(|pair| pair.1).collect();
    let again = label(&model, &next, &settings, 2);
    let n_passes = late
        .iter()
        .zip(&labels)
        .filter(|(state, label)| is_pass(state) && label.as_ref().is_some_and(|label| label.next.is_some()))
        .count();
    let n_before = next.iter().filter(|state| is_pass(state)).count();
    assert!(n_passes + n_before >= 10, "{n_passes} and {n_before} passes of {}", pairs.len());
    for ((values, _), again) in pairs.iter().zip(&again) {
        let again = again.as_ref().expect("the match goes on");
        assert!(again.is_exact && *values == again.values, "{values:?} {again:?}");
    }
}

/// Positions that a search meets: after any move, of which most are bad.
fn met_by_search(game: &Game, examples: &Examples) -> Examples {
    let mut machine = Scalar::new(Compiled::new(game.circuit.network.clone()));
    let mut met = Examples::new(examples.n_words, examples.n_roles);
    for at in 0..examples.len() {
        machine.jump(examples.state(at));
        let joint: Vec<u32> = legal_moves(&machine).iter().map(|moves| moves[at % moves.len()]).collect();
        machine.make(&joint);
        if !machine.terminal() {
            met.push(machine.bits(), examples.targets_of(at), examples.matches[at]);
        }
    }
    met
}

/// With what is expected next, labels are even for the role to move in every stage, and a fit to them does not take being to move for
/// worth more than it is.
#[test]
fn successors_cure_the_bias_of_the_role_to_move() {
    let (game, positions) = played("connect-four", 1_600);
    let sight = sight(&game, &positions, 2);
    let stages = &sight.game_stages;
    let (n_stages, mover) = (stages.n_stages(), |state: &[u64]| stages.set(state) / stages.n_stages());
    let settings = teach::Settings { iterations: 30, ..teach::Settings::default() };
    let (first, _) = taught(&sight, &Examples::of(&positions), &settings);
    let examples = met_by_search(&game, &Examples::of(&positions));
    let search = label::Settings { nodes: 100, exact: 200, ..label::Settings::default() };
    let labels = label(&first, &examples.views().collect::<Vec<_>>(), &search, 2);
    let (plain, _) = labelled(&examples, &labels, false);
    let (cured, n_exact) = labelled(&examples, &labels, true);
    assert!(n_exact > 100 && n_exact < labels.len(), "{n_exact} of {}", labels.len());
    // What the role to move may expect on average, and half of the 95 % interval of that.
    let mean = |examples: &Examples, stage: usize| {
        let which = (0..examples.len()).filter(|&at| stages.set(examples.state(at)) % n_stages == stage);
        let own: Vec<f64> = which.map(|at| f64::from(examples.targets_of(at)[mover(examples.state(at))])).collect();
        let mean = own.iter().sum::<f64>() / own.len() as f64;
        let variance = own.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / own.len() as f64;
        (mean, 1.96 * (variance / own.len() as f64).sqrt())
    };
    for stage in 0..n_stages {
        let ((before, noise), (after, _)) = (mean(&plain, stage), mean(&cured, stage));
        assert!(before - 0.5 > 2.0 * noise, "stage {stage}: the role to move is favoured: {before} and {noise}");
        // A match that is over after the next move has nothing to follow, so all is not quite even.
        assert!((after - 0.5).abs() < noise.max((before - 0.5) / 2.0), "stage {stage}: {before} {after} {noise}");
    }
    // How much more the role to move expects before its best move than after it.
    let followed = labels.iter().enumerate().filter_map(|(at, label)| Some((at, label.as_ref()?.next.as_deref()?)));
    let pairs: Vec<(&[u64], &[u64])> = followed.map(|(at, next)| (examples.state(at), next)).collect();
    let bias = |examples: &Examples| {
        let (model, _) = taught(&sight, examples, &settings);
        let (here, next): (Vec<&[u64]>, Vec<&[u64]>) = pairs.iter().copied().unzip();
        let sign = |state: &[u64]| if mover(state) == 0 { 1.0 } else { -1.0 };
        let all = expected(&model, &here).into_iter().zip(expected(&model, &next)).zip(&here);
        let sum: f64 = all.map(|((here, next), state)| sign(state) * f64::from(here - next)).sum();
        sum / here.len() as f64
    };
    let (before, after) = (bias(&plain), bias(&cured));
    assert!(before > 0.05 && after.abs() < before / 2.0, "{before} {after}");
}

/// A course that labels its first positions is as reproducible as any, and has more examples.
#[test]
fn courses_can_begin_with_labels() {
    let (game, positions) = played("tic-tac-toe", 600);
    let course = |label: Option<label::Settings>, threads: usize| {
        let teach = teach::Settings { iterations: 20, threads, ..teach::Settings::default() };
        let settings = course::Settings { stages: 2, ways: false, teach, label, ..course::Settings::default() };
        Course::begin(game.clone(), &positions, Vec::new(), settings).expect("a course")
    };
    let label = || Some(label::Settings { nodes: 50, exact: 200, positions: 100, ..label::Settings::default() });
    let model = |course: Course| course.checkpoint().model;
    let (one, other) = (model(course(label(), 1)), model(course(label(), 2)));
    assert!(one == other, "threads change nothing");
    assert!(one != model(course(None, 1)), "labels change something");
}

/// Weights that go evenly from stage to stage do not jump where one ends, and predict no worse; stages that share what is rare have
/// fewer weights.
#[test]
fn stages_can_share_weights() {
    let (game, positions) = played("connect-four-5x4", 3_000);
    let sight = sight(&game, &positions, 12);
    let stages = &sight.stages;
    assert!(stages.n_stages() >= 8, "{stages:?}");
    let examples = Examples::of(&positions);
    let fitted = |sharing: Sharing| {
        let settings = teach::Settings { iterations: 30, sharing, ..teach::Settings::default() };
        taught(&sight, &examples, &settings)
    };
    // How much the score of a state would change if the next stage had begun.
    let rows = sight.rows(examples.views());
    let n_met = sight.n_met();
    let jump = |model: &Model| {
        let weights = &model.weights[0];
        let score = |row: usize, set: usize| {
            let slots = rows.slots[row * n_met..(row + 1) * n_met].iter().filter(|&&slot| slot != u32::MAX);
            weights.bias[set] + slots.map(|&slot| weights.slots[set][slot as usize]).sum::<f32>()
        };
        let sets = rows.sets.iter().map(|&set| usize::from(set)).enumerate();
        let inner = sets.filter(|(_, set)| set % stages.n_stages() + 1 < stages.n_stages());
        let jumps: Vec<f32> = inner.map(|(row, set)| (score(row, set) - score(row, set + 1)).abs()).collect();
        jumps.iter().sum::<f32>() / jumps.len() as f32
    };
    let ((own, own_loss), (lines, lines_loss)) = (fitted(Sharing::Own), fitted(Sharing::Lines(3)));
    let (before, after) = (jump(&own), jump(&lines));
    assert!(after < before / 3.0, "{before} {after}");
    assert!(lines_loss < own_loss + 0.005, "{own_loss} {lines_loss}");
    let (merged, merged_loss) = fitted(Sharing::Merged(Default::default()));
    assert!(merged_loss < own_loss + 0.01, "{own_loss} {merged_loss}");
    // What occurs seldom weighs the same in stages beside each other, or nothing.
    let different = |model: &Model| -> usize {
        let sets = &model.weights[0].slots;
        let pairs = sets.windows(2).flat_map(|sets| sets[0].iter().zip(&sets[1]));
        pairs.filter(|(one, other)| one != other).count()
    };
    let (before, after) = (different(&own), different(&merged));
    assert!(after < before * 9 / 10, "{before} {after}");
    // As many knots as stages are no different from stages of their own, but for rounding.
    let (all, all_loss) = fitted(Sharing::Lines(usize::MAX));
    assert!(all_loss < own_loss + 0.005 && jump(&all) > jump(&lines), "{own_loss} {all_loss}");
}

/// With weights that know that the roles can change places, what is expected of one is what the other one leaves in the image.
#[test]
fn roles_can_share_weights() {
    let (game, positions) = played("tic-tac-toe", 1_500);
    let settings = construct::Settings { candidates: 200, configurations: 30, ..construct::Settings::default() };
    let set = construct(&game, &positions, &settings, &mut |_| true).expect("features");
    let features: Vec<Feature> = set.features.into_iter().take(12).map(|selected| selected.feature).collect();
    let images = game.images();
    let exchange = images.exchange().expect("crosses and noughts can change places");
    let states: Vec<&[u64]> = (0..positions.len()).step_by(3).map(|at| positions.state(at)).collect();
    let swapped: Vec<Box<[u64]>> = states.iter().map(|state| exchange.state(state)).collect();
    let difference = |mirror: bool| {
        let teach = teach::Settings { mirror, ..teach::Settings::default() };
        let settings = course::Settings { ways: false, stages: 2, teach, ..course::Settings::default() };
        let course = Course::begin(game.clone(), &positions, features.clone(), settings).expect("a course");
        let model = course.model();
        let here = expected(model, &states);
        let there = expected(model, &swapped.iter().map(|state| &state[..]).collect::<Vec<_>>());
        here.iter().zip(&there).map(|(here, there)| (here + there - 1.0).abs()).fold(0.0, f32::max)
    };
    let (shared, apart) = (difference(true), difference(false));
    assert!(shared < 0.01 && apart > 0.1, "{shared} {apart}");
}

/// A fit can be asked to take images of positions for one, and then predicts what is new to it.
#[test]
fn fits_know_images() {
    let (game, positions) = played("tic-tac-toe", 3_000);
    let sight = sight(&game, &positions, 1);
    let examples = Examples::of(&positions);
    let loss =
        |distinct: Distinct| taught(&sight, &examples, &teach::Settings { distinct, ..teach::Settings::default() }).1;
    let (all, unique) = (loss(Distinct::All), loss(Distinct::Unique));
    assert!(all.is_finite() && unique.is_finite() && all != unique, "{all} {unique}");
}

/// What a generation played can be written down, read and learned from elsewhere, with the same result but for rounding.
#[test]
fn recorded_matches_can_be_studied() {
    let (game, positions) = played("tic-tac-toe", 600);
    let begin = || {
        let settings = course::Settings { stages: 2, ways: false, positions: 4_000, ..course::Settings::default() };
        Course::begin(game.clone(), &positions, Vec::new(), settings).expect("a course")
    };
    let kind = Kind { fingerprint: positions.fingerprint, n_words: positions.n_words, n_roles: positions.n_roles };
    let mut recorder = Recorder::new(Vec::new(), kind).expect("memory can be written");
    let (mut one, mut other) = (begin(), begin());
    let mut n_met = 0;
    let tell = &mut |model: &Model, played: &learn::self_play::Played| {
        n_met += played.met.len();
        played.records(&model.sight, 0).for_each(|record| recorder.push(&record).expect("memory can be written"));
    };
    assert!(one.go_on_telling(&|| false, tell).expect("a generation"));
    let bytes = recorder.finish().expect("memory can be written");
    assert!(bytes.len() < 14 * n_met, "{} bytes for {n_met} positions", bytes.len());
    let records: Vec<Record> = Records::new(&bytes[..]).expect("a header").collect::<Result<_, _>>().expect("whole");
    assert_eq!(records.len(), n_met);
    // The role to move and the number of moves are those of the state.
    let mut machine = Scalar::new(Compiled::new(game.circuit.network.clone()));
    for record in &records {
        machine.jump(&record.state);
        let legal = legal_moves(&machine);
        let mover = (0..2u8).find(|&role| legal[usize::from(role)].len() > 1);
        assert_eq!(record.mover, mover);
        assert!(mover.is_none_or(|mover| u32::from(mover) == record.step % 2));
    }
    let n = other.study(Records::new(&bytes[..]).expect("a header"), &Stop::never()).expect("whole");
    assert_eq!(n, n_met as u64);
    assert_eq!(other.history()[1].n_new, one.history()[1].n_new);
    let all: Vec<&[u64]> = records.iter().map(|record| &record.state[..]).collect();
    let (here, there) = (expected(one.model(), &all), expected(other.model(), &all));
    let most = here.iter().zip(&there).map(|(here, there)| (here - there).abs()).fold(0.0, f32::max);
    assert!(most < 0.01, "{most}");
    let start = expected(begin().model(), &all);
    assert!(here.iter().zip(&start).any(|(here, start)| (here - start).abs() > 0.05), "something was learned");
    // In small parts it is several generations, and all is learned once.
    let settings = course::Settings { stages: 2, ways: false, positions: 100, ..course::Settings::default() };
    let mut parts = Course::begin(game.clone(), &positions, Vec::new(), settings).expect("a course");
    parts.study(Records::new(&bytes[..]).expect("a header"), &Stop::never()).expect("whole");
    assert_eq!(parts.history().len(), 1 + n_met.div_ceil(100));
}
