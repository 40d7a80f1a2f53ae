//! Files beside the database, for what is too large for it. A row of the database names each file, and the name ends with a hash of all
//! its bytes, by which damage is noticed when it is read. A file is complete and on the disk before it gets its name, and gets it under
//! the right to write. A model's file goes only when the model is removed: nothing else that has no row any more is worth as much.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use rusqlite::Transaction;

use super::{Store, StoreError, hash};

/// The end of a file's name while it is written.
const UNFINISHED: &str = ".unfinished";
/// An unfinished file that is older has no writer any more.
const ABANDONED: Duration = Duration::from_secs(24 * 3600);
/// The ends of names of what can be made again, and goes if no row names it.
const MADE_AGAIN: [&str; 2] = [".positions", ".features"];

/// Where the files of a memory are.
pub(super) fn folder(memory: &Path) -> PathBuf {
    beside(memory, "-files")
}

/// A path with more at its end.
pub(super) fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

/// A file that is being written beside its later name; it goes if it does not get that name.
pub(super) struct Unfinished(Option<PathBuf>);

impl Unfinished {
    /// An empty file with a name that no other thread or process has, for what will be called `path`.
    pub(super) fn create(path: &Path) -> Result<(Unfinished, File), StoreError> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let name = beside(path, &format!("-{}-{number}{UNFINISHED}", std::process::id()));
            match File::create_new(&name) {
                Ok(file) => return Ok((Unfinished(Some(name)), file)),
                // One of a process that was killed, or of another machine.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(StoreError::File(name, error)),
            }
        }
    }

    /// Writes all of a file.
    fn write(path: &Path, content: &[u8]) -> Result<Unfinished, StoreError> {
        let (unfinished, mut file) = Unfinished::create(path)?;
        file.write_all(content).map_err(|error| StoreError::File(unfinished.path().to_owned(), error))?;
        Ok(unfinished)
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        self.0.as_deref().expect("it has a path until it is named")
    }

    /// Gives it its name when it is on the disk; it has that after a crash, too.
    pub(super) fn name(mut self, name: &Path) -> Result<(), StoreError> {
        let failed = |error| StoreError::File(name.to_owned(), error);
        File::open(self.path()).and_then(|file| file.sync_all()).map_err(failed)?;
        fs::rename(self.path(), name).map_err(failed)?;
        self.0 = None;
        sync_folder(name).map_err(failed)
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            _ = fs::remove_file(path);
        }
    }
}

/// Writes a file in such a way that there is a whole one of that name at every moment, even after a crash or on a full disk. What is no
/// plain file, such as a terminal, or stands where no other file can be made, is simply written to.
pub fn write_whole(path: &Path, content: &[u8]) -> io::Result<()> {
    let path = &fs::canonicalize(path).unwrap_or(path.to_owned());
    if path.exists() && !path.is_file() {
        return fs::write(path, content);
    }
    let told = |error: StoreError| match error {
        StoreError::File(_, error) => error,
        other => io::Error::other(other.to_string()),
    };
    match Unfinished::write(path, content).and_then(|unfinished| unfinished.name(path)).map_err(told) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => fs::write(path, content),
        written => written,
    }
}

/// Sees to it that names in a file's folder are on the disk.
fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

/// A file that is complete, but has no name yet.
pub(super) struct Unnamed {
    unfinished: Unfinished,
    folder: PathBuf,
    name: String,
}

impl Unnamed {
    /// Writes a file of a game; the end of its name says what it holds.
    pub(super) fn write(folder: &Path, game: u128, end: &str, content: &[u8]) -> Result<Unnamed, StoreError> {
        let failed = |error| StoreError::Folder(folder.to_owned(), error);
        if !folder.is_dir() {
            fs::create_dir_all(folder).and_then(|()| sync_folder(folder)).map_err(failed)?;
        }
        let name = format!("{game:032x}-{:016x}{end}", hash(content));
        Ok(Unnamed { unfinished: Unfinished::write(&folder.join(&name), content)?, folder: folder.to_owned(), name })
    }

    /// The name that it gets.
    pub(super) fn later_name(&self) -> &str {
        &self.name
    }

    /// Gives it its name, which the transaction is to put down.
    pub(super) fn name(self, _: &Transaction) -> Result<String, StoreError> {
        self.unfinished.name(&self.folder.join(&self.name))?;
        Ok(self.name)
    }
}

/// The content of a file; `None` if it is gone.
pub(super) fn read(folder: &Path, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
    let path = folder.join(name);
    match fs::read(&path) {
        Ok(content) if expected_hash(name) == Some(hash(&content)) => Ok(Some(content)),
        Ok(_) => Err(StoreError::DamagedFile(path)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(StoreError::File(path, error)),
    }
}

/// The hash of its content that a file's name ends with.
fn expected_hash(name: &str) -> Option<u64> {
    let (_, rest) = name.split_once('-')?;
    u64::from_str_radix(rest.get(..16)?, 16).ok()
}

impl Store {
    /// Removes files, unless a row names them; and what can be made again and no row names. What replaced them must have been
    /// committed: else a kill right now would leave rows whose files are gone.
    pub(super) fn release(&mut self, names: &[String]) -> Result<(), StoreError> {
        let Some(folder) = self.folder.clone() else { return Ok(()) };
        // With the right to write, no other process is giving names.
        let transaction = self.write()?;
        let entries = fs::read_dir(&folder).map(|entries| entries.flatten().collect::<Vec<_>>()).unwrap_or_default();
        for entry in entries {
            let Ok(name) = entry.file_name().into_string() else { continue };
            let age = || SystemTime::now().duration_since(entry.metadata().ok()?.modified().ok()?).ok();
            let is_old = || age().is_some_and(|age| age > ABANDONED);
            let of_nobody = if name.ends_with(UNFINISHED) {
                is_old()
            } else {
                (names.contains(&name) || MADE_AGAIN.iter().any(|end| name.ends_with(end)) && is_old())
                    && !is_named(&transaction, &name)?
            };
            if of_nobody {
                // Another memory's worth of disk is no reason to fail.
                _ = fs::remove_file(entry.path());
            }
        }
        transaction.commit()?;
        Ok(())
    }

    /// How many files rows name, and how many of them are gone.
    pub(super) fn n_files(&self) -> Result<(usize, usize), StoreError> {
        let Some(folder) = &self.folder else { return Ok((0, 0)) };
        let mut statement = self.connection.prepare(
            "SELECT file FROM models UNION SELECT file FROM courses UNION SELECT file FROM positions
             UNION SELECT file FROM features",
        )?;
        let names: Vec<String> = statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
        let n_gone = names.iter().filter(|name| !folder.join(name).exists()).count();
        Ok((names.len(), n_gone))
    }
}

/// Whether a row names a file.
fn is_named(transaction: &Transaction, name: &str) -> Result<bool, StoreError> {
    let mut statement = transaction.prepare_cached(
        "SELECT EXISTS (SELECT 1 FROM positions WHERE file = ?1) OR EXISTS (SELECT 1 FROM courses WHERE file = ?1)
         OR EXISTS (SELECT 1 FROM models WHERE file = ?1) OR EXISTS (SELECT 1 FROM features WHERE file = ?1)",
    )?;
    Ok(statement.query_row([name], |row| row.get(0))?)
}
