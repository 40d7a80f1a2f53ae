//! Learns a game and lets searches with what was learned play against each other: `cargo run --release -p learn --example course
//! -- GAME [--learn SECONDS | --generations N] [--model FILE] [--players uct,mcts,alpha-beta,greedy,fuzzy,random] [--seconds 0.1] [--matches 50]
//! [--opening 2] [--threads 2] [--seed 1] [--set KEY=VALUE]`. With `--model` the model is kept in the file, and read from there if
//! it exists; with `--rival` players whose names begin with `rival-` play by the model in that file. The first player plays against each of
//! the others. `uct@2000` thinks for 2,000 nodes instead of a time,
//! `learned:2` on two threads, and `alpha-beta:doubts` looks further where estimates are mostly wrong.

#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use features::construct::{self, construct};
use features::game::Game;
use features::positions;
use learn::course::{self, Course, Stored};
use learn::fit::stages::Rules;
use learn::label;
use learn::model::Model;
use learn::player::{Search, one_ply, player};
use learn::seat::Seat;
use learn::teach::{Distinct, Sharing};
use machine::{lanes, scalar};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use search::match_play::{Work, on_threads, opening, play};
use search::statistics::wilson;

use search::{AlphaBeta, BestFirst, Fuzzy, Greedy, Limit, Player, Random, Uct, alpha_beta, best_first, fuzzy, uct};

fn main() {
    let options = Options::read();
    let bytes = std::fs::read(format!("games/{}/rules.kif", options.game)).expect("the library has the game");
    let game = Arc::new(Game::new(gdl::read(&options.game, &bytes).program, 1).expect("the game has a network"));
    let kept = options.model.as_ref().and_then(|file| std::fs::read(file).ok());
    let model = match kept {
        Some(bytes) => Stored::from_bytes(&bytes).expect("a model").load(game.clone()).expect("of this game"),
        None => {
            let course = learn(&game, &options);
            if let Some(file) = &options.model {
                std::fs::write(file, course.checkpoint().model.to_bytes()).expect("the file can be written");
            }
            course.model().clone()
        }
    };
    let rival = options.rival.as_ref().map(|file| {
        let bytes = std::fs::read(file).expect("a model of the rival");
        Stored::from_bytes(&bytes).expect("a model").load(game.clone()).expect("of this game")
    });
    let table =
        Table {
            rival,
            scalar: scalar::Compiled::new(game.circuit.network.clone()),
            lanes: lanes::Compiled::new(game.circuit.network.clone()),
            fuzzy: game.circuit.ground.as_ref().map(|ground| {
                Arc::new(fuzzy::Compiled::new(ground, &game.universe, &game.circuit, Some(&game.structure)))
            }),
            model,
        };
    for other in &options.players[1..] {
        contest(&game, &table, &options, &options.players[0], other);
    }
}

fn learn(game: &Arc<Game>, options: &Options) -> Course {
    let start = Instant::now();
    let played = positions::collect(game, &positions::Settings::default(), &mut |_| true).positions;
    let settings = construct::Settings { threads: options.threads, ..construct::Settings::default() };
    let set = construct(game, &played, &settings, &mut |_| true).expect("there are features");
    let features = set.features.into_iter().map(|selected| selected.feature).collect();
    let mut settings = course::Settings { seed: options.seed, ..course::Settings::default() };
    settings.play.threads = options.threads;
    for (key, value) in &options.settings {
        match key.as_str() {
            "lambda" => settings.play.lambda = *value as f32,
            "chance" => settings.play.chance = *value,
            "opening" => settings.play.opening = *value as u32,
            "rate" => settings.rate = *value as f32,
            "stages" => settings.stages = *value as usize,
            "positions" => settings.positions = *value as usize,
            "slots" => settings.patterns.as_mut().expect("patterns").slots = *value as usize,
            "slot-ridge" => settings.teach.slot_ridge = *value,
            "tied" => settings.patterns.as_mut().expect("patterns").tied = *value as usize,
            "ways" => settings.ways = *value > 0.0,
            "instances" => settings.patterns.as_mut().expect("patterns").instances = *value as usize,
            // Labels by searches of so many nodes; `label-exact` nodes to solve a position, `label-positions` in each stage.
            "label" => label(&mut settings).nodes = *value as u64,
            "label-exact" => label(&mut settings).exact = *value as u64,
            "label-positions" => label(&mut settings).positions = *value as usize,
            "label-successors" => label(&mut settings).successors = *value > 0.0,
            "distinct" => settings.teach.distinct = [Distinct::All, Distinct::Unique][*value as usize],
            "lines" => settings.teach.sharing = Sharing::Lines(*value as usize),
            "merge" => settings.teach.sharing = Sharing::Merged(Rules { own: *value as u32, ..Rules::default() }),
            "mirror" => settings.teach.mirror = *value > 0.0,
            _ => panic!("unknown setting {key}"),
        }
    }
    settings.teach.threads = options.threads;
    eprintln!("features after {:.1} s", start.elapsed().as_secs_f64());
    let mut course = Course::begin(game.clone(), &played, features, settings).expect("a course");
    if let Some(patterns) = &course.model().sight.patterns {
        eprintln!(
            "{} instances of {} orbits, {} slots",
            patterns.n_instances(),
            patterns.orbits.len(),
            patterns.n_slots()
        );
    }
    let is_over = || options.generations.is_none() && start.elapsed().as_secs_f64() >= options.learn;
    loop {
        let last = course.history().last().expect("a beginning");
        eprintln!("{:6.1} s: {} matches, losses {:.4?}", start.elapsed().as_secs_f64(), last.n_matches, last.losses);
        let enough = options.generations.is_some_and(|n| course.history().len() > n);
        if enough || is_over() || !course.go_on(&is_over).expect("a generation") {
            return course;
        }
    }
}

fn label(settings: &mut course::Settings) -> &mut label::Settings {
    settings.label.get_or_insert_default()
}

struct Table {
    scalar: Arc<scalar::Compiled>,
    lanes: Arc<lanes::Compiled>,
    fuzzy: Option<Arc<fuzzy::Compiled>>,
    model: Arc<Model>,
    rival: Option<Arc<Model>>,
}

impl Table {
    fn player(&self, name: &str, seed: u64) -> Box<dyn Player> {
        let (model, name) = match name.strip_prefix("rival-") {
            Some(name) => (self.rival.as_ref().expect("--rival names a model"), name),
            None => (&self.model, name),
        };
        let name = name.split_once('@').map_or(name, |(name, _)| name);
        let (name, setting) = name.split_once(':').unwrap_or((name, ""));
        match name {
            "uct" => Box::new(Uct::new(self.lanes.clone(), uct::Settings::default(), seed)),
            "mcts" => {
                let mut settings = uct::Settings { width: (8, 64), share: 8, ..uct::Settings::default() };
                for part in setting.split('+').filter(|part| !part.is_empty()) {
                    let (key, value) = part.split_once('=').expect("KEY=VALUE");
                    let number: f32 = value.parse().expect("a number");
                    match key {
                        "c" => settings.exploration = number,
                        "w" => settings.width.1 = number as usize,
                        "l" => settings.width.0 = number as usize,
                        "s" => settings.share = number as usize,
                        "f" => settings.first = number,
                        "p" => settings.playout = number,
                        _ => panic!("unknown setting {key}"),
                    }
                }
                let player = Uct::new(model.sight.lanes.clone(), settings, seed).judging_by(Box::new(model.opinion()));
                Box::new(Seat::new(player, model.sight.clone()))
            }
            "best" => {
                let mut settings = best_first::Settings::default();
                for part in setting.split('+').filter(|part| !part.is_empty()) {
                    let (key, value) = part.split_once('=').expect("KEY=VALUE");
                    let number: f32 = value.parse().expect("a number");
                    match key {
                        "c" => settings.doubt = number,
                        "w" => settings.width = number as usize,
                        "s" => settings.share = number as usize,
                        "b" => settings.best = number,
                        "h" => settings.held = number,
                        _ => panic!("unknown setting {key}"),
                    }
                }
                let player = BestFirst::new(model.sight.lanes.clone(), Box::new(model.opinion()), settings, seed);
                Box::new(Seat::new(player, model.sight.clone()))
            }
            "alpha-beta" => {
                let settings =
                    alpha_beta::Settings { bytes: 64 << 20, doubts: setting == "doubts", ..Default::default() };
                let player = AlphaBeta::new(model.judge(), model.sight.nature.clone(), settings, seed);
                Box::new(Seat::new(player, model.sight.clone()))
            }
            "learned" => player(model, Search::fitting(&model.sight)[0], setting.parse().unwrap_or(1), seed),
            "greedy" => one_ply(model, seed),
            "fuzzy" => {
                let compiled = self.fuzzy.clone().expect("the game has ground rules");
                Box::new(Greedy::new(Fuzzy::new(self.scalar.clone(), compiled, fuzzy::Settings::default()), seed))
            }
            "random" => Box::new(Random::new(self.scalar.clone(), seed)),
            _ => panic!("there is no player `{name}`"),
        }
    }
}

fn contest(game: &Game, table: &Table, options: &Options, one: &str, other: &str) {
    let n_roles = game.universe.roles.len();
    let played = on_threads(
        0..options.matches,
        options.threads,
        || scalar::Scalar::new(table.scalar.clone()),
        |machine, number| {
            let seed = options.seed.wrapping_mul(1_000_003).wrapping_add(u64::from(number));
            let seat = number as usize % n_roles;
            let mut players: Vec<Box<dyn Player>> =
                (0..n_roles).map(|role| table.player(if role == seat { one } else { other }, seed)).collect();
            let mut seats: Vec<&mut dyn Player> = players.iter_mut().map(|player| &mut **player as _).collect();
            let mut random = Pcg64Mcg::seed_from_u64(seed - u64::from(number) % n_roles as u64);
            let opening = opening(machine, random.random_range(0..=options.opening), &mut random);
            let played = play(machine, &mut seats, &opening, 500, &mut |role, choose| {
                let name = if role.0 as usize == seat { one } else { other };
                if let Some((_, nodes)) = name.split_once('@') {
                    return choose(&Limit::nodes(nodes.parse().expect("a number of nodes")));
                }
                let end = Instant::now() + Duration::from_secs_f64(options.seconds);
                choose(&Limit { nodes: u64::MAX, stop: &|| Instant::now() >= end })
            });
            Some((seat, played))
        },
    );
    let results: Vec<f64> =
        played.iter().filter_map(|(seat, played)| Some(played.goals[*seat]? as f64 / 100.0)).collect();
    let interval = wilson(results.iter().sum(), results.len() as u64);
    println!(
        "{} {one} - {other}: {:.1} ({:.1} to {:.1}) of {}",
        options.game,
        100.0 * interval.mean,
        100.0 * interval.low,
        100.0 * interval.high,
        results.len()
    );
    for (name, is_own) in [(one, true), (other, false)] {
        let mut total = Work::default();
        for (seat, played) in &played {
            for work in
                played.work.iter().enumerate().filter(|(role, _)| (role == seat) == is_own).map(|(_, work)| work)
            {
                total.n_searches += work.n_searches;
                total.nodes += work.nodes;
                total.playouts += work.playouts;
                total.depths += work.depths;
            }
        }
        let each = |count: u64| count as f64 / total.n_searches.max(1) as f64;
        println!(
            "    {name:24} {:10.0} nodes, {:10.0} playouts, depth {:5.1} a move",
            each(total.nodes),
            each(total.playouts),
            each(total.depths)
        );
    }
}

struct Options {
    game: String,
    learn: f64,
    generations: Option<usize>,
    model: Option<String>,
    rival: Option<String>,
    players: Vec<String>,
    seconds: f64,
    matches: u32,
    opening: u32,
    threads: usize,
    seed: u64,
    settings: Vec<(String, f64)>,
}

impl Options {
    fn read() -> Options {
        let mut options = Options {
            game: String::new(),
            learn: 60.0,
            generations: None,
            model: None,
            rival: None,
            players: vec!["mcts".to_owned(), "uct".to_owned()],
            seconds: 0.1,
            matches: 50,
            opening: 2,
            threads: 2,
            seed: 1,
            settings: Vec::new(),
        };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            let Some(name) = argument.strip_prefix("--") else {
                options.game = argument;
                continue;
            };
            let value = arguments.next().expect("an option has a value");
            let number = || value.parse::<f64>().expect("a number");
            match name {
                "learn" => options.learn = number(),
                "generations" => options.generations = Some(number() as usize),
                "model" => options.model = Some(value),
                "rival" => options.rival = Some(value),
                "players" => options.players = value.split(',').map(str::to_owned).collect(),
                "seconds" => options.seconds = number(),
                "matches" => options.matches = number() as u32,
                "opening" => options.opening = number() as u32,
                "threads" => options.threads = number() as usize,
                "seed" => options.seed = number() as u64,
                "set" => {
                    let (key, value) = value.split_once('=').expect("KEY=VALUE");
                    options.settings.push((key.to_owned(), value.parse().expect("a number")));
                }
                _ => panic!("unknown option --{name}"),
            }
        }
        options
    }
}
