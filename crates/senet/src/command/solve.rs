//! `senet solve`: what a role can be sure of, proved.

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{anyhow, bail};
use clap::{Args, ValueEnum};
use machine::RoleId;
use machine::lanes;
use machine::network::Network;
use machine::scalar::{Compiled, Scalar};
use search::proof::{self, Keys, Solver};
use search::{Limit, Player, Solo, solo};

use super::learn::read_duration;
use crate::guard;
use crate::rules;
use crate::screen;

/// Solves a game from its start: what its roles can be sure of, and a line of best play
///
/// Works for games with one role, and for games in which the roles take turns; the value of a role is
/// what it gets whatever the others do. Exit status 1 if there is no exact value: the bound on nodes or
/// the time was reached first, or it depends on matches that have no result.
///
/// Examples:
///   senet solve tic-tac-toe                   50: a draw
///   senet solve connect-four-5x5 --nodes 5000000
///   senet solve minichess --by proof-number --json
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Solve {
    /// A rule file, the name of a library game, or `-` for standard input
    rules: String,
    /// The most states to look at
    #[arg(long, default_value_t = 50_000_000)]
    nodes: u64,
    /// How games with several roles are solved
    #[arg(long, value_enum, default_value_t = By::DepthFirst)]
    by: By,
    /// How long it may take, such as 90s, 5m or 2h; then it says how far it came
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = read_duration)]
    time: Duration,
    /// The size of the table of states, in MiB
    #[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u64).range(1..=1 << 16))]
    table: u64,
    /// Prints JSON
    #[arg(long)]
    json: bool,
}

/// How games with several roles are solved.
#[derive(Clone, Copy, ValueEnum)]
enum By {
    /// Line after line, each to its end
    DepthFirst,
    /// Where the least seems to be missing to a proof
    ProofNumber,
}

/// What was found for the first role.
struct Found {
    lower: i64,
    upper: i64,
    line: Vec<Vec<u32>>,
    nodes: u64,
    /// Why there is no exact value.
    stop: Option<String>,
}

pub(crate) fn run(arguments: Solve) -> anyhow::Result<ExitCode> {
    let _time = guard::within(arguments.time);
    let rules = rules::read(&arguments.rules)?;
    rules::accept(&rules)?;
    let name = rules.source.name();
    let ground = gdl::ground::ground(&rules.program, &guard::ground_budget())
        .map_err(|failure| anyhow!("`{name}` can't be grounded: {failure}"))?;
    let network = machine::network::build(ground.clone(), &guard::stop())
        .map_err(|failure| anyhow!("`{name}` makes no useful network: {failure}"))?;
    let network = Arc::new(network);
    let compiled = Compiled::new(network.clone());
    let state = compiled.initial().to_vec();
    let stop = guard::stop();
    let limit = Limit { nodes: arguments.nodes, stop: &|| stop.is_raised() };
    let begin = Instant::now();
    if network.roles.is_empty() {
        bail!("`{name}` has no roles");
    }
    let found = match (at_the_start(name, &compiled)?, network.roles.len()) {
        (Some(value), _) => Found { lower: value, upper: value, line: Vec::new(), nodes: 0, stop: None },
        (None, 1) => {
            let mut solo = Solo::new(&lanes::Compiled::new(network.clone()), solo::Settings::default(), 1);
            alone(&network, &solo.choose(&state, RoleId(0), &limit))
        }
        (None, _) => {
            let keys = Keys::symmetric(&ground, &network, &compiled, 1);
            let method = match arguments.by {
                By::DepthFirst => proof::Method::DepthFirst,
                By::ProofNumber => proof::Method::ProofNumber,
            };
            let settings = proof::Settings { method, bytes: (arguments.table as usize) << 20 };
            let solution = Solver::new(Scalar::new(compiled), keys, RoleId(0), &settings).solve(&state, &limit);
            Found {
                lower: solution.lower,
                upper: solution.upper,
                line: solution.line,
                nodes: solution.nodes,
                stop: solution.stop.map(|stop| stop.to_string()),
            }
        }
    };
    print(&network, &found, begin.elapsed().as_secs_f64(), arguments.json)?;
    Ok(if found.stop.is_none() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The first role's result, if the match is over as soon as it begins; an error if there is nothing to search for.
fn at_the_start(name: &str, compiled: &Arc<Compiled>) -> anyhow::Result<Option<i64>> {
    let mut machine = Scalar::new(compiled.clone());
    let roles = machine.network().roles.clone();
    if machine.terminal() {
        let goal = machine.goal(RoleId(0));
        let none = || anyhow!("`{name}` is over at the start, and the rules give `{}` no single goal value", roles[0]);
        return goal.ok_or_else(none).map(Some);
    }
    if let Some(role) = search::legal_moves(&machine).iter().position(Vec::is_empty) {
        bail!("`{}` has no legal move at the start of `{name}`", roles[role]);
    }
    if machine.network().goals.iter().all(|goal| goal.0 != 0) {
        bail!("`{name}` has no goal value for `{}`", roles[0]);
    }
    Ok(None)
}

/// What the search for one role found: a line that it can play, and perhaps that there is none better.
fn alone(network: &Network, answer: &search::Answer) -> Found {
    let goals = || network.goals.iter().map(|goal| goal.1);
    let found = Some(answer.values[0]).filter(|value| value.is_finite()).map(|value| (value * 100.0).round() as i64);
    let lower = found.or(goals().min()).unwrap_or(0);
    Found {
        lower,
        upper: if answer.proven { lower } else { goals().max().unwrap_or(100) },
        line: if found.is_some() { answer.line.clone() } else { Vec::new() },
        nodes: answer.nodes,
        stop: (!answer.proven).then(|| answer.stop.to_string()),
    }
}

fn print(network: &Network, found: &Found, seconds: f64, json: bool) -> anyhow::Result<()> {
    let name = |&chosen: &u32| network.name(network.moves[chosen as usize]);
    let line: Vec<Vec<String>> = found.line.iter().map(|joint| joint.iter().map(name).collect()).collect();
    let mut out = screen::out();
    if json {
        let text = serde_json::json!({
            "role": network.roles[0], "lower": found.lower, "upper": found.upper, "exact": found.stop.is_none(),
            "nodes": found.nodes, "seconds": seconds, "stopped": found.stop, "line": line,
        });
        writeln!(out, "{text}")?;
        return Ok(());
    }
    let role = &network.roles[0];
    match &found.stop {
        None => writeln!(out, "{role} gets {}", found.lower)?,
        Some(stop) => writeln!(out, "{role} gets {} to {}; not solved: {stop}", found.lower, found.upper)?,
    }
    writeln!(out, "{} states looked at in {seconds:.1} s", found.nodes)?;
    if !line.is_empty() {
        writeln!(out, "{}", if found.stop.is_none() { "best play:" } else { "a line that is known:" })?;
    }
    for (number, joint) in line.iter().enumerate() {
        writeln!(out, "{:>4}. {}", number + 1, joint.join("  "))?;
    }
    Ok(())
}
