//! Sparse tables for large patterns: an index made of two, and weights for the few pairs that have one.
//!
//! The atoms of a large pattern are split into two halves with an index each, which smaller patterns may have already. Two
//! tables find the weight of a pair. [`Displaced`] puts the rows of a two-dimensional table on top of each other, each
//! shifted so that no two entries meet (Tarjan and Yao 1979; Buro's offset table): the slot is an offset plus the second
//! index, and a lock says whose entry it is. [`Hashed`] looks for the pair in an open hash table that keeps lock and weight
//! together. What a pair without a weight is worth is the caller's choice ([`Backoff`]).

/// A pair of indices with its weight.
pub type Entry<W> = ((u32, u32), W);

/// Rows on top of each other.
#[derive(Clone, Debug)]
pub struct Displaced<W> {
    /// Where each row begins.
    offsets: Vec<u32>,
    /// The row that a slot belongs to, and its weight.
    slots: Vec<(u32, W)>,
    n_entries: usize,
}

/// No row.
const FREE: u32 = u32::MAX;

/// Why a table could not be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refused {
    /// A pair lies outside of the ranges.
    Outside {
        /// The pair.
        pair: (u32, u32),
    },
    /// A pair is listed twice.
    Twice {
        /// The pair.
        pair: (u32, u32),
    },
    /// More slots would be needed.
    Slots {
        /// How many are allowed.
        limit: usize,
    },
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Refused::Outside { pair } => write!(f, "the pair {pair:?} lies outside of the ranges of its indices"),
            Refused::Twice { pair } => write!(f, "the pair {pair:?} is listed twice"),
            Refused::Slots { limit } => write!(f, "the table needs more than {limit} slots"),
        }
    }
}

impl<W: Copy + Default> Displaced<W> {
    /// Builds a table for pairs below `n_first` and `n_second`, with at most `max_slots` slots. Rows are placed in the order
    /// of decreasing numbers of entries, each as far in front as it fits.
    pub fn new(n_first: u32, n_second: u32, entries: &[Entry<W>], max_slots: usize) -> Result<Displaced<W>, Refused> {
        let entries = sorted(n_first, n_second, entries)?;
        let mut rows: Vec<&[Entry<W>]> = entries.chunk_by(|one, other| one.0.0 == other.0.0).collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.len()));
        let mut offsets = vec![0; n_first as usize];
        let mut slots: Vec<(u32, W)> = Vec::new();
        // One bit for each slot that is taken, with zeros behind.
        let mut taken = vec![0u64; n_second as usize / 64 + 2];
        // All slots below are taken.
        let mut full = 0usize;
        let mut last_offset = 0;
        for row in rows {
            let least = row[0].0.1 as usize;
            while taken[full / 64] >> (full % 64) & 1 == 1 {
                full += 1;
            }
            let mut from = full.saturating_sub(least);
            let offset = loop {
                // Sixty-four offsets at once: where any entry would meet a taken slot.
                let mut meets = 0u64;
                for entry in row {
                    meets |= window(&taken, from + entry.0.1 as usize);
                    if meets == !0 {
                        break;
                    }
                }
                if meets != !0 {
                    break from + meets.trailing_ones() as usize;
                }
                from += 64;
                if from + n_second as usize > max_slots {
                    return Err(Refused::Slots { limit: max_slots });
                }
            };
            let end = offset + n_second as usize;
            if end > max_slots {
                return Err(Refused::Slots { limit: max_slots });
            }
            if slots.len() < end {
                slots.resize(end, (FREE, W::default()));
            }
            // Windows that begin in front of the last slot look two words ahead.
            if taken.len() < end / 64 + 3 {
                taken.resize(end / 64 + 3, 0);
            }
            for &((first, second), weight) in row {
                let slot = offset + second as usize;
                slots[slot] = (first, weight);
                taken[slot / 64] |= 1 << (slot % 64);
            }
            offsets[row[0].0.0 as usize] = offset as u32;
            last_offset = last_offset.max(offset);
        }
        slots.resize(last_offset + n_second as usize, (FREE, W::default()));
        Ok(Displaced { offsets, slots, n_entries: entries.len() })
    }

    /// The weight of a pair, if it has one.
    #[inline(always)]
    pub fn get(&self, first: u32, second: u32) -> Option<W> {
        let offset = *self.offsets.get(first as usize)?;
        let &(lock, weight) = self.slots.get(offset as usize + second as usize)?;
        (lock == first).then_some(weight)
    }

    /// How much of the table is in use.
    pub fn load(&self) -> f64 {
        self.n_entries as f64 / self.slots.len().max(1) as f64
    }

    /// How many slots there are.
    pub fn n_slots(&self) -> usize {
        self.slots.len()
    }

    /// How many bytes the table takes.
    pub fn bytes(&self) -> usize {
        self.slots.len() * size_of::<(u32, W)>() + self.offsets.len() * size_of::<u32>()
    }
}

/// Sixty-four bits from a place on; zeros behind the end.
fn window(words: &[u64], at: usize) -> u64 {
    let word = |index: usize| words.get(index).copied().unwrap_or(0);
    let (index, shift) = (at / 64, at % 64);
    if shift == 0 { word(index) } else { word(index) >> shift | word(index + 1) << (64 - shift) }
}

/// The entries in order, checked.
fn sorted<W: Copy>(n_first: u32, n_second: u32, entries: &[Entry<W>]) -> Result<Vec<Entry<W>>, Refused> {
    if let Some(&(pair, _)) = entries.iter().find(|(pair, _)| pair.0 >= n_first || pair.1 >= n_second) {
        return Err(Refused::Outside { pair });
    }
    let mut entries = entries.to_vec();
    entries.sort_by_key(|entry| entry.0);
    match entries.windows(2).find(|two| two[0].0 == two[1].0) {
        Some(two) => Err(Refused::Twice { pair: two[0].0 }),
        None => Ok(entries),
    }
}

/// An open hash table, at most half full.
#[derive(Clone, Debug)]
pub struct Hashed<W> {
    n_second: u64,
    /// How far a hash is shifted to become a place.
    shift: u32,
    /// The pair as one number, and its weight.
    slots: Vec<(u32, W)>,
    n_entries: usize,
}

impl<W: Copy + Default> Hashed<W> {
    /// Builds a table for pairs below `n_first` and `n_second`, whose product must stay below 2^32 - 1; with at most
    /// `max_slots` slots.
    pub fn new(n_first: u32, n_second: u32, entries: &[Entry<W>], max_slots: usize) -> Result<Hashed<W>, Refused> {
        let entries = sorted(n_first, n_second, entries)?;
        let n_slots = (2 * entries.len()).next_power_of_two().max(2);
        let wide = u64::from(n_first) * u64::from(n_second) >= u64::from(FREE);
        if n_slots > max_slots || wide {
            return Err(Refused::Slots { limit: max_slots });
        }
        let shift = 64 - n_slots.trailing_zeros();
        let mut table = Hashed {
            n_second: n_second.into(),
            shift,
            slots: vec![(FREE, W::default()); n_slots],
            n_entries: entries.len(),
        };
        for ((first, second), weight) in entries {
            let (key, mut place) = table.place(first, second);
            while table.slots[place].0 != FREE {
                place = (place + 1) & (n_slots - 1);
            }
            table.slots[place] = (key, weight);
        }
        Ok(table)
    }

    #[inline(always)]
    fn place(&self, first: u32, second: u32) -> (u32, usize) {
        let key = u64::from(first) * self.n_second + u64::from(second);
        (key as u32, (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize)
    }

    /// The weight of a pair, if it has one.
    #[inline(always)]
    pub fn get(&self, first: u32, second: u32) -> Option<W> {
        if u64::from(second) >= self.n_second {
            return None;
        }
        let (key, mut place) = self.place(first, second);
        loop {
            let (lock, weight) = self.slots[place & (self.slots.len() - 1)];
            if lock == key {
                return (lock != FREE).then_some(weight);
            }
            if lock == FREE {
                return None;
            }
            place += 1;
        }
    }

    /// How much of the table is in use.
    pub fn load(&self) -> f64 {
        self.n_entries as f64 / self.slots.len() as f64
    }

    /// How many bytes the table takes.
    pub fn bytes(&self) -> usize {
        self.slots.len() * size_of::<(u32, W)>()
    }
}

/// What a pair without a weight is worth.
#[derive(Clone, Debug)]
pub enum Backoff<W> {
    /// Nothing.
    Nothing,
    /// What its halves are worth, by flat tables of their own.
    Halves(Vec<W>, Vec<W>),
}

/// A sparse table with what stands in for missing weights.
#[derive(Clone, Debug)]
pub struct Sparse<W> {
    /// The weights.
    pub table: Displaced<W>,
    /// What stands in for them.
    pub backoff: Backoff<W>,
}

impl<W: Copy + Default + std::ops::Add<Output = W>> Sparse<W> {
    /// The weight of a pair.
    #[inline(always)]
    pub fn weight(&self, first: u32, second: u32) -> W {
        match (self.table.get(first, second), &self.backoff) {
            (Some(weight), _) => weight,
            (None, Backoff::Nothing) => W::default(),
            (None, Backoff::Halves(firsts, seconds)) => {
                let of = |weights: &[W], at: u32| weights.get(at as usize).copied().unwrap_or_default();
                of(firsts, first) + of(seconds, second)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64;

    use super::*;

    #[test]
    fn the_worked_example() {
        let pairs = [(0, 0), (0, 2), (0, 3), (1, 0), (1, 1), (2, 1)];
        let entries: Vec<Entry<i16>> = pairs.iter().zip(1..).map(|(&pair, weight)| (pair, weight)).collect();
        let table = Displaced::new(4, 4, &entries, 1000).expect("it is small");
        assert_eq!(table.offsets, [0, 4, 0, 0]);
        let locks: Vec<u32> = table.slots.iter().map(|slot| slot.0).collect();
        assert_eq!(locks, [0, 2, 0, 0, 1, 1, FREE, FREE]);
        for (pair, weight) in entries {
            assert_eq!(table.get(pair.0, pair.1), Some(weight));
        }
        for (first, second) in [(2, 0), (0, 1), (3, 0), (9, 9), (1, 400)] {
            assert_eq!(table.get(first, second), None);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn pairs_with_a_weight_are_found_and_no_others(
            entries in prop::collection::btree_map((0u32..30, 0u32..200), any::<i16>(), 0..800),
        ) {
            let list: Vec<Entry<i16>> = entries.iter().map(|(&pair, &weight)| (pair, weight)).collect();
            let displaced = Displaced::new(30, 200, &list, 1 << 20).expect("small");
            let hashed = Hashed::new(30, 200, &list, 1 << 20).expect("small");
            let sparse = Sparse { table: displaced.clone(), backoff: Backoff::Halves(vec![7; 30], vec![1000; 200]) };
            for first in 0..31 {
                for second in 0..201 {
                    let expected = entries.get(&(first, second)).copied();
                    prop_assert_eq!(displaced.get(first, second), expected);
                    prop_assert_eq!(hashed.get(first, second), expected);
                    if first < 30 && second < 200 {
                        prop_assert_eq!(sparse.weight(first, second), expected.unwrap_or(1007));
                    }
                }
            }
        }

        /// The offsets are those of trying one offset after another.
        #[test]
        fn rows_are_placed_as_far_in_front_as_they_fit(
            entries in prop::collection::btree_set((0u32..20, 0u32..150), 1..400),
        ) {
            let list: Vec<Entry<i16>> = entries.iter().map(|&pair| (pair, 1)).collect();
            let table = Displaced::new(20, 150, &list, 1 << 20).expect("small");
            let mut rows: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
            entries.iter().for_each(|&(first, second)| rows.entry(first).or_default().push(second));
            let mut rows: Vec<(u32, Vec<u32>)> = rows.into_iter().collect();
            rows.sort_by_key(|(_, row)| std::cmp::Reverse(row.len()));
            let mut taken = std::collections::BTreeSet::new();
            for (first, row) in rows {
                let offset = (0..).find(|offset| row.iter().all(|second| !taken.contains(&(offset + second))));
                let offset = offset.expect("some offset fits");
                row.iter().for_each(|second| { taken.insert(offset + second); });
                prop_assert_eq!(table.offsets[first as usize], offset);
            }
        }
    }

    #[test]
    fn bad_entries_and_small_budgets_are_refused() {
        let refused = |entries: &[Entry<i16>], limit| Displaced::new(3, 3, entries, limit).map(|_| ()).err();
        assert_eq!(refused(&[((3, 0), 1)], 100), Some(Refused::Outside { pair: (3, 0) }));
        assert_eq!(refused(&[((0, 1), 1), ((0, 1), 2)], 100), Some(Refused::Twice { pair: (0, 1) }));
        let full: Vec<Entry<i16>> = (0..9).map(|at| ((at / 3, at % 3), 1)).collect();
        assert_eq!(refused(&full, 8), Some(Refused::Slots { limit: 8 }));
        assert_eq!(refused(&full, 9), None);
    }

    /// As many pairs as Buro's large patterns have, with rows of very different lengths.
    #[test]
    fn large_tables_are_built_soon() {
        let n = 6561;
        let mut rng = Pcg64::seed_from_u64(3);
        let mut pairs = std::collections::BTreeSet::new();
        while pairs.len() < 88_000 {
            // Indices near 0 are much more frequent than others, as with real positions.
            let mut skewed = || {
                let x: f64 = rng.random();
                ((x * x * x * f64::from(n)) as u32).min(n - 1)
            };
            let pair = (skewed(), skewed());
            pairs.insert(pair);
        }
        let entries: Vec<Entry<i16>> = pairs.iter().map(|&pair| (pair, 1)).collect();
        let table = Displaced::new(n, n, &entries, 1 << 22).expect("it fits");
        assert!(table.load() > 0.2, "{}", table.load());
        assert!(entries.iter().all(|&((first, second), _)| table.get(first, second) == Some(1)));
    }
}
