//! Flat tables: a pattern's atoms are the digits of an index, and the index finds the weight.
//!
//! Away from bucketed atoms an index is a sum over the state's fluents: each fluent that holds adds a fixed number to some
//! indices. So a step of the game is a few additions: for each fluent that flips, a row of numbers is added to or subtracted
//! from all indices at once, 16 bits each where that suffices. Bucketed atoms keep their number, and change indices when the
//! bucket changes.
//!
//! A table may serve several instances (the images of one shape under symmetries). Where an index lies outside of its
//! table, which takes an exclusion that was never proved and fails, nothing is added.

use crate::pattern::atoms::AtomicFeature;

/// Atoms whose values make up an index, the last one lowest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// The table in which the index is looked up.
    pub table: u32,
    /// The atoms.
    pub atoms: Vec<u32>,
    /// For each atom the digit that stands for each value; empty if that is the value itself.
    pub digits: Vec<Vec<u16>>,
}

impl Instance {
    /// An instance whose digits are the atoms' values.
    pub fn new(table: u32, atoms: Vec<u32>) -> Instance {
        Instance { table, atoms, digits: Vec::new() }
    }

    fn digit(&self, at: usize, value: usize) -> usize {
        self.digits.get(at).map_or(value, |digits| usize::from(digits[value]))
    }

    /// What each atom's digit counts in the index, and how many indices there are.
    pub fn strides(&self, features: &[AtomicFeature]) -> (Vec<usize>, usize) {
        let mut strides = vec![0; self.atoms.len()];
        let mut size = 1;
        for (stride, &atom) in strides.iter_mut().zip(&self.atoms).rev() {
            *stride = size;
            size *= features[atom as usize].range();
        }
        (strides, size)
    }

    /// The index in a state, from the atoms' values.
    pub fn index(&self, features: &[AtomicFeature], state: &[u64]) -> usize {
        self.atoms.iter().enumerate().fold(0, |index, (at, &atom)| {
            let feature = &features[atom as usize];
            index * feature.range() + self.digit(at, feature.value(state))
        })
    }
}

/// A type of index.
pub trait Index: Copy + Eq + Default + Send + Sync + std::fmt::Debug + 'static {
    /// From a number; what does not fit is cut off, as adding may go below zero on the way.
    fn wrap(number: i64) -> Self;
    /// Adds, wrapping around.
    fn plus(self, other: Self) -> Self;
    /// Subtracts, wrapping around.
    fn minus(self, other: Self) -> Self;
    /// As a place in a table.
    fn place(self) -> usize;
}

macro_rules! index {
    ($($type:ty),*) => {$(
        impl Index for $type {
            #[inline(always)]
            fn wrap(number: i64) -> $type {
                number as $type
            }
            #[inline(always)]
            fn plus(self, other: $type) -> $type {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn minus(self, other: $type) -> $type {
                self.wrapping_sub(other)
            }
            #[inline(always)]
            fn place(self) -> usize {
                self as usize
            }
        }
    )*};
}

index!(u16, u32);

/// How indices follow a state, compiled; shared between threads.
#[derive(Clone, Debug)]
pub struct Indexer<I> {
    n_fluents: usize,
    n_instances: usize,
    /// The indices of the state in which no fluent holds, padded to whole rows.
    base: Vec<I>,
    rows: Rows<I>,
    /// The fluents that change any index.
    useful: Box<[u64]>,
    numbers: Vec<Number>,
    /// For each fluent, where its numbers begin in `number_terms`; one more at the end.
    first_number: Vec<u32>,
    /// What a fluent adds to a number.
    number_terms: Vec<(u32, i32)>,
    initial_numbers: Vec<i32>,
}

/// What each fluent adds to the indices.
#[derive(Clone, Debug)]
enum Rows<I> {
    /// A number for every index, fluent after fluent.
    Dense(Vec<I>),
    /// The indices that change, with what is added: for each fluent where they begin, one more at the end.
    Sparse(Vec<u32>, Vec<(u32, I)>),
}

/// A bucketed atom, with the instances that read it.
#[derive(Clone, Debug)]
struct Number {
    /// The last number of each bucket but the last.
    ends: Vec<i32>,
    /// The instance, and for each bucket what it adds to the index.
    uses: Vec<(u32, Vec<i64>)>,
}

impl Number {
    fn bucket(&self, number: i32) -> usize {
        self.ends.partition_point(|&end| end < number)
    }
}

/// Indices per row are a multiple of this, so that rows are whole vectors.
const WIDTH: usize = 16;

/// Indices that follow a state.
#[derive(Clone, Debug, PartialEq)]
pub struct Indices<I> {
    state: Box<[u64]>,
    indices: Box<[I]>,
    numbers: Box<[i32]>,
}

impl<I: Index> Indexer<I> {
    /// Compiles instances over the atoms of a game with so many fluents; `None` if an index does not fit its type.
    pub fn new(features: &[AtomicFeature], instances: &[Instance], n_fluents: usize) -> Option<Indexer<I>> {
        let n_instances = instances.len();
        let mut base = vec![0i64; n_instances];
        let mut added: Vec<Vec<(u32, i64)>> = vec![Vec::new(); n_fluents];
        let mut numbers: Vec<(u32, Number)> = Vec::new();
        for (number, instance) in instances.iter().enumerate() {
            let (strides, size) = instance.strides(features);
            if size > 1 << (8 * size_of::<I>()) || size > i32::MAX as usize {
                return None;
            }
            for (at, (&atom, &stride)) in instance.atoms.iter().zip(&strides).enumerate() {
                let feature = &features[atom as usize];
                if feature.is_bucketed() {
                    let each = (0..feature.range()).map(|value| (stride * instance.digit(at, value)) as i64).collect();
                    let place = numbers.iter().position(|(known, _)| *known == atom).unwrap_or_else(|| {
                        let ends = (0..feature.range() - 1).map(|value| feature.last_of(value)).collect();
                        numbers.push((atom, Number { ends, uses: Vec::new() }));
                        numbers.len() - 1
                    });
                    numbers[place].1.uses.push((number as u32, each));
                    continue;
                }
                let (constant, fluents) = feature.linear(|value| (stride * instance.digit(at, value)) as i32);
                base[number] += i64::from(constant);
                for (fluent, more) in fluents {
                    match added[fluent as usize].iter_mut().find(|(known, _)| *known == number as u32) {
                        Some((_, sum)) => *sum += i64::from(more),
                        None => added[fluent as usize].push((number as u32, i64::from(more))),
                    }
                }
            }
        }
        // Step 2. What fluents add to numbers.
        let mut initial_numbers = vec![0; numbers.len()];
        let mut terms: Vec<Vec<(u32, i32)>> = vec![Vec::new(); n_fluents];
        for (place, (atom, _)) in numbers.iter().enumerate() {
            for &(literal, more) in &features[*atom as usize].terms {
                if !literal.holds {
                    initial_numbers[place] += more;
                }
                terms[literal.fluent as usize].push((place as u32, if literal.holds { more } else { -more }));
            }
        }
        let numbers: Vec<Number> = numbers.into_iter().map(|(_, number)| number).collect();
        for (number, &sum) in numbers.iter().zip(&initial_numbers) {
            number.uses.iter().for_each(|(instance, each)| base[*instance as usize] += each[number.bucket(sum)]);
        }
        // Step 3. Rows: dense ones, unless they would be empty for the most part.
        let width = n_instances.next_multiple_of(WIDTH);
        let n_added: usize = added.iter().map(Vec::len).sum();
        let rows = if width * n_fluents <= 2 * WIDTH * n_added.max(1) {
            let mut rows = vec![I::default(); width * n_fluents];
            for (fluent, added) in added.iter().enumerate() {
                added.iter().for_each(|&(at, more)| rows[fluent * width + at as usize] = I::wrap(more));
            }
            Rows::Dense(rows)
        } else {
            let (first, all) = lists(added.iter().map(|added| added.iter().map(|&(at, more)| (at, I::wrap(more)))));
            Rows::Sparse(first, all)
        };
        let mut padded: Vec<I> = base.iter().map(|&index| I::wrap(index)).collect();
        padded.resize(width, I::default());
        let (first_number, number_terms) = lists(terms.iter().map(|terms| terms.iter().copied()));
        let mut useful = vec![0; n_fluents.div_ceil(64)].into_boxed_slice();
        for fluent in (0..n_fluents).filter(|&fluent| !added[fluent].is_empty() || !terms[fluent].is_empty()) {
            useful[fluent / 64] |= 1 << (fluent % 64);
        }
        Some(Indexer {
            n_fluents,
            n_instances,
            base: padded,
            rows,
            useful,
            numbers,
            first_number,
            number_terms,
            initial_numbers,
        })
    }

    /// The indices in a state, given one bit for each fluent.
    pub fn start(&self, state: &[u64]) -> Indices<I> {
        let mut indices = Indices {
            state: vec![0; self.n_fluents.div_ceil(64)].into(),
            indices: self.base.clone().into(),
            numbers: self.initial_numbers.clone().into(),
        };
        self.go(&mut indices, state);
        indices
    }

    /// Goes to another state: changes what differs.
    pub fn go(&self, at: &mut Indices<I>, state: &[u64]) {
        for (word, &wanted) in state.iter().enumerate() {
            let mut different = (at.state[word] ^ wanted) & self.useful[word];
            while different != 0 {
                let bit = different.trailing_zeros();
                self.flip(at, 64 * word as u32 + bit, wanted >> bit & 1 == 1);
                different &= different - 1;
            }
            at.state[word] = wanted;
        }
    }

    #[inline]
    fn flip(&self, at: &mut Indices<I>, fluent: u32, holds: bool) {
        let fluent = fluent as usize;
        match &self.rows {
            Rows::Dense(rows) => {
                let width = self.base.len();
                let row = rows[fluent * width..(fluent + 1) * width].chunks_exact(WIDTH);
                let indices = at.indices.chunks_exact_mut(WIDTH);
                if holds {
                    indices
                        .zip(row)
                        .for_each(|(to, by)| (0..WIDTH).for_each(|lane| to[lane] = to[lane].plus(by[lane])));
                } else {
                    indices
                        .zip(row)
                        .for_each(|(to, by)| (0..WIDTH).for_each(|lane| to[lane] = to[lane].minus(by[lane])));
                }
            }
            Rows::Sparse(first, added) => {
                for &(instance, more) in &added[first[fluent] as usize..first[fluent + 1] as usize] {
                    let index = &mut at.indices[instance as usize];
                    *index = if holds { index.plus(more) } else { index.minus(more) };
                }
            }
        }
        let terms = self.first_number[fluent] as usize..self.first_number[fluent + 1] as usize;
        for &(place, more) in &self.number_terms[terms] {
            let (number, sum) = (&self.numbers[place as usize], &mut at.numbers[place as usize]);
            let before = number.bucket(*sum);
            *sum += if holds { more } else { -more };
            let after = number.bucket(*sum);
            if before != after {
                for (instance, each) in &number.uses {
                    let index = &mut at.indices[*instance as usize];
                    *index = index.plus(I::wrap(each[after] - each[before]));
                }
            }
        }
    }

    /// The indices, one for each instance.
    pub fn indices<'a>(&self, at: &'a Indices<I>) -> &'a [I] {
        &at.indices[..self.n_instances]
    }
}

impl<I: Index> Indices<I> {
    /// Takes over another state's indices: the cheapest way back after a step, if they were kept.
    pub fn copy_from(&mut self, other: &Indices<I>) {
        self.state.copy_from_slice(&other.state);
        self.indices.copy_from_slice(&other.indices);
        self.numbers.copy_from_slice(&other.numbers);
    }
}

fn lists<T>(each: impl Iterator<Item = impl Iterator<Item = T>>) -> (Vec<u32>, Vec<T>) {
    let (mut first, mut all) = (vec![0], Vec::new());
    for list in each {
        all.extend(list);
        first.push(all.len() as u32);
    }
    (first, all)
}

impl AtomicFeature {
    /// The last number of a bucket.
    fn last_of(&self, value: usize) -> i32 {
        match self.values[value] {
            crate::pattern::atoms::Value::Between(_, last) => last,
            _ => unreachable!("bucketed atoms have buckets"),
        }
    }
}

/// A weight that can be summed up.
pub trait Weight: Copy + Send + Sync {
    /// The type of sums.
    type Sum: Copy + Default + std::ops::AddAssign + std::ops::SubAssign;
    /// As part of a sum.
    fn widen(self) -> Self::Sum;
}

impl Weight for i16 {
    type Sum = i32;
    #[inline(always)]
    fn widen(self) -> i32 {
        i32::from(self)
    }
}

impl Weight for f32 {
    type Sum = f32;
    #[inline(always)]
    fn widen(self) -> f32 {
        self
    }
}

/// The weights of all instances, table after table.
#[derive(Clone, Debug)]
pub struct Tables<W> {
    weights: Vec<W>,
    /// For each instance where its table begins and ends.
    spans: Vec<(u32, u32)>,
}

impl<W: Weight> Tables<W> {
    /// Tables for instances.
    ///
    /// # Panics
    /// If an instance names a table that is not there.
    pub fn new(tables: &[Vec<W>], instances: &[Instance]) -> Tables<W> {
        let (first, weights) = lists(tables.iter().map(|table| table.iter().copied()));
        let span = |instance: &Instance| (first[instance.table as usize], first[instance.table as usize + 1]);
        Tables { weights, spans: instances.iter().map(span).collect() }
    }

    /// The sum of the weights at these indices.
    pub fn sum<I: Index>(&self, indices: &[I]) -> W::Sum {
        let mut sum = W::Sum::default();
        for (&span, &index) in self.spans.iter().zip(indices) {
            sum += self.weight(span, index);
        }
        sum
    }

    /// Brings a sum from some indices to others, looking up only where they differ. With integer weights this is exact.
    pub fn update<I: Index>(&self, sum: &mut W::Sum, before: &[I], after: &[I]) {
        for ((&span, &old), &new) in self.spans.iter().zip(before).zip(after) {
            if old != new {
                *sum -= self.weight(span, old);
                *sum += self.weight(span, new);
            }
        }
    }

    #[inline(always)]
    fn weight<I: Index>(&self, (first, end): (u32, u32), index: I) -> W::Sum {
        let place = first as usize + index.place();
        if place < end as usize { self.weights[place].widen() } else { W::Sum::default() }
    }
}

#[cfg(test)]
mod tests {
    use machine::RoleId;
    use machine::scalar::{Compiled, Scalar};
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64;

    use super::*;
    use crate::game::Game;
    use crate::pattern::atoms::{self, Atoms};
    use crate::pattern::testing::game;

    /// Random patterns over all atoms.
    fn instances(atoms: &Atoms, n: usize, cap: usize, rng: &mut Pcg64) -> Vec<Instance> {
        let mut instances = Vec::new();
        while instances.len() < n {
            let mut chosen: Vec<u32> = Vec::new();
            let mut size = 1;
            for _ in 0..rng.random_range(1..7) {
                let atom = rng.random_range(0..atoms.features.len());
                size *= atoms.features[atom].range();
                if size > cap {
                    break;
                }
                if !chosen.contains(&(atom as u32)) {
                    chosen.push(atom as u32);
                }
            }
            // Some have other digits than values.
            let mut instance = Instance::new(instances.len() as u32, chosen);
            if rng.random_bool(0.3) {
                let reversed = |&atom: &u32| (0..atoms.features[atom as usize].range() as u16).rev().collect();
                instance.digits = instance.atoms.iter().map(reversed).collect();
            }
            instances.push(instance);
        }
        instances
    }

    /// Plays random matches with steps back, and compares with indices that are computed afresh.
    fn check<I: Index>(game: &Game, n_instances: usize, cap: usize, plies: usize) {
        let mut rng = Pcg64::seed_from_u64(11);
        let atoms = atoms::find(game, &atoms::Settings::default());
        let instances = instances(&atoms, n_instances, cap, &mut rng);
        let network = &game.circuit.network;
        let indexer: Indexer<I> =
            Indexer::new(&atoms.features, &instances, network.fluents.len()).expect("indices fit");
        let mut position = Scalar::new(Compiled::new(network.clone()));
        let start = position.bits().to_vec();
        let mut at = indexer.start(&start);
        let mut kept: Vec<Indices<I>> = Vec::new();
        let mut moves = Vec::new();
        for _ in 0..plies {
            let mut joint = Vec::new();
            for role in 0..network.moves_of.len() as u32 {
                moves.clear();
                position.legal_moves(RoleId(role), &mut moves);
                if !moves.is_empty() {
                    joint.push(moves[rng.random_range(0..moves.len())]);
                }
            }
            if position.terminal() || joint.len() < network.moves_of.len() || kept.len() > 80 {
                // Back to the start: half of the way step by step, half of the way by copies.
                for back in 0..kept.len() {
                    position.unmake();
                    let before = kept.pop().expect("a state for each move");
                    if back % 2 == 0 {
                        indexer.go(&mut at, position.bits());
                        assert_eq!(at, before);
                    } else {
                        at.copy_from(&before);
                    }
                }
                continue;
            }
            kept.push(at.clone());
            position.make(&joint);
            indexer.go(&mut at, position.bits());
            for (instance, index) in instances.iter().zip(indexer.indices(&at)) {
                assert_eq!(index.place(), instance.index(&atoms.features, position.bits()));
            }
            assert_eq!(&*at.state, position.bits());
            if rng.random_bool(0.2) {
                position.unmake();
                at = kept.pop().expect("just kept");
                assert_eq!(&*at.state, position.bits());
            }
        }
    }

    #[test]
    fn indices_follow_the_state_forth_and_back() {
        for name in ["tic-tac-toe", "connect-four", "othello", "checkers", "hex-5", "nim-4-heaps", "pentago"] {
            let game = game(name);
            check::<u16>(&game, 40, 60_000, 143_000);
            check::<u32>(&game, 300, 1_000_000, 1_000);
        }
    }

    #[test]
    fn weights_outside_of_a_table_count_nothing() {
        let instances = [Instance::new(0, vec![]), Instance::new(1, vec![]), Instance::new(0, vec![])];
        let tables = Tables::new(&[vec![1i16, 2, 4], vec![8]], &instances);
        assert_eq!(tables.sum(&[0u16, 0, 2]), 13);
        assert_eq!(tables.sum(&[3u16, 0, 1]), 10);
        let mut sum = 13;
        tables.update(&mut sum, &[0u16, 0, 2], &[3, 0, 1]);
        assert_eq!(sum, 10);
        assert_eq!(Tables::new(&[vec![0.5f32], vec![]], &instances).sum(&[0u32, 0, 0]), 1.0);
    }

    #[test]
    fn large_patterns_need_wide_indices() {
        let game = game("tic-tac-toe");
        let atoms = atoms::find(&game, &atoms::Settings { counts: false, ..Default::default() });
        let all = Instance::new(0, atoms.layers[0].cells.iter().flatten().copied().collect());
        assert_eq!(all.strides(&atoms.features).1, 19_683);
        let mut twice = all.clone();
        twice.atoms.extend(all.atoms.iter().take(2));
        let n = game.circuit.network.fluents.len();
        assert!(Indexer::<u16>::new(&atoms.features, &[all], n).is_some());
        assert!(Indexer::<u16>::new(&atoms.features, std::slice::from_ref(&twice), n).is_none());
        assert!(Indexer::<u32>::new(&atoms.features, &[twice], n).is_some());
    }
}
