//! Contests: matches between players, kept one by one, so that a contest that was stopped or killed goes on where it was. Each match is
//! claimed before it is played, so that several processes with the same contest share the work.

pub(crate) mod kit;
pub(crate) mod pairing;
pub(crate) mod players;
pub(crate) mod room;
pub(crate) mod score;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::anyhow;
use arena::store::{Claim, Owner, PlayedMatch, PlayedSeat};
use arena::{Clocks, Store};
use search::match_play;
use search::statistics::Sprt;
use serde::Serialize;

use self::kit::Kit;
use self::pairing::{Format, Pairing, Plan};
use self::players::{Effort, Name, contestant};
use crate::evidence::{self, Bar};
use crate::memory;

/// Raised when matches are played in another way, so that kept ones are not mixed with others.
const VERSION: u32 = 2;
/// How often to look whether another process is done.
const WAIT: Duration = Duration::from_millis(100);

/// A contest.
pub(crate) struct Contest {
    pub(crate) games: Vec<Arc<Kit>>,
    pub(crate) players: Vec<Name>,
    pub(crate) format: Format,
    /// Matches of each pairing in each game.
    pub(crate) matches: usize,
    /// The rounds of a Swiss contest.
    pub(crate) rounds: usize,
    pub(crate) clocks: Clocks,
    /// The most states of a search.
    pub(crate) nodes: Option<u64>,
    /// The most joint moves of an opening by chance.
    pub(crate) opening: u32,
    pub(crate) seed: u64,
    /// Ends the matches of a pair as soon as this has decided.
    pub(crate) test: Option<Sprt>,
    /// Matches that are played at once.
    pub(crate) parallel: usize,
    /// Whether it begins anew, whatever has been played.
    pub(crate) fresh: bool,
}

/// All that the matches of a contest depend on: they are kept under this.
#[derive(Serialize)]
struct Key {
    about: About,
    rules: Vec<RulesKey>,
}

/// A game of a contest. The rules matter as they stand: openings are drawn in the order of their moves.
#[derive(Serialize)]
struct RulesKey {
    fingerprint: String,
    text: String,
    /// The model that plays, where a player needs one; another one makes other matches.
    model: Option<i64>,
}

/// What a contest is about.
#[derive(Serialize)]
struct About {
    version: u32,
    games: Vec<String>,
    players: Vec<String>,
    format: Format,
    matches: usize,
    rounds: usize,
    start_clock: f64,
    play_clock: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    nodes: Option<u64>,
    opening: u32,
    seed: u64,
    /// The results between which the test decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    test: Option<(f64, f64)>,
    /// Where time counts: matches that are played at once, and the threads of a player that uses several.
    #[serde(skip_serializing_if = "Option::is_none")]
    at_once: Option<(usize, usize)>,
}

/// What came of a contest.
pub(crate) struct Played {
    /// Its number in the memory.
    pub(crate) id: i64,
    pub(crate) matches: Vec<PlayedMatch>,
    /// Matches that nobody can count, because somebody never gave an answer.
    pub(crate) failures: Vec<PlayedMatch>,
    /// How many of them were there before.
    pub(crate) n_before: usize,
    /// How many matches this process has played; others may have played some at the same time.
    pub(crate) n_own: usize,
    /// All matches that were planned, in their order.
    pub(crate) planned: Vec<Pairing>,
    /// How many were left out since a test had decided.
    pub(crate) n_spared: usize,
    /// What went wrong, each once, with how often.
    pub(crate) complaints: BTreeMap<String, u32>,
}

/// What the threads of a contest have in common.
struct Shared<'a> {
    store: &'a mut Store,
    id: i64,
    owner: Owner,
    /// The last match of the memory that was looked at.
    seen: i64,
    n_own: usize,
    /// All matches, whoever has played them, in the order in which they were kept.
    matches: Vec<PlayedMatch>,
    failures: Vec<PlayedMatch>,
    spared: BTreeSet<String>,
    complaints: BTreeMap<String, u32>,
    failed: Option<anyhow::Error>,
}

impl Shared<'_> {
    /// Takes what has been kept since, by this process or by others.
    fn look(&mut self) -> anyhow::Result<()> {
        for (number, played) in self.store.matches_after(Some(self.id), self.seen)? {
            self.seen = number;
            if played.is_failure() { self.failures.push(played) } else { self.matches.push(played) }
        }
        Ok(())
    }

    fn has(&self, pairing: &Pairing) -> bool {
        self.matches.iter().chain(&self.failures).any(|played| played.name == pairing.name)
    }

    fn n_done(&self) -> usize {
        self.matches.len() + self.failures.len()
    }

    fn n_played(&self, pairings: &[Pairing]) -> usize {
        pairings.iter().filter(|pairing| self.has(pairing)).count()
    }
}

impl Contest {
    fn plan(&self) -> Plan {
        Plan {
            format: self.format,
            players: self.names(),
            n_roles: self.games.iter().map(|game| game.roles.len()).collect(),
            matches: self.matches,
            rounds: self.rounds,
        }
    }

    /// The names of the players.
    pub(crate) fn names(&self) -> Vec<String> {
        self.players.iter().map(Name::text).collect()
    }

    fn about(&self) -> About {
        About {
            version: VERSION,
            games: self.games.iter().map(|game| game.name.clone()).collect(),
            players: self.names(),
            format: self.format,
            matches: self.matches,
            rounds: self.plan().n_rounds(),
            start_clock: self.clocks.start.as_secs_f64(),
            play_clock: self.clocks.play.as_secs_f64(),
            nodes: self.nodes,
            opening: self.opening,
            seed: self.seed,
            test: self.test.map(|test| (test.p0, test.p1)),
            at_once: self.nodes.is_none().then(|| (self.parallel, self.effort().threads)),
        }
    }

    fn key(&self) -> anyhow::Result<String> {
        let needs_model = |name: &Name| matches!(name, Name::Greedy | Name::Learned(_) | Name::Portfolio);
        let needs_model = self.players.iter().any(needs_model);
        let rules = |game: &Arc<Kit>| -> anyhow::Result<RulesKey> {
            Ok(RulesKey {
                fingerprint: format!("{:032x}", game.fingerprint),
                text: format!("{:016x}", evidence::hash(game.rules.text.as_bytes())),
                model: if needs_model { game.known()?.map(|known| known.id) } else { None },
            })
        };
        let rules = self.games.iter().map(rules).collect::<anyhow::Result<_>>()?;
        Ok(serde_json::to_string(&Key { about: self.about(), rules })?)
    }

    /// Contests of the same players in the same games that an earlier version has played. They are not gone on with.
    pub(crate) fn earlier(&self, store: &Store) -> anyhow::Result<Vec<i64>> {
        let own = serde_json::to_value(self.about())?;
        let is_same = |about: &str| {
            let about: serde_json::Value = serde_json::from_str(about).unwrap_or_default();
            ["games", "players", "format", "seed"].iter().all(|name| about[name] == own[name])
        };
        let earlier = store.contests()?.into_iter().filter(|contest| contest.run == 0 && is_same(&contest.about));
        Ok(earlier.map(|contest| contest.id).collect())
    }

    /// Says what is missing before anything is played.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        for game in &self.games {
            for name in &self.players {
                contestant(name, game, self.effort(), 1)?;
            }
            let (n_players, n_roles) = (self.players.len(), game.roles.len());
            if self.format == Format::Table && n_roles > 1 && n_players != n_roles {
                return Err(anyhow!("`{}` has {n_roles} roles, and there are {n_players} players", game.name));
            }
        }
        Ok(())
    }

    fn effort(&self) -> Effort {
        let cores = crate::n_cores();
        Effort {
            nodes: self.nodes.unwrap_or(u64::MAX),
            threads: (cores / self.parallel.max(1)).max(1),
            play_clock: self.clocks.play,
        }
    }

    /// Plays the matches that are missing; each is kept as soon as it is over.
    pub(crate) fn play(&self, store: &mut Store, bar: &Bar) -> anyhow::Result<Played> {
        let about = serde_json::to_string(&self.about())?;
        let id = store.contest(&self.key()?, &about, memory::now(), self.fresh)?;
        let (plan, names) = (self.plan(), self.names());
        let owner = store.owner()?;
        let mut shared = Shared {
            store,
            id,
            owner,
            seen: 0,
            n_own: 0,
            matches: Vec::new(),
            failures: Vec::new(),
            spared: BTreeSet::new(),
            complaints: BTreeMap::new(),
            failed: None,
        };
        shared.look()?;
        // What failed before is tried again.
        shared.failures.clear();
        let n_before = shared.matches.len();
        let openings: Vec<Vec<Vec<Vec<String>>>> = (self.games.iter().enumerate())
            .map(|(game, kit)| room::openings(&kit.rules, plan.n_openings(game), self.opening, self.seed))
            .collect::<Result<_, _>>()
            .map_err(|why| anyhow!(why))?;
        let shared = Mutex::new(shared);
        let mut planned: Vec<Pairing> = Vec::new();
        for round in 0..plan.n_rounds() {
            let pairings = plan.round(round, &locked(&shared).matches);
            planned.extend_from_slice(&pairings);
            // The seatings of a pair with an opening belong together, so that nobody is helped by a better seat.
            let turns: Vec<&[Pairing]> = pairings.chunk_by(|one, other| one.turn() == other.turn()).collect();
            let n_missing = pairings.len() - locked(&shared).n_played(&pairings);
            let n_all = locked(&shared).n_done() + n_missing;
            let one = |_: &mut (), number: u32| {
                let turn = turns[number as usize];
                self.turn(&shared, (&planned, turn), &openings[turn[0].game][turn[0].opening], (bar, n_all))
            };
            loop {
                match_play::on_threads(0..turns.len() as u32, self.parallel, || (), one);
                let mut table = locked(&shared);
                if let Some(error) = table.failed.take() {
                    return Err(error);
                }
                table.look()?;
                let is_there = |pairing: &Pairing| table.has(pairing) || table.spared.contains(&pairing.name);
                if pairings.iter().all(is_there) {
                    break;
                }
                // Others are playing what is missing; should one of them end before it is done, this one goes on.
                bar.show("matches; others play the rest", table.n_done(), n_all);
                drop(table);
                std::thread::sleep(WAIT);
            }
        }
        let shared = shared.into_inner().unwrap_or_else(PoisonError::into_inner);
        let Shared { matches, failures, spared, complaints, n_own, .. } = shared;
        let of_players = |played: &PlayedMatch| played.seats.iter().all(|seat| names.contains(&seat.player));
        let matches = matches.into_iter().filter(of_players).collect();
        Ok(Played { id, planned, matches, failures, n_before, n_own, n_spared: spared.len(), complaints })
    }

    /// Plays the missing matches of a turn that nobody else plays and keeps them, unless the pair has been decided; nothing if no other
    /// is to be begun.
    fn turn(
        &self,
        shared: &Mutex<Shared>,
        (planned, turn): (&[Pairing], &[Pairing]),
        opening: &[Vec<String>],
        shown: (&Bar, usize),
    ) -> Option<()> {
        let names = self.names();
        if let Some(test) = &self.test {
            let mut table = locked(shared);
            let (one, other) = (turn[0].lineup.iter().min()?, turn[0].lineup.iter().max()?);
            let sides = (&table.matches[..], &table.failures[..]);
            let decided = score::decided(test, planned, sides, &names, [*one, *other]);
            if decided.is_some() && table.n_played(turn) == 0 {
                table.spared.extend(turn.iter().map(|pairing| pairing.name.clone()));
                return Some(());
            }
        }
        turn.iter().try_for_each(|pairing| match self.claim(shared, pairing) {
            Ok(true) => self.one(shared, pairing, opening, shown),
            Ok(false) => Some(()),
            Err(error) => {
                locked(shared).failed = Some(error);
                None
            }
        })
    }

    /// Whether a match is to be played by this process.
    fn claim(&self, shared: &Mutex<Shared>, pairing: &Pairing) -> anyhow::Result<bool> {
        let mut table = locked(shared);
        if table.has(pairing) {
            return Ok(false);
        }
        let Shared { store, id, owner, .. } = &mut *table;
        Ok(store.claim(*id, &pairing.name, owner)? == Claim::Granted)
    }

    /// Plays one match and keeps it; nothing if something went wrong.
    fn one(
        &self,
        shared: &Mutex<Shared>,
        pairing: &Pairing,
        opening: &[Vec<String>],
        (bar, n_all): (&Bar, usize),
    ) -> Option<()> {
        let played = self.match_of(pairing, opening);
        let mut table = locked(shared);
        if table.failed.is_some() {
            return None;
        }
        let (played, complaint) = match played {
            Ok(played) => played,
            Err(error) => {
                table.failed = Some(error);
                return None;
            }
        };
        if let Some(complaint) = complaint {
            *table.complaints.entry(complaint).or_default() += 1;
        }
        table.n_own += 1;
        let id = table.id;
        let kept = table.store.keep_match(id, &played).map_err(Into::into).and_then(|()| table.look());
        if let Err(error) = kept {
            table.failed = Some(error);
            return None;
        }
        let standings = score::standings(&self.names(), &table.matches);
        let best = standings.iter().max_by(|a, b| a.elo.total_cmp(&b.elo)).map_or("", |standing| &standing.player);
        bar.show(&format!("matches; {best} leads"), table.n_done(), n_all);
        Some(())
    }

    fn match_of(&self, pairing: &Pairing, opening: &[Vec<String>]) -> anyhow::Result<(PlayedMatch, Option<String>)> {
        let kit = &self.games[pairing.game];
        // Every match has chances of its own, whoever plays it and when.
        let seed = evidence::hash(format!("{} {}", self.seed, pairing.name));
        let seated = |seat: usize| {
            contestant(
                &self.players[pairing.lineup[seat]],
                kit,
                self.effort(),
                seed.wrapping_add(1_000_003 * seat as u64),
            )
        };
        let play = |seats: std::ops::Range<usize>| {
            let mut contestants = seats.map(seated).collect::<anyhow::Result<Vec<_>>>()?;
            room::play(&kit.rules, &mut contestants, self.clocks, opening, seed).map_err(|why| anyhow!(why))
        };
        let n_seats = pairing.lineup.len();
        let outcomes = match kit.roles.len() {
            // Each plays alone.
            1 => (0..n_seats).map(|seat| play(seat..seat + 1)).collect::<anyhow::Result<Vec<_>>>()?,
            _ => vec![play(0..n_seats)?],
        };
        let goals = outcomes.iter().flat_map(|outcome| outcome.goals.iter().zip(&outcome.faults).zip(&outcome.failed));
        let seats = goals.zip(&pairing.lineup).map(|(((&goal, &faults), &failed), &player)| PlayedSeat {
            player: self.players[player].text(),
            goal,
            faults,
            failed,
        });
        let moves: Vec<&Vec<Vec<String>>> = outcomes.iter().map(|outcome| &outcome.moves).collect();
        let moves = if moves.len() == 1 { serde_json::to_string(moves[0])? } else { serde_json::to_string(&moves)? };
        let played = PlayedMatch {
            name: pairing.name.clone(),
            game: kit.fingerprint,
            game_name: kit.name.clone(),
            moves,
            played_at: memory::now(),
            seats: seats.collect(),
        };
        Ok((played, outcomes.into_iter().find_map(|outcome| outcome.complaint)))
    }
}

fn locked<'a, 'b>(shared: &'a Mutex<Shared<'b>>) -> MutexGuard<'a, Shared<'b>> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
