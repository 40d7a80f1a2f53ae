//! Who plays which match of a contest, so that several processes share the work. Each process has a file that it holds locked; the
//! system gives the lock up when the process ends in any way, so what a killed one had claimed is free at once.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::{OptionalExtension, params};

use super::{Store, StoreError, files};

/// The end of the names of owners' files.
const OWNER: &str = ".owner";

/// Somebody who claims matches, as long as it lives.
pub struct Owner {
    name: String,
    /// The last match that was there when it came.
    since: i64,
    /// Its file, and the lock on it; a memory that ends with the process needs none.
    lock: Option<(PathBuf, File)>,
}

impl Drop for Owner {
    fn drop(&mut self) {
        if let Some((path, _)) = &self.lock {
            _ = fs::remove_file(path);
        }
    }
}

/// What became of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// The match is to be played by whoever asked.
    Granted,
    /// Somebody else is playing it.
    Taken,
    /// It has been played.
    Played,
}

impl Store {
    /// Somebody who can claim matches.
    pub fn owner(&self) -> Result<Owner, StoreError> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let since = self.last_match()?;
        let Some(folder) = &self.folder else { return Ok(Owner { name: String::new(), since, lock: None }) };
        fs::create_dir_all(folder).map_err(|error| StoreError::Folder(folder.clone(), error))?;
        // What killed processes left.
        let names = fs::read_dir(folder)
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok());
        names.filter(|name| name.ends_with(OWNER)).for_each(|name| _ = is_alive(folder, &name));
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let name = format!("{}-{number}{OWNER}", std::process::id());
            let path = folder.join(&name);
            if path.exists() {
                continue;
            }
            // It is locked before it gets its name, so that nobody takes it for one that was left.
            let (unfinished, file) = files::Unfinished::create(&path)?;
            file.lock().map_err(|error| StoreError::File(path.clone(), error))?;
            unfinished.name(&path)?;
            return Ok(Owner { name, since, lock: Some((path, file)) });
        }
    }

    /// Claims a match of a contest. A failure from before the owner came may be played again.
    pub fn claim(&mut self, contest: i64, name: &str, owner: &Owner) -> Result<Claim, StoreError> {
        let folder = self.folder.clone();
        let transaction = self.write()?;
        let is_played: bool = transaction.query_row(
            "SELECT EXISTS (SELECT 1 FROM matches WHERE contest = ?1 AND name = ?2 AND
                 (id > ?3 OR NOT EXISTS (SELECT 1 FROM seats WHERE match = matches.id AND failed <> 0)))",
            params![contest, name, owner.since],
            |row| row.get(0),
        )?;
        if is_played {
            return Ok(Claim::Played);
        }
        let held = "SELECT owner FROM claims WHERE contest = ?1 AND name = ?2";
        let held: Option<String> = transaction.query_row(held, params![contest, name], |row| row.get(0)).optional()?;
        if let (Some(other), Some(folder)) = (held, folder)
            && other != owner.name
            && is_alive(&folder, &other)
        {
            return Ok(Claim::Taken);
        }
        let claim = "INSERT OR REPLACE INTO claims (contest, name, owner) VALUES (?1, ?2, ?3)";
        transaction.execute(claim, params![contest, name, owner.name])?;
        transaction.commit()?;
        Ok(Claim::Granted)
    }
}

/// Whether the process of an owner runs. The file of one that does not is removed.
fn is_alive(folder: &Path, owner: &str) -> bool {
    let path = folder.join(owner);
    let Ok(file) = File::open(&path) else { return false };
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => true,
        // Where there are no locks, work is done twice rather than not at all.
        Ok(()) | Err(TryLockError::Error(_)) => {
            _ = fs::remove_file(path);
            false
        }
    }
}
