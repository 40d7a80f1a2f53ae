//! What a ladder has done so far: a file of JSON lines, one for each game that was learned and each match that was played.
//!
//! A line is written at once when there is something to keep, so a kill costs what is under way. Each line ends with a checksum. One
//! that a kill cut short, or that is damaged, is passed over when the file is read again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::Path;

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};

use crate::evidence;
use crate::measure::{Kind, Outcome};

/// A line of the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "kebab-case")]
enum Record {
    Learned(Learned),
    Match(Played),
}

/// A game that was learned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Learned {
    /// A hash of all that learning depends on.
    pub(super) key: String,
    pub(super) game: String,
    pub(super) fingerprint: String,
    /// The model's number in the memory, and a hash of its content.
    pub(super) model: i64,
    pub(super) content: String,
    pub(super) roles: usize,
    /// Whether two roles share 100 points.
    pub(super) shared: bool,
    /// The best score against random play that there can be, in a small game whose roles share 100 points.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) possible: Option<f64>,
    /// Whether the goals have a fuzzy truth.
    pub(super) fuzzy: bool,
    /// How long learning took, and what it did.
    pub(super) seconds: f64,
    /// The search that the model plays by, in words.
    pub(super) search: String,
    pub(super) threads: usize,
    pub(super) generations: usize,
    pub(super) matches: u32,
    pub(super) features: usize,
    pub(super) slots: usize,
    pub(super) made_at: i64,
}

/// A match of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Played {
    /// A hash of all that the comparison depends on.
    pub(super) cell: String,
    /// The rest of what it is, for people.
    pub(super) game: String,
    pub(super) kind: Kind,
    pub(super) move_time: f64,
    #[serde(flatten)]
    pub(super) outcome: Outcome,
}

/// All that was done.
pub(super) struct State {
    file: Option<File>,
    learned: BTreeMap<String, Learned>,
    matches: BTreeMap<String, Vec<Outcome>>,
    /// Lines that can't be read.
    pub(super) n_damaged: usize,
}

impl State {
    /// Reads a file, if there is one, to add to it.
    pub(super) fn open(path: &Path) -> anyhow::Result<State> {
        let mut state = State::read(path)?;
        let fail = || format!("can't write `{}`", path.display());
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).with_context(fail)?;
        }
        let mut file = OpenOptions::new().create(true).append(true).open(path).with_context(fail)?;
        // Two that do the same would do it twice. The system gives the lock up when the process ends, in whatever way.
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            bail!("another `senet ladder` is at work with `{}`; wait for it, or name another --state", path.display());
        }
        // A line that was cut short is not to spoil the next one.
        let text = std::fs::read(path).with_context(fail)?;
        if text.last().is_some_and(|&last| last != b'\n') {
            file.write_all(b"\n").with_context(fail)?;
        }
        state.file = Some(file);
        Ok(state)
    }

    /// Reads a file, if there is one.
    pub(super) fn read(path: &Path) -> anyhow::Result<State> {
        let text = match std::fs::read(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error).with_context(|| format!("can't read `{}`", path.display())),
        };
        let mut state = State { file: None, learned: BTreeMap::new(), matches: BTreeMap::new(), n_damaged: 0 };
        for line in text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
            match checked(line).and_then(|line| serde_json::from_slice(line).ok()) {
                Some(record) => state.take(record),
                None => state.n_damaged += 1,
            }
        }
        Ok(state)
    }

    fn take(&mut self, record: Record) {
        match record {
            Record::Learned(learned) => _ = self.learned.insert(learned.key.clone(), learned),
            Record::Match(played) => self.matches.entry(played.cell).or_default().push(played.outcome),
        }
    }

    fn write(&mut self, record: Record) -> anyhow::Result<()> {
        if let Some(file) = &mut self.file {
            let line = sealed(serde_json::to_string(&record)?) + "\n";
            file.write_all(line.as_bytes()).context("can't write what was done")?;
        }
        self.take(record);
        Ok(())
    }

    pub(super) fn add_learned(&mut self, learned: Learned) -> anyhow::Result<()> {
        self.write(Record::Learned(learned))
    }

    pub(super) fn add_match(&mut self, played: Played) -> anyhow::Result<()> {
        self.write(Record::Match(played))
    }

    /// How often some games were learned under none of these keys.
    pub(super) fn n_others(&self, keys: &BTreeSet<&str>, games: &BTreeSet<&str>) -> usize {
        let is_other = |learned: &&Learned| !keys.contains(&*learned.key) && games.contains(&*learned.game);
        self.learned.values().filter(is_other).count()
    }

    /// What came of learning under a key; the last time counts.
    pub(super) fn learned(&self, key: &str) -> Option<&Learned> {
        self.learned.get(key)
    }

    /// The matches of a comparison, in the order in which they ended.
    pub(super) fn matches(&self, cell: &str) -> &[Outcome] {
        self.matches.get(cell).map_or(&[], |matches| matches)
    }
}

/// What stands before the checksum at the end of a line.
const SUM: &str = ",\"sum\":\"";
/// So long is the end of a line from there on: sixteen digits, a quotation mark and a brace.
const END: usize = SUM.len() + 18;

/// A JSON object with a checksum as its last field.
fn sealed(mut line: String) -> String {
    let sum = evidence::hash(&line);
    line.pop();
    line + SUM + &format!("{sum:016x}\"}}")
}

/// A line, if it is what was written. Earlier versions wrote no checksums.
fn checked(line: &[u8]) -> Option<&[u8]> {
    let Some(start) = line.len().checked_sub(END).filter(|&start| line[start..].starts_with(SUM.as_bytes())) else {
        return Some(line).filter(|line| !line.ends_with(b"\"}"));
    };
    let expected = u64::from_str_radix(std::str::from_utf8(&line[start + SUM.len()..line.len() - 2]).ok()?, 16).ok()?;
    (evidence::hash([&line[..start], b"}"].concat()) == expected).then_some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn played(number: u32) -> Played {
        let outcome = Outcome { number, goals: Some(vec![100, 0]) };
        Played { cell: "c".to_owned(), game: "g".to_owned(), kind: Kind::SearchUct, move_time: 0.1, outcome }
    }

    #[test]
    fn a_line_that_was_cut_short_costs_nothing_else() {
        let path = std::env::temp_dir().join(format!("senet-ladder-{}.jsonl", std::process::id()));
        _ = std::fs::remove_file(&path);
        let mut state = State::open(&path).expect("made");
        (0..3).for_each(|number| state.add_match(played(number)).expect("written"));
        drop(state);
        let text = std::fs::read(&path).expect("written");
        std::fs::write(&path, &text[..text.len() - 10]).expect("cut");
        let mut state = State::open(&path).expect("read");
        assert_eq!((state.matches("c").len(), state.n_damaged), (2, 1));
        state.add_match(played(2)).expect("written");
        drop(state);
        let state = State::read(&path).expect("read");
        assert_eq!(state.matches("c").iter().map(|outcome| outcome.number).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!((state.n_damaged, state.matches("d").len()), (1, 0));
        std::fs::remove_file(&path).expect("removed");
    }

    /// A bit that is flipped costs its line, whatever it is; lines without checksums are read as before.
    #[test]
    fn damage_costs_a_line_and_is_counted() {
        let path = std::env::temp_dir().join(format!("senet-ladder-damage-{}.jsonl", std::process::id()));
        _ = std::fs::remove_file(&path);
        let mut state = State::open(&path).expect("made");
        (0..3).for_each(|number| state.add_match(played(number)).expect("written"));
        drop(state);
        let text = std::fs::read(&path).expect("written");
        let length = text.iter().position(|&byte| byte == b'\n').expect("a line");
        for bit in 0..8 * length {
            let mut damaged = text.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            std::fs::write(&path, damaged).expect("written");
            let state = State::read(&path).expect("read");
            // The digits of a checksum may be small or large.
            let is_whole = state.n_damaged == 0;
            let expected: Vec<Outcome> = (u32::from(!is_whole)..3).map(|number| played(number).outcome).collect();
            assert_eq!(state.matches("c"), expected, "bit {bit}");
        }
        let old = serde_json::to_string(&Record::Match(played(7))).expect("JSON");
        std::fs::write(&path, old).expect("written");
        assert_eq!(State::read(&path).expect("read").matches("c").len(), 1);
        std::fs::remove_file(&path).expect("removed");
    }
}
