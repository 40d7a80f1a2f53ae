//! The tables, and how a file comes to have them.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use super::StoreError;

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

/// Brings the file to the newest version. Of several processes that open an old file one does it, and the others wait.
pub(super) fn migrate(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let supported = MIGRATIONS.len() as u32;
    let found = version(connection)?;
    if found > supported {
        return Err(StoreError::Newer { path: path.to_owned(), found, supported });
    }
    if found == supported {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for step in &MIGRATIONS[(version(&transaction)? as usize).min(MIGRATIONS.len())..] {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", supported)?;
    transaction.commit()?;
    Ok(())
}

fn version(connection: &Connection) -> Result<u32, StoreError> {
    Ok(connection.pragma_query_value(None, "user_version", |row| row.get(0))?)
}
