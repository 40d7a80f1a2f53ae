//! `senet watch`: a match, drawn for people.

use std::collections::BTreeSet;
use std::io::Write;
use std::process::ExitCode;

use anyhow::anyhow;
use clap::Args;
use machine::{Machine, Reference, RoleId, StopReason};
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

use crate::guard;
use crate::rules::{self, Rules};
use crate::screen;
use crate::view::View;

/// Plays a random match and draws every state
///
/// Examples:
///   senet watch tic-tac-toe            boards, for a library game
///   senet watch breakthrough --seed 7  another match
///   senet watch my-game.kif            what changes, for any other game
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Watch {
    /// A rule file, the name of a library game, or `-` for standard input
    rules: String,
    /// Chooses the moves
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The longest match, in joint moves
    #[arg(long, default_value_t = 300)]
    cap: u32,
}

pub(crate) fn run(arguments: Watch) -> anyhow::Result<ExitCode> {
    let rules = rules::read(&arguments.rules)?;
    let view = rules.game.map(|game| game.view()).transpose()?;
    let mut machine = rules::reference(&rules, guard::limits())?;
    let mut out = std::io::BufWriter::new(screen::out());
    let title = view.as_ref().map_or_else(|| rules.game_name(), |view| view.title.clone());
    writeln!(out, "{title}, a random match with seed {}\n", arguments.seed)?;
    let outcome = watch(&mut machine, view.as_ref(), &arguments, &mut out);
    out.flush()?;
    outcome.map_err(|error| over_budget(&rules, error))?;
    Ok(ExitCode::SUCCESS)
}

fn over_budget(rules: &Rules, error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref::<machine::Exceeded>() {
        Some(exceeded) => anyhow!(rules::over_budget(rules, exceeded)),
        None => error,
    }
}

fn watch(machine: &mut Reference, view: Option<&View>, arguments: &Watch, out: &mut impl Write) -> anyhow::Result<()> {
    let mut rng = Pcg64Mcg::seed_from_u64(arguments.seed);
    let mut before = BTreeSet::new();
    let mut written = Ok(());
    let result = machine::playout(machine, &mut rng, arguments.cap, |machine, step| {
        let now: BTreeSet<String> = machine.fluents(step.state).into_iter().collect();
        let state = match view {
            Some(view) => view.draw(&Vec::from_iter(now.clone())),
            None => changes(&before, &now),
        };
        before = now;
        let moves = step.joint.map(|joint| joint_text(machine, view, step.legal, joint));
        if written.is_ok() {
            written = write_state(out, &state, step.ply, moves);
        }
        Ok(())
    })?;
    written?;
    let (n_plies, last) = (result.n_plies, &result.last);
    match result.stop {
        StopReason::Terminal => writeln!(out, "The game is over after {n_plies} joint moves.")?,
        StopReason::Cap => writeln!(out, "Stopped after {n_plies} joint moves.")?,
        StopReason::Stuck(role) => {
            let role = machine.roles()[role.0 as usize].clone();
            writeln!(out, "{} has no legal move.", view.map_or(&*role, |view| view.role(&role)))?;
        }
    }
    for (index, role) in machine.roles().to_vec().iter().enumerate() {
        let goals: Vec<String> = machine.goals(last, RoleId(index as u32))?.iter().map(i64::to_string).collect();
        let goals = if goals.is_empty() { "no goal value".to_owned() } else { goals.join(" or ") };
        writeln!(out, "{}: {goals}", view.map_or(role.as_str(), |view| view.role(role)))?;
    }
    Ok(())
}

fn write_state(out: &mut impl Write, state: &str, ply: u32, moves: Option<String>) -> std::io::Result<()> {
    writeln!(out, "{state}")?;
    if let Some(moves) = moves {
        writeln!(out, "{}. {moves}\n", ply + 1)?;
    }
    Ok(())
}

/// The fluents that are new, and those that are gone.
pub(super) fn changes(before: &BTreeSet<String>, now: &BTreeSet<String>) -> String {
    let gone = before.difference(now).map(|fluent| format!("- {fluent}\n"));
    gone.chain(now.difference(before).map(|fluent| format!("+ {fluent}\n"))).collect()
}

/// What the roles do; those that have no choice are left out, unless nobody has one.
fn joint_text<M: Machine>(machine: &M, view: Option<&View>, legal: &[Vec<M::Move>], joint: &[M::Move]) -> String {
    let nobody_chooses = legal.iter().all(|moves| moves.len() == 1);
    let mut texts = Vec::new();
    for ((role, moves), &chosen) in machine.roles().iter().zip(legal).zip(joint) {
        if moves.len() > 1 || nobody_chooses {
            let chosen = machine.move_name(chosen);
            texts.push(match view {
                Some(view) => format!("{}: {}", view.role(role), view.move_text(&chosen)),
                None => format!("{role}: {chosen}"),
            });
        }
    }
    texts.join("   ")
}
