//! What can be saved of a damaged memory: every row that is what was written goes to a new file, and the damaged one is kept.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, params_from_iter};

use super::check::{self, Table};
use super::{Store, StoreError, files};

/// What was saved of a damaged memory.
#[derive(Debug)]
pub struct Salvaged {
    /// Where the damaged file is now.
    pub damaged: PathBuf,
    /// Rows that are in the memory now.
    pub n_saved: usize,
    /// Rows that were found and are not what was written.
    pub n_lost: usize,
}

/// Puts a new memory in the place of a damaged one, with all of it that is what was written. Nobody else may use it meanwhile.
pub fn salvage(path: &Path) -> Result<Salvaged, StoreError> {
    let free = |end: &str| (1..).map(|n| files::beside(path, &format!("-{end}-{n}"))).find(|path| !path.exists());
    let (fresh, damaged) = (free("salvaged").expect("a free name"), free("damaged").expect("a free name"));
    let store = Store::open(&fresh)?;
    let saved = save(&store.connection, path);
    drop(store);
    let (n_saved, n_lost) = saved.inspect_err(|_| _ = fs::remove_file(&fresh))?;
    let failed = |error| StoreError::File(path.to_owned(), error);
    fs::rename(path, &damaged).map_err(failed)?;
    for end in ["-wal", "-shm"] {
        _ = fs::rename(files::beside(path, end), files::beside(&damaged, end));
    }
    fs::rename(&fresh, path).map_err(failed)?;
    Ok(Salvaged { damaged, n_saved, n_lost })
}

/// Copies what is right; how many rows that were, and how many were not.
fn save(to: &Connection, from: &Path) -> Result<(usize, usize), StoreError> {
    let from = Connection::open(from)?;
    check::add_row_sum(&from)?;
    // What a row refers to may be lost; it may also come back.
    to.pragma_update(None, "foreign_keys", false)?;
    let transaction = to.unchecked_transaction()?;
    let (mut n_saved, mut n_lost) = (0, 0);
    for table in &check::TABLES {
        // Where a part can't be read, the rest may be reached from the other end.
        let (saved, lost, is_whole) = copy(table, "", &from, &transaction)?;
        let (more, _, _) = if is_whole { (0, 0, true) } else { copy(table, "ORDER BY 1 DESC", &from, &transaction)? };
        n_saved += saved + more;
        n_lost += lost;
    }
    transaction.commit()?;
    Ok((n_saved, n_lost))
}

fn copy(table: &Table, order: &str, from: &Connection, to: &Connection) -> Result<(usize, usize, bool), StoreError> {
    let Table { name, columns, .. } = table;
    let query = format!("SELECT {columns}, sum, sum IS row_sum({columns}) FROM {name} {order}");
    let Ok(mut select) = from.prepare(&query) else { return Ok((0, 0, false)) };
    let n = columns.split(',').count() + 1;
    let places = vec!["?"; n].join(", ");
    let mut insert = to.prepare(&format!("INSERT OR IGNORE INTO {name} ({columns}, sum) VALUES ({places})"))?;
    let (mut n_saved, mut n_lost) = (0, 0);
    let mut rows = select.query([])?;
    loop {
        match rows.next() {
            Ok(Some(row)) if row.get(n)? => {
                let values = (0..n).map(|place| row.get::<_, rusqlite::types::Value>(place));
                n_saved += insert.execute(params_from_iter(values.collect::<Result<Vec<_>, _>>()?))?;
            }
            Ok(Some(_)) => n_lost += 1,
            Ok(None) => return Ok((n_saved, n_lost, true)),
            Err(_) => return Ok((n_saved, n_lost, false)),
        }
    }
}
