//! What was learned. Each model is a file, and a row of the database says which one.

use rusqlite::{OptionalExtension, Row, params};

use super::files::{self, Unnamed};
use super::{Store, StoreError, bytes, check, number};

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
    /// Whether it is to play, whatever others are worth.
    pub is_pinned: bool,
    /// Whether it is told in the names of another version's canonical form, so that it is of no use here.
    pub is_outdated: bool,
    pub(super) file: String,
}

impl Store {
    /// Keeps a model of a game that is remembered; its number, or `None` where nothing can be kept. The same content is one model:
    /// it is not kept twice, but what is said of it is the newest.
    pub fn keep_model(
        &mut self,
        game: u128,
        about: &str,
        content: &[u8],
        made_at: i64,
    ) -> Result<Option<i64>, StoreError> {
        let Some(folder) = self.folder.clone() else { return Ok(None) };
        let file = Unnamed::write(&folder, game, ".model", content)?;
        let later = file.later_name().to_owned();
        let kept = self.keep_model_file(game, about, file, made_at);
        if kept.is_err() {
            _ = self.release(&[later]);
        }
        kept
    }

    fn keep_model_file(
        &mut self,
        game: u128,
        about: &str,
        file: Unnamed,
        made_at: i64,
    ) -> Result<Option<i64>, StoreError> {
        let transaction = self.write()?;
        let Some(form) = super::form(&transaction, game)? else { return Ok(None) };
        let name = file.name(&transaction)?;
        let same = "SELECT id FROM models WHERE game = ?1 AND file = ?2 AND form = ?3";
        let known = transaction.query_row(same, params![bytes(game), name, form], |row| row.get(0)).optional()?;
        let id = match known {
            Some(id) => {
                transaction.execute("UPDATE models SET about = ?2 WHERE id = ?1", params![id, about])?;
                id
            }
            None => {
                transaction.execute(
                    "INSERT INTO models (game, file, made_at, about, form) VALUES (?1, ?2, ?3, ?4, ?5)",
                    params![bytes(game), name, made_at, about, form],
                )?;
                transaction.last_insert_rowid()
            }
        };
        check::named("models").seal(&transaction, &format!("WHERE id = {id}"))?;
        transaction.commit()?;
        Ok(Some(id))
    }

    /// All models, the newest last.
    pub fn models(&self) -> Result<Vec<ModelEntry>, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT models.id, models.game, games.name, models.made_at, models.about, models.file, models.pinned,
                    models.form <> row_sum(games.canonical)
             FROM models JOIN games ON games.fingerprint = models.game ORDER BY models.id",
        )?;
        statement.query_map([], |row| Ok(entry(row)))?.map(|row| row?).collect()
    }

    /// The bytes of a model; `None` if its file is gone.
    pub fn model(&self, entry: &ModelEntry) -> Result<Option<Vec<u8>>, StoreError> {
        self.folder.as_ref().map_or(Ok(None), |folder| files::read(folder, &entry.file))
    }

    /// Says something else of a model, as JSON; whether there is one.
    pub fn describe_model(&mut self, id: i64, about: &str) -> Result<bool, StoreError> {
        self.change_model(id, "about = ?2", about)
    }

    /// Says that a model is to play whatever others of its game are worth, or that it is not; whether there is one.
    pub fn pin_model(&mut self, id: i64, is_pinned: bool) -> Result<bool, StoreError> {
        self.change_model(id, "pinned = ?2", is_pinned)
    }

    fn change_model(&mut self, id: i64, change: &str, to: impl rusqlite::ToSql) -> Result<bool, StoreError> {
        let transaction = self.write()?;
        if change.starts_with("pinned") {
            // One of a game at most.
            let same_game = "WHERE game = (SELECT game FROM models WHERE id = ?1)";
            transaction.execute(&format!("UPDATE models SET pinned = 0 {same_game}"), [id])?;
        }
        let n = transaction.execute(&format!("UPDATE models SET {change} WHERE id = ?1"), params![id, to])?;
        check::named("models")
            .seal(&transaction, &format!("WHERE game = (SELECT game FROM models WHERE id = {id})"))?;
        transaction.commit()?;
        Ok(n > 0)
    }

    /// Forgets a model; whether there was one.
    pub fn forget_model(&mut self, id: i64) -> Result<bool, StoreError> {
        let transaction = self.write()?;
        let file = transaction.query_row("SELECT file FROM models WHERE id = ?1", [id], |row| row.get(0)).optional()?;
        transaction.execute("DELETE FROM models WHERE id = ?1", [id])?;
        transaction.commit()?;
        self.release(file.as_slice())?;
        Ok(file.is_some())
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
        is_pinned: row.get(6)?,
        is_outdated: row.get(7)?,
    })
}
