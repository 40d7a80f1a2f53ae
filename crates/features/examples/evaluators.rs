//! What evaluating a set of features costs, in bulk and in search: `cargo run --release -p features --example evaluators -- GAME ...`
//!
//! The set is what the structure of the game proposes and the bodies of its rules, at most 150 features. Search is a walk
//! down random matches that tries each legal move on the way: it is made, evaluated and taken back.

#![allow(clippy::print_stdout)]

use std::sync::Arc;
use std::time::Instant;

use features::compile::{Budget, compile};
use features::evaluate::incremental::{Score, Values};
use features::evaluate::{bulk, incremental};
use features::feature::Feature;
use features::formula::Formula;
use features::game::Game;
use features::structural;
use gdl::keyword;
use machine::RoleId;
use machine::scalar::{self, Scalar};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

const N_FEATURES: usize = 150;
const N_STATES: usize = 100_000;

fn main() {
    println!(
        "game | features | terms | conditions | gates, additions | bulk values, scores (states/s) | search alone, with score, with values (us/state)"
    );
    for name in std::env::args().skip(1) {
        let path = format!("{}/../../games/{name}/rules.kif", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read(&path).expect("a game of the library");
        let game = Game::new(gdl::read(&name, &text).program, 1).expect("it has a network");
        let features = features(&game);
        let sums = compile(&game, &features, &Budget::default()).expect("it compiles").sums;
        let weights: Vec<i32> = (0..features.len() as i32).map(|index| index * 37 % 101 - 50).collect();

        // Search.
        let compiled = incremental::Compiled::new(&sums);
        let mut alone = Alone(Scalar::new(scalar::Compiled::new(sums.network.clone())));
        let mut score = Score::new(compiled.clone(), &weights);
        let mut values = Values::new(compiled.clone());
        let mut states = Vec::new();
        let (alone_us, _) = search(&mut alone, &mut |_| 0, &mut |state| states.push(state.to_vec()));
        let (score_us, a) = search(&mut score, &mut |score| score.score(), &mut |_| {});
        let weigh = |values: &mut Values| {
            values.values().iter().zip(&weights).map(|(&value, &weight)| i64::from(value) * i64::from(weight)).sum()
        };
        let (values_us, b) = search(&mut values, &mut { weigh }, &mut |_| {});
        assert_eq!(a, b, "both add up to the same");

        // Bulk.
        let prepared = Arc::new(bulk::Compiled::new(&sums));
        let size = prepared.size();
        let mut bulk = bulk::Bulk::new(prepared);
        let views: Vec<&[u64]> = states.iter().map(Vec::as_slice).cycle().take(N_STATES).collect();
        let weights: Vec<f32> = weights.iter().map(|&weight| weight as f32).collect();
        let (mut values, mut scores) = (Vec::new(), Vec::new());
        let (mut value_times, mut score_times) = (Vec::new(), Vec::new());
        for batch in views.chunks_exact(512) {
            let start = Instant::now();
            values.clear();
            bulk.values(batch, &mut values);
            value_times.push(start.elapsed().as_secs_f64());
            let start = Instant::now();
            bulk.scores(batch, &weights, &mut scores);
            score_times.push(start.elapsed().as_secs_f64());
        }
        let (values_rate, scores_rate) = (512.0 / median(value_times), 512.0 / median(score_times));
        println!(
            "{name} | {} | {} | {} | {}, {} | {values_rate:.0}, {scores_rate:.0} | {alone_us:.2}, {score_us:.2}, {values_us:.2}",
            features.len(),
            compiled.n_terms(),
            compiled.n_conditions(),
            size.0,
            size.1,
        );
    }
}

fn features(game: &Game) -> Vec<Feature> {
    let proposed = structural::propose(game, &structural::Budget::default()).features;
    let mut features: Vec<Feature> = Vec::new();
    for rule in &game.program.rules {
        if matches!(rule.head.name, keyword::GOAL | keyword::TERMINAL | keyword::LEGAL) && !rule.body.is_empty() {
            let parts: Vec<Formula> = rule.body.iter().map(Formula::of_rule).collect();
            // Also without each of its parts, as far as a feature needs no rule for what is left.
            for without in 0..=parts.len() {
                let formula = Formula::all(
                    parts.iter().enumerate().filter(|(at, _)| *at != without).map(|(_, part)| part.clone()),
                );
                let free = formula.free_variables().into_iter().collect();
                features.push(Feature::count(free, formula));
            }
        }
    }
    features.extend(proposed.into_iter().map(|named| named.feature));
    features.truncate(N_FEATURES);
    features
}

/// A machine that can walk.
trait Walk {
    fn machine(&self) -> &Scalar;
    fn make(&mut self, joint: &[u32]);
    fn unmake(&mut self);
    fn jump(&mut self, state: &[u64]);
}

struct Alone(Scalar);

impl Walk for Alone {
    fn machine(&self) -> &Scalar {
        &self.0
    }
    fn make(&mut self, joint: &[u32]) {
        self.0.make(joint);
    }
    fn unmake(&mut self) {
        self.0.unmake();
    }
    fn jump(&mut self, state: &[u64]) {
        self.0.jump(state);
    }
}

macro_rules! walks {
    ($($evaluator:ty),*) => {$(
        impl Walk for $evaluator {
            fn machine(&self) -> &Scalar {
                self.machine()
            }
            fn make(&mut self, joint: &[u32]) {
                self.make(joint);
            }
            fn unmake(&mut self) {
                self.unmake();
            }
            fn jump(&mut self, state: &[u64]) {
                self.jump(state);
            }
        }
    )*};
}

walks!(Score, Values);

/// Microseconds for each state that is visited and evaluated, and what the evaluations add up to. The time is the median
/// over short stretches, so that other work on the machine does not count.
fn search<W: Walk>(walk: &mut W, evaluate: &mut dyn FnMut(&mut W) -> i64, tell: &mut dyn FnMut(&[u64])) -> (f64, i64) {
    let mut random = Pcg64Mcg::seed_from_u64(3);
    let start_state = walk.machine().bits().to_vec();
    let n_roles = walk.machine().network().roles.len() as u32;
    let (mut n, mut total) = (0, 0i64);
    let mut times = Vec::new();
    while n < 20_000 {
        let before = n;
        let start = Instant::now();
        while n < before + 100 {
            let mut moves: Vec<Vec<u32>> = Vec::new();
            for role in 0..n_roles {
                let mut legal = Vec::new();
                walk.machine().legal_moves(RoleId(role), &mut legal);
                legal.sort_unstable();
                moves.push(legal);
            }
            if walk.machine().terminal() || moves.iter().any(Vec::is_empty) {
                walk.jump(&start_state);
                continue;
            }
            let mut joint: Vec<u32> = moves.iter().map(|moves| moves[random.random_range(0..moves.len())]).collect();
            let role = (0..moves.len()).max_by_key(|&role| moves[role].len()).unwrap_or(0);
            for &chosen in &moves[role] {
                joint[role] = chosen;
                walk.make(&joint);
                total = total.wrapping_mul(31).wrapping_add(evaluate(walk));
                tell(walk.machine().bits());
                walk.unmake();
                n += 1;
            }
            joint[role] = moves[role][random.random_range(0..moves[role].len())];
            walk.make(&joint);
        }
        times.push(start.elapsed().as_secs_f64() * 1e6 / f64::from(n - before));
    }
    (median(times), total)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
