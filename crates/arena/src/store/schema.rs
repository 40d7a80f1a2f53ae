//! The tables, and how a file comes to have them.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, TransactionBehavior};

use super::{StoreError, check, files};

/// Marks the files of this program (`Sent` in ASCII), so that no other program's database is changed.
const APPLICATION: i32 = 0x5365_6e74;

/// The steps from each version of the format to the next. Never change one that was released; add another.
const MIGRATIONS: &[&str] = &[
    "
    CREATE TABLE games (
        fingerprint BLOB PRIMARY KEY NOT NULL,
        name TEXT NOT NULL,
        rules TEXT NOT NULL,
        canonical TEXT NOT NULL,
        met_at INTEGER NOT NULL,
        structures TEXT,
        symmetries TEXT,
        sketch BLOB NOT NULL,
        version INTEGER NOT NULL
    );
    CREATE INDEX games_by_name ON games (name);
    CREATE TABLE keys (
        key INTEGER NOT NULL,
        game BLOB NOT NULL REFERENCES games (fingerprint) ON DELETE CASCADE ON UPDATE CASCADE,
        PRIMARY KEY (key, game)
    ) WITHOUT ROWID;
    CREATE INDEX keys_by_game ON keys (game);
    CREATE TABLE notes (name TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL) WITHOUT ROWID;
",
    "
    CREATE TABLE positions (
        game BLOB NOT NULL REFERENCES games (fingerprint) ON DELETE CASCADE ON UPDATE CASCADE,
        seed INTEGER NOT NULL,
        settings INTEGER NOT NULL,
        file TEXT NOT NULL,
        n_positions INTEGER NOT NULL,
        kept_at INTEGER NOT NULL,
        PRIMARY KEY (game, seed, settings)
    ) WITHOUT ROWID;
",
    "
    CREATE TABLE courses (
        game BLOB NOT NULL REFERENCES games (fingerprint) ON DELETE CASCADE ON UPDATE CASCADE,
        seed INTEGER NOT NULL,
        settings INTEGER NOT NULL,
        file TEXT NOT NULL,
        n_positions INTEGER NOT NULL,
        kept_at INTEGER NOT NULL,
        PRIMARY KEY (game, seed, settings)
    ) WITHOUT ROWID;
    CREATE TABLE models (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        game BLOB NOT NULL REFERENCES games (fingerprint) ON DELETE CASCADE ON UPDATE CASCADE,
        file TEXT NOT NULL,
        made_at INTEGER NOT NULL,
        about TEXT NOT NULL
    );
    CREATE INDEX models_by_game ON models (game);
",
    "
    CREATE TABLE features (
        game BLOB NOT NULL REFERENCES games (fingerprint) ON DELETE CASCADE ON UPDATE CASCADE,
        seed INTEGER NOT NULL,
        settings INTEGER NOT NULL,
        file TEXT NOT NULL,
        n_positions INTEGER NOT NULL,
        kept_at INTEGER NOT NULL,
        PRIMARY KEY (game, seed, settings)
    ) WITHOUT ROWID;
",
    "
    CREATE TABLE players (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
    CREATE TABLE contests (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        key TEXT NOT NULL UNIQUE,
        about TEXT NOT NULL,
        begun_at INTEGER NOT NULL
    );
    CREATE TABLE matches (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        contest INTEGER NOT NULL REFERENCES contests (id) ON DELETE CASCADE,
        name TEXT NOT NULL,
        game BLOB NOT NULL,
        game_name TEXT NOT NULL,
        moves TEXT NOT NULL,
        played_at INTEGER NOT NULL,
        UNIQUE (contest, name)
    );
    CREATE TABLE seats (
        match INTEGER NOT NULL REFERENCES matches (id) ON DELETE CASCADE,
        seat INTEGER NOT NULL,
        player INTEGER NOT NULL REFERENCES players (id),
        goal INTEGER,
        faults INTEGER NOT NULL,
        PRIMARY KEY (match, seat)
    ) WITHOUT ROWID;
    CREATE INDEX seats_by_player ON seats (player);
",
    // What a row is made of has a checksum; what depends on the canonical form says on which; a model may be pinned; a course says
    // which model it came to; a contest may be begun anew; and a seat says whether its player ever answered.
    "
    ALTER TABLE games ADD COLUMN sum INTEGER;
    ALTER TABLE keys ADD COLUMN sum INTEGER;
    ALTER TABLE notes ADD COLUMN sum INTEGER;
    ALTER TABLE players ADD COLUMN sum INTEGER;
    ALTER TABLE matches ADD COLUMN sum INTEGER;
    ALTER TABLE positions ADD COLUMN form INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE positions ADD COLUMN sum INTEGER;
    ALTER TABLE features ADD COLUMN form INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE features ADD COLUMN sum INTEGER;
    ALTER TABLE courses ADD COLUMN form INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE courses ADD COLUMN model INTEGER;
    ALTER TABLE courses ADD COLUMN sum INTEGER;
    ALTER TABLE models ADD COLUMN form INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE models ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE models ADD COLUMN sum INTEGER;
    ALTER TABLE contests ADD COLUMN base TEXT;
    ALTER TABLE contests ADD COLUMN run INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE contests ADD COLUMN sum INTEGER;
    ALTER TABLE seats ADD COLUMN failed INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE seats ADD COLUMN sum INTEGER;
    UPDATE positions SET form = (SELECT row_sum(canonical) FROM games WHERE fingerprint = game);
    UPDATE features SET form = (SELECT row_sum(canonical) FROM games WHERE fingerprint = game);
    UPDATE courses SET form = (SELECT row_sum(canonical) FROM games WHERE fingerprint = game);
    UPDATE models SET form = (SELECT row_sum(canonical) FROM games WHERE fingerprint = game);
    CREATE TABLE claims (
        contest INTEGER NOT NULL REFERENCES contests (id) ON DELETE CASCADE,
        name TEXT NOT NULL,
        owner TEXT NOT NULL,
        PRIMARY KEY (contest, name)
    ) WITHOUT ROWID;
",
];

/// Refuses the database of another program, before anything is written to it.
pub(super) fn check_owner(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let application: i32 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let n_tables: u32 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if application != APPLICATION && n_tables > 0 {
        return Err(StoreError::Foreign(path.to_owned()));
    }
    Ok(())
}

/// Brings the file to the newest version; where a copy of what it was is kept, if it held anything. Of several processes that open
/// an old file one does it, and the others wait.
pub(super) fn migrate(connection: &mut Connection, path: &Path) -> Result<Option<PathBuf>, StoreError> {
    let supported = MIGRATIONS.len() as u32;
    let found = version(connection)?;
    if found > supported {
        return Err(StoreError::Newer { path: path.to_owned(), found, supported });
    }
    if found == supported {
        return Ok(None);
    }
    let copy = if found > 0 { keep_copy(connection, path, &format!("format-{found}"))? } else { None };
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found = version(&transaction)? as usize;
    for step in MIGRATIONS.iter().skip(found) {
        transaction.execute_batch(step)?;
    }
    if found < MIGRATIONS.len() {
        check::TABLES.iter().try_for_each(|table| table.seal(&transaction, ""))?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", supported)?;
    transaction.commit()?;
    Ok(copy)
}

/// Keeps a copy of a memory beside it before much of it is changed, unless one of that name is there. A memory that ends with the
/// process has none.
pub(super) fn keep_copy(connection: &Connection, path: &Path, name: &str) -> Result<Option<PathBuf>, StoreError> {
    if connection.path().is_none_or(str::is_empty) {
        return Ok(None);
    }
    let copy = files::beside(path, &format!("-{name}"));
    if copy.exists() {
        return Ok(None);
    }
    let (unfinished, _) = files::Unfinished::create(&copy)?;
    connection.execute("VACUUM INTO ?1", [unfinished.path().to_string_lossy()])?;
    unfinished.name(&copy)?;
    Ok(Some(copy))
}

/// Compares the tables with those that a new file has, so that a damaged definition is noticed.
pub(super) fn check_tables(connection: &Connection) -> Result<(), StoreError> {
    let definitions = |connection: &Connection| -> rusqlite::Result<Vec<(String, Option<String>)>> {
        let mut statement = connection
            .prepare("SELECT name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_stat%' ORDER BY name")?;
        statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
    };
    let fresh = Connection::open_in_memory()?;
    check::add_row_sum(&fresh)?;
    MIGRATIONS.iter().try_for_each(|step| fresh.execute_batch(step))?;
    if definitions(connection)? != definitions(&fresh)? {
        return Err(StoreError::Damaged("its tables are not those that this program makes".to_owned()));
    }
    Ok(())
}

fn version(connection: &Connection) -> Result<u32, StoreError> {
    Ok(connection.pragma_query_value(None, "user_version", |row| row.get(0))?)
}
