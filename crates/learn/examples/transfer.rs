//! Shows what a model of one game is worth in a variant of it: `cargo run --release -p learn --example transfer -- SOURCE TARGET
//! [--first 12000] [--positions 30000] [--source 30] [--generations 0,1,2,4,8] [--seeds 3] [--matches 400] [--threads 2]`.
//!
//! The source is learned for some generations. Then two courses learn the target: one begins with what the source's model says, the
//! other from nothing. After some generations they play against each other, one move ahead; 50 is even. All of it is done for
//! several seeds; positions and features to begin with are the same for all of them.

#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::sync::Arc;
use std::time::Instant;

use features::construct::{self, construct};
use features::feature::Feature;
use features::game::Game;
use features::positions::{self, Positions};
use insight::canonical::{BUDGET, canonical};
use learn::course::{Course, Settings};
use learn::transfer::{Test, duel, relate, transfer};
use search::statistics::wilson;

fn main() {
    let options = Options::read();
    let [source, target] = [0, 1].map(|at| Prepared::new(&options.games[at], options.first[at], options.threads));
    let variant = relate(&source.game, &target.game).expect("the games are variants");
    let differences: Vec<&str> = variant.transformations.iter().map(|change| change.class.name()).collect();
    println!("{} -> {}: {}", options.games[0], options.games[1], differences.join(" + "));
    let mut points: Vec<(f64, usize, Vec<f64>)> = vec![(0.0, 0, Vec::new()); options.generations.len()];
    for seed in 1..=options.seeds {
        let start = Instant::now();
        let mut teacher = source.course(seed, &options);
        (0..options.source).for_each(|_| _ = teacher.go_on(&|| false).expect("a generation"));
        let fresh = target.course(seed, &options);
        let settings = settings(seed, &options);
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
        let test = Test { seed, matches: 200, teach: settings.teach.clone() };
        let better = came.better(fresh.model(), &target.positions, &test, &|| false).expect("weights are fitted");
        let Some(better) = better else {
            println!("seed {seed}: that is not better than a fresh start");
            continue;
        };
        let how = if better.is_fitted { "fitted" } else { "as they are" };
        println!("seed {seed}: {how}, {:.1} against a fresh start", 100.0 * better.score.mean);
        let model = better.model;
        let mut courses = [Course::from_model(model, &target.positions, settings), fresh];
        for (&generation, sum) in options.generations.iter().zip(&mut points) {
            for course in &mut courses {
                while course.history().len() <= generation {
                    course.go_on(&|| false).expect("a generation");
                }
            }
            let models = [courses[0].model(), courses[1].model()];
            let (score, n) = duel(models, options.matches, seed, options.threads, &|| false);
            sum.0 += score.mean * n as f64;
            sum.1 += n;
            sum.2.push(100.0 * score.mean);
            eprintln!(
                "seed {seed}, {:4.0} s, after {generation} generations: {:.1} ({:.1} to {:.1})",
                start.elapsed().as_secs_f64(),
                100.0 * score.mean,
                100.0 * score.low,
                100.0 * score.high
            );
        }
    }
    println!("| generations | score of the course with transfer | 95 % | matches | by seed |\n|--:|--:|--:|--:|---|");
    for (generation, (points, n, by_seed)) in options.generations.iter().zip(&points) {
        let score = wilson(*points, *n as u64);
        let by_seed: Vec<String> = by_seed.iter().map(|score| format!("{score:.0}")).collect();
        println!(
            "| {generation} | {:.1} | {:.1} to {:.1} | {n} | {} |",
            100.0 * score.mean,
            100.0 * score.low,
            100.0 * score.high,
            by_seed.join(", ")
        );
    }
}

/// A game with what courses begin with.
struct Prepared {
    game: Arc<Game>,
    positions: Positions,
    features: Vec<Feature>,
}

impl Prepared {
    fn new(name: &str, first: usize, threads: usize) -> Prepared {
        let bytes = std::fs::read(format!("games/{name}/rules.kif")).expect("the library has the game");
        let program = gdl::read(name, &bytes).program;
        let game = Game::new(canonical(&program, BUDGET).respelled(&program), 1).expect("the game has a network");
        let play = positions::Settings { positions: first, ..positions::Settings::default() };
        let positions = positions::collect(&game, &play, &mut |_| true).positions;
        let settings = construct::Settings { threads, ..construct::Settings::default() };
        let set = construct(&game, &positions, &settings, &mut |_| true).expect("there are features");
        let features = set.features.into_iter().map(|selected| selected.feature).collect();
        Prepared { game: Arc::new(game), positions, features }
    }

    fn course(&self, seed: u64, options: &Options) -> Course {
        Course::begin(self.game.clone(), &self.positions, self.features.clone(), settings(seed, options))
            .expect("a course")
    }
}

fn settings(seed: u64, options: &Options) -> Settings {
    let mut settings = Settings { seed, positions: options.positions, ..Settings::default() };
    (settings.play.threads, settings.teach.threads) = (options.threads, options.threads);
    settings
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
                _ => panic!("unknown option --{name}"),
            }
        }
        assert_eq!(options.games.len(), 2, "name a source and a target");
        options
    }
}
