//! Files beside the database, for what is too large for it. A row of the database names each file. A file is complete before it
//! gets its name, and gets it under the right to write; what a killed process left behind is swept away by the next one that
//! keeps something.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rusqlite::Transaction;

use super::{Store, StoreError};

/// The end of a file's name while it is written.
const UNFINISHED: &str = ".unfinished";
/// An unfinished file that is older has no writer any more.
const ABANDONED: Duration = Duration::from_secs(24 * 3600);
/// The ends of names that are given here.
const ENDS: [&str; 4] = [".positions", ".features", ".course", ".model"];

/// Where the files of a memory are.
pub(super) fn folder(memory: &Path) -> PathBuf {
    let mut name = memory.as_os_str().to_owned();
    name.push("-files");
    PathBuf::from(name)
}

/// A file that is complete, but has no name yet.
pub(super) struct Unnamed {
    folder: PathBuf,
    path: PathBuf,
    name: String,
}

impl Unnamed {
    /// Writes a file of a game; the end of its name says what it holds.
    pub(super) fn write(folder: &Path, game: u128, end: &str, content: &[u8]) -> Result<Unnamed, StoreError> {
        let name = format!("{game:032x}-{:016x}{end}", hash(content));
        let path = folder.join(format!("{name}-{}{UNFINISHED}", std::process::id()));
        let failed = |error| StoreError::File(path.clone(), error);
        fs::create_dir_all(folder).map_err(|error| StoreError::Folder(folder.to_owned(), error))?;
        let mut file = File::create(&path).map_err(failed)?;
        file.write_all(content).and_then(|()| file.sync_all()).map_err(failed)?;
        Ok(Unnamed { folder: folder.to_owned(), name, path })
    }

    /// Gives it its name, which the transaction is to put down.
    pub(super) fn name(self, _: &Transaction) -> Result<String, StoreError> {
        fs::rename(&self.path, self.folder.join(&self.name))
            .map_err(|error| StoreError::File(self.path.clone(), error))?;
        Ok(self.name)
    }

    /// Removes it.
    pub(super) fn discard(self) {
        _ = fs::remove_file(self.path);
    }
}

/// The content of a file; `None` if it is gone.
pub(super) fn read(folder: &Path, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
    let path = folder.join(name);
    match fs::read(&path) {
        Ok(content) => Ok(Some(content)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(StoreError::File(path, error)),
    }
}

impl Store {
    /// Removes the files that no row names. What replaced them must have been committed: else a kill right now would leave rows
    /// whose files are gone.
    pub(super) fn sweep_files(&mut self) -> Result<(), StoreError> {
        let Some(folder) = self.folder.clone() else { return Ok(()) };
        let transaction = self.write()?;
        sweep(&transaction, &folder)?;
        transaction.commit()?;
        Ok(())
    }
}

/// Removes what no row names. The transaction has the right to write, so no other process is giving names.
fn sweep(transaction: &Transaction, folder: &Path) -> Result<(), StoreError> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
    let mut is_named = transaction.prepare_cached(
        "SELECT EXISTS (SELECT 1 FROM positions WHERE file = ?1) OR EXISTS (SELECT 1 FROM courses WHERE file = ?1)
         OR EXISTS (SELECT 1 FROM models WHERE file = ?1) OR EXISTS (SELECT 1 FROM features WHERE file = ?1)",
    )?;
    for entry in entries.flatten() {
        let Ok(name) = entry.file_name().into_string() else { continue };
        let age = || SystemTime::now().duration_since(entry.metadata().ok()?.modified().ok()?).ok();
        let of_nobody = if name.ends_with(UNFINISHED) {
            age().is_some_and(|age| age > ABANDONED)
        } else {
            ENDS.iter().any(|end| name.ends_with(end)) && !is_named.query_row([&name], |row| row.get::<_, bool>(0))?
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
