//! One heuristic, chosen by hand from those that the rules show, against the same search without any (Kuhlmann 2010, chapter 4).
//!
//! `cargo run --release -p learn --example hand_picked -- GAME` lists the heuristics of a game. With `--heuristics +3,-4` the player of
//! the first role wants more of number 3, that of the second less of number 4, and so on; `--matches N` matches are played in each
//! of which one role, in turn, has its heuristic and all others judge all states alike. Further options: `--seconds S` for a move,
//! `--joint N` (with at most so many joint moves at the same time, the best in the mean against others who move by chance), `--seed S`.

#![allow(clippy::print_stdout)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use features::game::Game;
use features::structural::thesis::{self, Heuristic};
use learn::model::{Judge, Model, Sum, Weights};
use learn::seat::Seat;
use learn::sight::Sight;
use learn::stage::Stages;
use machine::RoleId;
use machine::scalar::{Compiled, Scalar};
use search::alpha_beta::{Opponents, Settings, Simultaneous};
use search::{AlphaBeta, Limit, Player, Position, Random, match_play, statistics};

/// Random matches that show what chance would win.
const PRIOR: u64 = 500;
/// Joint moves of a match.
const CAP: usize = 1_000;

struct Options {
    game: String,
    /// For each role, whether more is better, and the feature's number.
    heuristics: Vec<(bool, usize)>,
    matches: u64,
    seconds: f64,
    joint: usize,
    seed: u64,
}

fn read_options() -> Options {
    let mut args = std::env::args().skip(1);
    let game = args.next().expect("a game");
    let mut options = Options { game, heuristics: Vec::new(), matches: 100, seconds: 0.05, joint: 4_096, seed: 1 };
    while let Some(option) = args.next() {
        let value = args.next().expect("options have values");
        let number = || value.parse().expect("a number");
        match option.as_str() {
            "--heuristics" => {
                let heuristic =
                    |text: &str| (!text.starts_with('-'), text[1..].parse().expect("a number after the sign"));
                options.heuristics = value.split(',').map(heuristic).collect();
            }
            "--matches" => options.matches = number(),
            "--seconds" => options.seconds = value.parse().expect("a number"),
            "--joint" => options.joint = number() as usize,
            "--seed" => options.seed = number(),
            _ => panic!("there is no option {option}"),
        }
    }
    options
}

/// A place in a match with one heuristic for each role.
struct Single {
    /// What it sums up for a role is the role's feature.
    judge: Judge,
    heuristics: Vec<Heuristic>,
    /// The least and the greatest result of each role, in points.
    range: Vec<(f64, f64)>,
}

impl Position for Single {
    fn machine(&self) -> &Scalar {
        self.judge.machine()
    }

    fn goal(&mut self, role: RoleId) -> Option<i64> {
        self.judge.goal(role)
    }

    fn make(&mut self, joint: &[u32]) {
        self.judge.make(joint);
    }

    fn unmake(&mut self) {
        self.judge.unmake();
    }

    fn jump(&mut self, state: &[u64]) {
        self.judge.jump(state);
    }

    fn estimate(&mut self, role: RoleId) -> f32 {
        let (lowest, highest) = self.range[role.0 as usize];
        let value = self.judge.sum(role) as i32;
        (self.heuristics[role.0 as usize].estimate(value, lowest, highest) / 100.0) as f32
    }
}

fn main() {
    let options = read_options();
    let text = std::fs::read(format!("games/{}/rules.kif", options.game)).expect("a game of the library");
    let game = Arc::new(Game::new(gdl::read(&options.game, &text).program, 1).expect("a network"));
    let features = thesis::features(&game);
    if options.heuristics.is_empty() {
        features.iter().enumerate().for_each(|(number, named)| println!("{number}: {}", named.sentence));
        return;
    }
    let n_roles = game.universe.roles.len();
    assert_eq!(options.heuristics.len(), n_roles, "there is a heuristic for each role");
    let chosen = options.heuristics.iter();
    let chosen: Vec<Heuristic> =
        chosen.map(|&(maximize, number)| Heuristic { named: features[number].clone(), maximize }).collect();
    for (role, heuristic) in chosen.iter().enumerate() {
        let aim = if heuristic.maximize { "more" } else { "less" };
        println!("role {role}: {aim} of {}", heuristic.named.sentence);
    }
    let compiled = Compiled::new(game.circuit.network.clone());
    let prior = prior(&compiled, n_roles, options.seed);
    println!("chance wins {:.1} % of {} matches", 100.0 * prior, PRIOR * n_roles as u64);
    contest(&options, &game, &compiled, &chosen);
}

/// The part of the seats in random matches that have 100 points.
fn prior(compiled: &Arc<Compiled>, n_roles: usize, seed: u64) -> f64 {
    let mut machine = Scalar::new(compiled.clone());
    let mut won = 0;
    for number in 0..PRIOR {
        let player = |role: usize| Random::new(compiled.clone(), seed + number * 8 + role as u64);
        let mut players: Vec<Random> = (0..n_roles).map(player).collect();
        let mut seats: Vec<&mut dyn Player> = players.iter_mut().map(|player| player as _).collect();
        let mut think = |_: RoleId, choose: &mut dyn FnMut(&Limit) -> search::Answer| choose(&Limit::nodes(1));
        let played = match_play::play(&mut machine, &mut seats, &[], CAP, &mut think);
        won += played.goals.iter().filter(|&&goal| goal == Some(100)).count();
    }
    won as f64 / (PRIOR * n_roles as u64) as f64
}

fn contest(options: &Options, game: &Arc<Game>, compiled: &Arc<Compiled>, chosen: &[Heuristic]) {
    let n_roles = chosen.len();
    let named = chosen.iter().map(|heuristic| heuristic.named.feature.clone()).collect();
    let sight = Arc::new(Sight::new(game.clone(), named, None, &Stages::default()).expect("a sight"));
    let n_sets = sight.stages.n_sets();
    let weights = |role: usize| {
        let features: Vec<f32> = (0..n_roles).map(|other| f32::from(u8::from(other == role))).collect();
        Weights { bias: vec![0.0; n_sets], features: vec![features; n_sets], slots: vec![Vec::new(); n_sets] }
    };
    let model = Arc::new(Model::new(sight.clone(), (0..n_roles).map(weights).collect(), Sum::Free));
    let range = sight.nature.range.iter().map(|&(least, most)| (100.0 * f64::from(least), 100.0 * f64::from(most)));
    let range: Vec<(f64, f64)> = range.collect();
    let simultaneous = if options.joint > 0 { Simultaneous::Uniform(options.joint) } else { Simultaneous::Seen };
    let settings = Settings { simultaneous, opponents: Opponents::Paranoid, bytes: 8 << 20, ..Settings::default() };
    let blind = search::Nature::new(&machine::lanes::Compiled::new(game.circuit.network.clone()), 1);
    let blind = Arc::new(blind);
    let mut machine = Scalar::new(compiled.clone());
    let (mut won, mut drawn, mut points, mut depths) = (0, 0, 0.0, [(0, 0); 2]);
    let start = Instant::now();
    for number in 0..options.matches {
        let own = number as usize % n_roles;
        let player = |role: usize| -> Box<dyn Player> {
            let seed = options.seed + 100 * number + role as u64;
            if role != own {
                return Box::new(AlphaBeta::new(Scalar::new(compiled.clone()), blind.clone(), settings.clone(), seed));
            }
            let position = Single { judge: model.judge(), heuristics: chosen.to_vec(), range: range.clone() };
            let search = AlphaBeta::new(position, sight.nature.clone(), settings.clone(), seed);
            Box::new(Seat::new(search, sight.clone()))
        };
        let mut players: Vec<Box<dyn Player>> = (0..n_roles).map(player).collect();
        let mut seats: Vec<&mut dyn Player> = players.iter_mut().map(|player| &mut **player as _).collect();
        let mut think = |_: RoleId, choose: &mut dyn FnMut(&Limit) -> search::Answer| {
            let end = Instant::now() + Duration::from_secs_f64(options.seconds);
            choose(&Limit { nodes: u64::MAX, stop: &|| Instant::now() >= end })
        };
        let played = match_play::play(&mut machine, &mut seats, &[], CAP, &mut think);
        let goal = played.goals[own].unwrap_or(50);
        won += u64::from(goal == 100);
        drawn += u64::from(goal != 100 && played.goals.iter().all(|&other| other == Some(goal)));
        points += goal as f64;
        for (role, work) in played.work.iter().enumerate() {
            let sum = &mut depths[usize::from(role != own)];
            *sum = (sum.0 + work.depths, sum.1 + work.n_searches);
        }
    }
    let n = options.matches;
    let found = statistics::wilson(won as f64, n);
    let percent = |part: f64| 100.0 * part;
    println!(
        "won {won} of {n}: {:.1} % ({:.1} to {:.1}); {drawn} drawn; mean result {:.1}",
        percent(found.mean),
        percent(found.low),
        percent(found.high),
        points / n as f64
    );
    let mean = |(sum, n): (u64, u64)| sum as f64 / n.max(1) as f64;
    println!("mean depth {:.1} with the heuristic, {:.1} without", mean(depths[0]), mean(depths[1]));
    println!("{:.0} s", start.elapsed().as_secs_f64());
}
