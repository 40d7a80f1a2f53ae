//! What a model sees of each position: a row of numbers, for the most part zero.
//!
//! A design names a row's columns that are not zero, and work is proportional to those. Designs are put together:
//! [`Join`] sets the columns of two side by side, [`Staged`] gives each stage of the game columns of its own, [`Picked`]
//! takes some rows of another design, some of them more than once.

use features::pattern::orbit::Orbit;
use features::pattern::table::Index;

/// Rows of numbers, given by the entries that are not zero.
///
/// A column may occur more than once in a row; its values then add up.
pub trait Design: Sync {
    /// How many rows there are.
    fn n_rows(&self) -> usize;

    /// How many columns there are.
    fn n_columns(&self) -> usize;

    /// Calls `visit` with every entry of a row: the column and its value.
    fn visit(&self, row: usize, visit: impl FnMut(u32, f32));

    /// The row times a vector.
    #[inline]
    fn dot(&self, row: usize, weights: &[f64]) -> f64 {
        let mut sum = 0.0;
        self.visit(row, |column, value| sum += f64::from(value) * weights[column as usize]);
        sum
    }

    /// Adds the row times a number to a vector whose first place stands for the column `first`. The difference of two columns
    /// is taken as it wraps around, so that designs in designs can hand on `first` less the columns before theirs.
    #[inline]
    fn add(&self, row: usize, times: f64, to: &mut [f64], first: usize) {
        self.visit(row, |column, value| to[(column as usize).wrapping_sub(first)] += f64::from(value) * times);
    }
}

/// One column that is 1 in every row.
#[derive(Clone, Debug)]
pub struct Constant {
    /// How many rows there are.
    pub n_rows: usize,
}

impl Design for Constant {
    fn n_rows(&self) -> usize {
        self.n_rows
    }

    fn n_columns(&self) -> usize {
        1
    }

    fn visit(&self, _: usize, mut visit: impl FnMut(u32, f32)) {
        visit(0, 1.0);
    }
}

/// Every number of every row, as features give them. A column's values are divided by its scale, so that a ridge means the
/// same for all of them.
#[derive(Clone, Debug)]
pub struct Dense<T = f32> {
    n_columns: usize,
    values: Vec<T>,
    /// What a value is multiplied with.
    factors: Vec<f32>,
}

impl<T: Copy + Into<f32> + Sync> Dense<T> {
    /// Rows, one after another, each with so many values.
    ///
    /// # Panics
    /// If the last row is not complete.
    pub fn new(n_columns: usize, values: Vec<T>) -> Dense<T> {
        assert!(values.len().is_multiple_of(n_columns.max(1)), "rows are complete");
        Dense { n_columns, values, factors: vec![1.0; n_columns] }
    }

    /// The same with each column divided by the root of its mean square, where that is not zero.
    pub fn scaled(mut self) -> Dense<T> {
        let mut squares = vec![0.0f64; self.n_columns];
        for row in self.values.chunks(self.n_columns.max(1)) {
            squares.iter_mut().zip(row).for_each(|(sum, &value)| *sum += f64::from(value.into()).powi(2));
        }
        let n_rows = self.n_rows() as f64;
        let factor = |&sum: &f64| if sum > 0.0 { (n_rows / sum).sqrt() as f32 } else { 1.0 };
        self.factors = squares.iter().map(factor).collect();
        self
    }

    /// The same with given factors, one for each column.
    ///
    /// # Panics
    /// If their number is not that of the columns.
    pub fn with_factors(mut self, factors: Vec<f32>) -> Dense<T> {
        assert_eq!(factors.len(), self.n_columns, "each column has a factor");
        self.factors = factors;
        self
    }

    /// What each column's values are multiplied with. A weight times its column's factor is the weight of the plain value.
    pub fn factors(&self) -> &[f32] {
        &self.factors
    }

    fn row(&self, row: usize) -> &[T] {
        &self.values[row * self.n_columns..(row + 1) * self.n_columns]
    }
}

impl<T: Copy + Into<f32> + Sync> Design for Dense<T> {
    /// Without columns, as many as anybody wants.
    fn n_rows(&self) -> usize {
        self.values.len().checked_div(self.n_columns).unwrap_or(usize::MAX)
    }

    fn n_columns(&self) -> usize {
        self.n_columns
    }

    #[inline]
    fn visit(&self, row: usize, mut visit: impl FnMut(u32, f32)) {
        for (column, (&value, &factor)) in (0..).zip(self.row(row).iter().zip(&self.factors)) {
            visit(column, value.into() * factor);
        }
    }

    #[inline]
    fn dot(&self, row: usize, weights: &[f64]) -> f64 {
        // Four sums, as one addition has to wait for the last one.
        let mut sums = [0.0; 4];
        for (column, (&value, (&factor, &weight))) in
            self.row(row).iter().zip(self.factors.iter().zip(weights)).enumerate()
        {
            sums[column % 4] += f64::from(value.into() * factor) * weight;
        }
        sums.iter().sum()
    }

    #[inline]
    fn add(&self, row: usize, times: f64, to: &mut [f64], first: usize) {
        let to = &mut to[0usize.wrapping_sub(first)..];
        for ((&value, &factor), to) in self.row(row).iter().zip(&self.factors).zip(to) {
            *to += f64::from(value.into() * factor) * times;
        }
    }
}

/// For each row its columns that are not zero.
#[derive(Clone, Debug)]
pub struct Sparse {
    n_columns: usize,
    /// Where each row begins; one more at the end.
    first: Vec<u32>,
    columns: Vec<u32>,
    /// One for each entry; empty if all are 1.
    values: Vec<f32>,
}

impl Sparse {
    /// No rows yet.
    pub fn new(n_columns: usize) -> Sparse {
        Sparse { n_columns, first: vec![0], columns: Vec::new(), values: Vec::new() }
    }

    /// Adds a row with these columns at 1.
    pub fn push_columns(&mut self, columns: impl IntoIterator<Item = u32>) {
        self.columns.extend(columns);
        if !self.values.is_empty() {
            self.values.resize(self.columns.len(), 1.0);
        }
        self.close();
    }

    /// Adds a row.
    pub fn push(&mut self, entries: impl IntoIterator<Item = (u32, f32)>) {
        self.values.resize(self.columns.len(), 1.0);
        for (column, value) in entries {
            self.columns.push(column);
            self.values.push(value);
        }
        self.close();
    }

    /// # Panics
    /// If a column is none of this design.
    fn close(&mut self) {
        let start = self.first[self.first.len() - 1] as usize;
        assert!(self.columns[start..].iter().all(|&column| (column as usize) < self.n_columns), "columns exist");
        self.first.push(u32::try_from(self.columns.len()).expect("fewer than 2^32 entries"));
    }
}

impl Design for Sparse {
    fn n_rows(&self) -> usize {
        self.first.len() - 1
    }

    fn n_columns(&self) -> usize {
        self.n_columns
    }

    #[inline]
    fn visit(&self, row: usize, mut visit: impl FnMut(u32, f32)) {
        let entries = self.first[row] as usize..self.first[row + 1] as usize;
        let columns = &self.columns[entries.clone()];
        if self.values.is_empty() {
            columns.iter().for_each(|&column| visit(column, 1.0));
        } else {
            columns.iter().zip(&self.values[entries]).for_each(|(&column, &value)| visit(column, value));
        }
    }
}

/// Patterns: each row has one slot of a table for each instance.
///
/// Slots are kept by their canonical numbers, so those that symmetries exchange are one column; a row may have it twice.
#[derive(Clone, Debug)]
pub struct Tables<I = u16> {
    n_columns: usize,
    /// For each instance the first column of its table.
    bases: Vec<u32>,
    /// For each instance its table.
    tables: Vec<u32>,
    /// For each table the canonical number of each slot.
    canonical: Vec<Vec<u32>>,
    /// Canonical numbers, those of one row after those of another.
    slots: Vec<I>,
}

impl<I: Index> Tables<I> {
    /// No rows yet; instances are those of the orbits in their order. `None` if canonical numbers don't fit their type.
    pub fn new(orbits: &[Orbit]) -> Option<Tables<I>> {
        let mut tables =
            Tables { n_columns: 0, bases: Vec::new(), tables: Vec::new(), canonical: Vec::new(), slots: Vec::new() };
        for (table, orbit) in (0..).zip(orbits) {
            let last = orbit.n_canonical.saturating_sub(1);
            if I::wrap(last as i64).place() != last {
                return None;
            }
            tables.bases.resize(tables.bases.len() + orbit.instances.len(), tables.n_columns as u32);
            tables.tables.resize(tables.tables.len() + orbit.instances.len(), table);
            tables.canonical.push(orbit.canonical.clone());
            tables.n_columns += orbit.n_canonical;
        }
        Some(tables)
    }

    /// Makes room for more rows.
    pub fn reserve(&mut self, n_rows: usize) {
        self.slots.reserve_exact(n_rows * self.bases.len());
    }

    /// Adds a row, given the index of each instance in its table.
    ///
    /// # Panics
    /// If there are not as many indices as instances, or one lies outside of its table.
    pub fn push(&mut self, indices: &[I]) {
        let first = self.slots.len();
        self.slots.resize(first + self.bases.len(), I::default());
        self.slot(indices, first);
    }

    /// Makes rows that are to be set: `fill` is called with each part of the rows by one of the threads, and gives the
    /// indices of each of its rows in their order to its second argument.
    pub fn fill<F>(&mut self, n_rows: usize, threads: usize, fill: F)
    where
        F: Fn(std::ops::Range<usize>, &mut dyn FnMut(&[I])) + Sync,
    {
        let n = self.bases.len();
        let mut slots = std::mem::take(&mut self.slots);
        slots.clear();
        slots.resize(n_rows * n, I::default());
        let per_thread = n_rows.div_ceil(threads.max(1)).max(1);
        let (own, fill) = (&*self, &fill);
        std::thread::scope(|scope| {
            for (part, slots) in slots.chunks_mut(per_thread * n.max(1)).enumerate() {
                let rows = part * per_thread..((part + 1) * per_thread).min(n_rows);
                scope.spawn(move || {
                    let mut rest = slots.chunks_mut(n.max(1));
                    fill(rows, &mut |indices| own.canonicalize(indices, rest.next().expect("a row")));
                });
            }
        });
        self.slots = slots;
    }

    fn slot(&mut self, indices: &[I], first: usize) {
        let mut slots = std::mem::take(&mut self.slots);
        self.canonicalize(indices, &mut slots[first..]);
        self.slots = slots;
    }

    fn canonicalize(&self, indices: &[I], slots: &mut [I]) {
        assert_eq!(indices.len(), self.bases.len(), "each instance has an index");
        for ((slot, index), &table) in slots.iter_mut().zip(indices).zip(&self.tables) {
            *slot = I::wrap(i64::from(self.canonical[table as usize][index.place()]));
        }
    }

    /// The weights of the columns as flat tables, one for each orbit.
    pub fn expand<W: Copy>(&self, weights: &[W]) -> Vec<Vec<W>> {
        let mut first = 0;
        let table = |canonical: &Vec<u32>| {
            let own = &weights[first..];
            first += canonical.iter().max().map_or(0, |&last| last as usize + 1);
            canonical.iter().map(|&slot| own[slot as usize]).collect()
        };
        self.canonical.iter().map(table).collect()
    }

    #[inline(always)]
    fn row(&self, row: usize) -> impl Iterator<Item = usize> {
        let n = self.bases.len();
        self.slots[row * n..(row + 1) * n].iter().zip(&self.bases).map(|(slot, &base)| base as usize + slot.place())
    }
}

impl<I: Index> Design for Tables<I> {
    fn n_rows(&self) -> usize {
        self.slots.len() / self.bases.len().max(1)
    }

    fn n_columns(&self) -> usize {
        self.n_columns
    }

    #[inline]
    fn visit(&self, row: usize, mut visit: impl FnMut(u32, f32)) {
        self.row(row).for_each(|column| visit(column as u32, 1.0));
    }

    #[inline]
    fn dot(&self, row: usize, weights: &[f64]) -> f64 {
        // Four sums, as one addition has to wait for the last one.
        let mut sums = [0.0; 4];
        self.row(row).enumerate().for_each(|(at, column)| sums[at % 4] += weights[column]);
        sums.iter().sum()
    }

    #[inline]
    fn add(&self, row: usize, times: f64, to: &mut [f64], first: usize) {
        self.row(row).for_each(|column| to[column.wrapping_sub(first)] += times);
    }
}

/// The columns of two designs side by side, those of the first one first.
#[derive(Clone, Debug)]
pub struct Join<A, B>(pub A, pub B);

impl<A: Design, B: Design> Design for Join<A, B> {
    fn n_rows(&self) -> usize {
        self.0.n_rows().min(self.1.n_rows())
    }

    fn n_columns(&self) -> usize {
        self.0.n_columns() + self.1.n_columns()
    }

    #[inline]
    fn visit(&self, row: usize, mut visit: impl FnMut(u32, f32)) {
        let first = self.0.n_columns() as u32;
        self.0.visit(row, &mut visit);
        self.1.visit(row, |column, value| visit(first + column, value));
    }

    #[inline]
    fn dot(&self, row: usize, weights: &[f64]) -> f64 {
        let (first, second) = weights.split_at(self.0.n_columns());
        self.0.dot(row, first) + self.1.dot(row, second)
    }

    #[inline]
    fn add(&self, row: usize, times: f64, to: &mut [f64], first: usize) {
        self.0.add(row, times, to, first);
        self.1.add(row, times, to, first.wrapping_sub(self.0.n_columns()));
    }
}

/// Which stage of the game a row belongs to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stage {
    /// The stage, or the earlier one of two.
    pub stage: u16,
    /// How far the row has gone on to the next stage, from 0 to 1.
    pub onward: f32,
}

impl Stage {
    /// One stage alone.
    pub fn at(stage: u16) -> Stage {
        Stage { stage, onward: 0.0 }
    }

    /// Between the centres of stages: those of stage `k` of `n` lie at `k`, and beyond the last one there is none.
    pub fn between(at: f32, n_stages: u16) -> Stage {
        let last = n_stages.saturating_sub(1);
        let at = at.clamp(0.0, f32::from(last));
        let stage = (at as u16).min(last.saturating_sub(1));
        Stage { stage, onward: if last == 0 { 0.0 } else { at - f32::from(stage) } }
    }
}

/// Columns for each stage: those of stage 0 first. A row has its numbers in the columns of its stage, or shared out between two.
///
/// Rows that stand in the order of their stages are read faster, as a stage's weights then stay in the cache.
#[derive(Clone, Debug)]
pub struct Staged<D> {
    /// The design for one stage.
    pub design: D,
    /// How many stages there are.
    pub n_stages: usize,
    /// For each row its stage.
    pub stages: Vec<Stage>,
}

impl<D: Design> Staged<D> {
    /// Stages for the rows of a design.
    ///
    /// # Panics
    /// If a row has no stage or one that is not there.
    pub fn new(design: D, n_stages: usize, stages: Vec<Stage>) -> Staged<D> {
        assert_eq!(stages.len(), design.n_rows(), "each row has a stage");
        let last = |stage: &Stage| usize::from(stage.stage) + usize::from(stage.onward > 0.0);
        assert!(stages.iter().all(|stage| last(stage) < n_stages), "stages exist");
        Staged { design, n_stages, stages }
    }

    /// The stages of a row that count, with how much.
    #[inline(always)]
    fn parts(&self, row: usize) -> ((usize, f32), Option<(usize, f32)>) {
        let Stage { stage, onward } = self.stages[row];
        let n = self.design.n_columns();
        let first = usize::from(stage) * n;
        ((first, 1.0 - onward), (onward > 0.0).then_some((first + n, onward)))
    }
}

impl<D: Design> Design for Staged<D> {
    fn n_rows(&self) -> usize {
        self.stages.len()
    }

    fn n_columns(&self) -> usize {
        self.n_stages * self.design.n_columns()
    }

    #[inline]
    fn visit(&self, row: usize, mut visit: impl FnMut(u32, f32)) {
        let (one, other) = self.parts(row);
        for (first, share) in [Some(one), other].into_iter().flatten() {
            self.design.visit(row, |column, value| visit(first as u32 + column, share * value));
        }
    }

    #[inline]
    fn dot(&self, row: usize, weights: &[f64]) -> f64 {
        let ((first, share), other) = self.parts(row);
        let n = self.design.n_columns();
        let mut sum = f64::from(share) * self.design.dot(row, &weights[first..first + n]);
        if let Some((first, share)) = other {
            sum += f64::from(share) * self.design.dot(row, &weights[first..first + n]);
        }
        sum
    }

    #[inline]
    fn add(&self, row: usize, times: f64, to: &mut [f64], first: usize) {
        let ((before, share), other) = self.parts(row);
        self.design.add(row, f64::from(share) * times, to, first.wrapping_sub(before));
        if let Some((before, share)) = other {
            self.design.add(row, f64::from(share) * times, to, first.wrapping_sub(before));
        }
    }
}

/// Some rows of another design.
#[derive(Clone, Debug)]
pub struct Picked<D> {
    /// The design.
    pub design: D,
    /// Its rows, in this order.
    pub rows: Vec<u32>,
}

impl<D: Design> Design for Picked<D> {
    fn n_rows(&self) -> usize {
        self.rows.len()
    }

    fn n_columns(&self) -> usize {
        self.design.n_columns()
    }

    #[inline]
    fn visit(&self, row: usize, visit: impl FnMut(u32, f32)) {
        self.design.visit(self.rows[row] as usize, visit);
    }

    #[inline]
    fn dot(&self, row: usize, weights: &[f64]) -> f64 {
        self.design.dot(self.rows[row] as usize, weights)
    }

    #[inline]
    fn add(&self, row: usize, times: f64, to: &mut [f64], first: usize) {
        self.design.add(self.rows[row] as usize, times, to, first);
    }
}

impl<D: Design> Design for &D {
    fn n_rows(&self) -> usize {
        (**self).n_rows()
    }

    fn n_columns(&self) -> usize {
        (**self).n_columns()
    }

    #[inline]
    fn visit(&self, row: usize, visit: impl FnMut(u32, f32)) {
        (**self).visit(row, visit);
    }

    #[inline]
    fn dot(&self, row: usize, weights: &[f64]) -> f64 {
        (**self).dot(row, weights)
    }

    #[inline]
    fn add(&self, row: usize, times: f64, to: &mut [f64], first: usize) {
        (**self).add(row, times, to, first);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// `dot` and `add` say what `visit` says, wherever the vector begins.
    fn check(design: &impl Design) {
        let weights: Vec<f64> = (0..design.n_columns()).map(|column| (column as f64 + 1.0).sin()).collect();
        for row in 0..design.n_rows() {
            let mut entries = Vec::new();
            design.visit(row, |column, value| entries.push((column as usize, f64::from(value))));
            let sum: f64 = entries.iter().map(|&(column, value)| value * weights[column]).sum();
            assert!((design.dot(row, &weights) - sum).abs() < 1e-6 * (1.0 + sum.abs()));
            let first = entries.iter().map(|&(column, _)| column).min().unwrap_or(0);
            let mut expected = vec![0.0; design.n_columns() - first];
            entries.iter().for_each(|&(column, value)| expected[column - first] += 1.5 * value);
            let mut found = vec![0.0; design.n_columns() - first];
            design.add(row, 1.5, &mut found, first);
            assert!(expected.iter().zip(&found).all(|(one, other)| (one - other).abs() < 1e-6));
        }
    }

    fn any_sparse(n_rows: usize) -> impl Strategy<Value = Sparse> {
        let entry = (0u32..9, -2.0f32..2.0);
        proptest::collection::vec(proptest::collection::vec(entry, 0..5), n_rows).prop_map(|rows| {
            let mut sparse = Sparse::new(9);
            sparse.push_columns([3, 3]);
            rows.into_iter().for_each(|row| sparse.push(row));
            sparse
        })
    }

    proptest! {
        #[test]
        fn designs_are_consistent(
            sparse in any_sparse(11),
            numbers in proptest::collection::vec(-50i16..50, 36),
            stages in proptest::collection::vec(-1.0f32..5.0, 12),
            rows in proptest::collection::vec(0u32..12, 0..20),
        ) {
            let dense = Dense::new(3, numbers).scaled();
            check(&sparse);
            check(&dense);
            let joined = Join(Constant { n_rows: 12 }, Join(&sparse, dense));
            check(&joined);
            let stages: Vec<Stage> = stages.into_iter().map(|at| Stage::between(at, 4)).collect();
            let staged = Staged::new(joined, 4, stages);
            check(&staged);
            check(&Picked { design: staged, rows });
        }
    }

    #[test]
    fn stages_lie_between_their_neighbours() {
        assert_eq!(Stage::between(0.25, 3), Stage { stage: 0, onward: 0.25 });
        assert_eq!(Stage::between(2.0, 3), Stage { stage: 1, onward: 1.0 });
        assert_eq!(Stage::between(7.0, 3), Stage { stage: 1, onward: 1.0 });
        assert_eq!(Stage::between(7.0, 1), Stage::at(0));
    }
}
