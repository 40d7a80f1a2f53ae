//! Positions of played matches, features that were chosen by them, and courses of learning that are under way. Each is a file, and
//! a row of the database says which one.

use rusqlite::{OptionalExtension, Row, params};

use super::files::{self, Unnamed};
use super::{Store, StoreError, bytes, number};

/// What positions, features or a course are known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// The game's fingerprint.
    pub game: u128,
    /// The seed of the matches.
    pub seed: u64,
    /// A hash of everything else that the matches depend on.
    pub settings: u64,
}

/// What is kept under a key: the table, and the end of a file's name.
type What = (&'static str, &'static str);
const POSITIONS: What = ("positions", ".positions");
const FEATURES: What = ("features", ".features");
const COURSE: What = ("courses", ".course");

/// A set of positions in the memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// What it is known by.
    pub key: Key,
    /// How many positions there are.
    pub n_positions: u64,
    /// When they were played, in seconds since 1970.
    pub kept_at: i64,
    /// The name of their file.
    file: String,
}

impl Store {
    /// Keeps positions of a game that is remembered, in place of those with the same key. A memory that ends with the
    /// process keeps none, and a game that is not remembered has none.
    pub fn keep_positions(
        &mut self,
        key: Key,
        n_positions: u64,
        content: &[u8],
        kept_at: i64,
    ) -> Result<(), StoreError> {
        self.keep(POSITIONS, key, n_positions, content, kept_at)
    }

    /// The bytes of kept positions; `None` if there are none, or their file is gone.
    pub fn positions(&self, key: Key) -> Result<Option<Vec<u8>>, StoreError> {
        self.content(POSITIONS, key)
    }

    /// Keeps features that were chosen by so many positions, in place of those with the same key.
    pub fn keep_features(
        &mut self,
        key: Key,
        n_positions: u64,
        content: &[u8],
        kept_at: i64,
    ) -> Result<(), StoreError> {
        self.keep(FEATURES, key, n_positions, content, kept_at)
    }

    /// The bytes of kept features; `None` if there are none, or their file is gone.
    pub fn features(&self, key: Key) -> Result<Option<Vec<u8>>, StoreError> {
        self.content(FEATURES, key)
    }

    /// Keeps how far a course is, with so many positions, in place of what was kept before.
    pub fn keep_course(&mut self, key: Key, n_positions: u64, content: &[u8], kept_at: i64) -> Result<(), StoreError> {
        self.keep(COURSE, key, n_positions, content, kept_at)
    }

    /// How far a course is; `None` if nothing is kept of it, or its file is gone.
    pub fn course(&self, key: Key) -> Result<Option<Vec<u8>>, StoreError> {
        self.content(COURSE, key)
    }

    fn keep(
        &mut self,
        (table, end): What,
        key: Key,
        n_positions: u64,
        content: &[u8],
        kept_at: i64,
    ) -> Result<(), StoreError> {
        let Some(folder) = self.folder.clone() else { return Ok(()) };
        let file = Unnamed::write(&folder, key.game, end, content)?;
        let transaction = self.write()?;
        if !super::is_known(&transaction, key.game)? {
            file.discard();
            return Ok(());
        }
        let name = file.name(&transaction)?;
        transaction.execute(
            &format!(
                "INSERT OR REPLACE INTO {table} (game, seed, settings, file, n_positions, kept_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)"
            ),
            params![
                bytes(key.game),
                key.seed.cast_signed(),
                key.settings.cast_signed(),
                name,
                n_positions.cast_signed(),
                kept_at
            ],
        )?;
        transaction.commit()?;
        self.sweep_files()
    }

    fn content(&self, (table, _): What, key: Key) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(folder) = &self.folder else { return Ok(None) };
        let query = format!("SELECT file FROM {table} WHERE game = ?1 AND seed = ?2 AND settings = ?3");
        let mut statement = self.connection.prepare_cached(&query)?;
        let keys = params![bytes(key.game), key.seed.cast_signed(), key.settings.cast_signed()];
        let Some(file) = statement.query_row(keys, |row| row.get::<_, String>(0)).optional()? else { return Ok(None) };
        files::read(folder, &file)
    }

    /// All kept positions, sorted by game, seed and settings.
    pub fn kept(&self) -> Result<Vec<Kept>, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT game, seed, settings, file, n_positions, kept_at FROM positions ORDER BY game, seed, settings",
        )?;
        statement.query_map([], |row| Ok(kept(row)))?.map(|row| row?).collect()
    }
}

fn kept(row: &Row) -> Result<Kept, StoreError> {
    let key = Key {
        game: number(&row.get::<_, Vec<u8>>(0)?)?,
        seed: row.get::<_, i64>(1)?.cast_unsigned(),
        settings: row.get::<_, i64>(2)?.cast_unsigned(),
    };
    let n_positions = row.get::<_, i64>(4)?.cast_unsigned();
    Ok(Kept { key, file: row.get(3)?, n_positions, kept_at: row.get(5)? })
}
