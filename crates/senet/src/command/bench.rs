//! `senet bench`: how fast a game runs.

mod search;

use std::io::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use clap::Args;
use gdl::datalog::Resource;
use machine::lanes::{self, LANES, Lanes};
use machine::scalar::{self, Scalar};
use machine::{Machine, Reference, RoleId};
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;
use serde::Serialize;

use super::learn::read_duration;
use super::trace::Engine;
use crate::guard;
use crate::library::GAMES;
use crate::rules::{self, Rules};
use crate::screen;

/// Measures random playouts from the initial state to the end on one thread, or searches
///
/// Searches are made from states of random matches, and rates are for a second on the processor. With several threads, each has
/// a search of its own, and the last column says how many times as much they do together.
///
/// Examples:
///   senet bench connect-four                        all engines
///   senet bench othello --engine lanes --seconds 10 --json
///   senet bench --all --seconds 1                   the whole library, as a table
///   senet bench othello hex-7 --search              nodes and playouts of each search
///   senet bench othello --search --threads 2        the same, and on two threads
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Bench {
    /// Rule files, names of library games, or `-` for standard input
    #[arg(required_unless_present = "all")]
    rules: Vec<String>,
    /// Measures every game of the library
    #[arg(long, conflicts_with = "rules")]
    all: bool,
    /// The engine to measure; all of them by default
    #[arg(long, value_enum)]
    engine: Option<Engine>,
    /// Measures searches instead of playouts
    #[arg(long, conflicts_with_all = ["engine", "playouts"])]
    search: bool,
    /// Measures searches on one thread and on so many
    #[arg(long, default_value_t = 1, requires = "search", value_parser = clap::value_parser!(u16).range(1..=64))]
    threads: u16,
    /// How long to measure each engine or search
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    /// How long it may take to prepare an engine, such as 90s or 5m
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = read_duration)]
    prepare: Duration,
    /// Plays this many matches instead, so that two runs do the same work
    #[arg(long, value_name = "N", conflicts_with = "seconds")]
    playouts: Option<u64>,
    /// The longest match, in joint moves; longer ones are given up
    #[arg(long, default_value_t = 1000)]
    cap: u32,
    /// Chooses the moves
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Prints one JSON object for each game and engine
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Measurement {
    game: String,
    engine: &'static str,
    /// Why the engine could not run the game.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<String>,
    playouts_per_second: f64,
    states_per_second: f64,
    playouts: u64,
    states: u64,
    given_up: u64,
    seconds: f64,
    compile_seconds: f64,
    fluents: usize,
    moves: usize,
    gates: usize,
    edges: usize,
    /// Two-input gates: legality and end, goals, next state.
    ops: Option<[usize; 3]>,
    bytes: usize,
}

pub(crate) fn run(arguments: Bench) -> anyhow::Result<ExitCode> {
    let mut out = screen::out();
    let threads = usize::from(arguments.threads);
    if arguments.search && !arguments.json {
        search::print_head(&mut out, threads)?;
    } else if !arguments.json {
        writeln!(
            out,
            "{:<26} {:<9} {:>12} {:>13} {:>9} {:>9} {:>10} {:>8}",
            "game", "engine", "playouts/s", "states/s", "compile s", "gates", "edges", "MiB"
        )?;
    }
    let library = GAMES.iter().map(|game| game.name.to_owned()).filter(|_| arguments.all);
    for name in arguments.rules.iter().cloned().chain(library) {
        let rules = rules::read(&name)?;
        if arguments.search {
            search::measure(&rules, arguments.seconds, threads, arguments.seed, &mut |row| {
                if arguments.json {
                    writeln!(out, "{}", serde_json::to_string(row)?)?;
                } else {
                    row.print(&mut out)?;
                }
                Ok(out.flush()?)
            })?;
            continue;
        }
        let engines = [Engine::Reference, Engine::Scalar, Engine::Lanes];
        for engine in engines.into_iter().filter(|&engine| arguments.engine.is_none_or(|wanted| wanted == engine)) {
            let measurement = measure(&rules, engine, &arguments)?;
            if arguments.json {
                writeln!(out, "{}", serde_json::to_string(&measurement)?)?;
            } else {
                print_row(&mut out, &measurement)?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn print_row(out: &mut impl Write, row: &Measurement) -> std::io::Result<()> {
    if let Some(failure) = &row.failure {
        writeln!(out, "{:<26} {:<9} {failure}", row.game, row.engine)?;
        return Ok(());
    }
    writeln!(
        out,
        "{:<26} {:<9} {:>12.0} {:>13.0} {:>9.3} {:>9} {:>10} {:>8.1}",
        row.game,
        row.engine,
        row.playouts_per_second,
        row.states_per_second,
        row.compile_seconds,
        row.gates,
        row.edges,
        row.bytes as f64 / f64::from(1 << 20)
    )
}

/// Playouts, joint moves and matches given up.
type Counts = (u64, u64, u64);

fn measure(rules: &Rules, engine: Engine, arguments: &Bench) -> anyhow::Result<Measurement> {
    let guarded = guard::within(arguments.prepare);
    let time = Duration::from_secs_f64(arguments.seconds);
    // Where matches are counted, playing has no end in time.
    let played = || guarded.restart(if arguments.playouts.is_none() { time } else { Duration::MAX });
    let start = Instant::now();
    let mut result = Measurement {
        game: rules.game_name(),
        engine: engine.name(),
        failure: None,
        playouts_per_second: 0.0,
        states_per_second: 0.0,
        playouts: 0,
        states: 0,
        given_up: 0,
        seconds: 0.0,
        compile_seconds: 0.0,
        fluents: 0,
        moves: 0,
        gates: 0,
        edges: 0,
        ops: None,
        bytes: 0,
    };
    let more = |since: Instant, n_matches: u64| match arguments.playouts {
        Some(wanted) => n_matches < wanted,
        None => since.elapsed() < time,
    };
    let network = match engine {
        Engine::Reference => None,
        _ => match rules::network(rules) {
            Ok(network) => Some(network),
            Err(why) => {
                result.failure = Some(why);
                return Ok(result);
            }
        },
    };
    if let Some(network) = &network {
        (result.fluents, result.moves) = (network.fluents.len(), network.moves.len());
        (result.gates, result.edges, result.bytes) = (network.n_gates(), network.n_edges(), network.bytes());
    }
    let (compiled, counts): (Instant, Counts) = match (engine, network) {
        (Engine::Scalar, Some(network)) => {
            let mut machine = Scalar::new(scalar::Compiled::new(network));
            let compiled = Instant::now();
            played();
            let mut rng = Pcg64Mcg::seed_from_u64(arguments.seed);
            let (mut playouts, mut states, mut given_up) = (0, 0, 0);
            while more(compiled, playouts + given_up) {
                let (plies, ended) = machine.random_match(&mut rng, arguments.cap);
                states += u64::from(plies);
                if ended {
                    playouts += 1;
                    (0..machine.roles().len() as u32).for_each(|role| _ = machine.goal(RoleId(role)));
                } else {
                    given_up += 1;
                }
            }
            (compiled, (playouts, states, given_up))
        }
        (Engine::Lanes, Some(network)) => {
            let lanes = lanes::Compiled::new(network);
            result.ops = Some(lanes.n_ops());
            let mut machine = Lanes::new(lanes);
            let mut random = lanes::random(arguments.seed);
            let mut plies = [0; LANES];
            let compiled = Instant::now();
            played();
            let (mut playouts, mut states, mut given_up) = (0, 0, 0);
            while more(compiled, playouts + given_up) {
                let tally = machine.playouts(&mut random, &mut plies, arguments.cap, 20_000);
                playouts += tally.n_playouts;
                states += tally.n_states;
                given_up += tally.n_given_up;
            }
            (compiled, (playouts, states, given_up))
        }
        _ => {
            let mut machine = rules::reference(rules, guard::limits())?;
            let compiled = Instant::now();
            played();
            let mut counts = (0, 0, 0);
            match reference_playouts(&mut machine, arguments, &more, &mut counts) {
                // The last match was not finished in time.
                Err(exceeded) if exceeded.resource == Resource::Stopped && counts.1 > 0 => {}
                outcome => outcome.map_err(|exceeded| anyhow!(rules::over_budget(rules, &exceeded)))?,
            }
            (compiled, counts)
        }
    };
    let seconds = compiled.elapsed().as_secs_f64();
    (result.playouts, result.states, result.given_up) = counts;
    result.seconds = seconds;
    result.compile_seconds = (compiled - start).as_secs_f64();
    result.playouts_per_second = result.playouts as f64 / seconds;
    result.states_per_second = result.states as f64 / seconds;
    Ok(result)
}

fn reference_playouts(
    machine: &mut Reference,
    arguments: &Bench,
    more: &dyn Fn(Instant, u64) -> bool,
    (playouts, states, given_up): &mut Counts,
) -> Result<(), machine::Exceeded> {
    let start = Instant::now();
    let mut rng = Pcg64Mcg::seed_from_u64(arguments.seed);
    while more(start, *playouts + *given_up) {
        let result = machine::playout(machine, &mut rng, arguments.cap, |_, step| {
            *states += u64::from(step.joint.is_some());
            Ok(())
        })?;
        if result.stop == machine::StopReason::Terminal {
            *playouts += 1;
            for role in 0..machine.roles().len() as u32 {
                machine.goals(&result.last, RoleId(role))?;
            }
        } else {
            *given_up += 1;
        }
    }
    Ok(())
}
