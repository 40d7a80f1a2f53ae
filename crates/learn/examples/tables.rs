//! Repeats Kuhlmann's experiments with tables of values (2010): `cargo run --release -p learn --example tables --
//! symmetry GAME | transfer SOURCE TARGET | starts GAME [--trials 30] [--source 500,5000] [--matches 1000] [--window 100]
//! [--at 100,200] [--role 0] [--opponent ahead|wary|random|trained] [--rounds 10] [--starts fixed|any] [--clock kept|ignored]
//! [--threads 1]`.
//!
//! A table of values is learned in matches of one role against a fixed opponent, by one learner as Sarsa does it and by another one
//! that knows more: the game's proved symmetries, or the table of a variant after so many matches there. The score is the mean of the
//! last matches' results, those of moves by chance among them. Each trial has learners, opponents and starts of its own; intervals
//! are of 95 % over trials, and p is that of a test with one tail (Welch) whether the learner that knows more does better. In
//! transfer, "in all" compares it with one that spent the source's matches on the target, too.
//!
//! With `--clock ignored`, states that differ only in a step counter are the same: a state variable that, in matches by chance, either
//! stays as it is or goes on to the one value that always follows, and never comes back.
//!
//! `starts` counts the starts of a game by chance, and the part of them in which the role can force the best result.

#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::sync::Arc;
use std::time::Instant;

use features::game::Game;
use learn::td::sarsa::{Prior, Sarsa, Settings, Trained, symmetries};
use learn::td::start::Starts;
use learn::td::transfer::Transfer;
use learn::td::wary::Wary;
use learn::td::{play, play_on};
use learn::transfer::relate;
use machine::RoleId;
use machine::scalar::{Compiled, Scalar};
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;
use search::match_play::on_threads;
use search::proof::{self, Keys, Solver};
use search::statistics::{Interval, student, welch};
use search::{Greedy, Limit, Player, Random};

fn main() {
    let options = Options::read();
    let start = Instant::now();
    match (&options.command[..], &options.games[..]) {
        ("symmetry", [game]) => symmetry(game, &options),
        ("transfer", [source, target]) => transfer([source, target], &options),
        ("starts", [game]) => starts(game, &options),
        _ => panic!("say `symmetry GAME`, `transfer SOURCE TARGET` or `starts GAME`"),
    }
    eprintln!("{:.0} s", start.elapsed().as_secs_f64());
}

fn symmetry(name: &str, options: &Options) {
    let place = Place::new(name, options);
    let images = symmetries(&place.game, 1_000);
    println!("{name}: {} symmetries besides the identity", images.len());
    let both = options.trials(|trial| {
        let learner = |number| {
            let learner = Sarsa::new(options.role, options.settings(trial, number));
            learner.ignoring(place.ignored.clone())
        };
        let plain = place.learn(&mut learner(0), options.matches, trial, 0, options);
        let symmetric = place.learn(&mut learner(1).symmetric(images.clone()), options.matches, trial, 1, options);
        [plain, symmetric]
    });
    let [plain, symmetric] = [0, 1].map(|kind| both.iter().map(|trial| trial[kind].clone()).collect::<Vec<_>>());
    println!("| matches | plain | with symmetries | p |\n|--:|--:|--:|--:|");
    for &at in &options.at {
        let [plain, symmetric] = [&plain, &symmetric].map(|curves| options.windows(curves, at));
        println!("| {at} | {} | {} | {} |", shown(&plain), shown(&symmetric), probability(welch(&symmetric, &plain)));
    }
}

fn transfer([source, target]: [&str; 2], options: &Options) {
    let [source, target] = [source, target].map(|name| Place::new(name, options));
    let variant = relate(&source.game, &target.game).expect("the games are variants");
    let differences: Vec<&str> = variant.transformations.iter().map(|change| change.class.name()).collect();
    println!("{} -> {}: {}", options.games[0], options.games[1], differences.join(" + "));
    let most = options.source.iter().max().expect("a number of matches in the source");
    let trials = options.trials(|trial| {
        let mut learner = Sarsa::new(options.role, options.settings(trial, 0)).ignoring(target.ignored.clone());
        let fresh = target.learn(&mut learner, options.matches + most, trial, 0, options);
        let mut teacher = Sarsa::new(options.role, options.settings(trial, 1)).ignoring(source.ignored.clone());
        let (mut taught, mut came) = (0, Vec::new());
        for (number, &matches) in (2..).zip(&options.source) {
            source.learn(&mut teacher, matches - taught, trial, number, options);
            taught = matches;
            let entries = teacher.entries();
            let prior = Transfer::of_variant(&source.game, options.role, &entries, &target.game, &variant)
                .expect("values mean something in the variant");
            let n_values = prior.len() as f64;
            let mut learner = Sarsa::with(options.role, options.settings(trial, 0), prior);
            learner = learner.ignoring(target.ignored.clone());
            let curve = target.learn(&mut learner, options.matches, trial, 0, options);
            came.push((curve, [n_values, 100.0 * learner.hit_rate(), 100.0 * learner.hit_rate_of_looks()]));
        }
        (fresh, came)
    });
    let fresh: Vec<Vec<f64>> = trials.iter().map(|trial| trial.0.clone()).collect();
    for (number, &matches) in options.source.iter().enumerate() {
        let came: Vec<Vec<f64>> = trials.iter().map(|trial| trial.1[number].0.clone()).collect();
        let [n, different, looks] = [0, 1, 2].map(|which| {
            let all: Vec<f64> = trials.iter().map(|trial| trial.1[number].1[which]).collect();
            shown(&all)
        });
        println!("\n{matches} matches in the source: {n} values; of the states after moves that were looked at,");
        println!("{different} % were known, and {looks} % of the looks found something\n");
        println!("| matches | from nothing | with transfer | p | p in all |\n|--:|--:|--:|--:|--:|");
        for &at in &options.at {
            let [plain, came] = [&fresh, &came].map(|curves| options.windows(curves, at));
            let in_all = probability(welch(&came, &options.windows(&fresh, at + matches)));
            println!(
                "| {at} | {} | {} | {} | {in_all} |",
                shown(&plain),
                shown(&came),
                probability(welch(&came, &plain))
            );
        }
    }
}

fn starts(name: &str, options: &Options) {
    let place = Place::new(name, options);
    let all = Starts::new(&place.game).expect("a game of pieces on a board").all();
    let machine = Scalar::new(place.compiled.clone());
    let best = machine.network().goals.iter().filter(|goal| goal.0 == options.role.0).map(|goal| goal.1).max();
    let mut solver = Solver::new(machine, Keys::default(), options.role, &proof::Settings::default());
    let mut n_won = 0;
    for state in &all {
        n_won += usize::from(Some(solver.solve(state, &Limit::nodes(u64::MAX)).lower) == best);
    }
    println!(
        "{name}: {n_won} of {} starts are forced wins, {:.2} %",
        all.len(),
        100.0 * n_won as f64 / all.len() as f64
    );
}

/// A game with what matches need.
struct Place {
    game: Arc<Game>,
    compiled: Arc<Compiled>,
    /// Fluents of the network that make no difference.
    ignored: Box<[u64]>,
    /// The opponent, if it was trained.
    trained: Option<Sarsa>,
}

impl Place {
    fn new(name: &str, options: &Options) -> Place {
        let bytes = std::fs::read(format!("games/{name}/rules.kif")).expect("the library has the game");
        let game = Arc::new(Game::new(gdl::read(name, &bytes).program, 1).expect("the game has a network"));
        let compiled = Compiled::new(game.circuit.network.clone());
        let ignored = if options.ignores_clock { clock(&game) } else { Box::default() };
        let mut place = Place { game, compiled, ignored, trained: None };
        place.trained = (options.opponent == "trained").then(|| place.train(options));
        place
    }

    /// An opponent with a table of its own, from matches against a learner. One of both learns while the other one plays by what it
    /// knows, by turns.
    fn train(&self, options: &Options) -> Sarsa {
        const MATCHES: u32 = 1_000;
        const PLIES: u32 = 500;
        let [own, other] = [options.role, RoleId(1 - options.role.0)];
        let learner = |role| Sarsa::new(role, options.settings(0, 9)).ignoring(self.ignored.clone());
        let mut learners = [other, own].map(learner);
        let mut machine = Scalar::new(self.compiled.clone());
        for round in 0..2 * options.rounds {
            let [mut learner, fixed] = learners;
            let role = if round % 2 == 0 { other } else { own };
            let mut fixed = Trained::new(fixed, Scalar::new(self.compiled.clone()));
            (0..MATCHES).for_each(|_| _ = play(&mut machine, role, &mut learner, &mut fixed, PLIES));
            learners = [fixed.into_learner(), learner];
        }
        let [learner, _] = learners;
        learner
    }

    fn opponent(&self, seed: u64, options: &Options) -> Box<dyn Player> {
        let machine = Scalar::new(self.compiled.clone());
        match (&options.opponent[..], &self.trained) {
            ("random", _) => Box::new(Random::new(self.compiled.clone(), seed)),
            ("ahead", _) => Box::new(Greedy::new(machine, seed)),
            ("wary", _) => Box::new(Wary::new(machine, seed)),
            ("trained", Some(learner)) => Box::new(Trained::new(learner.clone(), machine)),
            (other, _) => panic!("there is no opponent `{other}`"),
        }
    }

    /// The results of matches in which a learner learns.
    fn learn<P: Prior>(
        &self,
        learner: &mut Sarsa<P>,
        matches: usize,
        trial: u32,
        number: u64,
        options: &Options,
    ) -> Vec<f64> {
        const PLIES: u32 = 500;
        let seed = u64::from(trial) * 1_000 + number;
        let mut opponent = self.opponent(seed, options);
        let mut machine = Scalar::new(self.compiled.clone());
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let mut starts = options.any_start.then(|| Starts::new(&self.game).expect("a game of pieces on a board"));
        let one = |_| {
            let results = match &mut starts {
                Some(starts) => {
                    machine.jump(&starts.draw(&mut random).expect("there are starts"));
                    play_on(&mut machine, options.role, learner, &mut *opponent, PLIES)
                }
                None => play(&mut machine, options.role, learner, &mut *opponent, PLIES),
            };
            results[options.role.0 as usize].expect("matches have a result") as f64
        };
        (0..matches).map(one).collect()
    }
}

/// The fluents of step counters, as bits of a state.
fn clock(game: &Game) -> Box<[u64]> {
    let mut ignored = vec![0u64; game.circuit.network.fluents.len().div_ceil(64)];
    for family in &game.structure.families {
        // What follows each value, besides itself.
        let mut next: Vec<Vec<usize>> = vec![Vec::new(); family.members.len()];
        let mut is_one = true;
        for batch in &game.samples.batches {
            let on = batch.live & !batch.terminal;
            let mut held = on & !on;
            for (place, &member) in family.members.iter().enumerate() {
                let holds = batch.fluents[member as usize] & on;
                is_one &= (held & holds).is_zero();
                held = held | holds;
                for (other, &follower) in family.members.iter().enumerate() {
                    if other != place
                        && !(holds & batch.next[follower as usize]).is_zero()
                        && !next[place].contains(&other)
                    {
                        next[place].push(other);
                    }
                }
            }
            is_one &= (on & !held).is_zero();
        }
        let comes_back = |from: usize| {
            let mut at = from;
            (0..next.len()).any(|_| {
                at = next[at].first().copied().unwrap_or(at);
                at == from && !next[from].is_empty()
            })
        };
        let goes_on = next.iter().all(|next| next.len() <= 1) && next.iter().flatten().count() > 1;
        if is_one && goes_on && !(0..next.len()).any(comes_back) {
            for wire in family.members.iter().map(|&member| game.circuit.fluents[member as usize]) {
                if let Some(fluent) = wire.gate().checked_sub(1) {
                    ignored[fluent as usize / 64] |= 1 << (fluent % 64);
                }
            }
        }
    }
    println!("{} fluents of step counters", ignored.iter().map(|word| word.count_ones()).sum::<u32>());
    ignored.into()
}

fn shown(results: &[f64]) -> String {
    let Interval { mean, low, high } = student(results);
    format!("{mean:.1} ({low:.1} to {high:.1})")
}

fn probability(p: f64) -> String {
    if p < 0.001 { "< 0.001".to_owned() } else { format!("{p:.3}") }
}

struct Options {
    command: String,
    games: Vec<String>,
    trials: u32,
    source: Vec<usize>,
    matches: usize,
    window: usize,
    at: Vec<usize>,
    role: RoleId,
    opponent: String,
    /// How often a trained opponent and its counterpart learn, 1000 matches each time.
    rounds: usize,
    any_start: bool,
    ignores_clock: bool,
    threads: usize,
}

impl Options {
    fn read() -> Options {
        let mut options = Options {
            command: String::new(),
            games: Vec::new(),
            trials: 30,
            source: vec![500, 5_000],
            matches: 1_000,
            window: 100,
            at: Vec::new(),
            role: RoleId(0),
            opponent: "ahead".to_owned(),
            rounds: 10,
            any_start: false,
            ignores_clock: false,
            threads: 1,
        };
        let mut arguments = std::env::args().skip(1);
        options.command = arguments.next().unwrap_or_default();
        while let Some(argument) = arguments.next() {
            let Some(name) = argument.strip_prefix("--") else {
                options.games.push(argument);
                continue;
            };
            let value = arguments.next().expect("an option has a value");
            let number = |text: &str| text.parse::<usize>().expect("a number");
            match name {
                "trials" => options.trials = number(&value) as u32,
                "source" => options.source = value.split(',').map(number).collect(),
                "matches" => options.matches = number(&value),
                "window" => options.window = number(&value),
                "at" => options.at = value.split(',').map(number).collect(),
                "role" => options.role = RoleId(number(&value) as u32),
                "opponent" => options.opponent = value,
                "rounds" => options.rounds = number(&value),
                "starts" => options.any_start = value == "any",
                "clock" => options.ignores_clock = value == "ignored",
                "threads" => options.threads = number(&value),
                _ => panic!("unknown option --{name}"),
            }
        }
        if options.at.is_empty() {
            options.at = (1..=options.matches / options.window).map(|window| window * options.window).collect();
        }
        options.source.sort_unstable();
        options
    }

    fn settings(&self, trial: u32, number: u64) -> Settings {
        Settings { seed: u64::from(trial) * 100 + number, ..Settings::default() }
    }

    /// Does something for each trial.
    fn trials<T: Send>(&self, one: impl Fn(u32) -> T + Sync) -> Vec<T> {
        on_threads(1..self.trials + 1, self.threads, || (), |(), trial| Some(one(trial)))
    }

    /// Each trial's mean result in the window that ends after so many matches.
    fn windows(&self, curves: &[Vec<f64>], at: usize) -> Vec<f64> {
        let mean = |curve: &Vec<f64>| {
            let window = &curve[at.saturating_sub(self.window)..at];
            window.iter().sum::<f64>() / window.len() as f64
        };
        curves.iter().map(mean).collect()
    }
}
