//! Approximated forward selection (Kaneko, Yamaguchi and Kawai): again and again the pattern that says most about what is
//! left of the labels is taken, and what it explains by itself is subtracted.
//!
//! What a pattern says is its covariance with the residual, not its correlation, which favours patterns of a moderate
//! frequency. For a binary pattern that matches in a share `p` of the positions, regression on it alone has the slope
//! `cov / (p (1 − p))`, and the covariance of every other pattern changes by the slope times its covariance with the one
//! that was taken: `n_both / N − p p'`. So positions need not be looked at again, only co-occurrences counted. The same holds
//! for columns of other numbers than 0 and 1, with variances in the place of `p (1 − p)`: see [`super::symmetric`].
//!
//! The same selection is made in four ways. [`naive`] recomputes everything and is the law for the others. [`lazy`] recomputes
//! only what a bound can't exclude. [`pursue`] counts the co-occurrences of each taken pattern from the rows of the incidence
//! matrix: all candidates at once, exact, and the one to use at scale. [`in_blocks`] is the paper's variant for little memory,
//! whose result depends on the order of the blocks.

use std::collections::BinaryHeap;
use std::sync::{Barrier, Mutex};

use super::frequency::Incidence;

/// A pattern that was taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pick {
    /// The candidate, by its number.
    pub candidate: u32,
    /// The slope of the regression of the residual on it.
    pub slope: f64,
    /// Its priority when it was taken.
    pub priority: f64,
}

/// How patterns are selected.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a> {
    /// Stops when the best priority is below this.
    pub threshold: f64,
    /// The most patterns that are taken.
    pub limit: usize,
    /// A factor for each candidate's priority, for instance one over its cost; 1 if absent.
    pub scale: Option<&'a [f64]>,
    /// Whether means are subtracted; not so where symmetry makes them zero.
    pub centered: bool,
    /// Threads; they don't change the result.
    pub threads: usize,
}

impl Default for Settings<'_> {
    fn default() -> Settings<'static> {
        Settings { threshold: 0.0, limit: usize::MAX, scale: None, centered: true, threads: 1 }
    }
}

/// The slope of the regression of something on a binary column with this mean and this covariance with it.
fn slope(covariance: f64, mean: f64) -> f64 {
    covariance / (mean * (1.0 - mean))
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Subtracts from the labels what picks explain, and their mean, if they are centered.
pub fn subtract(labels: &mut [f64], picks: &[Pick], centered: bool, mut column: impl FnMut(u32, &mut Vec<(u32, i8)>)) {
    let mut rows = Vec::new();
    for pick in picks {
        rows.clear();
        column(pick.candidate, &mut rows);
        rows.iter().for_each(|&(row, value)| labels[row as usize] -= pick.slope * f64::from(value));
    }
    let mean = if centered { mean(labels) } else { 0.0 };
    labels.iter_mut().for_each(|label| *label -= mean);
}

/// A column of lists, as entries of 1.
fn entries(columns: &[Vec<u32>]) -> impl Fn(u32, &mut Vec<(u32, i8)>) + Sync {
    |candidate, entries| entries.extend(columns[candidate as usize].iter().map(|&row| (row, 1)))
}

/// Selects among binary columns, given as lists of rows, by the definition: every covariance is computed from the residual
/// before every pick. For comparison.
pub fn naive(columns: &[Vec<u32>], labels: &[f64], settings: &Settings<'_>) -> Vec<Pick> {
    let n = labels.len() as f64;
    let mut residual = labels.to_vec();
    subtract(&mut residual, &[], true, |_, _| {});
    let mut picks: Vec<Pick> = Vec::new();
    let mut taken = vec![false; columns.len()];
    while picks.len() < settings.limit {
        let mut best: Option<Pick> = None;
        for (candidate, rows) in columns.iter().enumerate() {
            let mean = rows.len() as f64 / n;
            if taken[candidate] || mean == 0.0 || mean == 1.0 {
                continue;
            }
            let covariance = covariance(rows, &residual);
            let priority = covariance.abs() * settings.scale.map_or(1.0, |scale| scale[candidate]);
            if best.is_none_or(|best| priority > best.priority) {
                best = Some(Pick { candidate: candidate as u32, slope: slope(covariance, mean), priority });
            }
        }
        let Some(best) = best.filter(|best| best.priority >= settings.threshold) else { break };
        taken[best.candidate as usize] = true;
        subtract(&mut residual, &[best], true, entries(columns));
        picks.push(best);
    }
    picks
}

/// The covariance of a column with a residual whose mean is zero.
fn covariance(rows: &[u32], residual: &[f64]) -> f64 {
    rows.iter().map(|&row| residual[row as usize]).sum::<f64>() / residual.len() as f64
}

/// How often covariances were computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    /// Covariances computed.
    pub covariances: u64,
}

/// Selects the same patterns as [`naive`] without a scale, computing a covariance only where a bound says that it may be the
/// largest.
///
/// Taking a pattern of mean `p` with slope `a` changes the covariance of one of mean `q` by at most
/// `|a| max(min(p, q) − p q, p q)`. The bound is reached by patterns that go together, so it is wide: it spares the rare
/// patterns, and those more frequent than what is being taken are computed again each time.
pub fn lazy(columns: &[Vec<u32>], labels: &[f64], settings: &Settings<'_>) -> (Vec<Pick>, Effort) {
    const BINS_PER_DOUBLING: f64 = 4.0;
    let n = labels.len() as f64;
    let mut residual = labels.to_vec();
    subtract(&mut residual, &[], true, |_, _| {});
    let mut effort = Effort::default();
    // Candidates of about the same mean share a bin, and a sum of bounds for the largest mean in it. What is kept of a candidate
    // is its covariance minus the sum at that time: adding the sum of now gives its bound of now, so a bin's order stays.
    struct Bin {
        top: f64,
        sum: f64,
        heap: BinaryHeap<Entry>,
    }
    let bin_of = |mean: f64| (-mean.log2() * BINS_PER_DOUBLING) as usize;
    let mut bins: Vec<Bin> = Vec::new();
    for (candidate, rows) in columns.iter().enumerate() {
        let mean = rows.len() as f64 / n;
        if mean == 0.0 || mean == 1.0 {
            continue;
        }
        let bin = bin_of(mean);
        while bins.len() <= bin {
            bins.push(Bin { top: 0.0, sum: 0.0, heap: BinaryHeap::new() });
        }
        bins[bin].top = bins[bin].top.max(mean);
        bins[bin].heap.push(Entry { key: f64::INFINITY, candidate: candidate as u32 });
    }
    let mut picks = Vec::new();
    while picks.len() < settings.limit {
        // Step 1. The best candidate: look at those whose bound reaches what was found so far.
        let mut best: Option<(f64, u32, f64)> = None;
        let mut looked_at: Vec<(usize, Entry)> = Vec::new();
        loop {
            let bounds = bins.iter().enumerate().filter_map(|(bin, own)| Some((own.heap.peek()?.key + own.sum, bin)));
            let Some((bound, bin)) = bounds.max_by(|one, other| one.0.total_cmp(&other.0)) else { break };
            // The slack keeps rounding from hiding an equal.
            if best.is_some_and(|(priority, ..)| bound < priority * (1.0 - 1e-9)) {
                break;
            }
            let entry = bins[bin].heap.pop().expect("it was peeked at");
            let covariance = covariance(&columns[entry.candidate as usize], &residual);
            effort.covariances += 1;
            looked_at.push((bin, Entry { key: covariance.abs() - bins[bin].sum, candidate: entry.candidate }));
            let better = best.is_none_or(|(priority, candidate, _)| {
                covariance.abs() > priority || covariance.abs() == priority && entry.candidate < candidate
            });
            if better {
                best = Some((covariance.abs(), entry.candidate, covariance));
            }
        }
        let Some((priority, candidate, covariance)) = best else { break };
        looked_at.retain(|(_, entry)| entry.candidate != candidate);
        looked_at.into_iter().for_each(|(bin, entry)| bins[bin].heap.push(entry));
        if priority < settings.threshold {
            break;
        }
        // Step 2. Take it, and widen the bounds.
        let mean = columns[candidate as usize].len() as f64 / n;
        let pick = Pick { candidate, slope: slope(covariance, mean), priority };
        subtract(&mut residual, &[pick], true, entries(columns));
        for bin in &mut bins {
            // The largest value of the bound for any mean up to the bin's top.
            bin.sum += pick.slope.abs() * (bin.top.min(mean) * (1.0 - mean)).max(bin.top * mean);
        }
        picks.push(pick);
    }
    (picks, effort)
}

struct Entry {
    key: f64,
    candidate: u32,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Entry) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Entry) -> std::cmp::Ordering {
        self.key.total_cmp(&other.key).then_with(|| other.candidate.cmp(&self.candidate))
    }
}

/// Selects among all candidates at once. `rows` says which candidates match in each position; `column` appends the positions
/// where a candidate matches, with its values there. A pick costs one step for each candidate that matches where the taken
/// one does, and a pass over all candidates.
pub fn pursue(
    rows: &Incidence,
    column: impl Fn(u32, &mut Vec<(u32, i8)>) + Sync,
    labels: &[f64],
    settings: &Settings<'_>,
) -> Vec<Pick> {
    let threads = settings.threads.clamp(1, rows.n_columns().max(1));
    // Step 1. Cut the candidates into parts of about the same number of matches, one for each thread.
    let sums = rows.sums();
    let mut bounds = vec![0u32];
    let (mut sum, per_thread) = (0u64, rows.n_set() as u64 / threads as u64 + 1);
    for (candidate, &(_, squares)) in sums.iter().enumerate() {
        sum += squares as u64;
        if sum >= per_thread * bounds.len() as u64 && bounds.len() < threads {
            bounds.push(candidate as u32 + 1);
        }
    }
    bounds.resize(threads, rows.n_columns() as u32);
    bounds.push(rows.n_columns() as u32);
    let n = labels.len().max(1) as f64;
    let moment = |&(sum, squares): &(i64, i64)| {
        let mean = if settings.centered { sum as f64 / n } else { 0.0 };
        (mean, squares as f64 / n - mean * mean)
    };
    let moments: Vec<(f64, f64)> = sums.iter().map(moment).collect();
    // Step 2. Every thread keeps the covariances of its part; together they agree on each pick.
    let slots: [Mutex<Vec<Best>>; 2] = [Mutex::new(vec![Best::NONE; threads]), Mutex::new(vec![Best::NONE; threads])];
    let barrier = Barrier::new(threads);
    let shared =
        Shared { rows, column: &column, labels, settings, moments: &moments, slots: &slots, barrier: &barrier };
    std::thread::scope(|scope| {
        let shared = &shared;
        let running: Vec<_> = bounds
            .windows(2)
            .enumerate()
            .map(|(thread, part)| {
                let part = part[0] as usize..part[1] as usize;
                scope.spawn(move || Part::new(shared, part).run(thread))
            })
            .collect();
        let picks = running.into_iter().map(|thread| thread.join().expect("no thread panics"));
        picks.last().expect("there is a thread")
    })
}

/// The best candidate of a part, with its priority and covariance.
#[derive(Clone, Copy)]
struct Best {
    priority: f64,
    candidate: u32,
    covariance: f64,
}

impl Best {
    const NONE: Best = Best { priority: -1.0, candidate: u32::MAX, covariance: 0.0 };
}

struct Shared<'a, C> {
    rows: &'a Incidence,
    column: &'a C,
    labels: &'a [f64],
    settings: &'a Settings<'a>,
    /// The mean and the variance of each candidate.
    moments: &'a [(f64, f64)],
    /// What each thread found; two, so that one can be written while the other is still read.
    slots: &'a [Mutex<Vec<Best>>; 2],
    barrier: &'a Barrier,
}

/// The candidates of one thread.
struct Part<'a, C> {
    shared: &'a Shared<'a, C>,
    candidates: std::ops::Range<usize>,
    /// Where this part begins and ends in each row.
    cuts: Vec<(u32, u32)>,
    means: Vec<f64>,
    covariances: Vec<f64>,
    /// The factor of each priority; 0 for what can't be taken or has been.
    scale: Vec<f64>,
    products: Vec<i32>,
}

impl<'a, C: Fn(u32, &mut Vec<(u32, i8)>) + Sync> Part<'a, C> {
    fn new(shared: &'a Shared<'a, C>, candidates: std::ops::Range<usize>) -> Part<'a, C> {
        let rows = shared.rows;
        let n = shared.labels.len() as f64;
        let cut = |row: usize| {
            let row = rows.row(row);
            let place = |bound: usize| row.partition_point(|&candidate| (candidate as usize) < bound) as u32;
            (place(candidates.start), place(candidates.end))
        };
        let cuts: Vec<(u32, u32)> = (0..rows.n_rows()).map(cut).collect();
        let moments = &shared.moments[candidates.clone()];
        let level = if shared.settings.centered { mean(shared.labels) } else { 0.0 };
        let mut covariances = vec![0.0; candidates.len()];
        for (row, label) in shared.labels.iter().enumerate() {
            for_each_in(rows, row, cuts[row], |candidate, value| {
                covariances[candidate as usize - candidates.start] += f64::from(value) * (label - level);
            });
        }
        covariances.iter_mut().for_each(|covariance| *covariance /= n);
        let scale = moments.iter().enumerate().map(|(index, &(_, variance))| {
            let scale = shared.settings.scale.map_or(1.0, |scale| scale[candidates.start + index]);
            if variance > 0.0 { scale } else { 0.0 }
        });
        let scale = scale.collect();
        let means = moments.iter().map(|&(mean, _)| mean).collect();
        let products = vec![0; candidates.len()];
        Part { shared, candidates, cuts, means, covariances, scale, products }
    }

    fn run(mut self, thread: usize) -> Vec<Pick> {
        let Shared { column, settings, moments, slots, barrier, .. } = *self.shared;
        let mut picks = Vec::new();
        let mut positions = Vec::new();
        let mut own = self.best();
        while picks.len() < settings.limit {
            let slot = &slots[picks.len() % 2];
            slot.lock().expect("no thread panics")[thread] = own;
            barrier.wait();
            let mut best = Best::NONE;
            for &other in &*slot.lock().expect("no thread panics") {
                // Parts are in the order of the candidates, so the first of equals is the lowest.
                if other.priority > best.priority {
                    best = other;
                }
            }
            if best.candidate == u32::MAX || best.priority < settings.threshold || best.priority <= 0.0 {
                break;
            }
            let (mean, variance) = moments[best.candidate as usize];
            let slope = best.covariance / variance;
            let pick = Pick { candidate: best.candidate, slope, priority: best.priority };
            picks.push(pick);
            positions.clear();
            column(best.candidate, &mut positions);
            if self.candidates.contains(&(best.candidate as usize)) {
                self.scale[best.candidate as usize - self.candidates.start] = 0.0;
            }
            own = self.take(pick.slope, mean, &positions);
        }
        picks
    }

    /// Updates the covariances for a pick with these entries, and returns the best candidate left.
    fn take(&mut self, slope: f64, mean: f64, entries: &[(u32, i8)]) -> Best {
        let rows = self.shared.rows;
        let first = self.candidates.start;
        for &(row, own) in entries {
            for_each_in(rows, row as usize, self.cuts[row as usize], |candidate, value| {
                self.products[candidate as usize - first] += i32::from(own) * i32::from(value);
            });
        }
        let (each, shift) = (slope / self.shared.labels.len() as f64, slope * mean);
        for ((covariance, product), mean) in self.covariances.iter_mut().zip(&mut self.products).zip(&self.means) {
            *covariance -= each * f64::from(*product) - shift * mean;
            *product = 0;
        }
        self.best()
    }

    fn best(&self) -> Best {
        // First the highest priority, which compiles to vector instructions, then who has it.
        let priorities =
            || self.covariances.iter().zip(&self.scale).map(|(covariance, scale)| covariance.abs() * scale);
        let mut highest = [0.0f64; 8];
        for (covariances, scales) in self.covariances.chunks(8).zip(self.scale.chunks(8)) {
            for ((highest, covariance), scale) in highest.iter_mut().zip(covariances).zip(scales) {
                let priority = covariance.abs() * scale;
                *highest = if priority > *highest { priority } else { *highest };
            }
        }
        let highest = highest.into_iter().fold(0.0, f64::max);
        match priorities().position(|priority| priority == highest) {
            Some(index) if highest > 0.0 => Best {
                priority: highest,
                candidate: (self.candidates.start + index) as u32,
                covariance: self.covariances[index],
            },
            _ => Best::NONE,
        }
    }
}

/// Calls `visit` with each entry of a part of a row.
#[inline]
fn for_each_in(rows: &Incidence, row: usize, (from, to): (u32, u32), mut visit: impl FnMut(u32, i8)) {
    let part = from as usize..to as usize;
    let columns = &rows.row(row)[part.clone()];
    match rows.values(row) {
        [] => columns.iter().for_each(|&column| visit(column, 1)),
        values => columns.iter().zip(&values[part]).for_each(|(&column, &value)| visit(column, value)),
    }
}

/// Selects block by block, in the order of the candidates, each block until its best priority is below the threshold; what is
/// left of the labels goes on to the next. The memory needed is that of one block.
pub fn in_blocks(
    n_candidates: usize,
    block: usize,
    column: impl Fn(u32, &mut Vec<(u32, i8)>) + Sync,
    labels: &[f64],
    settings: &Settings<'_>,
) -> Vec<Pick> {
    let mut residual = labels.to_vec();
    let mut picks = Vec::new();
    for from in (0..n_candidates).step_by(block.max(1)) {
        let own = block.max(1).min(n_candidates - from);
        let column = |candidate: u32, rows: &mut Vec<(u32, i8)>| column(from as u32 + candidate, rows);
        let rows = Incidence::from_columns(labels.len(), own, settings.threads, column);
        let scale = settings.scale.map(|scale| &scale[from..from + own]);
        let limit = settings.limit - picks.len();
        let mut taken = pursue(&rows, column, &residual, &Settings { scale, limit, ..*settings });
        subtract(&mut residual, &taken, settings.centered, column);
        taken.iter_mut().for_each(|pick| pick.candidate += from as u32);
        picks.append(&mut taken);
    }
    picks
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::*;

    /// Columns of very different means, some of which go together, and labels that depend on some of them.
    fn data(n_columns: usize, n_rows: usize, seed: u64) -> (Vec<Vec<u32>>, Vec<f64>) {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let hidden: Vec<Vec<bool>> =
            (0..12).map(|_| (0..n_rows).map(|_| rng.random_range(0..2) == 0).collect()).collect();
        let columns: Vec<Vec<u32>> = (0..n_columns)
            .map(|_| {
                let parts: Vec<usize> = (0..rng.random_range(1..6)).map(|_| rng.random_range(0..12)).collect();
                let noise = rng.random_range(2..20);
                (0..n_rows as u32)
                    .filter(|&row| {
                        let all = parts.iter().all(|&part| hidden[part][row as usize]);
                        all && rng.random_range(0..noise) != 0 || rng.random_range(0..500) == 0
                    })
                    .collect()
            })
            .collect();
        let mut labels: Vec<f64> = (0..n_rows).map(|_| f64::from(rng.random_range(-8..9))).collect();
        for rows in columns.iter().take(n_columns / 10) {
            let weight = f64::from(rng.random_range(-5..6));
            rows.iter().for_each(|&row| labels[row as usize] += weight);
        }
        (columns, labels)
    }

    fn incidence(columns: &[Vec<u32>], n_rows: usize) -> Incidence {
        Incidence::from_columns(n_rows, columns.len(), 1, entries(columns))
    }

    #[test]
    fn regression_on_one_pattern_has_the_stated_slope_and_gain() {
        let (columns, mut labels) = data(40, 500, 1);
        subtract(&mut labels, &[], true, |_, _| {});
        let n = labels.len() as f64;
        let square = |values: &[f64]| values.iter().map(|value| value * value).sum::<f64>() / n;
        for (candidate, rows) in columns.iter().enumerate() {
            let p = rows.len() as f64 / n;
            let cov = covariance(rows, &labels);
            let on: f64 = rows.iter().map(|&row| labels[row as usize]).sum::<f64>() / rows.len() as f64;
            let off = -on * rows.len() as f64 / (n - rows.len() as f64);
            assert!((slope(cov, p) - (on - off)).abs() < 1e-9);
            let mut residual = labels.clone();
            let pick = Pick { candidate: candidate as u32, slope: slope(cov, p), priority: cov.abs() };
            subtract(&mut residual, &[pick], true, entries(&columns));
            assert!((square(&labels) - square(&residual) - cov * cov / (p * (1.0 - p))).abs() < 1e-9);
            // The covariance of every other column moves by the slope times the covariance of the two.
            for (other, q) in columns.iter().map(|other| (other, other.len() as f64 / n)) {
                let both = other.iter().filter(|row| rows.binary_search(row).is_ok()).count() as f64;
                let moved = covariance(other, &labels) - pick.slope * (both / n - p * q);
                assert!((covariance(other, &residual) - moved).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn incremental_covariances_stay_exact_for_a_thousand_picks() {
        let (columns, labels) = data(1200, 600, 2);
        let rows = incidence(&columns, labels.len());
        let column = entries(&columns);
        let settings = Settings { limit: 1000, ..Settings::default() };
        let picks = pursue(&rows, &column, &labels, &settings);
        assert_eq!(picks.len(), 1000);
        let mut residual = labels.clone();
        for pick in &picks {
            subtract(&mut residual, &[], true, |_, _| {});
            let exact = covariance(&columns[pick.candidate as usize], &residual);
            assert!((exact.abs() - pick.priority).abs() < 1e-9, "{exact} {}", pick.priority);
            subtract(&mut residual, &[*pick], true, &column);
        }
    }

    #[test]
    fn lazy_and_incremental_selection_equal_the_naive_one() {
        let (columns, labels) = data(2000, 1500, 3);
        let settings = Settings { limit: 150, ..Settings::default() };
        let order = |picks: &[Pick]| picks.iter().map(|pick| pick.candidate).collect::<Vec<u32>>();
        let expected = order(&naive(&columns, &labels, &settings));
        let (found, effort) = lazy(&columns, &labels, &settings);
        assert_eq!(order(&found), expected);
        assert!(effort.covariances < 150 * 2000, "{effort:?}");
        let rows = incidence(&columns, labels.len());
        let column = entries(&columns);
        for threads in [1, 3] {
            let settings = Settings { threads, ..settings };
            assert_eq!(order(&pursue(&rows, &column, &labels, &settings)), expected);
            assert_eq!(order(&in_blocks(columns.len(), columns.len(), &column, &labels, &settings)), expected);
        }
        // Blocks give another order, and stop at the threshold.
        let settings = Settings { threshold: 0.05, ..Settings::default() };
        let blocks = in_blocks(columns.len(), 300, &column, &labels, &settings);
        assert!(!blocks.is_empty() && blocks.iter().all(|pick| pick.priority >= 0.05));
        // A cost that only one candidate has not: it comes first.
        let scale: Vec<f64> = (0..2000).map(|candidate| if candidate == 77 { 1.0 } else { 1e-6 }).collect();
        let settings = Settings { scale: Some(&scale), limit: 3, ..Settings::default() };
        assert_eq!(pursue(&rows, &column, &labels, &settings)[0].candidate, 77);
        assert_eq!(order(&pursue(&rows, &column, &labels, &settings)), order(&naive(&columns, &labels, &settings)));
    }
}
