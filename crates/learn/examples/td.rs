//! Learns a game by TD(λ) and shows how: the learning curve, and results against baselines with nothing learned or tried out.
//!
//! `cargo run --release -p learn --example td -- GAME [--mode thesis|improved] [--matches N] [--evaluation N] [--seed S] [--alpha A]
//! [--gamma G] [--expanded N] [--price P] [--depth D]`, where the depth is that of searches in improved mode, in training and in the
//! evaluation. In thesis mode so many features are expanded at most, and a step of evaluating them is taken to cost so many microseconds. `senet learn --method td` does the same and keeps what came of it.

#![allow(clippy::print_stdout)]

use std::sync::Arc;
use std::time::Instant;

use features::columns::Columns;
use features::construct::{self, FeatureSet, Mode, construct};
use features::feature::Feature;
use features::game::{Game, Views};
use features::logic::rules::Rules;
use features::logic::{generate, preimage, select, transform};
use features::positions::{self, Positions, collect};
use learn::model::Model;
use learn::seat::Seat;
use learn::sight::Sight;
use learn::stage::Stages;
use learn::td::thesis::share;
use learn::td::update::Rates;
use learn::td::{self, improved, thesis};
use machine::RoleId;
use machine::scalar::{Compiled, Scalar};
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;
use search::{AlphaBeta, Limit, Player, Random, alpha_beta, match_play, statistics};

struct Options {
    game: String,
    mode: String,
    matches: Option<u32>,
    evaluation: u32,
    expanded: usize,
    price: Option<f64>,
    seed: u64,
    alpha: Option<f64>,
    gamma: f64,
    depth: u32,
}

fn main() {
    let options = read_options();
    let start = Instant::now();
    let text = std::fs::read(format!("games/{}/rules.kif", options.game)).expect("a game of the library");
    let game = Arc::new(Game::new(gdl::read(&options.game, &text).program, 1).expect("a network"));
    let positions = collect(&game, &positions::Settings::default(), &mut |_| true).positions;
    println!("{} positions, {:.1} s", positions.len(), start.elapsed().as_secs_f64());
    match options.mode.as_str() {
        "thesis" => as_in_the_thesis(&options, game, &positions),
        "improved" => by_itself(&options, game, &positions),
        other => println!("there is no mode `{other}`: it is `thesis` or `improved`"),
    }
}

fn read_options() -> Options {
    let mut args = std::env::args().skip(1);
    let mut options = Options {
        game: args.next().expect("a game"),
        mode: "thesis".to_owned(),
        matches: None,
        evaluation: 400,
        expanded: 100_000,
        price: None,
        seed: 1,
        alpha: None,
        gamma: Rates::default().gamma,
        depth: 2,
    };
    while let Some(option) = args.next() {
        let value = args.next().expect("options have values");
        let number = || value.parse().expect("a number");
        match option.as_str() {
            "--mode" => options.mode = value,
            "--matches" => options.matches = Some(number()),
            "--evaluation" => options.evaluation = number(),
            "--price" => options.price = Some(value.parse().expect("a number")),
            "--expanded" => options.expanded = number() as usize,
            "--seed" => options.seed = number().into(),
            "--alpha" => options.alpha = Some(value.parse().expect("a number")),
            "--gamma" => options.gamma = value.parse().expect("a number"),
            "--depth" => options.depth = number(),
            _ => panic!("there is no option {option}"),
        }
    }
    options
}

fn features(game: &Game, positions: &Positions, mode: Mode, options: &Options) -> FeatureSet {
    let start = Instant::now();
    let settings = construct::Settings { mode, thesis_expanded: options.expanded, ..Default::default() };
    let set = construct(game, positions, &settings, &mut |_| true).expect("features");
    println!("{} features, {:.1} s", set.features.len(), start.elapsed().as_secs_f64());
    set
}

/// The thesis's features, where a step of evaluation is taken to cost so many microseconds; `Mode::Thesis` takes 10.
fn at_a_price(game: &Game, positions: &Positions, options: &Options, price: f64) -> Vec<Feature> {
    let some_of =
        |from: &Positions, n: usize| from.select((0..n.min(from.len())).map(|at| at * from.len() / n.min(from.len())));
    let views = Views::new(game).expect("a network");
    let all = positions.without_terminal().unique();
    let states = some_of(&all.select((0..all.len()).filter(|&at| all.levels[at] == 0)), 3_000);
    let sample = some_of(&states, 100);
    let mut large = Columns::new(game, &views, &states.views());
    large.limit = 3_000_000;
    let mut small = Columns::new(game, &views, &sample.views());
    small.limit = 50_000;
    let rules = Rules::new(&game.program);
    let limits = transform::Limits::THESIS;
    let dynamics = preimage::Dynamics::thesis(&game.universe, &game.samples);
    let preimages = preimage::Preimages::new(&rules, &limits.simplify, &dynamics);
    let context = transform::Context { rules: &rules, preimages: &preimages, limits: &limits };
    let settings = generate::Settings { max_expanded: options.expanded, ..generate::Settings::THESIS };
    let generated = generate::generate(&context, &settings, &mut small, &mut |_, _| true);
    let mut cost = |feature: &Feature| match small.values(feature) {
        Some(_) => small.steps as f64 / sample.len() as f64 * price,
        None => f64::INFINITY,
    };
    let found = select::select(&select::Settings::THESIS, &generated, &mut large, &mut cost, &mut |_| true);
    println!("{} features at {price} µs a step", found.features.len());
    found.features.iter().map(|&at| generated.nodes[at].feature.clone()).collect()
}

fn as_in_the_thesis(options: &Options, game: Arc<Game>, positions: &Positions) {
    let chosen = match options.price {
        Some(price) => at_a_price(&game, positions, options, price),
        None => {
            let set = features(&game, positions, Mode::Thesis, options);
            set.features.into_iter().map(|selected| selected.feature).collect()
        }
    };
    let sight = Arc::new(Sight::new(game.clone(), chosen, None, &Stages::default()).expect("a sight"));
    let defaults = thesis::Settings::default();
    let matches = options.matches.unwrap_or(defaults.matches);
    let rates = Rates { alpha: options.alpha.unwrap_or(defaults.rates.alpha), gamma: options.gamma, ..defaults.rates };
    let generation = (matches / 10).max(1);
    let evaluation = options.evaluation;
    let settings = thesis::Settings { seed: options.seed, matches, generation, evaluation, rates, ..defaults };
    let maxima = thesis::maxima(&sight, positions);
    let mut training = thesis::Training::begin(&sight, maxima, settings).expect("few enough ground rules");
    let start = Instant::now();
    while training.go_on(&|| false) {
        let last = training.history().last().expect("one has just been played");
        let results = last.results.iter().map(|mean| mean.map_or("-".to_owned(), |mean| format!("{mean:.1}")));
        let seconds = start.elapsed().as_secs_f64();
        println!("{:5}: {}, {seconds:.1} s", last.n_matches, results.collect::<Vec<_>>().join(" "));
    }
    let mut shares = Vec::new();
    for role in 0..game.universe.roles.len() {
        let trial = training.evaluate(RoleId(role as u32), &|| false);
        let (own, others) = (mean(&trial.own), mean(&trial.others));
        println!("{} against fuzzy: {}, opponents {:.2}", role_name(&game, role), own, others.mean);
        shares.push(share(own.mean, others.mean));
    }
    println!("share against fuzzy {:.1} %", 100.0 * shares.iter().sum::<f64>() / shares.len() as f64);
}

fn role_name(game: &Game, role: usize) -> &str {
    &game.circuit.network.roles[role]
}

fn by_itself(options: &Options, game: Arc<Game>, positions: &Positions) {
    let set = features(&game, positions, Mode::Default, options);
    let chosen = set.features.into_iter().map(|selected| selected.feature).collect();
    let defaults = improved::Settings::default();
    let matches = options.matches.unwrap_or(1_000);
    let alpha = options.alpha.unwrap_or(defaults.alpha);
    let settings = improved::Settings { seed: options.seed, alpha, depth: options.depth, ..defaults };
    let mut training = improved::Training::begin(game.clone(), positions, chosen, settings).expect("a sight");
    let start = Instant::now();
    while training.history().last().is_some_and(|last| last.n_matches < matches) && training.go_on(&|| false) {
        let last = training.history().last().expect("one has just been played");
        let losses = last.losses.iter().map(|loss| format!("{loss:.3}")).collect::<Vec<_>>().join(" ");
        let results = last.results.iter().map(|part| format!("{:.1}", 100.0 * part)).collect::<Vec<_>>().join(" ");
        let strength = last.strength.map_or(String::new(), |strength| format!(", {:.0} %", 100.0 * strength));
        let seconds = start.elapsed().as_secs_f64();
        println!("{:5}: loss {losses}, results {results}{strength}, {seconds:.1} s", last.n_matches);
    }
    for role in 0..game.universe.roles.len() {
        for other in ["fuzzy", "random"] {
            let found = measure(training.model(), RoleId(role as u32), options, other);
            println!("{} against {other}: {found}", role_name(&game, role));
        }
    }
}

/// Matches of the model's player against a baseline: its mean result.
fn measure(model: &Arc<Model>, role: RoleId, options: &Options, other: &str) -> Mean {
    let game = &model.sight.game;
    let compiled = Compiled::new(game.circuit.network.clone());
    let mut machine = Scalar::new(compiled.clone());
    let opponents = td::Opponents::new(game).expect("few enough ground rules");
    let one = |number: u64| {
        let seat = |seat: usize| -> Box<dyn Player> {
            let seed = 1_000 * number + seat as u64;
            match other {
                _ if seat == role.0 as usize => {
                    let depth = options.depth;
                    let settings = alpha_beta::Settings { depth, bytes: 1 << 16, ..Default::default() };
                    let player = AlphaBeta::new(model.judge(), model.sight.nature.clone(), settings, seed);
                    Box::new(Seat::new(player, model.sight.clone()))
                }
                "fuzzy" => Box::new(opponents.player(seed)),
                _ => Box::new(Random::new(compiled.clone(), seed)),
            }
        };
        let mut players: Vec<Box<dyn Player>> = (0..game.universe.roles.len()).map(seat).collect();
        let mut seats: Vec<&mut dyn Player> = players.iter_mut().map(|player| &mut **player as _).collect();
        let mut think = |_: RoleId, choose: &mut dyn FnMut(&Limit) -> search::Answer| choose(&Limit::nodes(u64::MAX));
        match_play::play(&mut machine, &mut seats, &[], 1_000, &mut think).goals[role.0 as usize]
    };
    mean(&(0..u64::from(options.evaluation)).filter_map(one).map(|goal| goal as f64).collect::<Vec<_>>())
}

/// A mean with its interval.
struct Mean {
    mean: f64,
    low: f64,
    high: f64,
    n: usize,
}

fn mean(results: &[f64]) -> Mean {
    let found = statistics::bootstrap(results, 2_000, &mut Pcg64Mcg::seed_from_u64(1));
    Mean { mean: found.mean, low: found.low, high: found.high, n: results.len() }
}

impl std::fmt::Display for Mean {
    fn fmt(&self, to: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(to, "{:.2} ({:.2} to {:.2}, {} matches)", self.mean, self.low, self.high, self.n)
    }
}
