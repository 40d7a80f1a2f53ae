//! Games whose fingerprints and keys an earlier version has made. They get new ones, and all that is kept of them goes along; what was
//! kept in the names of another canonical form stays, but is not used.

use rusqlite::params;

use super::{Game, Store, StoreError, bytes, check, form, insert_keys, number, of_game, pack, schema};

impl Store {
    /// The games whose fingerprint and index an earlier version of the code has made. Those of a later one are left alone.
    pub fn outdated(&self, version: u32) -> Result<Vec<u128>, StoreError> {
        let mut statement =
            self.connection.prepare_cached("SELECT fingerprint FROM games WHERE version < ?1 ORDER BY fingerprint")?;
        let rows = statement.query_map([version], |row| row.get::<_, Vec<u8>>(0))?;
        rows.map(|row| number(&row?)).collect()
    }

    /// Keeps a copy of the memory under a name, unless there is one, before much of it is changed.
    pub fn keep_copy(&mut self, name: &str) -> Result<(), StoreError> {
        if let Some(copy) = schema::keep_copy(&self.connection, &self.path, name)? {
            self.notices.push(format!("a copy of the memory is kept as `{}`", copy.display()));
        }
        Ok(())
    }

    /// Puts a game in the place of the one with fingerprint `old`, with all that is kept of that one.
    pub fn replace(&mut self, old: u128, game: &Game) -> Result<(), StoreError> {
        let transaction = self.write()?;
        let new = game.fingerprint;
        if old != new && form(&transaction, new)?.is_none() {
            transaction.execute(
                "INSERT INTO games (fingerprint, name, rules, canonical, met_at, structures, symmetries, sketch, version)
                 SELECT ?2, name, rules, canonical, met_at, structures, symmetries, sketch, version FROM games
                 WHERE fingerprint = ?1",
                [bytes(old), bytes(new)],
            )?;
        }
        transaction.execute(
            "UPDATE games SET canonical = ?2, sketch = ?3, version = ?4 WHERE fingerprint = ?1",
            params![bytes(new), game.canonical, pack(&game.index.sketch), game.index.version],
        )?;
        check::named("games").seal(&transaction, &of_game("fingerprint", new))?;
        if old != new {
            // Two old fingerprints may turn out to be one game; what both have then stays once.
            for table in ["positions", "features", "courses", "models", "matches"] {
                let change = format!("UPDATE OR IGNORE {table} SET game = ?2 WHERE game = ?1");
                transaction.execute(&change, [bytes(old), bytes(new)])?;
                check::named(table).seal(&transaction, &of_game("game", new))?;
            }
            transaction.execute("DELETE FROM games WHERE fingerprint = ?1", [bytes(old)])?;
        }
        transaction.execute("DELETE FROM keys WHERE game = ?1", [bytes(new)])?;
        insert_keys(&transaction, new, &game.index.keys)?;
        transaction.commit()?;
        Ok(())
    }
}
