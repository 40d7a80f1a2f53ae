//! Players by their names, as contestants.

use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{anyhow, bail};
use arena::protocol::Remote;
use arena::protocol::http::Address;
use arena::{Clocks, Contestant, Decision};
use gdl::Stop;
use learn::player::{self, Search};
use search::{Fuzzy, Greedy, Player, Solo, Uct, fuzzy, solo, uct};

use super::kit::{Kit, Plain};
use crate::portfolio::heuristics::Heuristics;
use crate::portfolio::member::{Member, Opinion, Rank, Word, Worker};
use crate::portfolio::searcher::{Searcher, Words};
use crate::portfolio::{self, Portfolio};

/// Bytes of a player's tree.
const BYTES: usize = 256 << 20;

/// Those who can be named, with what they do.
pub(crate) const PLAYERS: &[(&str, &str)] = &[
    ("random", "a legal move by chance"),
    ("legal", "the first legal move"),
    ("fuzzy", "one move ahead, by the fuzzy truth of the goals"),
    ("greedy", "one move ahead, by the learned model"),
    ("heuristics", "alpha-beta search with each of many simple heuristics; the deepest counts"),
    ("uct", "tree search with playouts, without knowledge"),
    ("solo", "search for one role alone, without knowledge"),
    ("best-first", "best-first search with the learned model"),
    ("alpha-beta", "alpha-beta search with the learned model"),
    ("tree", "tree search with the learned model"),
    ("playouts", "tree search with playouts and the learned model"),
    ("learned", "the learned model with the search that suits it best"),
    ("portfolio", "senet's own way: all of these, whatever is ready"),
];

/// A player that was named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Name {
    Random,
    Legal,
    Fuzzy,
    Greedy,
    Heuristics,
    Uct,
    Solo,
    /// The learned model, with a search or the one that suits it best.
    Learned(Option<Search>),
    Portfolio,
    /// A player somewhere else.
    Remote(String),
}

impl Name {
    pub(crate) fn read(text: &str) -> Result<Name, String> {
        Ok(match text.trim() {
            "random" => Name::Random,
            "legal" => Name::Legal,
            "fuzzy" => Name::Fuzzy,
            "greedy" => Name::Greedy,
            "heuristics" => Name::Heuristics,
            "uct" => Name::Uct,
            "solo" => Name::Solo,
            "best-first" => Name::Learned(Some(Search::BestFirst)),
            "alpha-beta" => Name::Learned(Some(Search::AlphaBeta)),
            "tree" => Name::Learned(Some(Search::Tree)),
            "playouts" => Name::Learned(Some(Search::Playouts)),
            "learned" => Name::Learned(None),
            "portfolio" => Name::Portfolio,
            address if address.starts_with("http://") => Name::Remote(address.to_owned()),
            other => {
                let names: Vec<&str> = PLAYERS.iter().map(|(name, _)| *name).collect();
                return Err(format!(
                    "there is no player `{other}`; choose from {}, or http://HOST:PORT",
                    names.join(", ")
                ));
            }
        })
    }

    /// What it is called.
    pub(crate) fn text(&self) -> String {
        match self {
            Name::Random => "random".to_owned(),
            Name::Legal => "legal".to_owned(),
            Name::Fuzzy => "fuzzy".to_owned(),
            Name::Greedy => "greedy".to_owned(),
            Name::Heuristics => "heuristics".to_owned(),
            Name::Uct => "uct".to_owned(),
            Name::Solo => "solo".to_owned(),
            Name::Learned(None) => "learned".to_owned(),
            Name::Learned(Some(Search::BestFirst)) => "best-first".to_owned(),
            Name::Learned(Some(Search::AlphaBeta)) => "alpha-beta".to_owned(),
            Name::Learned(Some(Search::Tree)) => "tree".to_owned(),
            Name::Learned(Some(Search::Playouts)) => "playouts".to_owned(),
            Name::Learned(Some(search)) => search.name().to_owned(),
            Name::Portfolio => "portfolio".to_owned(),
            Name::Remote(address) => address.clone(),
        }
    }
}

/// How players think.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// The most states of a search.
    pub(crate) nodes: u64,
    /// The threads of a player that uses several.
    pub(crate) threads: usize,
    /// The clock for a move.
    pub(crate) play_clock: Duration,
}

/// A contestant for matches of one game. The error says what is missing.
pub(crate) fn contestant(
    name: &Name,
    kit: &Arc<Kit>,
    effort: Effort,
    seed: u64,
) -> anyhow::Result<Box<dyn Contestant>> {
    let several = |what: &str| anyhow!("`{}` has one role alone; let `solo` play it instead of {what}", kit.name);
    let is_alone = kit.roles.len() == 1;
    match name {
        Name::Random => return Ok(Box::new(arena::Random::new(seed))),
        Name::Legal => return Ok(Box::new(arena::Legal::new())),
        // Where there is no network, it plays by the rules as they stand.
        Name::Uct if kit.plain().is_err() => return Ok(Box::new(arena::Tree::new(seed))),
        Name::Portfolio => {
            let settings = portfolio::Settings {
                seed,
                threads: effort.threads,
                memory: Some(kit.memory.clone()),
                learn: true,
                // Each match of a contest is one with the same player.
                keep: None,
                stop: Stop::never(),
                ponder: false,
                report: Arc::new(|_| {}),
            };
            return Ok(Box::new(Portfolio::new(settings)));
        }
        Name::Remote(address) => {
            let address = Address::find(address).map_err(|why| anyhow!(why))?;
            let match_name = Arc::new(Mutex::new(format!("senet.{seed:016x}")));
            // While an opening is played nobody waits for its answers, but it may take its time for them all the same.
            return Ok(Box::new(Remote::new(address, effort.play_clock + Duration::from_secs(1), match_name)));
        }
        Name::Solo if !is_alone => bail!("`{}` has several roles, and `solo` plays for one alone", kit.name),
        Name::Learned(Some(_)) if is_alone => return Err(several(&name.text())),
        Name::Uct | Name::Solo => _ = kit.plain().map_err(|why| anyhow!(why))?,
        Name::Heuristics if is_alone => return Err(several(&name.text())),
        Name::Heuristics => _ = kit.game().map_err(|why| anyhow!(why))?,
        Name::Fuzzy => _ = kit.fuzzy()?,
        Name::Greedy | Name::Learned(_) => _ = kit.model()?,
    }
    Ok(Box::new(Lone { name: name.clone(), kit: kit.clone(), effort, seed, seat: None }))
}

/// What thinks for a contestant, in the thread that it works in.
fn member(name: &Name, kit: &Kit, effort: Effort, role: usize, seed: u64) -> anyhow::Result<Box<dyn Member>> {
    let why = |why: String| anyhow!(why);
    // On one thread, the same seed and bound give the same moves.
    let threads = if effort.nodes == u64::MAX { effort.threads } else { 1 };
    let (engines, player, what): (Plain, Box<dyn Player>, String) = match name {
        Name::Uct => {
            let engines = kit.plain().map_err(why)?.clone();
            let settings = uct::Settings { bytes: BYTES, ..uct::Settings::strongest() };
            let player = Uct::new(engines.lanes.clone(), settings, seed).on_threads(threads);
            (engines, Box::new(player), "tree search with playouts".to_owned())
        }
        Name::Solo => {
            let engines = kit.plain().map_err(why)?.clone();
            let settings = solo::Settings { bytes: BYTES, ..solo::Settings::default() };
            let player = Solo::new(&engines.lanes, settings, seed);
            (engines, Box::new(player), "search for one role alone".to_owned())
        }
        Name::Heuristics => {
            let player = Heuristics::new(kit.game().map_err(why)?, seed).map_err(why)?;
            (kit.engines().map_err(why)?, Box::new(player), "alpha-beta search with many heuristics".to_owned())
        }
        Name::Fuzzy => {
            let engines = kit.engines().map_err(why)?;
            let position = Fuzzy::new(engines.scalar.clone(), kit.fuzzy()?, fuzzy::Settings::default());
            (engines, Box::new(Greedy::new(position, seed)), "one move ahead by fuzzy goals".to_owned())
        }
        Name::Greedy => {
            let model = &kit.model()?.model;
            (kit.engines().map_err(why)?, player::one_ply(model, seed), "one move ahead by the model".to_owned())
        }
        Name::Learned(search) => {
            let known = kit.model()?;
            let search = search.unwrap_or(known.search);
            (kit.engines().map_err(why)?, player::player(&known.model, search, threads, seed), search.name().to_owned())
        }
        _ => bail!("`{}` does not think by itself", name.text()),
    };
    let words = Words::new(engines.network, &kit.roles).map_err(why)?;
    Ok(Box::new(Searcher::new(engines.scalar, words, role, player, Rank::Search, what).within(effort.nodes)))
}

/// A single way to choose moves, as a contestant.
struct Lone {
    name: Name,
    kit: Arc<Kit>,
    effort: Effort,
    seed: u64,
    seat: Option<Seat>,
}

struct Seat {
    worker: Worker,
    words: Receiver<Word>,
    history: Vec<Vec<String>>,
    question: u64,
}

impl Contestant for Lone {
    fn name(&self) -> String {
        self.name.text()
    }

    fn start(&mut self, rules: &arena::Rules, role: usize, _: Clocks, deadline: Instant) -> Result<(), String> {
        self.seat = None;
        if rules.text != self.kit.rules.text {
            return Err(format!("it is prepared for `{}`, and not for `{}`", self.kit.name, rules.name));
        }
        let (name, kit, effort, seed) = (self.name.clone(), self.kit.clone(), self.effort, self.seed);
        self.seed = self.seed.wrapping_add(1);
        let make = move || member(&name, &kit, effort, role, seed).map_err(|error| format!("{error:#}"));
        let (sender, words) = channel();
        let worker = Worker::start("player", Box::new(make), move |word| _ = sender.send(word))?;
        let patience = deadline.saturating_duration_since(Instant::now()).max(Duration::from_secs(60));
        match words.recv_timeout(patience) {
            Ok(Word::Ready) => self.seat = Some(Seat { worker, words, history: Vec::new(), question: 0 }),
            Ok(Word::Failed(why)) => return Err(why),
            _ => return Err("it was not ready in time".to_owned()),
        }
        Ok(())
    }

    fn play(&mut self, last: Option<&[String]>, deadline: Instant) -> Result<Decision, String> {
        let seat = self.seat.as_mut().ok_or("no match has been started")?;
        seat.history.extend(last.map(<[String]>::to_vec));
        if Instant::now() >= deadline {
            return Err("there was no time for an answer".to_owned());
        }
        seat.question += 1;
        seat.worker.ask(seat.question, Arc::new(seat.history.clone()), deadline - Duration::from_millis(1));
        let mut best: Option<Opinion> = None;
        loop {
            // A search may need a moment to end; whether that is too late is the referee's question.
            let patience = deadline.saturating_duration_since(Instant::now()) + Duration::from_secs(1);
            match seat.words.recv_timeout(patience) {
                Ok(Word::Thinks(question, opinion)) if question == seat.question => {
                    if best.as_ref().is_none_or(|best| best.rank <= opinion.rank) {
                        best = Some(opinion);
                    }
                }
                Ok(Word::Done(question)) if question == seat.question => break,
                Ok(Word::Failed(why)) => return Err(why),
                Ok(_) => {}
                Err(_) => break,
            }
        }
        let best = best.ok_or("it found no move")?;
        Ok(Decision { chosen: best.chosen, why: Some(best.why) })
    }

    fn stop(&mut self, _: Option<&[String]>) {
        self.seat = None;
    }
}
