//! What is remembered about states: the transposition table.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How a stored score relates to the true one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    /// It is the true one.
    Exact,
    /// The true one is at least as high.
    Lower,
    /// The true one is at most as high.
    Upper,
}

/// What is remembered about a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Less than 2^23, either way.
    pub(super) score: i32,
    /// The place of the best move among those of the state; `u32::MAX` if there is none.
    pub(super) best: u32,
    /// How deep was searched below; [`Entry::COMPLETE`] if to the end of every line.
    pub(super) depth: u8,
    /// How many joint moves ahead was looked, also by those whose entries were used; `u8::MAX` if farther than can be told.
    pub(super) reach: u8,
    pub(super) bound: Bound,
}

impl Entry {
    /// The depth of a search to the end of every line.
    pub(super) const COMPLETE: u8 = u8::MAX;

    /// The entry in one word, with the search that it is of; its first 6 bits.
    fn word(self, age: u8) -> u64 {
        // Of very many moves at the same time, the last can't be told.
        let best = u64::from(u16::try_from(self.best).unwrap_or(u16::MAX));
        let score = u64::from(self.score as u32) & 0xff_ffff;
        let (depth, reach) = (u64::from(self.depth), u64::from(self.reach));
        u64::from(age) | (self.bound as u64) << 6 | depth << 8 | reach << 16 | best << 24 | score << 40
    }

    fn of(word: u64) -> Entry {
        let best = (word >> 24) as u16;
        Entry {
            score: (word >> 32) as i32 >> 8,
            best: if best == u16::MAX { u32::MAX } else { u32::from(best) },
            depth: (word >> 8) as u8,
            reach: (word >> 16) as u8,
            bound: [Bound::Exact, Bound::Lower, Bound::Upper, Bound::Exact][(word >> 6) as usize & 3],
        }
    }
}

/// A place for an entry: its word, and the key's check mixed with the word, so that halves of different entries, written by threads at
/// the same time, are not taken for one (Hyatt and Mann 2002, *A lock-less transposition table implementation*).
#[derive(Debug, Default)]
struct Slot([AtomicU64; 2]);

impl Slot {
    /// The check of what is here, and its word; 0 if there is nothing.
    fn get(&self) -> (u64, u64) {
        let word = self.0[1].load(Ordering::Relaxed);
        (self.0[0].load(Ordering::Relaxed) ^ word, word)
    }

    fn put(&self, check: u64, word: u64) {
        self.0[0].store(check ^ word, Ordering::Relaxed);
        self.0[1].store(word, Ordering::Relaxed);
    }
}

/// Entries in pairs: the deeper one, and the latest one. Clones share them.
#[derive(Clone, Debug)]
pub(super) struct Table {
    slots: Arc<[[Slot; 2]]>,
    age: u8,
}

impl Table {
    /// A table of about so many bytes; without any it keeps nothing.
    pub(super) fn new(bytes: usize) -> Table {
        let n = (bytes / size_of::<[Slot; 2]>()).max(usize::from(bytes > 0));
        let n = if n == 0 || n.is_power_of_two() { n } else { n.next_power_of_two() / 2 };
        Table { slots: (0..n).map(|_| Default::default()).collect(), age: 1 }
    }

    /// A new search begins: what is there may stay, but goes first.
    pub(super) fn grow_older(&mut self) {
        self.age = self.age % 62 + 1;
    }

    pub(super) fn clear(&mut self) {
        self.slots.iter().flatten().for_each(|slot| slot.put(0, 0));
    }

    fn place(&self, key: u128) -> Option<(&[Slot; 2], u64)> {
        let pair = self.slots.get(key as usize & self.slots.len().wrapping_sub(1))?;
        Some((pair, (key >> 64) as u64))
    }

    pub(super) fn get(&self, key: u128) -> Option<Entry> {
        let (pair, check) = self.place(key)?;
        let mut found = pair.iter().map(Slot::get);
        found.find(|&(own, word)| word != 0 && own == check).map(|(_, word)| Entry::of(word))
    }

    pub(super) fn put(&self, key: u128, entry: Entry) {
        let Some((pair, check)) = self.place(key) else { return };
        let (deep_check, deep) = pair[0].get();
        let same = deep != 0 && deep_check == check;
        if same || deep as u8 & 63 != self.age || entry.depth >= Entry::of(deep).depth {
            if !same {
                pair[1].put(deep_check, deep);
            }
            pair[0].put(check, entry.word(self.age));
        } else {
            pair[1].put(check, entry.word(self.age));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_back_as_they_were() {
        let mut table = Table::new(1 << 12);
        let entry = |score, best, depth, reach, bound| Entry { score, best, depth, reach, bound };
        let entries = [
            entry(0, 0, 0, 0, Bound::Exact),
            entry(-1_000_250, u32::MAX, Entry::COMPLETE, 250, Bound::Lower),
            entry(2_000_000, 65_534, 7, 255, Bound::Upper),
        ];
        for entry in entries {
            table.put(5 << 64 | 3, entry);
            assert_eq!(table.get(5 << 64 | 3), Some(entry));
        }
        assert_eq!((table.get(6 << 64 | 3), table.get(5 << 64 | 4)), (None, None));
        table.clear();
        assert_eq!(table.get(5 << 64 | 3), None);
    }

    /// Deep entries stay until another search begins, and the latest is there too.
    #[test]
    fn deep_entries_stay() {
        let mut table = Table::new(1 << 12);
        let entry = |depth| Entry { score: 1, best: 2, depth, reach: 9, bound: Bound::Exact };
        let key = |check: u128| check << 64 | 3;
        table.put(key(1), entry(9));
        table.put(key(2), entry(4));
        table.put(key(3), entry(5));
        assert_eq!([1, 2, 3].map(|check| table.get(key(check)).map(|entry| entry.depth)), [Some(9), None, Some(5)]);
        table.grow_older();
        table.put(key(4), entry(1));
        assert_eq!([1, 3, 4].map(|check| table.get(key(check)).map(|entry| entry.depth)), [Some(9), None, Some(1)]);
    }

    /// Whatever is read was written, however many threads write.
    #[test]
    fn threads_never_see_halves() {
        let table = Table::new(1 << 8);
        std::thread::scope(|scope| {
            for thread in 0..4u32 {
                let table = table.clone();
                scope.spawn(move || {
                    for turn in 0..20_000u32 {
                        let number = turn.wrapping_mul(2_654_435_761) >> 20;
                        let key = u128::from(number) << 64 | u128::from(number % 8);
                        if let Some(entry) = table.get(key) {
                            assert_eq!((entry.score, entry.best), (number as i32, number));
                        }
                        let depth = (turn + thread) as u8;
                        let entry = Entry { score: number as i32, best: number, depth, reach: 0, bound: Bound::Exact };
                        table.put(key, entry);
                    }
                });
            }
        });
    }
}
