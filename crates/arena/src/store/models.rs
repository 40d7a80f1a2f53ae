//! Courses of learning that are under way, and what was learned. Each is a file, and a row of the database says which one.

use rusqlite::{OptionalExtension, Row, params};

use super::files::{self, Unnamed};
use super::{Store, StoreError, bytes, number};

/// What a course of learning is known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CourseKey {
    /// The game's fingerprint.
    pub game: u128,
    /// The seed.
    pub seed: u64,
    /// A hash of everything else that the course depends on.
    pub settings: u64,
}

/// A model in the memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelEntry {
    /// Its number, which no other model has.
    pub id: i64,
    /// The game's fingerprint, and its name.
    pub game: u128,
    /// The game's name.
    pub game_name: String,
    /// When it was made, in seconds since 1970.
    pub made_at: i64,
    /// How it was made and what it is worth, as JSON.
    pub about: String,
    file: String,
}

impl Store {
    /// Keeps how far a course is, in place of what was kept before. A memory that ends with the process keeps nothing, and
    /// nothing is kept of a game that is not remembered.
    pub fn keep_course(&mut self, key: CourseKey, content: &[u8], kept_at: i64) -> Result<(), StoreError> {
        let Some(folder) = self.folder.clone() else { return Ok(()) };
        let file = Unnamed::write(&folder, key.game, ".course", content)?;
        let transaction = self.write()?;
        if !super::is_known(&transaction, key.game)? {
            file.discard();
            return Ok(());
        }
        let name = file.name(&transaction)?;
        transaction.execute(
            "INSERT OR REPLACE INTO courses (game, seed, settings, file, kept_at) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![bytes(key.game), key.seed.cast_signed(), key.settings.cast_signed(), name, kept_at],
        )?;
        files::sweep(&transaction, &folder)?;
        transaction.commit()?;
        Ok(())
    }

    /// How far a course is; `None` if nothing is kept of it, or its file is gone.
    pub fn course(&self, key: CourseKey) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(folder) = &self.folder else { return Ok(None) };
        let mut statement = self
            .connection
            .prepare_cached("SELECT file FROM courses WHERE game = ?1 AND seed = ?2 AND settings = ?3")?;
        let keys = params![bytes(key.game), key.seed.cast_signed(), key.settings.cast_signed()];
        let Some(file) = statement.query_row(keys, |row| row.get::<_, String>(0)).optional()? else { return Ok(None) };
        files::read(folder, &file)
    }

    /// Forgets a course.
    pub fn end_course(&mut self, key: CourseKey) -> Result<(), StoreError> {
        self.connection.execute(
            "DELETE FROM courses WHERE game = ?1 AND seed = ?2 AND settings = ?3",
            params![bytes(key.game), key.seed.cast_signed(), key.settings.cast_signed()],
        )?;
        self.sweep_files()
    }

    /// Keeps a model of a game that is remembered; its number, or `None` where nothing can be kept.
    pub fn keep_model(
        &mut self,
        game: u128,
        about: &str,
        content: &[u8],
        made_at: i64,
    ) -> Result<Option<i64>, StoreError> {
        let Some(folder) = self.folder.clone() else { return Ok(None) };
        let file = Unnamed::write(&folder, game, ".model", content)?;
        let transaction = self.write()?;
        if !super::is_known(&transaction, game)? {
            file.discard();
            return Ok(None);
        }
        let name = file.name(&transaction)?;
        transaction.execute(
            "INSERT INTO models (game, file, made_at, about) VALUES (?1, ?2, ?3, ?4)",
            params![bytes(game), name, made_at, about],
        )?;
        let id = transaction.last_insert_rowid();
        files::sweep(&transaction, &folder)?;
        transaction.commit()?;
        Ok(Some(id))
    }

    /// All models, the newest last.
    pub fn models(&self) -> Result<Vec<ModelEntry>, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT models.id, models.game, games.name, models.made_at, models.about, models.file
             FROM models JOIN games ON games.fingerprint = models.game ORDER BY models.id",
        )?;
        statement.query_map([], |row| Ok(entry(row)))?.map(|row| row?).collect()
    }

    /// The bytes of a model; `None` if its file is gone.
    pub fn model(&self, entry: &ModelEntry) -> Result<Option<Vec<u8>>, StoreError> {
        self.folder.as_ref().map_or(Ok(None), |folder| files::read(folder, &entry.file))
    }

    /// Forgets a model; whether there was one.
    pub fn forget_model(&mut self, id: i64) -> Result<bool, StoreError> {
        let n = self.connection.execute("DELETE FROM models WHERE id = ?1", [id])?;
        self.sweep_files()?;
        Ok(n > 0)
    }
}

fn entry(row: &Row) -> Result<ModelEntry, StoreError> {
    Ok(ModelEntry {
        id: row.get(0)?,
        game: number(&row.get::<_, Vec<u8>>(1)?)?,
        game_name: row.get(2)?,
        made_at: row.get(3)?,
        about: row.get(4)?,
        file: row.get(5)?,
    })
}
