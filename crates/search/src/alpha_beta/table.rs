//! What is remembered about states: the transposition table.

/// How a stored score relates to the true one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) enum Bound {
    /// It is the true one.
    #[default]
    Exact,
    /// The true one is at least as high.
    Lower,
    /// The true one is at most as high.
    Upper,
}

/// What is remembered about a state.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Entry {
    check: u64,
    pub(super) score: i32,
    /// The place of the best move among those of the state; `u32::MAX` if there is none.
    pub(super) best: u32,
    /// How deep was searched below; [`Entry::COMPLETE`] if to the end of every line.
    pub(super) depth: u8,
    /// How many joint moves below were looked at, at most.
    pub(super) reach: u16,
    pub(super) bound: Bound,
    /// The search that it is of; 0 if there is nothing here.
    age: u8,
}

impl Entry {
    /// The depth of a search to the end of every line.
    pub(super) const COMPLETE: u8 = u8::MAX;
}

/// Entries in pairs: the deeper one, and the latest one.
#[derive(Debug)]
pub(super) struct Table {
    entries: Vec<[Entry; 2]>,
    age: u8,
}

impl Table {
    /// A table of about so many bytes.
    pub(super) fn new(bytes: usize) -> Table {
        let n = (bytes / size_of::<[Entry; 2]>()).max(2);
        let n = if n.is_power_of_two() { n } else { n.next_power_of_two() / 2 };
        Table { entries: vec![[Entry::default(); 2]; n], age: 1 }
    }

    /// A new search begins: what is there may stay, but goes first.
    pub(super) fn grow_older(&mut self) {
        self.age = self.age % 250 + 1;
    }

    pub(super) fn clear(&mut self) {
        self.entries.fill([Entry::default(); 2]);
    }

    fn place(&self, key: u128) -> (usize, u64) {
        ((key as usize) & (self.entries.len() - 1), (key >> 64) as u64)
    }

    pub(super) fn get(&self, key: u128) -> Option<Entry> {
        let (place, check) = self.place(key);
        self.entries[place].iter().find(|entry| entry.age != 0 && entry.check == check).copied()
    }

    pub(super) fn put(&mut self, key: u128, score: i32, best: u32, depth: u8, reach: u16, bound: Bound) {
        let (place, check) = self.place(key);
        let age = self.age;
        let entry = Entry { check, score, best, depth, reach, bound, age };
        let pair = &mut self.entries[place];
        let deep = &pair[0];
        let same = deep.age != 0 && deep.check == check;
        if deep.age != age || depth >= deep.depth || same {
            if !same {
                pair[1] = pair[0];
            }
            pair[0] = entry;
        } else {
            pair[1] = entry;
        }
    }
}
