//! The memory of games: one SQLite file that outlives the program.
//!
//! Several processes may use one file at the same time. Every change is one short transaction that is on the disk when
//! the call returns, so a process may be killed at any moment. The file carries a version; an older one is brought up
//! to date when it is opened, a newer one is refused.

mod contests;
mod files;
mod models;
mod positions;
mod schema;

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fmt, fs};

use rusqlite::{Connection, ErrorCode, OptionalExtension, Row, Transaction, TransactionBehavior, params};

pub use contests::{ContestEntry, PlayedMatch, PlayedSeat};
pub use models::ModelEntry;
pub use positions::{Kept, Key};

/// How long to wait for another process that is writing.
const PATIENCE: Duration = Duration::from_secs(20);

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
    /// A row holds something that this program does not write.
    Damaged(&'static str),
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
            StoreError::Sql(error) => write!(f, "the memory file can't be used: {error}"),
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
    /// Where larger things are kept; a memory that ends with the process has no such place.
    folder: Option<PathBuf>,
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

    /// Opens a memory file, and makes it and its folder where there is none.
    pub fn open(path: &Path) -> Result<Store, StoreError> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder).map_err(|error| StoreError::Folder(folder.to_owned(), error))?;
        }
        let connection = Connection::open(path)?;
        let store = Store::set_up(connection, path).map_err(|error| match error {
            StoreError::Sql(error) if error.sqlite_error_code() == Some(ErrorCode::NotADatabase) => {
                StoreError::NoDatabase(path.to_owned())
            }
            other => other,
        })?;
        Ok(Store { folder: Some(files::folder(path)), ..store })
    }

    /// A memory that ends with the process.
    pub fn in_memory() -> Result<Store, StoreError> {
        Store::set_up(Connection::open_in_memory()?, Path::new(":memory:"))
    }

    fn set_up(mut connection: Connection, path: &Path) -> Result<Store, StoreError> {
        connection.busy_timeout(PATIENCE)?;
        schema::check_owner(&connection, path)?;
        connection.pragma_update(None, "journal_mode", "wal")?;
        connection.pragma_update(None, "synchronous", "full")?;
        connection.pragma_update(None, "foreign_keys", true)?;
        schema::migrate(&mut connection, path)?;
        Ok(Store { connection, folder: None })
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

    /// The games whose fingerprint and index another version of the code has made.
    pub fn outdated(&self, version: u32) -> Result<Vec<u128>, StoreError> {
        let mut statement =
            self.connection.prepare_cached("SELECT fingerprint FROM games WHERE version <> ?1 ORDER BY fingerprint")?;
        let rows = statement.query_map([version], |row| row.get::<_, Vec<u8>>(0))?;
        rows.map(|row| number(&row?)).collect()
    }

    /// Puts a game in the place of the one with fingerprint `old`.
    pub fn replace(&mut self, old: u128, game: &Game) -> Result<(), StoreError> {
        let transaction = self.write()?;
        // Two old fingerprints may turn out to be one game.
        if old != game.fingerprint {
            let taken =
                "DELETE FROM games WHERE fingerprint = ?1 AND EXISTS (SELECT 1 FROM games WHERE fingerprint = ?2)";
            transaction.execute(taken, [bytes(old), bytes(game.fingerprint)])?;
        }
        transaction.execute("DELETE FROM keys WHERE game IN (?1, ?2)", [bytes(old), bytes(game.fingerprint)])?;
        // Positions and what follows from them are told in the names of the canonical form.
        for table in ["positions", "features", "courses", "models"] {
            let delete = format!("DELETE FROM {table} WHERE game IN (?1, ?2)");
            transaction.execute(&delete, [bytes(old), bytes(game.fingerprint)])?;
        }
        transaction.execute(
            "UPDATE games SET fingerprint = ?2, canonical = ?3, sketch = ?4, version = ?5 WHERE fingerprint IN (?1, ?2)",
            params![
                bytes(old),
                bytes(game.fingerprint),
                game.canonical,
                pack(&game.index.sketch),
                game.index.version
            ],
        )?;
        insert_keys(&transaction, game.fingerprint, &game.index.keys)?;
        transaction.commit()?;
        Ok(())
    }

    /// Forgets a game with its positions, and says whether it was there.
    pub fn forget(&mut self, fingerprint: u128) -> Result<bool, StoreError> {
        let transaction = self.write()?;
        let n_deleted = transaction.execute("DELETE FROM games WHERE fingerprint = ?1", [bytes(fingerprint)])?;
        transaction.commit()?;
        self.sweep_files()?;
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
        transaction.execute("INSERT OR REPLACE INTO notes (name, value) VALUES (?1, ?2)", [name, value])?;
        transaction.commit()?;
        Ok(())
    }

    /// A transaction that has the right to write from the start, so that it never fails for having read too early.
    fn write(&mut self) -> Result<Transaction<'_>, StoreError> {
        Ok(self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?)
    }
}

fn insert_keys(transaction: &Transaction, game: u128, keys: &[u64]) -> Result<(), StoreError> {
    let mut insert = transaction.prepare_cached("INSERT OR IGNORE INTO keys (key, game) VALUES (?1, ?2)")?;
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

/// Whether a game is remembered.
fn is_known(transaction: &rusqlite::Transaction, game: u128) -> Result<bool, StoreError> {
    Ok(transaction
        .query_row("SELECT count(*) > 0 FROM games WHERE fingerprint = ?1", [bytes(game)], |row| row.get(0))?)
}

fn bytes(fingerprint: u128) -> [u8; 16] {
    fingerprint.to_be_bytes()
}

fn number(bytes: &[u8]) -> Result<u128, StoreError> {
    let bytes = bytes.try_into().map_err(|_| StoreError::Damaged("a fingerprint has not 16 bytes"))?;
    Ok(u128::from_be_bytes(bytes))
}

fn pack(numbers: &[u64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn unpack(bytes: &[u8]) -> Result<Vec<u64>, StoreError> {
    let (numbers, rest) = bytes.as_chunks::<8>();
    if !rest.is_empty() {
        return Err(StoreError::Damaged("a sketch ends within a number"));
    }
    Ok(numbers.iter().map(|&number| u64::from_le_bytes(number)).collect())
}

#[cfg(test)]
mod tests;
