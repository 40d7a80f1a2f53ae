//! `senet soak`: many matches over HTTP, with faults.

use std::io::{Read, Write};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use arena::Clocks;
use arena::soak::{Findings, Plan, Texts, soak};
use clap::Args;
use serde_json::json;

use crate::contestants::Manner;
use crate::evidence::Bar;
use crate::guard;
use crate::rules;
use crate::screen;

#[path = "../../tests/hostile/texts.rs"]
mod texts;

/// Tries player and manager out: many matches over HTTP, with everything going wrong that can
///
/// A manager and a player of ours meet on this machine through two others: one breaks connections
/// off, repeats itself and sends rubbish, the other replies late, never, wrongly or without end. A
/// third pesters the player all the time. No match may be lost, no move of ours may be missed, nobody
/// may wait longer than the clock and the grace, and memory must not grow.
///
/// With `--hostile`, a stranger comes between the matches with rules that are made to exhaust a player,
/// gives matches up at any moment, and brings a crowd. It must be answered within its clocks and two
/// seconds, all processes together take at most 4 GiB, and none is left at the end.
///
/// The answer is the exit code: 0 if all went well, 1 if not.
///
/// Examples:
///   senet soak                         1,000 matches, some minutes
///   senet soak --matches 50 --json
///   senet soak --hostile --busy 4      beside four processes that do nothing but work
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Soak {
    /// Games for one or two, by turns: rule files or names of library games
    #[arg(long, num_args = 1.., value_name = "RULES", default_values = ["tic-tac-toe", "nim-5", "rock-paper-scissors", "buttons-and-lights"])]
    games: Vec<String>,
    /// How many matches to play
    #[arg(long, default_value_t = 1000, value_name = "N")]
    matches: u32,
    /// Who plays: `portfolio`, `uct`, `random` or `legal`
    #[arg(long, default_value = "uct", value_name = "PLAYER")]
    player: String,
    /// Seconds to prepare
    #[arg(long, default_value_t = 0.2, value_name = "SECONDS")]
    start_clock: f64,
    /// Seconds for each move
    #[arg(long, default_value_t = 0.1, value_name = "SECONDS")]
    play_clock: f64,
    /// Seconds that an answer may be late
    #[arg(long, default_value_t = 0.2, value_name = "SECONDS")]
    grace: f64,
    /// How many of a hundred messages go wrong, on each side
    #[arg(long, default_value_t = 15, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=100))]
    faults: u32,
    /// Lets a stranger send hostile rules after every tenth match
    #[arg(long)]
    hostile: bool,
    /// Lets so many processes work beside it, to keep the machine busy
    #[arg(long, default_value_t = 0, value_name = "N")]
    busy: u32,
    /// Decides what goes wrong
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Prints one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: Soak) -> anyhow::Result<ExitCode> {
    guard::give_back_memory();
    let mut games = Vec::new();
    for name in &arguments.games {
        let rules = rules::read(name)?;
        rules::accept(&rules)?;
        let game = arena::Rules::read(&rules.game_name(), rules.source.text());
        let n_roles = arena::Judge::new(&game, None).map_err(|error| anyhow!(error))?.roles().len();
        if n_roles > 2 {
            bail!("{name} has {n_roles} roles; there are two players");
        }
        games.push(game);
    }
    let seconds = |name, seconds| Duration::try_from_secs_f64(seconds).with_context(|| format!("--{name} {seconds}"));
    let clocks = Clocks {
        start: seconds("start-clock", arguments.start_clock)?,
        play: seconds("play-clock", arguments.play_clock)?,
    };
    let (matches, faults, seed) = (arguments.matches, arguments.faults, arguments.seed);
    let hostile: Option<Texts> = arguments.hostile.then(|| Arc::new(hostile_text) as Texts);
    let plan = Plan { games, matches, clocks, grace: seconds("grace", arguments.grace)?, faults, seed, hostile };
    let _busy = Busy::new(arguments.busy)?;
    let folder = std::env::temp_dir().join(format!("senet-soak-{}", std::process::id()));
    let own = Some(folder.join("player.db"));
    let bar = Bar::new();
    let see = &mut |done: u32| bar.show("matches", done as usize, arguments.matches as usize);
    let manner = Manner::new(&arguments.player, arguments.seed)?;
    let manner = Manner { ponder: true, keep: own, bounded: true, ..manner };
    let factory = manner.apart(Arc::new(|_| {}))?;
    let findings = soak(&plan, factory, see).map_err(|error| anyhow!(error))?;
    bar.clear();
    // There is nothing to remove where nothing was learned.
    let _ = std::fs::remove_dir_all(folder);
    let complaints = findings.complaints(&plan);
    let mut out = screen::out();
    if arguments.json {
        writeln!(out, "{}", as_json(&findings, &complaints))?;
    } else {
        write(&mut out, &plan, &findings, &complaints)?;
    }
    Ok(if complaints.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// A hostile text: families and sizes by turns.
fn hostile_text(number: u64) -> (String, String) {
    const SIZES: [usize; 4] = [1_000, 100, 10, 9_000];
    let n = texts::FAMILIES.len() as u64;
    let (name, make) = texts::FAMILIES[(number % n) as usize];
    let size = SIZES[((number + number / n) % 4) as usize];
    let text = make(size, number);
    // What is larger is refused at once.
    if text.len() > gdl::source::MAX_SOURCE_BYTES {
        (name.to_owned(), make(100, number))
    } else {
        (format!("{name} {size}"), text)
    }
}

/// Processes that do nothing but work.
struct Busy(Vec<Child>);

impl Busy {
    fn new(n: u32) -> anyhow::Result<Busy> {
        let program = std::env::current_exe().context("can't find the program itself")?;
        let mut busy = Busy(Vec::new());
        for _ in 0..n {
            let mut command = Command::new(&program);
            command.args(["contestant", "--spin"]).stdin(Stdio::piped()).stdout(Stdio::piped());
            busy.0.push(command.spawn().context("can't start a process")?);
        }
        // Whoever counts threads from now on finds all of theirs.
        for child in &mut busy.0 {
            let said = child.stdout.as_mut().context("it has an output")?.read_exact(&mut [0]);
            said.context("a process that should work does not")?;
        }
        Ok(busy)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn as_json(findings: &Findings, complaints: &[String]) -> serde_json::Value {
    json!({
        "completed": findings.completed,
        "moves": findings.n_moves,
        "our_errors": findings.our_errors.len(),
        "their_errors": findings.their_errors,
        "our_slowest_seconds": findings.our_slowest.as_secs_f64(),
        "slowest_step_seconds": findings.slowest_step.as_secs_f64(),
        "memory_bytes": findings.memory.map(|(before, after)| vec![before, after]),
        "slowest_for_strangers_seconds": findings.slowest_for_strangers.as_secs_f64(),
        "most_memory_bytes": findings.most_memory,
        "seconds": findings.time.as_secs_f64(),
        "log_lines": findings.n_lines,
        "faults": findings.faults,
        "complaints": complaints,
    })
}

fn write(out: &mut impl Write, plan: &Plan, findings: &Findings, complaints: &[String]) -> std::io::Result<()> {
    let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
    writeln!(
        out,
        "{} of {} matches played to their end, {} joint moves, {:.0} s",
        findings.completed,
        plan.matches,
        findings.n_moves,
        findings.time.as_secs_f64()
    )?;
    writeln!(
        out,
        "our player: {} errors, slowest move {:.0} ms of {:.0} ms and {:.0} ms grace",
        findings.our_errors.len(),
        milliseconds(findings.our_slowest),
        milliseconds(plan.clocks.play),
        milliseconds(plan.grace)
    )?;
    writeln!(
        out,
        "the others: {} errors; slowest joint move {:.0} ms",
        findings.their_errors,
        milliseconds(findings.slowest_step)
    )?;
    if let Some((before, after)) = findings.memory {
        let mebibytes = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        writeln!(
            out,
            "memory: {:.1} MiB after a tenth of the matches, {:.1} MiB at the end",
            mebibytes(before),
            mebibytes(after)
        )?;
    }
    if plan.hostile.is_some() {
        let (over, most) = (findings.slowest_for_strangers.as_secs_f64(), findings.most_memory >> 20);
        writeln!(
            out,
            "strangers: answered at most {over:.2} s after their clocks; all processes took at most {most} MiB"
        )?;
    }
    writeln!(out, "{} things went wrong on purpose:", findings.faults.values().sum::<u64>())?;
    for (fault, n) in &findings.faults {
        writeln!(out, "{n:>7}  {fault}")?;
    }
    for complaint in complaints {
        writeln!(out, "NOT WELL: {complaint}")?;
    }
    if complaints.is_empty() {
        writeln!(out, "all is well")?;
    }
    Ok(())
}
