//! The memory of games: one SQLite file that outlives the program.
//!
//! Several processes may use one file at the same time. Every change is one short transaction that is on the disk when
//! the call returns, so a process may be killed at any moment. The file carries a version; an older one is brought up
//! to date when it is opened, after a copy of it was kept, and a newer one is refused. Opening never removes what a user made.
//! Where the file can't be written, it can still be read.

mod check;
mod claims;
mod contests;
mod files;
mod models;
mod open;
mod positions;
mod quota;
mod renew;
mod salvage;
mod schema;

use std::path::PathBuf;
use std::{env, fmt};

use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior, params};

pub use claims::{Claim, Owner};
pub use contests::{ContestEntry, PlayedMatch, PlayedSeat};
pub use files::write_whole;
pub use models::ModelEntry;
pub use positions::{Kept, Key};
pub use quota::Quota;
pub use salvage::{Salvaged, salvage};

/// A game as it is remembered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Game {
    /// The fingerprint of its canonical form: equal games, equal numbers.
    pub fingerprint: u128,
    /// What to call it.
    pub name: String,
    /// The rules as they were first met.
    pub rules: String,
    /// The rules in canonical order under canonical names.
    pub canonical: String,
    /// When it was first met, in seconds since 1970.
    pub met_at: i64,
    /// What analysis found, as JSON.
    pub structures: Option<String>,
    /// Its symmetries, as JSON.
    pub symmetries: Option<String>,
    /// What its variants are found by.
    pub index: Index,
}

/// What the variants and relatives of a game are found by. It can be computed again from the rules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Index {
    /// Numbers that variants of the game share, in ascending order.
    pub keys: Vec<u64>,
    /// A summary of the rules that similar games resemble.
    pub sketch: Vec<u64>,
    /// The version of the code that made fingerprint and index.
    pub version: u32,
}

/// What a list of games shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The game's fingerprint.
    pub fingerprint: u128,
    /// Its name.
    pub name: String,
    /// When it was first met, in seconds since 1970.
    pub met_at: i64,
}

/// What [`Store::remember`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remembered {
    /// The game is new.
    New,
    /// The game was there. Its name, its text and its date stay.
    Known,
}

/// Why the store can't be used.
#[derive(Debug)]
#[non_exhaustive]
pub enum StoreError {
    /// The file is no SQLite database.
    NoDatabase(PathBuf),
    /// The file is a database of another program.
    Foreign(PathBuf),
    /// The file was written by a newer version of this program.
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The newest version that can be read.
        supported: u32,
    },
    /// The folder of the file can't be made.
    Folder(PathBuf, std::io::Error),
    /// A file beside the memory can't be read or written.
    File(PathBuf, std::io::Error),
    /// There is no home folder, so nobody knows where the file should be.
    Homeless,
    /// The database holds something that this program does not write.
    Damaged(String),
    /// A file beside the memory is not what was written.
    DamagedFile(PathBuf),
    /// The memory can only be read.
    ReadOnly(PathBuf),
    /// SQLite gave up.
    Sql(rusqlite::Error),
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreError::NoDatabase(path) => write!(f, "`{}` is no memory file: it is no database", path.display()),
            StoreError::Foreign(path) => {
                write!(f, "`{}` is no memory file: it is a database of another program", path.display())
            }
            StoreError::Newer { path, found, supported } => write!(
                f,
                "`{}` was written by a newer version: its format is {found}, and this program reads up to {supported}",
                path.display()
            ),
            StoreError::Folder(path, error) => write!(f, "can't make the folder `{}`: {error}", path.display()),
            StoreError::File(path, error) => write!(f, "can't use the file `{}`: {error}", path.display()),
            StoreError::Homeless => write!(f, "there is no home folder to keep the memory in; name a file instead"),
            StoreError::Damaged(what) => write!(f, "the memory file is damaged: {what}"),
            StoreError::DamagedFile(path) => write!(f, "`{}` is damaged: it is not what was written", path.display()),
            StoreError::ReadOnly(path) => write!(f, "the memory `{}` can only be read", path.display()),
            StoreError::Sql(error) if check::is_damage(error) => write!(f, "the memory file is damaged: {error}"),
            StoreError::Sql(error) => write!(f, "the memory file can't be used: {error}"),
        }
    }
}

impl StoreError {
    /// Whether the database is damaged, so that [`salvage`] may save the rest of it.
    pub fn is_damage(&self) -> bool {
        match self {
            StoreError::Damaged(_) => true,
            StoreError::Sql(error) => check::is_damage(error),
            _ => false,
        }
    }
}

impl std::error::Error for StoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            StoreError::Sql(error) => Some(error),
            StoreError::Folder(_, error) | StoreError::File(_, error) => Some(error),
            _ => None,
        }
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> StoreError {
        StoreError::Sql(error)
    }
}

/// The open memory.
pub struct Store {
    connection: Connection,
    path: PathBuf,
    /// Where larger things are kept; a memory that ends with the process has no such place.
    folder: Option<PathBuf>,
    /// What whoever opened it should know.
    notices: Vec<String>,
    /// The copy that is read instead, where the file itself can't be written.
    copy: Option<open::Copy>,
    /// Whether the rows of matches have been looked at.
    is_checked: std::cell::Cell<bool>,
}

impl Store {
    /// Where the memory is if nobody says otherwise: `$SENET_STORE`, else `senet/memory.db` in the user's data folder.
    pub fn default_path() -> Result<PathBuf, StoreError> {
        let folder = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        if let Some(file) = folder("SENET_STORE") {
            return Ok(file);
        }
        // The XDG specification wants relative paths ignored.
        let data = folder("XDG_DATA_HOME").filter(|path| path.is_absolute());
        let data = data.or_else(|| Some(folder("HOME")?.join(".local/share")));
        Ok(data.ok_or(StoreError::Homeless)?.join("senet/memory.db"))
    }

    /// What whoever opened the memory should know, a line each: that it can only be read, that files are missing, or that a copy was
    /// kept before it was brought up to date.
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    /// Whether the memory can only be read.
    pub fn is_read_only(&self) -> bool {
        self.copy.is_some()
    }

    /// Keeps a game, unless one with the same fingerprint is there already.
    pub fn remember(&mut self, game: &Game) -> Result<Remembered, StoreError> {
        Ok(if self.remember_all(std::slice::from_ref(game))? == 1 { Remembered::New } else { Remembered::Known })
    }

    /// Keeps many games in one transaction, and says how many of them are new.
    pub fn remember_all(&mut self, games: &[Game]) -> Result<usize, StoreError> {
        let transaction = self.write()?;
        let mut n_new = 0;
        for game in games {
            let inserted = transaction.prepare_cached(
                "INSERT INTO games (fingerprint, name, rules, canonical, met_at, structures, symmetries, sketch, version)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT (fingerprint) DO NOTHING",
            )?
            .execute(params![
                bytes(game.fingerprint),
                game.name,
                game.rules,
                game.canonical,
                game.met_at,
                game.structures,
                game.symmetries,
                pack(&game.index.sketch),
                game.index.version,
            ])?;
            if inserted == 1 {
                insert_keys(&transaction, game.fingerprint, &game.index.keys)?;
                check::named("games").seal(&transaction, &of_game("fingerprint", game.fingerprint))?;
            }
            n_new += inserted;
        }
        transaction.commit()?;
        Ok(n_new)
    }

    /// The game with this fingerprint.
    pub fn find(&self, fingerprint: u128) -> Result<Option<Game>, StoreError> {
        let mut statement = self.connection.prepare_cached("SELECT * FROM games WHERE fingerprint = ?1")?;
        let found = statement.query_row([bytes(fingerprint)], |row| Ok(game(row))).optional()?;
        let Some(mut game) = found.transpose()? else { return Ok(None) };
        let mut keys = self.connection.prepare_cached("SELECT key FROM keys WHERE game = ?1")?;
        game.index.keys = keys
            .query_map([bytes(fingerprint)], |row| row.get(0).map(i64::cast_unsigned))?
            .collect::<Result<_, _>>()?;
        game.index.keys.sort_unstable();
        Ok(Some(game))
    }

    /// Keeps what analysis found in a game, as JSON, in the names of the rules that are stored.
    pub fn describe(&mut self, fingerprint: u128, structures: &str, symmetries: &str) -> Result<(), StoreError> {
        let transaction = self.write()?;
        transaction.execute(
            "UPDATE games SET structures = ?2, symmetries = ?3 WHERE fingerprint = ?1",
            params![bytes(fingerprint), structures, symmetries],
        )?;
        check::named("games").seal(&transaction, &of_game("fingerprint", fingerprint))?;
        transaction.commit()?;
        Ok(())
    }

    /// The games that have one of the keys, each with the keys that it has, sorted by name and fingerprint.
    pub fn candidates(&self, keys: &[u64]) -> Result<Vec<(Entry, Vec<u64>)>, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT fingerprint, name, met_at FROM keys JOIN games ON game = fingerprint WHERE key = ?1",
        )?;
        let mut found: Vec<(Entry, Vec<u64>)> = Vec::new();
        for &key in keys {
            for hit in statement.query_map([key.cast_signed()], |row| Ok(entry(row)))? {
                let hit = hit??;
                match found.iter_mut().find(|(other, _)| other.fingerprint == hit.fingerprint) {
                    Some((_, keys)) => keys.push(key),
                    None => found.push((hit, vec![key])),
                }
            }
        }
        found.sort_by(|(a, _), (b, _)| (&a.name, a.fingerprint).cmp(&(&b.name, b.fingerprint)));
        Ok(found)
    }

    /// All games, sorted by name and fingerprint.
    pub fn games(&self) -> Result<Vec<Entry>, StoreError> {
        let mut statement =
            self.connection.prepare_cached("SELECT fingerprint, name, met_at FROM games ORDER BY name, fingerprint")?;
        statement.query_map([], |row| Ok(entry(row)))?.map(|row| row?).collect()
    }

    /// The sketches of all games, sorted by fingerprint.
    pub fn sketches(&self) -> Result<Vec<(u128, Vec<u64>)>, StoreError> {
        let mut statement =
            self.connection.prepare_cached("SELECT fingerprint, sketch FROM games ORDER BY fingerprint")?;
        let row = |row: &Row| Ok((row.get::<_, Vec<u8>>(0)?, row.get::<_, Vec<u8>>(1)?));
        let rows = statement.query_map([], row)?;
        rows.map(|row| row.map_err(StoreError::from).and_then(|(game, sketch)| Ok((number(&game)?, unpack(&sketch)?))))
            .collect()
    }

    /// Forgets a game with its positions and models, and says whether it was there.
    pub fn forget(&mut self, fingerprint: u128) -> Result<bool, StoreError> {
        let transaction = self.write()?;
        let mut names = Vec::new();
        for table in ["positions", "features", "courses", "models"] {
            let mut statement = transaction.prepare(&format!("SELECT file FROM {table} WHERE game = ?1"))?;
            let rows = statement.query_map([bytes(fingerprint)], |row| row.get(0))?;
            names.extend(rows.collect::<Result<Vec<String>, _>>()?);
        }
        let n_deleted = transaction.execute("DELETE FROM games WHERE fingerprint = ?1", [bytes(fingerprint)])?;
        transaction.commit()?;
        self.release(&names)?;
        Ok(n_deleted > 0)
    }

    /// What was noted under a name.
    pub fn note(&self, name: &str) -> Result<Option<String>, StoreError> {
        let mut statement = self.connection.prepare_cached("SELECT value FROM notes WHERE name = ?1")?;
        Ok(statement.query_row([name], |row| row.get(0)).optional()?)
    }

    /// Notes something under a name, in place of what was noted before.
    pub fn set_note(&mut self, name: &str, value: &str) -> Result<(), StoreError> {
        let transaction = self.write()?;
        transaction.execute(
            "INSERT OR REPLACE INTO notes (name, value, sum) VALUES (?1, ?2, row_sum(?1, ?2))",
            [name, value],
        )?;
        transaction.commit()?;
        Ok(())
    }

    /// A transaction that has the right to write from the start, so that it never fails for having read too early.
    fn write(&mut self) -> Result<Transaction<'_>, StoreError> {
        if self.is_read_only() {
            return Err(StoreError::ReadOnly(self.path.clone()));
        }
        Ok(self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?)
    }
}

fn insert_keys(transaction: &Transaction, game: u128, keys: &[u64]) -> Result<(), StoreError> {
    let mut insert =
        transaction.prepare_cached("INSERT OR IGNORE INTO keys (key, game, sum) VALUES (?1, ?2, row_sum(?1, ?2))")?;
    for key in keys {
        insert.execute(params![key.cast_signed(), bytes(game)])?;
    }
    Ok(())
}

fn game(row: &Row) -> Result<Game, StoreError> {
    Ok(Game {
        fingerprint: number(&row.get::<_, Vec<u8>>("fingerprint")?)?,
        name: row.get("name")?,
        rules: row.get("rules")?,
        canonical: row.get("canonical")?,
        met_at: row.get("met_at")?,
        structures: row.get("structures")?,
        symmetries: row.get("symmetries")?,
        index: Index {
            keys: Vec::new(),
            sketch: unpack(&row.get::<_, Vec<u8>>("sketch")?)?,
            version: row.get("version")?,
        },
    })
}

fn entry(row: &Row) -> Result<Entry, StoreError> {
    Ok(Entry { fingerprint: number(&row.get::<_, Vec<u8>>(0)?)?, name: row.get(1)?, met_at: row.get(2)? })
}

/// What the canonical form of a game that is remembered hashes to: what is kept in its names is of no use under another one.
fn form(connection: &Connection, game: u128) -> Result<Option<i64>, StoreError> {
    let query = "SELECT row_sum(canonical) FROM games WHERE fingerprint = ?1";
    Ok(connection.query_row(query, [bytes(game)], |row| row.get(0)).optional()?)
}

/// The rows of a game, in SQL.
fn of_game(column: &str, game: u128) -> String {
    format!("WHERE {column} = x'{game:032x}'")
}

/// The 64-bit FNV-1a hash of some bytes. Any change of one byte changes it.
pub fn hash(bytes: &[u8]) -> u64 {
    hash_from(0, bytes)
}

/// The same, going on from a hash of what stands before.
fn hash_from(before: u64, bytes: &[u8]) -> u64 {
    let before = if before == 0 { 0xcbf2_9ce4_8422_2325 } else { before };
    bytes.iter().fold(before, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

fn bytes(fingerprint: u128) -> [u8; 16] {
    fingerprint.to_be_bytes()
}

fn number(bytes: &[u8]) -> Result<u128, StoreError> {
    let bytes = bytes.try_into().map_err(|_| StoreError::Damaged("a fingerprint has not 16 bytes".to_owned()))?;
    Ok(u128::from_be_bytes(bytes))
}

fn pack(numbers: &[u64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn unpack(bytes: &[u8]) -> Result<Vec<u64>, StoreError> {
    let (numbers, rest) = bytes.as_chunks::<8>();
    if !rest.is_empty() {
        return Err(StoreError::Damaged("a sketch ends within a number".to_owned()));
    }
    Ok(numbers.iter().map(|&number| u64::from_le_bytes(number)).collect())
}

#[cfg(test)]
mod tests;
