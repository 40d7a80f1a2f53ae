//! Positions of played matches, features that were chosen by them, and courses of learning that are under way. Each is a file, and
//! a row of the database says which one.

use rusqlite::{OptionalExtension, Row, params};

use super::files::{self, Unnamed};
use super::{Store, StoreError, bytes, check, number};

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

    /// Says which model a course came to, so that it is over.
    pub fn finish_course(&mut self, key: Key, model: i64) -> Result<(), StoreError> {
        let transaction = self.write()?;
        transaction.execute(&format!("UPDATE courses SET model = {model} {}", of_key(key)), [])?;
        check::named("courses").seal(&transaction, &of_key(key))?;
        transaction.commit()?;
        Ok(())
    }

    /// The model that a course came to, if it is over and the model is still there.
    pub fn finished_course(&self, key: Key) -> Result<Option<i64>, StoreError> {
        let query = format!("SELECT model FROM courses {} AND model IN (SELECT id FROM models)", of_key(key));
        Ok(self.connection.query_row(&query, [], |row| row.get(0)).optional()?)
    }

    /// How many courses of a game are kept under other keys.
    pub fn n_other_courses(&self, key: Key) -> Result<u64, StoreError> {
        let query = "SELECT count(*) FROM courses WHERE game = ?1 AND NOT (seed = ?2 AND settings = ?3)";
        let key = params![bytes(key.game), key.seed.cast_signed(), key.settings.cast_signed()];
        Ok(self.connection.query_row(query, key, |row| row.get::<_, i64>(0))?.cast_unsigned())
    }

    /// All courses that are kept, sorted by game, seed and settings, each with the model that it came to, if it is over.
    pub fn courses(&self) -> Result<Vec<(Kept, Option<i64>)>, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT game, seed, settings, file, n_positions, kept_at, model FROM courses ORDER BY game, seed, settings",
        )?;
        let rows = statement.query_map([], |row| Ok((kept(row), row.get(6)?)))?;
        rows.map(|row| row.map_err(StoreError::from).and_then(|(kept, model)| Ok((kept?, model)))).collect()
    }

    fn keep(&mut self, what: What, key: Key, n_positions: u64, content: &[u8], kept_at: i64) -> Result<(), StoreError> {
        let Some(folder) = self.folder.clone() else { return Ok(()) };
        let file = Unnamed::write(&folder, key.game, what.1, content)?;
        let later = file.later_name().to_owned();
        let before = self.keep_file(what, key, n_positions, file, kept_at);
        // What was there before goes, or what can't be kept.
        let released = self.release(&before.as_ref().map_or_else(|_| vec![later], Clone::clone));
        before.and(released)
    }

    /// Gives a file its name in the database; the names of files that have none any more.
    fn keep_file(
        &mut self,
        (table, _): What,
        key: Key,
        n_positions: u64,
        file: Unnamed,
        kept_at: i64,
    ) -> Result<Vec<String>, StoreError> {
        let transaction = self.write()?;
        let Some(form) = super::form(&transaction, key.game)? else { return Ok(Vec::new()) };
        // What is told in other names stays where it is; an earlier version may still use it.
        let query = format!("SELECT file FROM {table} {} AND form = {form}", of_key(key));
        let before: Option<String> = transaction.query_row(&query, [], |row| row.get(0)).optional()?;
        let name = file.name(&transaction)?;
        transaction.execute(
            &format!(
                "INSERT OR REPLACE INTO {table} (game, seed, settings, file, n_positions, kept_at, form)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"
            ),
            params![
                bytes(key.game),
                key.seed.cast_signed(),
                key.settings.cast_signed(),
                name,
                n_positions.cast_signed(),
                kept_at,
                form
            ],
        )?;
        check::named(table).seal(&transaction, &of_key(key))?;
        transaction.commit()?;
        Ok(before.into_iter().collect())
    }

    fn content(&self, (table, _): What, key: Key) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(folder) = &self.folder else { return Ok(None) };
        let Some(form) = super::form(&self.connection, key.game)? else { return Ok(None) };
        let query = format!("SELECT file FROM {table} {} AND form = {form}", of_key(key));
        let file: Option<String> = self.connection.query_row(&query, [], |row| row.get(0)).optional()?;
        file.map_or(Ok(None), |file| files::read(folder, &file))
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

/// The row of a key, in SQL.
fn of_key(Key { game, seed, settings }: Key) -> String {
    let (seed, settings) = (seed.cast_signed(), settings.cast_signed());
    format!("WHERE game = x'{game:032x}' AND seed = {seed} AND settings = {settings}")
}
