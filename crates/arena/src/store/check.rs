//! Whether the rows of the database are what was written: each has a checksum over all its columns, and SQLite looks at how the tables
//! are put together. The rows are looked at when a memory is opened; those of matches, of which there may be many, when they are
//! asked for.

use std::path::Path;

use rusqlite::functions::FunctionFlags;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode};

use super::{StoreError, hash_from};

/// A table with the columns that its rows' checksums are over.
pub(super) struct Table {
    pub(super) name: &'static str,
    pub(super) columns: &'static str,
    /// Whether it is looked at when a memory is opened.
    at_once: bool,
}

/// All tables whose rows have a checksum.
pub(super) const TABLES: [Table; 11] = [
    table("games", "fingerprint, name, rules, canonical, met_at, structures, symmetries, sketch, version", true),
    table("keys", "key, game", true),
    table("notes", "name, value", true),
    table("positions", "game, seed, settings, file, n_positions, kept_at, form", true),
    table("features", "game, seed, settings, file, n_positions, kept_at, form", true),
    table("courses", "game, seed, settings, file, n_positions, kept_at, form, model", true),
    table("models", "id, game, file, made_at, about, form, pinned", true),
    table("contests", "id, key, about, begun_at, base, run", true),
    table("players", "id, name", false),
    table("matches", "id, contest, name, game, game_name, moves, played_at", false),
    table("seats", "match, seat, player, goal, faults, failed", false),
];

const fn table(name: &'static str, columns: &'static str, at_once: bool) -> Table {
    Table { name, columns, at_once }
}

/// The table of this name.
pub(super) fn named(name: &str) -> &'static Table {
    TABLES.iter().find(|table| table.name == name).expect("every table is listed")
}

impl Table {
    /// Gives rows their checksums; `which` begins with `WHERE`, or is empty for all.
    pub(super) fn seal(&self, connection: &Connection, which: &str) -> Result<(), StoreError> {
        let Table { name, columns, .. } = self;
        connection.execute(&format!("UPDATE {name} SET sum = row_sum({columns}) {which}"), [])?;
        Ok(())
    }

    /// Looks at every row.
    fn check(&self, connection: &Connection, path: &Path) -> Result<(), StoreError> {
        let Table { name, columns, .. } = self;
        let damaged = |what: String| StoreError::Damaged(format!("{what} (`{}`)", path.display()));
        let found: String = connection.query_row(&format!("PRAGMA integrity_check({name})"), [], |row| row.get(0))?;
        if found != "ok" {
            return Err(damaged(format!("the table of {name}: {found}")));
        }
        let query = format!("SELECT count(*) FROM {name} NOT INDEXED WHERE sum IS NOT row_sum({columns})");
        let n: i64 = connection.query_row(&query, [], |row| row.get(0))?;
        match n {
            0 => Ok(()),
            n => Err(damaged(format!("{n} of the {name} are not what was written"))),
        }
    }
}

/// Looks at what is small enough to be looked at whenever a memory is opened.
pub(super) fn at_once(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    TABLES.iter().filter(|table| table.at_once).try_for_each(|table| table.check(connection, path))
}

/// Looks at the rest.
pub(super) fn later(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    TABLES.iter().filter(|table| !table.at_once).try_for_each(|table| table.check(connection, path))
}

/// Gives a connection the function `row_sum`: a 64-bit hash of any values, with their types and lengths.
pub(super) fn add_row_sum(connection: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    connection.create_scalar_function("row_sum", -1, flags, |context| {
        let mut sum = hash_from(0, b"");
        for place in 0..context.len() {
            let mut add = |kind: u8, bytes: &[u8]| {
                sum = hash_from(sum, &[kind]);
                sum = hash_from(sum, &(bytes.len() as u64).to_le_bytes());
                sum = hash_from(sum, bytes);
            };
            match context.get_raw(place) {
                ValueRef::Null => add(0, b""),
                ValueRef::Integer(number) => add(1, &number.to_le_bytes()),
                ValueRef::Real(number) => add(2, &number.to_le_bytes()),
                ValueRef::Text(text) => add(3, text),
                ValueRef::Blob(blob) => add(4, blob),
            }
        }
        Ok(sum.cast_signed())
    })
}

/// Whether SQLite says that a file is damaged.
pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt))
}
