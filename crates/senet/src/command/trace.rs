//! `senet trace`: a match, step by step, as JSON lines.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, anyhow, bail};
use clap::{Args, ValueEnum};
use machine::lanes::{self, Lanes};
use machine::scalar::{self, Scalar};
use machine::{Machine, RoleId, StopReason};
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;
use serde::{Deserialize, Serialize};

use crate::guard;
use crate::rules;
use crate::screen;

/// Plays a match and prints every step as a line of JSON: state, legal moves, goals and the joint move
///
/// Examples:
///   senet trace breakthrough --seed 7          a random match of a library game
///   senet trace my-game.kif --seed 1 --games 5  five of them
///   senet trace my-game.kif --moves trace.jsonl  the moves of a recorded match, checked for legality
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Trace {
    /// A rule file, the name of a library game, or `-` for standard input
    rules: String,
    /// Chooses the moves of a random match
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many random matches, with seeds from --seed on
    #[arg(long, default_value_t = 1)]
    games: u64,
    /// The longest match, in joint moves
    #[arg(long, default_value_t = 300)]
    cap: u32,
    /// Follows the moves of every segment of this file instead of choosing its own
    #[arg(long, value_name = "FILE", conflicts_with_all = ["seed", "games"])]
    moves: Option<String>,
    /// The engine that answers
    #[arg(long, value_enum, default_value_t = Engine::Reference)]
    engine: Engine,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Engine {
    /// Evaluates the rules as they stand; slow, and right by definition
    Reference,
    /// The rules as a network, updated by what changes
    Scalar,
    /// The network over 512 states at once
    Lanes,
}

impl Engine {
    /// Its name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Engine::Reference => "reference",
            Engine::Scalar => "scalar",
            Engine::Lanes => "lanes",
        }
    }
}

#[derive(Serialize, Deserialize)]
struct Header {
    r#type: String,
    #[serde(default)]
    game: String,
    #[serde(default)]
    seed: u64,
    #[serde(default)]
    cap: u32,
    #[serde(default)]
    roles: Vec<String>,
}

#[derive(Serialize)]
struct StepLine<'a> {
    step: u32,
    facts: usize,
    hash: String,
    state: Vec<String>,
    terminal: bool,
    goals: Vec<Vec<i64>>,
    legal: Vec<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    r#move: Option<&'a [String]>,
}

#[derive(Serialize)]
struct End<'a> {
    r#type: &'static str,
    status: &'a str,
}

pub(crate) fn run(arguments: Trace) -> anyhow::Result<ExitCode> {
    let rules = rules::read(&arguments.rules)?;
    let mut reference = rules::reference(&rules, guard::limits())?;
    let outcome = match arguments.engine {
        Engine::Reference => trace(&mut reference, &rules, &arguments),
        Engine::Scalar | Engine::Lanes => match rules::network(&rules) {
            Ok(network) if matches!(arguments.engine, Engine::Scalar) => {
                trace(&mut Scalar::new(scalar::Compiled::new(network)), &rules, &arguments)
            }
            Ok(network) => trace(&mut Lanes::new(lanes::Compiled::new(network)), &rules, &arguments),
            Err(why) => {
                screen::complain(format_args!("note: {why}; the reference engine answers instead"));
                trace(&mut reference, &rules, &arguments)
            }
        },
    };
    outcome.map_err(|error| match error.downcast_ref::<machine::Exceeded>() {
        Some(exceeded) => anyhow!(rules::over_budget(&rules, exceeded)),
        None => error,
    })?;
    Ok(ExitCode::SUCCESS)
}

fn trace<M: Machine>(machine: &mut M, rules: &rules::Rules, arguments: &Trace) -> anyhow::Result<()> {
    let mut out = std::io::BufWriter::new(screen::out());
    let game = rules.game_name();
    match &arguments.moves {
        Some(file) => follow(machine, &game, file, &mut out)?,
        None => {
            for index in 0..arguments.games {
                random_match(machine, &game, arguments.seed.wrapping_add(index), arguments.cap, &mut out)?;
            }
        }
    }
    out.flush()?;
    Ok(())
}

fn random_match<M: Machine>(
    machine: &mut M,
    game: &str,
    seed: u64,
    cap: u32,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let roles = machine.roles().to_vec();
    write_line(out, &Header { r#type: "header".into(), game: game.into(), seed, cap, roles })?;
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    let mut written = Ok(());
    let result = machine::playout(machine, &mut rng, cap, |machine, step| {
        let names = step.joint.map(|joint| joint.iter().map(|&chosen| machine.move_name(chosen)).collect::<Vec<_>>());
        let line = step_line(machine, step.ply, step.state, step.legal, step.terminal, names.as_deref())?;
        if written.is_ok() {
            written = write_line(out, &line);
        }
        Ok(())
    })?;
    written?;
    let status = match result.stop {
        StopReason::Terminal => "terminal",
        StopReason::Cap => "cap",
        StopReason::Stuck(_) => "stuck",
    };
    write_line(out, &End { r#type: "end", status })
}

fn follow<M: Machine>(machine: &mut M, game: &str, file: &str, out: &mut impl Write) -> anyhow::Result<()> {
    let text = std::fs::read_to_string(file).with_context(|| format!("can't read `{file}`"))?;
    let mut current: Option<(u32, M::State)> = None;
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let place = || format!("{file}:{}", number + 1);
        let record: serde_json::Value = serde_json::from_str(line).with_context(|| format!("{}: not JSON", place()))?;
        match record["type"].as_str() {
            Some("header") => {
                let header: Header = serde_json::from_value(record).with_context(place)?;
                let roles = machine.roles().to_vec();
                write_line(out, &Header { game: game.into(), roles, ..header })?;
                current = Some((0, machine.initial()?));
            }
            Some("end") => {
                current = None;
                write_line(out, &End { r#type: "end", status: record["status"].as_str().unwrap_or("unknown") })?;
            }
            _ => {
                let (step, state) = current.take().ok_or_else(|| anyhow!("{}: a step before any header", place()))?;
                let moves: Option<Vec<String>> = match &record["move"] {
                    serde_json::Value::Null => None,
                    moves => Some(serde_json::from_value(moves.clone()).with_context(place)?),
                };
                let mut legal = vec![Vec::new(); machine.roles().len()];
                for (role, moves) in legal.iter_mut().enumerate() {
                    machine.legal(&state, RoleId(role as u32), moves)?;
                }
                let terminal = machine.is_terminal(&state)?;
                let line = step_line(machine, step, &state, &legal, terminal, moves.as_deref())?;
                write_line(out, &line)?;
                if let Some(moves) = moves {
                    let joint = find_moves(machine, &legal, &moves).with_context(place)?;
                    current = Some((step + 1, machine.next(&state, &joint)?));
                } else {
                    current = Some((step + 1, state));
                }
            }
        }
    }
    Ok(())
}

/// The legal moves with these names; case and white space don't matter.
fn find_moves<M: Machine>(machine: &M, legal: &[Vec<M::Move>], names: &[String]) -> anyhow::Result<Vec<M::Move>> {
    if names.len() != legal.len() {
        bail!("{} moves for {} roles", names.len(), legal.len());
    }
    let mut joint = Vec::new();
    for ((moves, name), role) in legal.iter().zip(names).zip(machine.roles()) {
        let wanted = plain(name);
        let found = moves.iter().find(|&&candidate| plain(&machine.move_name(candidate)) == wanted);
        joint.push(*found.ok_or_else(|| anyhow!("`{name}` is not legal for `{role}`"))?);
    }
    Ok(joint)
}

/// A term in lower case with single spaces, so that spellings can be compared.
fn plain(term: &str) -> String {
    term.replace('(', " ( ").replace(')', " ) ").to_ascii_lowercase().split_whitespace().collect::<Vec<_>>().join(" ")
}

fn step_line<'a, M: Machine>(
    machine: &mut M,
    step: u32,
    state: &M::State,
    legal: &[Vec<M::Move>],
    terminal: bool,
    joint: Option<&'a [String]>,
) -> Result<StepLine<'a>, machine::Exceeded> {
    let fluents = machine.fluents(state);
    let roles = 0..machine.roles().len() as u32;
    let goals = roles.map(|role| machine.goals(state, RoleId(role))).collect::<Result<_, _>>()?;
    let sorted_names = |moves: &Vec<M::Move>| {
        let mut names: Vec<String> = moves.iter().map(|&chosen| machine.move_name(chosen)).collect();
        names.sort_unstable();
        names
    };
    Ok(StepLine {
        step,
        facts: fluents.len(),
        hash: format!("{:016x}", fnv(&fluents)),
        goals,
        legal: legal.iter().map(sorted_names).collect(),
        state: fluents,
        terminal,
        r#move: joint,
    })
}

/// FNV-1a, 64 bits, over the terms, each followed by a newline.
fn fnv(terms: &[String]) -> u64 {
    let bytes = terms.iter().flat_map(|term| term.bytes().chain([b'\n']));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

fn write_line(out: &mut impl Write, value: &impl Serialize) -> anyhow::Result<()> {
    // An I/O error inside the serialiser is taken out again, so that a closed pipe is recognised as one.
    serde_json::to_writer(&mut *out, value).map_err(|error| match error.io_error_kind() {
        Some(kind) => anyhow::Error::from(std::io::Error::from(kind)),
        None => error.into(),
    })?;
    out.write_all(b"\n")?;
    Ok(())
}
