//! The portfolio: a player of any game that always has a move.
//!
//! Several members think about each position, each in a thread of its own ([`member`]): one that follows the rules as they stand and
//! knows a legal move at once ([`by_rules`]), a search without knowledge as soon as the rules are a network ([`searcher`]), and a
//! search with a model, from the memory or learned before the match ([`study`]), or else with many simple heuristics
//! ([`heuristics`]). Where roles take turns, another one looks for what is certain. The best that has answered is believed. A member
//! that panics is left out from then on, as is one that does not come back; both are reported.

pub(crate) mod by_rules;
pub(crate) mod heuristics;
pub(crate) mod member;
mod playing;
pub(crate) mod searcher;
pub(crate) mod study;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use arena::contestant::{Clocks, Contestant, Decision, Rules};
use features::game::Game;
use gdl::{Program, Stop};
use learn::player::{self, Search};
use machine::{Limits, Machine, Reference, Setup, lanes, scalar};
use search::proof::{self, Exact};
use search::{Nature, Player, Solo, Uct, solo, uct};

use self::by_rules::ByRules;
use self::heuristics::Heuristics;
use self::member::{Make, Member, Rank};
use self::playing::{Door, Playing, Report};
use self::searcher::{Searcher, Words};
use self::study::{Keep, Knowledge, Study};

/// Bytes of a search's tree.
const BYTES: usize = 256 << 20;
/// Bytes of what was proved.
const EXACT_BYTES: usize = 64 << 20;

/// How a portfolio plays.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) seed: u64,
    /// The threads that work at once, about.
    pub(crate) threads: usize,
    /// The memory with models; without it nothing is known.
    pub(crate) memory: Option<PathBuf>,
    /// Whether it learns in the start clock.
    pub(crate) learn: bool,
    /// Where what it learned is kept, and looked up, too.
    pub(crate) keep: Option<Keep>,
    /// Ends what is prepared, so that those who play by then have time and memory.
    pub(crate) stop: Stop,
    /// Whether it thinks on while others think; for one that shares its machine with nobody.
    pub(crate) ponder: bool,
    /// Is told what went wrong, and what was done.
    pub(crate) report: Report,
}

/// A member by its name and rank, and what makes it.
type Further = (&'static str, Rank, fn() -> Box<dyn Member>);

/// A player of any game.
pub(crate) struct Portfolio {
    settings: Settings,
    /// Raised while nobody waits for it.
    given_up: Arc<AtomicBool>,
    playing: Option<Playing>,
    /// Further members of each match; for tests.
    further: Vec<Further>,
}

impl Portfolio {
    pub(crate) fn new(settings: Settings) -> Portfolio {
        Portfolio { settings, given_up: Arc::default(), playing: None, further: Vec::new() }
    }
}

/// The roles in the order of the rules, be they facts or derived.
pub(crate) fn roles(program: &Arc<Program>, stop: &Stop) -> Result<Vec<String>, String> {
    let limits = Limits { stop: stop.clone(), ..Limits::default() };
    match Reference::new(program.clone(), limits) {
        Ok(machine) => Ok(machine.roles().to_vec()),
        Err(Setup::Unevaluable(_)) => Err("the rules have no meaning".to_owned()),
        Err(Setup::Exceeded(exceeded)) => Err(format!("the roles can't be found: {exceeded}")),
    }
}

/// A search without knowledge: tree search with playouts, or search for one role alone.
pub(crate) fn plain_player(
    lanes: &Arc<lanes::Compiled>,
    n_roles: usize,
    threads: usize,
    seed: u64,
) -> (Box<dyn Player>, &'static str) {
    match n_roles {
        1 => {
            let settings = solo::Settings { bytes: BYTES, ..solo::Settings::default() };
            (Box::new(Solo::new(lanes, settings, seed)), "search for one role alone")
        }
        _ => {
            let settings = uct::Settings { bytes: BYTES, ..uct::Settings::strongest() };
            (Box::new(Uct::new(lanes.clone(), settings, seed).on_threads(threads)), "tree search with playouts")
        }
    }
}

/// Makes the rules a network, and lets a search take part.
fn ground(
    program: &Program,
    roles: Vec<String>,
    role: usize,
    threads: usize,
    seed: u64,
    door: &Door,
    stop: &Stop,
) -> Result<(), String> {
    let budget = gdl::ground::Budget { stop: stop.clone(), ..gdl::ground::Budget::default() };
    let ground = gdl::ground::ground(program, &budget);
    let ground = ground.map_err(|failure| format!("the rules can't be grounded: {failure}"))?;
    let network = machine::network::build(ground, stop);
    let network = Arc::new(network.map_err(|failure| format!("the rules make no useful network: {failure}"))?);
    let (scalar, lanes) = (scalar::Compiled::new(network.clone()), lanes::Compiled::new(network.clone()));
    let (own_roles, own_network, own_scalar, own_lanes) =
        (roles.clone(), network.clone(), scalar.clone(), lanes.clone());
    let make = move || {
        let (player, what) = plain_player(&own_lanes, own_roles.len(), threads, seed);
        let words = Words::new(own_network, &own_roles)?;
        Ok(Box::new(Searcher::new(own_scalar, words, role, player, Rank::Search, what.to_owned())) as Box<dyn Member>)
    };
    door.join("search", Rank::Search, Box::new(make));
    let settings = proof::Settings { bytes: EXACT_BYTES, ..proof::Settings::default() };
    let exact = Exact::new(scalar.clone(), Arc::new(Nature::new(&lanes, seed)), settings);
    if let Some(exact) = exact.filter(|_| roles.len() > 1) {
        let make = move || {
            let (words, player) = (Words::new(network, &roles)?, Box::new(exact));
            let what = "exact solving".to_owned();
            Ok(Box::new(Searcher::new(scalar, words, role, player, Rank::Exact, what)) as Box<dyn Member>)
        };
        door.join("exact solving", Rank::Exact, Box::new(make));
    }
    Ok(())
}

/// A member that plays with what is known.
fn learned(knowledge: Knowledge, roles: Vec<String>, role: usize, threads: usize, seed: u64) -> Make {
    Box::new(move || {
        let Knowledge { model, search, origin } = knowledge;
        let network = model.sight.game.circuit.network.clone();
        let words = Words::new(network.clone(), &roles)?;
        let player = player::player(&model, search, threads, seed);
        let what = format!("{} ({origin})", search.name());
        let searcher = Searcher::new(scalar::Compiled::new(network), words, role, player, Rank::Learned, what);
        Ok(Box::new(searcher) as Box<dyn Member>)
    })
}

/// A member that searches with many simple heuristics.
fn by_heuristics(game: Arc<Game>, roles: Vec<String>, role: usize, seed: u64) -> Make {
    Box::new(move || {
        let network = game.circuit.network.clone();
        let words = Words::new(network.clone(), &roles)?;
        let player = Heuristics::new(&game, seed)?;
        let (scalar, what) = (scalar::Compiled::new(network), "alpha-beta search with many heuristics".to_owned());
        Ok(Box::new(Searcher::new(scalar, words, role, Box::new(player), Rank::Heuristics, what)) as Box<dyn Member>)
    })
}

/// The time that is kept back from a deadline: for searches to end, and for the answer.
fn reserve(left: Duration) -> Duration {
    (left / 16).clamp(Duration::from_millis(8), Duration::from_millis(150))
}

impl Contestant for Portfolio {
    fn name(&self) -> String {
        "portfolio".to_owned()
    }

    fn heed(&mut self, given_up: Arc<AtomicBool>) {
        self.given_up = given_up;
    }

    /// Learns, if there is a memory to keep that in.
    fn preview(&mut self, rules: &Rules, deadline: Instant) {
        let Settings { seed, threads, memory, learn, keep, report, stop, .. } = self.settings.clone();
        if !learn || keep.is_none() {
            return;
        }
        let (name, text, program) = (rules.name.clone(), rules.text.clone(), rules.program());
        let until = deadline - reserve(deadline.saturating_duration_since(Instant::now()));
        let study = Study { name, text, program, memory, seed, threads, learn, keep, until };
        let given_up = self.given_up.clone();
        let stop = stop.or(&Stop::when(move || given_up.load(Ordering::Relaxed)));
        let found = study.go(&stop, &|text| report(text));
        match found.map(|found| found.knowledge) {
            Ok(Some(knowledge)) => report(&format!("looked at before a match: {}", knowledge.origin)),
            Ok(None) => {}
            Err(why) => report(&format!("looking at the game before a match: {why}")),
        }
    }

    fn start(&mut self, rules: &Rules, role: usize, _: Clocks, deadline: Instant) -> Result<(), String> {
        self.playing = None;
        let Settings { seed, threads, memory, learn, keep, report, stop, .. } = self.settings.clone();
        let program = Arc::new(rules.reading.program.clone());
        let given_up = self.given_up.clone();
        let late = Stop::when(move || given_up.load(Ordering::Relaxed) || Instant::now() >= deadline);
        let roles = roles(&program, &stop.or(&late))?;
        if role >= roles.len() {
            return Err(format!("`{}` has {} roles, and no role {role}", rules.name, roles.len()));
        }
        let until = deadline - reserve(deadline.saturating_duration_since(Instant::now()));
        let mut playing = Playing::new(roles.len(), threads, report, stop);
        // Step 1. Someone who can answer at once.
        let (own, is_thorough, over) = (program.clone(), playing.is_thorough.clone(), playing.is_over());
        let by_rules = move || Ok(Box::new(ByRules::new(own, role, seed, is_thorough, over)?) as Box<dyn Member>);
        playing.seat("the rules", Rank::Rules, Box::new(by_rules));
        for &(name, rank, make) in &self.further {
            playing.seat(name, rank, Box::new(move || Ok(make())));
        }
        // Step 2. The network, and what can be known: each on a thread of its own.
        let (own, own_roles) = (program.clone(), roles.clone());
        playing.prepare("grounding", move |door, stop| ground(&own, own_roles, role, threads, seed, door, stop));
        let (name, text) = (rules.name.clone(), rules.text.clone());
        let study = Study { name, text, program, memory, seed, threads, learn, keep, until };
        playing.prepare("learning", move |door, stop| {
            let found = study.go(stop, &|text| door.note(text))?;
            match (found.knowledge, found.game) {
                (Some(knowledge), _) if knowledge.search == Search::Plain => {
                    door.note(&format!("plays without what is known, which was not better: {}", knowledge.origin));
                }
                (Some(knowledge), _) => {
                    door.note(&format!("plays by {}: {}", knowledge.search.name(), knowledge.origin));
                    door.join("what was learned", Rank::Learned, learned(knowledge, roles, role, threads, seed));
                }
                (None, Some(game)) if roles.len() > 1 => {
                    door.join("heuristics", Rank::Heuristics, by_heuristics(game, roles, role, seed));
                }
                _ => {}
            }
            Ok(())
        });
        // Step 3. All of it as long as there is time.
        playing.ask(until);
        while !playing.is_prepared() && playing.hear(until) {}
        let is_lost = playing.is_lost();
        playing.dismiss();
        if self.settings.ponder && !is_lost {
            playing.ponder();
        }
        self.playing = Some(playing);
        if is_lost { Err("nobody can play this game".to_owned()) } else { Ok(()) }
    }

    fn play(&mut self, last: Option<&[String]>, deadline: Instant) -> Result<Decision, String> {
        let Some(playing) = &mut self.playing else { return Err("no match has been started".to_owned()) };
        let reserve = reserve(deadline.saturating_duration_since(Instant::now()));
        playing.dismiss();
        playing.history.extend(last.map(<[String]>::to_vec));
        playing.catch_up();
        if Instant::now() >= deadline {
            return Err("there was no time for an answer".to_owned());
        }
        playing.ask(deadline - reserve);
        while !playing.is_answered() && playing.hear(deadline - reserve / 6) {}
        playing.close();
        let decision = playing.decide();
        if self.settings.ponder {
            playing.ponder();
        }
        decision.ok_or_else(|| "no legal move was found in time".to_owned())
    }

    fn stop(&mut self, _: Option<&[String]>) {
        self.playing = None;
    }
}
