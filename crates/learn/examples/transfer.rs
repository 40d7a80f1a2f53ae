//! Shows what a model of one game is worth in a variant of it: `cargo run --release -p learn --example transfer -- SOURCE TARGET
//! [--first 12000] [--positions 30000] [--source 30] [--generations 0,1,2,4,8] [--seeds 3] [--matches 400] [--threads 2]
//! [--starts fixed|any] [--without positions|nothing]`.
//!
//! The source is learned for some generations. Then two courses learn the target: one begins with what the source's model says, the
//! other from nothing. After some generations they play against each other, one move ahead; 50 is even. All of it is done for
//! several seeds; positions and features to begin with are the same for all of them.
//!
//! With `--starts any`, matches of the courses and those between them begin anywhere: pieces stand on any cells, at any step. Both courses'
//! models then play as the first role against a player that sees one move ahead, too, as in Kuhlmann's experiments (2010); p is that
//! of a test with one tail over seeds whether the course with transfer does better.
//!
//! A course without transfer fits its first weights to positions that simpler players met. With `--without nothing` it begins with no
//! weights at all instead, and the other one with the source's as they are, without any test whether that helps; both look at the same
//! things then.

#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::sync::Arc;
use std::time::Instant;

use features::construct::{self, construct};
use features::feature::Feature;
use features::game::Game;
use features::positions::{self, Positions};
use insight::canonical::{BUDGET, canonical};
use learn::course::{Course, Settings};
use learn::model::Model;
use learn::player::one_ply;
use learn::td::start::Starts;
use learn::transfer::{self, Test, duel, relate, transfer};
use machine::scalar::{Compiled, Scalar};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use search::match_play::{self, on_threads};
use search::statistics::{Interval, student, welch, wilson};
use search::{Greedy, Limit};

fn main() {
    let options = Options::read();
    let [source, target] = [0, 1].map(|at| Prepared::new(&options.games[at], options.first[at], &options));
    let variant = relate(&source.game, &target.game).expect("the games are variants");
    let differences: Vec<&str> = variant.transformations.iter().map(|change| change.class.name()).collect();
    println!("{} -> {}: {}", options.games[0], options.games[1], differences.join(" + "));
    let mut points: Vec<Vec<Point>> = options.generations.iter().map(|_| Vec::new()).collect();
    for seed in 1..=options.seeds {
        let start = Instant::now();
        let mut teacher = source.course(seed, &options);
        (0..options.source).for_each(|_| _ = teacher.go_on(&|| false).expect("a generation"));
        let fresh = target.course(seed, &options);
        let settings = target.settings(seed, &options);
        let sight = &fresh.model().sight;
        let own = &sight.features;
        let came =
            transfer(teacher.model(), &variant, &target.game, own, settings.patterns.as_ref(), &sight.game_stages)
                .expect("weights are taken over");
        println!(
            "seed {seed}: {} of {} features and {} of {} slots have weights of the source",
            came.n_features,
            came.model.sight.features.len(),
            came.n_slots,
            came.model.sight.patterns.as_ref().map_or(0, |patterns| patterns.n_slots())
        );
        let (model, fresh) = if options.from_nothing {
            let blank = Course::from_model(without_weights(&came.model), &target.positions, settings.clone());
            (came.model, blank)
        } else {
            let test = Test { seed, matches: 200, teach: settings.teach.clone() };
            let better =
                transfer::better(std::slice::from_ref(&came), fresh.model(), &target.positions, &test, &|| false)
                    .expect("weights are fitted");
            let Some(better) = better else {
                println!("seed {seed}: that is not better than a fresh start");
                continue;
            };
            let how = if better.is_fitted { "fitted" } else { "as they are" };
            let from = if better.from_met { "from positions met" } else { "from the start" };
            println!("seed {seed}: {how}, {:.1} against a fresh start, {from}", 100.0 * better.score.mean);
            (better.model, fresh)
        };
        let mut courses = [Course::from_model(model, &target.positions, settings), fresh];
        for (&generation, points) in options.generations.iter().zip(&mut points) {
            for course in &mut courses {
                while course.history().len() <= generation {
                    course.go_on(&|| false).expect("a generation");
                }
            }
            let models = [courses[0].model(), courses[1].model()];
            let starts: Vec<&[u64]> = target.starts.iter().map(|state| &**state).collect();
            let (score, n) = duel(models, &starts, options.matches, seed, options.threads, &|| false);
            let ahead = models.map(|model| 100.0 * target.against_one_move_ahead(model, seed, &options));
            eprintln!(
                "seed {seed}, {:4.0} s, after {generation} generations: {}; {:.1} and {:.1}",
                start.elapsed().as_secs_f64(),
                shown(&score, 100.0),
                ahead[0],
                ahead[1],
            );
            points.push(Point { score: 100.0 * score.mean, n, ahead });
        }
    }
    println!("| generations | score of the course with transfer | matches | by seed |\n|--:|--:|--:|---|");
    for (generation, points) in options.generations.iter().zip(&points) {
        let n: usize = points.iter().map(|point| point.n).sum();
        let won: f64 = points.iter().map(|point| point.score / 100.0 * point.n as f64).sum();
        let by_seed: Vec<String> = points.iter().map(|point| format!("{:.0}", point.score)).collect();
        println!("| {generation} | {} | {n} | {} |", shown(&wilson(won, n as u64), 100.0), by_seed.join(", "));
    }
    if target.starts.is_empty() {
        return;
    }
    println!("\n| generations | from nothing, against one move ahead | with transfer | p |\n|--:|--:|--:|--:|");
    for (generation, points) in options.generations.iter().zip(&points) {
        let [with, without] = [0, 1].map(|course| points.iter().map(|point| point.ahead[course]).collect::<Vec<_>>());
        let p = welch(&with, &without);
        println!("| {generation} | {} | {} | {p:.4} |", shown(&student(&without), 1.0), shown(&student(&with), 1.0));
    }
}

/// A model that looks at the same and knows nothing.
fn without_weights(model: &Arc<Model>) -> Arc<Model> {
    let mut weights = model.weights.clone();
    for weights in &mut weights {
        let all = weights.features.iter_mut().chain(&mut weights.slots).flatten().chain(&mut weights.bias);
        all.for_each(|weight| *weight = 0.0);
    }
    Arc::new(Model::new(model.sight.clone(), weights, model.sum))
}

/// What was seen after some generations.
struct Point {
    /// The course with transfer against the one without, in so many matches.
    score: f64,
    n: usize,
    /// Both against a player that looks one move ahead.
    ahead: [f64; 2],
}

fn shown(score: &Interval, scale: f64) -> String {
    format!("{:.1} ({:.1} to {:.1})", scale * score.mean, scale * score.low, scale * score.high)
}

/// A game with what courses begin with.
struct Prepared {
    game: Arc<Game>,
    positions: Positions,
    features: Vec<Feature>,
    /// Where matches begin, unless it is the start.
    starts: Arc<[Box<[u64]>]>,
}

impl Prepared {
    fn new(name: &str, first: usize, options: &Options) -> Prepared {
        let bytes = std::fs::read(format!("games/{name}/rules.kif")).expect("the library has the game");
        let program = gdl::read(name, &bytes).program;
        let game = Game::new(canonical(&program, BUDGET).respelled(&program), 1).expect("the game has a network");
        let play = positions::Settings { positions: first, ..positions::Settings::default() };
        let positions = positions::collect(&game, &play, &mut |_| true).positions;
        let settings = construct::Settings { threads: options.threads, ..construct::Settings::default() };
        let set = construct(&game, &positions, &settings, &mut |_| true).expect("there are features");
        let features = set.features.into_iter().map(|selected| selected.feature).collect();
        let starts = options.any_start.then(|| Starts::new(&game).expect("a game of pieces on a board").all());
        Prepared { game: Arc::new(game), positions, features, starts: starts.unwrap_or_default().into() }
    }

    fn course(&self, seed: u64, options: &Options) -> Course {
        Course::begin(self.game.clone(), &self.positions, self.features.clone(), self.settings(seed, options))
            .expect("a course")
    }

    fn settings(&self, seed: u64, options: &Options) -> Settings {
        let mut settings = Settings { seed, positions: options.positions, ..Settings::default() };
        (settings.play.threads, settings.teach.threads) = (options.threads, options.threads);
        if !self.starts.is_empty() {
            (settings.play.starts, settings.play.opening) = (self.starts.clone(), 0);
        }
        settings
    }

    /// The mean result of a model as the first role, from 0 to 1, if there are other starts than one.
    fn against_one_move_ahead(&self, model: &Arc<Model>, seed: u64, options: &Options) -> f64 {
        if self.starts.is_empty() {
            return f64::NAN;
        }
        let compiled = Compiled::new(self.game.circuit.network.clone());
        let machine = || Scalar::new(compiled.clone());
        let results = on_threads(0..options.matches, options.threads, machine, |machine, number| {
            let mut random = Pcg64Mcg::seed_from_u64(1_000 * seed + u64::from(number));
            machine.jump(&self.starts[random.random_range(0..self.starts.len())]);
            let mut own = one_ply(model, u64::from(number));
            let mut ahead = Greedy::new(Scalar::new(compiled.clone()), u64::from(number));
            let limit = Limit::nodes(u64::MAX);
            let mut think = |_, choose: &mut dyn FnMut(&Limit) -> search::Answer| choose(&limit);
            let played = match_play::play_on(machine, &mut [&mut *own, &mut ahead], &[], 500, &mut think);
            played.goals[0].map(|goal| goal as f64 / 100.0)
        });
        results.iter().sum::<f64>() / results.len() as f64
    }
}

struct Options {
    games: Vec<String>,
    /// Positions to begin with, of the source and of the target.
    first: [usize; 2],
    /// Positions that a generation plays.
    positions: usize,
    source: usize,
    generations: Vec<usize>,
    seeds: u64,
    matches: u32,
    threads: usize,
    any_start: bool,
    from_nothing: bool,
}

impl Options {
    fn read() -> Options {
        let mut options = Options {
            games: Vec::new(),
            first: [positions::Settings::default().positions; 2],
            positions: Settings::default().positions,
            source: 30,
            generations: vec![0, 1, 2, 4, 8],
            seeds: 3,
            matches: 400,
            threads: 2,
            any_start: false,
            from_nothing: false,
        };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            let Some(name) = argument.strip_prefix("--") else {
                options.games.push(argument);
                continue;
            };
            let value = arguments.next().expect("an option has a value");
            let number = |text: &str| text.parse::<usize>().expect("a number");
            match name {
                "first" => options.first[1] = number(&value),
                "positions" => options.positions = number(&value),
                "source" => options.source = number(&value),
                "generations" => options.generations = value.split(',').map(number).collect(),
                "seeds" => options.seeds = number(&value) as u64,
                "matches" => options.matches = number(&value) as u32,
                "threads" => options.threads = number(&value),
                "starts" => options.any_start = value == "any",
                "without" => options.from_nothing = value == "nothing",
                _ => panic!("unknown option --{name}"),
            }
        }
        assert_eq!(options.games.len(), 2, "name a source and a target");
        options
    }
}
