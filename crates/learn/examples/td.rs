//! Learns a game by TD(λ) and shows how: the learning curve, and results against baselines with nothing learned or tried out.
//!
//! `cargo run --release -p learn --example td -- GAME [--mode thesis|improved] [--matches N] [--evaluation N] [--role R] [--seed S]
//! [--alpha A] [--gamma G] [--depth D]`, where the depth is that of searches in improved mode: in training and in the evaluation

#![allow(clippy::print_stdout)]

use std::sync::Arc;
use std::time::Instant;

use features::construct::{self, FeatureSet, Mode, construct};
use features::game::Game;
use features::positions::{self, Positions, collect};
use learn::model::{Model, Sum};
use learn::seat::Seat;
use learn::sight::{PatternSettings, Sight};
use learn::stage::Stages;
use learn::td::thesis::{Learner, share};
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
    role: Option<u32>,
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
        role: None,
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
            "--role" => options.role = Some(number()),
            "--seed" => options.seed = number().into(),
            "--alpha" => options.alpha = Some(value.parse().expect("a number")),
            "--gamma" => options.gamma = value.parse().expect("a number"),
            "--depth" => options.depth = number(),
            _ => panic!("there is no option {option}"),
        }
    }
    options
}

fn features(game: &Game, positions: &Positions, mode: Mode) -> FeatureSet {
    let start = Instant::now();
    let settings = construct::Settings { mode, ..Default::default() };
    let set = construct(game, positions, &settings, &mut |_| true).expect("features");
    println!("{} features, {:.1} s", set.features.len(), start.elapsed().as_secs_f64());
    set
}

fn as_in_the_thesis(options: &Options, game: Arc<Game>, positions: &Positions) {
    let set = features(&game, positions, Mode::Thesis);
    let maxima: Vec<i32> = set.features.iter().map(|selected| selected.max).collect();
    let chosen = set.features.into_iter().map(|selected| selected.feature).collect();
    let sight = Arc::new(Sight::new(game.clone(), chosen, None, &Stages::default()).expect("a sight"));
    let defaults = thesis::Settings::default();
    let matches = options.matches.unwrap_or(defaults.matches);
    let rates = Rates { alpha: options.alpha.unwrap_or(defaults.rates.alpha), gamma: options.gamma, ..defaults.rates };
    let settings = thesis::Settings { seed: options.seed, matches, evaluation: options.evaluation, rates, ..defaults };
    let compiled = Compiled::new(game.circuit.network.clone());
    let mut shares = Vec::new();
    for role in roles(&game, options).map(RoleId) {
        let name = &game.circuit.network.roles[role.0 as usize];
        let fuzzy = |seed| td::fuzzy_player(&game, seed).expect("few enough ground rules");
        let mut learner = Learner::new(sight.clone(), role, &maxima, settings.seed);
        let (start, step) = (Instant::now(), (matches / 20).max(1) as usize);
        learner.train(&mut fuzzy(settings.seed + 1), &settings, &mut |results| {
            if results.len() % step == 0 {
                let (own, _) = points(&results[results.len() - step..]);
                println!("{name} {:5}: {:.1}, {:.1} s", results.len(), own, start.elapsed().as_secs_f64());
            }
            true
        });
        let mut random = Random::new(compiled.clone(), settings.seed + 3);
        let others: [(&str, &mut dyn Player); 2] = [("fuzzy", &mut fuzzy(settings.seed + 2)), ("random", &mut random)];
        for (other, player) in others {
            let results = learner.evaluate(player, &settings);
            let means = report(&format!("{name} against {other}"), &results, role, game.universe.roles.len());
            if other == "fuzzy" {
                let alone = game.universe.roles.len() == 1;
                let others = if alone { solo(&game, &mut fuzzy(9), &settings) } else { means.1 };
                shares.push(share(means.0, others));
                println!("    opponents {others:.2}");
            }
        }
    }
    println!("share against fuzzy {:.1} %", 100.0 * shares.iter().sum::<f64>() / shares.len().max(1) as f64);
}

/// What a player gets in a game for one.
fn solo(game: &Game, player: &mut dyn Player, settings: &thesis::Settings) -> f64 {
    let mut machine = Scalar::new(Compiled::new(game.circuit.network.clone()));
    let mut one = |_| {
        let plies = settings.plies as usize;
        let mut think = |_: RoleId, choose: &mut dyn FnMut(&Limit) -> search::Answer| choose(&Limit::nodes(u64::MAX));
        match_play::play(&mut machine, &mut [&mut *player], &[], plies, &mut think).goals[0]
    };
    points(&(0..settings.evaluation).map(&mut one).collect::<Vec<_>>()).0
}

fn by_itself(options: &Options, game: Arc<Game>, positions: &Positions) {
    let set = features(&game, positions, Mode::Default);
    let chosen = set.features.into_iter().map(|selected| selected.feature).take(60).collect();
    let stages = Stages::find(&game, positions, 4);
    let sight = Sight::new(game.clone(), chosen, Some(&PatternSettings::default()), &stages).expect("a sight");
    let shared = game.structure.outcomes.sum == Some(100) && game.universe.roles.len() == 2;
    let sum = if shared { Sum::Shared } else { Sum::Free };
    let defaults = improved::Settings::default();
    let matches = options.matches.unwrap_or(defaults.matches);
    let alpha = options.alpha.unwrap_or(defaults.alpha);
    let settings =
        improved::Settings { seed: options.seed, matches, alpha, depth: options.depth, threads: 2, ..defaults };
    let (start, step) = (Instant::now(), (matches / 10).max(1));
    let (mut surprise, mut n, mut former) = (0.0, 0.0, (0.0, 0));
    let zeros = Arc::new(improved::zeros(&Arc::new(sight), sum));
    let model = improved::train(&zeros, &settings, &mut |batch, model| {
        surprise += batch.surprise;
        n += 1.0;
        former = (former.0 + batch.against_former.0, former.1 + batch.against_former.1);
        if batch.n_matches / step > (batch.n_matches - 1).saturating_sub(settings.batch - 1) / step {
            let quick: Vec<String> = roles(&game, options)
                .map(|role| format!("{:.1}", measure(model, RoleId(role), 100, "random", options.depth).0))
                .collect();
            println!(
                "{:5}: surprise {:.3}, {:.1} of {} against former selves, random {}, {:.1} s",
                batch.n_matches,
                surprise / n,
                former.0,
                former.1,
                quick.join(" "),
                start.elapsed().as_secs_f64()
            );
            (surprise, n, former) = (0.0, 0.0, (0.0, 0));
        }
        true
    });
    for role in roles(&game, options).map(RoleId) {
        for other in ["fuzzy", "random"] {
            let (_, results) = measure(&model, role, options.evaluation, other, options.depth);
            let name = &game.circuit.network.roles[role.0 as usize];
            report(&format!("{name} against {other}"), &results, role, game.universe.roles.len());
        }
    }
}

/// Matches of the model's player, which searches so deep, against a baseline: its mean result, and all results.
fn measure(model: &Arc<Model>, role: RoleId, matches: u32, other: &str, depth: u32) -> (f64, Vec<Vec<Option<i64>>>) {
    let game = &model.sight.game;
    let compiled = Compiled::new(game.circuit.network.clone());
    let mut machine = Scalar::new(compiled.clone());
    let one = |number: u64| {
        let seat = |seat: usize| -> Box<dyn Player> {
            let seed = 1_000 * number + seat as u64;
            match other {
                _ if seat == role.0 as usize => {
                    let settings = alpha_beta::Settings { depth, bytes: 1 << 16, ..Default::default() };
                    let player = AlphaBeta::new(model.judge(), model.sight.nature.clone(), settings, seed);
                    Box::new(Seat::new(player, model.sight.clone()))
                }
                "fuzzy" => Box::new(td::fuzzy_player(game, seed).expect("few enough ground rules")),
                _ => Box::new(Random::new(compiled.clone(), seed)),
            }
        };
        let mut players: Vec<Box<dyn Player>> = (0..game.universe.roles.len()).map(seat).collect();
        let mut seats: Vec<&mut dyn Player> = players.iter_mut().map(|player| &mut **player as _).collect();
        let mut think = |_: RoleId, choose: &mut dyn FnMut(&Limit) -> search::Answer| choose(&Limit::nodes(u64::MAX));
        match_play::play(&mut machine, &mut seats, &[], 1_000, &mut think).goals
    };
    let results: Vec<Vec<Option<i64>>> = (0..u64::from(matches)).map(one).collect();
    let own: Vec<Option<i64>> = results.iter().map(|results| results[role.0 as usize]).collect();
    (points(&own).0, results)
}

fn roles(game: &Game, options: &Options) -> impl Iterator<Item = u32> + use<> {
    let only = options.role;
    (0..game.universe.roles.len() as u32).filter(move |&role| only.is_none_or(|only| only == role))
}

/// The mean of what is known, and how much that is.
fn points(results: &[Option<i64>]) -> (f64, usize) {
    let known: Vec<f64> = results.iter().flatten().map(|&goal| goal as f64).collect();
    (known.iter().sum::<f64>() / known.len().max(1) as f64, known.len())
}

/// Prints a role's mean result with its interval; returns it with the mean of the others'.
fn report(what: &str, results: &[Vec<Option<i64>>], role: RoleId, n_roles: usize) -> (f64, f64) {
    let of = |role: usize| results.iter().map(|results| results[role]).collect::<Vec<_>>();
    let own: Vec<f64> = of(role.0 as usize).into_iter().flatten().map(|goal| goal as f64).collect();
    let found = statistics::bootstrap(&own, 2_000, &mut Pcg64Mcg::seed_from_u64(1));
    let others = (0..n_roles).filter(|&other| other != role.0 as usize).map(|other| points(&of(other)).0);
    let others = others.sum::<f64>() / (n_roles - 1).max(1) as f64;
    println!("{what}: {:.2} ({:.2} to {:.2}, {} matches)", found.mean, found.low, found.high, own.len());
    (found.mean, others)
}
