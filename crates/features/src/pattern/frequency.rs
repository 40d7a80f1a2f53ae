//! How often patterns match, for millions of patterns and hundreds of thousands of positions.
//!
//! Patterns that match hardly ever are over-fitted, and those that match all the time cost more than they tell, so a range of
//! frequencies is kept (Kaneko, Yamaguchi and Kawai).
//!
//! The patterns are read as a trie, rarest literal first, and walked depth first with the positions that match the prefix:
//! a bitset while they are many, an ascending list when they are few. A prefix that is too rare ends the walk below it.

use std::ops::RangeInclusive;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::set::{Literal, Patterns};

/// Positions as columns: for each fluent the positions where it holds, one bit each.
#[derive(Clone, Debug)]
pub struct Positions {
    n: usize,
    n_words: usize,
    columns: Vec<u64>,
    /// How often each fluent holds.
    counts: Vec<u32>,
}

impl Positions {
    /// Columns from states of one bit for each fluent.
    pub fn new<'a>(n_fluents: usize, states: impl ExactSizeIterator<Item = &'a [u64]>) -> Positions {
        let n = states.len();
        let n_words = n.div_ceil(64);
        let mut columns = vec![0u64; n_words * n_fluents];
        for (position, state) in states.enumerate() {
            for (index, &word) in state.iter().enumerate() {
                let mut word = word;
                while word != 0 {
                    let fluent = index * 64 + word.trailing_zeros() as usize;
                    columns[fluent * n_words + position / 64] |= 1 << (position % 64);
                    word &= word - 1;
                }
            }
        }
        let count =
            |fluent| columns[fluent * n_words..(fluent + 1) * n_words].iter().map(|word| word.count_ones()).sum();
        let counts = (0..n_fluents).map(count).collect();
        Positions { n, n_words, columns, counts }
    }

    /// How many positions there are.
    pub fn len(&self) -> usize {
        self.n
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    fn column(&self, literal: Literal) -> (&[u64], u64) {
        let from = literal.fact() as usize * self.n_words;
        (&self.columns[from..from + self.n_words], if literal.is_negated() { u64::MAX } else { 0 })
    }

    /// The words of a literal's column.
    pub(crate) fn words(&self, literal: Literal) -> impl Iterator<Item = u64> {
        let (column, flip) = self.column(literal);
        column.iter().map(move |word| word ^ flip)
    }

    fn all(&self) -> Matches {
        let mut bits = vec![u64::MAX; self.n_words];
        if !self.n.is_multiple_of(64) {
            bits[self.n_words - 1] = (1 << (self.n % 64)) - 1;
        }
        Matches::Bits(bits, self.n as u32)
    }

    /// The number of positions where a literal holds.
    pub fn count(&self, literal: Literal) -> u32 {
        let count = self.counts[literal.fact() as usize];
        if literal.is_negated() { self.n as u32 - count } else { count }
    }

    /// Appends the positions that match a pattern, ascending.
    pub fn matching(&self, pattern: &[Literal], positions: &mut Vec<u32>) {
        let mut rarest_first = pattern.to_vec();
        rarest_first.sort_by_key(|&literal| self.count(literal));
        let Some((&rarest, others)) = rarest_first.split_first() else {
            positions.extend(0..self.n as u32);
            return;
        };
        let (column, flip) = self.column(rarest);
        let mut matches = if flip == 0 {
            Matches::Bits(column.to_vec(), self.count(rarest)).thinned(self.n)
        } else {
            let mut matches = Matches::List(Vec::new());
            self.narrow(&self.all(), rarest, &mut matches);
            matches
        };
        let mut other = Matches::List(Vec::new());
        for &literal in others {
            self.narrow(&matches, literal, &mut other);
            std::mem::swap(&mut matches, &mut other);
        }
        matches.append_to(positions);
    }

    /// The part of `matches` where a literal holds, too.
    fn narrow(&self, matches: &Matches, literal: Literal, into: &mut Matches) {
        let (column, flip) = self.column(literal);
        match matches {
            Matches::Bits(words, _) => {
                let mut bits = into.take_bits();
                bits.clear();
                bits.extend(words.iter().zip(column).map(|(word, other)| word & (other ^ flip)));
                let count: u32 = bits.iter().map(|word| word.count_ones()).sum();
                *into = Matches::Bits(bits, count).thinned(self.n);
            }
            Matches::List(positions) => {
                let mut list = into.take_list();
                list.clear();
                list.resize(positions.len(), 0);
                let mut n = 0;
                for &position in positions {
                    // Written always and counted only if it matches: no branch to guess.
                    list[n] = position;
                    n += ((column[position as usize / 64] ^ flip) >> (position % 64) & 1) as usize;
                }
                list.truncate(n);
                *into = Matches::List(list);
            }
        }
    }
}

/// Below one position in so many, a list takes less time than a bitset.
const SPARSE: usize = 32;

enum Matches {
    Bits(Vec<u64>, u32),
    List(Vec<u32>),
}

impl Matches {
    fn count(&self) -> u32 {
        match self {
            Matches::Bits(_, count) => *count,
            Matches::List(list) => list.len() as u32,
        }
    }

    /// A list, if the positions are few among `n`.
    fn thinned(self, n: usize) -> Matches {
        if (self.count() as usize) < n / SPARSE {
            let mut list = Vec::with_capacity(self.count() as usize);
            self.append_to(&mut list);
            return Matches::List(list);
        }
        self
    }

    /// Its memory, to be used again.
    fn take_bits(&mut self) -> Vec<u64> {
        if let Matches::Bits(bits, _) = self { std::mem::take(bits) } else { Vec::new() }
    }

    fn take_list(&mut self) -> Vec<u32> {
        if let Matches::List(list) = self { std::mem::take(list) } else { Vec::new() }
    }

    fn append_to(&self, positions: &mut Vec<u32>) {
        match self {
            Matches::Bits(bits, _) => {
                for (index, &word) in bits.iter().enumerate() {
                    let mut word = word;
                    while word != 0 {
                        positions.push(64 * index as u32 + word.trailing_zeros());
                        word &= word - 1;
                    }
                }
            }
            Matches::List(list) => positions.extend_from_slice(list),
        }
    }
}

/// The frequencies that Kaneko, Yamaguchi and Kawai keep.
pub const USUAL: RangeInclusive<f64> = 1.25e-5..=0.075;

/// The patterns of a range of frequencies.
#[derive(Clone, Debug, Default)]
pub struct Frequent {
    /// The patterns by their numbers, the most frequent first.
    pub patterns: Vec<u32>,
    /// In how many positions each of them matches.
    pub supports: Vec<u32>,
}

/// Finds the patterns that match in a share of the positions which lies in the range. The result does not depend on the
/// number of threads.
pub fn select(patterns: &Patterns, positions: &Positions, range: &RangeInclusive<f64>, threads: usize) -> Frequent {
    let n = positions.len() as f64;
    let counts = (range.start() * n).ceil() as u32..=(range.end() * n).floor() as u32;
    // Step 1. Rank the literals, rarest first, and write the patterns in ranks.
    let n_literals = 2 * positions.counts.len();
    let mut by_count: Vec<Literal> = (0..n_literals as u32).map(Literal).collect();
    by_count.sort_by_key(|&literal| positions.count(literal));
    let mut rank = vec![0u32; n_literals];
    by_count.iter().zip(0..).for_each(|(literal, place)| rank[literal.0 as usize] = place);
    let mut ranked = Ranked { starts: Vec::with_capacity(patterns.len() + 1), ranks: Vec::new() };
    ranked.ranks.reserve_exact(patterns.n_literals());
    let mut buckets: Vec<Vec<u32>> = vec![Vec::new(); n_literals + 1];
    for (number, pattern) in patterns.iter().enumerate() {
        let from = ranked.ranks.len();
        ranked.starts.push(from as u32);
        ranked.ranks.extend(pattern.iter().map(|literal| rank[literal.0 as usize]));
        ranked.ranks[from..].sort_unstable();
        let first = ranked.ranks.get(from).map_or(0, |&rank| rank as usize + 1);
        buckets[first].push(number as u32);
    }
    ranked.starts.push(ranked.ranks.len() as u32);
    // Step 2. Walk the trie, one first literal after another.
    let next = AtomicUsize::new(0);
    let found: Vec<Mutex<Vec<(u32, u32)>>> = buckets.iter().map(|_| Mutex::default()).collect();
    let buckets: Vec<Mutex<Vec<u32>>> = buckets.into_iter().map(Mutex::new).collect();
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                loop {
                    let bucket = next.fetch_add(1, Ordering::Relaxed);
                    if bucket >= buckets.len() {
                        return;
                    }
                    let mut members = std::mem::take(&mut *buckets[bucket].lock().expect("no thread panics"));
                    members.sort_unstable_by(|&one, &other| ranked.get(one).cmp(ranked.get(other)));
                    let mut walk = Walk {
                        ranked: &ranked,
                        by_rank: &by_count,
                        positions,
                        counts: counts.clone(),
                        matches: vec![positions.all()],
                        found: Vec::new(),
                    };
                    walk.descend(&members, 0);
                    *found[bucket].lock().expect("no thread panics") = walk.found;
                }
            });
        }
    });
    // Step 3. The most frequent first, those of one frequency in the order of their numbers.
    let mut all: Vec<(u32, u32)> = Vec::new();
    found.into_iter().for_each(|part| all.append(&mut part.into_inner().expect("no thread panics")));
    all.sort_unstable_by_key(|&(pattern, support)| (std::cmp::Reverse(support), pattern));
    Frequent {
        patterns: all.iter().map(|&(pattern, _)| pattern).collect(),
        supports: all.iter().map(|&(_, support)| support).collect(),
    }
}

/// Patterns written in the ranks of their literals.
struct Ranked {
    starts: Vec<u32>,
    ranks: Vec<u32>,
}

impl Ranked {
    fn get(&self, pattern: u32) -> &[u32] {
        &self.ranks[self.starts[pattern as usize] as usize..self.starts[pattern as usize + 1] as usize]
    }
}

struct Walk<'a> {
    ranked: &'a Ranked,
    by_rank: &'a [Literal],
    positions: &'a Positions,
    counts: RangeInclusive<u32>,
    /// What matches the prefix, for each of its lengths.
    matches: Vec<Matches>,
    found: Vec<(u32, u32)>,
}

impl Walk<'_> {
    /// Counts patterns that agree in their first `depth` literals, in lexicographic order.
    fn descend(&mut self, mut members: &[u32], depth: usize) {
        while let Some((&first, others)) = members.split_first() {
            let Some(&rank) = self.ranked.get(first).get(depth) else {
                let count = self.matches[depth].count();
                if self.counts.contains(&count) {
                    self.found.push((first, count));
                }
                members = others;
                continue;
            };
            let same = members.partition_point(|&other| self.ranked.get(other)[depth] == rank);
            if self.matches.len() == depth + 1 {
                self.matches.push(Matches::List(Vec::new()));
            }
            let mut into = std::mem::replace(&mut self.matches[depth + 1], Matches::List(Vec::new()));
            self.positions.narrow(&self.matches[depth], self.by_rank[rank as usize], &mut into);
            let count = into.count();
            self.matches[depth + 1] = into;
            if count >= *self.counts.start() {
                self.descend(&members[..same], depth + 1);
            }
            members = &members[same..];
        }
    }
}

/// A large sparse matrix by rows, such as which patterns match in each position. Entries are small numbers, mostly 1.
#[derive(Clone, Debug, Default)]
pub struct Incidence {
    starts: Vec<u64>,
    columns: Vec<u32>,
    /// The entries; none at all if every one is 1.
    values: Vec<i8>,
    n_columns: usize,
}

impl Incidence {
    /// The matrix of the patterns given by their numbers: rows are positions, and column `i` is `chosen[i]`.
    pub fn of(patterns: &Patterns, chosen: &[u32], positions: &Positions, threads: usize) -> Incidence {
        Incidence::from_columns(positions.len(), chosen.len(), threads, |column, entries| {
            let mut rows = Vec::new();
            positions.matching(patterns.get(chosen[column as usize]), &mut rows);
            entries.extend(rows.iter().map(|&row| (row, 1)));
        })
    }

    /// A matrix from its columns; `column` appends the rows and values of one. While it is made it takes twice its memory.
    pub fn from_columns(
        n_rows: usize,
        n_columns: usize,
        threads: usize,
        column: impl Fn(u32, &mut Vec<(u32, i8)>) + Sync,
    ) -> Incidence {
        /// Some columns after each other.
        #[derive(Default)]
        struct Part {
            ends: Vec<usize>,
            rows: Vec<u32>,
            values: Vec<i8>,
        }
        const PER_PART: usize = 1024;
        // Step 1. The columns, several at a time.
        let parts: Vec<Mutex<Part>> = (0..n_columns.div_ceil(PER_PART)).map(|_| Mutex::default()).collect();
        let next = AtomicUsize::new(0);
        let run = || {
            let mut entries = Vec::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let Some(place) = parts.get(number) else { return };
                let mut part = Part::default();
                for index in number * PER_PART..n_columns.min((number + 1) * PER_PART) {
                    entries.clear();
                    column(index as u32, &mut entries);
                    part.rows.extend(entries.iter().map(|entry| entry.0));
                    part.values.extend(entries.iter().map(|entry| entry.1));
                    part.ends.push(part.rows.len());
                }
                if part.values.iter().all(|&value| value == 1) {
                    part.values = Vec::new();
                }
                part.rows.shrink_to_fit();
                *place.lock().expect("no thread panics") = part;
            }
        };
        std::thread::scope(|scope| (0..threads.max(1)).for_each(|_| _ = scope.spawn(run)));
        let parts: Vec<Part> = parts.into_iter().map(|part| part.into_inner().expect("no thread panics")).collect();
        // Step 2. Turn them over.
        let mut starts = vec![0u64; n_rows + 1];
        parts.iter().flat_map(|part| &part.rows).for_each(|&row| starts[row as usize + 1] += 1);
        (0..n_rows).for_each(|row| starts[row + 1] += starts[row]);
        let n_set = starts[n_rows] as usize;
        let all_one = parts.iter().all(|part| part.values.is_empty());
        let mut columns = vec![0u32; n_set];
        let mut values = vec![1i8; if all_one { 0 } else { n_set }];
        let mut fill = starts.clone();
        let mut index = 0;
        for part in parts {
            let mut from = 0;
            for &end in &part.ends {
                for entry in from..end {
                    let fill = &mut fill[part.rows[entry] as usize];
                    columns[*fill as usize] = index;
                    if let Some(&value) = part.values.get(entry) {
                        values[*fill as usize] = value;
                    }
                    *fill += 1;
                }
                from = end;
                index += 1;
            }
        }
        Incidence { starts, columns, values, n_columns }
    }

    /// How many rows there are.
    pub fn n_rows(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// How many columns there are.
    pub fn n_columns(&self) -> usize {
        self.n_columns
    }

    /// How many entries are set.
    pub fn n_set(&self) -> usize {
        self.columns.len()
    }

    /// The columns that are set in a row, ascending.
    #[inline]
    pub fn row(&self, row: usize) -> &[u32] {
        &self.columns[self.starts[row] as usize..self.starts[row + 1] as usize]
    }

    /// The values in a row, in the order of [`Incidence::row`]; none if all are 1.
    #[inline]
    pub fn values(&self, row: usize) -> &[i8] {
        if self.values.is_empty() {
            return &[];
        }
        &self.values[self.starts[row] as usize..self.starts[row + 1] as usize]
    }

    /// Calls `visit` with each column of a row and its value.
    #[inline]
    pub fn for_each(&self, row: usize, mut visit: impl FnMut(u32, i8)) {
        let columns = self.row(row);
        if self.values.is_empty() {
            columns.iter().for_each(|&column| visit(column, 1));
        } else {
            columns.iter().zip(self.values(row)).for_each(|(&column, &value)| visit(column, value));
        }
    }

    /// For each column the sum of its entries and of their squares.
    pub fn sums(&self) -> Vec<(i64, i64)> {
        let mut sums = vec![(0, 0); self.n_columns];
        for row in 0..self.n_rows() {
            self.for_each(row, |column, value| {
                let (sum, squares) = &mut sums[column as usize];
                *sum += i64::from(value);
                *squares += i64::from(value) * i64::from(value);
            });
        }
        sums
    }

    /// The matrix of some of the columns; `kept[i]` becomes column `i`.
    pub fn keep(&self, kept: &[u32]) -> Incidence {
        const GONE: u32 = u32::MAX;
        let mut place = vec![GONE; self.n_columns];
        kept.iter().zip(0..).for_each(|(&column, new)| place[column as usize] = new);
        let mut result = Incidence { starts: vec![0], n_columns: kept.len(), ..Incidence::default() };
        let mut entries: Vec<(u32, i8)> = Vec::new();
        for row in 0..self.n_rows() {
            entries.clear();
            self.for_each(row, |column, value| entries.push((place[column as usize], value)));
            entries.retain(|&(column, _)| column != GONE);
            entries.sort_unstable();
            result.columns.extend(entries.iter().map(|entry| entry.0));
            if !self.values.is_empty() {
                result.values.extend(entries.iter().map(|entry| entry.1));
            }
            result.starts.push(result.columns.len() as u64);
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::*;
    use crate::pattern::set::matches;

    #[test]
    fn counts_equal_those_of_plain_matching() {
        let mut rng = Pcg64Mcg::seed_from_u64(3);
        let n_fluents = 40;
        // Fluents of very different frequencies, so that both kinds of sets are met.
        let states: Vec<[u64; 1]> = (0..3000)
            .map(|_| {
                let bit = |fluent: u32| u64::from(rng.random_range(0..1 + fluent / 4) == 0) << fluent;
                [(0..n_fluents).map(bit).fold(0, |state, bit| state | bit)]
            })
            .collect();
        let positions = Positions::new(n_fluents as usize, states.iter().map(|state| &state[..]));
        let mut patterns = Patterns::default();
        for _ in 0..3000 {
            let mut pattern: Vec<Literal> =
                (0..rng.random_range(0..5)).map(|_| Literal(rng.random_range(0..2 * n_fluents))).collect();
            pattern.sort_unstable();
            pattern.dedup();
            patterns.insert(&pattern);
        }
        let count = |pattern: &[Literal]| states.iter().filter(|state| matches(pattern, &state[..])).count() as u32;
        let range = 0.002..=0.1;
        let found = select(&patterns, &positions, &range, 2);
        let mut expected: Vec<(u32, u32)> = (0..).zip(patterns.iter().map(count)).collect();
        expected.retain(|(_, count)| (6..=300).contains(count));
        expected.sort_by_key(|&(pattern, count)| (std::cmp::Reverse(count), pattern));
        assert!(expected.len() > 300);
        assert_eq!(found.patterns, expected.iter().map(|pair| pair.0).collect::<Vec<_>>());
        assert_eq!(found.supports, expected.iter().map(|pair| pair.1).collect::<Vec<_>>());
        assert_eq!(select(&patterns, &positions, &range, 1).patterns, found.patterns);
        let incidence = Incidence::of(&patterns, &found.patterns, &positions, 2);
        let supports: Vec<u32> = incidence.sums().iter().map(|&(sum, _)| sum as u32).collect();
        assert_eq!(supports, found.supports);
        for (row, state) in states.iter().enumerate() {
            let active = |&column: &u32| matches(patterns.get(found.patterns[column as usize]), state);
            assert_eq!(incidence.row(row), (0..found.patterns.len() as u32).filter(active).collect::<Vec<_>>());
        }
    }
}
