//! `senet play`: a person against the machine, in the terminal.

mod input;
mod why;

use std::collections::BTreeSet;
use std::io::{BufRead, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::{anyhow, bail};
use arena::{Judge, Store};
use clap::Args;
use gdl::Stop;
use learn::player::{self, Search};

use self::input::{COMMANDS, Said};
use super::learn::read_duration;
use crate::contest::kit::{Kit, Known};
use crate::evidence::Bar;
use crate::n_cores;
use crate::portfolio::by_rules::ByRules;
use crate::portfolio::member::{Member, Opinion, Rank};
use crate::portfolio::searcher::{Searcher, Words};
use crate::portfolio::study::{Keep, Study};
use crate::portfolio::{self};
use crate::rules::{self, Rules};
use crate::screen;
use crate::view::View;

/// Plays a game with you in the terminal
///
/// Moves are typed by their number, their name or the beginning of it; a beginning with a question mark lists what it can become.
/// `hint` says what the machine would do, `why` what it thinks of its move, `undo` takes a move back, `help` lists the rest.
///
/// The machine plays with the model of the game in the memory, if there is one; else it learns first if --learn says for how long, or
/// searches without knowledge. Any other command or person may drive it through standard input.
///
/// Examples:
///   senet play connect-four
///   senet play breakthrough --seat black --time 3
///   senet play my-game.kif --learn 30s          learns for half a minute first
///   senet play tic-tac-toe --seat none          the machine plays against itself
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Play {
    /// A rule file or the name of a library game
    rules: String,
    /// Your role, by its name or number; `none` to look on [default: the first]
    #[arg(long, value_name = "ROLE")]
    seat: Option<String>,
    /// Seconds for a move of the machine
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0)]
    time: f64,
    /// Ends its searches after so many states, whatever the time
    #[arg(long, value_name = "N")]
    nodes: Option<u64>,
    /// Learns for so long where there is no model, such as 30s or 1m
    #[arg(long, value_name = "TIME", value_parser = read_duration)]
    learn: Option<Duration>,
    /// The seed of everything that is left to chance
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The memory, instead of the usual file
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
}

pub(crate) fn run(arguments: Play) -> anyhow::Result<ExitCode> {
    if arguments.rules == "-" {
        bail!("standard input is for your moves; name a rule file or a library game");
    }
    let rules = rules::read(&arguments.rules)?;
    let path = match arguments.store {
        Some(path) => path,
        None => Store::default_path()?,
    };
    let kit = Arc::new(Kit::new(&rules, path)?);
    let mut out = screen::out();
    let view = rules.game.map(|game| game.view()).transpose()?;
    writeln!(out, "{}", view.as_ref().map_or(kit.name.clone(), |view| format!("{}: {}", view.title, view.summary)))?;
    let machine = Machine::new(kit.clone(), &rules, arguments.learn, arguments.seed)?;
    writeln!(out, "The machine plays by {}.", machine.what)?;
    let time = Duration::from_secs_f64(arguments.time.clamp(0.001, 3600.0));
    let mut table = Table {
        judge: Judge::new(&kit.rules, None).map_err(|why| anyhow!(why))?,
        kit,
        view,
        machine,
        limits: (time, arguments.nodes.unwrap_or(u64::MAX)),
        seat: None,
        history: Vec::new(),
        shown: BTreeSet::new(),
        last: None,
    };
    table.seat = match arguments.seat.as_deref() {
        Some("none") => None,
        Some(role) => Some(table.role(role)?),
        None => Some(0),
    };
    table.play(&mut std::io::stdin().lock(), &mut out)?;
    Ok(ExitCode::SUCCESS)
}

/// How the machine chooses its moves.
struct Machine {
    kit: Arc<Kit>,
    known: Option<Known>,
    /// In words.
    what: String,
    /// One for each role, when it is first asked for.
    members: Vec<Option<Box<dyn Member>>>,
    seed: u64,
}

impl Machine {
    fn new(kit: Arc<Kit>, rules: &Rules, learn: Option<Duration>, seed: u64) -> anyhow::Result<Machine> {
        let mut known = kit.known()?.cloned();
        if let (None, Some(time)) = (&known, learn) {
            known = Machine::learn(&kit, rules, time, seed)?;
        }
        let what = match (&known, kit.plain()) {
            (Some(known), _) if known.id > 0 => format!("{} and model {}", known.search.name(), known.id),
            (Some(known), _) => format!("{} and what it has just learned", known.search.name()),
            (None, Ok(_)) if kit.roles.len() == 1 => Search::Solo.name().to_owned(),
            (None, Ok(_)) => format!("{} (--learn 1m lets it learn first)", Search::Plain.name()),
            (None, Err(_)) => "random matches, since the game is too large for more".to_owned(),
        };
        let members = kit.roles.iter().map(|_| None).collect();
        Ok(Machine { kit, known, what, members, seed })
    }

    fn learn(kit: &Kit, rules: &Rules, time: Duration, seed: u64) -> anyhow::Result<Option<Known>> {
        let bar = Bar::new();
        bar.show(&format!("learning for {:.0} s", time.as_secs_f64()), 0, 0);
        let study = Study {
            name: kit.name.clone(),
            text: kit.rules.text.clone(),
            program: rules.program.clone(),
            memory: Some(kit.memory.clone()),
            seed,
            threads: n_cores(),
            learn: true,
            keep: Some(Keep::all(kit.memory.clone())),
            until: Instant::now() + time,
        };
        let found = study.go(&Stop::never(), &|note| bar.above(note));
        bar.clear();
        let found = found.map_err(|why| anyhow!(why))?;
        Ok(found.knowledge.map(|found| Known { id: 0, model: found.model, search: found.search }))
    }

    fn member(&mut self, role: usize, nodes: u64) -> Result<&mut Box<dyn Member>, String> {
        if self.members[role].is_none() {
            self.members[role] = Some(self.make(role, nodes)?);
        }
        Ok(self.members[role].as_mut().expect("just made"))
    }

    fn make(&self, role: usize, nodes: u64) -> Result<Box<dyn Member>, String> {
        let kit = &self.kit;
        let seed = self.seed.wrapping_add(role as u64);
        // On one thread, the same seed and bound give the same moves.
        let threads = if nodes == u64::MAX { n_cores() } else { 1 };
        let (engines, player, what) = match (&self.known, kit.plain()) {
            (Some(known), _) => {
                let player = player::player(&known.model, known.search, threads, seed);
                (kit.engines()?, player, known.search.name().to_owned())
            }
            (None, Ok(engines)) => {
                let (player, what) = portfolio::plain_player(&engines.lanes, kit.roles.len(), threads, seed);
                (engines.clone(), player, what.to_owned())
            }
            (None, Err(_)) => {
                let is_thorough = Arc::new(AtomicBool::new(true));
                return Ok(Box::new(ByRules::new(kit.rules.program(), role, seed, is_thorough, Stop::never())?));
            }
        };
        let words = Words::new(engines.network, &kit.roles)?;
        Ok(Box::new(Searcher::new(engines.scalar, words, role, player, Rank::Search, what).within(nodes)))
    }
}

/// A match between a person and the machine.
struct Table {
    kit: Arc<Kit>,
    view: Option<View>,
    machine: Machine,
    /// Time and states for a move.
    limits: (Duration, u64),
    /// The person's role.
    seat: Option<usize>,
    judge: Judge,
    history: Vec<Vec<String>>,
    /// The fluents that were shown last.
    shown: BTreeSet<String>,
    /// The last opinion: how many joint moves had been made, whose it is about, what the others do, and what was thought.
    last: Option<(usize, usize, Vec<String>, Opinion)>,
}

/// What happens after a line.
enum Next {
    /// The person has chosen.
    Chosen(String),
    /// The position is another one.
    Changed,
    /// The same question again.
    Again,
    Quit,
}

impl Table {
    fn play(&mut self, input: &mut dyn BufRead, out: &mut dyn Write) -> anyhow::Result<()> {
        let prompt_role = |table: &Table| table.seat.map(|seat| table.role_text(seat));
        if let Some(role) = prompt_role(self) {
            writeln!(out, "You are {role}. Type a move, or `help`.")?;
        }
        self.show(out)?;
        loop {
            let is_over = self.judge.is_terminal().map_err(|why| anyhow!(why))? || !self.goes_on()?;
            if is_over {
                self.tell_result(out)?;
            }
            // Step 1. What the person does, if there is anything to choose.
            let mut own = None;
            if let Some(seat) = self.seat {
                let legal = if is_over { Vec::new() } else { self.legal(seat)? };
                if is_over || legal.len() > 1 {
                    match self.ask(&legal, input, out)? {
                        Next::Chosen(chosen) => own = Some(chosen),
                        Next::Changed => {
                            self.show(out)?;
                            continue;
                        }
                        Next::Again => continue,
                        Next::Quit => return Ok(()),
                    }
                } else {
                    own = legal.into_iter().next();
                }
            } else if is_over {
                return Ok(());
            }
            // Step 2. What the machine does at the same time.
            let mut joint = Vec::new();
            for role in 0..self.kit.roles.len() {
                let legal = self.legal(role)?;
                joint.push(match (&own, self.seat == Some(role)) {
                    (Some(own), true) => own.clone(),
                    _ if legal.len() == 1 => legal[0].clone(),
                    _ => {
                        let opinion = self.think(role)?;
                        writeln!(out, "{} plays {}.", self.role_text(role), self.move_text(&opinion.chosen))?;
                        let chosen = opinion.chosen.clone();
                        self.last = Some((self.history.len(), role, Vec::new(), opinion));
                        chosen
                    }
                });
            }
            if let Some((at, _, others, _)) = &mut self.last
                && *at == self.history.len()
            {
                others.clone_from(&joint);
            }
            self.judge.make(&joint).map_err(|why| anyhow!(why))?;
            self.history.push(joint);
            self.show(out)?;
        }
    }

    /// Reads lines until one of them decides something.
    fn ask(&mut self, legal: &[String], input: &mut dyn BufRead, out: &mut dyn Write) -> anyhow::Result<Next> {
        let named = |chosen: &String| (chosen.clone(), self.move_text(chosen));
        let moves: Vec<(String, String)> = legal.iter().map(named).collect();
        write!(out, "> ")?;
        out.flush()?;
        let mut line = String::new();
        if input.read_line(&mut line)? == 0 {
            writeln!(out)?;
            return Ok(Next::Quit);
        }
        if !std::io::stdin().is_terminal() {
            writeln!(out, "{}", line.trim_end())?;
        }
        let list = |places: &[usize]| {
            let shown: Vec<&str> = places.iter().map(|&place| &*moves[place].1).collect();
            shown.join(", ")
        };
        match input::read(&line, &moves) {
            Said::Move(place) => return Ok(Next::Chosen(legal[place].clone())),
            Said::Nothing => {}
            Said::Unknown if moves.is_empty() => writeln!(out, "The match is over; `new`, `undo` or `quit`?")?,
            Said::Unknown => {
                writeln!(out, "`{}` is no move here; `moves` lists them, `help` the commands", line.trim())?
            }
            Said::Several(places) => writeln!(out, "That could be {}.", list(&places))?,
            Said::Completions(places) if places.is_empty() => writeln!(out, "No move begins like that.")?,
            Said::Completions(places) => writeln!(out, "{}", list(&places))?,
            Said::Command("moves", _) => {
                for (place, (_, shown)) in moves.iter().enumerate() {
                    writeln!(out, "{:>4}  {shown}", place + 1)?;
                }
            }
            Said::Command("board", _) => return Ok(Next::Changed),
            Said::Command("help", _) => {
                writeln!(out, "A move by its number, its name or the beginning of it, or:")?;
                COMMANDS.iter().try_for_each(|(command, what)| writeln!(out, "  {command:<8}{what}"))?;
            }
            Said::Command("quit", _) => return Ok(Next::Quit),
            Said::Command("undo", _) => return self.undo(out),
            Said::Command("new", seat) => {
                if !seat.is_empty() {
                    match self.role(&seat) {
                        Ok(role) => self.seat = Some(role),
                        Err(error) => {
                            writeln!(out, "{error}")?;
                            return Ok(Next::Again);
                        }
                    }
                    writeln!(out, "You are {}.", self.role_text(self.seat.unwrap_or(0)))?;
                }
                self.go_back(0)?;
                return Ok(Next::Changed);
            }
            Said::Command("hint", _) if legal.is_empty() => writeln!(out, "The match is over.")?,
            Said::Command("hint", _) => {
                let seat = self.seat.unwrap_or(0);
                let opinion = self.think(seat)?;
                writeln!(out, "The machine would play {}.", self.move_text(&opinion.chosen))?;
                let others = (0..self.kit.roles.len()).map(|role| Ok(self.legal(role)?.swap_remove(0)));
                let mut others = others.collect::<anyhow::Result<Vec<String>>>()?;
                others[seat].clone_from(&opinion.chosen);
                self.last = Some((self.history.len(), seat, others, opinion));
            }
            Said::Command(_, _) => self.explain(out)?,
        }
        Ok(Next::Again)
    }

    /// Goes back to where the person last had a choice.
    fn undo(&mut self, out: &mut dyn Write) -> anyhow::Result<Next> {
        let Some(seat) = self.seat else { return Ok(Next::Again) };
        for length in (0..self.history.len()).rev() {
            let mut judge = Judge::new(&self.kit.rules, None).map_err(|why| anyhow!(why))?;
            for joint in &self.history[..length] {
                judge.make(joint).map_err(|why| anyhow!(why))?;
            }
            if judge.legal(seat).map_err(|why| anyhow!(why))?.len() > 1 {
                self.go_back(length)?;
                return Ok(Next::Changed);
            }
        }
        writeln!(out, "There is nothing to take back.")?;
        Ok(Next::Again)
    }

    fn go_back(&mut self, length: usize) -> anyhow::Result<()> {
        self.history.truncate(length);
        self.judge = Judge::new(&self.kit.rules, None).map_err(|why| anyhow!(why))?;
        self.history.iter().try_for_each(|joint| self.judge.make(joint)).map_err(|why| anyhow!(why))?;
        self.shown.clear();
        Ok(())
    }

    /// Lets the machine think for a role.
    fn think(&mut self, role: usize) -> anyhow::Result<Opinion> {
        let (time, nodes) = self.limits;
        let end = Instant::now() + time;
        let timed = nodes == u64::MAX;
        let mut best: Option<Opinion> = None;
        let member = self.machine.member(role, nodes).map_err(|why| anyhow!(why))?;
        let thought = member.think(&self.history, &|| timed && Instant::now() >= end, &mut |opinion| {
            if best.as_ref().is_none_or(|best| best.rank <= opinion.rank) {
                best = Some(opinion);
            }
        });
        thought.map_err(|why| anyhow!(why))?;
        best.ok_or_else(|| anyhow!("the machine found no move"))
    }

    fn explain(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let Some((at, role, joint, opinion)) = &self.last else {
            writeln!(out, "The machine has not thought about anything yet; ask for a `hint`.")?;
            return Ok(());
        };
        writeln!(out, "{} for {}: {}.", self.move_text(&opinion.chosen), self.role_text(*role), opinion.why)?;
        if opinion.line.len() > 1 {
            let line: Vec<String> = opinion.line.iter().map(|chosen| self.move_text(chosen)).collect();
            writeln!(out, "It expects {}.", line.join(", then "))?;
        }
        let mut tried: Vec<&(String, u64, f32)> = opinion.tried.iter().filter(|(_, visits, _)| *visits > 0).collect();
        tried.sort_by(|one, other| other.2.total_cmp(&one.2));
        let shown: Vec<String> = tried
            .iter()
            .take(4)
            .map(|(name, _, value)| format!("{} {:.0} %", self.move_text(name), 100.0 * value))
            .collect();
        if shown.len() > 1 {
            writeln!(out, "The moves that it likes best: {}.", shown.join(", "))?;
        }
        let Some(known) = &self.machine.known else { return Ok(()) };
        let history = &self.history[..(*at).min(self.history.len())];
        if let Ok(reasons) = why::reasons(&known.model, &self.kit.roles, history, joint, *role)
            && !reasons.is_empty()
        {
            writeln!(out, "After it, compared with the other moves:")?;
            reasons.iter().try_for_each(|reason| writeln!(out, "  {reason}"))?;
        }
        Ok(())
    }

    fn legal(&mut self, role: usize) -> anyhow::Result<Vec<String>> {
        self.judge.legal(role).map_err(|why| anyhow!(why))
    }

    /// Whether everybody has a move.
    fn goes_on(&mut self) -> anyhow::Result<bool> {
        let mut each = (0..self.kit.roles.len()).map(|role| Ok(!self.legal(role)?.is_empty()));
        each.try_fold(true, |all, one: anyhow::Result<bool>| Ok(all && one?))
    }

    fn show(&mut self, out: &mut dyn Write) -> anyhow::Result<()> {
        let fluents = self.judge.fluents().map_err(|why| anyhow!(why))?;
        match &self.view {
            Some(view) => writeln!(out, "\n{}", view.draw(&fluents))?,
            None => {
                let now: BTreeSet<String> = fluents.into_iter().collect();
                writeln!(out, "\n{}", super::watch::changes(&self.shown, &now))?;
                self.shown = now;
            }
        }
        Ok(())
    }

    fn tell_result(&mut self, out: &mut dyn Write) -> anyhow::Result<()> {
        let goals = self.judge.goals().map_err(|why| anyhow!(why))?;
        let shown = |goal: Option<i64>| goal.map_or("no result".to_owned(), |goal| goal.to_string());
        let results: Vec<String> =
            goals.iter().enumerate().map(|(role, &goal)| format!("{} {}", self.role_text(role), shown(goal))).collect();
        writeln!(out, "The match is over: {}.", results.join(", "))?;
        if let Some(own) = self.seat.and_then(|seat| goals[seat]) {
            let others = goals.iter().enumerate().filter(|(role, _)| Some(*role) != self.seat);
            let best = others.filter_map(|(_, goal)| *goal).max();
            match best {
                Some(best) if own > best => writeln!(out, "You have won.")?,
                Some(best) if own < best => writeln!(out, "You have lost.")?,
                Some(_) => writeln!(out, "It is a draw.")?,
                None => {}
            }
        }
        Ok(())
    }

    /// A role by its name, its label or its number.
    fn role(&self, text: &str) -> anyhow::Result<usize> {
        let roles = &self.kit.roles;
        let is_it = |role: &String| {
            role.eq_ignore_ascii_case(text)
                || self.view.as_ref().is_some_and(|view| view.role(role).eq_ignore_ascii_case(text))
        };
        let by_number =
            text.parse::<usize>().ok().and_then(|number| number.checked_sub(1)).filter(|&n| n < roles.len());
        let found = roles.iter().position(is_it).or(by_number);
        found.ok_or_else(|| anyhow!("there is no role `{text}`; the roles are {}", roles.join(", ")))
    }

    fn role_text(&self, role: usize) -> String {
        let name = &self.kit.roles[role];
        self.view.as_ref().map_or(name.clone(), |view| view.role(name).to_owned())
    }

    fn move_text(&self, chosen: &str) -> String {
        self.view.as_ref().map_or(chosen.to_owned(), |view| view.move_text(chosen))
    }
}
