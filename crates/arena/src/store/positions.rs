//! Positions of played matches, which are too large for the database: each set is a file in a folder beside it, and a
//! row of the database says which one. A file is complete before it gets its name, and gets it under the right to write;
//! what a killed process left behind is swept away by the next one that keeps something.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rusqlite::{OptionalExtension, Row, Transaction, params};

use super::{Store, StoreError, bytes, number};

/// The end of a file's name while it is written.
const UNFINISHED: &str = ".unfinished";
/// An unfinished file that is older has no writer any more.
const ABANDONED: Duration = Duration::from_secs(24 * 3600);

/// What a set of positions is known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PositionsKey {
    /// The game's fingerprint.
    pub game: u128,
    /// The seed of the matches.
    pub seed: u64,
    /// A hash of everything else that the matches depend on.
    pub settings: u64,
}

/// A set of positions in the memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// What it is known by.
    pub key: PositionsKey,
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
        key: PositionsKey,
        n_positions: u64,
        content: &[u8],
        kept_at: i64,
    ) -> Result<(), StoreError> {
        let Some(folder) = self.folder.clone() else { return Ok(()) };
        // Step 1. A complete file under a name of this process.
        let name = format!("{:032x}-{:016x}.positions", key.game, hash(content));
        let unfinished = folder.join(format!("{name}-{}{UNFINISHED}", std::process::id()));
        let failed = |error| StoreError::File(unfinished.clone(), error);
        fs::create_dir_all(&folder).map_err(|error| StoreError::Folder(folder.clone(), error))?;
        let mut file = File::create(&unfinished).map_err(failed)?;
        file.write_all(content).and_then(|()| file.sync_all()).map_err(failed)?;
        drop(file);
        // Step 2. Its own name, and the row.
        let transaction = self.write()?;
        let known: bool = transaction.query_row(
            "SELECT count(*) > 0 FROM games WHERE fingerprint = ?1",
            [bytes(key.game)],
            |row| row.get(0),
        )?;
        if !known {
            _ = fs::remove_file(&unfinished);
            return Ok(());
        }
        fs::rename(&unfinished, folder.join(&name)).map_err(failed)?;
        transaction.execute(
            "INSERT OR REPLACE INTO positions (game, seed, settings, file, n_positions, kept_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![
                bytes(key.game),
                key.seed.cast_signed(),
                key.settings.cast_signed(),
                name,
                n_positions.cast_signed(),
                kept_at
            ],
        )?;
        sweep(&transaction, &folder)?;
        transaction.commit()?;
        Ok(())
    }

    /// The bytes of kept positions; `None` if there are none, or their file is gone.
    pub fn positions(&self, key: PositionsKey) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(folder) = &self.folder else { return Ok(None) };
        let mut statement = self
            .connection
            .prepare_cached("SELECT file FROM positions WHERE game = ?1 AND seed = ?2 AND settings = ?3")?;
        let keys = params![bytes(key.game), key.seed.cast_signed(), key.settings.cast_signed()];
        let Some(file) = statement.query_row(keys, |row| row.get::<_, String>(0)).optional()? else { return Ok(None) };
        let path = folder.join(file);
        match fs::read(&path) {
            Ok(content) => Ok(Some(content)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(StoreError::File(path, error)),
        }
    }

    /// All kept positions, sorted by game, seed and settings.
    pub fn kept(&self) -> Result<Vec<Kept>, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT game, seed, settings, file, n_positions, kept_at FROM positions ORDER BY game, seed, settings",
        )?;
        statement.query_map([], |row| Ok(kept(row)))?.map(|row| row?).collect()
    }

    /// Removes the files that no row names.
    pub(super) fn sweep_positions(&mut self) -> Result<(), StoreError> {
        let Some(folder) = self.folder.clone() else { return Ok(()) };
        let transaction = self.write()?;
        sweep(&transaction, &folder)?;
        transaction.commit()?;
        Ok(())
    }
}

/// Where the positions of a memory are.
pub(super) fn folder(memory: &Path) -> PathBuf {
    let mut name = memory.as_os_str().to_owned();
    name.push("-positions");
    PathBuf::from(name)
}

fn kept(row: &Row) -> Result<Kept, StoreError> {
    let key = PositionsKey {
        game: number(&row.get::<_, Vec<u8>>(0)?)?,
        seed: row.get::<_, i64>(1)?.cast_unsigned(),
        settings: row.get::<_, i64>(2)?.cast_unsigned(),
    };
    let n_positions = row.get::<_, i64>(4)?.cast_unsigned();
    Ok(Kept { key, file: row.get(3)?, n_positions, kept_at: row.get(5)? })
}

/// Removes what no row names. The transaction has the right to write, so no other process is giving names.
fn sweep(transaction: &Transaction, folder: &Path) -> Result<(), StoreError> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
    let mut is_named = transaction.prepare_cached("SELECT count(*) > 0 FROM positions WHERE file = ?1")?;
    for entry in entries.flatten() {
        let Ok(name) = entry.file_name().into_string() else { continue };
        let age = || SystemTime::now().duration_since(entry.metadata().ok()?.modified().ok()?).ok();
        let of_nobody = if name.ends_with(UNFINISHED) {
            age().is_some_and(|age| age > ABANDONED)
        } else {
            name.ends_with(".positions") && !is_named.query_row([&name], |row| row.get::<_, bool>(0))?
        };
        if of_nobody {
            // Another memory's worth of disk is no reason to fail.
            _ = fs::remove_file(entry.path());
        }
    }
    Ok(())
}

/// The 64-bit FNV-1a hash.
fn hash(content: &[u8]) -> u64 {
    content
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}
