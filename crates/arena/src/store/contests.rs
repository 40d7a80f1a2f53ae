//! Matches that were played, in contests. A match is kept at once, as a whole, when it is over.

use rusqlite::{OptionalExtension, params};

use super::{Store, StoreError, bytes, check, number};

/// A contest in the memory: some matches that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContestEntry {
    /// Its number.
    pub id: i64,
    /// What it is about, as JSON.
    pub about: String,
    /// When it was begun, in seconds since 1970.
    pub begun_at: i64,
    /// How many of its matches have been played.
    pub n_matches: u64,
    /// How often the same was begun anew, this time included; 0 for one that an earlier version has played.
    pub run: u32,
}

/// A match that was played.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlayedMatch {
    /// What tells it from the other matches of its contest.
    pub name: String,
    /// The game's fingerprint.
    pub game: u128,
    /// The game's name.
    pub game_name: String,
    /// The joint moves, as JSON.
    pub moves: String,
    /// When it was over, in seconds since 1970.
    pub played_at: i64,
    /// Those who took part, in the order of the roles. In a game with one role several may have played, each alone.
    pub seats: Vec<PlayedSeat>,
}

/// Somebody's part in a match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlayedSeat {
    /// The player's name.
    pub player: String,
    /// The result; nothing if the match was given up, or the rules give none.
    pub goal: Option<i64>,
    /// How many moves were late, not legal or missing, and made by chance instead.
    pub faults: u32,
    /// Whether the player never gave an answer, so that nothing was played.
    pub failed: bool,
}

impl PlayedMatch {
    /// Whether somebody never gave an answer. Such a match says nothing about anybody.
    pub fn is_failure(&self) -> bool {
        self.seats.iter().any(|seat| seat.failed)
    }
}

impl Store {
    /// The number of the contest with this key: the last one that was begun, or a new one if there is none or `fresh` asks for one.
    /// Equal keys mean equal matches.
    pub fn contest(&mut self, key: &str, about: &str, begun_at: i64, fresh: bool) -> Result<i64, StoreError> {
        let transaction = self.write()?;
        let newest = "SELECT id, run FROM contests WHERE base = ?1 ORDER BY run DESC LIMIT 1";
        let newest = transaction.query_row(newest, [key], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        let (id, run): (i64, u32) = newest.unwrap_or_default();
        if run > 0 && !fresh {
            return Ok(id);
        }
        let run = run + 1;
        transaction.execute(
            "INSERT INTO contests (key, about, begun_at, base, run) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![format!("{key} run {run}"), about, begun_at, key, run],
        )?;
        let id = transaction.last_insert_rowid();
        check::named("contests").seal(&transaction, &format!("WHERE id = {id}"))?;
        transaction.commit()?;
        Ok(id)
    }

    /// Keeps a match of a contest, unless one with its name is there that is no failure.
    pub fn keep_match(&mut self, contest: i64, played: &PlayedMatch) -> Result<(), StoreError> {
        let transaction = self.write()?;
        let PlayedMatch { name, game, game_name, moves, played_at, seats } = played;
        transaction.execute("DELETE FROM claims WHERE contest = ?1 AND name = ?2", params![contest, name])?;
        transaction.execute(
            "DELETE FROM matches WHERE contest = ?1 AND name = ?2 AND
                 EXISTS (SELECT 1 FROM seats WHERE match = matches.id AND failed <> 0)",
            params![contest, name],
        )?;
        let n_new = transaction.execute(
            "INSERT OR IGNORE INTO matches (contest, name, game, game_name, moves, played_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![contest, name, bytes(*game), game_name, moves, played_at],
        )?;
        if n_new > 0 {
            let id = transaction.last_insert_rowid();
            for (seat, PlayedSeat { player, goal, faults, failed }) in seats.iter().enumerate() {
                if transaction.execute("INSERT OR IGNORE INTO players (name) VALUES (?1)", [player])? > 0 {
                    check::named("players").seal(&transaction, "WHERE sum IS NULL")?;
                }
                transaction.execute(
                    "INSERT INTO seats (match, seat, player, goal, faults, failed)
                     VALUES (?1, ?2, (SELECT id FROM players WHERE name = ?3), ?4, ?5, ?6)",
                    params![id, seat as i64, player, goal, faults, failed],
                )?;
            }
            check::named("matches").seal(&transaction, &format!("WHERE id = {id}"))?;
            check::named("seats").seal(&transaction, &format!("WHERE match = {id}"))?;
        }
        transaction.commit()?;
        Ok(())
    }

    /// The matches of a contest, or of all of them, in the order in which they were kept.
    pub fn matches(&self, contest: Option<i64>) -> Result<Vec<PlayedMatch>, StoreError> {
        Ok(self.matches_after(contest, 0)?.into_iter().map(|(_, played)| played).collect())
    }

    /// Those that were kept after the one of this number, each with its own.
    pub fn matches_after(&self, contest: Option<i64>, after: i64) -> Result<Vec<(i64, PlayedMatch)>, StoreError> {
        if !self.is_checked.replace(true) {
            check::later(&self.connection, &self.path)?;
        }
        let mut statement = self.connection.prepare_cached(
            "SELECT matches.id, matches.name, matches.game, matches.game_name, matches.moves, matches.played_at,
                    players.name, seats.goal, seats.faults, seats.failed
             FROM matches JOIN seats ON seats.match = matches.id JOIN players ON players.id = seats.player
             WHERE (?1 IS NULL OR matches.contest = ?1) AND matches.id > ?2 ORDER BY matches.id, seats.seat",
        )?;
        let mut found: Vec<(i64, PlayedMatch)> = Vec::new();
        let mut rows = statement.query(params![contest, after])?;
        while let Some(row) = rows.next()? {
            let id: i64 = row.get(0)?;
            if found.last().is_none_or(|(last, _)| *last != id) {
                let played = PlayedMatch {
                    name: row.get(1)?,
                    game: number(&row.get::<_, Vec<u8>>(2)?)?,
                    game_name: row.get(3)?,
                    moves: row.get(4)?,
                    played_at: row.get(5)?,
                    seats: Vec::new(),
                };
                found.push((id, played));
            }
            let seat = PlayedSeat { player: row.get(6)?, goal: row.get(7)?, faults: row.get(8)?, failed: row.get(9)? };
            found.last_mut().expect("just added").1.seats.push(seat);
        }
        Ok(found)
    }

    /// The number of the match that was kept last; 0 if there is none.
    pub fn last_match(&self) -> Result<i64, StoreError> {
        Ok(self.connection.query_row("SELECT coalesce(max(id), 0) FROM matches", [], |row| row.get(0))?)
    }

    /// All contests, the newest last.
    pub fn contests(&self) -> Result<Vec<ContestEntry>, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT id, about, begun_at, (SELECT count(*) FROM matches WHERE contest = contests.id), run
             FROM contests ORDER BY id",
        )?;
        let entry = |row: &rusqlite::Row| {
            let n_matches = row.get::<_, i64>(3)?.cast_unsigned();
            Ok(ContestEntry { id: row.get(0)?, about: row.get(1)?, begun_at: row.get(2)?, n_matches, run: row.get(4)? })
        };
        Ok(statement.query_map([], entry)?.collect::<Result<_, _>>()?)
    }

    /// Forgets a contest and its matches; whether there was one.
    pub fn forget_contest(&mut self, id: i64) -> Result<bool, StoreError> {
        let transaction = self.write()?;
        let n = transaction.execute("DELETE FROM contests WHERE id = ?1", [id])?;
        transaction.commit()?;
        Ok(n > 0)
    }
}
