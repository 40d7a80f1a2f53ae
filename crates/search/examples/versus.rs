//! Players against each other: `cargo run --release -p search --example versus -- GAME [--players uct,alpha-beta,greedy-fuzzy,random]
//! [--seconds 0.1] [--nodes N] [--steps N] [--games 50] [--opening 2] [--seed 1]`. Each pair plays all seats; with more than two roles, one player has one
//! seat and the other all others. `bfss-20`, `bfds-20` and `rbfms-20` open the principal leaf with a span of 20, judging by the
//! goals' fuzzy truth. `strong` is `uct` with hints, and `strong-threads=2` has two threads.

#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use insight::{sample, structure, universe};
use machine::lanes;
use machine::scalar::{self, Scalar};
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;
use search::match_play::{Work, opening, play};
use search::nature::Nature;
use search::principal::recursive::Recursive;
use search::principal::{self, Tie};
use search::statistics::wilson;
use search::{AlphaBeta, Fuzzy, Greedy, Limit, Player, Principal, Random, Uct, alpha_beta, fuzzy, uct};

struct Game {
    lanes: Arc<lanes::Compiled>,
    scalar: Arc<scalar::Compiled>,
    nature: Arc<Nature>,
    fuzzy: Option<Arc<fuzzy::Compiled>>,
}

fn main() {
    let mut options = Options::read();
    let bytes = std::fs::read(format!("games/{}/rules.kif", options.game)).expect("the library has the game");
    let program = Arc::new(gdl::read(&options.game, &bytes).program);
    let (universe, circuit) =
        universe::survey(&program, &gdl::ground::Budget::default()).expect("the game has a network");
    let lanes = lanes::Compiled::new(circuit.network.clone());
    let fuzzy = options.players.iter().any(|name| name.contains("fuzzy") || name.contains("bf")).then(|| {
        let samples = sample::play(&universe, &circuit, &sample::Budget::default(), 1);
        let structure = structure::find(&universe, Some(&circuit), &samples, &insight::prove::Budget::default());
        let ground = circuit.ground.clone().expect("the game is not too large");
        Arc::new(fuzzy::Compiled::new(&ground, &universe, &circuit, Some(&structure)))
    });
    let nature = Arc::new(Nature::new(&lanes, 1));
    let game = Game { scalar: scalar::Compiled::new(circuit.network.clone()), lanes, nature, fuzzy };
    println!("{}: {:?}", options.game, game.nature.range);
    let n = options.players.len();
    let names = options.players.clone();
    let mut works = vec![(Work::default(), 0.0, 0.0f64); n];
    let mut alone = Vec::new();
    for one in 0..n {
        if circuit.network.roles.len() == 1 {
            alone.push((one, one));
        }
        alone.extend((one + 1..n).filter(|_| circuit.network.roles.len() > 1).map(|other| (one, other)));
    }
    for (one, other) in alone {
        let (points, n_games) = contest(&game, &mut options, one, other, &mut works);
        let interval = wilson(points, n_games);
        println!(
            "{:>16} - {:16} {:5.1} % of {n_games:4} [{:.1}, {:.1}]",
            names[one],
            names[other],
            100.0 * interval.mean,
            100.0 * interval.low,
            100.0 * interval.high
        );
    }
    for (name, (work, seconds, longest)) in names.iter().zip(&works) {
        println!(
            "{name:>16}: {:9.0} nodes/s {:9.0} playouts/s, depth {:5.1}, longest move {:.4} s",
            work.nodes as f64 / seconds,
            work.playouts as f64 / seconds,
            work.depths as f64 / work.n_searches.max(1) as f64,
            longest
        );
    }
}

/// Plays all matches of two players; the points of the first, and how many matches there were.
fn contest(game: &Game, options: &mut Options, one: usize, other: usize, works: &mut [(Work, f64, f64)]) -> (f64, u64) {
    let mut machine = Scalar::new(game.scalar.clone());
    let n_roles = game.nature.range.len();
    let mut players: Vec<Box<dyn Player>> = (0..n_roles)
        .flat_map(|role| [(one, role), (other, role)])
        .map(|(player, role)| make(game, &options.players[player], options.seed + (10 * role + player) as u64))
        .collect();
    let (mut points, mut n_games) = (0.0, 0);
    for number in 0..options.games {
        let seat = number % n_roles;
        // Both seats of a pair of matches begin in the same way.
        let mut random = Pcg64Mcg::seed_from_u64(options.seed * 1_000 + (number / n_roles) as u64);
        let opening = opening(&mut machine, options.opening, &mut random);
        let of = |role: usize| if role == seat { one } else { other };
        let mut seats: Vec<&mut dyn Player> = Vec::new();
        for (index, player) in players.iter_mut().enumerate() {
            let role = index / 2;
            if (index % 2 == 0) == (role == seat) {
                seats.push(player.as_mut());
            }
        }
        let (seconds, nodes, steps) = (options.seconds, options.nodes, options.steps);
        let played = play(&mut machine, &mut seats, &opening, 1_000, &mut |role, choose| {
            let begin = Instant::now();
            let end = begin + Duration::from_secs_f64(seconds);
            let asked = std::cell::Cell::new(0);
            let stop = || {
                asked.set(asked.get() + 1);
                asked.get() > steps || Instant::now() >= end
            };
            let answer = choose(&Limit { nodes, stop: &stop });
            let took = begin.elapsed().as_secs_f64();
            let (_, total, longest) = &mut works[of(role.0 as usize)];
            if answer.nodes > 0 {
                *total += took;
            }
            *longest = longest.max(took);
            answer
        });
        for (role, work) in played.work.iter().enumerate() {
            let (total, ..) = &mut works[of(role)];
            total.n_searches += work.n_searches;
            total.nodes += work.nodes;
            total.playouts += work.playouts;
            total.depths += work.depths;
        }
        if played.ended {
            points += played.goals[seat].unwrap_or(50) as f64 / 100.0;
            n_games += 1;
        }
    }
    (points, n_games)
}

fn make(game: &Game, name: &str, seed: u64) -> Box<dyn Player> {
    let settings = alpha_beta::Settings::default();
    let position = || {
        let compiled = game.fuzzy.clone().expect("it was asked for");
        Fuzzy::new(game.scalar.clone(), compiled, fuzzy::Settings::default())
    };
    let nature = game.nature.clone();
    match name {
        "random" => Box::new(Random::new(game.scalar.clone(), seed)),
        "greedy" => Box::new(Greedy::new(Scalar::new(game.scalar.clone()), seed)),
        "greedy-fuzzy" => Box::new(Greedy::new(position(), seed)),
        "alpha-beta" => Box::new(AlphaBeta::new(Scalar::new(game.scalar.clone()), nature, settings, seed)),
        "alpha-beta-fuzzy" => Box::new(AlphaBeta::new(position(), nature, settings, seed)),
        "alpha-beta-fuzzy-lmr" => {
            Box::new(AlphaBeta::new(position(), nature, alpha_beta::Settings { reductions: true, ..settings }, seed))
        }
        "alpha-beta-fuzzy-matrix" => {
            let settings = alpha_beta::Settings { simultaneous: alpha_beta::Simultaneous::Matrix(64), ..settings };
            Box::new(AlphaBeta::new(position(), nature, settings, seed))
        }
        "alpha-beta-fuzzy-seen" => {
            let settings = alpha_beta::Settings { simultaneous: alpha_beta::Simultaneous::Seen, ..settings };
            Box::new(AlphaBeta::new(position(), nature, settings, seed))
        }
        "alpha-beta-fuzzy-doubts" => {
            Box::new(AlphaBeta::new(position(), nature, alpha_beta::Settings { doubts: true, ..settings }, seed))
        }
        name if name.starts_with("bfss-") || name.starts_with("bfds-") || name.starts_with("rbfms-") => {
            let (kind, span) = name.split_once('-').expect("it has one");
            let span = span.parse().expect("a number of states to open");
            let tie = if kind == "bfds" { Tie::Deep } else { Tie::Shallow };
            match kind {
                "rbfms" => Box::new(Recursive::new(position(), span)),
                _ => Box::new(Principal::new(position(), principal::Settings { tie, span, ..Default::default() })),
            }
        }
        name => {
            let (mut settings, mut threads) = (uct::Settings::default(), 1);
            if name.starts_with("strong") {
                settings = uct::Settings::strongest();
            }
            for part in name.split('-').skip(1) {
                match part.split_once('=') {
                    Some(("c", value)) => settings.exploration = value.parse().expect("a number"),
                    Some(("width", value)) => settings.width = (value.parse().expect("a number"), settings.width.1),
                    Some(("most", value)) => settings.width.1 = value.parse().expect("a number"),
                    Some(("first", value)) => settings.first = value.parse().expect("a number"),
                    Some(("share", value)) => settings.share = value.parse().expect("a number"),
                    Some(("rave", value)) => settings.rave = Some(value.parse().expect("a number")),
                    Some(("threads", value)) => threads = value.parse().expect("a number"),
                    Some(("reuse", value)) => settings.reuse = value == "1",
                    _ => panic!("no player is called {name}"),
                }
            }
            Box::new(Uct::new(game.lanes.clone(), settings, seed).on_threads(threads))
        }
    }
}

struct Options {
    game: String,
    players: Vec<String>,
    seconds: f64,
    nodes: u64,
    steps: u64,
    games: usize,
    opening: u32,
    seed: u64,
}

impl Options {
    fn read() -> Options {
        let mut args = std::env::args().skip(1);
        let mut options = Options {
            game: args.next().expect("the name of a game"),
            players: ["uct", "alpha-beta", "greedy-fuzzy", "random"].map(str::to_owned).into(),
            seconds: 0.1,
            nodes: u64::MAX,
            steps: u64::MAX,
            games: 50,
            opening: 2,
            seed: 1,
        };
        while let Some(option) = args.next() {
            let value = args.next().expect("a value for the option");
            match option.as_str() {
                "--players" => options.players = value.split(',').map(str::to_owned).collect(),
                "--seconds" => options.seconds = value.parse().expect("a number"),
                "--nodes" => options.nodes = value.parse().expect("a number"),
                "--steps" => options.steps = value.parse().expect("a number"),
                "--games" => options.games = value.parse().expect("a number"),
                "--opening" => options.opening = value.parse().expect("a number"),
                "--seed" => options.seed = value.parse().expect("a number"),
                _ => panic!("no option is called {option}"),
            }
        }
        options
    }
}
