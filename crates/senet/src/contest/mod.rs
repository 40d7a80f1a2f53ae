//! Contests: matches between players, kept one by one, so that a contest that was stopped or killed goes on where it was.

pub(crate) mod kit;
pub(crate) mod pairing;
pub(crate) mod players;
pub(crate) mod room;
pub(crate) mod score;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::anyhow;
use arena::store::{PlayedMatch, PlayedSeat};
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
const VERSION: u32 = 1;

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
    /// Sets contests with the same settings apart.
    pub(crate) edition: u32,
}

/// What a contest is known by and about.
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
    edition: u32,
}

/// What came of a contest.
pub(crate) struct Played {
    /// Its number in the memory.
    pub(crate) id: i64,
    pub(crate) matches: Vec<PlayedMatch>,
    /// How many of them were there before.
    pub(crate) n_before: usize,
    /// How many were left out since a test had decided.
    pub(crate) n_spared: usize,
    /// What went wrong, each once, with how often.
    pub(crate) complaints: BTreeMap<String, u32>,
}

/// What the threads of a contest have in common.
struct Shared<'a> {
    store: &'a mut Store,
    matches: Vec<PlayedMatch>,
    n_done: usize,
    n_spared: usize,
    complaints: BTreeMap<String, u32>,
    failed: Option<anyhow::Error>,
}

impl Shared<'_> {
    fn has(&self, pairing: &Pairing) -> bool {
        self.matches.iter().any(|played| played.name == pairing.name)
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
            edition: self.edition,
        }
    }

    /// All that the matches depend on; a model that was learned since makes other matches.
    fn key(&self) -> anyhow::Result<String> {
        let mut key = serde_json::to_string(&self.about())?;
        for game in &self.games {
            let needs_model = |name: &Name| matches!(name, Name::Greedy | Name::Learned(_) | Name::Portfolio);
            let model = if self.players.iter().any(needs_model) { game.known()?.map(|known| known.id) } else { None };
            key += &format!(" {:032x} {model:?}", game.fingerprint);
        }
        Ok(key)
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
        let id = store.contest(&self.key()?, &serde_json::to_string(&self.about())?, memory::now())?;
        let (plan, names) = (self.plan(), self.names());
        let matches = store.matches(Some(id))?;
        let n_before = matches.len();
        let openings: Vec<Vec<Vec<Vec<String>>>> = (self.games.iter().enumerate())
            .map(|(game, kit)| room::openings(&kit.rules, plan.n_openings(game), self.opening, self.seed))
            .collect::<Result<_, _>>()
            .map_err(|why| anyhow!(why))?;
        let shared =
            Shared { store, matches, n_done: n_before, n_spared: 0, complaints: BTreeMap::new(), failed: None };
        let shared = Mutex::new(shared);
        for round in 0..plan.n_rounds() {
            let pairings = plan.round(round, &locked(&shared).matches);
            // The seatings of a pair with an opening belong together, so that nobody is helped by a better seat.
            let turns: Vec<&[Pairing]> = pairings.chunk_by(|one, other| one.turn() == other.turn()).collect();
            let n_missing = pairings.len() - locked(&shared).n_played(&pairings);
            let n_all = locked(&shared).n_done + n_missing;
            let one = |_: &mut (), number: u32| {
                let turn = turns[number as usize];
                self.turn(&shared, id, turn, &openings[turn[0].game][turn[0].opening], (bar, n_all))
            };
            match_play::on_threads(0..turns.len() as u32, self.parallel, || (), one);
            if let Some(error) = locked(&shared).failed.take() {
                return Err(error);
            }
        }
        let Shared { matches, n_spared, complaints, .. } = shared.into_inner().unwrap_or_else(PoisonError::into_inner);
        let of_players = |played: &PlayedMatch| played.seats.iter().all(|seat| names.contains(&seat.player));
        let matches = matches.into_iter().filter(of_players).collect();
        Ok(Played { id, matches, n_before, n_spared, complaints })
    }

    /// Plays the missing matches of a turn and keeps them, unless the pair has been decided; nothing if no other is to be begun.
    fn turn(
        &self,
        shared: &Mutex<Shared>,
        id: i64,
        turn: &[Pairing],
        opening: &[Vec<String>],
        shown: (&Bar, usize),
    ) -> Option<()> {
        let names = self.names();
        if let Some(test) = &self.test {
            let mut table = locked(shared);
            let (one, other) = (turn[0].lineup.iter().min()?, turn[0].lineup.iter().max()?);
            let is_decided = score::decided(test, &table.matches, &names[*one], &names[*other]).is_some();
            if is_decided && table.n_played(turn) == 0 {
                table.n_spared += turn.len();
                return Some(());
            }
        }
        turn.iter().try_for_each(|pairing| {
            if locked(shared).has(pairing) { Some(()) } else { self.one(shared, id, pairing, opening, shown) }
        })
    }

    /// Plays one match and keeps it; nothing if something went wrong.
    fn one(
        &self,
        shared: &Mutex<Shared>,
        id: i64,
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
        if let Err(error) = table.store.keep_match(id, &played) {
            table.failed = Some(error.into());
            return None;
        }
        table.matches.push(played);
        table.n_done += 1;
        let standings = score::standings(&self.names(), &table.matches);
        let best = standings.iter().max_by(|a, b| a.elo.total_cmp(&b.elo)).map_or("", |standing| &standing.player);
        bar.show(&format!("matches; {best} leads"), table.n_done, n_all);
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
        let goals = outcomes.iter().flat_map(|outcome| outcome.goals.iter().zip(&outcome.faults));
        let seats = goals.zip(&pairing.lineup).map(|((&goal, &faults), &player)| PlayedSeat {
            player: self.players[player].text(),
            goal,
            faults,
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
