//! What was learned. Each model is a file, and a row of the database says which one.

use rusqlite::{Row, params};

use super::files::{self, Unnamed};
use super::{Store, StoreError, bytes, number};

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
        transaction.commit()?;
        self.sweep_files()?;
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
