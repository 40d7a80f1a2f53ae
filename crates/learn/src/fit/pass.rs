//! Passes over the rows, on several threads.
//!
//! Rows are cut into shards, whatever the number of threads, and sums over shards are made in their order; so results don't
//! depend on the threads, down to the last bit. A shard has room for the columns from its first to its last one alone.

use std::ops::Range;
use std::sync::Mutex;

use super::design::Design;
use super::objective::Objective;
use super::{FitError, Rows};

/// Rows are cut into at most so many parts.
const MAX_SHARDS: usize = 32;
/// Fewer rows than this make no part of their own.
const MIN_ROWS: usize = 256;
/// The most numbers that shards keep for their columns together, as far as fewer shards can change that.
const MAX_SUMS: usize = 1 << 24;

/// Rows prepared for passes.
pub(super) struct Data<'a, D> {
    pub(super) rows: Rows<'a, D>,
    pub(super) objective: Objective,
    pub(super) shards: Vec<Shard>,
    threads: usize,
    /// For each column the sum of its absolute values in training, each times the row's weight.
    pub(super) occurrences: Vec<f64>,
    /// The same of its squares.
    pub(super) squares: Vec<f64>,
    /// The largest sum of absolute values of a row.
    pub(super) longest: f64,
    /// Sums of weights: in training, and held out.
    n_training: f64,
    n_held_out: f64,
    /// Passes over all entries that were made.
    pub(super) passes: usize,
}

/// Some rows that follow each other, and what a thread found there.
#[derive(Default)]
pub(super) struct Shard {
    pub(super) rows: Range<usize>,
    columns: Range<usize>,
    /// For each of the columns.
    sums: Vec<f64>,
    /// For each row, its score.
    pub(super) scores: Vec<f64>,
    /// For each row, how its score changes along a step.
    pub(super) steps: Vec<f64>,
    losses: Losses,
}

/// What a model costs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Losses {
    /// The sum over training rows, each times its weight.
    pub(super) training: f64,
    /// The sum over rows that are held out.
    pub(super) held_out: f64,
    /// Whether a score is as good as infinite, and the target asks for more.
    pub(super) saturated: bool,
}

impl Losses {
    fn add(&mut self, other: &Losses) {
        self.training += other.training;
        self.held_out += other.held_out;
        self.saturated |= other.saturated;
    }

    /// Counts a row.
    #[inline(always)]
    fn count(&mut self, loss: f64, is_held_out: bool) {
        if is_held_out {
            self.held_out += loss;
        } else {
            self.training += loss;
        }
    }
}

impl<'a, D: Design> Data<'a, D> {
    /// Prepares rows for scores alone.
    pub(super) fn open(rows: Rows<'a, D>, objective: Objective, threads: usize) -> Result<Data<'a, D>, FitError> {
        rows.check(objective)?;
        let n_rows = rows.design.n_rows();
        let n_shards = (n_rows / MIN_ROWS).clamp(1, MAX_SHARDS);
        let shard =
            |number| Shard { rows: n_rows * number / n_shards..n_rows * (number + 1) / n_shards, ..Shard::default() };
        let mut data = Data {
            shards: (0..n_shards).map(shard).collect(),
            objective,
            threads,
            occurrences: Vec::new(),
            squares: Vec::new(),
            longest: 0.0,
            n_training: 0.0,
            n_held_out: 0.0,
            passes: 0,
            rows,
        };
        data.for_shards(|rows, shard| {
            shard.losses = Losses::default();
            shard.rows.clone().for_each(|row| shard.losses.count(rows.weight(row), rows.is_held_out(row)));
        });
        let totals = data.losses();
        (data.n_training, data.n_held_out) = (totals.training, totals.held_out);
        Ok(data)
    }

    /// Prepares rows for fitting: looks at all entries three times.
    pub(super) fn new(rows: Rows<'a, D>, objective: Objective, threads: usize) -> Result<Data<'a, D>, FitError> {
        let mut data = Data::open(rows, objective, threads)?;
        if data.n_training <= 0.0 {
            return Err(FitError::NoRows);
        }
        // Step 1. The columns of each shard; fewer shards if they have too many in all.
        let design = data.rows.design;
        data.for_shards(|_, shard| {
            let (mut first, mut end) = (u32::MAX, 0);
            for row in shard.rows.clone() {
                design.visit(row, |column, _| (first, end) = (first.min(column), end.max(column + 1)));
            }
            shard.columns = first.min(end) as usize..end as usize;
        });
        while data.shards.len() > 4 && data.shards.iter().map(|shard| shard.columns.len()).sum::<usize>() > MAX_SUMS {
            let join = |pair: &[Shard]| {
                let (one, other) = (&pair[0], &pair[pair.len() - 1]);
                let columns = one.columns.start.min(other.columns.start)..one.columns.end.max(other.columns.end);
                Shard { rows: one.rows.start..other.rows.end, columns, ..Shard::default() }
            };
            data.shards = data.shards.chunks(2).map(join).collect();
        }
        data.shards.iter_mut().for_each(|shard| shard.sums = vec![0.0; shard.columns.len()]);
        // Step 2. How often columns occur.
        data.for_shards(|rows, shard| {
            shard.scores = vec![0.0];
            let first = shard.columns.start;
            for row in shard.rows.clone().filter(|&row| !rows.is_held_out(row)) {
                let weight = rows.weight(row);
                let mut sum = 0.0;
                design.visit(row, |column, value| {
                    sum += f64::from(value.abs());
                    shard.sums[column as usize - first] += weight * f64::from(value.abs());
                });
                shard.scores[0] = sum.max(shard.scores[0]);
            }
        });
        data.longest = data.shards.iter().map(|shard| shard.scores[0]).fold(0.0, f64::max);
        data.shards.iter_mut().for_each(|shard| shard.scores.clear());
        data.occurrences = data.take_sums();
        // Step 3. Their squares; a column's entries in one row are taken one by one.
        data.for_shards(|rows, shard| {
            let first = shard.columns.start;
            for row in shard.rows.clone().filter(|&row| !rows.is_held_out(row)) {
                let weight = rows.weight(row);
                design.visit(row, |column, value| {
                    shard.sums[column as usize - first] += weight * f64::from(value).powi(2);
                });
            }
        });
        data.squares = data.take_sums();
        Ok(data)
    }

    pub(super) fn n_columns(&self) -> usize {
        self.rows.design.n_columns()
    }

    /// The loss per row in training, and the one per row that is held out.
    pub(super) fn mean(&self, losses: &Losses) -> (f64, Option<f64>) {
        (losses.training / self.n_training, (self.n_held_out > 0.0).then(|| losses.held_out / self.n_held_out))
    }

    /// The losses of a model, and the derivatives of the training loss by its weights.
    pub(super) fn gradient(&mut self, weights: &[f64]) -> (Losses, Vec<f64>) {
        self.passes += 1;
        let objective = self.objective;
        self.for_shards(|rows, shard| {
            let mut losses = Losses::default();
            for row in shard.rows.clone() {
                let (target, weight) = (f64::from(rows.targets[row]), rows.weight(row));
                let score = rows.design.dot(row, weights);
                let (loss, slope) = objective.at(score, target);
                let is_held_out = rows.is_held_out(row);
                losses.count(weight * loss, is_held_out);
                if !is_held_out {
                    losses.saturated |= objective.is_saturated(score, target);
                    shard.add(rows.design, row, weight * slope);
                }
            }
            shard.losses = losses;
        });
        (self.losses(), self.take_sums())
    }

    /// The losses of a model.
    pub(super) fn evaluate(&mut self, weights: &[f64]) -> Losses {
        let objective = self.objective;
        self.for_shards(|rows, shard| {
            let mut losses = Losses::default();
            for row in shard.rows.clone() {
                let target = f64::from(rows.targets[row]);
                let score = rows.design.dot(row, weights);
                losses.count(rows.weight(row) * objective.at(score, target).0, rows.is_held_out(row));
                losses.saturated |= !rows.is_held_out(row) && objective.is_saturated(score, target);
            }
            shard.losses = losses;
        });
        self.losses()
    }

    /// The sums over training rows of weight × target × row; scores are set to those of `start`.
    pub(super) fn begin(&mut self, start: &[f64]) -> (Losses, Vec<f64>) {
        self.passes += 1;
        self.for_shards(|rows, shard| {
            shard.scores.clear();
            shard.steps = vec![0.0; shard.rows.len()];
            for row in shard.rows.clone() {
                let score = rows.design.dot(row, start);
                shard.scores.push(score);
                if !rows.is_held_out(row) {
                    shard.add(rows.design, row, rows.weight(row) * (f64::from(rows.targets[row]) - score));
                }
            }
        });
        let sums = self.take_sums();
        (self.go(0.0), sums)
    }

    /// The training rows' squares times a step: Hᵀ Ω H `step`.
    pub(super) fn product(&mut self, step: &[f64]) -> Vec<f64> {
        self.passes += 1;
        self.for_shards(|rows, shard| {
            for row in shard.rows.clone() {
                let score = rows.design.dot(row, step);
                let at = row - shard.rows.start;
                shard.steps[at] = score;
                if !rows.is_held_out(row) {
                    shard.add(rows.design, row, rows.weight(row) * score);
                }
            }
        });
        self.take_sums()
    }

    /// Goes along the step of the last product; the losses there.
    pub(super) fn go(&mut self, length: f64) -> Losses {
        let objective = self.objective;
        self.for_shards(|rows, shard| {
            let mut losses = Losses::default();
            for ((row, score), step) in shard.rows.clone().zip(&mut shard.scores).zip(&shard.steps) {
                *score += length * step;
                let (loss, _) = objective.at(*score, f64::from(rows.targets[row]));
                losses.count(rows.weight(row) * loss, rows.is_held_out(row));
            }
            shard.losses = losses;
        });
        self.losses()
    }

    fn losses(&self) -> Losses {
        let mut losses = Losses::default();
        self.shards.iter().for_each(|shard| losses.add(&shard.losses));
        losses
    }

    /// The sums of all shards, which begin at zero again.
    fn take_sums(&mut self) -> Vec<f64> {
        let mut sums = vec![0.0; self.n_columns()];
        for shard in &mut self.shards {
            for (sum, own) in sums[shard.columns.clone()].iter_mut().zip(&mut shard.sums) {
                *sum += std::mem::take(own);
            }
        }
        sums
    }

    /// Runs `work` on every shard; threads take the next one when they are done.
    fn for_shards(&mut self, work: impl Fn(&Rows<D>, &mut Shard) + Sync) {
        let (rows, threads) = (&self.rows, self.threads.min(self.shards.len()));
        if threads <= 1 {
            return self.shards.iter_mut().for_each(|shard| work(rows, shard));
        }
        let waiting = Mutex::new(self.shards.iter_mut());
        let next = || waiting.lock().expect("no thread panics").next();
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    while let Some(shard) = next() {
                        work(rows, shard);
                    }
                });
            }
        });
    }
}

impl Shard {
    /// Adds a row times a number to the sums.
    #[inline(always)]
    fn add(&mut self, design: &impl Design, row: usize, times: f64) {
        design.add(row, times, &mut self.sums, self.columns.start);
    }
}
