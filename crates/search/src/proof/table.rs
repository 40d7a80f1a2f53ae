//! What is remembered about states: two numbers each, in a table of fixed size.

/// A state's two numbers. What they mean is up to the search.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    /// Most of the key, and in the last [`WORK_BITS`] bits how much work the numbers took; 0 if there is nothing here.
    check: u64,
    numbers: [u32; 2],
}

/// Bits for the logarithm of the work.
const WORK_BITS: u32 = 6;
const WORK: u64 = (1 << WORK_BITS) - 1;
/// Entries that a state may have its place among.
const PLACES: usize = 4;

/// A table of states. Where it is full, what took the least work goes first.
#[derive(Debug)]
pub(super) struct Table {
    entries: Vec<[Entry; PLACES]>,
}

impl Table {
    /// A table of at most so many bytes.
    pub(super) fn new(bytes: usize) -> Table {
        let n = (bytes / size_of::<[Entry; PLACES]>()).max(1);
        let n = if n.is_power_of_two() { n } else { n.next_power_of_two() / 2 };
        Table { entries: vec![[Entry::default(); PLACES]; n] }
    }

    pub(super) fn clear(&mut self) {
        self.entries.fill([Entry::default(); PLACES]);
    }

    fn place(&self, key: u128) -> (usize, u64) {
        ((key as usize) & (self.entries.len() - 1), (key >> 64) as u64 & !WORK)
    }

    pub(super) fn get(&self, key: u128) -> Option<[u32; 2]> {
        let (place, check) = self.place(key);
        let is_it = |entry: &&Entry| entry.check & !WORK == check && entry.check & WORK != 0;
        self.entries[place].iter().find(is_it).map(|entry| entry.numbers)
    }

    /// Remembers a state's numbers, which took so many nodes.
    pub(super) fn put(&mut self, key: u128, numbers: [u32; 2], nodes: u64) {
        let (place, check) = self.place(key);
        let work = u64::from(64 - nodes.leading_zeros()).clamp(1, WORK);
        let bucket = &mut self.entries[place];
        let same = bucket.iter().position(|entry| entry.check & !WORK == check && entry.check & WORK != 0);
        let slot = same.unwrap_or_else(|| {
            (0..PLACES).min_by_key(|&slot| bucket[slot].check & WORK).expect("there are several places")
        });
        bucket[slot] = Entry { check: check | work, numbers };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_took_most_work_stays() {
        let mut table = Table::new(64);
        let key = |number: u128| number << 80;
        for number in 1..100 {
            table.put(key(number), [number as u32, 0], if number == 7 { 1_000 } else { 3 });
        }
        assert_eq!(table.get(key(7)), Some([7, 0]));
        assert_eq!(table.get(key(99)), Some([99, 0]));
        assert_eq!(table.get(key(50)), None);
        table.put(key(7), [8, 1], 1);
        assert_eq!(table.get(key(7)), Some([8, 1]));
        table.clear();
        assert_eq!(table.get(key(7)), None);
    }
}
