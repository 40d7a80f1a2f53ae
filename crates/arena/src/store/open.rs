//! Opening a memory: to write, or else a copy of it to read.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, MAIN_DB};

use super::{Store, StoreError, check, files, schema};

/// How long to wait for another process that is writing.
const PATIENCE: Duration = Duration::from_secs(20);

/// A folder with a copy of a memory, which goes with the store.
pub(super) struct Copy(PathBuf);

impl Drop for Copy {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

impl Store {
    /// Opens a memory file, and makes it and its folder where there is none. Where it is there and can't be written, it can be read.
    pub fn open(path: &Path) -> Result<Store, StoreError> {
        match Store::open_to_write(path) {
            Err(error) if may_be_read(&error) && path.is_file() => Store::open_to_read(path),
            opened => opened,
        }
    }

    fn open_to_write(path: &Path) -> Result<Store, StoreError> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder).map_err(|error| StoreError::Folder(folder.to_owned(), error))?;
        }
        let connection = Connection::open(path)?;
        let mut store = Store::set_up(connection, path).map_err(|error| match error {
            StoreError::Sql(error) if error.sqlite_error_code() == Some(ErrorCode::NotADatabase) => {
                StoreError::NoDatabase(path.to_owned())
            }
            other => other,
        })?;
        store.look_for_files()?;
        Ok(store)
    }

    /// Opens a copy of a memory that can't be written: SQLite itself writes beside a file even where it only reads.
    pub(super) fn open_to_read(path: &Path) -> Result<Store, StoreError> {
        let copy = copy(path)?;
        let inner = copy.0.join("memory.db");
        let mut store = Store::set_up(Connection::open(&inner)?, &inner)?;
        store.path = path.to_owned();
        store.folder = Some(files::folder(path));
        store.copy = Some(copy);
        store.notices = vec![format!("the memory `{}` can't be written, so it is only read", path.display())];
        store.look_for_files()?;
        Ok(store)
    }

    /// A memory that ends with the process.
    pub fn in_memory() -> Result<Store, StoreError> {
        let store = Store::set_up(Connection::open_in_memory()?, Path::new(":memory:"))?;
        Ok(Store { folder: None, ..store })
    }

    fn set_up(mut connection: Connection, path: &Path) -> Result<Store, StoreError> {
        connection.busy_timeout(PATIENCE)?;
        schema::check_owner(&connection, path)?;
        if connection.is_readonly(MAIN_DB)? {
            return Err(StoreError::ReadOnly(path.to_owned()));
        }
        connection.pragma_update(None, "journal_mode", "wal")?;
        connection.pragma_update(None, "synchronous", "full")?;
        connection.pragma_update(None, "foreign_keys", true)?;
        check::add_row_sum(&connection)?;
        let kept = schema::migrate(&mut connection, path)?;
        schema::check_tables(&connection)?;
        check::at_once(&connection, path)?;
        let told = |copy: PathBuf| {
            format!("the memory was written by an earlier version; a copy of it is kept as `{}`", copy.display())
        };
        Ok(Store {
            connection,
            path: path.to_owned(),
            folder: Some(files::folder(path)),
            notices: kept.into_iter().map(told).collect(),
            copy: None,
            is_checked: false.into(),
        })
    }

    /// Notices if the files were not copied together with the database, or were removed.
    fn look_for_files(&mut self) -> Result<(), StoreError> {
        let (n, n_gone) = self.n_files()?;
        if n_gone > 0 {
            let folder = files::folder(&self.path);
            let is_there = if folder.is_dir() { "is not complete" } else { "is missing" };
            self.notices.push(format!(
                "{n_gone} of {n} files of the memory are gone: the folder `{}` {is_there}; it belongs to the memory and must be \
                 copied together with it",
                folder.display()
            ));
        }
        Ok(())
    }
}

/// Whether a file that can't be opened for this reason may still be read.
fn may_be_read(error: &StoreError) -> bool {
    match error {
        StoreError::ReadOnly(_) => true,
        StoreError::Sql(error) => matches!(
            error.sqlite_error_code(),
            Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied | ErrorCode::DiskFull)
        ),
        _ => false,
    }
}

/// Copies a memory to a folder of its own, with what has not been taken over from its log yet.
fn copy(path: &Path) -> Result<Copy, StoreError> {
    /// How often it is tried while somebody else is writing.
    const TRIES: usize = 5;
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let folder = loop {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("senet-{}-{number}", std::process::id()));
        match fs::create_dir(&folder) {
            Ok(()) => break folder,
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(StoreError::Folder(folder, error)),
        }
    };
    let copy = Copy(folder);
    let log = files::beside(path, "-wal");
    let state = || [path, &log].map(|file| fs::metadata(file).ok().map(|found| (found.len(), found.modified().ok())));
    for _ in 0..TRIES {
        let before = state();
        fs::copy(path, copy.0.join("memory.db")).map_err(|error| StoreError::File(path.to_owned(), error))?;
        if log.is_file() {
            fs::copy(&log, copy.0.join("memory.db-wal")).map_err(|error| StoreError::File(log.clone(), error))?;
        }
        if state() == before {
            break;
        }
    }
    Ok(copy)
}
